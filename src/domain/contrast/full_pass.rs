//! Counting differences that are known already, in any number of jobs.

use super::attribute::{AttributeSink, ComparedJob, Test};
use super::paths::{PathId, PathTree};
use super::sample::Side;
use super::score::Counts;
use super::{Difference, ranked};

/// The differences of a sample, counted again in all jobs. Its size does not grow with these.
#[derive(Debug)]
pub struct FullPass {
    differences: Vec<Difference>,
    tree: PathTree,
    /// The attributes of all differences, one after the other.
    wanted: Vec<Wanted>,
    all: Counts,
}

/// An attribute that is looked for.
#[derive(Debug)]
struct Wanted {
    path: PathId,
    test: Test,
    /// Whether the present job has it; for a lack, whether it has what is lacked.
    is_there: bool,
}

impl FullPass {
    /// Begins at zero.
    pub fn of(mut differences: Vec<Difference>) -> Self {
        let (mut tree, mut wanted) = (PathTree::default(), Vec::new());
        for difference in &mut differences {
            difference.counts = Counts::default();
            let attributes = difference.attributes.iter();
            wanted.extend(attributes.map(|attribute| Wanted {
                path: tree.add_path(&attribute.path),
                test: attribute.test.clone(),
                is_there: false,
            }));
        }
        Self { differences, tree, wanted, all: Counts::default() }
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
        self.wanted.iter_mut().for_each(|wanted| wanted.is_there = false);
        job.attributes(&mut FullPassSink { tree: &self.tree, wanted: &mut self.wanted });
        let mut wanted = self.wanted.as_slice();
        for difference in &mut self.differences {
            let (of_this, others) = wanted.split_at(difference.attributes.len());
            wanted = others;
            if of_this.iter().all(Wanted::holds) {
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

impl Wanted {
    /// Whether the job has what is wanted.
    fn holds(&self) -> bool {
        self.is_there != matches!(self.test, Test::Absent | Test::NoValue)
    }
}

/// Takes in one job.
struct FullPassSink<'a> {
    tree: &'a PathTree,
    wanted: &'a mut Vec<Wanted>,
}

impl FullPassSink<'_> {
    fn mark(&mut self, path: PathId, is_it: impl Fn(&Test) -> bool) {
        let here = self.wanted.iter_mut().filter(|wanted| wanted.path == path);
        here.filter(|wanted| is_it(&wanted.test) || wanted.test == Test::Absent)
            .for_each(|wanted| wanted.is_there = true);
    }
}

impl AttributeSink for FullPassSink<'_> {
    fn path(&mut self, above: PathId, key: &str) -> Option<PathId> {
        self.tree.get(above, key)
    }

    fn test(&mut self, path: PathId, test: Test) {
        self.mark(path, |wanted| match wanted {
            Test::NoValue => test == Test::HasValue,
            wanted => *wanted == test,
        });
    }

    fn value(&mut self, path: PathId, value: &str, is_text: bool) {
        self.mark(path, |wanted| match wanted {
            Test::Text(text) => is_text && text == value,
            Test::Literal(literal) => !is_text && literal == value,
            _ => false,
        });
    }
}
