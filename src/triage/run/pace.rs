//! How large the next batch is, when it may start, and how fast the run goes: pure, with the time handed in.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::effort::CostModel;
use crate::domain::time::Timestamp;

/// Jobs of the smallest batch: below it a transaction's own cost is nearly all there is, and says nothing of the jobs.
const LEAST: usize = 20;
/// Jobs of the second batch. The first is of the least: all that is kept of a batch is in memory at a time, and a row may be
/// ten megabytes long, which shows in the time that it takes.
const SECOND: usize = 200;
/// What the first may take, most of which may be a transaction's own cost, so that the second is larger.
const HEAVY: Duration = Duration::from_millis(500);
/// What a batch should take: locks of the source's other writers wait no longer.
const TARGET: Duration = Duration::from_millis(45);
/// What it may take where a transaction of any size takes long: smaller ones would only be more of them.
const MOST: Duration = Duration::from_millis(200);
/// How far back the rate looks.
const WINDOW: Duration = Duration::from_secs(10);

/// The size of batches, adapted to what they took.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize {
    size: usize,
    max: usize,
    fixed: bool,
    first: bool,
    /// Whether the next batch is a smaller one, to tell what a transaction takes by itself: batches of one size never do.
    is_probe: bool,
    /// What [`BatchSize::get`] said until the last batch was taken in: one under way behind another was cut by that.
    earlier: usize,
    effort: CostModel,
}

impl BatchSize {
    /// Adapts up to `max` jobs.
    pub(super) fn adaptive(max: usize) -> Self {
        if max > LEAST { Self::new(LEAST, max, false) } else { Self::fixed(max) }
    }

    /// Always `size` jobs: what a destination outside the database takes says nothing of the database.
    pub(super) fn fixed(size: usize) -> Self {
        Self::new(size.max(1), size.max(1), true)
    }

    fn new(size: usize, max: usize, fixed: bool) -> Self {
        Self { size, max, fixed, first: true, is_probe: false, earlier: size, effort: CostModel::default() }
    }

    /// Jobs of the next batch.
    pub(super) fn get(self) -> usize {
        if self.is_probe { self.size * 3 / 5 } else { self.size }
    }

    /// Takes in that a batch of `jobs` took `elapsed`.
    pub(super) fn took(&mut self, jobs: usize, elapsed: Duration) {
        let is_short = jobs < self.get().min(self.earlier);
        // The last batch, or one that a rate made smaller, cannot say that there is room for more; that there is less it can.
        if self.fixed || (is_short && elapsed <= TARGET) {
            return;
        }
        self.effort.add(jobs as f64, elapsed);
        self.earlier = self.get();
        let is_first = std::mem::take(&mut self.first);
        self.size = if is_first && !is_short && elapsed < HEAVY {
            SECOND.min(self.max)
        } else {
            // What is near its size grows in small steps: a hiccup looks like a transaction that costs much of its own, of
            // which there ought to be fewer.
            let growth = if elapsed * 2 < TARGET { 2.0 } else { 1.25 };
            let (size, jobs) = (self.size as f64, jobs as f64);
            let most = if is_short { size } else { size.max(jobs * growth) };
            let next = best(self.effort).clamp(size.min(jobs) / 2.0, most);
            (next.round() as usize).clamp(LEAST, self.max)
        };
        // Where there is room for more and no more is allowed, nothing follows from what it would tell.
        let matters = elapsed > TARGET || (elapsed * 2 > TARGET && self.size < self.max);
        self.is_probe = !is_first && matters && !self.effort.tells();
    }
}

/// Jobs of a batch that takes what it should; more where most of that would be the transaction itself, as long as that is
/// no patience of others'.
fn best(effort: CostModel) -> f64 {
    let (own, target) = (effort.own(), TARGET.as_secs_f64());
    // Over a long line a transaction takes longer than that whatever is in it.
    let most = MOST.as_secs_f64().max(own + target);
    ((3.0 * own).clamp(target, most) - own) / effort.each()
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
    pub(super) fn settled(&mut self, jobs: u64, now: Instant) {
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

    /// Goes through `n` batches, each of which is cut before the one in front of it has told what it took, as where two
    /// are under way; `time` says what jobs take. Returns the jobs of each.
    fn go_through(n: u64, size: &mut BatchSize, mut time: impl FnMut(u64, usize) -> Duration) -> Vec<usize> {
        let (mut front, mut sizes) = (size.get(), Vec::new());
        for n in 0..n {
            let behind = size.get();
            size.took(front, time(n, front));
            sizes.push(front);
            front = behind;
        }
        sizes
    }

    /// The size after many batches, of which each takes `own` and `each` for every job, in microseconds.
    fn settled(own: u64, each: u64, noise: impl Fn(u64) -> u64) -> usize {
        let mut size = BatchSize::adaptive(10_000);
        go_through(100, &mut size, |n, jobs| Duration::from_micros((own + each * jobs as u64) * noise(n) / 100));
        size.size
    }

    #[test]
    fn batches_grow_while_they_are_quick_and_shrink_when_they_are_slow() {
        let mut size = BatchSize::adaptive(1_000);
        assert_eq!(size.get(), LEAST);
        size.took(LEAST, MS(5));
        assert_eq!(size.get(), SECOND);
        size.took(SECOND, MS(5));
        assert_eq!(size.get(), 2 * SECOND);
        for _ in 0..30 {
            size.took(size.get(), MS(4_000));
        }
        assert_eq!(size.get(), LEAST, "others wait for a database that is ill, at first");
        for _ in 0..60 {
            size.took(size.get(), MS(0));
        }
        assert_eq!(size.get(), 1_000);
        assert_eq!(BatchSize::adaptive(5).get(), 5);
    }

    #[test]
    fn rows_of_megabytes_are_never_tried_in_hundreds() {
        let mut size = BatchSize::adaptive(1_000);
        for _ in 0..30 {
            size.took(size.get(), MS(100 * size.get() as u64));
            assert!(size.get() <= LEAST);
        }
    }

    #[test]
    fn a_batch_comes_to_take_what_it_should_whatever_its_parts_cost() {
        for (own, each) in [(0, 100), (5_000, 80), (15_000, 300), (2_000, 20)] {
            let took = own + each * settled(own, each, |_| 100) as u64;
            assert!((41_000..=52_000).contains(&took), "{own} and {each} each: {took}");
        }
        // Now and then one takes five times as long, and all of them differ by a third.
        let uneven = |n: u64| if n % 11 == 7 { 500 } else { 85 + n * 37 % 30 };
        let took = 5_000 + 80 * settled(5_000, 80, uneven) as u64;
        assert!((25_000..=75_000).contains(&took), "{took}");
    }

    #[test]
    fn a_hiccup_makes_no_batch_much_larger_than_those_before() {
        let mut size = BatchSize::adaptive(10_000);
        let mut most = 0.0f64;
        for n in 0..200 {
            let (before, jobs) = (size.size, size.get());
            // A few in a row take half as long again, whatever their size.
            let hiccup = if n % 40 > 36 { 25_000 } else { 0 };
            size.took(jobs, Duration::from_micros(45 * jobs as u64 + hiccup));
            if n > 20 {
                most = most.max(size.size as f64 / before as f64);
            }
        }
        assert!(most < 1.3, "{most:.2} times as many");
    }

    /// Jobs and seconds of the batches of some runs in which a transaction takes `own` seconds and each job `each` more, more or
    /// less: with noise that lasts, so that a batch is slow where the one before was.
    fn noisy(own: f64, each: f64) -> Vec<(usize, f64)> {
        let mut took = Vec::new();
        for run in 0..20_u64 {
            let mut size = BatchSize::adaptive(2_000);
            // A generator of its own, so that it is the same noise each time.
            let (mut state, mut slow) = (run * 7_919 + 1, 0.0);
            let mut noise = || {
                let mut sum = 0.0;
                for _ in 0..12 {
                    state = (state * 1_103_515_245 + 12_345) % (1 << 31);
                    sum += state as f64 / f64::from(1 << 30) - 1.0;
                }
                sum / 2.0
            };
            go_through(250, &mut size, |n, jobs| {
                slow = 0.7 * slow + 0.15 * noise();
                // The first pages come from the disk, and now and then it is busy.
                let disk = if n < 3 || n % 97 == 50 { 0.06 } else { 0.0 };
                let time = (own + each * jobs as f64) * f64::exp(slow + 0.12 * noise()) + disk;
                took.push((jobs, time));
                Duration::from_secs_f64(time)
            });
        }
        took
    }

    #[test]
    fn slow_seconds_do_not_pass_for_a_transaction_that_takes_long_by_itself() {
        let mut took: Vec<f64> = noisy(0.003, 0.000_12).iter().map(|(_, time)| *time).collect();
        took.sort_by(f64::total_cmp);
        let share = |share: f64| took[(took.len() as f64 * share) as usize] / TARGET.as_secs_f64();
        assert!((0.9..1.1).contains(&share(0.5)), "{:.2} times what it should take", share(0.5));
        assert!(share(0.99) < 2.5, "one in a hundred takes {:.2} times what it should", share(0.99));
    }

    #[test]
    fn a_transaction_that_takes_long_by_itself_is_found_out_through_noise() {
        for (own, each) in [(0.04, 0.000_2), (0.06, 0.000_1)] {
            let took = noisy(own, each);
            let rate =
                took.iter().map(|(jobs, _)| *jobs as f64).sum::<f64>() / took.iter().map(|(_, time)| time).sum::<f64>();
            // As many as take twice what a transaction does by itself.
            let wanted = 2.0 / 3.0 / each;
            assert!(rate > 0.6 * wanted, "{rate:.0} jobs a second where there might be {wanted:.0}: {own}");
        }
    }

    #[test]
    fn a_batch_is_not_made_so_small_that_nearly_all_of_it_is_the_transaction_itself() {
        let size = settled(40_000, 200, |_| 100) as u64;
        assert!((40_000 + 200 * size) > 3 * 36_000, "{size} jobs for a transaction that takes 40 ms by itself");
        assert!((40_000 + 200 * size) <= 210_000, "{size}");
    }

    #[test]
    fn a_size_that_has_shrunk_grows_again_however_small_the_gain() {
        for took in [43, 44, 60, 190, 300, 800] {
            let mut size = BatchSize::adaptive(1_000);
            go_through(20, &mut size, |_, _| MS(4_000));
            assert!(size.get() <= LEAST);
            go_through(300, &mut size, |_, _| MS(took));
            assert!(size.size > 4 * LEAST, "{took} ms whatever the size: {}", size.size);
        }
        // A lock held up the first; each job takes a tenth of a millisecond, and the transaction most of what a batch should.
        let mut size = BatchSize::adaptive(1_000);
        go_through(
            300,
            &mut size,
            |n, jobs| if n == 0 { MS(800) } else { Duration::from_micros(40_000 + 100 * jobs as u64) },
        );
        assert!(size.size > 600, "{} jobs where 800 take as long as the transaction does twice", size.size);
    }

    #[test]
    fn what_jobs_take_is_not_found_out_by_batches_that_hold_others_up() {
        for each in 5..=12 {
            let mut size = BatchSize::adaptive(1_000);
            let sizes = go_through(200, &mut size, |_, jobs| MS(each * jobs as u64));
            // The second may be larger, as the first was quick.
            assert!(sizes[10..].iter().all(|jobs| *jobs <= LEAST), "{each} ms each: {sizes:?}");
        }
    }

    #[test]
    fn a_batch_that_was_not_full_says_nothing_of_the_size() {
        let mut size = BatchSize::adaptive(1_000);
        size.took(3, MS(1));
        assert_eq!(size.get(), LEAST);
        size.took(LEAST, MS(5));
        size.took(SECOND / 2, MS(5));
        assert_eq!(size.get(), SECOND);
        // As a rate cuts them: but that it takes too long counts.
        for _ in 0..20 {
            let jobs = size.get().min(SECOND / 2);
            size.took(jobs, MS(5 * jobs as u64));
        }
        assert!(size.get() < SECOND / 4, "{} jobs that take 5 ms each", size.get());
        // That there ought to be larger ones it does not say either, however long a transaction takes by itself.
        let mut size = BatchSize::adaptive(1_000);
        for n in 0..200 {
            let mut other = size;
            other.took(size.get().min(size.earlier) - 1, MS(60));
            assert!(other.size <= size.size, "{n}: {} jobs, then {}", size.size, other.size);
            size.took(size.get(), MS(60));
        }
    }

    #[test]
    fn a_rate_makes_no_batch_larger_and_does_not_hide_that_jobs_take_long() {
        let mut size = BatchSize::adaptive(1_000);
        size.took(LEAST / 2, MS(100));
        assert_eq!(size.size, LEAST, "the first was cut");
        let mut size = BatchSize::adaptive(1_000);
        size.took(LEAST, MS(400));
        size.took(SECOND, MS(45));
        size.took(50, MS(1_000));
        assert!(size.size <= 50, "{} after 50 that took a second", size.size);
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
            meter.settled(if second > 15 { 100 } else { 1 }, t + MS(second * 1_000));
        }
        let now = t + MS(30_000);
        assert!((meter.rate(now) - 100.0).abs() < 1.0, "{}", meter.rate(now));
        assert_eq!(meter.eta(1_000, now).map(|eta| eta.as_secs()), Some(10));
    }
}
