//! What a cohort comes to, counted while its ids pass by: sorting a million rows again for each number takes longer than
//! freezing them did. Memory is bounded; what does not fit into it is left to the record, which can always tell.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::model::Split;
use crate::store::Frozen;

/// Characters of a class that the record keeps of each job.
const CLASS_HEAD: usize = 200;
/// Values of a column that are counted here.
const VALUES: usize = 5_000;
/// Jobs that may have come twice, which are named; beyond it the record looks at all.
const DOUBTFUL: usize = 50_000;
/// Bits of the memory of ids, a power of two: 8 MiB. Of a million ids hardly any is taken for known, of four millions one
/// in a thousand.
const BITS: usize = 1 << 26;
/// Bits by which an id is known.
const MARKS: u64 = 6;

/// The numbers of a cohort.
#[derive(Debug, Default)]
pub struct CohortStats {
    jobs: u64,
    by_error: ValueFrequencies,
    by_class: ValueFrequencies,
    by_state: HashMap<State, u64>,
    by_replays: BTreeMap<u64, u64>,
    span: Option<(Timestamp, Timestamp)>,
    seen: BloomFilter,
}

impl CohortStats {
    /// Jobs that were counted.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Counts jobs that are being frozen.
    pub fn add(&mut self, jobs: &[Frozen]) {
        for job in jobs {
            self.jobs += 1;
            self.by_error.add(job.error_class.as_ref());
            self.by_class.add(job.job_class.as_ref());
            *self.by_replays.entry(job.replays).or_default() += 1;
            *self.by_state.entry(job.state).or_default() += 1;
            if let Some(at) = job.at {
                let (oldest, newest) = self.span.unwrap_or((at, at));
                self.span = Some((oldest.min(at), newest.max(at)));
            }
            self.seen.add(&job.id);
        }
    }

    /// The jobs that may have come more than once; `None` where there are too many to name.
    pub(in crate::ledger) fn doubtful(&self) -> Option<&[JobId]> {
        self.seen.doubtful.as_deref()
    }

    /// How `sealed` jobs divide, as [`crate::ledger::Cohorts::split`]; `None` where only the record can tell.
    pub fn split(&self, sealed: u64, top: usize) -> Option<Split> {
        if sealed != self.jobs {
            return None;
        }
        let mut by_state: Vec<(State, u64)> = self.by_state.iter().map(|(state, n)| (*state, *n)).collect();
        by_state.sort_by_key(|(_, n)| Reverse(*n));
        Some(Split {
            by_error: self.by_error.largest(top)?,
            by_class: self.by_class.largest(top)?,
            by_state,
            span: self.span,
        })
    }

    /// `sealed` jobs by how often they had been replayed, as [`crate::ledger::Cohorts::replays`]; `None` where only the record can
    /// tell.
    pub fn replays(&self, sealed: u64) -> Option<Vec<(u64, u64)>> {
        (sealed == self.jobs).then(|| self.by_replays.iter().map(|(times, n)| (*times, *n)).collect())
    }
}

/// How often each value of a column came.
#[derive(Debug, Default)]
struct ValueFrequencies {
    none: u64,
    known: HashMap<String, u64>,
    too_many: bool,
}

impl ValueFrequencies {
    fn add(&mut self, value: Option<&Untrusted>) {
        let Some(value) = value else {
            self.none += 1;
            return;
        };
        if self.too_many {
            return;
        }
        match self.known.get_mut(value.exact()) {
            Some(n) => *n += 1,
            None => *self.known.entry(class_head(value)).or_default() += 1,
        }
        if self.known.len() > VALUES {
            (self.too_many, self.known) = (true, HashMap::new());
        }
    }

    fn largest(&self, top: usize) -> Option<Vec<(Option<Untrusted>, u64)>> {
        if self.too_many {
            return None;
        }
        let none = (self.none > 0).then_some((None, self.none));
        let mut counts: Vec<(Option<&String>, u64)> =
            none.into_iter().chain(self.known.iter().map(|(value, n)| (Some(value), *n))).collect();
        counts.sort_by_key(|(value, n)| (Reverse(*n), *value));
        Some(counts.into_iter().take(top).map(|(value, n)| (value.map(Untrusted::new), n)).collect())
    }
}

/// Which ids have come, as a Bloom filter: it may take a new one for known, and never a known one for new.
#[derive(Debug)]
struct BloomFilter {
    bits: Vec<u64>,
    hasher: RandomState,
    doubtful: Option<Vec<JobId>>,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { bits: Vec::new(), hasher: RandomState::new(), doubtful: Some(Vec::new()) }
    }
}

impl BloomFilter {
    fn add(&mut self, id: &JobId) {
        let Some(doubtful) = &mut self.doubtful else { return };
        if self.bits.is_empty() {
            self.bits = vec![0; BITS / 64];
        }
        let hash = self.hasher.hash_one(id);
        // Two halves of one hash make as many as are wanted.
        let (first, step) = (hash & 0xffff_ffff, (hash >> 32) | 1);
        let mut known = true;
        for mark in 0..MARKS {
            let bit = (first.wrapping_add(mark.wrapping_mul(step)) as usize) & (BITS - 1);
            let (word, mask) = (bit / 64, 1 << (bit % 64));
            known &= self.bits[word] & mask != 0;
            self.bits[word] |= mask;
        }
        if known {
            doubtful.push(id.clone());
        }
        if doubtful.len() > DOUBTFUL {
            (self.doubtful, self.bits) = (None, Vec::new());
        }
    }
}

/// What the record keeps of a class.
fn class_head(class: &Untrusted) -> String {
    let class = class.exact();
    // Hardly any has so many characters that they must be counted.
    if class.len() <= CLASS_HEAD { class.to_owned() } else { class.chars().take(CLASS_HEAD).collect() }
}

/// The same, of a class that nobody else needs.
pub(in crate::ledger) fn into_class_head(class: Untrusted) -> String {
    if class.exact().len() <= CLASS_HEAD { class.into_exact() } else { class_head(&class) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(id: u64, error: &str) -> Frozen {
        Frozen {
            id: JobId::new(id.to_string()),
            error_class: Some(Untrusted::from(error)),
            job_class: None,
            at: Some(Timestamp(id as i64)),
            state: State::Dead,
            native: None,
            lineage: None,
            successor: None,
            replays: id % 2,
        }
    }

    #[test]
    fn a_cohort_is_counted_as_the_record_counts_it() {
        let mut census = CohortStats::default();
        let long = "x".repeat(300);
        census.add(&[frozen(1, "b"), frozen(2, "a"), frozen(3, "b"), frozen(4, &long)]);
        census.add(&[frozen(5, &format!("{}y", &long[..200]))]);
        let split = census.split(5, 2).unwrap();
        assert_eq!(split.by_error, [(Some("b".into()), 2), (Some(long[..200].into()), 2)], "the start of it counts");
        assert_eq!(split.by_class, [(None, 5)]);
        assert_eq!(split.by_state, [(State::Dead, 5)]);
        assert_eq!(split.span, Some((Timestamp(1), Timestamp(5))));
        assert_eq!(census.replays(5), Some(vec![(0, 2), (1, 3)]));
        assert_eq!((census.split(4, 2), census.replays(4)), (None, None), "one came twice: the record knows which");
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_record() {
        let mut census = CohortStats::default();
        let jobs: Vec<Frozen> = (0..=VALUES as u64).map(|n| frozen(n, &format!("E{n}"))).collect();
        census.add(&jobs[..VALUES]);
        assert!(census.split(VALUES as u64, 8).is_some());
        census.add(&jobs[VALUES..]);
        assert_eq!(census.split(jobs.len() as u64, 8), None);
        assert!(census.replays(jobs.len() as u64).is_some(), "the other columns are counted on");
    }

    #[test]
    fn a_job_that_came_twice_is_always_doubtful_and_hardly_any_other() {
        let mut seen = BloomFilter::default();
        for n in 0..200_000 {
            seen.add(&JobId::new(n.to_string()));
        }
        let chance = seen.doubtful.as_ref().unwrap().len();
        assert!(chance < 10, "{chance}");
        for n in (0..200_000).step_by(10_007) {
            seen.add(&JobId::new(n.to_string()));
        }
        let doubtful = seen.doubtful.unwrap();
        assert!((0..200_000).step_by(10_007).all(|n| doubtful.contains(&JobId::new(n.to_string()))));
    }

    #[test]
    fn where_too_many_are_doubtful_none_is_named() {
        let mut seen = BloomFilter::default();
        for n in 0..=DOUBTFUL as u64 {
            let id = JobId::new(n.to_string());
            seen.add(&id);
            seen.add(&id);
        }
        assert_eq!((seen.doubtful, seen.bits.len()), (None, 0));
    }
}
