//! What can die in the demo, and of what: read from the data beside the code.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::random::{Random, Weighted};
use super::template::Template;

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

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 3] = [Phase::Steady, Phase::Outage, Phase::Search];
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
    job: Vec<RawJob>,
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
    pub args: Template,
}

/// An error of the shop.
#[derive(Debug)]
pub struct ErrorKind {
    /// Its class.
    pub class: String,
    /// How likely a replayed job dies of it once more.
    pub again: f64,
    messages: Vec<Template>,
    /// The jobs that die of it, by index, with the backtrace that each leaves.
    victims: Vec<(usize, Template)>,
    odds: Weighted,
}

impl ErrorKind {
    /// Draws a job that dies of it, with the backtrace it leaves.
    pub fn victim(&self, random: &mut Random) -> Option<(usize, &Template)> {
        let (job, trace) = self.victims.get(self.odds.draw(random)?)?;
        Some((*job, trace))
    }

    /// The backtrace that a job class leaves when it dies of it.
    pub fn trace_of(&self, job: usize) -> Option<&Template> {
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
pub struct Catalogue {
    /// Job classes.
    pub jobs: Vec<JobKind>,
    /// Errors; a request id ends in the index of one.
    pub errors: Vec<ErrorKind>,
    odds: [Weighted; 3],
}

impl Catalogue {
    /// Reads the data; `only` keeps one language, for layouts that belong to it.
    ///
    /// # Errors
    /// When the data beside the code is broken, which a test sees first.
    pub fn load(only: Option<Lang>) -> Result<Catalogue> {
        let wanted = |lang: Lang| only.is_none_or(|o| o == lang);
        let jobs: Vec<RawJob> = toml::from_str::<JobFile>(JOBS).context("the demo's jobs")?.job;
        let jobs: Vec<RawJob> = jobs.into_iter().filter(|j| wanted(j.lang)).collect();
        let raw: Vec<RawError> = toml::from_str::<ErrorFile>(ERRORS).context("the demo's errors")?.error;
        let raw: Vec<RawError> = raw.into_iter().filter(|e| wanted(e.lang)).collect();
        ensure!(raw.len() <= 256, "a request id has room for 256 errors");
        let odds = [
            Weighted::new(raw.iter().map(|e| e.steady)),
            Weighted::new(raw.iter().map(|e| e.outage)),
            Weighted::new(raw.iter().map(|e| e.search)),
        ];
        let errors = raw.into_iter().map(|e| error_kind(e, &jobs)).collect::<Result<_>>()?;
        let jobs = jobs
            .into_iter()
            .map(|j| JobKind { args: Template::parse(&j.args), class: j.class, queue: j.queue, lang: j.lang })
            .collect();
        Ok(Catalogue { jobs, errors, odds })
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

fn error_kind(raw: RawError, jobs: &[RawJob]) -> Result<ErrorKind> {
    let mut victims = Vec::new();
    let mut weights = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let named = raw.jobs.is_empty() || raw.jobs.iter().any(|start| job.class.starts_with(start));
        if job.lang == raw.lang && named {
            victims.push((index, Template::parse(&backtrace(raw.lang, &raw.frames, &job.frames))));
            weights.push(job.weight);
        }
    }
    ensure!(!victims.is_empty(), "no job of the demo dies of {}", raw.class);
    Ok(ErrorKind {
        messages: raw.messages.iter().map(|m| Template::parse(m)).collect(),
        class: raw.class,
        again: raw.again,
        odds: Weighted::new(weights),
        victims,
    })
}

/// A backtrace as its language prints it: what the library did, what the application did, what ran the job.
fn backtrace(lang: Lang, library: &[String], application: &[String]) -> String {
    let frames: Vec<&str> = library.iter().chain(application).map(String::as_str).collect();
    match lang {
        Lang::Ruby => [frames.as_slice(), RUBY_RUNTIME].concat().join("\n"),
        Lang::Python => {
            let frames = frames.iter().rev().map(|f| format!("  {}", f.replace('\n', "\n  ")));
            let runtime = PYTHON_RUNTIME.iter().map(|f| format!("  {}", f.replace('\n', "\n  ")));
            let lines: Vec<String> = runtime.chain(frames).collect();
            format!("Traceback (most recent call last):\n{}", lines.join("\n"))
        }
        Lang::Elixir => {
            let lines: Vec<String> = frames.iter().chain(ELIXIR_RUNTIME).map(|f| format!("    {f}")).collect();
            lines.join("\n")
        }
        Lang::Go => {
            format!("goroutine <100..9900> [running]:\n{}", [frames.as_slice(), GO_RUNTIME].concat().join("\n"))
        }
    }
}

const RUBY_RUNTIME: &[&str] = &[
    "/usr/local/bundle/gems/activejob-7.1.3.4/lib/active_job/execution.rb:68:in `block in _perform_job'",
    "/usr/local/bundle/gems/activesupport-7.1.3.4/lib/active_support/callbacks.rb:121:in `block in run_callbacks'",
    "/usr/local/bundle/gems/activejob-7.1.3.4/lib/active_job/execution.rb:51:in `perform_now'",
];
const PYTHON_RUNTIME: &[&str] = &[
    "File \"/usr/lib/python3.12/site-packages/celery/app/trace.py\", line 453, in trace_task\n    R = retval = fun(*args, **kwargs)",
];
const ELIXIR_RUNTIME: &[&str] = &[
    "(oban 2.17.12) lib/oban/queue/executor.ex:139: Oban.Queue.Executor.perform/1",
    "(elixir 1.16.3) lib/task/supervised.ex:101: Task.Supervised.invoke_mfa/2",
];
const GO_RUNTIME: &[&str] = &[
    "github.com/acme/worker.(*Pool).run.func1()\n\t/src/worker/pool.go:134 +0x8f",
    "created by github.com/acme/worker.(*Pool).run in goroutine 1\n\t/src/worker/pool.go:121 +0x15e",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole_and_every_job_carries_a_request_id() {
        let all = Catalogue::load(None).expect("the data beside the code");
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
        let ruby = Catalogue::load(Some(Lang::Ruby)).expect("the data beside the code");
        assert!(ruby.errors.len() > 12);
        for phase in Phase::ALL {
            assert!(ruby.draw(phase, &mut Random::new(1)) < ruby.errors.len());
        }
    }
}
