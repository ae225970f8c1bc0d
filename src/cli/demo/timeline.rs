//! The two days that the demo tells: ordinary failures, an evening without search, and the payments outage that is
//! still going on.

use std::time::Duration;

use super::catalogue::{FailureCatalogue, Lang, Phase};
use super::random::Random;
use super::template::{hex, uuid};
use crate::domain::time::Timestamp;

const HOUR: i64 = 3_600_000_000;

/// How likely a replayed job dies again of an error of the outage, while that goes on.
const DIES_IN_OUTAGE: f64 = 0.85;
/// How long the outage goes on where nobody replays anything.
const OUTAGE: Duration = Duration::from_secs(15 * 60);
/// How long it goes on from the first replayed job that it has killed.
const LAST_OF_OUTAGE: Duration = Duration::from_secs(30);

/// A job that has died.
#[derive(Clone, Debug)]
pub struct SimulatedDeath {
    /// Number of the job in the live queue.
    pub original: i64,
    /// The framework's id of it.
    pub job_id: String,
    /// Job class.
    pub class: String,
    /// Queue.
    pub queue: String,
    /// Arguments as JSON text.
    pub args: String,
    /// Attempts made.
    pub attempts: i64,
    /// Error class.
    pub error: String,
    /// Error message.
    pub message: String,
    /// Backtrace as its language prints it.
    pub backtrace: String,
    /// Host and process.
    pub worker: String,
    /// When.
    pub at: Timestamp,
}

/// Tells deaths, the same for the same seed.
#[derive(Debug)]
pub struct Story {
    catalogue: FailureCatalogue,
    random: Random,
    next_original: i64,
    /// When the outage ends, where replayed jobs die of it.
    outage_ends: Option<Timestamp>,
}

/// Attempts that a job gets before it is dead.
pub const MAX_ATTEMPTS: i64 = 5;

impl Story {
    /// A story out of a catalogue.
    pub fn new(catalogue: FailureCatalogue, seed: u64) -> Self {
        Self { catalogue, random: Random::new(seed), next_original: 840_000, outage_ends: None }
    }

    /// The same with an outage from which replayed jobs die too. It ends by itself: after a while, and soon after it has
    /// killed the first of them.
    pub fn in_outage(self, now: Timestamp) -> Self {
        Self { outage_ends: Some(now.after(OUTAGE)), ..self }
    }

    /// Whether the outage that replayed jobs die of goes on.
    fn is_in_outage(&self, now: Timestamp) -> bool {
        self.outage_ends.is_some_and(|end| now < end)
    }

    /// When `count` jobs died before `now`, oldest first, and what the shop went through then. The newest died within
    /// the last seconds.
    pub fn timeline(&mut self, count: usize, now: Timestamp) -> Vec<(Timestamp, Phase)> {
        let mut times: Vec<(Timestamp, Phase)> = (0..count).map(|i| self.moment(i, now)).collect();
        times.sort_unstable_by_key(|(at, _)| *at);
        times
    }

    fn moment(&mut self, i: usize, now: Timestamp) -> (Timestamp, Phase) {
        let u = self.random.fraction();
        let (ago, phase) = match self.random.below(100) {
            // The first few are the last seconds of the outage, however few rows there are.
            _ if i < 4 => (u * 8e6, Phase::Outage),
            0..=29 => (self.by_day(u), Phase::Steady),
            30..=39 => (31.0 * HOUR as f64 - self.in_bursts(u, 1.1 * HOUR as f64), Phase::Search),
            // The outage: from three hours ago on, thicker towards the present.
            _ => ((1.0 - u.sqrt()) * 2.9 * HOUR as f64 + self.random.fraction() * 9e6, Phase::Outage),
        };
        (Timestamp(now.0.saturating_sub(ago as i64)), phase)
    }

    /// An ordinary moment of the two days: half as many at night as at noon.
    fn by_day(&mut self, u: f64) -> f64 {
        let span = 47.5 * HOUR as f64;
        let at = u * span;
        let wave = 0.75 + 0.25 * (at / (24.0 * HOUR as f64) * std::f64::consts::TAU).cos();
        if self.random.fraction() < wave { at } else { self.random.fraction() * span }
    }

    /// A moment within `span`, drawn towards the start of one of a few bursts.
    fn in_bursts(&mut self, u: f64, span: f64) -> f64 {
        let burst = self.random.below(6) as f64 / 6.0;
        (burst + u * u / 6.0) * span
    }

    /// A death at a moment of a phase.
    pub fn death(&mut self, phase: Phase, at: Timestamp) -> SimulatedDeath {
        let error = self.catalogue.draw(phase, &mut self.random);
        let victim = self.catalogue.errors[error].victim(&mut self.random).map_or(0, |(job, _)| job);
        let mut reference = String::with_capacity(14);
        hex(12, &mut self.random, &mut reference);
        // The request id ends in the error that the job dies of, so that a replayed job can die of the same.
        reference.push_str(&format!("{error:02x}"));
        let mut args = String::with_capacity(320);
        let job = &self.catalogue.jobs[victim];
        job.args.fill(&mut self.random, &reference, &mut args);
        let (class, queue) = (job.class.clone(), job.queue.clone());
        self.next_original += 1 + self.random.below(3) as i64;
        self.die(QueuedJob { original: self.next_original, class, queue, args }, victim, error, at)
    }

    fn die(&mut self, body: QueuedJob, job: usize, error: usize, at: Timestamp) -> SimulatedDeath {
        let kind = &self.catalogue.errors[error];
        let message = kind.message(&mut self.random);
        let mut backtrace = String::with_capacity(900);
        let lang = self.catalogue.jobs[job].lang;
        if lang == Lang::Elixir {
            backtrace.push_str(&format!("** ({}) {message}\n", kind.class));
        }
        if let Some(trace) = kind.trace_of(job) {
            trace.fill(&mut self.random, "", &mut backtrace);
        }
        if lang == Lang::Python {
            backtrace.push_str(&format!("\n{}: {message}", kind.class));
        }
        let host = match lang {
            Lang::Ruby => "web-worker",
            Lang::Python => "ledger",
            Lang::Elixir => "shop",
            Lang::Go => "svc",
        };
        SimulatedDeath {
            original: body.original,
            job_id: uuid(&mut self.random).to_string(),
            class: body.class,
            queue: body.queue,
            args: body.args,
            attempts: if self.random.below(9) == 0 { 1 } else { MAX_ATTEMPTS },
            error: kind.class.clone(),
            message,
            backtrace,
            worker: format!("{host}-{}:{}", 1 + self.random.below(6), 100 + self.random.below(40)),
            at,
        }
    }

    /// What becomes of a replayed job: `None` when it succeeds, the death when it dies of the same error once more.
    /// A job that did not come from this story succeeds.
    pub fn rerun(&mut self, body: QueuedJob, at: Timestamp) -> Option<SimulatedDeath> {
        let error = error_of(&body.args).filter(|e| *e < self.catalogue.errors.len())?;
        let job = self.catalogue.job(&body.class)?;
        let kind = &self.catalogue.errors[error];
        let is_of_outage = kind.is_of_outage && self.is_in_outage(at);
        let again = match (is_of_outage, kind.is_of_outage && self.outage_ends.is_some()) {
            (true, _) => kind.again.max(DIES_IN_OUTAGE),
            // The story goes on with a canary that succeeds.
            (false, true) => 0.0,
            (false, false) => kind.again,
        };
        if self.random.fraction() >= again {
            return None;
        }
        if is_of_outage {
            self.outage_ends = self.outage_ends.map(|end| end.min(at.after(LAST_OF_OUTAGE)));
        }
        let mut death = self.die(body, job, error, at);
        death.attempts = MAX_ATTEMPTS;
        Some(death)
    }

    /// How long until the next deaths, and how many they are: bursts with pauses, about two a second in the mean.
    pub fn next_burst(&mut self, now: Timestamp) -> (Duration, usize) {
        let pause = Duration::from_millis(250 + self.random.below(1_300));
        // An ordinary day has fewer.
        let is_over = self.outage_ends.is_some() && !self.is_in_outage(now);
        let pause = if is_over { pause * 6 } else { pause };
        let deaths = if self.random.below(12) == 0 { 4 + self.random.below(7) } else { 1 + self.random.below(2) };
        (pause, deaths as usize)
    }

    /// The phase of a death that happens now: the outage, while it goes on, among ordinary failures.
    pub fn present(&mut self, now: Timestamp) -> Phase {
        let is_over = self.outage_ends.is_some() && !self.is_in_outage(now);
        if is_over || self.random.below(4) == 0 { Phase::Steady } else { Phase::Outage }
    }

    /// How long the toy worker takes over a job.
    pub fn work_time(&mut self) -> Duration {
        Duration::from_millis(30 + self.random.below(220))
    }
}

/// A live job: what the toy worker finds in its queue.
#[derive(Clone, Debug)]
pub struct QueuedJob {
    /// Number of the job in the live queue.
    pub original: i64,
    /// Job class.
    pub class: String,
    /// Queue.
    pub queue: String,
    /// Arguments as JSON text.
    pub args: String,
}

/// The error that a job's request id ends in.
fn error_of(args: &str) -> Option<usize> {
    let id =
        args.split("req_").find(|part| part.len() >= 14 && part.as_bytes()[..14].iter().all(u8::is_ascii_hexdigit))?;
    usize::from_str_radix(id.get(12..14)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(seed: u64) -> Story {
        Story::new(FailureCatalogue::load(None).expect("the data beside the code"), seed)
    }

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

    #[test]
    fn the_same_seed_tells_the_same_story() {
        let tell = |seed| {
            let mut story = story(seed);
            let times = story.timeline(50, NOW);
            times.into_iter().map(|(at, phase)| format!("{:?}", story.death(phase, at))).collect::<Vec<_>>()
        };
        assert_eq!(tell(5), tell(5));
        assert_ne!(tell(5), tell(6));
    }

    #[test]
    fn the_newest_death_is_seconds_old_and_the_oldest_two_days() {
        let times = story(1).timeline(3_000, NOW);
        assert!(times.is_sorted_by_key(|(at, _)| *at));
        let (first, last) = (times[0].0, times[times.len() - 1].0);
        assert!(last.age(NOW) < Duration::from_secs(10), "{last}");
        assert!((40 * 3_600..48 * 3_600).contains(&first.age(NOW).as_secs()), "{first}");
    }

    #[test]
    fn a_replayed_job_dies_of_the_same_error_or_not_at_all() {
        let mut story = story(2);
        let (mut again, mut done) = (0, 0);
        for _ in 0..400 {
            let death = story.death(Phase::Outage, NOW);
            let body =
                QueuedJob { original: 1, class: death.class.clone(), queue: death.queue.clone(), args: death.args };
            match story.rerun(body, NOW) {
                Some(second) => {
                    assert_eq!((&second.error, &second.class), (&death.error, &death.class));
                    again += 1;
                }
                None => done += 1,
            }
        }
        assert!(again > 10 && done > 3 * again, "{again} again, {done} done");
    }

    #[test]
    fn an_outage_kills_replayed_jobs_and_ends_soon_after_the_first_of_them() {
        let mut story = story(3).in_outage(NOW);
        let again = |story: &mut Story, at: Timestamp| {
            let death = (0..).map(|_| story.death(Phase::Outage, at)).find(|death| death.error == "Net::ReadTimeout");
            let death = death.expect("one of them");
            let body = QueuedJob { original: 1, class: death.class, queue: death.queue, args: death.args };
            story.rerun(body, at).is_some()
        };
        let later = NOW.after(Duration::from_secs(60));
        assert!((0..50).filter(|_| again(&mut story, NOW)).count() > 30, "the outage goes on");
        assert!((0..50).filter(|_| again(&mut story, later)).count() == 0, "it is over");
        assert!((0..50).all(|_| matches!(story.present(later), Phase::Steady)));
        let mut idle = super::tests::story(3).in_outage(NOW);
        assert!((0..50).any(|_| matches!(idle.present(later), Phase::Outage)), "nobody has tried anything");
    }

    #[test]
    fn a_job_from_elsewhere_succeeds() {
        let body =
            QueuedJob { original: 1, class: "Elsewhere".into(), queue: "q".into(), args: "{\"a\":\"req_ü\"}".into() };
        assert!(story(1).rerun(body, NOW).is_none());
    }
}
