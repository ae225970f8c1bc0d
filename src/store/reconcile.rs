//! What became of a batch that was interrupted, as far as a store can tell.

use futures_util::future::BoxFuture;

use super::{Batch, Budget, Result, TxStatus};
use crate::domain::action::{Action, JobOutcome};
use crate::domain::job::JobId;

/// Evidence of what took effect, for a run that goes on after a crash. Nothing is locked or changed.
pub trait Reconcile: Send + Sync {
    /// What [`super::Store::apply`] would answer for each job of a batch as the rows stand now.
    fn dry_run<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>>;

    /// Which of these jobs have a row in which everything that was kept of it stands as it was kept.
    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>>;

    /// Which of these jobs show that `action` took effect on them by this run, and not by another; `None` where the layout
    /// keeps no such trace.
    fn traced<'a>(
        &'a self,
        action: Action,
        run: &'a str,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>>;

    /// How a transaction ended that [`Batch::journal`] was told of.
    fn tx_status<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<TxStatus>>;

    /// The jobs on which such a transaction acted, where the source wrote that down along with it; `None` where it does not, or no
    /// longer knows.
    fn done_in<'a>(&'a self, _transaction: &'a str, _budget: &'a Budget) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        Box::pin(async { Ok(None) })
    }

    /// Those of these jobs that a run moved into the archive beside their table.
    fn archived<'a>(&'a self, run: &'a str, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>>;
}
