//! The command line, through the shipped binary: what it prints, what it writes, and how it ends.

mod acts;
mod ask;
mod checks;
mod config;
mod contrast;
mod demo;
mod destinations;
mod drafts;
mod exports;
mod full;
mod logs;
mod marks;
mod monitors;
mod no_layout;
mod no_match;
mod outcomes;
mod output;
mod pages;
mod reads;
mod references;
mod repair;
mod rights;
mod rollout;
mod scripts;
mod secrets;
mod shared;
mod signals;
mod unreached;
mod validate;
mod words;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{TestDb, process};

/// A user of the binary: folders of their own, an environment that says nothing, and no terminal.
pub struct User {
    home: tempfile::TempDir,
    database_url: Option<String>,
}

/// How a command ended and what it printed.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl User {
    pub fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder"), database_url: None }
    }

    /// A user whose environment names a database.
    pub fn of(db: &TestDb) -> Self {
        Self::with_url(&db.url)
    }

    /// A user whose environment names a database by another way.
    pub fn with_url(url: &str) -> Self {
        Self { database_url: Some(url.to_owned()), ..Self::new() }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes the user's config.
    pub fn configured(self, text: &str) -> Self {
        let folder = self.home().join("config/dlq-tui");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.toml"), text).expect("a file");
        self
    }

    /// Gives the user an adapter of their own.
    pub fn with_adapter(self, file: &Path) -> Self {
        let folder = self.home().join("config/dlq-tui/adapters");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(file, folder.join("own.toml")).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self
    }

    pub fn command(&self, args: &[&str]) -> Command {
        process::default_signals_for_children();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlq-tui"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.home().join("config"))
            .env("XDG_STATE_HOME", self.home().join("state"))
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null());
        if let Some(url) = &self.database_url {
            command.env("DATABASE_URL", url);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().expect("the binary starts"))
    }

    /// Runs a command that reads a text from standard input. It is in a session without a terminal, also where the tests have one.
    pub fn fed(&self, args: &[&str], text: &str) -> Ended {
        let binary = env!("CARGO_BIN_EXE_dlq-tui");
        let mut command = Command::new("setsid");
        command.args(["-w", binary]).args(args).env_clear();
        for (name, value) in self.command(&[]).get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("setsid starts the binary");
        // A command that refuses its words reads nothing.
        let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
        Ended::from(child.wait_with_output().expect("the binary ends"))
    }

    /// A replay of all jobs that has begun to commit, with its receipt as JSON on its standard output.
    pub async fn replaying(&self, db: &TestDb, more: &[&str]) -> Child {
        let mut command = self.command(&["replay", "--all", "--yes", "-o", "json"]);
        let command = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the binary starts");
        let began = Instant::now();
        while db.count("jobs").await == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "the run never began");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child
    }

    /// What a command prints as JSON; it must end well.
    pub fn json(&self, args: &[&str]) -> Value {
        let ended = self.run(args);
        assert_eq!(ended.code, 0, "{args:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.out))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the binary prints UTF-8");
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ended {
    /// Asserts the code; returns standard error for a look at what was said.
    #[track_caller]
    pub fn with(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        &self.err
    }
}
