//! What an adapter file may say of changing arguments.

use serde::Deserialize;
use toml::Spanned;

use super::{FieldKind, Keep, Refusal, Verb};
use crate::adapter::Need;

/// How changed arguments are written back: `[verbs.repair]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "EditSection")]
pub struct EditSpec {
    /// The column that is written.
    pub column: Spanned<String>,
    /// The row that has the column, where that is not the dead one.
    pub row: Option<EditRow>,
    /// Where the arguments may stand in what it holds, with dots between members and elements; empty is all of it.
    pub paths: Vec<String>,
    /// The same as any verb has.
    pub verb: Verb,
}

/// The row of another table of the schema that the arguments of a job stand in: one for each job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRow {
    /// The table.
    pub table: Spanned<String>,
    /// Its primary key.
    pub key: String,
    /// How the key is compared.
    pub kind: FieldKind,
    /// The column of `t` that has the same value.
    pub of: String,
}

/// The section as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditSection {
    /// Why arguments of this layout cannot be changed.
    #[serde(default)]
    disabled: Option<String>,
    /// The guard: a condition over `t` that a job must still meet.
    #[serde(default)]
    when: Option<Spanned<String>>,
    #[serde(default)]
    refuse: Vec<Refusal>,
    #[serde(default)]
    lock: Option<Spanned<String>>,
    #[serde(default)]
    column: Option<Spanned<String>>,
    #[serde(default)]
    row: Option<EditRow>,
    #[serde(default)]
    paths: Vec<String>,
    /// Rights beside that of changing the column.
    #[serde(default)]
    needs: Vec<Need>,
    #[serde(default)]
    notes: Vec<String>,
}

impl TryFrom<EditSection> for EditSpec {
    type Error = String;

    fn try_from(section: EditSection) -> Result<Self, String> {
        let EditSection { disabled, when, refuse, lock, column, row, mut paths, mut needs, notes } = section;
        let column = match column {
            Some(column) => column,
            None if disabled.is_some() => Spanned::new(0..0, String::new()),
            None => return Err("`verbs.repair` needs `column`, which holds the arguments, or `disabled`".to_owned()),
        };
        if paths.is_empty() {
            paths.push(String::new());
        }
        needs.push(Need::update(row.as_ref().map(|row| row.table.get_ref().as_str()), column.get_ref()));
        // What is written over is the ledger's before the verb begins; this says which column of the dead row has to be one
        // whose values can be put back exactly.
        let keep = match row {
            None => Keep::Columns(vec![column.get_ref().clone()]),
            Some(_) => Keep::default(),
        };
        let verb = Verb { disabled, when, refuse, lock, notes, keep, needs: Some(needs), ..Verb::default() };
        Ok(Self { column, row, paths, verb })
    }
}
