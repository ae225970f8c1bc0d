//! Counting the attributes of a sample: first of the chosen jobs, then of the others.

use std::collections::{BTreeSet, HashMap};

use super::attribute::{Attribute, ComparedJob, Test, ValuePath};
use super::score::Counts;

/// Different values of one path that are counted: one that many of the chosen share is among the first.
const MAX_VALUES: usize = 4_096;
/// Paths that are counted.
const MAX_PATHS: usize = 4_096;
/// Of a path with more values than this, values take part only where some are shared.
const IDENTIFIERS: usize = 20;

/// Which jobs one belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Chosen,
    Other,
}

/// A path, or what is true of a value there, in the order in which they were first seen.
type Number = u32;

/// The jobs that have something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) counts: Counts,
    /// A hash of which jobs they are.
    pub(super) jobs: u64,
}

/// What the jobs of a sample have.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    paths: HashMap<ValuePath, PathSeen>,
    seen: Vec<Seen>,
    jobs: Vec<SampledJob>,
    all: Seen,
}

#[derive(Clone, Debug)]
struct PathSeen {
    /// Counts the jobs that have it.
    present: Number,
    /// Counts the jobs that have a value there.
    valued: Number,
    /// What some of the chosen have there; nothing else can stand out.
    tests: HashMap<Test, Number>,
    values: usize,
}

/// What one job has, in ascending order.
#[derive(Clone, Debug)]
struct SampledJob {
    side: Side,
    has: Box<[Number]>,
}

/// What the jobs were counted by.
#[derive(Clone, Copy, Debug)]
enum Counted {
    /// The jobs that have it.
    With(Number),
    /// The jobs that do not.
    Without(Number),
}

/// An attribute with its counts.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) attribute: Attribute,
    pub(super) seen: Seen,
    counted: Counted,
}

impl Sample {
    /// Counts a job. All of the chosen come before the others.
    pub(super) fn add(&mut self, side: Side, job: &ComparedJob<'_>) {
        let Self { paths, seen: all_seen, .. } = self;
        let mut has = BTreeSet::new();
        job.attributes(|path, test| {
            if !paths.contains_key(path) {
                if paths.len() == MAX_PATHS {
                    return;
                }
                let (present, valued) = (next(all_seen), next(all_seen));
                let seen = PathSeen { present, valued, tests: HashMap::new(), values: 0 };
                paths.insert(path.clone(), seen);
            }
            let Some(path) = paths.get_mut(path) else { return };
            has.insert(path.present);
            if test == Test::HasValue {
                has.insert(path.valued);
                return;
            }
            let is_value = test.is_value();
            if let Some(number) = path.tests.get(&test) {
                has.insert(*number);
            } else if side == Side::Chosen && (!is_value || path.values < MAX_VALUES) {
                path.values += usize::from(is_value);
                let number = next(all_seen);
                path.tests.insert(test, number);
                has.insert(number);
            }
        });
        let job = hash(self.jobs.len());
        for number in &has {
            all_seen[*number as usize].add(side, job);
        }
        self.all.add(side, job);
        self.jobs.push(SampledJob { side, has: has.into_iter().collect() });
    }

    /// How many jobs there are.
    pub(super) fn all(&self) -> Counts {
        self.all.counts
    }

    /// What at least so many of the chosen have.
    pub(super) fn candidates(&self, least: u64) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (path, seen) in &self.paths {
            let present = self.seen[seen.present as usize];
            let attribute = |test| Attribute { path: path.clone(), test };
            let candidate =
                |test, counted| Candidate { attribute: attribute(test), seen: self.counted(counted), counted };
            candidates.extend([
                candidate(Test::Absent, Counted::Without(seen.present)),
                candidate(Test::HasValue, Counted::With(seen.valued)),
                candidate(Test::NoValue, Counted::Without(seen.valued)),
            ]);
            // Nearly each job has its own: what is shared is shared by chance.
            let is_identifier = seen.values > IDENTIFIERS && seen.values as u64 * 10 > present.counts.chosen * 9;
            for (test, number) in &seen.tests {
                if is_identifier && test.is_value() {
                    continue;
                }
                candidates.push(candidate(test.clone(), Counted::With(*number)));
            }
        }
        candidates.retain(|candidate| candidate.seen.counts.chosen >= least);
        candidates
    }

    /// The jobs of a candidate.
    fn counted(&self, by: Counted) -> Seen {
        match by {
            Counted::With(number) => self.seen[number as usize],
            Counted::Without(number) => self.seen[number as usize].complement(self.all),
        }
    }

    /// How many jobs have both, for each pair of at most 64 candidates.
    pub(super) fn pairs(&self, of: &[Candidate]) -> Vec<((usize, usize), Seen)> {
        let mut pairs: HashMap<(usize, usize), Seen> = HashMap::new();
        for (nth, job) in self.jobs.iter().enumerate() {
            let number = hash(nth);
            let has = |number: &Number| job.has.binary_search(number).is_ok();
            let mine: Vec<usize> = (0..of.len())
                .filter(|nth| match &of[*nth].counted {
                    Counted::With(number) => has(number),
                    Counted::Without(number) => !has(number),
                })
                .collect();
            for (nth, first) in mine.iter().enumerate() {
                for second in &mine[nth + 1..] {
                    pairs.entry((*first, *second)).or_default().add(job.side, number);
                }
            }
        }
        pairs.into_iter().collect()
    }
}

/// A number that nothing has yet.
fn next(seen: &mut Vec<Seen>) -> Number {
    seen.push(Seen::default());
    u32::try_from(seen.len() - 1).unwrap_or(u32::MAX)
}

/// Spreads the number of a job over all bits (splitmix64), so that sums of different jobs differ.
fn hash(nth: usize) -> u64 {
    let mut hash = (nth as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl Seen {
    fn add(&mut self, side: Side, job: u64) {
        self.counts.add(side);
        self.jobs = self.jobs.wrapping_add(job);
    }

    /// The other jobs.
    fn complement(self, all: Seen) -> Seen {
        let Counts { chosen, others } = all.counts;
        let counts = Counts { chosen: chosen - self.counts.chosen, others: others - self.counts.others };
        Seen { counts, jobs: all.jobs.wrapping_sub(self.jobs) }
    }
}

impl Counts {
    pub(super) fn add(&mut self, side: Side) {
        match side {
            Side::Chosen => self.chosen += 1,
            Side::Other => self.others += 1,
        }
    }
}
