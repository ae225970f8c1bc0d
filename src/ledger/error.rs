//! What can go wrong with the record, as sentences for the operator.

use thiserror::Error;

/// The result of a call to the ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// A fault of the ledger. Nothing is acted on when the record cannot be kept.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The file or folder cannot be opened or written.
    #[error("the ledger at {place} cannot be used: {reason}")]
    Unusable {
        /// Path of the file.
        place: String,
        /// What the system says.
        reason: String,
    },
    /// A statement failed.
    #[error("the ledger refused: {0}")]
    Refused(String),
    /// No run of that id.
    #[error("there is no run {0}; `dlq-tui runs` lists them")]
    NoSuchRun(String),
    /// The run's state does not allow what was asked.
    #[error("run {run} is {state}: it cannot be {asked}")]
    WrongState {
        /// The run.
        run: String,
        /// The word of its state.
        state: String,
        /// What was asked, as a participle.
        asked: &'static str,
    },
    /// Another process executes the run.
    #[error("run {0} is being executed by another process")]
    Held(String),
}
