//! The batches of a run, one after the other, and what was locked once more at the end.

use tokio::time::Instant;

use super::batch_size::{BatchSize, RateLimit, Spread};
use super::control::Wish;
use super::executor::RunExecutor;
use super::progress::UnrecordedBatch;
use super::stop_reason::StopReason;
use crate::domain::action::SkipReason;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::ledger::{BatchNo, CohortPart};

/// Jobs handed to a destination outside the database, or shown to a validator, at a time.
const DELIVERY: usize = 200;
/// Batches in a row of which a destination accepts nothing of what it is given, or for which a validator answers nothing,
/// before the run is stopped: it is broken, and not the jobs.
const REFUSALS: u32 = 2;
/// Jobs of a batch of the sweep.
const SWEEP: usize = 200;

/// How many jobs the next batch has, and when it may start.
pub(super) struct BatchLimits {
    pub(super) size: BatchSize,
    pub(super) rate: RateLimit,
    /// The most jobs of a batch, whatever else allows.
    pub(super) cap: usize,
}

impl BatchLimits {
    /// Jobs of the next batch at the most.
    fn jobs(&self) -> usize {
        self.rate.cap(self.size.get()).min(self.cap)
    }
}

impl RunExecutor<'_> {
    /// Every job that no batch has named yet.
    pub(super) async fn pass(&mut self) -> Result<(), StopReason> {
        let mut limits = self.limits();
        let mut watch = self.watch_outcomes(&mut limits);
        let (mut refusals, mut named) = (0, None);
        // What was in doubt is behind us.
        self.applier.destination.as_ref().map(|destination| destination.accepted());
        loop {
            let next = match named.take() {
                Some(next) => Some(next),
                None => self.begin(&limits).await?,
            };
            let Some((no, ids)) = next else { return Ok(()) };
            self.set_out(ids.len(), &mut limits.rate);
            let answer = self.ask_named(&ids, false).await?;
            limits.size.took(ids.len(), answer.elapsed);
            // Where nothing stands between this batch and the next, one transaction of the ledger ends and begins them.
            let is_due = watch.as_ref().is_some_and(|watch| watch.is_due(Instant::now()));
            let at_once =
                !is_due && self.context.control.wish() == Wish::Go && limits.rate.wait(Instant::now()).is_zero();
            let next = if at_once && !self.applier.goes_through_others() { limits.jobs() } else { 0 };
            named = self.record(UnrecordedBatch { no, ids, answer }, next).await?;
            if let Some(watch) = watch.as_mut().filter(|_| is_due) {
                self.check_outcomes(watch, &mut limits).await?;
            }
            // A batch of which the destination was given nothing says nothing of it.
            refusals = match self.applier.destination.as_ref().and_then(|destination| destination.accepted()) {
                Some(true) => 0,
                Some(false) => refusals + 1,
                None => refusals,
            };
            self.stop_if_refused(refusals)?;
        }
    }

    pub(super) fn limits(&self) -> BatchLimits {
        let spread = self.context.spread();
        let defers = self.context.desk.store.info().capabilities.defers;
        let most = self.context.run.intent.options.pacing.batch.unwrap_or(usize::MAX).min(self.context.options.batch);
        let size = match self.applier.goes_through_others() {
            true => BatchSize::fixed(most.min(DELIVERY)),
            false if !self.context.options.adapts => BatchSize::fixed(most),
            false => BatchSize::adaptive(most),
        };
        BatchLimits {
            size,
            rate: RateLimit::new(self.rate(spread.filter(|_| !defers))),
            cap: self.applier.schedule.cap(),
        }
    }

    /// Names the next batch when its time has come; `None` when every job was named.
    pub(super) async fn begin(&self, limits: &BatchLimits) -> Result<Option<(BatchNo, Vec<JobId>)>, StopReason> {
        if self.context.report.counts().tally.not_started == 0 {
            return Ok(None);
        }
        self.context.control.rest(limits.rate.wait(Instant::now())).await;
        self.context.allowed().await?;
        let jobs = limits.jobs();
        let begun = self
            .context
            .record_until_written(false, || {
                self.context.ledger.batches().begin(&self.context.run.id, jobs, Timestamp::now())
            })
            .await?;
        self.context.report.counts().tally.begin(begun.as_ref().map_or(0, |(_, ids)| ids.len() as u64));
        Ok(begun)
    }

    /// Takes in that `jobs`, the last that were named, are worked on from now.
    pub(super) fn set_out(&mut self, jobs: usize, rate: &mut RateLimit) {
        let before = {
            let tally = &self.context.report.counts().tally;
            (tally.planned - tally.not_started).saturating_sub(jobs as u64)
        };
        self.applier.schedule.begin(before, Timestamp::now());
        rate.started(jobs, Instant::now());
    }

    /// Stops a run of which whoever has its jobs first takes none.
    fn stop_if_refused(&self, refusals: u32) -> Result<(), StopReason> {
        let silent = self.applier.screening.silent();
        let rest = self.context.report.counts().tally.not_started;
        if silent >= REFUSALS && rest > 0 {
            return Err(StopReason::Because(format!("the validator answered for no job of {silent} batches in a row")));
        }
        if refusals >= REFUSALS && rest > 0 {
            return Err(StopReason::Because(format!("the destination accepted no job of {refusals} batches in a row")));
        }
        Ok(())
    }

    /// Jobs a second at the most: what was asked for now or with the plan, and what spreads the replay itself.
    pub(super) fn rate(&self, spread: Option<Spread>) -> Option<f64> {
        let asked = self.context.options.rate.or(self.context.run.intent.options.pacing.rate);
        let spread = spread.map(Spread::rate);
        [asked, spread].into_iter().flatten().reduce(f64::min)
    }

    /// Rows that another session held get one more try, at the pace of the others.
    pub(super) async fn sweep(&mut self) -> Result<(), StopReason> {
        let defers = self.context.desk.store.info().capabilities.defers;
        let mut pace = RateLimit::new(self.rate(self.context.spread().filter(|_| !defers)));
        let most = pace.cap(self.context.run.intent.options.pacing.batch.unwrap_or(SWEEP).clamp(1, SWEEP));
        let mut after = 0;
        loop {
            let locked = self
                .context
                .record_until_written(false, || {
                    self.context.ledger.cohorts().jobs(&self.context.run.id, CohortPart::Locked, after, most)
                })
                .await?;
            let Some(last) = locked.last() else { return Ok(()) };
            if after == 0 {
                // Time for the sessions that held rows to let go of them.
                self.context.control.rest(self.context.options.retry * 2).await;
            }
            after = last.ord;
            self.context.control.rest(pace.wait(Instant::now())).await;
            self.context.allowed().await?;
            pace.started(locked.len(), Instant::now());
            let no = self
                .context
                .record_until_written(false, || {
                    self.context.ledger.batches().begin_again(&self.context.run.id, &locked, Timestamp::now())
                })
                .await?;
            self.context.report.counts().tally.begin_again(&SkipReason::Locked, locked.len() as u64);
            self.applier.schedule.place(&locked);
            let ids: Vec<JobId> = locked.into_iter().map(|job| job.id).collect();
            self.apply_batch(no, ids, false).await?;
        }
    }
}
