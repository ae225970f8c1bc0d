//! Deaths that polls have seen: the growth of the last minutes, the trend of each value, the badge.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::FacetValue;
use crate::domain::time::Timestamp;

/// How far back growth goes.
const GROWTH: Duration = Duration::from_secs(300);
/// Slots of a trend that is drawn from polls alone, where the store brings none.
const SLOTS: usize = 20;
/// Width of such a slot.
const SLOT: Duration = Duration::from_secs(30);

/// Deaths over a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Deaths seen.
    pub n: u64,
    /// From when on; `None` stands for the last five minutes.
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    since: Timestamp,
    /// When deaths were seen, how many, and of which value: of `None` where another facet was counted then, or nobody knows.
    seen: VecDeque<(Timestamp, Option<FacetValue>, u64)>,
    /// What trends told when watching began.
    told: Option<ReportedDeaths>,
    /// All that were seen under this facet.
    total: u64,
    are_any: bool,
}

/// Deaths by the trends of a count.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedDeaths {
    pub(super) n: u64,
    /// From when on.
    pub(super) from: Timestamp,
    /// When they were counted.
    pub(super) as_of: Timestamp,
}

impl Arrivals {
    pub(super) fn new(since: Timestamp) -> Self {
        Self { since, seen: VecDeque::new(), told: None, total: 0, are_any: false }
    }

    /// Goes on from what was seen while another facet was counted, from what was `told` then, and from `unknown` deaths between
    /// the two counts.
    pub(super) fn follow(&mut self, earlier: &Arrivals, told: Option<ReportedDeaths>, unknown: u64, at: Timestamp) {
        self.seen = earlier.seen.iter().map(|(at, _, n)| (*at, None, *n)).collect();
        if unknown > 0 {
            self.seen.push_back((at, None, unknown));
        }
        (self.since, self.are_any, self.told) = (earlier.since, earlier.are_any || unknown > 0, told);
    }

    pub(super) fn reported(&self) -> Option<ReportedDeaths> {
        self.told
    }

    pub(super) fn add(&mut self, value: &FacetValue, n: u64, at: Timestamp) {
        if n > 0 {
            self.seen.push_back((at, Some(value.clone()), n));
            self.total += n;
            self.are_any = true;
        }
        let oldest = at.before(SLOT * SLOTS as u32);
        while self.seen.front().is_some_and(|(at, _, _)| *at < oldest) {
            self.seen.pop_front();
        }
    }

    pub(super) fn growth(&self, now: Timestamp) -> Growth {
        let watched = self.since.age(now);
        if watched >= GROWTH && self.are_any {
            return Growth { n: self.after(now.before(GROWTH)), since: None };
        }
        Growth { n: self.after(Timestamp(i64::MIN)), since: Some(self.since) }
    }

    /// Deaths seen after `at`.
    pub(super) fn after(&self, at: Timestamp) -> u64 {
        self.seen.iter().filter(|(seen, _, _)| *seen > at).map(|(_, _, n)| n).sum()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The trend of a value: the store's, with what was seen since in its last slot, or one of our own.
    pub(super) fn trend(&self, value: &FacetValue, stored: &[u32], as_of: Timestamp) -> Vec<u32> {
        let of_value = self.seen.iter().filter(|(_, seen, _)| seen.as_ref() == Some(value));
        if let Some((last, earlier)) = stored.split_last() {
            let since: u64 = of_value.filter(|(at, _, _)| *at > as_of).map(|(_, _, n)| n).sum();
            let mut trend = earlier.to_vec();
            trend.push(last.saturating_add(small(since)));
            return trend;
        }
        let Some((newest, _, _)) = self.seen.iter().rfind(|(_, value, _)| value.is_some()) else { return Vec::new() };
        let mut slots: HashMap<usize, u64> = HashMap::new();
        for (at, _, n) in of_value {
            let slot = usize::try_from(at.age(*newest).as_millis() / SLOT.as_millis()).unwrap_or(SLOTS);
            *slots.entry(slot).or_default() += n;
        }
        (0..SLOTS).rev().map(|slot| small(slots.get(&slot).copied().unwrap_or(0))).collect()
    }
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
