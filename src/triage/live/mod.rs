//! Counts that live: a count of everything, and what polls of the recent past add to it. Pure; the time is handed in.
//!
//! A poll recounts the buckets from [`Changes::from_bucket`] on. What it says replaces what the count and earlier polls
//! said of them, so that a row committed late, changed or removed there is counted once and not twice. What no poll can
//! see (older rows that changed) is put right by the next full count: once something has changed, the numbers say `~`
//! until then.
//!
//! A full count may take its time while polls go on ([`QueryBudget`] says how much). What it says of older rows then replaces
//! what was known of them, all at once; what polls have read again since it began stays as they found it.

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
use self::poll::BACKGROUND_REST;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram, TREND_SLOT};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Cell, Changes, HistogramStep, Token};

/// A value of a facet, `None` standing for jobs that have none.
pub type FacetValue = Option<Untrusted>;

/// The recent past by bucket and value.
type RecentBuckets = BTreeMap<i64, BTreeMap<FacetValue, RecentJobs>>;

/// Jobs of a value in recent buckets.
#[derive(Clone, Debug, Default)]
struct RecentJobs {
    n: u64,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    example: Option<Untrusted>,
}

/// The counts of one facet under one filter, kept up to date by polls.
#[derive(Clone, Debug)]
pub struct LiveCounts {
    /// The full count, less what it has of the recent past.
    base: Histogram,
    /// The recent past as it was last counted: what the next poll replaces.
    recent: RecentBuckets,
    /// The first bucket that was counted by itself: earlier ones are known as a part of the full count alone.
    recent_from: i64,
    /// When polls found that something may have changed since the full count: first and last.
    changed: Option<(Timestamp, Timestamp)>,
    /// Polls since the count, each with the first bucket that it read again; without those that a later one covers, so that
    /// of the polls after any instant the first one reached back the farthest.
    polled: Vec<(Timestamp, i64)>,
    as_of: Timestamp,
    /// The latest death that is known of.
    latest: Option<Timestamp>,
    arrivals: Arrivals,
    new_values: NewValues,
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

    /// Takes in a poll that went on from the token of the last count or poll. Returns how many jobs it found where they
    /// were not before, whether they died there or only changed.
    pub fn take_poll(&mut self, changes: &Changes) -> u64 {
        let (from, cells) = match changes.uncounted {
            true => (i64::MAX, &[][..]),
            false => (changes.from_bucket, changes.cells.as_slice()),
        };
        let cells = (changes.changed || changes.uncounted).then_some((from, cells));
        let rows = self.take_in(cells, changes.server_time);
        if changes.uncounted {
            // No poll will find that nothing changed: a full count has nothing to wait for.
            self.changed = self.changed.map(|(first, _)| (first, Timestamp(i64::MIN)));
        }
        rows
    }

    fn from_count(counted: Histogram, recent: &[Cell], recent_from: Option<i64>) -> Self {
        let recent = by_bucket(recent);
        Self {
            new_values: NewValues::of_first_count(&counted),
            latest: latest(&counted),
            arrivals: Arrivals::new(counted.as_of),
            as_of: counted.as_of,
            base: older(counted, &recent),
            recent,
            recent_from: recent_from.unwrap_or(i64::MIN),
            changed: None,
            polled: Vec::new(),
        }
    }

    fn count_again(&mut self, counted: Histogram, recent: &[Cell], recent_from: Option<i64>) -> bool {
        let before = self.histogram();
        self.as_of = self.as_of.max(counted.as_of);
        self.latest = self.latest.max(latest(&counted));
        self.recent_from = recent_from.unwrap_or(i64::MIN);
        self.polled.retain(|(at, _)| *at > counted.as_of);
        // What no poll has read since the count did, the count knows better: rows may have changed behind the polls.
        let polled = self.polled.first().filter(|_| recent_from.is_some()).map(|(_, from)| *from);
        let known = polled.map(|from| self.recent.split_off(&from.max(self.recent_from)));
        self.recent = by_bucket(recent);
        self.base = older(counted, &self.recent);
        if let Some((from, known)) = polled.zip(known) {
            self.recent.split_off(&from);
            self.recent.extend(known);
        }
        self.changed = self
            .polled
            .first()
            .zip(self.polled.last())
            .filter(|_| recent_from.is_some())
            .map(|(first, last)| (first.0, last.0));
        self.find_late(&before);
        self.is_in_doubt()
    }

    /// Counts as deaths what a full count finds and no poll could see: jobs that are older than the recent past and died
    /// meanwhile, as an event does whose retries took hours. Where jobs of a value went as well they hide each other, so
    /// that growth is rather too small.
    fn find_late(&mut self, before: &Histogram) {
        let known: HashMap<&FacetValue, u64> = before.bars.iter().map(|bar| (&bar.value, bar.count.n)).collect();
        for bar in self.histogram().bars {
            let late = bar.count.n.saturating_sub(known.get(&bar.value).copied().unwrap_or(0));
            self.arrivals.add(&bar.value, late, self.base.as_of);
        }
    }

    /// Takes in the recounted buckets from one on, or that nothing changed.
    pub(crate) fn take_in(&mut self, cells: Option<(i64, &[Cell])>, at: Timestamp) -> u64 {
        self.as_of = self.as_of.max(at);
        let Some((from, cells)) = cells else { return 0 };
        self.changed = Some((self.changed.map_or(at, |(first, _)| first), at));
        // A poll may reach back farther than the count did by buckets.
        let from = from.max(self.recent_from);
        self.polled.retain(|(_, earlier)| *earlier < from);
        self.polled.push((at, from));
        let known = self.recent.split_off(&from);
        let mut found = by_bucket(cells.iter().filter(|cell| cell.bucket >= from));
        let came = arrivals::came(&known, &found, self.latest);
        self.latest = cells.iter().map(|cell| cell.last_seen).fold(self.latest, Option::max);
        self.recent.append(&mut found);
        for (value, came) in &came {
            self.arrivals.add(value, came.died, at);
        }
        came.iter().map(|(_, came)| came.rows).sum()
    }

    /// The counts as they are now, in the order of the facet, with trends.
    pub fn histogram(&self) -> Histogram {
        let mut recent = by_value(&self.recent);
        let n = recent.values().fold(self.base.total.n, |sum, jobs| sum.saturating_add(jobs.n));
        let mut bar = |older: &Bar| self.bar(older, recent.remove(&older.value).unwrap_or_default());
        let mut bars: Vec<Bar> = self.base.bars.iter().map(&mut bar).collect();
        bars.extend(recent.into_iter().map(|(value, jobs)| self.bar(&Bar::new(value.clone(), Count::exact(0)), jobs)));
        bars.retain(|bar| bar.count.n > 0 || bar.count.exactness != Exactness::Exact);
        self.base.facet.sort(&mut bars);
        let total = self.marked(Count { n, ..self.base.total });
        Histogram { bars, total, as_of: self.as_of, ..self.base.clone() }
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
        let (before, now) = (earlier.histogram().total, self.histogram().total);
        let is_known = [before, now].iter().all(|total| total.exactness != Exactness::AtLeast);
        let unknown = if is_known { now.n.saturating_sub(before.n) } else { 0 };
        self.arrivals.follow(&earlier.arrivals, earlier.trend_growth(), unknown, self.base.as_of);
    }

    /// All deaths that were seen since the first count by this facet.
    pub fn deaths(&self) -> u64 {
        self.arrivals.total()
    }

    /// Sets the baseline that `new` is told from.
    pub fn set_baseline(&mut self, now: Timestamp) {
        let histogram = self.histogram();
        self.new_values.set_baseline(&histogram, now);
    }

    /// Whether a bar is new since the console opened, or since the baseline.
    pub fn is_new(&self, bar: &Bar) -> Option<Since> {
        self.new_values.of(bar)
    }

    /// Whether something may have changed since the full count that no poll could see: the numbers are estimates until the
    /// next one.
    pub fn is_in_doubt(&self) -> bool {
        self.changed.is_some()
    }

    /// Whether that should be made good, as of the last poll. When it may be paid for is for [`QueryBudget`] to say.
    ///
    /// A count that a change overtakes has to be made again: it waits for a poll that finds none, at most for as long as it would
    /// take itself (`takes`).
    pub fn is_full_count_due(&self, takes: Duration) -> bool {
        let is_rested = self.base.as_of.age(self.as_of) >= BACKGROUND_REST;
        is_rested && self.changed.is_some_and(|(first, last)| last < self.as_of || first.age(self.as_of) >= takes)
    }

    fn bar(&self, older: &Bar, recent: RecentJobs) -> Bar {
        Bar {
            value: older.value.clone(),
            count: self.marked(Count { n: older.count.n.saturating_add(recent.n), ..older.count }),
            first_seen: earliest(older.first_seen, recent.first_seen),
            last_seen: older.last_seen.max(recent.last_seen),
            trend: self.arrivals.trend(&older.value, &older.trend, self.base.as_of),
            example: older.example.clone().or(recent.example),
        }
    }

    /// A count with the mark that it has now.
    fn marked(&self, count: Count) -> Count {
        let exactness = if self.is_in_doubt() { Exactness::Estimate.max(count.exactness) } else { count.exactness };
        Count { exactness, ..count }
    }
}

impl RecentJobs {
    fn add(&mut self, n: u64, seen: [Option<Timestamp>; 2], example: Option<&Untrusted>) {
        self.n = self.n.saturating_add(n);
        self.first_seen = earliest(self.first_seen, seen[0]);
        self.last_seen = self.last_seen.max(seen[1]);
        self.example = self.example.take().or_else(|| example.cloned());
    }
}

/// The latest death that a count knows of.
fn latest(counted: &Histogram) -> Option<Timestamp> {
    counted.bars.iter().filter_map(|bar| bar.last_seen).max()
}

/// A full count less these jobs, which are among those that it has.
fn older(mut counted: Histogram, recent: &RecentBuckets) -> Histogram {
    let recent = by_value(recent);
    for bar in &mut counted.bars {
        bar.count.n = bar.count.n.saturating_sub(recent.get(&bar.value).map_or(0, |jobs| jobs.n));
    }
    counted.total.n = recent.values().fold(counted.total.n, |n, jobs| n.saturating_sub(jobs.n));
    counted
}

fn by_bucket<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> RecentBuckets {
    let mut recent = RecentBuckets::new();
    for cell in cells {
        let jobs = recent.entry(cell.bucket).or_default().entry(cell.value.clone()).or_default();
        jobs.add(cell.n, [cell.first_seen, cell.last_seen], cell.example.as_ref());
    }
    recent
}

fn by_value(recent: &RecentBuckets) -> HashMap<&FacetValue, RecentJobs> {
    let mut sums: HashMap<&FacetValue, RecentJobs> = HashMap::new();
    for (value, jobs) in recent.values().flatten() {
        sums.entry(value).or_default().add(jobs.n, [jobs.first_seen, jobs.last_seen], jobs.example.as_ref());
    }
    sums
}

/// The earlier of two times, where either is known.
pub(super) fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
