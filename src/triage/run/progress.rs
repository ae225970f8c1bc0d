//! The record of a run while it is executed: entries of the ledger, and the numbers that are told meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::BatchResult;
use super::batch_size::Meter;
use super::executor::RunExecutor;
use super::stop_reason::StopReason;
use crate::domain::action::JobResult;
use crate::domain::job::JobId;
use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, CompletedBatch, Results, RunState, RunTally};
use crate::triage::progress::RunProgress;

/// What is told of a run while it goes on, and to whom.
pub(super) struct Report<'a> {
    pub(super) progress: &'a watch::Sender<RunProgress>,
    counts: Mutex<ReportedCounts>,
}

/// The numbers of a run.
pub(super) struct ReportedCounts {
    pub(super) state: RunState,
    pub(super) tally: RunTally,
    pub(super) meter: Meter,
}

impl<'a> Report<'a> {
    pub(super) fn new(progress: &'a watch::Sender<RunProgress>, tally: RunTally) -> Self {
        let counts = ReportedCounts { state: RunState::Running, tally, meter: Meter::new(Instant::now()) };
        Self { progress, counts: Mutex::new(counts) }
    }

    /// The numbers as they are; not to be held over a wait.
    pub(super) fn counts(&self) -> MutexGuard<'_, ReportedCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batch that the store has answered for, whose results the record does not have yet.
pub(super) struct UnrecordedBatch {
    pub(super) no: BatchNo,
    pub(super) ids: Vec<JobId>,
    pub(super) answer: BatchResult,
}

impl RunExecutor<'_> {
    /// Writes down what became of a batch and, where the run goes on, that the `next` jobs are about to be touched.
    pub(super) async fn record(
        &self,
        batch: UnrecordedBatch,
        next: usize,
    ) -> Result<Option<(BatchNo, Vec<JobId>)>, StopReason> {
        let UnrecordedBatch { no, ids, answer } = batch;
        let next = if answer.halt.is_none() { next } else { 0 };
        let mut begun = None;
        if answer.untouched {
            self.context
                .record_until_written(false, || self.context.ledger.batches().release(&self.context.run.id, no))
                .await?;
            self.context.report.counts().tally.release(ids.len() as u64);
        } else {
            let settled = &answer.settled;
            let results = Results { settled, is_all: settled.len() == ids.len() };
            let entry = || {
                self.context.ledger.batches().finish_and_begin(
                    &self.context.run.id,
                    no,
                    results,
                    next,
                    Timestamp::now(),
                )
            };
            begun = self.context.record_until_written(true, entry).await?;
            let done = settled.iter().filter(|settled| settled.outcome.1 == JobResult::Done).count();
            log::batch(&self.context.run.id.0, no.0, ids.len(), done);
            let mut told = self.context.report.counts();
            for CompletedBatch { outcome: (_, result), .. } in settled {
                told.tally.resolve_doubt(result);
            }
            told.meter.completed(settled.len() as u64, Instant::now());
        }
        self.context.tell(None);
        self.context.report.counts().tally.begin(begun.as_ref().map_or(0, |(_, ids)| ids.len() as u64));
        match answer.halt {
            Some(halt) => Err(halt),
            None => Ok(begun),
        }
    }
}
