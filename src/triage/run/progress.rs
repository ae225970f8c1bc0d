//! The record of a run while it is executed: entries of the ledger, and the numbers that are told meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::{BatchResult, pause};
use super::batch_size::Meter;
use super::control::Wish;
use super::executor::RunExecutor;
use super::stop_reason::StopReason;
use crate::domain::action::JobResult;
use crate::domain::job::JobId;
use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, CompletedBatch, LedgerError, Results, RunState, RunTally};
use crate::triage::progress::RunProgress;

/// What is told of a run while it goes on, and to whom.
pub(super) struct Report<'a> {
    progress: &'a watch::Sender<RunProgress>,
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
            self.record_until_written(false, || self.ledger.batches().release(&self.run.id, no)).await?;
            self.report.counts().tally.release(ids.len() as u64);
        } else {
            let settled = &answer.settled;
            let results = Results { settled, is_all: settled.len() == ids.len() };
            let entry = || self.ledger.batches().finish_and_begin(&self.run.id, no, results, next, Timestamp::now());
            begun = self.record_until_written(true, entry).await?;
            let done = settled.iter().filter(|settled| settled.outcome.1 == JobResult::Done).count();
            log::batch(&self.run.id.0, no.0, ids.len(), done);
            let mut told = self.report.counts();
            for CompletedBatch { outcome: (_, result), .. } in settled {
                told.tally.resolve_doubt(result);
            }
            told.meter.completed(settled.len() as u64, Instant::now());
        }
        self.tell(None);
        self.report.counts().tally.begin(begun.as_ref().map_or(0, |(_, ids)| ids.len() as u64));
        match answer.halt {
            Some(halt) => Err(halt),
            None => Ok(begun),
        }
    }

    /// An entry of the record, tried again while that is full, locked or away: until `results` stand there nobody else knows
    /// of them, and some layouts keep no trace by which they could be found out; and a record in the source is away
    /// whenever the source is.
    pub(super) async fn record_until_written<T, F>(&self, results: bool, entry: impl Fn() -> F) -> Result<T, StopReason>
    where
        F: Future<Output = Result<T, LedgerError>>,
    {
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            let error = match entry().await {
                Ok(kept) => return Ok(kept),
                Err(error) => error,
            };
            tries += 1;
            let enough = self.control.wish() == Wish::Stop || began.elapsed() > self.options.patience;
            let hopeless = !results && !self.records_with_effect();
            if enough || hopeless || !matches!(error, LedgerError::Unusable { .. }) {
                return Err(error.into());
            }
            self.tell(Some(format!("{error}; trying again")));
            self.control.rest(pause(self.options.retry, tries)).await;
        }
    }

    /// Tells how far the run has got.
    pub(super) fn tell(&self, waiting: Option<String>) {
        let waiting = waiting.map(|why| self.desk.redactor.prose(&why).into_owned());
        let (now, told) = (Instant::now(), self.report.counts());
        self.report.progress.send_replace(RunProgress {
            run: self.run.id.clone(),
            state: told.state,
            tally: told.tally.clone(),
            rate: told.meter.rate(now),
            eta: told.meter.eta(told.tally.not_started + told.tally.in_doubt, now),
            waiting,
        });
    }
}
