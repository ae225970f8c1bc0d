//! Bars of the values at a path of the arguments, in place of those of the facet.

use std::time::Duration;

use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::time::Timestamp;

/// Jobs counted by the value at a path of their arguments.
#[derive(Debug, Default)]
pub struct ArgumentBars {
    /// The keys of the path.
    pub keys: Vec<String>,
    /// What is counted so far.
    pub counts: Option<Histogram>,
    /// Jobs may have come or gone since the count began.
    pub is_outdated: bool,
    /// When the count that is under way was asked for.
    pub asked_at: Option<Timestamp>,
    /// Whether the watch pays for the count that is under way: nobody asked for it.
    pub is_paid_for: bool,
    /// How long the last whole count took.
    pub cost: Option<Duration>,
}

/// A count by a path, whole or so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentCount {
    /// The keys of the path.
    pub keys: Vec<String>,
    /// The jobs that were counted; resolved.
    pub filter: Filter,
    /// The counts; lower bounds until all jobs are counted.
    pub counts: Histogram,
    /// Paths that jobs have, where none has this one.
    pub near: Option<Vec<Key>>,
}

impl ArgumentBars {
    /// Bars of a path that is not counted yet.
    pub fn new(keys: Vec<String>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The path as filters write it.
    pub fn word(&self) -> String {
        Key::Arg(self.keys.clone()).word().into_owned()
    }

    /// Jobs may have come or gone: what is counted becomes an estimate.
    pub fn outdate(&mut self) {
        self.is_outdated = true;
        self.doubt();
    }

    /// Takes in a count. One during which jobs came or went is an estimate.
    pub fn take(&mut self, counts: Histogram, is_whole: bool, now: Timestamp) {
        self.counts = Some(counts);
        if self.is_outdated {
            self.doubt();
        }
        if is_whole {
            self.cost = self.asked_at.take().map(|since| since.age(now));
        }
    }

    fn doubt(&mut self) {
        let Some(Histogram { bars, total, .. }) = &mut self.counts else { return };
        let counts = bars.iter_mut().map(|Bar { count, .. }| count).chain([total]);
        counts.for_each(|Count { exactness, .. }| *exactness = Exactness::Estimate);
    }
}
