//! The program that drives a library.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

pub use crate::frameworks::shop::{folder, marker_in};
use crate::frameworks::shop::{installed_in, switched_on};
use crate::harness::RedisServer;

/// Generous, because it only bounds how long a worker that never comes to an end takes to be noticed.
const LONGEST: Duration = Duration::from_secs(180);

/// `redis.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// With its version, for messages.
    title: String,
    /// `npm` or `pypi`.
    runtime: String,
    /// Where its program is, if not in `program.*` beside the file.
    program: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The adapter that is meant for it.
    #[allow(dead_code, reason = "says what the file is for")]
    adapter: String,
    pub queue: String,
    /// The key of its dead set.
    dead: String,
    /// The kinds of jobs that its program knows.
    kinds: Vec<String>,
    /// Kinds of which something else is kept than what the job threw.
    #[serde(default)]
    pub odd: BTreeSet<String>,
    #[serde(default = "yes")]
    pub has_retry: bool,
    /// Keys, or fields of hashes, in which a replay differs from its own retry on purpose, each with the reason.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
    #[serde(skip)]
    name: String,
}

fn yes() -> bool {
    true
}

impl Library {
    /// The library, ready to run; nothing where these tests are switched off. What cannot be installed fails the test.
    pub fn installed(name: &str) -> Option<Self> {
        switched_on().then_some(())?;
        let file = folder().join(name).join("redis.toml");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let read: Self = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        Some(Self { name: name.to_owned(), ..read })
    }

    /// The program's command line, without verb.
    fn command(&self) -> Command {
        let installed = installed_in(&self.runtime).unwrap_or_else(|reason| panic!("{reason}"));
        let path = |suffix: &str| self.program.clone().unwrap_or_else(|| format!("{}/program.{suffix}", self.name));
        if self.runtime == "npm" {
            let mut command = Command::new(installed.join("node"));
            command.args(["--preserve-symlinks", "--preserve-symlinks-main"]);
            command.arg(installed.join("programs").join(path("mjs")));
            return command;
        }
        let mut command = Command::new(installed.join("venv/bin/python"));
        command.arg("-B").arg(folder().join(path("py"))).env("PYTHONPATH", folder().join("pypi"));
        command
    }
}

/// What a worker said of one attempt.
#[derive(Clone, Debug, Deserialize)]
pub struct Ran {
    #[serde(rename = "ran")]
    pub marker: String,
    pub kind: String,
    pub ok: bool,
    /// The class of what it threw, where it has one.
    pub class: Option<String>,
    pub message: Option<String>,
}

/// A library with a server of its own.
pub struct Workshop {
    pub library: Library,
    pub server: RedisServer,
}

impl fmt::Display for Workshop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.library.title)
    }
}

impl Workshop {
    /// Puts in a job of each kind, with markers that hold this word. Their markers.
    pub async fn enqueue(&self, word: &str) -> Vec<String> {
        let jobs: Vec<String> = self.library.kinds.iter().map(|kind| format!("{kind}/mk-{word}-{kind}-end")).collect();
        assert_eq!(self.run("enqueue", &jobs).await.len(), jobs.len(), "{self}");
        jobs
    }

    /// Lets its worker work until nothing is left that may run. Says each attempt.
    pub async fn work(&self, is_failing: bool) -> Vec<Ran> {
        let failing = ["failing".to_owned()];
        let said = self.run("work", if is_failing { &failing } else { &[] }).await;
        said.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{self}: {e}: {line}"))).collect()
    }

    /// The ids of its dead jobs.
    pub fn dead(&self) -> Vec<String> {
        let answer = self.server.command(&["ZRANGE", &self.library.dead, "0", "-1"]);
        let mut ids: Vec<String> = answer.texts().into_iter().map(str::to_owned).collect();
        ids.sort();
        ids
    }

    /// Runs the program; each line that it prints is an answer.
    pub async fn run(&self, verb: &str, words: &[String]) -> Vec<String> {
        let home = tempfile::tempdir().expect("a folder");
        let mut command = self.library.command();
        command.arg(verb).args(words);
        command.env("HOME", home.path()).env("LC_ALL", "C.UTF-8").env("DATABASE_URL", self.server.url());
        // Workers live where nobody expects them to: what is not kept in UTC shows.
        command.env("TZ", "Asia/Kathmandu").envs(&self.library.env);
        let mut command = tokio::process::Command::from(command);
        let output = tokio::time::timeout(LONGEST, command.stdin(Stdio::null()).kill_on_drop(true).output()).await;
        let output = output.unwrap_or_else(|_| panic!("{self}: {verb} does not end")).expect("the program starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{self}: {verb} {words:?} failed: {out}\n{err}");
        out.lines().map(str::to_owned).collect()
    }
}
