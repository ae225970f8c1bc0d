//! How long an operator who wants to leave is kept by a server that says nothing.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::harness::Wire;
use crate::pty::Pty;
use crate::sample::{Sample, told};
use crate::table::{Line, Table};

/// What an operator takes for at once.
const AT_ONCE: Duration = Duration::from_millis(200);
/// Deadlines that are not what ends a program here.
const CONFIG: &str = "[timeouts]\nconnect = \"1m\"\nstatement = \"1m\"\n";
/// Answers after which the server falls silent, at the most.
const MOMENTS: usize = 12;
/// How long the next question is waited for; a program that has seen all that it wants asks none.
const PATIENCE: Duration = Duration::from_secs(4);
const DRAWING: Duration = Duration::from_millis(50);

const PROGRAMS: [(&str, &[&str]); 5] = [
    ("the console", &[]),
    ("stats", &["stats"]),
    ("list, a pattern", &["list", "-f", "msg:/nowhere/"]),
    ("a plan for all jobs", &["replay", "--all", "--dry-run"]),
    ("doctor", &["doctor"]),
];

/// Presses Ctrl-C after each answer in turn, with the server silent from there on, until the program has ended.
pub fn measure(bench: &Bench<'_>) -> Result<Table, String> {
    if !bench.is_postgres() {
        return Err("left out: the wire that falls silent is PostgreSQL's".to_owned());
    }
    let mut table = Table::new("Ctrl-C while the server says nothing; until the process has ended");
    for (what, args) in PROGRAMS {
        let times: Sample = (0..MOMENTS).map_while(|answers| interrupted(bench.few, args, answers)).collect();
        let line = Line::new(what, format!("{} / {}", told(times.median()), told(times.longest())))
            .aim(format!("within {}", told(AT_ONCE)), !times.is_empty() && times.longest() <= AT_ONCE)
            .because(format!("median / longest of {} moments: after the first answers of the server", times.len()));
        table.add(line);
    }
    Ok(table)
}

/// How long the program lives on that waits for what comes after so many answers; nothing where it asks no more.
fn interrupted(url: &str, args: &[&str], answers: usize) -> Option<Duration> {
    let wire = Wire::until(url, answers);
    let mut pty = Pty::console(args).file(".config/dlq-tui/config.toml", CONFIG).env("DATABASE_URL", &wire.url).start();
    let began = Instant::now();
    while wire.said().len() <= answers {
        if pty.has_ended() || began.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // What is drawn behind the question is on its way to the screen.
    std::thread::sleep(DRAWING);
    let mut pressed = Instant::now();
    pty.send("<C-c>");
    // It may cancel what is being counted: the console says so, and the next one leaves.
    pty.seen_within(PATIENCE * 4, |screen| screen.contains("cancelled"));
    let answered = pressed.elapsed();
    if pty.has_ended() {
        return Some(answered);
    }
    pressed = Instant::now();
    pty.send("<C-c>");
    pty.ends_within(PATIENCE * 4);
    Some(answered.max(pressed.elapsed()))
}
