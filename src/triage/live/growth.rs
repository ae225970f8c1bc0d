//! Deaths that looks have seen: the growth of the last minutes, the trend of each value, the badge.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::FacetValue;
use crate::domain::time::Timestamp;

/// How far back growth looks.
const GROWTH: Duration = Duration::from_secs(300);
/// Slots of a trend that is drawn from looks alone, where the store brings none.
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
    are_any: bool,
    seen: VecDeque<(Timestamp, FacetValue, u64)>,
    /// Deaths that were seen while another facet was counted.
    before: Vec<(Timestamp, u64)>,
    /// What trends told when watching began.
    told: Option<ReportedDeaths>,
    unseen: u64,
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
        Self { since, are_any: false, seen: VecDeque::new(), before: Vec::new(), told: None, unseen: 0 }
    }

    /// Goes on from what was seen while another facet was counted, and from what was `told` then.
    pub(super) fn follow(&mut self, earlier: &Arrivals, told: Option<ReportedDeaths>) {
        let seen = earlier.seen.iter().map(|(at, _, n)| (*at, *n));
        self.before = earlier.before.iter().copied().chain(seen).collect();
        (self.since, self.are_any, self.told) = (earlier.since, earlier.are_any, told);
    }

    /// Deaths between two counts, of which nobody knows the value.
    pub(super) fn add_unknown(&mut self, n: u64, at: Timestamp) {
        if n > 0 {
            self.before.push((at, n));
            self.are_any = true;
        }
    }

    pub(super) fn reported(&self) -> Option<ReportedDeaths> {
        self.told
    }

    pub(super) fn add(&mut self, value: &FacetValue, n: u64, at: Timestamp) {
        if n > 0 {
            self.seen.push_back((at, value.clone(), n));
            self.unseen += n;
            self.are_any = true;
        }
        let oldest = at.before(SLOT * SLOTS as u32);
        while self.seen.front().is_some_and(|(at, _, _)| *at < oldest) {
            self.seen.pop_front();
        }
        self.before.retain(|(at, _)| *at >= oldest);
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
        let seen = self.seen.iter().map(|(seen, _, n)| (*seen, *n)).chain(self.before.iter().copied());
        seen.filter(|(seen, _)| *seen > at).map(|(_, n)| n).sum()
    }

    pub(super) fn unseen(&self) -> u64 {
        self.unseen
    }

    pub(super) fn seen(&mut self) {
        self.unseen = 0;
    }

    /// The trend of a value: the store's, with what was seen since in its last slot, or one of our own.
    pub(super) fn trend(&self, value: &FacetValue, stored: &[u32], as_of: Timestamp) -> Vec<u32> {
        let of_value = self.seen.iter().filter(|(_, seen, _)| seen == value);
        if let Some((last, earlier)) = stored.split_last() {
            let since: u64 = of_value.filter(|(at, _, _)| *at > as_of).map(|(_, _, n)| n).sum();
            let mut trend = earlier.to_vec();
            trend.push(last.saturating_add(small(since)));
            return trend;
        }
        let Some((newest, _, _)) = self.seen.back() else { return Vec::new() };
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
