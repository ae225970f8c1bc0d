//! Adapters: how one framework, or one team's own table, lays out its dead jobs. Data, not code.
//!
//! An adapter is one TOML file. What stands at its top level holds for every database; the sections `[postgres]`,
//! `[mysql]` and `[sqlite]` repeat the same keys and win over it there. The file names the columns and expressions of
//! each field, the words of the states, and for each verb its guard and its statements. A section `[[variants]]` repeats keys
//! as well, for databases where what it detects is there, too. This floor reads and validates
//! such files and decides whether a table fits one; it knows no database.

mod draft;
mod draft_check;
mod error;
mod key_places;
mod library;
mod parse;
mod privileges;
#[cfg(feature = "redis")]
pub mod redis;
mod spec;
mod table_match;
mod template;
mod times;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use draft::Sample;
pub use error::AdapterError;
pub use library::{Library, built_in};
pub use privileges::{Need, Needs, Object, Privileges, Right};
pub use spec::{
    DeliverySpec, Detect, EditSpec, ExpectedRows, Field, FieldKind, Fields, Index, IntoTable, Keep, Live, MessageSpec,
    Order, Part, Refusal, RelatedRows, Retention, Route, Spec, StateWords, Undo, Verb, VerbSpecs, VerbStep,
};
pub use table_match::{
    Column, Family, Lacks, Misfit, RowSecurity, Table, alternatives, destination_misfits, fit, function, veiled,
};
pub use template::{PLACEHOLDERS, Piece, pieces};
pub use times::{Times, epoch_by, why_not};

/// The words of the databases that an adapter file can speak for.
pub const DIALECTS: [&str; 3] = ["postgres", "mysql", "sqlite"];

/// One adapter file, read and validated.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// What `--store` and the config call it.
    pub name: String,
    /// Where it came from: a file of the operator's, or `None` when it is compiled in.
    pub origin: Option<PathBuf>,
    /// The text, as `adapters show` prints it.
    pub text: String,
    tables: BTreeSet<String>,
    other_tables: BTreeSet<String>,
    /// What it says for each of the [`DIALECTS`], its variants first.
    specs: [OnceLock<Vec<Spec>>; DIALECTS.len()],
    /// What a file of a layout in Redis says; `None` for one of a database.
    #[cfg(feature = "redis")]
    redis: OnceLock<Option<std::sync::Arc<redis::RedisSpec>>>,
}

impl Adapter {
    /// Reads an adapter from the text of its file. `origin` is only remembered and named in errors.
    ///
    /// # Errors
    /// With the line that is wrong, and what was probably meant.
    pub fn parse(text: &str, origin: Option<PathBuf>) -> Result<Self, AdapterError> {
        parse::adapter(text, origin)
    }

    /// One that is compiled in. What it says for a database is read when it is first asked for: most are of layouts that a
    /// database does not have, and a start would wait for all of them.
    fn compiled_in(text: &str, indexed: &str) -> Self {
        let (own, other_tables) = indexed.split_once(" | ").unwrap_or((indexed, ""));
        let mut own = own.split(' ').map(str::to_owned);
        Self {
            name: own.next().unwrap_or_default(),
            origin: None,
            text: text.to_owned(),
            tables: own.collect(),
            other_tables: other_tables.split_whitespace().map(str::to_owned).collect(),
            specs: Default::default(),
            #[cfg(feature = "redis")]
            redis: None.into(),
        }
    }

    /// One of a layout in Redis that is compiled in.
    fn compiled_in_redis(name: &str, text: &str) -> Self {
        Self {
            specs: std::array::from_fn(|_| Vec::new().into()),
            #[cfg(feature = "redis")]
            redis: OnceLock::new(),
            ..Self::compiled_in(text, name)
        }
    }

    /// What the file says of a layout in Redis; `None` when it speaks for databases.
    #[cfg(feature = "redis")]
    pub fn redis(&self) -> Option<&redis::RedisSpec> {
        // What is compiled in can be read in every build whose tests pass, and all else was read before.
        self.redis.get_or_init(|| redis::read_again(&self.text).map(std::sync::Arc::new)).as_deref()
    }

    /// The words of the engines and databases that the file speaks for.
    pub fn engines(&self) -> Vec<&'static str> {
        #[cfg(feature = "redis")]
        if self.redis().is_some() {
            return vec!["redis"];
        }
        self.dialects().collect()
    }

    /// The tables that its layouts have their dead jobs in, in any database.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// The other tables that tell its layouts apart, or hold parts of their jobs.
    pub fn other_tables(&self) -> &BTreeSet<String> {
        &self.other_tables
    }

    /// What the file says for a database, by the database's word; `None` when it does not speak for it.
    pub fn spec(&self, dialect: &str) -> Option<&Spec> {
        self.variants(dialect).last()
    }

    /// All that the file says for a database, its variants first, in the order in which they are tried.
    pub fn variants(&self, dialect: &str) -> &[Spec] {
        let specs = DIALECTS.into_iter().zip(&self.specs).find(|(known, _)| *known == dialect);
        // What is compiled in can be read in every build whose tests pass, and all else was read before.
        specs.map_or(&[], |(_, specs)| specs.get_or_init(|| parse::specs(&self.text, dialect)))
    }

    /// The databases that the file speaks for.
    pub fn dialects(&self) -> impl Iterator<Item = &'static str> + '_ {
        DIALECTS.into_iter().filter(|dialect| !self.variants(dialect).is_empty())
    }

    /// The line (from 1) of the file that asks a database for what a table lacks; `None` where no line does by itself.
    pub fn line_of(&self, dialect: &str, misfit: &Misfit) -> Option<usize> {
        let main = self.variants(dialect).iter().any(|spec| spec.table == misfit.table);
        key_places::asked_for(&self.text, dialect, main, misfit).map(|offset| self.line(offset))
    }

    /// The line (from 1) that a place in the text lies on.
    pub fn line(&self, offset: usize) -> usize {
        error::line_of(&self.text, offset)
    }
}
