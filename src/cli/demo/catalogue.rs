//! What can die in the demo, and of what: read from the data next to the code.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::random::{Random, Weighted};
use super::template::DemoTemplate;

const JOBS: &str = include_str!("../../../assets/demo/jobs.toml");
const ERRORS: &str = include_str!("../../../assets/demo/errors.toml");

/// What the shop goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// An ordinary hour.
    Steady,
    /// The payment provider cannot be reached.
    Outage,
    /// The search cluster is down.
    Search,
}

/// The language that a job is written in: it decides what a backtrace looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// Frames innermost first.
    Ruby,
    /// Frames outermost first, under a heading, the error last.
    Python,
    /// Frames innermost first, under the error.
    Elixir,
    /// Frames innermost first, two lines each.
    Go,
}

#[derive(Deserialize)]
struct JobFile {
    runtime: Runtimes,
    job: Vec<RawJob>,
}

/// What runs the jobs of a language: the outermost frames, innermost of them first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runtimes {
    ruby: Vec<String>,
    python: Vec<String>,
    elixir: Vec<String>,
    go: Vec<String>,
}

impl Runtimes {
    fn of(&self, lang: Lang) -> &[String] {
        match lang {
            Lang::Ruby => &self.ruby,
            Lang::Python => &self.python,
            Lang::Elixir => &self.elixir,
            Lang::Go => &self.go,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    class: String,
    lang: Lang,
    queue: String,
    weight: u64,
    args: String,
    frames: Vec<String>,
}

#[derive(Deserialize)]
struct ErrorFile {
    error: Vec<RawError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawError {
    class: String,
    lang: Lang,
    #[serde(default)]
    steady: u64,
    #[serde(default)]
    outage: u64,
    #[serde(default)]
    search: u64,
    again: f64,
    #[serde(default)]
    jobs: Vec<String>,
    messages: Vec<String>,
    frames: Vec<String>,
}

/// A job class of the shop.
#[derive(Debug)]
pub struct JobKind {
    /// Its name.
    pub class: String,
    /// Its queue.
    pub queue: String,
    /// Its language.
    pub lang: Lang,
    /// The text of its arguments.
    pub args: DemoTemplate,
}

/// An error of the shop.
#[derive(Debug)]
pub struct ErrorKind {
    /// Its class.
    pub class: String,
    /// How likely a replayed job dies of it once more.
    pub again: f64,
    /// Whether it is of the outage: more frequent in it than on an ordinary day.
    pub is_of_outage: bool,
    messages: Vec<DemoTemplate>,
    /// The jobs that die of it, by index, with the backtrace that each leaves.
    victims: Vec<(usize, DemoTemplate)>,
    odds: Weighted,
}

impl ErrorKind {
    /// Draws a job that dies of it, with the backtrace it leaves.
    pub fn victim(&self, random: &mut Random) -> Option<(usize, &DemoTemplate)> {
        let (job, trace) = self.victims.get(self.odds.draw(random)?)?;
        Some((*job, trace))
    }

    /// The backtrace that a job class leaves when it dies of it.
    pub fn trace_of(&self, job: usize) -> Option<&DemoTemplate> {
        self.victims.iter().find(|(j, _)| *j == job).map(|(_, trace)| trace)
    }

    /// Draws a message.
    pub fn message(&self, random: &mut Random) -> String {
        let mut out = String::new();
        if let Some(template) = random.pick(&self.messages) {
            template.fill(random, "", &mut out);
        }
        out
    }
}

/// Everything that can die, and of what.
#[derive(Debug)]
pub struct FailureCatalogue {
    /// Job classes.
    pub jobs: Vec<JobKind>,
    /// Errors; a request id ends in the index of one.
    pub errors: Vec<ErrorKind>,
    odds: [Weighted; 3],
}

impl FailureCatalogue {
    /// Reads the data; `only` keeps one language, for layouts that belong to it.
    ///
    /// # Errors
    /// When the data next to the code is broken, which a test sees first.
    pub fn load(only: Option<Lang>) -> Result<FailureCatalogue> {
        let wanted = |lang: Lang| only.is_none_or(|o| o == lang);
        let JobFile { runtime, job } = toml::from_str(JOBS).context("the demo's jobs")?;
        let jobs: Vec<RawJob> = job.into_iter().filter(|j| wanted(j.lang)).collect();
        let raw: Vec<RawError> = toml::from_str::<ErrorFile>(ERRORS).context("the demo's errors")?.error;
        let raw: Vec<RawError> = raw.into_iter().filter(|e| wanted(e.lang)).collect();
        ensure!(raw.len() <= 256, "a request id has room for 256 errors");
        let odds = [
            Weighted::new(raw.iter().map(|e| e.steady)),
            Weighted::new(raw.iter().map(|e| e.outage)),
            Weighted::new(raw.iter().map(|e| e.search)),
        ];
        let errors = raw.into_iter().map(|e| error_kind(e, &jobs, &runtime)).collect::<Result<_>>()?;
        let jobs = jobs
            .into_iter()
            .map(|j| JobKind { args: DemoTemplate::parse(&j.args), class: j.class, queue: j.queue, lang: j.lang })
            .collect();
        Ok(FailureCatalogue { jobs, errors, odds })
    }

    /// Draws what dies next in a phase: the index of an error.
    pub fn draw(&self, phase: Phase, random: &mut Random) -> usize {
        let odds = match phase {
            Phase::Steady => &self.odds[0],
            Phase::Outage => &self.odds[1],
            Phase::Search => &self.odds[2],
        };
        odds.draw(random).or_else(|| self.odds[0].draw(random)).unwrap_or(0)
    }

    /// The index of a job class by its name.
    pub fn job(&self, class: &str) -> Option<usize> {
        self.jobs.iter().position(|j| j.class == class)
    }
}

fn error_kind(raw: RawError, jobs: &[RawJob], runtime: &Runtimes) -> Result<ErrorKind> {
    let mut victims = Vec::new();
    let mut weights = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let named = raw.jobs.is_empty() || raw.jobs.iter().any(|start| job.class.starts_with(start));
        if job.lang == raw.lang && named {
            let frames = raw.frames.iter().chain(&job.frames).chain(runtime.of(raw.lang));
            victims.push((index, DemoTemplate::parse(&backtrace(raw.lang, frames))));
            weights.push(job.weight);
        }
    }
    ensure!(!victims.is_empty(), "no job of the demo dies of {}", raw.class);
    Ok(ErrorKind {
        messages: raw.messages.iter().map(|m| DemoTemplate::parse(m)).collect(),
        class: raw.class,
        again: raw.again,
        is_of_outage: raw.outage > raw.steady,
        odds: Weighted::new(weights),
        victims,
    })
}

/// A backtrace as its language prints it, from its frames, the innermost first.
fn backtrace<'a>(lang: Lang, frames: impl DoubleEndedIterator<Item = &'a String>) -> String {
    let indented = |by: &str, frame: &String| format!("{by}{}", frame.replace('\n', &format!("\n{by}")));
    let lines = |frames: Vec<String>| frames.join("\n");
    match lang {
        Lang::Ruby => lines(frames.cloned().collect()),
        Lang::Python => {
            format!("Traceback (most recent call last):\n{}", lines(frames.rev().map(|f| indented("  ", f)).collect()))
        }
        Lang::Elixir => lines(frames.map(|f| indented("    ", f)).collect()),
        Lang::Go => format!("goroutine <100..9900> [running]:\n{}", lines(frames.cloned().collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole_and_every_job_carries_a_request_id() {
        let all = FailureCatalogue::load(None).expect("the data beside the code");
        assert!(all.errors.len() >= 40 && all.jobs.len() >= 28);
        let queues: std::collections::BTreeSet<_> = all.jobs.iter().map(|j| &j.queue).collect();
        assert_eq!(queues.len(), 8);
        let mut random = Random::new(3);
        for job in &all.jobs {
            let mut args = String::new();
            job.args.fill(&mut random, "0123456789ab07", &mut args);
            assert!(args.contains("req_0123456789ab07"), "{}", job.class);
            assert!(serde_json::from_str::<serde_json::Value>(&args).is_ok(), "{args}");
        }
        for error in &all.errors {
            assert!(error.victim(&mut random).is_some(), "{}", error.class);
        }
    }

    #[test]
    fn a_layout_of_one_language_still_has_a_story_in_every_phase() {
        let ruby = FailureCatalogue::load(Some(Lang::Ruby)).expect("the data beside the code");
        assert!(ruby.errors.len() > 12);
        for phase in [Phase::Steady, Phase::Outage, Phase::Search] {
            assert!(ruby.draw(phase, &mut Random::new(1)) < ruby.errors.len());
        }
    }
}
