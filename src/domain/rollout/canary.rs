//! Which jobs of a cohort are replayed first: spread over fingerprints, job classes, queues and age.
//!
//! The cohort passes by once, however large; memory is bounded by the number of canary jobs.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::domain::fingerprint::Fingerprint;
use crate::domain::job::{JobId, JobRow};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// Fingerprints whose jobs are candidates.
const FINGERPRINTS: usize = 5_000;
/// Parts of the jobs of a fingerprint from which its first one is taken in turn.
const PARTS: usize = 16;

/// A job that may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryJob {
    /// Its place in the cohort.
    pub place: i64,
    /// The job.
    pub id: JobId,
    /// Its kind of error.
    pub fingerprint: Fingerprint,
    /// What was to be run.
    pub job_class: Option<Untrusted>,
    /// Its queue.
    pub queue: Option<Untrusted>,
    /// When it died.
    pub at: Option<Timestamp>,
}

impl CanaryJob {
    /// A row at its place in the cohort.
    pub fn of(place: i64, row: &JobRow) -> Self {
        Self {
            place,
            id: row.id.clone(),
            fingerprint: Fingerprint::of_row(row),
            job_class: row.job_class.clone(),
            queue: row.queue.clone(),
            at: row.at,
        }
    }
}

/// The candidates of one fingerprint: each `stride`-th job of it.
struct Stratum {
    seen: u64,
    stride: u64,
    jobs: Vec<CanaryJob>,
}

impl Stratum {
    fn add(&mut self, job: &CanaryJob, most: usize) {
        if self.seen.is_multiple_of(self.stride) {
            self.jobs.push(job.clone());
        }
        self.seen += 1;
        while self.jobs.len() > most.max(1) {
            let mut is_kept = false;
            self.jobs.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.stride *= 2;
        }
    }
}

/// Chooses the canary jobs of a cohort.
pub struct CanaryPicker {
    n: usize,
    strata: HashMap<Fingerprint, Stratum>,
    by_class: HashMap<Option<Untrusted>, CanaryJob>,
    by_queue: HashMap<Option<Untrusted>, CanaryJob>,
    oldest: Option<CanaryJob>,
    newest: Option<CanaryJob>,
}

impl CanaryPicker {
    /// Chooses `n` jobs.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            strata: HashMap::new(),
            by_class: HashMap::new(),
            by_queue: HashMap::new(),
            oldest: None,
            newest: None,
        }
    }

    /// A job of the cohort.
    pub fn add(&mut self, job: &CanaryJob) {
        // With more fingerprints than places each needs one job only.
        let most = if self.strata.len() > self.n { 2 } else { 2 * self.n };
        if self.strata.len() < FINGERPRINTS || self.strata.contains_key(&job.fingerprint) {
            let empty = || Stratum { seen: 0, stride: 1, jobs: Vec::new() };
            self.strata.entry(job.fingerprint).or_insert_with(empty).add(job, most);
        }
        first_of(&mut self.by_class, &job.job_class, job, self.n);
        first_of(&mut self.by_queue, &job.queue, job, self.n);
        if self.oldest.as_ref().is_none_or(|oldest| job.at < oldest.at) {
            self.oldest = Some(job.clone());
        }
        if self.newest.as_ref().is_none_or(|newest| job.at > newest.at) {
            self.newest = Some(job.clone());
        }
    }

    /// The chosen jobs: one of each fingerprint while there is room, the most frequent first; then one of each class and
    /// queue that is missing, the oldest and the newest; then more of each fingerprint, spread over the cohort.
    pub fn choose(self) -> Vec<CanaryJob> {
        let mut strata: Vec<Stratum> = self.strata.into_values().collect();
        let first = |stratum: &Stratum| stratum.jobs.first().map_or(i64::MAX, |job| job.place);
        strata.sort_by(|a, b| b.seen.cmp(&a.seen).then_with(|| first(a).cmp(&first(b))));
        let mut choice = Choice { n: self.n, ids: HashSet::new(), jobs: Vec::new() };
        for (nth, stratum) in strata.iter().enumerate() {
            // Each from another part of its jobs: the first of all would be alike in age.
            let (jobs, start) = (&stratum.jobs, spread_at(stratum.jobs.len(), nth % PARTS).unwrap_or_default());
            let best = jobs[start..].iter().chain(&jobs[..start]).rev().max_by_key(|job| choice.adds(job));
            if let Some(job) = best {
                choice.take(job);
            }
        }
        for (job, is_missing) in missing(self.by_class, |job| &job.job_class) {
            if !choice.jobs.iter().any(&is_missing) {
                choice.take(&job);
            }
        }
        for (job, is_missing) in missing(self.by_queue, |job| &job.queue) {
            if !choice.jobs.iter().any(&is_missing) {
                choice.take(&job);
            }
        }
        for job in self.oldest.iter().chain(&self.newest) {
            choice.take(job);
        }
        for round in 0..2 * self.n {
            for stratum in &strata {
                if let Some(job) = spread(&stratum.jobs, round) {
                    choice.take(job);
                }
            }
        }
        choice.jobs
    }
}

/// Keeps the first job of a value, of some values.
fn first_of<K: Hash + Eq + Clone>(known: &mut HashMap<K, CanaryJob>, value: &K, job: &CanaryJob, most: usize) {
    if known.len() < most && !known.contains_key(value) {
        known.insert(value.clone(), job.clone());
    }
}

/// Jobs each of which stands for a value, in the order of the cohort, with what tells whether another job has that value.
fn missing<K: Eq>(
    by_value: HashMap<K, CanaryJob>,
    value_of: fn(&CanaryJob) -> &K,
) -> impl Iterator<Item = (CanaryJob, impl Fn(&CanaryJob) -> bool)> {
    let mut jobs: Vec<(K, CanaryJob)> = by_value.into_iter().collect();
    jobs.sort_by_key(|(_, job)| job.place);
    jobs.into_iter().map(move |(value, job)| (job, move |other: &CanaryJob| *value_of(other) == value))
}

/// The job of a round: the first, the last, the middle one, then those between.
fn spread(jobs: &[CanaryJob], round: usize) -> Option<&CanaryJob> {
    jobs.get(spread_at(jobs.len(), round)?)
}

/// Where in `len` jobs that of a round is.
fn spread_at(len: usize, round: usize) -> Option<usize> {
    let at = match round {
        0 => 0,
        1 => len.checked_sub(1)?,
        // The numbers 2, 3, 4, … as 1/2, 1/4, 3/4, 1/8, …
        round => {
            let bits = usize::BITS - (round - 1).leading_zeros();
            let nth = 2 * (round - 1 - (1 << (bits - 1))) + 1;
            (len * nth) >> bits
        }
    };
    (at < len).then_some(at)
}

struct Choice {
    n: usize,
    ids: HashSet<JobId>,
    jobs: Vec<CanaryJob>,
}

impl Choice {
    /// How many new values a job brings.
    fn adds(&self, job: &CanaryJob) -> usize {
        let is_new = |same: fn(&CanaryJob, &CanaryJob) -> bool| !self.jobs.iter().any(|known| same(known, job));
        usize::from(is_new(|a, b| a.job_class == b.job_class)) + usize::from(is_new(|a, b| a.queue == b.queue))
    }

    fn take(&mut self, job: &CanaryJob) {
        if self.jobs.len() < self.n && self.ids.insert(job.id.clone()) {
            self.jobs.push(job.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(place: i64, error: u32, class: u32, queue: u32, at: i64) -> CanaryJob {
        CanaryJob {
            place,
            id: JobId::new(place.to_string()),
            fingerprint: Fingerprint::of(Some(&format!("Error{error}")), None),
            job_class: Some(format!("Job{class}").as_str().into()),
            queue: Some(format!("queue{queue}").as_str().into()),
            at: Some(Timestamp(at)),
        }
    }

    fn chosen(jobs: &[CanaryJob], n: usize) -> Vec<CanaryJob> {
        let mut picker = CanaryPicker::new(n);
        jobs.iter().for_each(|job| picker.add(job));
        picker.choose()
    }

    fn values<K: Hash + Eq>(jobs: &[CanaryJob], value: impl Fn(&CanaryJob) -> K) -> HashSet<K> {
        jobs.iter().map(value).collect()
    }

    #[test]
    fn jobs_of_one_kind_are_spread_over_the_cohort_and_are_not_the_first() {
        let jobs: Vec<CanaryJob> = (1..=10_000).map(|at| job(at, 0, 0, 0, -at)).collect();
        let places: Vec<i64> = chosen(&jobs, 8).iter().map(|job| job.place).collect();
        assert!(places.contains(&1) && places.contains(&10_000), "{places:?}");
        for quarter in 0..4 {
            let within = |place: &&i64| (quarter * 2_500..(quarter + 1) * 2_500).contains(&(**place - 1));
            assert!(places.iter().any(|place| within(&place)), "quarter {quarter} of {places:?}");
        }
    }

    #[test]
    fn the_jobs_of_many_fingerprints_are_of_every_age() {
        let jobs: Vec<CanaryJob> = (1..=10_000).map(|at| job(at, at as u32 % 30, 0, 0, -at)).collect();
        let places: Vec<i64> = chosen(&jobs, 20).iter().map(|job| job.place).collect();
        let (newer, older): (Vec<i64>, Vec<i64>) = places.iter().partition(|place| **place <= 5_000);
        assert!(newer.len() >= 5 && older.len() >= 5, "{places:?}");
    }

    #[test]
    fn a_rare_fingerprint_among_many_jobs_is_there() {
        let kind = |at: i64| u32::from(at == 7_777);
        let jobs: Vec<CanaryJob> = (1..=10_000).map(|at| job(at, kind(at), 0, 0, -at)).collect();
        assert!(chosen(&jobs, 2).iter().any(|job| job.place == 7_777));
    }

    #[test]
    fn a_job_that_came_twice_is_chosen_once() {
        let jobs = [job(1, 0, 0, 0, 1), CanaryJob { place: 2, ..job(1, 0, 0, 0, 1) }];
        assert_eq!(chosen(&jobs, 5).len(), 1);
    }

    proptest! {
        #[test]
        fn the_choice_is_part_of_the_cohort_and_has_each_kind_while_room_is_left(
            kinds in prop::collection::vec((0u32..12, 0u32..4, 0u32..3, -1_000i64..1_000), 1..300),
            n in 1usize..40,
        ) {
            let numbered = kinds.iter().zip(1..);
            let jobs: Vec<CanaryJob> = numbered.map(|((error, class, queue, at), place)| job(place, *error, *class, *queue, *at)).collect();
            let chosen = chosen(&jobs, n);
            prop_assert_eq!(chosen.len(), n.min(jobs.len()));
            prop_assert_eq!(values(&chosen, |job| job.id.clone()).len(), chosen.len());
            prop_assert!(chosen.iter().all(|job| jobs.contains(job)));
            let (kinds, known) = (values(&jobs, |job| job.fingerprint), values(&chosen, |job| job.fingerprint));
            prop_assert_eq!(known.len(), kinds.len().min(n));
            let classes = values(&jobs, |job| job.job_class.clone());
            let queues = values(&jobs, |job| job.queue.clone());
            if n >= kinds.len() + classes.len() + queues.len() + 2 {
                prop_assert_eq!(values(&chosen, |job| job.job_class.clone()), classes);
                prop_assert_eq!(values(&chosen, |job| job.queue.clone()), queues);
                prop_assert!(chosen.iter().map(|job| job.at).min() == jobs.iter().map(|job| job.at).min());
                prop_assert!(chosen.iter().map(|job| job.at).max() == jobs.iter().map(|job| job.at).max());
            }
        }
    }
}
