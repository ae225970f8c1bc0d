//! Where replayed jobs go, held against the database.

use crate::adapter::{Route, Table, Verb};
use crate::domain::run_options::destination;

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
