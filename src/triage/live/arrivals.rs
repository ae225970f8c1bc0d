//! Which of the jobs that a look found more of have died, and which have only become others.

use std::collections::{BTreeMap, HashMap};

use super::{FacetValue, RecentBuckets};
use crate::domain::time::Timestamp;
use crate::store::Cell;

/// Jobs of a value that were not where a look found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Came {
    /// All of them.
    pub(super) rows: u64,
    /// Those that died meanwhile, as far as counts tell.
    pub(super) died: u64,
}

/// What came, by value, in the order of the cells.
///
/// A job whose value changes goes from one cell and comes into another of the same bucket, as it stands where it died. So what
/// comes into a bucket makes up for what went from it, unless it is later than every death that is known: then it is one.
pub(super) fn came(known: &RecentBuckets, cells: &[&Cell], latest: Option<Timestamp>) -> Vec<(FacetValue, Came)> {
    let now = super::by_bucket(cells.iter().copied());
    let mut gone: HashMap<i64, u64> = HashMap::new();
    for (bucket, values) in known {
        let left = |value: &FacetValue| now.get(bucket).and_then(|now| now.get(value)).copied().unwrap_or(0);
        gone.insert(*bucket, values.iter().map(|(value, n)| n.saturating_sub(left(value))).sum());
    }
    let mut counted: BTreeMap<(i64, &FacetValue), u64> = BTreeMap::new();
    let mut found: Vec<(FacetValue, Came)> = Vec::new();
    for cell in cells {
        let before = known.get(&cell.bucket).and_then(|values| values.get(&cell.value)).copied().unwrap_or(0);
        // A cell that comes in pieces is known as a whole.
        let so_far = counted.entry((cell.bucket, &cell.value)).or_default();
        let rows = (*so_far + cell.n).saturating_sub(before.max(*so_far));
        *so_far += cell.n;
        let is_later = cell.last_seen > latest && cell.last_seen.is_some();
        let gone = gone.entry(cell.bucket).or_default();
        let changed = if is_later { 0 } else { rows.min(*gone) };
        *gone -= changed;
        if rows > 0 {
            found.push((cell.value.clone(), Came { rows, died: rows - changed }));
        }
    }
    found
}
