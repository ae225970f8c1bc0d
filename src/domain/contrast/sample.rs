//! Counting the attributes of a sample: first of the chosen jobs, then of the others.

use std::collections::HashMap;

use super::attribute::{Attribute, AttributeSink, ComparedJob, Test};
use super::paths::{PathId, PathTree};
use super::score::Counts;

/// Different values of one path that are counted: one that many of the chosen share is among the first.
pub(super) const MAX_VALUES: usize = 4_096;
/// Of a path with more values than this, values take part only where some are shared.
const IDENTIFIERS: usize = 20;

/// Which jobs one belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Chosen,
    Other,
}

/// What is true of a value at a path, in the order in which it was first seen.
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
    tree: PathTree,
    /// By the number of the path; none for those that only lead to others.
    paths: Vec<Option<PathSeen>>,
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
    texts: HashMap<String, Number>,
    literals: HashMap<String, Number>,
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
        let Self { tree, paths, seen, .. } = self;
        let mut sink = SampleSink { tree, paths, seen, side, has: Vec::new() };
        job.attributes(&mut sink);
        let mut has = sink.has;
        has.sort_unstable();
        has.dedup();
        let job = hash(self.jobs.len());
        for number in &has {
            self.seen[*number as usize].add(side, job);
        }
        self.all.add(side, job);
        self.jobs.push(SampledJob { side, has: has.into() });
    }

    /// How many jobs there are.
    pub(super) fn all(&self) -> Counts {
        self.all.counts
    }

    /// What at least so many of the chosen have.
    pub(super) fn candidates(&self, least: u64) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let paths = (0..).zip(&self.paths).filter_map(|(path, seen)| Some((self.tree.path(path), seen.as_ref()?)));
        for (path, seen) in paths {
            let candidate = |test, counted| {
                let attribute = Attribute { path: path.clone(), test };
                Candidate { attribute, seen: self.counted(counted), counted }
            };
            candidates.extend([
                candidate(Test::Absent, Counted::Without(seen.present)),
                candidate(Test::HasValue, Counted::With(seen.valued)),
                candidate(Test::NoValue, Counted::Without(seen.valued)),
            ]);
            let of_values = seen.tests.iter().map(|(test, number)| (test.clone(), number));
            candidates.extend(of_values.map(|(test, number)| candidate(test, Counted::With(*number))));
            // Nearly each job has its own: what is shared is shared by chance.
            let present = self.seen[seen.present as usize].counts.chosen;
            if seen.values() > IDENTIFIERS && seen.values() as u64 * 10 > present * 9 {
                continue;
            }
            let texts = seen.texts.iter().map(|(text, number)| (Test::Text(text.clone()), number));
            let literals = seen.literals.iter().map(|(value, number)| (Test::Literal(value.clone()), number));
            candidates.extend(texts.chain(literals).map(|(test, number)| candidate(test, Counted::With(*number))));
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

impl PathSeen {
    fn new(seen: &mut Vec<Seen>) -> Self {
        let (present, valued) = (next(seen), next(seen));
        Self { present, valued, tests: HashMap::new(), texts: HashMap::new(), literals: HashMap::new() }
    }

    /// Different values that are counted.
    fn values(&self) -> usize {
        self.texts.len() + self.literals.len()
    }
}

/// Takes in one job.
struct SampleSink<'a> {
    tree: &'a mut PathTree,
    paths: &'a mut Vec<Option<PathSeen>>,
    seen: &'a mut Vec<Seen>,
    side: Side,
    /// What it has so far, some of it more than once.
    has: Vec<Number>,
}

impl SampleSink<'_> {
    fn here(&mut self, path: PathId) -> &mut PathSeen {
        let at = path as usize;
        if self.paths.len() <= at {
            self.paths.resize_with(at + 1, || None);
        }
        let here = self.paths[at].get_or_insert_with(|| PathSeen::new(self.seen));
        self.has.push(here.present);
        here
    }
}

impl AttributeSink for SampleSink<'_> {
    fn path(&mut self, above: PathId, key: &str) -> Option<PathId> {
        self.tree.get_or_add(above, key)
    }

    fn test(&mut self, path: PathId, test: Test) {
        let is_chosen = self.side == Side::Chosen;
        let here = self.here(path);
        if test == Test::HasValue {
            let valued = here.valued;
            return self.has.push(valued);
        }
        let known = here.tests.get(&test).copied();
        let Some(number) = known.or_else(|| is_chosen.then(|| next(self.seen))) else { return };
        if known.is_none() {
            self.here(path).tests.insert(test, number);
        }
        self.has.push(number);
    }

    fn value(&mut self, path: PathId, value: &str, is_text: bool) {
        let is_chosen = self.side == Side::Chosen;
        let here = self.here(path);
        let is_room = here.values() < MAX_VALUES;
        let values = |here: &PathSeen| if is_text { here.texts.get(value) } else { here.literals.get(value) }.copied();
        let known = values(here);
        let Some(number) = known.or_else(|| (is_chosen && is_room).then(|| next(self.seen))) else { return };
        if known.is_none() {
            let here = self.here(path);
            let values = if is_text { &mut here.texts } else { &mut here.literals };
            values.insert(value.to_owned(), number);
        }
        self.has.push(number);
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
