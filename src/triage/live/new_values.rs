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

#[derive(Clone, Debug, Default)]
pub(super) struct NewValues {
    opened: Option<Before>,
    baseline: Option<Before>,
}

impl NewValues {
    /// Learns what was there when the console opened: from the first count that is finished, since an unfinished one
    /// has not met every value.
    pub(super) fn learn(&mut self, histogram: &Histogram) {
        if self.opened.is_none() && histogram.progress.is_none() {
            self.opened = Some(Before::new(histogram, histogram.as_of));
        }
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
        self.opened.as_ref().is_some_and(is_new).then_some(Since::Opened)
    }
}

impl Before {
    fn new(histogram: &Histogram, at: Timestamp) -> Self {
        Self { at, values: histogram.bars.iter().map(|bar| bar.value.clone()).collect() }
    }
}
