//! Why a run ends before its end.

use crate::ledger::LedgerError;

/// Why the loop ends before its end.
pub(super) enum Halt {
    /// The run can be resumed; a sentence for the receipt.
    Because(String),
    /// The same, where the database does not allow it, or does not have what it takes.
    Denied(String),
    /// The record cannot be kept.
    Broken(LedgerError),
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Self::Broken(error)
    }
}
