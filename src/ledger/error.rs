//! What can go wrong with the record, as sentences for the operator.

use thiserror::Error;

use crate::domain::mark::{MarkName, UnknownMark};
use crate::domain::time::Timestamp;
use crate::store::SourceError;

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
    /// The file that is open is not the one that its path leads to: what is written to it may be lost with it.
    #[error(
        "the ledger at {place} was moved away, or another file is in its place, or its log (-wal) was removed: nothing \
         is kept on record there any more, so nothing further is touched"
    )]
    Moved {
        /// Path of the file.
        place: String,
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
    /// A mark of that name is there.
    #[error("mark {name} is set already, at {at}: `dlq-tui mark {name} --force` moves it")]
    MarkExists {
        /// The name.
        name: MarkName,
        /// Its moment.
        at: Timestamp,
    },
    /// There is no mark of that name.
    #[error("{0}")]
    UnknownMark(UnknownMark),
    /// Another process executes the run.
    #[error("run {0} is being executed by another process")]
    Held(String),
    /// The record in the source may not be read or written by this role.
    #[error("{place} may not be used by this role ({reason}); whoever may grant it can say: {}", .needed.join(" "))]
    NoRight {
        /// Which record.
        place: String,
        /// What the database says.
        reason: String,
        /// The statements that grant what is missing.
        needed: Vec<String>,
    },
    /// The record in the source is of another version than this program, or not as it was made.
    #[error("the ledger in {place} cannot be used: {reason}")]
    Version {
        /// Which database.
        place: String,
        /// What is to be done about it.
        reason: String,
    },
    /// Somebody else executes the run since this process was last heard of.
    #[error(
        "run {0} was taken over by another client, as nothing was heard of this one for a while; nothing was done since"
    )]
    TakenOver(String),
    /// Another client executes the run, or did until a moment ago.
    #[error(
        "run {run} is being executed by another client ({holder}); if that one is gone, the run is free in {seconds} s"
    )]
    HeldBy {
        /// The run.
        run: String,
        /// Host and process.
        holder: String,
        /// Seconds until its hold ends unless it is renewed.
        seconds: i64,
    },
}

impl LedgerError {
    /// What kind of fault it is, in words of our own alone: what it quotes may be anybody's.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "the ledger cannot be used",
            Self::Moved { .. } => "the ledger was moved away or replaced",
            Self::Refused(_) => "the ledger refused a statement",
            Self::NoSuchRun(_) => "there is no such run",
            Self::WrongState { .. } => "the run's state does not allow it",
            Self::MarkExists { .. } => "there is a mark of that name",
            Self::UnknownMark(_) => "there is no such mark",
            Self::NoRight { .. } => "the role lacks a right on the ledger",
            Self::Version { .. } => "the ledger in the source is of another version, or was made over",
            Self::Held(_) | Self::HeldBy { .. } => "the run is executed by another process",
            Self::TakenOver(_) => "the run was taken over by another client",
        }
    }
}

/// What a store is told when the ledger cannot keep what has to be on record before it takes effect: what may pass is
/// waited for.
impl From<LedgerError> for SourceError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unusable { .. } => Self::Unrecorded(error.to_string()),
            other => Self::Input(format!("the record could not be kept: {other}")),
        }
    }
}
