//! Counting differences that are known already, in any number of jobs.

use std::collections::{HashMap, HashSet};

use super::attribute::{ComparedJob, Test, ValuePath};
use super::sample::Side;
use super::score::Counts;
use super::{Difference, ranked};

/// The differences of a sample, counted again in all jobs. Its size does not grow with these.
#[derive(Debug)]
pub struct FullPass {
    differences: Vec<Difference>,
    paths: HashMap<ValuePath, Vec<(Test, Place)>>,
    all: Counts,
}

/// Which attribute of which difference.
type Place = (usize, usize);

impl FullPass {
    /// Begins at zero.
    pub fn of(mut differences: Vec<Difference>) -> Self {
        let mut paths: HashMap<ValuePath, Vec<(Test, Place)>> = HashMap::new();
        for (nth, difference) in differences.iter_mut().enumerate() {
            difference.counts = Counts::default();
            for (place, attribute) in difference.attributes.iter().enumerate() {
                paths.entry(attribute.path.clone()).or_default().push((attribute.test.clone(), (nth, place)));
            }
        }
        Self { differences, paths, all: Counts::default() }
    }

    /// Counts one of the chosen jobs.
    pub fn add_chosen(&mut self, job: &ComparedJob<'_>) {
        self.add(Side::Chosen, job);
    }

    /// Counts one of the others.
    pub fn add_other(&mut self, job: &ComparedJob<'_>) {
        self.add(Side::Other, job);
    }

    fn add(&mut self, side: Side, job: &ComparedJob<'_>) {
        let (mut seen, mut valued): (HashSet<&ValuePath>, HashSet<&ValuePath>) = Default::default();
        let mut holds: HashSet<Place> = HashSet::new();
        job.attributes(|path, test| {
            let Some((path, tests)) = self.paths.get_key_value(path) else { return };
            seen.insert(path);
            if test == Test::HasValue {
                valued.insert(path);
            }
            holds.extend(tests.iter().filter(|(wanted, _)| *wanted == test).map(|(_, place)| *place));
        });
        for (path, tests) in &self.paths {
            let holds_by_lack = |(wanted, _): &&(Test, Place)| match wanted {
                Test::Absent => !seen.contains(path),
                Test::NoValue => !valued.contains(path),
                _ => false,
            };
            holds.extend(tests.iter().filter(holds_by_lack).map(|(_, place)| *place));
        }
        for (nth, difference) in self.differences.iter_mut().enumerate() {
            if (0..difference.attributes.len()).all(|place| holds.contains(&(nth, place))) {
                difference.counts.add(side);
            }
        }
        self.all.add(side);
    }

    /// The differences with these counts, the clearest first, and the number of all jobs.
    pub fn done(self) -> (Vec<Difference>, Counts) {
        let Self { differences, all, .. } = self;
        (ranked(differences, all), all)
    }
}
