//! The first bars where nothing tells the counts at once: what the rows of the first page have.

use std::collections::HashMap;

use super::SqlStore;
use super::group::{Tally, untrusted};
use super::memory::{tally_in_memory, value_in_memory};
use super::row::Read;
use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};

impl SqlStore {
    /// Counts what is there already: a part of each bar, and nothing of those that the rows do not have. `None` where rows of a
    /// list do not tell the value.
    pub(super) fn glimpsed(&self, facet: Facet, rows: &[Read]) -> Option<Histogram> {
        if facet == Facet::Fingerprint {
            return None;
        }
        let mut tallies: HashMap<Option<String>, Tally> = HashMap::new();
        for row in rows {
            tallies.entry(value_in_memory(facet, row)).or_default().add(&tally_in_memory(facet, row));
        }
        let at_least = |n| Count { n, exactness: Exactness::AtLeast };
        let bar = |(value, tally): (&Option<String>, &Tally)| Bar {
            first_seen: tally.first,
            last_seen: tally.last,
            ..Bar::new(untrusted(value), at_least(tally.n))
        };
        let mut bars: Vec<Bar> = tallies.iter().map(bar).collect();
        bars.sort_by(|a, b| facet.order(a, b));
        let total = at_least(bars.iter().map(|bar| bar.count.n).sum());
        Some(Histogram { facet, bars, total, as_of: self.server_now(), progress: Some(0.0) })
    }
}
