//! The loop over the batches of a run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::pause;
use super::control::{RunControl, Wish};
use super::pace::{BatchSize, Meter, Pace};
use super::{Receipt, RunError, RunOptions};
use crate::domain::action::SkipReason;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, Ledger, LedgerArchive, LedgerError, Part, Run, RunId, RunState, Settled, Tally};
use crate::store::{Archive, Availability, Budget};
use crate::triage::Desk;
use crate::triage::progress::RunProgress;

/// Jobs handed to a destination outside the database at a time.
const DELIVERY: usize = 200;
/// Batches in a row of which a destination accepts nothing before the run is stopped: it is broken, and not the jobs.
const REFUSALS: u32 = 2;
/// Jobs of a batch of the sweep.
const SWEEP: usize = 200;

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
    let began = Instant::now();
    let _hold = ledger.hold(run)?;
    let record = ledger.run(run).await?;
    check(desk, &record)?;
    ledger.start(run, Timestamp::now()).await?;
    let tally = ledger.tally(run).await?;
    let mut engine = Engine::new(desk, ledger, &record, options, control, progress, tally);
    let halted = match engine.work().await {
        Ok(()) => None,
        Err(Halt::Because(reason)) => Some(reason),
        Err(Halt::Broken(error)) => return Err(error.into()),
    };
    let run = ledger.end(run, Timestamp::now()).await?;
    engine.state = run.state;
    engine.tally = run.tally.clone();
    engine.tell(None);
    let halted = halted.or_else(|| (run.state != RunState::Finished).then(|| LEFT_IN_DOUBT.to_owned()));
    Ok(Receipt { run, halted, elapsed: began.elapsed() })
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

fn check(desk: &Desk, run: &Run) -> Result<(), RunError> {
    let intent = &run.intent;
    if intent.source != desk.source || intent.store != desk.store_name() {
        return Err(RunError::OtherStore {
            run: run.id.0.clone(),
            planned: format!("{} ({})", intent.source, intent.store),
            here: format!("{} ({})", desk.source, desk.store_name()),
        });
    }
    match desk.store.info().availability(intent.action) {
        Availability::Ready { .. } => Ok(()),
        Availability::Disabled(reason) => Err(RunError::Disabled(reason)),
    }
}

/// Why the loop ends before its end.
pub(super) enum Halt {
    /// The run can be resumed; a sentence for the receipt.
    Because(String),
    /// The record cannot be kept.
    Broken(LedgerError),
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Self::Broken(error)
    }
}

pub(super) struct Engine<'a> {
    pub(super) desk: &'a Desk,
    pub(super) ledger: &'a Ledger,
    pub(super) run: &'a Run,
    pub(super) options: RunOptions,
    pub(super) control: &'a RunControl,
    pub(super) budget: Budget,
    pub(super) archive: Arc<dyn Archive>,
    progress: &'a watch::Sender<RunProgress>,
    state: RunState,
    tally: Tally,
    meter: Meter,
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
        let archive = Arc::new(LedgerArchive::new(ledger.clone(), run.id.clone()));
        let budget = Budget::new(options.statement);
        let (state, meter) = (RunState::Running, Meter::new(Instant::now()));
        Self { desk, ledger, run, options, control, budget, archive, progress, state, tally, meter }
    }

    async fn work(&mut self) -> Result<(), Halt> {
        self.tell(None);
        for (no, ids) in self.ledger.in_doubt(&self.run.id).await? {
            self.settle(no, &ids, true).await?;
        }
        self.pass().await?;
        self.sweep().await
    }

    /// Every job that no batch has named yet.
    async fn pass(&mut self) -> Result<(), Halt> {
        let mut pace = Pace::new(self.options.rate);
        let mut size = match self.options.deliver {
            Some(_) => BatchSize::fixed(self.options.batch.min(DELIVERY)),
            None => BatchSize::adaptive(self.options.batch),
        };
        let mut refusals = 0;
        while self.tally.not_started > 0 {
            self.control.rest(pace.wait(Instant::now())).await;
            self.allowed().await?;
            let n = pace.cap(size.get());
            let Some((no, ids)) = self.ledger.begin_batch(&self.run.id, n, Timestamp::now()).await? else { break };
            self.tally.begin(ids.len() as u64);
            pace.started(ids.len(), Instant::now());
            let done = self.tally.done;
            let elapsed = self.settle(no, &ids, false).await?;
            size.took(ids.len(), elapsed);
            refusals = if self.tally.done > done { 0 } else { refusals + 1 };
            if self.options.deliver.is_some() && refusals >= REFUSALS && self.tally.not_started > 0 {
                return Err(Halt::Because(format!("the destination accepted no job of {refusals} batches in a row")));
            }
        }
        Ok(())
    }

    /// Rows that another session held get one more try.
    async fn sweep(&mut self) -> Result<(), Halt> {
        let mut after = 0;
        loop {
            let locked = self.ledger.jobs(&self.run.id, Part::Locked, after, SWEEP).await?;
            let Some(last) = locked.last() else { return Ok(()) };
            if after == 0 {
                // Time for the sessions that held rows to let go of them.
                self.control.rest(self.options.retry * 2).await;
            }
            after = last.ord;
            self.allowed().await?;
            let no = self.ledger.begin_again(&self.run.id, &locked, Timestamp::now()).await?;
            self.tally.begin_again(&SkipReason::Locked, locked.len() as u64);
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
    async fn settle(&mut self, no: BatchNo, ids: &[JobId], doubtful: bool) -> Result<Duration, Halt> {
        let named = self.ledger.frozen_standings(&self.run.id, ids).await?;
        let answer = self.answer(named, doubtful).await;
        if answer.untouched {
            self.ledger.release_batch(&self.run.id, no).await?;
            self.tally.release(ids.len() as u64);
        } else {
            self.write(no, &answer.settled).await?;
        }
        self.tell(None);
        match answer.halt {
            Some(reason) => Err(Halt::Because(reason)),
            None => Ok(answer.elapsed),
        }
    }

    async fn write(&mut self, no: BatchNo, settled: &[Settled]) -> Result<(), Halt> {
        self.put_down(no, settled).await?;
        for Settled { outcome: (_, result), .. } in settled {
            self.tally.settle(result);
        }
        self.meter.settled(settled.len() as u64, Instant::now());
        Ok(())
    }

    /// Writes results into the record, which may be full or locked for a while: until they stand there nobody else knows
    /// of them, and some layouts keep no trace by which they could be found out.
    async fn put_down(&self, no: BatchNo, settled: &[Settled]) -> Result<(), Halt> {
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            let Err(error) = self.ledger.finish_batch(&self.run.id, no, settled, Timestamp::now()).await else {
                return Ok(());
            };
            tries += 1;
            let enough = self.control.wish() == Wish::Stop || began.elapsed() > self.options.patience;
            if enough || !matches!(error, LedgerError::Unusable { .. }) {
                return Err(error.into());
            }
            self.tell(Some(format!("{error}; trying again")));
            self.control.rest(pause(self.options.retry, tries)).await;
        }
    }

    /// Tells how far the run has got.
    pub(super) fn tell(&self, waiting: Option<String>) {
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
