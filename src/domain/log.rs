//! What a log may say: all of it stands here, and takes nothing but numbers and words of our own.
//!
//! Whoever listens gets events named after what happened, with a target that nothing else has: what libraries tell holds
//! statements with values in them, and is never listened to. Without a listener an event costs one check of a flag.

use std::time::Duration;

use tracing::{Level, event};

/// The target of our events.
pub const TARGET: &str = "dlq_tui";

/// A frame that takes longer than this is reported: the time that a screen of 60 Hz has for one.
pub const SLOW_FRAME: Duration = Duration::from_millis(16);

fn ms(took: Duration) -> f64 {
    // To the microsecond, as nobody measures more here.
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// An id of a run or the name of a command, where it is made of what ours are made of.
fn id(text: &str) -> &str {
    let is_ours = text.len() <= 40 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_ours { text } else { "?" }
}

/// The program begins with a command.
pub fn began(version: &'static str, command: &str) {
    event!(name: "start", target: TARGET, Level::INFO, version, command = id(command), process = std::process::id());
}

/// It ends, with the code that the shell sees.
pub fn ended(code: u8, took: Duration) {
    event!(name: "end", target: TARGET, Level::INFO, code, ms = ms(took));
}

/// A connection was made, or could not be: then with the kind of fault.
pub fn connected(database: &'static str, fault: Option<&'static str>, took: Duration) {
    match fault {
        None => event!(name: "connect", target: TARGET, Level::INFO, database, ms = ms(took)),
        Some(fault) => event!(name: "connect", target: TARGET, Level::WARN, database, fault, ms = ms(took)),
    }
}

/// A connection had died while it was idle, and a new one takes its place.
pub fn reconnecting(database: &'static str) {
    event!(name: "reconnect", target: TARGET, Level::WARN, database);
}

/// A reading transaction: how many statements, and how many rows they had together.
pub fn read(statements: usize, rows: Result<usize, &'static str>, took: Duration) {
    match rows {
        Ok(rows) => event!(name: "read", target: TARGET, Level::DEBUG, statements, rows, ms = ms(took)),
        Err(fault) => event!(name: "read", target: TARGET, Level::WARN, statements, fault, ms = ms(took)),
    }
}

/// A call to a store, by its name: how many rows or jobs came of it.
pub fn call(call: &'static str, rows: Result<usize, &'static str>, took: Duration) {
    match rows {
        Ok(rows) => event!(name: "call", target: TARGET, Level::INFO, call, rows, ms = ms(took)),
        Err(fault) => event!(name: "call", target: TARGET, Level::WARN, call, fault, ms = ms(took)),
    }
}

/// A frame took longer than [`SLOW_FRAME`] to draw, or the terminal to take.
pub fn frame(step: &'static str, took: Duration) {
    if took > SLOW_FRAME {
        event!(name: "frame", target: TARGET, Level::WARN, step, ms = ms(took));
    }
}

/// A run is executed from here on.
pub fn run_began(run: &str, verb: &'static str, planned: u64) {
    event!(name: "run.begin", target: TARGET, Level::INFO, run = id(run), verb, planned);
}

/// A batch of a run is on record.
pub fn batch(run: &str, batch: i64, jobs: usize, done: usize) {
    event!(name: "run.batch", target: TARGET, Level::INFO, run = id(run), batch, jobs, done);
}

/// A run ends, for now or for good.
pub fn run_ended(run: &str, state: &'static str, done: u64, left: u64, took: Duration) {
    event!(name: "run.end", target: TARGET, Level::INFO, run = id(run), state, done, left, ms = ms(took));
}

/// A run breaks off, as its record cannot be kept or it cannot be executed here.
pub fn run_broke(run: &str, fault: &'static str) {
    event!(name: "run.break", target: TARGET, Level::ERROR, run = id(run), fault);
}

/// A fault of ours; its report is in a file of its own.
pub fn panicked() {
    event!(name: "panic", target: TARGET, Level::ERROR, fault = "the program has a fault");
}
