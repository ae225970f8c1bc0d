//! The yardstick: the same question put to `psql` by somebody who knows SQL.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sample::Sample;

/// `psql` on one database.
#[derive(Clone, Debug)]
pub struct Psql {
    program: PathBuf,
    url: String,
}

impl Psql {
    pub fn new(url: &str) -> Self {
        let own = crate::harness::postgres_programs().map(|folder| folder.join("psql"));
        let program = own.filter(|program| program.is_file()).unwrap_or_else(|| "psql".into());
        Self { program, url: url.to_owned() }
    }

    pub fn command(&self, statements: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-X", "-q", "-A", "-t", "-P", "pager=off", "-v", "ON_ERROR_STOP=1", "-d", &self.url]);
        for statement in statements {
            command.args(["-c", statement]);
        }
        command.env("PGTZ", "UTC").stdin(Stdio::null());
        command
    }

    /// What the statements print.
    pub fn print(&self, statements: &[&str]) -> String {
        let output = self.command(statements).output().unwrap_or_else(|e| panic!("psql: {e}"));
        assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// How long a statement takes in a session that is open, by `\timing`; after one run that is not counted.
    pub fn timing(&self, statement: &str, runs: usize) -> Sample {
        self.timing_in("select 1", statement, runs)
    }

    /// The same in a session that was first told something.
    pub fn timing_in(&self, setting: &str, statement: &str, runs: usize) -> Sample {
        let mut statements = vec![r"\o /dev/null", setting, statement, r"\timing on"];
        statements.extend(std::iter::repeat_n(statement, runs));
        timings(&self.print(&statements)).collect()
    }

    /// How long a statement takes the first time.
    pub fn first(&self, statement: &str) -> Duration {
        timings(&self.print(&[r"\o /dev/null", r"\timing on", statement])).next().unwrap_or_default()
    }

    /// Pages that the statement touched: the buffers of the plan's topmost node.
    pub fn buffers(&self, statement: &str) -> u64 {
        let plan = self.print(&[&format!("explain (analyze, buffers, timing off, costs off) {statement}")]);
        let line = plan.lines().find(|line| line.trim_start().starts_with("Buffers: shared")).unwrap_or_default();
        let number = |word: &str| {
            let after = line.split(word).nth(1).unwrap_or_default();
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().unwrap_or(0)
        };
        number("hit=") + number("read=")
    }
}

/// The times in what `\timing` prints: `Time: 1234.567 ms (00:01.235)`.
fn timings(printed: &str) -> impl Iterator<Item = Duration> {
    printed.lines().filter_map(|line| {
        let ms: f64 = line.strip_prefix("Time: ")?.split(' ').next()?.parse().ok()?;
        Some(Duration::from_secs_f64(ms / 1_000.0))
    })
}
