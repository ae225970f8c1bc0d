//! The loop over the batches of a run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::{Answer, pause};
use super::control::{RunControl, Wish};
use super::halt::Halt;
use super::pace::{BatchSize, Meter, Pace, Spread};
use super::places::jitter;
use super::{Receipt, RunError, RunOptions, ready};
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, Ledger, LedgerArchive, LedgerError, Part, Run, RunId, RunState, Settled, Tally};
use crate::store::{Archive, Budget, Record, Standing};
use crate::triage::Desk;
use crate::triage::progress::RunProgress;
use crate::triage::undo;
use crate::triage::validate::Validate;

/// Jobs handed to a destination outside the database, or shown to a validator, at a time.
const DELIVERY: usize = 200;
/// Batches in a row of which a destination accepts nothing, or for which a validator answers nothing, before the run is
/// stopped: it is broken, and not the jobs.
const REFUSALS: u32 = 2;
/// Jobs of a batch of the sweep.
const SWEEP: usize = 200;
/// Jobs of which is erased at a time what was kept of them.
const ERASED: usize = 5_000;

/// Executes a confirmed run, or goes on with one that was stopped or left by a crash, until it ends, is stopped, or
/// cannot go on. Reads the clock. May be dropped at any time: then the run can be resumed.
///
/// # Errors
/// When the run cannot be executed here, or the record can no longer be kept; see [`RunError`].
pub async fn execute(
    desk: &Desk,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let ledger = &ledger.of(run).await?;
    let hold = ledger.hold(run).await?;
    let receipt = execute_held(desk, ledger, run, options, control, progress).await;
    hold.release().await;
    receipt
}

async fn execute_held(
    desk: &Desk,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let began = Instant::now();
    let record = ledger.run(run).await?;
    ready::check(desk, &record)?;
    let validator = ready::validator(&options, ledger, &record)?;
    ready::same_database(desk, &record, &options).await?;
    let prepared = ready::prepare(desk, &record, &options).await;
    ledger.start(run, Timestamp::now()).await?;
    let tally = ledger.tally(run).await?;
    let mut engine = Engine::new(desk, ledger, &record, options, control, progress, tally);
    engine.validator = validator;
    let worked = match prepared {
        Ok(()) => engine.work().await,
        unprepared => unprepared,
    };
    let (halted, denied) = match worked {
        Ok(()) => (None, false),
        Err(Halt::Because(reason)) => (Some(reason), false),
        Err(Halt::Denied(reason)) => (Some(reason), true),
        Err(Halt::Broken(error)) => return Err(error.into()),
    };
    let run = ledger.end(run, Timestamp::now()).await?;
    engine.state = run.state;
    engine.tally = run.tally.clone();
    engine.tell(None);
    let halted = halted.or_else(|| (run.state != RunState::Finished).then(|| LEFT_IN_DOUBT.to_owned()));
    let refused = denied && run.tally.not_started + run.tally.skipped_total() == run.tally.planned;
    Ok(Receipt { run, halted, refused, elapsed: began.elapsed() })
}

/// Goes on with a run that was stopped or left by a crash; the batch in doubt is settled first.
///
/// # Errors
/// As [`execute`]; a run that was never confirmed is not resumed.
pub async fn resume(
    desk: &Desk,
    ledger: &Ledger,
    run: &RunId,
    options: RunOptions,
    control: &RunControl,
    progress: &watch::Sender<RunProgress>,
) -> Result<Receipt, RunError> {
    let state = ledger.run(run).await?.state;
    if !matches!(state, RunState::Stopped | RunState::Running) {
        let state = state.word().to_owned();
        return Err(LedgerError::WrongState { run: run.0.clone(), state, asked: "resumed" }.into());
    }
    execute(desk, ledger, run, options, control, progress).await
}

const LEFT_IN_DOUBT: &str = "what became of some jobs is not known yet: resume the run to find out";
const STOPPED: &str = "stopped by the operator";

/// Jobs by how they stood when they were frozen.
type Alike = Vec<(Standing, Vec<JobId>)>;

pub(super) struct Engine<'a> {
    pub(super) desk: &'a Desk,
    pub(super) ledger: &'a Ledger,
    pub(super) run: &'a Run,
    pub(super) options: RunOptions,
    pub(super) control: &'a RunControl,
    pub(super) budget: Budget,
    pub(super) archive: Option<Arc<dyn Archive>>,
    pub(super) validator: Option<Arc<dyn Validate>>,
    /// Batches in a row for which the validator gave no answer at all.
    pub(super) silent: AtomicU32,
    /// Where the record is in the source, what writes it along with the effect.
    pub(super) record: Option<Arc<dyn Record>>,
    progress: &'a watch::Sender<RunProgress>,
    state: RunState,
    pub(super) tally: Tally,
    meter: Meter,
    /// How the jobs are spread, where each can be told when it may run.
    pub(super) spread: Option<Spread>,
    /// When the jobs of the present batch may run; `None` is at once.
    pub(super) due: Option<Timestamp>,
    /// The same, of jobs whose batch is made of several places of the run.
    pub(super) dues: HashMap<JobId, Timestamp>,
    /// Jobs that were told when to run: each is told an instant of its own, also where some are tried again.
    pub(super) told: AtomicI64,
}

impl<'a> Engine<'a> {
    fn new(
        desk: &'a Desk,
        ledger: &'a Ledger,
        run: &'a Run,
        options: RunOptions,
        control: &'a RunControl,
        progress: &'a watch::Sender<RunProgress>,
        tally: Tally,
    ) -> Self {
        let keeps = run.intent.options.keeps(run.intent.action, tally.planned);
        let archive: Option<Arc<dyn Archive>> = match (keeps, run.intent.action) {
            (true, _) => Some(Arc::new(LedgerArchive::new(ledger.clone(), run.id.clone()))),
            (false, Action::Discard) => Some(Arc::new(LedgerArchive::of_keys(ledger.clone(), run.id.clone()))),
            (false, _) => None,
        };
        let record = ledger.record(&run.id);
        let budget = Budget::new(options.statement);
        let (state, meter) = (RunState::Running, Meter::new(Instant::now()));
        Self {
            desk,
            ledger,
            run,
            options,
            control,
            budget,
            archive,
            record,
            validator: None,
            silent: AtomicU32::new(0),
            progress,
            state,
            tally,
            meter,
            spread: None,
            due: None,
            dues: HashMap::new(),
            told: AtomicI64::new(0),
        }
    }

    async fn work(&mut self) -> Result<(), Halt> {
        self.tell(None);
        self.spread = self.spread().filter(|_| self.desk.store.info().defers);
        let reached = self.tally.planned - self.tally.not_started - self.tally.in_doubt;
        self.spread = self.spread.map(|spread| spread.going_on(reached, Timestamp::now()));
        self.settle_doubts().await?;
        self.erase_again().await?;
        self.pass().await?;
        self.sweep().await?;
        // A record in the source may have lost the answer to an entry of its own; it can always tell what took effect.
        if self.record.is_some() { self.settle_doubts().await } else { Ok(()) }
    }

    /// The jobs of batches whose result is not known.
    async fn settle_doubts(&mut self) -> Result<(), Halt> {
        let doubts = self.kept(false, || self.ledger.in_doubt(&self.run.id)).await?;
        if self.spread.is_some() && !doubts.is_empty() {
            let all = usize::MAX >> 1;
            let jobs = self.kept(false, || self.ledger.jobs(&self.run.id, Part::InDoubt, 0, all)).await?;
            self.place(&jobs);
        }
        for (no, ids) in doubts {
            self.settle(no, &ids, true).await?;
        }
        Ok(())
    }

    /// Every job that no batch has named yet.
    async fn pass(&mut self) -> Result<(), Halt> {
        let spread = self.spread();
        let defers = self.desk.store.info().defers;
        let mut pace = Pace::new(self.rate(spread.filter(|_| !defers)));
        let most = self.run.intent.options.pacing.batch.unwrap_or(usize::MAX).min(self.options.batch);
        let outside = self.options.deliver.is_some() || self.validator.is_some();
        let mut size = match outside {
            true => BatchSize::fixed(most.min(DELIVERY)),
            false if !self.options.adapts => BatchSize::fixed(most),
            false => BatchSize::adaptive(most),
        };
        let cap = self.spread.map_or(usize::MAX, Spread::cap);
        let mut refusals = 0;
        let mut begun = None;
        while begun.is_some() || self.tally.not_started > 0 {
            if begun.is_none() {
                self.control.rest(pace.wait(Instant::now())).await;
                self.allowed().await?;
                let n = pace.cap(size.get()).min(cap);
                begun = self.kept(false, || self.ledger.begin_batch(&self.run.id, n, Timestamp::now())).await?;
            }
            let Some((no, ids)) = begun.take() else { break };
            self.dues.clear();
            let reached = self.tally.planned - self.tally.not_started;
            self.spread = self.spread.map(|spread| spread.going_on(reached, Timestamp::now()));
            self.due = self.spread.map(|spread| spread.due(reached, jitter()));
            self.tally.begin(ids.len() as u64);
            pace.started(ids.len(), Instant::now());
            let done = self.tally.done;
            let answer = self.ask(&ids, false).await?;
            size.took(ids.len(), answer.elapsed);
            // Where nothing stands between this batch and the next, one transaction of the ledger ends and begins them.
            let at_once = self.control.wish() == Wish::Go && pace.wait(Instant::now()).is_zero();
            let most = pace.cap(size.get()).min(cap);
            let next = if at_once && !outside { most } else { 0 };
            begun = self.record(no, &ids, answer, next).await?;
            refusals = if self.tally.done > done { 0 } else { refusals + 1 };
            let silent = self.silent.load(Ordering::Relaxed);
            if silent >= REFUSALS && self.tally.not_started > 0 {
                return Err(Halt::Because(format!("the validator answered for no job of {silent} batches in a row")));
            }
            if self.options.deliver.is_some() && refusals >= REFUSALS && silent == 0 && self.tally.not_started > 0 {
                return Err(Halt::Because(format!("the destination accepted no job of {refusals} batches in a row")));
            }
        }
        Ok(())
    }

    /// Jobs a second at the most: what was asked for now or with the plan, and what spreads the replay itself.
    fn rate(&self, spread: Option<Spread>) -> Option<f64> {
        let asked = self.options.rate.or(self.run.intent.options.pacing.rate);
        let spread = spread.map(Spread::rate);
        [asked, spread].into_iter().flatten().reduce(f64::min)
    }

    /// Rows that another session held get one more try, at the pace of the others.
    async fn sweep(&mut self) -> Result<(), Halt> {
        let defers = self.desk.store.info().defers;
        let mut pace = Pace::new(self.rate(self.spread().filter(|_| !defers)));
        let most = pace.cap(self.run.intent.options.pacing.batch.unwrap_or(SWEEP).clamp(1, SWEEP));
        let mut after = 0;
        loop {
            let locked = self.kept(false, || self.ledger.jobs(&self.run.id, Part::Locked, after, most)).await?;
            let Some(last) = locked.last() else { return Ok(()) };
            if after == 0 {
                // Time for the sessions that held rows to let go of them.
                self.control.rest(self.options.retry * 2).await;
            }
            after = last.ord;
            self.control.rest(pace.wait(Instant::now())).await;
            self.allowed().await?;
            pace.started(locked.len(), Instant::now());
            let no = self.kept(false, || self.ledger.begin_again(&self.run.id, &locked, Timestamp::now())).await?;
            self.tally.begin_again(&SkipReason::Locked, locked.len() as u64);
            self.place(&locked);
            let ids: Vec<JobId> = locked.into_iter().map(|job| job.id).collect();
            self.settle(no, &ids, false).await?;
        }
    }

    /// Returns once the operator lets the run go on; a stop ends it.
    async fn allowed(&mut self) -> Result<(), Halt> {
        if self.control.wish() == Wish::Pause {
            self.tell(Some("paused".to_owned()));
        }
        match self.control.unpaused().await {
            Wish::Stop => Err(Halt::Because(STOPPED.to_owned())),
            Wish::Go | Wish::Pause => Ok(()),
        }
    }

    /// Applies the action to a batch that the ledger has named, and writes down what became of it.
    async fn settle(&mut self, no: BatchNo, ids: &[JobId], doubtful: bool) -> Result<(), Halt> {
        let answer = self.ask(ids, doubtful).await?;
        self.record(no, ids, answer, 0).await.map(drop)
    }

    /// Applies the action to jobs that the ledger has named.
    async fn ask(&self, ids: &[JobId], doubtful: bool) -> Result<Answer, Halt> {
        let named = self.kept(false, || self.ledger.frozen_standings(&self.run.id, ids)).await?;
        let (named, never) = self.worth_a_try(named).await?;
        let mut answer = match named.is_empty() {
            true => Answer::default(),
            false => self.answer(named, doubtful).await,
        };
        if !answer.untouched {
            answer.settled.extend(never.into_iter().map(Settled::from));
        }
        self.mask(&mut answer);
        self.erase(&answer).await?;
        Ok(answer)
    }

    /// The jobs that are tried, and those that an undo does not even try.
    async fn worth_a_try(&self, named: Alike) -> Result<(Alike, Vec<JobOutcome>), Halt> {
        let Run { id, intent, .. } = self.run;
        let Some(undone) = intent.options.undoes.clone().map(RunId) else { return Ok((named, Vec::new())) };
        self.kept(false, || undo::sort_out(self.ledger, (id, intent.action), &undone, &named)).await
    }

    /// Erases what earlier runs kept of jobs that were deleted without a copy: before they count as done, so that an
    /// interrupted run comes back to it.
    async fn erase(&self, answer: &Answer) -> Result<(), Halt> {
        if !self.erases() {
            return Ok(());
        }
        let done = |settled: &Settled| (settled.outcome.1 == JobResult::Done).then(|| settled.outcome.0.clone());
        let ids: Vec<JobId> = answer.settled.iter().filter_map(done).collect();
        if ids.is_empty() { Ok(()) } else { self.erase_kept(&ids).await }
    }

    async fn erase_kept(&self, ids: &[JobId]) -> Result<(), Halt> {
        let Run { id, intent, .. } = self.run;
        self.kept(false, || self.ledger.erase_kept(&intent.source, &intent.store, id, ids)).await.map(drop)
    }

    /// Where the record is in the source, jobs count as done along with the effect, and an interruption may have come
    /// before what was kept of them was erased.
    async fn erase_again(&self) -> Result<(), Halt> {
        if self.record.is_none() || !self.erases() {
            return Ok(());
        }
        let mut after = 0;
        loop {
            let done = self.kept(false, || self.ledger.jobs(&self.run.id, Part::Done, after, ERASED)).await?;
            let Some(last) = done.last() else { return Ok(()) };
            after = last.ord;
            let ids: Vec<JobId> = done.into_iter().map(|job| job.id).collect();
            self.erase_kept(&ids).await?;
        }
    }

    /// Whether jobs are deleted without a copy.
    fn erases(&self) -> bool {
        self.run.intent.options.no_archive && self.run.intent.action == Action::Discard
    }

    /// Writes down what became of a batch and, where the run goes on, that the `next` jobs are about to be touched.
    async fn record(
        &mut self,
        no: BatchNo,
        ids: &[JobId],
        answer: Answer,
        next: usize,
    ) -> Result<Option<(BatchNo, Vec<JobId>)>, Halt> {
        let next = if answer.halt.is_none() { next } else { 0 };
        let mut begun = None;
        if answer.untouched {
            self.kept(false, || self.ledger.release_batch(&self.run.id, no)).await?;
            self.tally.release(ids.len() as u64);
        } else {
            let settled = &answer.settled;
            begun =
                self.kept(true, || self.ledger.turn_batch(&self.run.id, no, settled, next, Timestamp::now())).await?;
            for Settled { outcome: (_, result), .. } in &answer.settled {
                self.tally.settle(result);
            }
            self.meter.settled(answer.settled.len() as u64, Instant::now());
        }
        self.tell(None);
        match answer.halt {
            Some(reason) => Err(if answer.denied { Halt::Denied(reason) } else { Halt::Because(reason) }),
            None => Ok(begun),
        }
    }

    /// An entry of the record, tried again while that is full, locked or away: until `results` stand there nobody else knows
    /// of them, and some layouts keep no trace by which they could be found out; and a record in the source is away
    /// whenever the source is.
    async fn kept<T, F>(&self, results: bool, entry: impl Fn() -> F) -> Result<T, Halt>
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
            let hopeless = !results && self.record.is_none();
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
        let now = Instant::now();
        self.progress.send_replace(RunProgress {
            run: self.run.id.clone(),
            state: self.state,
            tally: self.tally.clone(),
            rate: self.meter.rate(now),
            eta: self.meter.eta(self.tally.not_started + self.tally.in_doubt, now),
            waiting,
        });
    }
}
