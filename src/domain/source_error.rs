//! What can go wrong between us and a source, as sentences for the operator.

use thiserror::Error;

/// The result of a call to a store.
pub type Result<T> = std::result::Result<T, SourceError>;

/// A fault of a source. Its `Display` is a sentence for the operator and never holds a secret.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The source cannot be reached or dropped the connection.
    #[error("cannot reach the database: {0}")]
    Unreachable(String),
    /// No connection that is as protected as was asked for is to be had.
    #[error("no trusted connection to the database: {0}")]
    Unproven(String),
    /// A statement ran into its deadline.
    #[error("the database took longer than {0:?} to answer")]
    Timeout(std::time::Duration),
    /// Somebody with the right to do so stopped a statement, or a deadline of the server's own did that is shorter than ours.
    #[error("the statement was stopped from another session")]
    Interrupted,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Rows or tables stayed locked by other sessions.
    #[error("locked by another session: {0}")]
    Locked(String),
    /// The ledger cannot keep what must be on record before it takes effect.
    #[error("nothing is deleted without its copy and nothing is done off the record: {0}")]
    Unrecorded(String),
    /// The server has no room left.
    #[error("the database has no room: {0}")]
    Full(String),
    /// The role lacks a right.
    #[error("the database role may not do that: {0}")]
    Denied(String),
    /// The database refused a statement.
    #[error("the database refused: {message}{}", .code.as_deref().map(|c| format!(" ({c})")).unwrap_or_default())]
    Refused {
        /// The server's message, without its internals.
        message: String,
        /// SQLSTATE or the engine's own code.
        code: Option<String>,
    },
    /// The database refuses a statement whatever rows it is for: a table or a column is not there or is of another type,
    /// or the file is damaged. No job is at fault, and none can be done until that is mended.
    #[error("the database refused: {message} ({code})")]
    Unfit {
        /// The server's message, without its internals.
        message: String,
        /// SQLSTATE or the engine's own code.
        code: String,
    },
    /// No connection or transaction is to be had: the login is refused, or the database is not there any more.
    #[error("login failed: {message} ({code})")]
    ShutOut {
        /// The server's message, without its internals.
        message: String,
        /// SQLSTATE or the engine's own code.
        code: String,
    },
    /// The table does not look as the adapter says, or a value could not be read.
    #[error("the table does not fit its adapter: {0}")]
    Layout(String),
    /// A table is no longer what it was when the store was opened: opening the store again mends that.
    #[error("{0}, and its rows would not be kept whole")]
    Outdated(Outdated),
    /// Bad input.
    #[error("{0}")]
    Input(String),
}

/// A table whose columns have changed since its store was opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{table} no longer has the columns that it had when it was opened ({})", .columns.join(", "))]
pub struct Outdated {
    /// The table, with its schema.
    pub table: String,
    /// The columns that came, went, or have another type.
    pub columns: Vec<String>,
}

impl SourceError {
    /// What kind of fault it is, in words of our own alone: a server's words may quote what a row holds.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "the database cannot be reached",
            Self::Unproven(_) => "the database cannot be reached over a trusted connection",
            Self::Timeout(_) => "the database took too long to answer",
            Self::Interrupted => "a statement was stopped from another session",
            Self::Cancelled => "cancelled",
            Self::Locked(_) => "rows or tables are locked by another session",
            Self::Unrecorded(_) => "the ledger cannot keep what must be on record",
            Self::Full(_) => "the database has no room",
            Self::Denied(_) => "the database role lacks a right",
            Self::Refused { .. } | Self::Unfit { .. } => "the database refused a statement",
            Self::ShutOut { .. } => "login failed",
            Self::Layout(_) => "the table does not fit its adapter",
            Self::Outdated(_) => "the table has changed since it was opened",
            Self::Input(_) => "the store cannot be read as it was asked for",
        }
    }

    /// Whether the same call may succeed later without anybody changing anything.
    pub fn retryable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Timeout(_) | Self::Interrupted | Self::Locked(_) | Self::Unrecorded(_)
        )
    }

    /// Whether less at a time may get through: a deadline ended it, ours, or somebody's stop, which looks the same.
    pub fn took_too_long(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Interrupted)
    }

    /// What is to be done before a run that it has stopped can go on; `None` where that is not known.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Unrecorded(_) => Some("make room where the ledger is, then resume the run"),
            Self::Full(_) => Some("make room on the database server, then resume the run"),
            Self::Denied(_) => Some("when the role may do that again and the database takes changes, resume the run"),
            Self::Unfit { .. } => Some("when the tables are whole and as the adapter says again, resume the run"),
            Self::ShutOut { .. } => Some("when the login works again, resume the run"),
            Self::Outdated(_) => Some("resume the run: the table is read again"),
            Self::Unproven(_) => Some("when the server's certificate is trusted again, resume the run"),
            _ => None,
        }
    }
}
