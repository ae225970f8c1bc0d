//! The execution of a run, from its start to its end.

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::{BatchApplier, BatchResult};
use super::context::RunContext;
use super::control::RunControl;
use super::erase::KeptRowEraser;
use super::progress::UnrecordedBatch;
use super::rollout::RolloutRun;
use super::schedule::Schedule;
use super::stop_reason::StopReason;
use super::{Receipt, RunError, RunOptions, preflight};
use crate::domain::action::JobOutcome;
use crate::domain::job::JobId;
use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, CohortPart, CompletedBatch, Ledger, LedgerError, Run, RunId, RunState};
use crate::store::Standing;
use crate::triage::progress::RunProgress;
use crate::triage::repair::RunEdits;
use crate::triage::{StoreContext, undo};

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
    let context = RunContext::new(desk, ledger, &record, options, control, progress, tally);
    let applier = BatchApplier::new(&context, validator);
    let mut executor = RunExecutor { context: &context, applier, rollout: RolloutRun::of(&record) };
    let worked = match prepared {
        Ok(()) => executor.work().await,
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
            context.tell(None);
            return Err(error.into());
        }
    };
    let run = ledger.runs().end(run, Timestamp::now()).await?;
    let left = run.tally.not_started + run.tally.in_doubt;
    log::run_ended(&run.id.0, run.state.word(), run.tally.done, left, began.elapsed());
    {
        let mut told = context.report.counts();
        told.state = run.state;
        told.tally = run.tally.clone();
    }
    context.tell(None);
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

/// Jobs by how they stood when they were frozen.
pub(super) type Alike = Vec<(Standing, Vec<JobId>)>;

/// The batches of a run, one after the other: first those in doubt, then what no batch has named, then what was locked.
pub(super) struct RunExecutor<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) applier: BatchApplier<'a>,
    /// The rule by which the run proves itself, where it has one.
    pub(super) rollout: Option<RolloutRun>,
}

impl RunExecutor<'_> {
    async fn work(&mut self) -> Result<(), StopReason> {
        self.context.tell(None);
        let reached = {
            let tally = &self.context.report.counts().tally;
            tally.planned - tally.not_started - tally.in_doubt
        };
        let spread = self.context.spread().filter(|_| self.context.desk.store.info().capabilities.defers);
        self.applier.schedule = Schedule::new(spread.map(|spread| spread.going_on(reached, Timestamp::now())));
        let RunContext { ledger, run: Run { id, intent, .. }, .. } = *self.context;
        let died_by = || undo::died_by(ledger, id, &intent.options);
        self.applier.died_by = self.context.record_until_written(false, died_by).await?;
        let edits = || RunEdits::of(ledger, id, (intent.action, &intent.options));
        self.applier.edits = self.context.record_until_written(false, edits).await?;
        self.applier.read_single_attempts().await?;
        self.resolve_doubts().await?;
        KeptRowEraser { context: self.context }.erase_again().await?;
        self.replay_canary().await?;
        self.pass().await?;
        self.sweep().await?;
        // A record in the source may have lost the answer to an entry of its own; it can always tell what took effect.
        if self.context.records_with_effect() { self.resolve_doubts().await } else { Ok(()) }
    }

    /// The jobs of batches whose result is not known.
    async fn resolve_doubts(&mut self) -> Result<(), StopReason> {
        let doubts = self
            .context
            .record_until_written(false, || self.context.ledger.batches().in_doubt(&self.context.run.id))
            .await?;
        if self.applier.schedule.is_spread() && !doubts.is_empty() {
            let all = usize::MAX >> 1;
            let jobs = self
                .context
                .record_until_written(false, || {
                    self.context.ledger.cohorts().jobs(&self.context.run.id, CohortPart::InDoubt, 0, all)
                })
                .await?;
            self.applier.schedule.place(&jobs);
        }
        for (no, ids) in doubts {
            self.apply_batch(no, ids, true).await?;
        }
        Ok(())
    }

    /// Applies the action to a batch that the ledger has named, and writes down what became of it.
    pub(super) async fn apply_batch(&self, no: BatchNo, ids: Vec<JobId>, doubtful: bool) -> Result<(), StopReason> {
        let answer = self.ask_named(&ids, doubtful).await?;
        self.record(UnrecordedBatch { no, ids, answer }, 0).await.map(drop)
    }

    /// Applies the action to jobs that the ledger has named.
    pub(super) async fn ask_named(&self, ids: &[JobId], doubtful: bool) -> Result<BatchResult, StopReason> {
        let named = self
            .context
            .record_until_written(false, || self.context.ledger.batches().frozen_standings(&self.context.run.id, ids))
            .await?;
        self.ask(named, doubtful).await
    }

    async fn ask(&self, named: Alike, doubtful: bool) -> Result<BatchResult, StopReason> {
        let (named, never) = self.worth_a_try(named).await?;
        let mut answer = match named.is_empty() {
            true => BatchResult::default(),
            false => self.applier.answer(named, doubtful).await,
        };
        if !answer.untouched {
            answer.settled.extend(never.into_iter().map(CompletedBatch::from));
        }
        self.applier.mask(&mut answer);
        KeptRowEraser { context: self.context }.erase(&answer).await?;
        Ok(answer)
    }

    /// The jobs that are tried, and those that an undo does not even try.
    async fn worth_a_try(&self, named: Alike) -> Result<(Alike, Vec<JobOutcome>), StopReason> {
        let Run { id, intent, .. } = self.context.run;
        let Some(undone) = intent.options.undoes.clone().map(RunId) else { return Ok((named, Vec::new())) };
        self.context
            .record_until_written(false, || undo::sort_out(self.context.ledger, (id, intent.action), &undone, &named))
            .await
    }
}
