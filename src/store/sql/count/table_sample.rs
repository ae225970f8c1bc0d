//! Counts from a sample: what can be said at once of what takes long to count.

use std::collections::HashMap;

use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::store::sql::count::statistics::Statistics;
use crate::store::sql::query::group_by::{Grouping, Tally, untrusted};
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::{Budget, Result};

/// Blocks that are read, taken from the whole table.
const BLOCKS: u64 = 1_000;
/// A table of so few times as many blocks is counted as quickly.
const SMALL: u64 = 4;

impl<'s> Statistics<'s> {
    /// What some blocks, taken by chance, say of the counts of a whole table; `None` where that is not to be had, or not
    /// needed.
    pub(crate) async fn sample(
        self,
        blocks: Option<u64>,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        budget: &Budget,
    ) -> Result<Option<HashMap<Option<String>, Tally>>> {
        if grouping.facet != Facet::Fingerprint || judge.rest.is_some() {
            return Ok(None);
        }
        self.sample_of((BLOCKS, blocks), judge, grouping, budget).await
    }

    /// What so many of the blocks of a table say of the counts, more or less.
    pub(crate) async fn sample_of(
        self,
        (most, blocks): (u64, Option<u64>),
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        budget: &Budget,
    ) -> Result<Option<HashMap<Option<String>, Tally>>> {
        let Some(blocks) = blocks.filter(|blocks| *blocks >= SMALL * most) else { return Ok(None) };
        let share = most as f64 / blocks as f64;
        let Some(table) = self.context.layout.dialect.sampled(&self.context.layout.tables.table, share * 100.0) else {
            return Ok(None);
        };
        let statement =
            grouping.statement_over(&format!("{table}{}", self.context.layout.tables.join), judge, None, |_| {});
        let rows = match self.context.engine.read(&[statement], budget).await {
            Ok(mut results) => results.pop().unwrap_or_default(),
            // The count itself goes by windows that adapt.
            Err(error) if error.took_too_long() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut sample: HashMap<Option<String>, Tally> = HashMap::new();
        for counted in grouping.read(rows)? {
            sample.entry(counted.value).or_default().add(&counted.tally);
        }
        for tally in sample.values_mut() {
            tally.n = (tally.n as f64 / share).round() as u64;
        }
        Ok(Some(sample))
    }
}

/// Counts that go on, where they are less than a sample says filled up to that.
pub(crate) fn filled_up(counted: Histogram, sample: &HashMap<Option<String>, Tally>) -> Histogram {
    if sample.is_empty() {
        return counted;
    }
    let mut missing: HashMap<_, &Tally> = sample.iter().map(|(value, tally)| (untrusted(value), tally)).collect();
    let mut bars = counted.bars;
    for bar in &mut bars {
        if let Some(tally) = missing.remove(&bar.value).filter(|tally| tally.n > bar.count.n) {
            bar.count = estimate(tally.n);
        }
    }
    bars.extend(missing.into_iter().map(|(value, tally)| Bar {
        first_seen: tally.first,
        last_seen: tally.last,
        example: tally.example.clone(),
        ..Bar::new(value, estimate(tally.n))
    }));
    counted.facet.sort(&mut bars);
    let n = sample.values().map(|tally| tally.n).sum::<u64>().max(counted.total.n);
    Histogram { bars, total: estimate(n), ..counted }
}

fn estimate(n: u64) -> Count {
    Count { n, exactness: Exactness::Estimate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    #[test]
    fn counts_that_go_on_are_filled_up_to_what_a_sample_says_and_never_cut_down_to_it() {
        let at_least = |n| Count { n, exactness: Exactness::AtLeast };
        let counted = Histogram {
            facet: Facet::Fingerprint,
            bars: vec![Bar::new(Some("a".into()), at_least(5)), Bar::new(Some("c".into()), at_least(3))],
            total: at_least(8),
            as_of: Timestamp(0),
            progress: Some(0.1),
        };
        let of = |value: &str, n| (Some(value.to_owned()), Tally { n, ..Tally::default() });
        let filled = filled_up(counted.clone(), &HashMap::from([of("a", 4), of("b", 50), of("c", 9)]));
        let bars: Vec<(String, String)> = filled
            .bars
            .iter()
            .map(|b| (b.value.as_ref().map_or("", |v| v.exact()).to_owned(), b.count.to_string()))
            .collect();
        let expected = [("b", "~50"), ("c", "~9"), ("a", "≥5")].map(|(v, n)| (v.to_owned(), n.to_owned()));
        assert_eq!((bars.as_slice(), filled.total.to_string().as_str()), (&expected[..], "~63"));
        assert_eq!(filled_up(counted.clone(), &HashMap::new()), counted);
    }
}
