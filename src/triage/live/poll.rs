//! How often the database is asked: in proportion to what asking costs it.

use std::time::Duration;

use crate::domain::load_share::LoadShare;
use crate::domain::time::Timestamp;
use crate::store::{HistogramStep, Token};

/// The longest interval of polls: one that comes more often must not cost more than its share.
const LONGEST: Duration = Duration::from_secs(600);
/// The least time between two counts in the background: where anything is written in a database, polls may find a change each
/// time.
pub(super) const BACKGROUND_REST: Duration = Duration::from_secs(60);
/// How long a count that failed rests at the least before it is begun again.
pub const FAILED_REST: Duration = Duration::from_secs(60);
/// How long polls may be put off for what they cost, for everything to be counted again with each that finds a change.
const PATIENCE: Duration = Duration::from_secs(5);
/// Waits after failures: the first, and the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// When the next poll is due.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    base: Duration,
    share: LoadShare,
    interval: Duration,
    failures: u32,
    /// What the last poll had cost when it was given up.
    given_up: Option<Duration>,
}

impl Poll {
    /// Polls every `base` (1 to 2 s by default) while that takes no more than half of `share`: the other half is for full
    /// counts.
    pub fn new(base: Duration, share: LoadShare) -> Self {
        Self { base, share, interval: base, failures: 0, given_up: None }
    }

    /// As it was in the beginning.
    pub fn restart(&mut self) {
        *self = Self::new(self.base, self.share);
    }

    /// A poll was answered and cost the database `cost`; returns how long to wait for the next.
    pub fn answered(&mut self, cost: Duration) -> Duration {
        (self.failures, self.given_up) = (0, None);
        self.interval = self.interval_after(cost);
        self.interval
    }

    /// The interval of polls that cost the database this.
    pub fn interval_after(&self, cost: Duration) -> Duration {
        let rest = self.share.rest_after(cost.saturating_mul(2));
        rest.max(self.base).min(LONGEST.max(self.base))
    }

    /// A poll got no answer and had cost `cost` by then; returns how long to wait for the next: four times as long each time,
    /// up to what its cost allows.
    pub fn give_up(&mut self, cost: Duration) -> Duration {
        self.given_up = Some(cost);
        let longest = self.interval_after(cost).max(LONGEST_RETRY);
        self.interval = self.interval.max(self.interval.saturating_mul(4).min(longest));
        self.interval
    }

    /// What the last poll had cost when it was given up; `None` where it was answered.
    pub fn given_up(&self) -> Option<Duration> {
        self.given_up
    }

    /// The database was not reached; returns how long to wait before the next try. `jitter` from 0 to 1 spreads the tries of many
    /// consoles over the second half of the wait.
    pub fn failed(&mut self, jitter: f64) -> Duration {
        let wait = FIRST_RETRY.saturating_mul(1 << self.failures.min(16)).min(LONGEST_RETRY);
        self.failures = self.failures.saturating_add(1);
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
        wait / 2 + (wait / 2).mul_f64(jitter)
    }

    /// The database was reached, whatever it answered.
    pub fn reached(&mut self) {
        self.failures = 0;
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The present interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }
}

/// What the watch has left to spend of the database's time.
///
/// It pays for polls, and for totals and full counts that nobody asked for: those in the background before each step, others
/// afterwards. What the operator asks for is not paid for, and to open a source is to ask for its counts: the debt of millions of
/// rows would keep full counts waiting for a quarter of an hour.
#[derive(Clone, Copy, Debug)]
pub struct QueryBudget {
    share: LoadShare,
    paid_at: Timestamp,
}

impl QueryBudget {
    /// A budget of this share.
    pub fn new(share: LoadShare) -> Self {
        Self { share, paid_at: Timestamp(i64::MIN) }
    }

    /// Forgets what was spent, as that of another database.
    pub fn empty(&mut self) {
        self.paid_at = Timestamp(i64::MIN);
    }

    /// Something that cost the database this time ended now.
    pub fn spend(&mut self, cost: Duration, now: Timestamp) {
        self.paid_at = self.paid_at.max(now).after(self.share.rest_after(cost));
    }

    /// How long something that costs this takes while nothing else is paid for, a step at a time.
    pub fn takes(&self, cost: Duration) -> Duration {
        self.share.rest_after(cost)
    }

    /// Whether something that costs this may be done with every poll that finds a change: polls are then put off until it is
    /// paid for, which is not for long.
    pub fn is_cheap(&self, cost: Duration) -> bool {
        self.takes(cost) <= PATIENCE
    }

    /// When the next poll may come that something is to be done with, at the earliest.
    pub fn next_poll(&self, now: Timestamp) -> Timestamp {
        self.paid_at.min(now.after(PATIENCE))
    }

    /// When something that cost this may come again by itself, for it to take no more than a quarter of the share: polls may
    /// take half, and there are recounts.
    pub fn again_at(&self, cost: Duration, now: Timestamp) -> Timestamp {
        now.after(self.share.rest_after(cost.saturating_mul(4)))
    }

    /// When all that was spent is paid for.
    pub fn paid_at(&self) -> Timestamp {
        self.paid_at
    }

    /// Whether it is now, so that something more may be begun.
    pub fn is_paid(&self, now: Timestamp) -> bool {
        self.paid_at <= now
    }
}

/// A full count that is made a step at a time: where it stands, and what counts cost the database.
#[derive(Clone, Debug, Default)]
pub struct FullCount {
    resume: Option<Token>,
    progress: Option<f32>,
    spent: Duration,
    last: Duration,
}

impl FullCount {
    /// One that was completed, and cost this.
    pub fn completed(cost: Duration) -> Self {
        Self { last: cost, ..Self::default() }
    }

    /// Begins again: nothing is left of one that is under way.
    pub fn begin(&mut self) {
        *self = Self::completed(self.last);
    }

    /// Takes in a step; returns whether it was the last one.
    pub fn take(&mut self, step: &HistogramStep) -> bool {
        (self.resume, self.progress) = (step.resume.clone(), step.histogram.progress);
        self.spent = self.spent.saturating_add(step.cost);
        let is_complete = self.resume.is_none();
        if is_complete {
            self.last = self.spent;
            self.begin();
        }
        is_complete
    }

    /// Where the one under way goes on.
    pub fn resume(&self) -> Option<&Token> {
        self.resume.as_ref()
    }

    /// How far the one under way has got, from 0 to 1.
    pub fn progress(&self) -> Option<f32> {
        self.progress
    }

    /// What the one under way has cost so far.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// What the last one cost that was completed.
    pub fn last_cost(&self) -> Duration {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn polls_take_no_more_than_half_of_the_share() {
        let mut poll = Poll::new(MS(1_000), LoadShare::DEFAULT);
        assert_eq!(poll.answered(MS(1)), MS(1_000));
        assert_eq!(poll.answered(MS(100)), MS(10_000));
        assert_eq!(poll.answered(MS(1_200)), MS(120_000), "as long as its cost asks for");
        assert_eq!(poll.answered(MS(100_000)), LONGEST);
        assert_eq!(poll.answered(MS(0)), MS(1_000));
    }

    #[test]
    fn polls_that_are_given_up_come_less_often_until_one_is_answered() {
        let mut poll = Poll::new(MS(1_000), LoadShare::DEFAULT);
        assert_eq!([(); 6].map(|()| poll.give_up(MS(2_000)).as_secs()), [4, 16, 64, 200, 200, 200]);
        assert_eq!(poll.given_up(), Some(MS(2_000)));
        assert_eq!((poll.answered(MS(1)), poll.given_up()), (MS(1_000), None));
        assert_eq!(
            [(); 4].map(|()| poll.give_up(MS(0)).as_secs()),
            [4, 16, 30, 30],
            "one that had to wait costs nothing"
        );
        poll.answered(MS(1_200));
        assert_eq!(poll.give_up(MS(0)), MS(120_000), "and none comes sooner for it");
    }

    #[test]
    fn what_was_spent_is_paid_for_before_more_is_begun() {
        let at = |ms: i64| Timestamp(ms * 1_000);
        let mut query_budget = QueryBudget::new(LoadShare::DEFAULT);
        assert!(query_budget.is_paid(at(0)));
        query_budget.spend(MS(150), at(0));
        query_budget.spend(MS(10), at(1_000));
        assert_eq!(
            (query_budget.paid_at(), query_budget.is_paid(at(7_999)), query_budget.is_paid(at(8_000))),
            (at(8_000), false, true)
        );
        assert_eq!(query_budget.again_at(MS(10), at(1_000)), at(3_000), "whatever else was spent");
        query_budget.spend(MS(10), at(60_000));
        assert_eq!(query_budget.paid_at(), at(60_500), "what was not spent is not saved up");
    }

    #[test]
    fn waits_after_failures_grow_to_their_limit_and_start_again_after_an_answer() {
        let mut poll = Poll::new(MS(1_000), LoadShare::DEFAULT);
        let waits: Vec<u64> = (0..8).map(|_| poll.failed(1.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        poll.answered(MS(1));
        assert_eq!(poll.failed(0.0), MS(500));
        for _ in 0..100 {
            poll.failed(f64::NAN);
        }
        assert_eq!(poll.failed(0.0), MS(15_000));
    }
}
