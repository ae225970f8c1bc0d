//! What a survey says of a source: the layouts that it holds, and the tables that nearly are one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::adapter::{Adapter, Misfit, Right, Spec, Table};

/// A layout that was found in a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Name of the adapter that fits.
    pub adapter: String,
    /// One line for pickers: the adapter's title.
    pub title: String,
    /// The schema (or database) that the table is in.
    pub schema: String,
    /// The dead-letter table.
    pub table: String,
    /// Which of the adapter's variants it is.
    pub(crate) variant: usize,
    /// Why nothing can be written safely, where that is so.
    pub(crate) unsafe_to_write: Option<String>,
    /// Why no time can be written, where that is so.
    pub(crate) untold_times: Option<String>,
    /// What the role is not shown, where rows may be hidden from it.
    pub warnings: Vec<String>,
    pub(crate) columns: Table,
    /// The tables that were asked for along with it.
    pub(crate) seen: Arc<Seen>,
}

impl Found {
    /// A layout of keys.
    #[cfg(feature = "redis")]
    pub(in crate::store) fn of_keys(adapter: &str, title: &str, keys: String, warnings: Vec<String>) -> Self {
        Self {
            adapter: adapter.to_owned(),
            title: title.to_owned(),
            schema: String::new(),
            table: keys,
            variant: 0,
            unsafe_to_write: None,
            untold_times: None,
            warnings,
            columns: Table::default(),
            seen: Arc::default(),
        }
    }

    /// The dead-letter table as it was seen: its columns and indexes.
    pub fn shape(&self) -> &Table {
        &self.columns
    }

    /// Lets nothing be written to it, for this reason, unless another one is known.
    pub fn hold_back(&mut self, reason: String) {
        self.unsafe_to_write.get_or_insert(reason);
    }

    /// The tables that were seen in its schema.
    pub(crate) fn neighbours(&self) -> Option<&BTreeMap<String, Table>> {
        self.seen.catalogue.iter().find(|(schema, _)| *schema == self.schema).map(|(_, tables)| tables)
    }

    /// What the adapter says of this layout; `None` when it does not speak for this database.
    pub fn spec<'a>(&self, adapter: &'a Adapter, db_kind: &str) -> Option<&'a Spec> {
        adapter.variants(db_kind).get(self.variant)
    }

    /// Schema and table, as `--store` takes them and pickers show them.
    pub fn label(&self) -> String {
        if self.schema.is_empty() {
            // Keys stand in no schema.
            return self.table.clone();
        }
        format!("{}.{}", self.schema, self.table)
    }

    /// Whether `--store` means it: by its adapter, its table, or schema and table, also quoted as statements have them.
    pub fn is_named(&self, name: &str) -> bool {
        let parts = unquoted(name);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        [self.adapter.as_str(), self.table.as_str()].contains(&name)
            || name == self.label()
            || parts == [self.table.as_str()]
            || parts == [self.schema.as_str(), self.table.as_str()]
    }

    /// Whether the role may read it, as far as is known.
    pub fn is_readable(&self) -> bool {
        !self.columns.lacks(Right::Select, &BTreeSet::new())
    }
}

/// The parts of a name in SQL: separated by dots, each plain or in quotes, of which a doubled one stands for one.
fn unquoted(name: &str) -> Vec<String> {
    let (mut parts, mut quote) = (vec![String::new()], None);
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_start = quote.is_none() && parts.last().is_some_and(String::is_empty);
        match c {
            '"' | '`' if is_start => quote = Some(c),
            c if quote == Some(c) && chars.next_if_eq(&c).is_none() => quote = None,
            '.' if quote.is_none() => parts.push(String::new()),
            c => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    parts
}

/// A table that has the name of a layout's but does not fit it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Name of the adapter.
    pub adapter: String,
    /// The schema looked at.
    pub schema: String,
    /// Why.
    pub reasons: Vec<Misfit>,
}

impl Rejected {
    /// Why, in one line.
    pub fn why(&self) -> String {
        self.reasons.iter().map(|misfit| misfit.sentence.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Schemas with their tables, in the catalogue's order (the default schema first).
pub(in crate::store) type CatalogueTables = Vec<(String, BTreeMap<String, Table>)>;

/// What the catalogue said of some tables.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// The tables that it was asked for.
    pub(crate) names: Vec<String>,
    pub(crate) catalogue: CatalogueTables,
}

/// What a database holds that may be a dead-letter table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Tables that the role may read, by name as `adapters init --table` takes it; the most telling names first.
    pub tables: Vec<String>,
    /// Tables that are a known layout in all but their place.
    pub near: Vec<NearMiss>,
}

/// A table that is a known layout's, but not where an adapter looks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The table, as `adapters init --table` takes it.
    pub table: String,
    /// The adapter.
    pub adapter: String,
    /// What is different.
    pub why: Renamed,
}

/// Why an adapter does not find its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// It is called something else; this is the name that the adapter looks for.
    Table(String),
    /// It stands in this other database of the server.
    Database(String),
}

/// What the database says of one piece of an adapter file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    /// Which piece: `fields.error_class`, `verbs.replay.steps[1]`.
    pub what: String,
    /// The line of the file where it stands, from 1.
    pub line: usize,
    /// Nothing wrong, or the database's own sentence.
    pub verdict: std::result::Result<(), String>,
    /// Why it is not used here, where it is not: then nothing is wrong with it, and it was not explained.
    pub unused: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_as_statements_quote_it() {
        let found = |schema: &str| Found {
            adapter: "que".into(),
            title: String::new(),
            schema: schema.into(),
            table: "que_jobs".into(),
            variant: 0,
            unsafe_to_write: None,
            untold_times: None,
            warnings: Vec::new(),
            columns: Table::default(),
            seen: Arc::default(),
        };
        for (schema, name) in [
            ("Initech Corp", r#""Initech Corp".que_jobs"#),
            ("Initech Corp", r#""Initech Corp"."que_jobs""#),
            ("Initech Corp", "Initech Corp.que_jobs"),
            ("Initech Corp", "`Initech Corp`.`que_jobs`"),
            ("a.b", "a.b.que_jobs"),
            ("a.b", r#""a.b".que_jobs"#),
            (r#"say "hi""#, r#""say ""hi""".que_jobs"#),
            ("x", "que"),
            ("x", r#""que_jobs""#),
        ] {
            assert!(found(schema).is_named(name), "{name}");
        }
        assert!(!found("Initech Corp").is_named(r#""Initech".que_jobs"#) && !found("a.b").is_named("b.que_jobs"));
    }
}
