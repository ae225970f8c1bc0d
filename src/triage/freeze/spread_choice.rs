//! Choosing some jobs of a cohort that differ from each other: those that are replayed first, or all that a limit takes.

use std::collections::HashMap;

use super::Ask;
use crate::domain::job::JobId;
use crate::domain::rollout::canary::{CanaryJob, CanaryPicker};
use crate::domain::run_options::pick::Pick;
use crate::store::{Entry, Frozen, Sort};

/// How many jobs may still be added to a cohort, and which.
pub(super) struct JobLimit {
    /// Jobs that may still be added.
    pub(super) left: u64,
    pick: Pick,
    /// The choice of the jobs that are added, where these are spread over all that match.
    pub(super) sample: Option<SpreadChoice>,
}

impl JobLimit {
    pub(super) fn of(ask: &Ask) -> Self {
        Self { left: ask.limit.unwrap_or(u64::MAX), pick: ask.pick, sample: SpreadChoice::of_limit(ask) }
    }

    /// The order in which jobs are read.
    pub(super) fn sort(&self) -> Sort {
        Sort { descending: self.pick != Pick::Oldest, ..Sort::default() }
    }
}

/// A choice, while the cohort is read.
pub(super) struct SpreadChoice {
    /// Places at the start of the run that are left to the chosen jobs.
    reserved: i64,
    /// Jobs that were taken.
    taken: i64,
    picker: CanaryPicker,
    /// The rows that were read last, of which some are taken.
    rows: HashMap<JobId, CanaryJob>,
}

impl SpreadChoice {
    fn new(n: u64, reserved: i64) -> Self {
        let picker = CanaryPicker::new(usize::try_from(n).unwrap_or(usize::MAX));
        Self { reserved, taken: 0, picker, rows: HashMap::new() }
    }

    /// The choice of the jobs that are replayed first, where that was asked for. They get the first places.
    pub(super) fn of_canary(ask: &Ask) -> Option<Self> {
        let n = ask.options.rollout?.canary?;
        Some(Self::new(n, i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// The choice of all jobs of the cohort, where a limit takes them from all ages and kinds.
    fn of_limit(ask: &Ask) -> Option<Self> {
        let limit = ask.limit.filter(|_| ask.pick == Pick::Spread)?;
        Some(Self::new(limit, 0))
    }

    /// Places at the start of the run that are left to the chosen jobs.
    pub(super) fn reserved(&self) -> i64 {
        self.reserved
    }

    /// These rows were read.
    pub(super) fn read(&mut self, entries: &[Entry]) {
        self.rows.extend(entries.iter().map(|entry| (entry.row.id.clone(), CanaryJob::of(0, &entry.row))));
    }

    /// These jobs, of which the rows were read, can be chosen.
    pub(super) fn take(&mut self, jobs: &[Frozen]) {
        let first = self.reserved + 1 + self.taken;
        self.taken += i64::try_from(jobs.len()).unwrap_or(i64::MAX);
        for (job, place) in jobs.iter().zip(first..) {
            if let Some(known) = self.rows.remove(&job.id) {
                self.picker.add(&CanaryJob { place, ..known });
            }
        }
        self.rows.clear();
    }

    /// The chosen jobs, the most telling first.
    pub(super) fn choose(self) -> Vec<CanaryJob> {
        self.picker.choose()
    }

    /// The chosen jobs in the order in which they were read.
    pub(super) fn choose_in_order(self) -> Vec<JobId> {
        let mut jobs = self.choose();
        jobs.sort_by_key(|job| job.place);
        jobs.into_iter().map(|job| job.id).collect()
    }
}
