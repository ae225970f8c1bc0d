//! The execution of a run, from its start to its end.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::BatchResult;
use super::control::{RunControl, Wish};
use super::delivery_monitor::DeliveryMonitor;
use super::progress::{Report, UnrecordedBatch};
use super::schedule::Schedule;
use super::stop_reason::StopReason;
use super::validate::Screening;
use super::{Receipt, RunError, RunOptions, preflight};
use crate::domain::action::{Action, JobOutcome, JobResult, RowEffect};
use crate::domain::job::JobId;
use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, CohortPart, CompletedBatch, Ledger, LedgerError, Run, RunId, RunState, RunTally, Whose};
use crate::store::{Budget, Journal, RowCopies, Standing};
use crate::triage::progress::RunProgress;
use crate::triage::{StoreContext, undo};

/// Jobs of which is erased at a time what was kept of them.
const ERASED: usize = 5_000;

/// Executes a confirmed run, or goes on with one that was stopped or left by a crash, until it ends, is stopped, or
/// cannot go on. Reads the clock. May be dropped at any time: then the run can be resumed.
///
/// # Errors
/// When the run cannot be executed here, or the record can no longer be kept; see [`RunError`].
pub async fn execute(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let ledger = &ledger.of(run).await?;
    let hold = ledger.locks().acquire(run).await?;
    let receipt = execute_held(desk, ledger, run, options, control, progress).await;
    if let Err(error) = &receipt {
        log::run_broke(&run.0, error.kind());
    }
    hold.release().await;
    receipt
}

async fn execute_held(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let began = Instant::now();
    let record = ledger.runs().get(run).await?;
    preflight::check(desk, &record)?;
    let validator = preflight::validator(&options, ledger, &record)?;
    preflight::same_database(desk, &record, &options).await?;
    let prepared = preflight::prepare(desk, &record, &options).await;
    ledger.runs().start(run, Timestamp::now()).await?;
    // A run that nobody began has all its jobs before it. Of others they are counted, and not taken from the sums that were kept
    // when it was stopped: it is led by these.
    let tally = match record.state {
        RunState::Planned => record.tally.clone(),
        _ => ledger.runs().tally(run).await?,
    };
    log::run_began(&run.0, record.intent.action.word(), tally.planned);
    let mut engine = RunExecutor::new(desk, ledger, &record, options, control, progress, tally);
    engine.screening = Screening::new(validator);
    let worked = match prepared {
        Ok(()) => engine.work().await,
        unprepared => unprepared,
    };
    let (mut denied, mut outdated) = (false, None);
    let halted = match worked {
        Ok(()) => None,
        Err(StopReason::Because(reason)) => Some(reason),
        Err(StopReason::Denied(reason)) => {
            denied = true;
            Some(reason)
        }
        Err(StopReason::Outdated(reason, table)) => {
            outdated = Some(table);
            Some(reason)
        }
        Err(StopReason::Broken(error)) => {
            // How far it got is on record no more, perhaps.
            engine.tell(None);
            return Err(error.into());
        }
    };
    let run = ledger.runs().end(run, Timestamp::now()).await?;
    let left = run.tally.not_started + run.tally.in_doubt;
    log::run_ended(&run.id.0, run.state.word(), run.tally.done, left, began.elapsed());
    {
        let mut told = engine.report.counts();
        told.state = run.state;
        told.tally = run.tally.clone();
    }
    engine.tell(None);
    let halted = halted.or_else(|| (run.state != RunState::Finished).then(|| LEFT_IN_DOUBT.to_owned()));
    let refused = denied && run.tally.not_started + run.tally.skipped_total() == run.tally.planned;
    Ok(Receipt { run, halted, refused, outdated, elapsed: began.elapsed() })
}

/// Goes on with a run that was stopped or left by a crash; the batch in doubt is settled first.
///
/// # Errors
/// As [`execute`]; a run that was never confirmed is not resumed.
pub async fn resume(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let state = ledger.runs().get(run).await?.state;
    if !matches!(state, RunState::Stopped | RunState::Running) {
        let state = state.word().to_owned();
        return Err(LedgerError::WrongState { run: run.0.clone(), state, asked: "resumed" }.into());
    }
    execute(desk, ledger, run, options, control, progress).await
}

const LEFT_IN_DOUBT: &str = "what became of some jobs is not known yet: resume the run to find out";
const STOPPED: &str = "stopped by the operator";

/// Jobs by how they stood when they were frozen.
pub(super) type Alike = Vec<(Standing, Vec<JobId>)>;

pub(super) struct RunExecutor<'a> {
    pub(super) desk: &'a StoreContext,
    pub(super) ledger: &'a Ledger,
    pub(super) run: &'a Run,
    pub(super) options: RunOptions,
    pub(super) control: &'a RunControl,
    pub(super) budget: Budget,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) screening: Screening,
    /// The destination outside the database, where there is one.
    pub(super) handed: Option<Arc<DeliveryMonitor>>,
    pub(super) report: Report<'a>,
    /// The latest death among the jobs of the run; `None` where that says nothing.
    pub(super) died_by: Option<Timestamp>,
    pub(super) schedule: Schedule,
}

impl<'a> RunExecutor<'a> {
    fn new(
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
        let handed = options.deliver.clone().filter(|_| run.intent.action == Action::Replay);
        Self {
            desk,
            ledger,
            run,
            options,
            control,
            budget,
            journal,
            screening: Screening::default(),
            handed: handed.map(|to| Arc::new(DeliveryMonitor::new(to))),
            report: Report::new(progress, tally),
            died_by: None,
            schedule: Schedule::default(),
        }
    }

    async fn work(&mut self) -> Result<(), StopReason> {
        self.tell(None);
        let reached = {
            let tally = &self.report.counts().tally;
            tally.planned - tally.not_started - tally.in_doubt
        };
        let spread = self.spread().filter(|_| self.desk.store.info().capabilities.defers);
        self.schedule = Schedule::new(spread.map(|spread| spread.going_on(reached, Timestamp::now())));
        self.died_by = self
            .record_until_written(false, || undo::died_by(self.ledger, &self.run.id, &self.run.intent.options))
            .await?;
        self.resolve_doubts().await?;
        self.erase_again().await?;
        self.pass().await?;
        self.sweep().await?;
        // A record in the source may have lost the answer to an entry of its own; it can always tell what took effect.
        if self.records_with_effect() { self.resolve_doubts().await } else { Ok(()) }
    }

    /// The jobs of batches whose result is not known.
    async fn resolve_doubts(&mut self) -> Result<(), StopReason> {
        let doubts = self.record_until_written(false, || self.ledger.batches().in_doubt(&self.run.id)).await?;
        if self.schedule.is_spread() && !doubts.is_empty() {
            let all = usize::MAX >> 1;
            let jobs = self
                .record_until_written(false, || self.ledger.cohorts().jobs(&self.run.id, CohortPart::InDoubt, 0, all))
                .await?;
            self.schedule.place(&jobs);
        }
        for (no, ids) in doubts {
            self.apply_batch(no, ids, true).await?;
        }
        Ok(())
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

    /// Applies the action to a batch that the ledger has named, and writes down what became of it.
    pub(super) async fn apply_batch(&self, no: BatchNo, ids: Vec<JobId>, doubtful: bool) -> Result<(), StopReason> {
        let answer = self.ask_named(&ids, doubtful).await?;
        self.record(UnrecordedBatch { no, ids, answer }, 0).await.map(drop)
    }

    /// Applies the action to jobs that the ledger has named.
    pub(super) async fn ask_named(&self, ids: &[JobId], doubtful: bool) -> Result<BatchResult, StopReason> {
        let named =
            self.record_until_written(false, || self.ledger.batches().frozen_standings(&self.run.id, ids)).await?;
        self.ask(named, doubtful).await
    }

    async fn ask(&self, named: Alike, doubtful: bool) -> Result<BatchResult, StopReason> {
        let (named, never) = self.worth_a_try(named).await?;
        let mut answer = match named.is_empty() {
            true => BatchResult::default(),
            false => self.answer(named, doubtful).await,
        };
        if !answer.untouched {
            answer.settled.extend(never.into_iter().map(CompletedBatch::from));
        }
        self.mask(&mut answer);
        self.erase(&answer).await?;
        Ok(answer)
    }

    /// The jobs that are tried, and those that an undo does not even try.
    async fn worth_a_try(&self, named: Alike) -> Result<(Alike, Vec<JobOutcome>), StopReason> {
        let Run { id, intent, .. } = self.run;
        let Some(undone) = intent.options.undoes.clone().map(RunId) else { return Ok((named, Vec::new())) };
        self.record_until_written(false, || undo::sort_out(self.ledger, (id, intent.action), &undone, &named)).await
    }

    /// Erases what earlier runs kept of jobs that were deleted without a copy: before they count as done, so that an
    /// interrupted run comes back to it.
    async fn erase(&self, answer: &BatchResult) -> Result<(), StopReason> {
        if !self.erases() {
            return Ok(());
        }
        let done = |settled: &CompletedBatch| (settled.outcome.1 == JobResult::Done).then(|| settled.outcome.0.clone());
        let ids: Vec<JobId> = answer.settled.iter().filter_map(done).collect();
        if ids.is_empty() { Ok(()) } else { self.erase_kept(&ids).await }
    }

    async fn erase_kept(&self, ids: &[JobId]) -> Result<(), StopReason> {
        let Run { id, intent, .. } = self.run;
        // What the run was planned on, and nobody executes it anywhere else.
        let whose = Whose { source: &intent.source, store: &intent.store, database: intent.database.as_ref() };
        self.record_until_written(false, || self.ledger.snapshots().erase(whose, id, ids)).await.map(drop)
    }

    /// Where the record is in the source, jobs count as done along with the effect, and an interruption may have come
    /// before what was kept of them was erased.
    async fn erase_again(&self) -> Result<(), StopReason> {
        if !self.records_with_effect() || !self.erases() {
            return Ok(());
        }
        let mut after = 0;
        loop {
            let done = self
                .record_until_written(false, || {
                    self.ledger.cohorts().jobs(&self.run.id, CohortPart::Done, after, ERASED)
                })
                .await?;
            let Some(last) = done.last() else { return Ok(()) };
            after = last.ord;
            let ids: Vec<JobId> = done.into_iter().map(|job| job.id).collect();
            self.erase_kept(&ids).await?;
        }
    }

    /// Whether the record is in the source, and written along with the effect.
    pub(super) fn records_with_effect(&self) -> bool {
        self.journal.in_source().is_some()
    }

    /// Whether jobs are deleted without a copy.
    fn erases(&self) -> bool {
        self.run.intent.options.no_archive && self.run.intent.action.profile().rows == RowEffect::DeletedWithCopy
    }
}
