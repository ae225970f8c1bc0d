//! The first bars where nothing tells the counts at once: what the rows of the first page have.

use std::collections::HashMap;

use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::store::sql::count::histogram::Counter;
use crate::store::sql::count::in_memory::{tally_in_memory, value_in_memory};
use crate::store::sql::query::columns::Read;
use crate::store::sql::query::group_by::{Tally, untrusted};
use crate::store::{Sort, SortKey};

impl<'s> Counter<'s> {
    /// Counts what is there already: a part of each bar, and nothing of those that the rows do not have. `None` where rows of a
    /// list do not tell the value, there are none, or the counts themselves are as near.
    pub(crate) fn glimpsed(self, facet: Facet, sort: Sort, rows: &[Read]) -> Option<Histogram> {
        if facet == Facet::Fingerprint || rows.is_empty() || !self.context.layout.dialect.is_far() {
            return None;
        }
        let mut tallies: HashMap<Option<String>, Tally> = HashMap::new();
        for row in rows {
            tallies.entry(value_in_memory(facet, row)).or_default().add(&tally_in_memory(facet, row));
        }
        let at_least = |n| Count { n, exactness: Exactness::AtLeast };
        // The first of all is not among the newest, and elsewhere the last of all may be missing too.
        let is_newest = sort.key == SortKey::Time && sort.descending;
        let bar = |(value, tally): (&Option<String>, &Tally)| Bar {
            last_seen: tally.last.filter(|_| is_newest),
            ..Bar::new(untrusted(value), at_least(tally.n))
        };
        let mut bars: Vec<Bar> = tallies.iter().map(bar).collect();
        facet.sort(&mut bars);
        let total = at_least(bars.iter().map(|bar| bar.count.n).sum());
        Some(Histogram { facet, bars, total, as_of: self.context.server_now(), progress: None })
    }
}
