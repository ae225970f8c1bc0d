//! What changed at a mark: deaths since then against those of an equally long time before.
//!
//! All numbers count jobs that are still in the store and that the filter selects. A job that was replayed meanwhile is in
//! none of them.

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::histogram::Bar;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// How long nothing may have died of a value before the mark, for later deaths to be a return.
pub const QUIET: Duration = Duration::from_secs(86_400);

/// What became of a value at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// It had no death before.
    New,
    /// It had deaths before, none for a day, and has some again.
    Returned,
    /// More deaths than before, by more than chance explains.
    Growing,
    /// Neither more nor fewer, as far as can be told.
    Steady,
    /// Fewer deaths than before, by more than chance explains.
    Fading,
    /// It had deaths in the time before, and has none since.
    Gone,
}

impl Change {
    /// The word in output and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Returned => "returned",
            Change::Growing => "growing",
            Change::Steady => "steady",
            Change::Fading => "fading",
            Change::Gone => "gone",
        }
    }

    /// What the word says of deaths in equally long times before and after `mark`, the last one before being `last_before`;
    /// `None` where there are none in either time.
    ///
    /// Counts of deaths vary by chance by about the square root of their number. A difference counts from twice that of both
    /// together.
    pub fn of(before: u64, after: u64, last_before: Option<Timestamp>, mark: Timestamp) -> Option<Change> {
        let is_quiet = last_before.is_some_and(|last| last < mark.before(QUIET));
        let (all, difference) = (u128::from(before) + u128::from(after), u128::from(before.abs_diff(after)));
        let differs = difference * difference > 4 * all;
        Some(match (before, after) {
            (0, 0) => return None,
            (_, 0) => Change::Gone,
            (0, _) if last_before.is_none() => Change::New,
            (_, _) if is_quiet => Change::Returned,
            (before, after) if differs && after > before => Change::Growing,
            (_, _) if differs => Change::Fading,
            (_, _) => Change::Steady,
        })
    }
}

/// A value of a facet before and after a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedBar {
    /// The value; `None` stands for jobs that have none.
    pub value: Option<Untrusted>,
    /// Deaths in the time before the mark.
    pub before: u64,
    /// Deaths since the mark.
    pub after: u64,
    /// What that means.
    pub change: Change,
    /// As [`Bar::example`].
    pub example: Option<Untrusted>,
}

/// Compares counts by one facet: of all deaths before a mark, of those in the time before it, and of those since. What is new
/// comes first and what is gone last; the larger before the smaller.
pub fn compare(mark: Timestamp, earlier: &[Bar], before: &[Bar], after: &[Bar]) -> Vec<ComparedBar> {
    let last_before: HashMap<_, _> = earlier.iter().map(|bar| (&bar.value, bar.last_seen)).collect();
    let after_of: HashMap<_, _> = after.iter().map(|bar| (&bar.value, bar.count.n)).collect();
    let before_of: HashMap<_, _> = before.iter().map(|bar| (&bar.value, bar.count.n)).collect();
    let only_before = before.iter().filter(|bar| !after_of.contains_key(&bar.value));
    let compared = |bar: &Bar| {
        let counted = |counts: &HashMap<_, u64>| counts.get(&bar.value).copied().unwrap_or(0);
        let (before, after) = (counted(&before_of), counted(&after_of));
        // A bar of earlier deaths has a last one; should its time be unknown, it is at least no new value.
        let last_before = last_before.get(&bar.value).map(|last| last.unwrap_or(mark));
        let change = Change::of(before, after, last_before, mark)?;
        Some(ComparedBar { value: bar.value.clone(), before, after, change, example: bar.example.clone() })
    };
    let mut bars: Vec<ComparedBar> = after.iter().chain(only_before).filter_map(compared).collect();
    bars.sort_by(|a, b| {
        let size = |bar: &ComparedBar| bar.after.max(bar.before);
        (a.change, size(b), &a.value).cmp(&(b.change, size(a), &b.value))
    });
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::histogram::Count;

    const MARK: Timestamp = Timestamp(1_795_144_329_000_000);

    fn change(before: u64, after: u64, last_before: Option<u64>) -> Option<Change> {
        Change::of(before, after, last_before.map(|ago| MARK.before(Duration::from_secs(ago))), MARK)
    }

    #[test]
    fn each_word_has_its_case() {
        let day = QUIET.as_secs();
        for (before, after, last_before, expected) in [
            (0, 0, Some(3 * day), None),
            (0, 1, None, Some(Change::New)),
            (0, 1, Some(day + 1), Some(Change::Returned)),
            (0, 1, Some(day - 1), Some(Change::Steady)),
            (5, 0, Some(9), Some(Change::Gone)),
            (10, 30, Some(9), Some(Change::Growing)),
            (30, 10, Some(9), Some(Change::Fading)),
            (10, 15, Some(9), Some(Change::Steady)),
            (1, 3, Some(9), Some(Change::Steady)),
            // A long time before may hold deaths of days ago.
            (7, 7, Some(2 * day), Some(Change::Returned)),
        ] {
            assert_eq!(change(before, after, last_before), expected, "{before} {after} {last_before:?}");
        }
    }

    #[test]
    fn a_difference_counts_from_twice_what_chance_explains() {
        assert_eq!(change(100, 129, Some(9)), Some(Change::Steady));
        assert_eq!(change(100, 131, Some(9)), Some(Change::Growing));
        assert_eq!(change(131, 100, Some(9)), Some(Change::Fading));
        assert_eq!(change(u64::MAX, 1, Some(9)), Some(Change::Fading));
    }

    #[test]
    fn what_is_new_comes_first_and_what_is_gone_is_listed_too() {
        let bar = |value: &str, n: u64, last_seen: Timestamp| Bar {
            last_seen: Some(last_seen),
            ..Bar::new(Some(Untrusted::from(value)), Count::exact(n))
        };
        let just_before = MARK.before(Duration::from_secs(1));
        let earlier =
            [bar("old", 90, MARK.before(QUIET * 9)), bar("gone", 8, just_before), bar("flat", 40, just_before)];
        let before = [bar("gone", 8, just_before), bar("flat", 20, just_before)];
        let after = [bar("flat", 21, MARK), bar("old", 2, MARK), bar("fresh", 1, MARK)];
        let told: Vec<String> = compare(MARK, &earlier, &before, &after)
            .iter()
            .map(|bar| {
                let value = bar.value.as_ref().map_or("", Untrusted::exact);
                format!("{value} {} {} {}", bar.before, bar.after, bar.change.word())
            })
            .collect();
        assert_eq!(told, ["fresh 0 1 new", "old 0 2 returned", "flat 20 21 steady", "gone 8 0 gone"]);
    }
}
