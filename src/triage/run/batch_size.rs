//! How large the next batch is, when it may start, and how fast the run goes: pure, with the time handed in.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::time::Timestamp;

/// Jobs of the smallest batch: below it a transaction's own cost is nearly all there is.
const LEAST: usize = 20;
/// Jobs of the second batch. The first is of the least: all that is kept of a batch is in memory at a time, and a row may be
/// ten megabytes long, which shows in the time that it takes.
const SECOND: usize = 200;
/// What the first may take for that, most of which may be a transaction's own cost.
const HEAVY: Duration = Duration::from_millis(500);
/// What the jobs of a batch take when the next may have twice as many: that is under a tenth of a second, for which other
/// writers can wait.
const GROW_BELOW: Duration = Duration::from_millis(50);
/// What they take when the next must have half as many.
const SHRINK_ABOVE: Duration = Duration::from_millis(200);
/// How far back the rate looks.
const WINDOW: Duration = Duration::from_secs(10);

/// The size of batches: doubles while they are quick, halves when they are slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize {
    size: usize,
    least: usize,
    max: usize,
    /// What the quickest batch took: the round trips and the commit, which a smaller batch would not save.
    overhead: Duration,
}

impl BatchSize {
    /// Adapts up to `max` jobs.
    pub(super) fn adaptive(max: usize) -> Self {
        Self { size: LEAST.min(max).max(1), least: LEAST.min(max).max(1), max: max.max(1), overhead: Duration::MAX }
    }

    /// Always `size` jobs: what a destination outside the database takes says nothing of the database.
    pub(super) fn fixed(size: usize) -> Self {
        Self { size: size.max(1), least: size.max(1), max: size.max(1), overhead: Duration::MAX }
    }

    /// Jobs of the next batch.
    pub(super) fn get(self) -> usize {
        self.size
    }

    /// Takes in that a batch of `jobs` took `elapsed`.
    pub(super) fn took(&mut self, jobs: usize, elapsed: Duration) {
        let is_first = self.overhead == Duration::MAX;
        self.overhead = self.overhead.min(elapsed);
        let took = elapsed - self.overhead;
        // The last batch, or one that a rate made smaller, cannot say that there is room for more.
        let is_full = jobs >= self.size;
        let next = if took > SHRINK_ABOVE {
            jobs.min(self.size) / 2
        } else if is_first && is_full && elapsed < HEAVY {
            SECOND
        } else if is_full && took < GROW_BELOW {
            self.size * 2
        } else {
            return;
        };
        self.size = next.clamp(self.least, self.max);
    }
}

/// When the next batch may start so that a run keeps to a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateLimit {
    rate: Option<f64>,
    free_at: Option<Instant>,
}

impl RateLimit {
    /// Keeps to `rate` jobs a second, where one is given.
    pub(super) fn new(rate: Option<f64>) -> Self {
        Self { rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0), free_at: None }
    }

    /// Keeps to another rate from now on.
    pub(super) fn set(&mut self, rate: Option<f64>) {
        self.rate = Self::new(rate).rate;
    }

    /// The jobs a second that it keeps to.
    pub(super) fn get(self) -> Option<f64> {
        self.rate
    }

    /// The most jobs that a batch may have: one second's worth.
    pub(super) fn cap(self, size: usize) -> usize {
        self.rate.map_or(size, |rate| size.min((rate.ceil() as usize).max(1)))
    }

    /// How long the next batch has to wait.
    pub(super) fn wait(self, now: Instant) -> Duration {
        self.free_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Takes in that `jobs` were started at `now`. Time that was lost is not made up for in a burst.
    pub(super) fn started(&mut self, jobs: usize, now: Instant) {
        if let Some(rate) = self.rate {
            let span = Duration::try_from_secs_f64(jobs as f64 / rate).unwrap_or(Duration::from_secs(3_600));
            self.free_at = Some(self.free_at.unwrap_or(now).max(now) + span);
        }
    }
}

/// When each batch of replayed jobs may run, so that they are spread over a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    from: Timestamp,
    over: Duration,
    planned: u64,
}

/// Batches over which jobs are spread at the most: a batch of one job each is slow.
const SLOTS: u32 = 5_000;

impl Spread {
    /// Spreads `planned` jobs over a time from `from` on.
    pub(super) fn new(from: Timestamp, over: Duration, planned: u64) -> Self {
        Self { from, over, planned: planned.max(1) }
    }

    /// The time that one batch stands for: a second, or more where there are many.
    fn slot(self) -> Duration {
        (self.over / SLOTS).max(Duration::from_secs(1)).min(self.over)
    }

    /// The most jobs that a batch may have: a slot's worth.
    pub(super) fn cap(self) -> usize {
        let share = self.slot().as_secs_f64() / self.over.as_secs_f64().max(1e-6);
        ((self.planned as f64 * share).ceil() as usize).max(1)
    }

    /// As it is, or begun later where the time of the job after the first `reached` has passed: a run that was stopped for
    /// a while goes on at its pace, and does not hand over at once what it is behind with.
    pub(super) fn going_on(self, reached: u64, now: Timestamp) -> Self {
        let passed = self.over.mul_f64(self.share(reached)).as_micros();
        let late = now.0.saturating_sub(i64::try_from(passed).unwrap_or(i64::MAX));
        Self { from: Timestamp(self.from.0.max(late)), ..self }
    }

    fn share(self, reached: u64) -> f64 {
        (reached as f64 / self.planned as f64).clamp(0.0, 1.0)
    }

    /// The number of the slot of the job that follows the first `reached`.
    pub(super) fn slot_of(self, reached: u64) -> u64 {
        (self.over.mul_f64(self.share(reached)).as_secs_f64() / self.slot().as_secs_f64().max(1e-6)) as u64
    }

    /// When the jobs that follow the first `reached` may run; `jitter` from 0 to 1 places them within their slot.
    pub(super) fn due(self, reached: u64, jitter: f64) -> Timestamp {
        self.from.after(self.over.mul_f64(self.share(reached)) + self.slot().mul_f64(jitter.clamp(0.0, 1.0)))
    }

    /// Jobs a second that spread as much where only the replay itself can be timed.
    pub(super) fn rate(self) -> f64 {
        self.planned as f64 / self.over.as_secs_f64().max(1e-6)
    }
}

/// Jobs a second over the last batches.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    since: Instant,
    batches: VecDeque<(Instant, u64)>,
}

impl Meter {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, batches: VecDeque::new() }
    }

    /// Takes in that `jobs` were settled at `now`.
    pub(super) fn completed(&mut self, jobs: u64, now: Instant) {
        self.batches.push_back((now, jobs));
        while self.batches.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > WINDOW) {
            if let Some((at, _)) = self.batches.pop_front() {
                self.since = at;
            }
        }
    }

    /// Jobs a second.
    pub(super) fn rate(&self, now: Instant) -> f64 {
        let jobs: u64 = self.batches.iter().map(|(_, jobs)| jobs).sum();
        let span = now.saturating_duration_since(self.since).as_secs_f64();
        if span > 0.0 { jobs as f64 / span } else { 0.0 }
    }

    /// How long `jobs` more take at this rate; `None` while it cannot be told.
    pub(super) fn eta(&self, jobs: u64, now: Instant) -> Option<Duration> {
        let rate = self.rate(now);
        if rate <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(jobs as f64 / rate).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// The sizes of `n` batches of which each takes what `time` says of its jobs.
    fn sizes(n: usize, max: usize, time: impl Fn(usize) -> Duration) -> Vec<usize> {
        let mut size = BatchSize::adaptive(max);
        let next = |_| {
            let jobs = size.get();
            size.took(jobs, time(jobs));
            jobs
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn batches_grow_while_they_are_quick_and_shrink_when_they_are_slow() {
        let mut size = BatchSize::adaptive(1_000);
        assert_eq!(size.get(), LEAST);
        size.took(LEAST, MS(5));
        assert_eq!(size.get(), SECOND);
        size.took(SECOND, MS(20));
        assert_eq!(size.get(), 2 * SECOND);
        size.took(2 * SECOND, MS(80));
        assert_eq!(size.get(), 2 * SECOND, "twice as many would hold others up");
        size.took(2 * SECOND, MS(300));
        assert_eq!(size.get(), SECOND);
        for _ in 0..30 {
            size.took(size.get(), MS(4_000));
        }
        assert_eq!(size.get(), LEAST, "others wait for a database that is ill");
        for _ in 0..30 {
            size.took(size.get(), MS(1));
        }
        assert_eq!(size.get(), 1_000);
        assert_eq!(BatchSize::adaptive(5).get(), 5);
    }

    #[test]
    fn a_batch_takes_under_a_tenth_of_a_second_beyond_what_a_transaction_takes_by_itself() {
        for (own, each) in [(0, 100), (5_000, 80), (15_000, 300), (2_000, 30), (300_000, 100)] {
            let time = |jobs: usize| Duration::from_micros(own + each * jobs as u64);
            let last = sizes(50, 10_000, time)[49];
            let took = time(last) - Duration::from_micros(own);
            assert!((MS(45)..MS(110)).contains(&took), "{own} and {each} each: {last} jobs take {took:?}");
        }
    }

    #[test]
    fn rows_of_megabytes_are_never_tried_in_hundreds() {
        assert!(sizes(30, 1_000, |jobs| MS(100 * jobs as u64)).iter().all(|jobs| *jobs <= 2 * LEAST));
    }

    #[test]
    fn over_a_long_line_batches_are_as_large_as_elsewhere() {
        // A transaction is a dozen round trips, whatever is in it.
        let last = sizes(30, 2_000, |jobs| MS(1_500) + Duration::from_micros(40 * jobs as u64))[29];
        assert!(last >= 1_000, "{last} jobs in a second and a half");
    }

    #[test]
    fn a_batch_that_was_not_full_says_only_that_it_took_too_long() {
        let mut size = BatchSize::adaptive(1_000);
        size.took(3, MS(1));
        assert_eq!(size.get(), LEAST);
        size.took(LEAST, MS(5));
        let before = size.get();
        size.took(before / 2, MS(5));
        assert_eq!(size.get(), before);
        size.took(before / 2, MS(1_000));
        assert!(
            size.get() <= before / 4 || size.get() == LEAST,
            "{} after {} that took a second",
            size.get(),
            before / 2
        );
    }

    #[test]
    fn a_fixed_size_stays() {
        let mut size = BatchSize::fixed(200);
        for took in [1, 9_000, 1] {
            size.took(200, MS(took));
            assert_eq!(size.get(), 200);
        }
    }

    #[test]
    fn a_rate_spaces_batches_and_does_not_catch_up_in_a_burst() {
        let t = Instant::now();
        let mut pace = RateLimit::new(Some(100.0));
        assert_eq!((pace.cap(500), pace.wait(t)), (100, Duration::ZERO));
        pace.started(50, t);
        assert_eq!(pace.wait(t), MS(500));
        assert_eq!(pace.wait(t + MS(200)), MS(300));
        pace.started(50, t + MS(9_000));
        assert_eq!(pace.wait(t + MS(9_000)), MS(500));
        assert_eq!(RateLimit::new(Some(0.0)).cap(500), 500);
    }

    #[test]
    fn jobs_are_spread_evenly_from_the_start_to_the_end() {
        let spread = Spread::new(Timestamp(0), Duration::from_secs(1_800), 900_000);
        assert_eq!(spread.cap(), 500, "a second's worth");
        let due = |reached, jitter| spread.due(reached, jitter).0 / 1_000;
        assert_eq!((due(0, 0.0), due(450_000, 0.0), due(900_000, 0.0)), (0, 900_000, 1_800_000));
        assert_eq!(due(450_000, 0.5), 900_500, "half a slot later");
        assert_eq!(due(2_000_000, 9.0), 1_801_000, "nothing is due after the last slot");
        assert_eq!(spread.rate(), 500.0);
        let few = Spread::new(Timestamp(0), Duration::from_secs(86_400), 10);
        assert_eq!(few.cap(), 1);
    }

    #[test]
    fn a_spread_that_was_stopped_goes_on_at_its_pace() {
        let spread = Spread::new(Timestamp(0), Duration::from_secs(600), 600);
        let due = |spread: Spread, reached| spread.due(reached, 0.0).0 / 1_000_000;
        let in_time = spread.going_on(300, Timestamp(200_000_000));
        assert_eq!((due(in_time, 300), due(in_time, 500)), (300, 500));
        let late = spread.going_on(300, Timestamp(7_200_000_000));
        assert_eq!((due(late, 300), due(late, 500)), (7_200, 7_400));
        assert_eq!((spread.slot_of(0), spread.slot_of(299), spread.slot_of(900)), (0, 299, 600));
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let t = Instant::now();
        let mut meter = Meter::new(t);
        assert_eq!(meter.eta(10, t), None);
        for second in 1..=30 {
            meter.completed(if second > 15 { 100 } else { 1 }, t + MS(second * 1_000));
        }
        let now = t + MS(30_000);
        assert!((meter.rate(now) - 100.0).abs() < 1.0, "{}", meter.rate(now));
        assert_eq!(meter.eta(1_000, now).map(|eta| eta.as_secs()), Some(10));
    }
}
