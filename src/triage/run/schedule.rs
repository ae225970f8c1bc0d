//! Where in a spread each job stands: when it may run, whatever kept it from being acted on in its turn.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};

use super::batch_size::Spread;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::ledger::RunJob;
use crate::store::Standing;

/// A number from 0 to 1 that nobody can foresee.
pub(super) fn jitter() -> f64 {
    let [a, b, c, d, ..] = *uuid::Uuid::new_v4().as_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

/// When the jobs of a run may run, where they are spread over a time.
#[derive(Default)]
pub(super) struct Schedule {
    /// How they are spread, where each can be told when it may run.
    spread: Option<Spread>,
    /// When the jobs of the present batch may run; `None` is at once.
    due: Option<Timestamp>,
    /// The same, of jobs whose batch is made of several places of the run.
    dues: HashMap<JobId, Timestamp>,
    /// Jobs that were told when to run: each is told an instant of its own, also where some are tried again.
    told: AtomicI64,
}

impl Schedule {
    pub(super) fn new(spread: Option<Spread>) -> Self {
        Self { spread, ..Self::default() }
    }

    pub(super) fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// The most jobs of a batch.
    pub(super) fn cap(&self) -> usize {
        self.spread.map_or(usize::MAX, Spread::cap)
    }

    /// Takes in that a batch is begun behind the first `reached` jobs.
    pub(super) fn begin(&mut self, reached: u64, now: Timestamp) {
        self.dues.clear();
        self.spread = self.spread.map(|spread| spread.going_on(reached, now));
        self.due = self.spread.map(|spread| spread.due(reached, jitter()));
    }

    /// Gives jobs of several places of the run the instants of those, where they are spread.
    pub(super) fn place(&mut self, jobs: &[RunJob]) {
        let Some(spread) = self.spread else { return };
        let mut slots: HashMap<u64, Timestamp> = HashMap::new();
        let due = |job: &RunJob| {
            let reached = u64::try_from(job.ord - 1).unwrap_or_default();
            let due = slots.entry(spread.slot_of(reached)).or_insert_with(|| spread.due(reached, jitter()));
            (job.id.clone(), *due)
        };
        self.dues = jobs.iter().map(due).collect();
    }

    /// Jobs apart that are to run at different times: those of one call to the store are told one after the other.
    pub(super) fn by_due(&self, named: Vec<(Standing, Vec<JobId>)>) -> Vec<(Standing, Vec<JobId>)> {
        if self.dues.is_empty() {
            return named;
        }
        let mut apart = Vec::new();
        for (standing, ids) in named {
            let mut slots: BTreeMap<Option<Timestamp>, Vec<JobId>> = BTreeMap::new();
            for id in ids {
                slots.entry(self.dues.get(&id).copied()).or_default().push(id);
            }
            apart.extend(slots.into_values().map(|ids| (standing.clone(), ids)));
        }
        apart
    }

    /// The first of the instants at which these jobs may run, where they are spread.
    pub(super) fn instants(&self, ids: &[JobId]) -> Option<Timestamp> {
        let jobs = i64::try_from(ids.len()).unwrap_or(i64::MAX);
        let due = ids.iter().filter_map(|id| self.dues.get(id)).max().copied().or(self.due);
        due.map(|due| Timestamp(due.0.saturating_add(self.told.fetch_add(jobs, Ordering::Relaxed))))
    }
}
