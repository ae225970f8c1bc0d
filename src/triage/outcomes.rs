//! Asks where the replayed jobs of a run have got to, and keeps the answers in the ledger.

use std::collections::HashMap;
use std::time::Duration;

use super::StoreContext;
use crate::domain::job::JobId;
use crate::domain::outcome::{ObservedOutcome, OutcomeCounts, ReplayOutcome};
use crate::domain::rollout::evidence::Evidence;
use crate::ledger::{Ledger, ReplayedJob, RunId};
use crate::store::{Budget, SourceError};
use crate::triage::freeze::PlanError;

/// Jobs that are asked about in one statement.
const STEP: usize = 500;
/// Steps of one poll: the next one goes on with the jobs behind.
const STEPS_PER_POLL: usize = 20;

/// The time between two polls: short after a change, ever longer while nothing changes, as far as polls are dear. What is
/// asked quickly is asked every second: who waits for outcomes learns of a death within two.
#[derive(Clone, Copy, Debug)]
pub struct PollPause(Duration);

impl PollPause {
    /// The shortest.
    pub const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);
    /// How many times as long as a poll took it may be until the next one.
    const REST: u32 = 10;

    /// The time to wait after a poll that took this long.
    pub fn after(&mut self, has_changed: bool, took: Duration) -> Duration {
        let longest = took.saturating_mul(Self::REST).clamp(Self::SHORTEST, Self::LONGEST);
        self.0 = if has_changed { Self::SHORTEST } else { (self.0 * 2).min(longest) };
        self.0
    }
}

impl Default for PollPause {
    fn default() -> Self {
        Self(Self::SHORTEST)
    }
}

/// Follows the outcomes of one run, a poll at a time.
#[derive(Debug)]
pub struct OutcomePoll {
    run: RunId,
    /// The place of the last job that was asked about; 0 is the start.
    after: i64,
}

impl OutcomePoll {
    /// Begins with the first job of a run.
    pub fn new(run: RunId) -> Self {
        Self { run, after: 0 }
    }

    /// Asks about jobs of the run whose outcome can still change, 10,000 at most, and keeps what has changed. Returns the
    /// counts of the whole run.
    ///
    /// # Errors
    /// When the source or the ledger cannot be read, the ledger cannot be written, or the caller cancels.
    pub async fn poll(
        &mut self,
        desk: &StoreContext,
        ledger: &Ledger,
        budget: &Budget,
    ) -> Result<OutcomeCounts, PlanError> {
        let ledger = &ledger.of(&self.run).await?;
        // A layout that can tell nothing is not asked.
        let steps = if desk.store.info().capabilities.outcomes_unknown.is_some() { 0 } else { STEPS_PER_POLL };
        for _ in 0..steps {
            let jobs = ledger.outcomes().open_jobs(&self.run, self.after, STEP).await?;
            self.after = jobs.last().filter(|_| jobs.len() == STEP).map_or(0, |last| last.ord);
            if budget.cancel.is_cancelled() {
                return Err(SourceError::Cancelled.into());
            }
            let changed =
                if jobs.is_empty() { Vec::new() } else { ask(desk, ledger, &self.run, &jobs, budget).await? };
            if !changed.is_empty() {
                ledger.outcomes().record(&self.run, &changed, desk.store.clock()).await?;
            }
            if self.after == 0 {
                break;
            }
        }
        Ok(ledger.outcomes().count(&self.run).await?)
    }

    /// Whether every open job was asked about since the last time that this was so.
    pub fn is_through(&self) -> bool {
        self.after == 0
    }
}

/// The outcomes of these jobs that are other than those that are kept.
async fn ask(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    jobs: &[ReplayedJob],
    budget: &Budget,
) -> Result<Vec<(i64, ObservedOutcome)>, PlanError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let later = ledger.outcomes().from_later_runs(run, &ids).await?;
    let mut known: HashMap<JobId, ObservedOutcome> =
        later.into_iter().map(|(id, outcome)| (id, outcome.into())).collect();
    let ids: Vec<JobId> = ids.into_iter().filter(|id| !known.contains_key(id)).collect();
    let kept = match desk.store.info().capabilities.outcomes_need_copies {
        true => ledger.snapshots().get(run, &ids).await?,
        false => Vec::new(),
    };
    let told: HashMap<JobId, ObservedOutcome> = match ids.is_empty() {
        true => HashMap::new(),
        false => desk.store.outcomes(&ids, &kept, budget).await?.into_iter().collect(),
    };
    known.extend(told);
    let mut changed = Vec::new();
    for job in jobs {
        let ObservedOutcome { outcome, dead_row } =
            known.remove(&job.id).unwrap_or_else(|| ReplayOutcome::Unknown.into());
        let outcome = job.last.as_ref().map_or_else(|| outcome.clone(), |last| last.followed_by(outcome.clone()));
        if job.last.as_ref() != Some(&outcome) {
            changed.push((job.ord, ObservedOutcome { outcome, dead_row }));
        }
    }
    Ok(changed)
}

/// What the outcomes of the jobs at these places of a run say of the others. What has changed is kept.
///
/// # Errors
/// As [`OutcomePoll::poll`].
pub async fn gather_evidence(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    places: &[i64],
    budget: &Budget,
) -> Result<Evidence, PlanError> {
    let can_tell = desk.store.info().capabilities.outcomes_unknown.is_none();
    let mut evidence = Evidence::default();
    for places in places.chunks(STEP) {
        let mut jobs = ledger.outcomes().jobs_at(run, places).await?;
        let is_open = |job: &&ReplayedJob| !job.last.as_ref().is_some_and(ReplayOutcome::is_final);
        let open: Vec<ReplayedJob> = jobs.iter().filter(is_open).filter(|_| can_tell).cloned().collect();
        let changed = if open.is_empty() { Vec::new() } else { ask(desk, ledger, run, &open, budget).await? };
        if !changed.is_empty() {
            ledger.outcomes().record(run, &changed, desk.store.clock()).await?;
        }
        let mut changed: HashMap<i64, ReplayOutcome> =
            changed.into_iter().map(|(ord, seen)| (ord, seen.outcome)).collect();
        for job in &mut jobs {
            let outcome = changed.remove(&job.ord).or_else(|| job.last.take());
            evidence.add(&outcome.unwrap_or(ReplayOutcome::Unknown));
        }
    }
    Ok(evidence)
}

/// Asks once about every job of a run whose outcome can still change.
///
/// # Errors
/// As [`OutcomePoll::poll`].
pub async fn count_outcomes(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    budget: &Budget,
) -> Result<OutcomeCounts, PlanError> {
    let mut poll = OutcomePoll::new(run.clone());
    loop {
        let counts = poll.poll(desk, ledger, budget).await?;
        if poll.is_through() {
            return Ok(counts);
        }
    }
}
