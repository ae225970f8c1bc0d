//! Why a run ends before its end.

use crate::ledger::LedgerError;
use crate::store::{Outdated, SourceError};

/// Why the loop ends before its end.
pub(super) enum StopReason {
    /// The run can be resumed; a sentence for the receipt.
    Because(String),
    /// The same, where the database does not allow it, or does not have what it takes.
    Denied(String),
    /// The same, where the store has to be opened anew first.
    Outdated(String, Outdated),
    /// The record cannot be kept.
    Broken(LedgerError),
}

impl StopReason {
    /// A run that the store stopped by an error that nothing else can be made of.
    pub(super) fn by(error: SourceError) -> Self {
        let why = match error.remedy() {
            Some(remedy) => format!("{error}; {remedy}"),
            None => error.to_string(),
        };
        match error {
            SourceError::Denied(_) => Self::Denied(why),
            SourceError::Outdated(table) => Self::Outdated(why, table),
            _ => Self::Because(why),
        }
    }

    /// The same, with its sentence as `mask` gives it back.
    pub(super) fn masked(self, mask: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Because(why) => Self::Because(mask(&why)),
            Self::Denied(why) => Self::Denied(mask(&why)),
            Self::Outdated(why, table) => Self::Outdated(mask(&why), table),
            Self::Broken(error) => Self::Broken(error),
        }
    }
}

impl From<LedgerError> for StopReason {
    fn from(error: LedgerError) -> Self {
        Self::Broken(error)
    }
}
