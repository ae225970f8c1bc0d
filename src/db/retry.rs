//! What came of a call, and whether the connection is to blame.

use super::pool::no_answer;
use crate::domain::source_error::StoreError;

/// What came of a call; a failure says whether the connection may be to blame.
pub(super) type RetryAttempt<T> = std::result::Result<T, (StoreError, Reused)>;

/// What kept a transaction from beginning.
pub(super) fn unbegun(error: StoreError, is_fresh: bool) -> (StoreError, Reused) {
    match error {
        // Not worth a second try: a server that does not answer on one connection will not on another.
        StoreError::Timeout(after) => (no_answer(after), Reused(false)),
        error => (shut_out(error), Reused(!is_fresh)),
    }
}

/// Whether a connection had been used before.
pub(super) struct Reused(pub(super) bool);

/// What a refusal means that came before there was a transaction: it is no fault of what was to be done in it.
pub(super) fn shut_out(error: StoreError) -> StoreError {
    match error {
        StoreError::Refused { message, code: Some(code) } | StoreError::Unfit { message, code } => {
            StoreError::ShutOut { message, code }
        }
        // It happens to a BEGIN as to anything else, and nothing was asked yet.
        StoreError::Interrupted => StoreError::Unreachable(StoreError::Interrupted.to_string()),
        other => other,
    }
}

pub(super) fn lost() -> StoreError {
    StoreError::Unreachable("the connection was lost".into())
}
