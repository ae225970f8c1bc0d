//! Erasing what earlier runs kept of jobs that are deleted without a copy.

use super::batch::BatchResult;
use super::context::RunContext;
use super::stop_reason::StopReason;
use crate::domain::action::{JobResult, RowEffect};
use crate::domain::job::JobId;
use crate::ledger::{CohortPart, CompletedBatch, Run, Whose};

/// Jobs of which is erased at a time what was kept of them.
const ERASED: usize = 5_000;

/// Erases kept rows for a run.
pub(super) struct KeptRowEraser<'a> {
    pub(super) context: &'a RunContext<'a>,
}

impl KeptRowEraser<'_> {
    /// Erases what earlier runs kept of jobs that were deleted without a copy: before they count as done, so that an
    /// interrupted run comes back to it.
    pub(super) async fn erase(&self, answer: &BatchResult) -> Result<(), StopReason> {
        if !self.erases() {
            return Ok(());
        }
        let done = |settled: &CompletedBatch| (settled.outcome.1 == JobResult::Done).then(|| settled.outcome.0.clone());
        let ids: Vec<JobId> = answer.settled.iter().filter_map(done).collect();
        if ids.is_empty() { Ok(()) } else { self.erase_kept(&ids).await }
    }

    async fn erase_kept(&self, ids: &[JobId]) -> Result<(), StopReason> {
        let Run { id, intent, .. } = self.context.run;
        // What the run was planned on, and nobody executes it anywhere else.
        let whose = Whose { source: &intent.source, store: &intent.store, database: intent.database.as_ref() };
        self.context
            .record_until_written(false, || self.context.ledger.snapshots().erase(whose, id, ids))
            .await
            .map(drop)
    }

    /// Where the record is in the source, jobs count as done along with the effect, and an interruption may have come
    /// before what was kept of them was erased.
    pub(super) async fn erase_again(&self) -> Result<(), StopReason> {
        if !self.context.records_with_effect() || !self.erases() {
            return Ok(());
        }
        let mut after = 0;
        loop {
            let done = self
                .context
                .record_until_written(false, || {
                    self.context.ledger.cohorts().jobs(&self.context.run.id, CohortPart::Done, after, ERASED)
                })
                .await?;
            let Some(last) = done.last() else { return Ok(()) };
            after = last.ord;
            let ids: Vec<JobId> = done.into_iter().map(|job| job.id).collect();
            self.erase_kept(&ids).await?;
        }
    }

    /// Whether jobs are deleted without a copy.
    fn erases(&self) -> bool {
        self.context.run.intent.options.no_archive
            && self.context.run.intent.action.profile().rows == RowEffect::DeletedWithCopy
    }
}
