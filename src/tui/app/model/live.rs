//! The link to the source and the watch over it.

use std::time::Duration;

use crate::domain::load_share::LoadShare;
use crate::domain::time::Timestamp;
use crate::store::{SourceError, Token};
use crate::triage::live::{Poll, QueryBudget};
use crate::tui::app::model::StateTotals;

/// A poll that is late by more is said to be.
const LATE: Duration = Duration::from_secs(4);

/// What polls may cost more or less than another without a word.
const COST_STEP: Duration = Duration::from_millis(10);

/// How long a poll may put off the next one that costs more than those before it, without a word.
const HICCUP: Duration = Duration::from_secs(10);

/// How we stand with the source.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum ConnectionState {
    /// Connecting for the first time.
    #[default]
    Connecting,
    /// Answers.
    Up,
    /// Lost: what is shown is as old as it says.
    Down {
        /// What is lost.
        loss: Loss,
        /// What went wrong, a sentence.
        reason: String,
        /// When it is tried again.
        retry_at: Timestamp,
        /// Attempts so far.
        attempts: u32,
    },
}

/// What keeps a source from being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It does not answer.
    Connection,
    /// It answers, and the role may not read there.
    Right,
    /// It answers, and what is there cannot be opened.
    Store,
}

impl From<&SourceError> for Loss {
    fn from(error: &SourceError) -> Self {
        match error {
            SourceError::Denied(_) => Self::Right,
            SourceError::Unfit { .. } | SourceError::Layout(_) | SourceError::Input(_) => Self::Store,
            _ => Self::Connection,
        }
    }
}

/// The live watch.
#[derive(Debug)]
pub struct LiveState {
    /// When the source is polled.
    pub poll: Poll,
    /// What the watch has left to spend.
    pub query_budget: QueryBudget,
    /// Where the next poll goes on from.
    pub poll_token: Option<Token>,
    /// How we stand with the source.
    pub link: ConnectionState,
    /// Whether the operator paused the watch.
    pub paused: bool,
    /// When the source was last heard.
    pub heard_at: Option<Timestamp>,
    /// Jobs by state.
    pub totals: StateTotals,
    /// Database time that polls cost of late: near enough to know, and no nearer.
    pub cost: Duration,
    /// Whether the last poll cost something else, which may have been for once.
    cost_was_odd: bool,
    /// When the next poll is due.
    pub next_poll: Option<Timestamp>,
    /// When a count that failed is tried again, or one that takes its time goes on.
    pub next_count: Option<Timestamp>,
    /// The database's clock less ours, in microseconds, at the last poll.
    pub skew: i64,
}

impl LiveState {
    /// A watch that polls every `refresh` while that is cheap, and takes no more than `share` of the database's time.
    pub fn new(refresh: Duration, share: LoadShare) -> Self {
        Self {
            poll: Poll::new(refresh, share),
            query_budget: QueryBudget::new(share),
            poll_token: None,
            link: ConnectionState::Connecting,
            paused: false,
            heard_at: None,
            totals: StateTotals::default(),
            cost: Duration::ZERO,
            cost_was_odd: false,
            next_poll: None,
            next_count: None,
            skew: 0,
        }
    }

    /// Nothing is owed to another source, known of it, or due.
    pub fn restart(&mut self) {
        self.poll.restart();
        self.query_budget.empty();
        (self.poll_token, self.next_count) = (None, None);
        (self.cost, self.cost_was_odd) = (Duration::ZERO, false);
    }

    /// Whether what is shown may be out of date: the link is down, or nothing was heard for a while.
    pub fn is_stale(&self) -> bool {
        matches!(self.link, ConnectionState::Down { .. })
    }

    /// Takes in what a poll cost; returns how long to wait for the next. A number that moves with every poll draws the eye, and
    /// keeps a terminal at the end of a thin line busy, for nothing: it changes when two polls in a row cost twice as much, or
    /// half. One that keeps the watch away for long is told at once.
    pub fn poll_answered(&mut self, cost: Duration) -> Duration {
        let wait = self.poll.answered(cost);
        let known = self.cost;
        let about_the_same = cost < known * 2 && known < cost * 2 || cost.abs_diff(known) < COST_STEP;
        let is_odd = known.is_zero() || !about_the_same;
        let is_told = known.is_zero() || self.cost_was_odd || self.poll.interval() >= HICCUP;
        if is_odd && is_told {
            self.cost = cost;
        }
        self.cost_was_odd = is_odd && !is_told;
        wait
    }

    /// Puts the next poll off until what was spent is paid for: until then it could not be followed by a count.
    pub fn put_off_poll(&mut self, now: Timestamp) {
        let paid = self.query_budget.next_poll(now);
        self.next_poll = self.next_poll.map(|due| due.max(paid));
    }

    /// When the poll that is due will be late: not while the source answers something else, as it does while it counts.
    pub fn late_at(&self) -> Option<Timestamp> {
        self.next_poll.map(|due| self.heard_at.map_or(due, |heard| due.max(heard)).after(LATE))
    }

    /// The database's clock at our `now`.
    pub fn server_now(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add(self.skew))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_polls_is_told_again_only_when_it_has_changed_for_good() {
        let mut live = LiveState::new(Duration::from_secs(1), LoadShare::DEFAULT);
        let mut told = |ms: u64| {
            live.poll_answered(Duration::from_millis(ms));
            live.cost.as_millis()
        };
        assert_eq!([8, 12, 17, 6, 1].map(&mut told), [8; 5]);
        assert_eq!([80, 3, 80, 9, 40].map(&mut told), [8; 5], "a hiccup is no news, as often as it comes alone");
        assert_eq!([80, 80, 60, 41].map(&mut told), [80; 4], "two in a row are");
        assert_eq!([40, 81, 2, 80, 2, 2].map(&mut told), [80, 80, 80, 80, 80, 2]);
        assert_eq!(told(111), 111, "the next poll is eleven seconds away");
        live.restart();
        live.poll_answered(Duration::from_millis(3));
        assert_eq!(live.cost, Duration::from_millis(3), "of another source nothing is known");
    }

    #[test]
    fn a_poll_that_waits_is_not_late_while_the_source_answers_something_else() {
        let mut live = LiveState::new(Duration::from_secs(1), LoadShare::DEFAULT);
        let at = |seconds: i64| Some(Timestamp(seconds * 1_000_000));
        live.next_poll = at(10);
        assert_eq!(live.late_at(), at(14));
        live.heard_at = at(30);
        assert_eq!(live.late_at(), at(34));
    }
}
