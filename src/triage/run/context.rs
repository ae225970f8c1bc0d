//! What every part of an execution goes by: the run, where it is recorded, and what the operator wants.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::RunOptions;
use super::batch::pause;
use super::batch_size::Spread;
use super::control::{RunControl, Wish};
use super::progress::Report;
use super::stop_reason::StopReason;
use crate::domain::action::{Action, RowEffect};
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, LedgerError, Run, RunTally};
use crate::store::{Budget, Journal, RowCopies};
use crate::triage::StoreContext;
use crate::triage::progress::RunProgress;

const STOPPED: &str = "stopped by the operator";

/// A run that is executed.
pub(super) struct RunContext<'a> {
    pub(super) desk: &'a StoreContext,
    pub(super) ledger: &'a Ledger,
    pub(super) run: &'a Run,
    pub(super) options: RunOptions,
    pub(super) control: &'a RunControl,
    pub(super) budget: Budget,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) report: Report<'a>,
}

impl<'a> RunContext<'a> {
    pub(super) fn new(
        desk: &'a StoreContext,
        ledger: &'a Ledger,
        run: &'a Run,
        options: RunOptions,
        control: &'a RunControl,
        progress: &'a watch::Sender<RunProgress>,
        tally: RunTally,
    ) -> Self {
        let keeps = run.intent.options.keeps(run.intent.action, tally.planned);
        let copies = match (keeps, run.intent.action.profile().rows) {
            (true, _) => RowCopies::Whole,
            (false, RowEffect::DeletedWithCopy) => RowCopies::Keys,
            (false, _) => RowCopies::Nothing,
        };
        let journal = ledger.batches().journal(&run.id, copies);
        let budget = Budget::new(options.statement);
        Self { desk, ledger, run, options, control, budget, journal, report: Report::new(progress, tally) }
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

    /// Returns once the operator lets the run go on; a stop ends it.
    pub(super) async fn allowed(&self) -> Result<(), StopReason> {
        if self.control.wish() == Wish::Pause {
            self.tell(Some("paused".to_owned()));
        }
        match self.control.unpaused().await {
            Wish::Stop => Err(StopReason::Because(STOPPED.to_owned())),
            Wish::Go | Wish::Pause => Ok(()),
        }
    }

    /// How replayed jobs are spread over a time, where that was asked for. Counted from the first start of the run, so
    /// that it goes on where it was.
    pub(super) fn spread(&self) -> Option<Spread> {
        let over = self.run.intent.options.pacing.spread().filter(|_| self.run.intent.action.enqueues())?;
        Some(Spread::new(self.run.started_at.unwrap_or_else(Timestamp::now), over, self.report.counts().tally.planned))
    }

    /// Whether the record is in the source, and written along with the effect.
    pub(super) fn records_with_effect(&self) -> bool {
        self.journal.in_source().is_some()
    }

    /// Whether the dead rows stay, and copies of the jobs go to another queue.
    pub(super) fn is_copy(&self) -> bool {
        self.run.intent.action.leaves_rows()
    }

    /// Whether the jobs go to a destination outside the database.
    pub(super) fn is_delivered_to_command(&self) -> bool {
        self.options.deliver.is_some() && self.run.intent.action == Action::Replay
    }
}
