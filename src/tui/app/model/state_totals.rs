//! Jobs by state: as they were read last, and when they are read again.

use std::time::Duration;

use crate::domain::histogram::{Count, Exactness};
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// The part of a total by which what the planner's sample makes of it may be off: where one row in a hundred is meant, nearly a
/// fifth.
const GUESSED_WITHIN: u64 = 4;

/// Jobs by state.
#[derive(Debug)]
pub struct StateTotals {
    /// As they were read last, with when that was.
    pub read: Option<(Timestamp, Vec<(State, Count)>)>,
    /// As they were last counted, and not guessed.
    counted: Vec<(State, u64)>,
    /// When they are due, if anything has changed since they were read.
    pub next: Option<Timestamp>,
    /// Whether anything may have.
    pub is_changed: bool,
    /// What they cost when they were read last.
    pub cost: Option<Duration>,
    /// When they were asked for.
    pub asked_at: Option<Timestamp>,
    /// Whether the operator asked, who does for the first ones by opening the source.
    pub is_asked: bool,
}

impl Default for StateTotals {
    fn default() -> Self {
        let (read, counted, next, cost, asked_at) = (None, Vec::new(), None, None, None);
        Self { read, counted, next, is_changed: false, cost, asked_at, is_asked: true }
    }
}

impl StateTotals {
    /// When they are to be read again; never while nothing changes.
    pub fn due(&self) -> Option<Timestamp> {
        self.next.filter(|_| self.is_changed)
    }

    /// Jobs in a state, as they were read last.
    pub fn of(&self, state: State) -> Option<Count> {
        let (_, totals) = self.read.as_ref()?;
        totals.iter().find(|(known, _)| *known == state).map(|(_, count)| *count)
    }

    /// Takes in totals. A guess stands back behind what was counted before, as long as it may mean the same.
    pub fn take(&mut self, mut totals: Vec<(State, Count)>, now: Timestamp) {
        for (state, count) in &mut totals {
            let counted = self.counted.iter().find(|(known, _)| known == state).map(|(_, n)| *n);
            match (count.exactness, counted) {
                (Exactness::Exact, _) => {
                    self.counted.retain(|(known, _)| known != state);
                    self.counted.push((*state, count.n));
                }
                (Exactness::Estimate, Some(n)) if count.n.abs_diff(n) <= n.max(count.n) / GUESSED_WITHIN => count.n = n,
                _ => {}
            }
        }
        self.read = Some((now, totals));
    }

    /// Calls them estimates: rows may have come or become others since they were read.
    pub fn doubt(&mut self) {
        let totals = self.read.iter_mut().flat_map(|(_, totals)| totals);
        totals.for_each(|(_, count)| count.exactness = Exactness::Estimate.max(count.exactness));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_that_were_counted_are_not_given_up_for_a_guess_that_may_mean_the_same() {
        let mut totals = StateTotals::default();
        let guess = |n| Count { n, exactness: Exactness::Estimate };
        let mut ignored = |count: Count| {
            totals.take(vec![(State::Dead, Count::exact(9)), (State::Ignored, count)], Timestamp(1));
            totals.of(State::Ignored)
        };
        assert_eq!(ignored(guess(90)), Some(guess(90)), "nothing was counted");
        assert_eq!(ignored(Count::exact(100)), Some(Count::exact(100)));
        assert_eq!([guess(110), guess(80), guess(133)].map(&mut ignored), [Some(guess(100)); 3]);
        assert_eq!([guess(140), guess(70)].map(&mut ignored), [Some(guess(140)), Some(guess(70))]);
        assert_eq!(ignored(guess(110)), Some(guess(100)), "as near to what was counted as before");
        assert_eq!(ignored(Count::exact(140)), Some(Count::exact(140)));
        assert_eq!(ignored(guess(150)), Some(guess(140)));
    }
}
