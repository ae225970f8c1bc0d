//! The batches of a run, one after the other, and what was locked once more at the end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::ahead::{BEHIND, Coming, Flight, PATIENCE};
use super::batch::BatchResult;
use super::control::Wish;
use super::executor::RunExecutor;
use super::pace::{BatchSize, RateLimit, Spread};
use super::progress::UnrecordedBatch;
use super::schedule::jitter;
use super::stop_reason::StopReason;
use crate::domain::action::SkipReason;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, BegunBatch, CohortPart, Next, Note, Upcoming};

/// Jobs handed to a destination outside the database, or shown to a validator, at a time.
const DELIVERY: usize = 200;
/// Batches in a row of which a destination accepts nothing of what it is given, or for which a validator answers nothing,
/// before the run is stopped: it is broken, and not the jobs.
const REFUSALS: u32 = 2;
/// Jobs of a batch of the sweep.
const SWEEP: usize = 200;
/// How long no batch is begun behind another, once one took so long that the one behind it gave way: each may have stood
/// before what the other held, or the database is slow, and none the quicker for being asked twice at a time.
const ALONE: Duration = Duration::from_secs(2);

/// How the pass goes on: how many jobs at a time, how fast, and which come next.
struct BatchLoop {
    size: BatchSize,
    pace: RateLimit,
    /// The most jobs of a batch, whatever else allows.
    cap: usize,
    /// The jobs that come next, where the work on them may begin before the record names them.
    coming: Option<Coming>,
    /// What the last entry of the record took.
    entry: Duration,
    /// Until when no batch is begun behind another.
    alone_until: Option<Instant>,
}

impl BatchLoop {
    /// Jobs of the next batch at the most.
    fn most(&self) -> usize {
        self.pace.cap(self.size.get()).min(self.cap)
    }
}

impl RunExecutor<'_> {
    /// Every job that no batch has named yet.
    pub(super) async fn pass(&mut self) -> Result<(), StopReason> {
        let mut march = self.march();
        let (mut refusals, mut in_hand) = (0, None);
        // What was in doubt is behind us.
        self.handed.as_ref().map(|handed| handed.accepted());
        loop {
            let Some(batch) = in_hand.take() else {
                if self.books.told().tally.not_started == 0 {
                    return Ok(());
                }
                in_hand = self.first(&mut march).await?;
                if in_hand.is_none() {
                    return Ok(());
                }
                continue;
            };
            march.size.took(batch.ids.len(), batch.answer.elapsed);
            // Where nothing stands between this batch and the next, one transaction of the ledger ends and begins them.
            let at_once = self.may_go() && march.pace.wait(Instant::now()).is_zero();
            let next = if at_once && !self.goes_through_others() { march.most() } else { 0 };
            in_hand = self.go_on(batch, next, &mut march).await?;
            // A batch of which the destination was given nothing says nothing of it.
            refusals = match self.handed.as_ref().and_then(|handed| handed.accepted()) {
                Some(true) => 0,
                Some(false) => refusals + 1,
                None => refusals,
            };
            self.heard(refusals)?;
        }
    }

    fn march(&self) -> BatchLoop {
        let spread = self.spread();
        let defers = self.desk.store.info().defers;
        let most = self.run.intent.options.pacing.batch.unwrap_or(usize::MAX).min(self.options.batch);
        let size = match self.goes_through_others() {
            true => BatchSize::fixed(most.min(DELIVERY)),
            false if !self.options.adapts => BatchSize::fixed(most),
            false => BatchSize::adaptive(most),
        };
        BatchLoop {
            size,
            pace: RateLimit::new(self.rate(spread.filter(|_| !defers))),
            cap: self.spread.map_or(usize::MAX, Spread::cap),
            coming: self.may_go_ahead().then(Coming::default),
            entry: Duration::ZERO,
            alone_until: None,
        }
    }

    /// Whether a command or a validator has the jobs before the database does.
    fn goes_through_others(&self) -> bool {
        self.options.deliver.is_some() || self.validator.is_some()
    }

    /// Whether the work on a batch may begin before the record names it. Not where it reaches beyond a transaction that can
    /// be undone, where the record is written by that transaction, or where the jobs to be tried depend on the record.
    fn may_go_ahead(&self) -> bool {
        !self.goes_through_others() && self.record.is_none() && self.run.intent.options.undoes.is_none()
    }

    /// Begins a batch when its time has come.
    async fn first(&mut self, march: &mut BatchLoop) -> Result<Option<UnrecordedBatch>, StopReason> {
        self.control.rest(march.pace.wait(Instant::now())).await;
        self.allowed().await?;
        let n = march.most();
        let begun = self.kept(false, || self.ledger.begin_batch(&self.run.id, n, Timestamp::now())).await?;
        let Some((no, ids)) = begun else { return Ok(None) };
        let reached = self.reached();
        self.books.told().tally.begin(ids.len() as u64);
        self.work_on((no, ids), reached, march).await.map(Some)
    }

    /// Writes down what became of a batch, and goes on with the `next` jobs.
    async fn go_on(
        &mut self,
        batch: UnrecordedBatch,
        next: usize,
        march: &mut BatchLoop,
    ) -> Result<Option<UnrecordedBatch>, StopReason> {
        let straight = batch.answer.is_straight() && march.entry < PATIENCE;
        let coming = march.coming.as_mut().filter(|_| straight).map(|coming| coming.take(next)).unwrap_or_default();
        if !coming.is_empty() {
            self.set_out(self.reached(), coming.len(), &mut march.pace);
            return self.go_ahead(batch, coming, march).await;
        }
        let (began, reached) = (Instant::now(), self.reached());
        let begun = self.record(batch, Next::First(next), None).await?;
        march.entry = began.elapsed();
        let Some(BegunBatch { no, ids: Some(ids) }) = begun else { return Ok(None) };
        self.work_on((no, ids), reached, march).await.map(Some)
    }

    /// Applies the action to a batch that was just named.
    async fn work_on(
        &mut self,
        (no, ids): (BatchNo, Vec<JobId>),
        reached: u64,
        march: &mut BatchLoop,
    ) -> Result<UnrecordedBatch, StopReason> {
        self.set_out(reached, ids.len(), &mut march.pace);
        march.coming.iter_mut().for_each(|coming| coming.passed(&ids));
        let (answer, ()) = tokio::join!(self.ask_named(&ids, false), self.look_ahead(&mut march.coming));
        Ok(UnrecordedBatch { no, answer: answer?, ids })
    }

    /// Writes down what became of a batch, and meanwhile works on the jobs that come next; also on those behind them, where
    /// two batches do not get into each other's way, and so on until something speaks against it.
    async fn go_ahead(
        &self,
        mut batch: UnrecordedBatch,
        coming: Vec<Upcoming>,
        march: &mut BatchLoop,
    ) -> Result<Option<UnrecordedBatch>, StopReason> {
        let mut flight = self.take_off(coming);
        let mut has_lead = false;
        loop {
            flight.is_next();
            let ids = flight.ids();
            let (next, note) = (flight.next(), flight.note());
            // The session of the batch that has ended is free, whether or not its end is on record. Two that set out at once would
            // race for what both need, and the first has to win.
            let mut behind = if has_lead { self.behind(march) } else { None };
            let begun = flight.beside(beside(&mut behind, self.name(batch, (next, note.as_ref()), march))).await;
            let Ok(Some(BegunBatch { no, ids: named })) = begun else {
                turn_back(flight, behind, march).await;
                return begun.map(|_| None);
            };
            // Jobs that were read for the entry are named without the note.
            let note = note.filter(|_| named.is_none());
            if let Some(named) = named.filter(|named| *named != ids) {
                // Other jobs than were read ahead: of those nothing has been touched.
                turn_back(flight, behind, march).await;
                let answer = self.ask_named(&named, false).await?;
                return Ok(Some(UnrecordedBatch { no, answer, ids: named }));
            }
            flight.is_named(note.as_ref());
            behind = behind.or_else(|| self.behind(march));
            has_lead = true;
            let answered = async { tokio::join!(flight.answer(), self.look_ahead(&mut march.coming)).0 };
            let answer = beside(&mut behind, answered).await;
            if answer.as_ref().is_ok_and(|answer| answer.elapsed >= BEHIND || answer.gave_way) {
                march.alone_until = Some(Instant::now() + ALONE);
            }
            let goes_on =
                answer.as_ref().is_ok_and(BatchResult::is_straight) && march.entry < PATIENCE && self.may_go();
            match (answer, behind) {
                (Ok(answer), Some(next)) if goes_on => {
                    march.size.took(ids.len(), answer.elapsed);
                    (batch, flight) = (UnrecordedBatch { no, answer, ids }, next);
                }
                (answer, behind) => {
                    if let Some(behind) = behind {
                        let jobs = behind.turn_back().await;
                        march.coming.iter_mut().for_each(|coming| coming.give_back(&jobs));
                    }
                    return answer.map(|answer| Some(UnrecordedBatch { no, answer, ids }));
                }
            }
        }
    }

    /// Begins a batch behind one that is under way.
    fn behind(&self, march: &mut BatchLoop) -> Option<Flight<'_>> {
        let now = Instant::now();
        let may = self.reached() < self.abreast
            && march.alone_until.is_none_or(|until| now >= until)
            && self.may_go()
            && march.pace.wait(now).is_zero();
        let most = march.most();
        let jobs = march.coming.as_mut().filter(|_| may)?.take(most);
        if jobs.is_empty() {
            return None;
        }
        march.pace.started(jobs.len(), now);
        Some(self.take_off(jobs))
    }

    fn may_go(&self) -> bool {
        self.control.wish() == Wish::Go
    }

    /// Writes down what became of a batch and that the `next` jobs are about to be touched, and by which transaction.
    async fn name(
        &self,
        batch: UnrecordedBatch,
        (next, note): (Next, Option<&Note>),
        march: &mut BatchLoop,
    ) -> Result<Option<BegunBatch>, StopReason> {
        let began = Instant::now();
        let begun = self.record(batch, next, note).await?;
        march.entry = began.elapsed();
        Ok(begun)
    }

    /// Jobs that batches have named so far.
    fn reached(&self) -> u64 {
        let tally = &self.books.told().tally;
        tally.planned - tally.not_started
    }

    /// Takes in that the next `jobs`, after the first `reached`, are worked on from now.
    fn set_out(&mut self, reached: u64, jobs: usize, pace: &mut RateLimit) {
        self.dues.clear();
        self.spread = self.spread.map(|spread| spread.going_on(reached, Timestamp::now()));
        self.due = self.spread.map(|spread| spread.due(reached, jitter()));
        pace.started(jobs, Instant::now());
    }

    /// Stops a run of which whoever has its jobs first takes none.
    fn heard(&self, refusals: u32) -> Result<(), StopReason> {
        let silent = self.silent.load(Ordering::Relaxed);
        let rest = self.books.told().tally.not_started;
        if silent >= REFUSALS && rest > 0 {
            return Err(StopReason::Because(format!("the validator answered for no job of {silent} batches in a row")));
        }
        if refusals >= REFUSALS && rest > 0 {
            return Err(StopReason::Because(format!("the destination accepted no job of {refusals} batches in a row")));
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
    pub(super) async fn sweep(&mut self) -> Result<(), StopReason> {
        let defers = self.desk.store.info().defers;
        let mut pace = RateLimit::new(self.rate(self.spread().filter(|_| !defers)));
        let most = pace.cap(self.run.intent.options.pacing.batch.unwrap_or(SWEEP).clamp(1, SWEEP));
        let mut after = 0;
        loop {
            let locked = self.kept(false, || self.ledger.jobs(&self.run.id, CohortPart::Locked, after, most)).await?;
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
            self.books.told().tally.begin_again(&SkipReason::Locked, locked.len() as u64);
            self.place(&locked);
            let ids: Vec<JobId> = locked.into_iter().map(|job| job.id).collect();
            self.settle(no, ids, false).await?;
        }
    }
}

/// What `work` gives, while a batch behind is worked on, where there is one.
async fn beside<T>(behind: &mut Option<Flight<'_>>, work: impl Future<Output = T>) -> T {
    match behind {
        Some(behind) => behind.beside(work).await,
        None => work.await,
    }
}

/// Undoes a batch that the record does not name, and the one behind it: at once, as each may stand before what the other holds.
/// Nothing is read ahead from here on.
async fn turn_back(flight: Flight<'_>, behind: Option<Flight<'_>>, march: &mut BatchLoop) {
    let behind = async {
        if let Some(behind) = behind {
            behind.turn_back().await;
        }
    };
    tokio::join!(flight.turn_back(), behind);
    march.coming = None;
}
