//! Counts by facet, each honest about how exact it is.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::facet::Facet;
use super::job::State;
use super::text::Untrusted;
use super::time::Timestamp;

/// How far a count can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exactness {
    /// Counted, all of it, at the instant the count carries.
    Exact,
    /// A lower bound: counting went on no further. Shown as `≥`.
    AtLeast,
    /// An estimate from samples or statistics. Shown as `~`.
    Estimate,
}

impl Exactness {
    /// The mark shown before the number: nothing, `≥` or `~`.
    pub fn mark(self) -> &'static str {
        match self {
            Exactness::Exact => "",
            Exactness::AtLeast => "≥",
            Exactness::Estimate => "~",
        }
    }
}

/// A number of jobs with its exactness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    /// How many.
    pub n: u64,
    /// How far to trust it.
    pub exactness: Exactness,
}

impl Count {
    /// A count that is known to be right.
    pub fn exact(n: u64) -> Self {
        Self { n, exactness: Exactness::Exact }
    }

    /// The sum of two counts; no more exact than the worse of them.
    pub fn plus(self, other: Count) -> Count {
        Count { n: self.n.saturating_add(other.n), exactness: self.exactness.max(other.exactness) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.exactness.mark(), grouped(self.n))
    }
}

/// `1 job`, `1,204 jobs`.
pub fn jobs(n: u64) -> String {
    format!("{} {}", grouped(n), if n == 1 { "job" } else { "jobs" })
}

/// How many dead jobs, in words: `1 dead job`, `1,204 dead jobs`.
pub fn dead_jobs(n: u64) -> String {
    format!("{} dead {}", grouped(n), if n == 1 { "job" } else { "jobs" })
}

/// Digits in groups of three: `1,204,331`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// How long a slot of a trend is; slots begin at whole multiples of it, and the last one is the present one.
pub const TREND_SLOT: Duration = Duration::from_secs(300);

/// One value of a facet with what is known of the jobs that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The value; `None` stands for jobs that have none (NULL).
    pub value: Option<Untrusted>,
    /// Jobs with that value.
    pub count: Count,
    /// Oldest of them, where it is known.
    pub first_seen: Option<Timestamp>,
    /// Newest of them, where it is known.
    pub last_seen: Option<Timestamp>,
    /// Deaths per slot of the trend window, oldest first; empty where unknown.
    pub trend: Vec<u32>,
    /// The message of one of them, where the value alone tells nobody what it stands for: a fingerprint's.
    pub example: Option<Untrusted>,
}

impl Bar {
    /// A bar of which nothing but its number is known.
    pub fn new(value: Option<Untrusted>, count: Count) -> Bar {
        Bar { value, count, first_seen: None, last_seen: None, trend: Vec::new(), example: None }
    }
}

/// Counts of one facet under one filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The dimension counted by.
    pub facet: Facet,
    /// One bar a value, in the order of [`Facet::sort`].
    pub bars: Vec<Bar>,
    /// All of them together.
    pub total: Count,
    /// When the counts were read, by the database's clock.
    pub as_of: Timestamp,
    /// How much of an unfinished count is done, from 0 to 1; `None` when it is finished.
    pub progress: Option<f32>,
}

impl Histogram {
    /// Counts by state, in the order of [`State::ALL`], where it is by state.
    pub fn by_state(&self) -> Vec<(State, Count)> {
        let of =
            |state: State| self.bars.iter().find(|bar| bar.value.as_ref().is_some_and(|v| v.exact() == state.word()));
        State::ALL.into_iter().filter_map(|state| Some((state, of(state)?.count))).collect()
    }

    /// When the oldest of all the jobs died, where that is known.
    pub fn first_seen(&self) -> Option<Timestamp> {
        self.bars.iter().filter_map(|bar| bar.first_seen).min()
    }

    /// An unfinished count over the estimate that it set out from, which goes on standing for what is not counted yet.
    pub fn over(&self, estimate: &Histogram) -> Histogram {
        let left = f64::from(1.0 - self.progress.unwrap_or(1.0)).clamp(0.0, 1.0);
        let of = |n: u64| Count { n, exactness: Exactness::Estimate };
        // The share is one of the table, not of its jobs: the result is an estimate as well.
        let rest = |n: u64| (n as f64 * left).round() as u64;
        let guessed: HashMap<&Option<Untrusted>, u64> =
            estimate.bars.iter().map(|bar| (&bar.value, rest(bar.count.n))).collect();
        let counted: HashSet<&Option<Untrusted>> = self.bars.iter().map(|bar| &bar.value).collect();
        let more = |bar: &Bar| bar.count.n.saturating_add(guessed.get(&bar.value).copied().unwrap_or(0));
        let mut bars: Vec<Bar> = self.bars.iter().map(|bar| Bar { count: of(more(bar)), ..bar.clone() }).collect();
        let unmet = estimate.bars.iter().filter(|bar| !counted.contains(&bar.value) && rest(bar.count.n) > 0);
        bars.extend(unmet.map(|bar| Bar { count: of(rest(bar.count.n)), ..bar.clone() }));
        self.facet.sort(&mut bars);
        let total = of(self.total.n.saturating_add(rest(estimate.total.n)));
        Histogram { bars, total, ..self.clone() }
    }

    /// When the newest of all the jobs died, where that is known.
    pub fn last_seen(&self) -> Option<Timestamp> {
        self.bars.iter().filter_map(|bar| bar.last_seen).max()
    }
}

impl Facet {
    /// Sorts bars: the largest first, and hours as time goes by, the latest first.
    pub fn sort(self, bars: &mut [Bar]) {
        bars.sort_by(|a, b| match self {
            Facet::Hour => b.value.cmp(&a.value),
            _ => b.count.n.cmp(&a.count.n).then_with(|| a.value.cmp(&b.value)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_stands_for_what_is_not_counted_yet() {
        let bar = |value: &str, n, exactness| Bar::new(Some(Untrusted::from(value)), Count { n, exactness });
        let of = |bars: Vec<Bar>, exactness, progress| {
            let n = bars.iter().map(|bar| bar.count.n).sum();
            Histogram { facet: Facet::Error, bars, total: Count { n, exactness }, as_of: Timestamp(0), progress }
        };
        let guess = |n| bar("A", n, Exactness::Estimate);
        let estimate = of(vec![guess(1_000), bar("B", 400, Exactness::Estimate)], Exactness::Estimate, None);
        let counted = of(
            vec![bar("A", 300, Exactness::AtLeast), bar("C", 7, Exactness::AtLeast)],
            Exactness::AtLeast,
            Some(0.25),
        );
        let shown = counted.over(&estimate);
        let bars: Vec<String> = shown.bars.iter().map(|bar| bar.count.to_string()).collect();
        assert_eq!(
            (bars, shown.total.to_string()),
            (vec!["~1,050".into(), "~300".into(), "~7".into()], "~1,357".into())
        );
        assert_eq!(shown.progress, Some(0.25));
    }

    #[test]
    fn the_largest_bar_comes_first_but_hours_are_in_the_order_of_time() {
        let bar = |value: Option<&str>, n| Bar::new(value.map(Untrusted::from), Count::exact(n));
        let order = |facet: Facet| {
            let mut bars = [bar(Some("2026-11-20T03"), 1), bar(None, 7), bar(Some("2026-11-20T04"), 5)];
            facet.sort(&mut bars);
            bars.map(|bar| bar.count.n)
        };
        assert_eq!(order(Facet::Error), [7, 5, 1]);
        assert_eq!(order(Facet::Hour), [5, 1, 7]);
    }

    #[test]
    fn numbers_are_grouped_in_threes_and_marked() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_204_331), "1,204,331");
        assert_eq!(Count { n: 1000, exactness: Exactness::Estimate }.to_string(), "~1,000");
    }

    #[test]
    fn a_sum_is_no_more_exact_than_its_worst_part() {
        let sum = Count::exact(2).plus(Count { n: 3, exactness: Exactness::AtLeast });
        assert_eq!(sum.to_string(), "≥5");
    }
}
