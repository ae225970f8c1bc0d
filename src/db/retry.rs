//! What came of a call, and whether the connection is to blame.

use super::pool::no_answer;
use crate::domain::source_error::SourceError;

/// What came of a call; a failure says whether the connection may be to blame.
pub(super) type RetryAttempt<T> = std::result::Result<T, (SourceError, Reused)>;

/// What kept a transaction from beginning.
pub(super) fn unbegun(error: SourceError, is_fresh: bool) -> (SourceError, Reused) {
    match error {
        // Not worth a second try: a server that does not answer on one connection will not on another.
        SourceError::Timeout(after) => (no_answer(after), Reused(false)),
        error => (shut_out(error), Reused(!is_fresh)),
    }
}

/// Whether a connection had been used before.
pub(super) struct Reused(pub(super) bool);

/// What a refusal means that came before there was a transaction: it is no fault of what was to be done in it.
pub(super) fn shut_out(error: SourceError) -> SourceError {
    match error {
        SourceError::Refused { message, code: Some(code) } | SourceError::Unfit { message, code } => {
            SourceError::ShutOut { message, code }
        }
        // It happens to a BEGIN as to anything else, and nothing was asked yet.
        SourceError::Interrupted => SourceError::Unreachable(SourceError::Interrupted.to_string()),
        other => other,
    }
}

pub(super) fn lost() -> SourceError {
    SourceError::Unreachable("the connection was lost".into())
}
