//! Moving row by row: by a script, as people write one, and by a program that sends the same and does nothing else.
//!
//! The script is what is to be beaten; it runs where Python and the database's driver are there. The program needs nothing, and
//! tells what is left of a script's time in a quicker language.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::client::Client;
use crate::harness::Engine;
use crate::moves::RowByRow;
use crate::sample::{median, times};
use crate::table::Line;

/// Where the script is.
const SCRIPT: &str = "benches/console/row_by_row.py";
/// Debian's own: its packages of drivers are for that one.
const PYTHON: &str = "/usr/bin/python3";

/// What the script talks to a database by.
fn driver(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "psycopg",
        Engine::Mysql => "pymysql",
        Engine::Sqlite => "sqlite3",
    }
}

/// Rows a second of those that go one by one, run by run; or why there was none.
#[derive(Default)]
pub struct OneByOne {
    pub scripted: Vec<Result<f64, String>>,
    pub programmed: Vec<Result<f64, String>>,
}

impl OneByOne {
    /// Each beside our `run` and the move as one statement, `whole`, both in rows a second; ours as it is `told`.
    pub fn lines(&self, run: f64, told: &str, whole: f64) -> [Line; 2] {
        let line = |what: &str, runs: &[Result<f64, String>], how: &str| {
            let line = Line::new(what, told);
            match runs.iter().cloned().collect::<Result<Vec<f64>, String>>() {
                Ok(rates) => {
                    let rate = median(rates.into_iter());
                    let because = format!(
                        "{how}: {:.2} ms a row; against it the one statement is {}",
                        1_000.0 / rate.max(1e-9),
                        times(whole, rate)
                    );
                    (line.against(format!("{rate:.0} rows/s"), times(run, rate)).because(because), Some(rate))
                }
                Err(reason) => (line.because(reason), None),
            }
        };
        let (script, rate) = line(
            "the run, against a script that moves row by row",
            &self.scripted,
            "in Python: each row is read, moved and committed, on a connection that is open",
        );
        let (program, other) = line(
            "the run, against a program that only sends the same",
            &self.programmed,
            "in Rust, the statements written out before, and nothing made of the answers",
        );
        // Where the script cannot be run, the program stands for it.
        let aimed = |line: Line, rate: f64| line.aim("at least 20x", run >= rate * 20.0);
        match (rate, other) {
            (Some(rate), _) => [aimed(script, rate), program],
            (None, Some(rate)) => [script, aimed(program, rate)],
            (None, None) => [script, program],
        }
    }
}

/// How long the script takes for these rows, once it is connected.
///
/// # Errors
/// A sentence where it cannot be run on this machine.
pub fn by_script(client: &Client, moves: &RowByRow, keys: &[&str]) -> Result<Duration, String> {
    let driver = driver(client.engine());
    let has_driver = Command::new(PYTHON).args(["-c", &format!("import {driver}")]).stderr(Stdio::null()).status();
    if !has_driver.is_ok_and(|status| status.success()) {
        return Err(format!("left out: needs {PYTHON} with {driver} (Debian: apt-get install python3-{driver})"));
    }
    let mut script = Command::new(PYTHON)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{PYTHON}: {e}"));
    let asked = json!({ "url": client.url(), "read": moves.read, "moves": moves.moves, "keys": keys });
    script.stdin.take().expect("piped").write_all(asked.to_string().as_bytes()).expect("it reads");
    let output = script.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{SCRIPT}: {}", output.status);
    let seconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds");
    Ok(Duration::from_secs_f64(seconds))
}

/// How long the same statements take from this process, which makes nothing of the answers.
///
/// # Errors
/// None: it goes wherever the bench does.
pub fn by_program(client: &Client, moves: &RowByRow, keys: &[&str]) -> Result<Duration, String> {
    let statements: Vec<String> = keys.iter().flat_map(|key| moves.in_transaction(key)).collect();
    Ok(client.once(&statements))
}
