//! Where replayed jobs go, and how a store is opened.

use crate::adapter::{Route, Table, Verb};
use crate::domain::run_options::destination;

/// Where replayed jobs go, for layouts that leave this to the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplayDestination {
    /// Nothing is configured: replay is disabled and says what to write.
    #[default]
    None,
    /// A live table in the same database, `table` or `schema.table`.
    Table(String),
    /// A command, which whoever applies a batch runs as [`crate::store::Deliver`]; its line as it is put on record.
    Command(String),
}

impl ReplayDestination {
    /// The tables that the name of a live table can mean.
    pub(crate) fn table_names(&self, own_schema: &str) -> Vec<String> {
        match self {
            ReplayDestination::Table(name) => {
                places(own_schema, name).into_iter().map(|(_, table)| table.to_owned()).collect()
            }
            ReplayDestination::None | ReplayDestination::Command(_) => Vec::new(),
        }
    }
}

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Where replayed jobs go.
    pub destination: ReplayDestination,
    /// Only bounded windows are read, and never a whole table in one statement: for a database that is already ill.
    pub gentle: bool,
    /// The engine has only just connected and looked: it is not asked again whether it still answers, and what time it is.
    pub just_connected: bool,
}

/// A destination that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CheckedDestination {
    None,
    /// The live table, quoted, with its schema; and its columns.
    Table(String, Box<Table>),
    /// A command, as it is put on record.
    Command(String),
    /// One that was configured and cannot be used, with the reason.
    Unusable(String),
}

impl CheckedDestination {
    /// What kind it is.
    pub(crate) fn kind(&self) -> Route {
        match self {
            CheckedDestination::None | CheckedDestination::Unusable(_) => Route::Own,
            CheckedDestination::Table(..) => Route::Table,
            CheckedDestination::Command(_) => Route::Command,
        }
    }

    /// Where the jobs of a replay go, as it is put on record; `None` where nothing says so.
    pub(crate) fn of(&self, replay: &Verb) -> Option<destination::Destination> {
        match self {
            CheckedDestination::Table(table, _) if replay.into_table.is_some() => {
                Some(destination::Destination::Table(table.replace(['"', '`'], "")))
            }
            CheckedDestination::Command(line) if replay.command.is_some() => {
                Some(destination::Destination::Command(line.clone()))
            }
            _ => (!replay.steps.is_empty()).then_some(destination::Destination::Own),
        }
    }

    /// The live table, where there is one.
    pub(crate) fn table(&self) -> Option<&str> {
        match self {
            CheckedDestination::Table(table, _) => Some(table),
            _ => None,
        }
    }
}

/// What `table` or `schema.table` can mean, as schema and table: both names may hold dots, and whatever else
/// databases allow, so that the catalogue has to tell.
pub(crate) fn places<'a>(own_schema: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
    let splits = name.match_indices('.').map(|(dot, _)| (&name[..dot], &name[dot + 1..]));
    std::iter::once((own_schema, name)).chain(splits).collect()
}
