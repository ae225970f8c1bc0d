//! The shipped program as its user has it: on a terminal, and as a process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::baseline::Baseline;
use crate::fixtures::Layout;
use crate::ground::{Ground, Meter};
use crate::harness::Wire;
use crate::psql::Psql;
use crate::pty::{Pty, Screen};
use crate::sample::{Sample, ratio};
use crate::table::{Line, Table};

/// The program as it is shipped.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_dlq-tui");
const RUNS: usize = 9;
/// How long the console is watched when nobody touches it.
const IDLE: Duration = Duration::from_secs(10);
/// How long an answer takes from a database that is some hundred miles away.
const FAR: Duration = Duration::from_millis(20);
/// Moves of the cursor whose bytes are counted.
const MOVES: usize = 10;

fn console(url: &str) -> Pty {
    Pty::console(&[]).size(140, 45).env("DATABASE_URL", url).start()
}

/// Bars, and rows of the list: what an operator can decide on.
fn is_useful(screen: &Screen<'_>) -> bool {
    let is_bar = |row: &String| row.contains(['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█']);
    let is_job = |row: &String| row.split_whitespace().count() >= 4;
    screen.rows().iter().filter(|row| is_bar(row)).count() >= 3
        && screen.below("time UTC", 2).iter().filter(|row| is_job(row)).count() >= 5
}

/// From the start of the process to bars and rows on the screen, against psql that prints the page and no bars.
pub fn first_frame(databases: &[(u32, &str)], layout: Layout) -> Table {
    let mut table = Table::new("First useful frame; baseline: `psql -c` of the first page, process start included");
    let mut add = |what: String, url: &str, evidence: &str| {
        let theirs = Psql::new(url).process(&Baseline(layout).first_page(), RUNS);
        let frame = |_| {
            let began = Instant::now();
            let pty = console(url);
            pty.wait("bars and rows", is_useful);
            began.elapsed()
        };
        let ours: Sample = (0..RUNS).map(frame).collect();
        let line = Line::new(what, ours.told()).against(theirs.told(), ratio(ours.median(), theirs.median()));
        table.add(line.because(evidence));
    };
    for (rows, url) in databases {
        add(format!("{rows} rows"), url, "in an empty home, so making the ledger is part of it");
    }
    if let Some((rows, url)) = databases.last() {
        let wire = Wire::to(url, FAR);
        add(format!("{rows} rows, {} ms away", FAR.as_millis()), &wire.url, "round trips, and little else");
    }
    table
}

/// What a move of the cursor sends to the terminal, the job that it opens included.
fn bytes_of_a_move(pty: &mut Pty) -> usize {
    let before = pty.raw().len();
    for _ in 0..MOVES {
        pty.send("j");
        std::thread::sleep(Duration::from_millis(200));
    }
    (pty.raw().len() - before) / MOVES
}

/// Memory, what an open console asks of the database, and the size of things.
pub fn footprint(ground: &Ground, url: &str, rows: u32) -> Table {
    let mut table = Table::new("Footprint");
    let mut pty = console(url);
    pty.wait("bars and rows", is_useful);
    let settled = Instant::now() + IDLE;
    while Instant::now() < settled {
        std::thread::sleep(Duration::from_millis(100));
    }
    let meter = Meter::new(ground, url);
    meter.reset();
    let (cpu, wrote) = (cpu_time(pty.pid()), pty.raw().len());
    std::thread::sleep(IDLE);
    let (cpu, wrote) = (cpu_time(pty.pid()) - cpu, pty.raw().len() - wrote);
    let cost = meter.read();
    let seconds = IDLE.as_secs_f64();
    let memory = status(pty.pid());
    table.add(
        Line::new(format!("memory with {rows} rows open"), memory)
            .because(format!("{:.0} s after the first frame", 2.0 * seconds)),
    );
    table.add(
        Line::new(
            "an untouched console, per second",
            format!("{:.2} % of a core", cpu.as_secs_f64() / seconds * 100.0),
        )
        .because(format!(
            "{:.0} bytes to the terminal; database {:.2} ms, {:.0} buffers, {:.1} statements",
            wrote as f64 / seconds,
            cost.ms / seconds,
            cost.buffers as f64 / seconds,
            cost.statements as f64 / seconds
        )),
    );
    table.add(
        Line::new("a move of the cursor", format!("{} bytes", bytes_of_a_move(&mut pty)))
            .because("to the terminal at 140 x 45, the job that it opens included"),
    );
    let version = |_| {
        let began = Instant::now();
        let status = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "--version failed");
        began.elapsed()
    };
    let versions: Sample = (0..21).map(version).collect();
    table.add(Line::new("--version", versions.told()));
    let size = Path::new(PROGRAM).metadata().map_or(0, |meta| meta.len());
    table.add(Line::new("the program's file", format!("{:.1} MB", size as f64 / 1e6)).because("release profile"));
    table
}

/// Resident memory, now and at its height.
fn status(pid: u32) -> String {
    format!("{:.0} MB resident, {:.0} MB at the most", megabytes(pid, "VmRSS"), peak_memory(pid))
}

/// Resident memory at its height, in MB.
pub fn peak_memory(pid: u32) -> f64 {
    megabytes(pid, "VmHWM")
}

fn megabytes(pid: u32, key: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let kib: f64 = line.trim_matches([':', '\t', ' ']).split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}

/// Time on the processor so far, in hundredths of a second.
fn cpu_time(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> =
        text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
