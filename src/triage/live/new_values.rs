//! Which values of a facet are new since the console opened, or since a baseline.

use std::collections::HashSet;

use super::FacetValue;
use crate::domain::histogram::{Bar, Histogram};
use crate::domain::time::Timestamp;

/// What a value is new since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The console opened.
    Opened,
    /// The baseline was set.
    Baseline,
}

/// What was there at a moment.
#[derive(Clone, Debug)]
struct Before {
    at: Timestamp,
    values: HashSet<FacetValue>,
}

#[derive(Clone, Debug)]
pub(super) struct NewValues {
    opened: Before,
    baseline: Option<Before>,
}

impl NewValues {
    /// What was there when the console opened.
    pub(super) fn of_first_count(histogram: &Histogram) -> Self {
        Self { opened: Before::new(histogram, histogram.as_of), baseline: None }
    }

    pub(super) fn set_baseline(&mut self, histogram: &Histogram, now: Timestamp) {
        self.baseline = Some(Before::new(histogram, now));
    }

    pub(super) fn of(&self, bar: &Bar) -> Option<Since> {
        let is_new = |before: &Before| {
            !before.values.contains(&bar.value) && bar.first_seen.is_none_or(|first| first >= before.at)
        };
        if let Some(baseline) = &self.baseline {
            return is_new(baseline).then_some(Since::Baseline);
        }
        is_new(&self.opened).then_some(Since::Opened)
    }
}

impl Before {
    fn new(histogram: &Histogram, at: Timestamp) -> Self {
        Self { at, values: histogram.bars.iter().map(|bar| bar.value.clone()).collect() }
    }
}
