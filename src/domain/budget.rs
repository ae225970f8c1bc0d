//! How long one call to a source may take, and how it is cancelled.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The deadlines and the cancel switch of one call.
#[derive(Clone, Debug)]
pub struct Budget {
    /// No statement of the call runs longer.
    pub statement: Duration,
    /// Cancelling stops the running statement on the server too.
    pub cancel: CancellationToken,
}

impl Budget {
    /// A budget of `statement` a statement, cancelled by a token of its own.
    pub fn new(statement: Duration) -> Self {
        Self { statement, cancel: CancellationToken::new() }
    }
}
