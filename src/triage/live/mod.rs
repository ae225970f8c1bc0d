//! Counts that live: a count of everything, and what looks at the recent past add to it. Pure; the time is handed in.
//!
//! A poll recounts the buckets from [`Changes::from_bucket`] on. What it says replaces what the count and earlier polls
//! said of them, so that a row committed late, changed or removed there is counted once and not twice. What no poll can
//! see (older rows that changed) is put right by the next full count: once something has changed, the numbers say `~`
//! until then.
//!
//! A full count may take its time while looks go on ([`QueryBudget`] says how much). What it says of older rows then replaces
//! what was known of them, all at once; of what looks have read again since it began, the looks know better.

mod arrivals;
mod growth;
mod new_values;
mod poll;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

pub use growth::Growth;
pub use new_values::Since;
pub use poll::{FAILED_REST, FullCount, Poll, QueryBudget};

use self::growth::{Arrivals, ReportedDeaths};
use self::new_values::NewValues;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram, TREND_SLOT};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Cell, Changes, HistogramStep, Token};

/// A value of a facet, `None` standing for jobs that have none.
pub type FacetValue = Option<Untrusted>;

/// The recent past by bucket and value.
type RecentBuckets = BTreeMap<i64, HashMap<FacetValue, u64>>;

/// The counts of one facet under one filter, kept up to date by looks.
#[derive(Clone, Debug)]
pub struct LiveCounts {
    base: Histogram,
    /// The recent past as it was last counted: what the next look replaces.
    recent: RecentBuckets,
    /// The first bucket that was counted by itself: earlier ones are known as a part of the full count alone.
    recent_from: i64,
    /// Jobs that came (positive) or went since the full count.
    drift: HashMap<FacetValue, Drift>,
    /// Whether something may have changed since the full count.
    is_changed: bool,
    /// Looks since the count, each with the first bucket that it read again; without those that a later one covers, so that
    /// of the looks after any instant the first one reached back the farthest.
    looked: Vec<(Timestamp, i64)>,
    as_of: Timestamp,
    /// The latest death that is known of.
    latest: Option<Timestamp>,
    arrivals: Arrivals,
    news: NewValues,
}

/// How far a value is from the full count.
#[derive(Clone, Debug, Default)]
struct Drift {
    /// Jobs that looks added or took away.
    seen: i64,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    example: Option<Untrusted>,
}

impl LiveCounts {
    /// Starts from a full count.
    pub fn new(step: &HistogramStep) -> Self {
        Self::from_count(step.histogram.clone(), &step.recent, step.recent_from)
    }

    /// Takes in a later full count. What is known of growth and new values stays.
    ///
    /// Returns what the next poll goes on from: the last one where it came after the count, or nothing was written between the
    /// two, and otherwise the count.
    pub fn take_full_count(&mut self, step: &HistogramStep, polled: Option<&Token>) -> Option<Token> {
        let is_later = self.count_again(step.histogram.clone(), &step.recent, step.recent_from);
        let is_same = |polled: &Token| step.token.as_ref().is_some_and(|counted| counted.is_same_moment(polled));
        polled.filter(|polled| is_later || is_same(polled)).or(step.token.as_ref()).cloned()
    }

    /// Takes in a look that went on from the token of the last count or look. Returns how many jobs it found where they
    /// were not before, whether they died there or only changed.
    pub fn take_poll(&mut self, changes: &Changes) -> u64 {
        let (from, cells) = match changes.uncounted {
            true => (i64::MAX, &[][..]),
            false => (changes.from_bucket, changes.cells.as_slice()),
        };
        let cells = (changes.changed || changes.uncounted).then_some((from, cells));
        self.take_in(cells, changes.server_time)
    }

    fn from_count(base: Histogram, recent: &[Cell], recent_from: Option<i64>) -> Self {
        let news = NewValues::of_first_count(&base);
        let as_of = base.as_of;
        let (recent, recent_from, arrivals) =
            (by_bucket(recent), recent_from.unwrap_or(i64::MIN), Arrivals::new(as_of));
        let (looked, latest, drift) = (Vec::new(), latest(&base), HashMap::new());
        Self { base, recent, recent_from, drift, is_changed: false, looked, as_of, latest, arrivals, news }
    }

    fn count_again(&mut self, base: Histogram, recent: &[Cell], recent_from: Option<i64>) -> bool {
        self.looked.retain(|(at, _)| *at > base.as_of);
        let later = recent_from.zip(self.looked.first()).map(|(from, (_, looked))| (from, *looked));
        self.recent_from = recent_from.unwrap_or(i64::MIN);
        self.find_late(&base);
        self.latest = self.latest.max(latest(&base));
        self.base = base;
        let mut counted = by_bucket(recent);
        let Some((from, looked)) = later else {
            self.as_of = self.as_of.max(self.base.as_of);
            self.recent = counted;
            self.drift.clear();
            self.is_changed = false;
            return false;
        };
        let was = by_value(&counted);
        // What no look has read since the count did, the count knows better: rows may have changed behind the looks.
        let known = self.recent.split_off(&looked.max(from));
        counted.split_off(&looked);
        counted.extend(known);
        self.recent = counted;
        let is = by_value(&self.recent);
        for drift in self.drift.values_mut() {
            drift.seen = 0;
        }
        for value in was.keys().chain(is.keys()).collect::<std::collections::HashSet<_>>() {
            let count = |of: &HashMap<FacetValue, u64>| signed(of.get(value).copied().unwrap_or(0));
            self.drift.entry(value.clone()).or_default().seen = count(&is) - count(&was);
        }
        self.drift.retain(|_, drift| drift.seen != 0);
        true
    }

    /// Counts as deaths what a full count finds and no look could see: jobs that are older than the recent past and died
    /// meanwhile, as an event does whose retries took hours. Where jobs of a value went as well they hide each other, so
    /// that growth is rather too small.
    fn find_late(&mut self, base: &Histogram) {
        let before: HashMap<&FacetValue, u64> = self.base.bars.iter().map(|bar| (&bar.value, bar.count.n)).collect();
        for bar in &base.bars {
            let seen = self.drift.get(&bar.value).map_or(0, |drift| drift.seen);
            let known = before.get(&bar.value).copied().unwrap_or(0).saturating_add_signed(seen);
            self.arrivals.add(&bar.value, bar.count.n.saturating_sub(known), base.as_of);
        }
    }

    /// Takes in the recounted buckets from one on, or that nothing changed.
    pub(crate) fn take_in(&mut self, cells: Option<(i64, &[Cell])>, at: Timestamp) -> u64 {
        self.as_of = self.as_of.max(at);
        let Some((from, cells)) = cells else { return 0 };
        self.is_changed = true;
        let from = from.max(self.recent_from);
        // A poll may reach back farther than the count did by buckets.
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.bucket >= from).collect();
        self.looked.retain(|(_, earlier)| *earlier < from);
        self.looked.push((at, from));
        let known = self.recent.split_off(&from);
        let came = arrivals::came(&known, &cells, self.latest);
        self.latest = cells.iter().map(|cell| cell.last_seen).fold(self.latest, Option::max);
        let was = by_value(&known);
        let mut is: HashMap<FacetValue, u64> = HashMap::new();
        for cell in &cells {
            *is.entry(cell.value.clone()).or_default() += cell.n;
            self.drift.entry(cell.value.clone()).or_default().saw(cell);
        }
        self.recent.append(&mut by_bucket(cells));
        self.apply(&was, &is);
        for (value, came) in &came {
            self.arrivals.add(value, came.died, at);
        }
        came.iter().map(|(_, came)| came.rows).sum()
    }

    /// The counts as they are now, in the order of the facet, with trends.
    pub fn histogram(&self) -> Histogram {
        let mut bars: Vec<Bar> = self.base.bars.iter().map(|bar| self.bar(bar)).collect();
        let listed: std::collections::HashSet<&FacetValue> = self.base.bars.iter().map(|bar| &bar.value).collect();
        let added = self.drift.iter().filter(|(value, drift)| !listed.contains(value) && drift.seen > 0);
        bars.extend(added.map(|(value, _)| self.bar(&empty(value.clone()))));
        bars.retain(|bar| bar.count.n > 0 || bar.count.exactness != Exactness::Exact);
        self.base.facet.sort(&mut bars);
        let net = self.drift.values().map(|drift| drift.seen).sum();
        Histogram { bars, total: self.moved(self.base.total, net), as_of: self.as_of, ..self.base.clone() }
    }

    /// Deaths over the last five minutes. While watching has not gone on for so long, the last two slots of the trends
    /// stand in, five to ten minutes, and the answer says from when on; where there are no trends, all that was seen.
    pub fn growth(&self, now: Timestamp) -> Growth {
        let seen = self.arrivals.growth(now);
        let is_short = seen.since.is_some_and(|since| since.age(now) < TREND_SLOT);
        match self.trend_growth() {
            Some(_) if !is_short => Growth { since: None, ..seen },
            Some(ReportedDeaths { n, from, as_of }) => match n + self.arrivals.after(as_of) {
                0 => Growth { n: 0, since: None },
                n => Growth { n, since: Some(from) },
            },
            None => seen,
        }
    }

    /// What the last two slots of the trends tell, or told of the facet before where this one has none.
    fn trend_growth(&self) -> Option<ReportedDeaths> {
        let trends = self.base.bars.iter().map(|bar| bar.trend.as_slice());
        if trends.clone().all(<[u32]>::is_empty) {
            return self.arrivals.reported();
        }
        let n = trends.flat_map(|trend| trend.iter().rev().take(2)).map(|n| u64::from(*n)).sum();
        let slot = i64::try_from(TREND_SLOT.as_micros()).unwrap_or(i64::MAX);
        let from = Timestamp((self.base.as_of.0.div_euclid(slot) - 1).saturating_mul(slot));
        Some(ReportedDeaths { n, from, as_of: self.base.as_of })
    }

    /// Goes on with the growth of another facet's counts under the same filter: it is of all its jobs, whatever they are
    /// counted by. What died between the two counts is in neither.
    pub fn follow(&mut self, earlier: &LiveCounts) {
        self.arrivals.follow(&earlier.arrivals, earlier.trend_growth());
        let (before, now) = (earlier.histogram().total, self.base.total);
        if [before, now].iter().all(|total| total.exactness != Exactness::AtLeast) {
            self.arrivals.add_unknown(now.n.saturating_sub(before.n), self.base.as_of);
        }
    }

    /// Deaths seen since [`LiveCounts::seen`]: the badge.
    pub fn unseen(&self) -> u64 {
        self.arrivals.unseen()
    }

    /// The operator has seen what is there.
    pub fn seen(&mut self) {
        self.arrivals.seen();
    }

    /// Sets the baseline that `new` is told from.
    pub fn set_baseline(&mut self, now: Timestamp) {
        let histogram = self.histogram();
        self.news.set_baseline(&histogram, now);
    }

    /// Whether a bar is new since the console opened, or since the baseline.
    pub fn is_new(&self, bar: &Bar) -> Option<Since> {
        self.news.of(bar)
    }

    /// How old the numbers are, by the database's clock.
    pub fn age(&self, now: Timestamp) -> Duration {
        self.as_of.age(now)
    }

    /// Whether something may have changed since the full count that no poll could see: the numbers are estimates until the
    /// next one. When that may be paid for is for [`QueryBudget`] to say.
    pub fn is_in_doubt(&self) -> bool {
        self.is_changed
    }

    fn apply(&mut self, before: &HashMap<FacetValue, u64>, now: &HashMap<FacetValue, u64>) {
        let values: std::collections::HashSet<&FacetValue> = before.keys().chain(now.keys()).collect();
        for value in values {
            let count = |of: &HashMap<FacetValue, u64>| of.get(value).copied().unwrap_or(0);
            let (was, is) = (count(before), count(now));
            self.drift.entry(value.clone()).or_default().seen += signed(is) - signed(was);
        }
        self.drift.retain(|_, drift| drift.seen != 0);
    }

    fn bar(&self, base: &Bar) -> Bar {
        let none = Drift::default();
        let drift = self.drift.get(&base.value).unwrap_or(&none);
        Bar {
            value: base.value.clone(),
            count: self.moved(base.count, drift.seen),
            first_seen: earliest(base.first_seen, drift.first_seen),
            last_seen: base.last_seen.max(drift.last_seen),
            trend: self.arrivals.trend(&base.value, &base.trend, self.base.as_of),
            example: base.example.as_ref().or(drift.example.as_ref()).cloned(),
        }
    }

    /// A count of the full count, moved by what was seen since.
    fn moved(&self, count: Count, by: i64) -> Count {
        let exactness = if self.is_in_doubt() { Exactness::Estimate.max(count.exactness) } else { count.exactness };
        Count { n: count.n.saturating_add_signed(by), exactness }
    }
}

impl Drift {
    fn saw(&mut self, cell: &Cell) {
        self.first_seen = earliest(self.first_seen, cell.first_seen);
        self.last_seen = self.last_seen.max(cell.last_seen);
        if self.example.is_none() {
            self.example.clone_from(&cell.example);
        }
    }
}

/// The latest death that a count knows of.
fn latest(counted: &Histogram) -> Option<Timestamp> {
    counted.bars.iter().filter_map(|bar| bar.last_seen).max()
}

fn by_bucket<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> RecentBuckets {
    let mut recent = RecentBuckets::new();
    for cell in cells {
        *recent.entry(cell.bucket).or_default().entry(cell.value.clone()).or_default() += cell.n;
    }
    recent
}

fn by_value(recent: &RecentBuckets) -> HashMap<FacetValue, u64> {
    let mut sums: HashMap<FacetValue, u64> = HashMap::new();
    for (value, n) in recent.values().flatten() {
        *sums.entry(value.clone()).or_default() += n;
    }
    sums
}

fn empty(value: FacetValue) -> Bar {
    Bar::new(value, Count::exact(0))
}

/// The earlier of two times, where either is known.
pub(super) fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
