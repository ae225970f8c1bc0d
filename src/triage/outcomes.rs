//! The outcome board: where the jobs of a run have got to.

use super::StoreContext;
use crate::domain::job::JobId;
use crate::domain::outcome::{GoneMeaning, ReplayOutcome};
use crate::domain::text::Untrusted;
use crate::ledger::{CohortPart, Ledger, RunId, RunJob};
use crate::store::{Budget, SourceError};
use crate::triage::freeze::PlanError;

/// Jobs that are asked about in one call.
const ASKED: usize = 500;

/// The board of a run, or of as many of its jobs as were asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Jobs asked about so far.
    pub asked: u64,
    /// Wait in the live queue.
    pub waiting: u64,
    /// A worker has them.
    pub running: u64,
    /// Failed again, and wait for their next attempt.
    pub retrying: u64,
    /// Finished, as far as the layout can tell.
    pub succeeded: u64,
    /// No longer in the store, where that means that they succeeded.
    pub gone_succeeded: u64,
    /// Died again with the class they had died of before.
    pub died_same: u64,
    /// Died again of something else, or of what the layout does not tell.
    pub died_other: u64,
    /// No longer in the store, where that means that they were deleted.
    pub gone: u64,
    /// The layout cannot tell.
    pub unknown: u64,
}

impl OutcomeCounts {
    /// Jobs that died again, of whatever.
    pub fn returned(&self) -> u64 {
        self.died_same + self.died_other
    }

    fn count(&mut self, before: Option<&Untrusted>, fate: &ReplayOutcome) {
        self.asked += 1;
        *match fate {
            ReplayOutcome::Waiting => &mut self.waiting,
            ReplayOutcome::Running => &mut self.running,
            ReplayOutcome::Retrying(_) => &mut self.retrying,
            ReplayOutcome::Succeeded => &mut self.succeeded,
            ReplayOutcome::Gone(GoneMeaning::Succeeded) => &mut self.gone_succeeded,
            ReplayOutcome::DiedAgain(Some(now)) if Some(now) == before => &mut self.died_same,
            ReplayOutcome::DiedAgain(_) => &mut self.died_other,
            ReplayOutcome::Gone(GoneMeaning::Deleted) => &mut self.gone,
            ReplayOutcome::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// Asks where the done jobs of a run have got to: all of them, or the first `limit`. `on_step` gets the board so far.
///
/// # Errors
/// When the source or the ledger cannot be read, or the caller cancels.
pub async fn count_outcomes(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    limit: Option<u64>,
    budget: &Budget,
    mut on_step: impl FnMut(&OutcomeCounts) + Send,
) -> Result<OutcomeCounts, PlanError> {
    let ledger = &ledger.of(run).await?;
    let (mut board, mut after) = (OutcomeCounts::default(), 0);
    loop {
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(board.asked));
        let n = usize::try_from(left).unwrap_or(usize::MAX).min(ASKED);
        let jobs = if n == 0 { Vec::new() } else { ledger.cohorts().jobs(run, CohortPart::Done, after, n).await? };
        let Some(last) = jobs.last() else { return Ok(board) };
        after = last.ord;
        if budget.cancel.is_cancelled() {
            return Err(SourceError::Cancelled.into());
        }
        let kept = match desk.store.info().capabilities.outcomes_need_copies {
            true => ledger.snapshots().get(run, &jobs.iter().map(|job| job.id.clone()).collect::<Vec<_>>()).await?,
            false => Vec::new(),
        };
        ask(desk, &jobs, &kept, budget, &mut board).await?;
        on_step(&board);
    }
}

async fn ask(
    desk: &StoreContext,
    jobs: &[RunJob],
    kept: &[(JobId, String)],
    budget: &Budget,
    board: &mut OutcomeCounts,
) -> Result<(), SourceError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let told = desk.store.outcomes(&ids, kept, budget).await?;
    let told: std::collections::HashMap<JobId, ReplayOutcome> = told.into_iter().collect();
    for job in jobs {
        board.count(job.error_class.as_ref(), told.get(&job.id).unwrap_or(&ReplayOutcome::Unknown));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_died_again_is_told_by_whether_the_error_is_the_same() {
        let mut board = OutcomeCounts::default();
        let before = Untrusted::from("Boom");
        board.count(Some(&before), &ReplayOutcome::DiedAgain(Some("Boom".into())));
        board.count(Some(&before), &ReplayOutcome::DiedAgain(Some("Crash".into())));
        board.count(None, &ReplayOutcome::DiedAgain(None));
        assert_eq!((board.asked, board.died_same, board.died_other, board.returned()), (3, 1, 2, 3));
    }
}
