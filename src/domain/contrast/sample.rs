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

/// What the jobs of a sample have.
#[derive(Debug, Default)]
pub(super) struct Sample {
    paths: HashMap<ValuePath, PathSeen>,
    counts: Vec<Counts>,
    jobs: Vec<SampledJob>,
    all: Counts,
}

#[derive(Debug)]
struct PathSeen {
    /// Counts the jobs that have it.
    present: Number,
    /// What some of the chosen have there; nothing else can stand out.
    tests: HashMap<Test, Number>,
    values: usize,
}

/// What one job has, in ascending order.
#[derive(Debug)]
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
    pub(super) counts: Counts,
    counted: Counted,
}

impl Sample {
    /// Counts a job. All of the chosen come before the others.
    pub(super) fn add(&mut self, side: Side, job: &ComparedJob<'_>) {
        let Self { paths, counts, .. } = self;
        let mut has = BTreeSet::new();
        job.attributes(|path, test| {
            if !paths.contains_key(path) {
                if paths.len() == MAX_PATHS {
                    return;
                }
                let seen = PathSeen { present: next(counts), tests: HashMap::new(), values: 0 };
                paths.insert(path.clone(), seen);
            }
            let Some(path) = paths.get_mut(path) else { return };
            has.insert(path.present);
            let is_value = matches!(test, Test::Equals(_));
            if let Some(number) = path.tests.get(&test) {
                has.insert(*number);
            } else if side == Side::Chosen && (!is_value || path.values < MAX_VALUES) {
                path.values += usize::from(is_value);
                let number = next(counts);
                path.tests.insert(test, number);
                has.insert(number);
            }
        });
        for number in &has {
            counts[*number as usize].add(side);
        }
        self.all.add(side);
        self.jobs.push(SampledJob { side, has: has.into_iter().collect() });
    }

    /// How many jobs there are.
    pub(super) fn all(&self) -> Counts {
        self.all
    }

    /// What at least so many of the chosen have.
    pub(super) fn candidates(&self, least: u64) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (path, seen) in &self.paths {
            let present = self.counts[seen.present as usize];
            let absent = Counts { chosen: self.all.chosen - present.chosen, others: self.all.others - present.others };
            let attribute = |test| Attribute { path: path.clone(), test };
            let counted = Counted::Without(seen.present);
            candidates.push(Candidate { attribute: attribute(Test::Absent), counts: absent, counted });
            // Nearly each job has its own: what is shared is shared by chance.
            let is_identifier = seen.values > IDENTIFIERS && seen.values as u64 * 10 > present.chosen * 9;
            for (test, number) in &seen.tests {
                if is_identifier && matches!(test, Test::Equals(_)) {
                    continue;
                }
                let (counts, counted) = (self.counts[*number as usize], Counted::With(*number));
                candidates.push(Candidate { attribute: attribute(test.clone()), counts, counted });
            }
        }
        candidates.retain(|candidate| candidate.counts.chosen >= least);
        candidates
    }

    /// How many jobs have both, for each pair of at most 64 candidates.
    pub(super) fn pairs(&self, of: &[Candidate]) -> Vec<((usize, usize), Counts)> {
        let mut counts: HashMap<(usize, usize), Counts> = HashMap::new();
        for job in &self.jobs {
            let has = |number: &Number| job.has.binary_search(number).is_ok();
            let mine: Vec<usize> = (0..of.len())
                .filter(|nth| match &of[*nth].counted {
                    Counted::With(number) => has(number),
                    Counted::Without(number) => !has(number),
                })
                .collect();
            for (nth, first) in mine.iter().enumerate() {
                for second in &mine[nth + 1..] {
                    counts.entry((*first, *second)).or_default().add(job.side);
                }
            }
        }
        counts.into_iter().collect()
    }
}

/// A number that nothing has yet.
fn next(counts: &mut Vec<Counts>) -> Number {
    counts.push(Counts::default());
    u32::try_from(counts.len() - 1).unwrap_or(u32::MAX)
}

impl Counts {
    fn add(&mut self, side: Side) {
        match side {
            Side::Chosen => self.chosen += 1,
            Side::Other => self.others += 1,
        }
    }
}
