//! How often the database is asked: in proportion to what asking costs it.

use std::time::Duration;

/// Share of the database's time that watching may take: one part in fifty.
pub const DUTY: u32 = 50;
/// The longest interval of looks that are answered.
const LONGEST: Duration = Duration::from_secs(60);
/// Waits after failures: the first, and the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The least time between two full counts.
const RECONCILE: Duration = Duration::from_secs(3);

/// When the next look is due.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    base: Duration,
    interval: Duration,
    failures: u32,
}

impl Poll {
    /// Looks every `base` (1 to 2 s by default) while that is cheap.
    pub fn new(base: Duration) -> Self {
        Self { base, interval: base, failures: 0 }
    }

    /// A look was answered and cost the database `cost`; returns how long to wait for the next.
    pub fn answered(&mut self, cost: Duration) -> Duration {
        self.failures = 0;
        self.interval = cost.saturating_mul(DUTY).max(self.base).min(LONGEST.max(self.base));
        self.interval
    }

    /// A look failed; returns how long to wait before the next try. `jitter` from 0 to 1 spreads the tries of many
    /// consoles over the second half of the wait.
    pub fn failed(&mut self, jitter: f64) -> Duration {
        let wait = FIRST_RETRY.saturating_mul(1 << self.failures.min(16)).min(LONGEST_RETRY);
        self.failures = self.failures.saturating_add(1);
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
        wait / 2 + (wait / 2).mul_f64(jitter)
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The present interval of looks that are answered.
    pub fn interval(&self) -> Duration {
        self.interval
    }
}

/// How long after a full count that took `cost` the next one may start.
pub fn reconcile_after(cost: Duration) -> Duration {
    cost.saturating_mul(DUTY).max(RECONCILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn looks_take_no_more_than_a_fiftieth_of_the_database() {
        let mut poll = Poll::new(MS(1_000));
        assert_eq!(poll.answered(MS(1)), MS(1_000));
        assert_eq!(poll.answered(MS(100)), MS(5_000));
        assert_eq!(poll.answered(MS(100_000)), LONGEST);
        assert_eq!(poll.answered(MS(0)), MS(1_000));
    }

    #[test]
    fn waits_after_failures_grow_to_their_limit_and_start_again_after_an_answer() {
        let mut poll = Poll::new(MS(1_000));
        let waits: Vec<u64> = (0..8).map(|_| poll.failed(1.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        poll.answered(MS(1));
        assert_eq!(poll.failed(0.0), MS(500));
        for _ in 0..100 {
            poll.failed(f64::NAN);
        }
        assert_eq!(poll.failed(0.0), MS(15_000));
    }

    #[test]
    fn full_counts_keep_to_the_same_share() {
        assert_eq!(reconcile_after(MS(10)), MS(3_000));
        assert_eq!(reconcile_after(MS(700)), MS(35_000));
    }
}
