//! Which of the jobs that a poll found more of have died, and which have only become others.

use std::collections::BTreeMap;

use super::{FacetValue, RecentBuckets, RecentJobs};
use crate::domain::time::Timestamp;

/// Jobs of a value that were not where a poll found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Came {
    /// All of them.
    pub(super) rows: u64,
    /// Those that died meanwhile, as far as counts tell.
    pub(super) died: u64,
}

/// What came into buckets, by value.
///
/// A job whose value changes goes from one cell and comes into another of the same bucket, as it stands where it died. So what
/// comes into a bucket makes up for what went from it, unless it is later than every death that is known: then it is one.
pub(super) fn came(known: &RecentBuckets, now: &RecentBuckets, latest: Option<Timestamp>) -> Vec<(FacetValue, Came)> {
    let mut found: Vec<(FacetValue, Came)> = Vec::new();
    let none = BTreeMap::new();
    let n = |values: &BTreeMap<FacetValue, RecentJobs>, value: &FacetValue| values.get(value).map_or(0, |jobs| jobs.n);
    for (bucket, values) in now {
        let before = known.get(bucket).unwrap_or(&none);
        let mut gone: u64 = before.iter().map(|(value, was)| was.n.saturating_sub(n(values, value))).sum();
        for (value, jobs) in values {
            let rows = jobs.n.saturating_sub(n(before, value));
            let is_later = jobs.last_seen > latest && jobs.last_seen.is_some();
            let changed = if is_later { 0 } else { rows.min(gone) };
            gone -= changed;
            if rows > 0 {
                found.push((value.clone(), Came { rows, died: rows - changed }));
            }
        }
    }
    found
}
