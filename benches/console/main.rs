//! Measures the console beside what it is measured against, in one run, and prints the ratios and which targets are reached.
//!
//! `scripts/bench --help` says how it is started. A target that is missed is a line of the report and no failure: machines
//! differ, and so do their neighbours. What fails is a part whose work was not done.

mod args;
mod baseline;
mod batch;
mod bench;
mod books;
mod client;
mod cohort;
mod contrast;
mod counts;
mod fingerprints;
mod footprint;
mod frames;
mod freeze;
mod ground;
mod keyboard;
mod leaving;
mod live;
mod machine;
mod million;
mod moves;
mod one_by_one;
mod pages;
mod peers;
mod process;
mod psql;
mod replay;
mod report;
mod rollout;
mod sample;
mod scans;
mod screen;
mod soak;
mod start;
mod steps;
mod stopwatch;
mod table;
mod workers;
mod writers;

#[allow(dead_code, unused_imports, reason = "shared with the tests, which use all of it")]
#[path = "../../tests/it/fixtures/mod.rs"]
mod fixtures;
#[allow(dead_code, unused_imports, reason = "shared with the tests, which use all of it")]
#[path = "../../tests/it/harness/mod.rs"]
mod harness;
#[allow(dead_code, unused_imports, reason = "shared with the tests, which use all of it")]
#[path = "../../tests/it/pty/mod.rs"]
mod pty;
#[allow(dead_code, unused_imports, reason = "shared with the tests, which use all of it")]
#[path = "../../tests/it/frameworks"]
mod frameworks {
    mod rows;
    pub mod shop;
}

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use dlq_tui::store::Budget;
use futures_util::FutureExt;

use args::Args;
use bench::Bench;
use cohort::Slices;
use fixtures::Layout;
use ground::{Copy, Ground};
use table::{Table, summary};

/// Parts that leave the database as it is, in the order in which they run.
const READING: [&str; 9] =
    ["start", "counts", "pages", "scans", "fingerprints", "contrast", "freeze", "leaving", "footprint"];
/// Parts that write to it, or need a server for more.
const WRITING: [&str; 10] =
    ["live", "replay", "batch", "workers", "rollout", "keyboard", "million", "soak", "indexes", "peers"];

fn main() -> ExitCode {
    let args = Args::parse().checked();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let Findings { machine, tables, left_out, broken } = runtime.block_on(measure(&args));
    if let Some(file) = &args.markdown {
        let page = report::markdown(&machine, &tables, &left_out);
        std::fs::write(file, page).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        println!("\nwritten to {}", file.display());
    }
    println!();
    summary(&tables).iter().chain(&left_out).for_each(|line| println!("{line}"));
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What came of a run.
#[derive(Default)]
struct Findings {
    machine: Vec<String>,
    tables: Vec<Table>,
    /// Parts that were not measured, each with the reason.
    left_out: Vec<String>,
    /// Whether a part of them broke.
    broken: bool,
}

/// Measures, and prints as it goes.
async fn measure(args: &Args) -> Findings {
    let rows = args.rows();
    let ground = Ground::start(args.engine(), args.layout, args.keep.as_deref());
    println!("filling {} with {rows} rows", args.layout.table());
    let began = Instant::now();
    let (few, many) = (ground.database("few", 10_000).await, ground.database("many", rows).await);
    let machine = machine::description(&many.url, args.layout, rows);
    machine.iter().for_each(|line| println!("  {line}"));
    println!("  there after {:.0} s", began.elapsed().as_secs_f64());
    let bench = Bench {
        ground: &ground,
        few: &few.url,
        many: &many.url,
        rows,
        small: args.small,
        tells_statements: args.statements,
        budget: Budget::new(Duration::from_secs(2)),
    };
    let mut findings = Findings { machine, ..Findings::default() };
    for part in READING.into_iter().filter(|part| args.wants(part)) {
        findings.tell(part, reading(part, &bench)).await;
    }
    if WRITING.into_iter().any(|part| args.wants(part) && part != "peers") {
        let copy = Copy::of(bench.many);
        let mut slices = Slices::of(rows);
        for part in WRITING.into_iter().filter(|part| args.wants(part) && *part != "peers") {
            findings.tell(part, writing(part, &bench, &copy.url, &mut slices)).await;
        }
    }
    if args.wants("peers") {
        findings.tell("peers", peers(&bench)).await;
    }
    findings
}

impl Findings {
    /// Does a part and prints what it found; one that breaks does not take the others along.
    async fn tell(&mut self, part: &str, work: impl Future<Output = Result<Table, String>>) {
        let began = Instant::now();
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(Ok(table)) => {
                print!("{}", table.plain());
                println!("  [{part}: {:.0} s]", began.elapsed().as_secs_f64());
                self.tables.push(table);
            }
            Ok(Err(reason)) => {
                println!("\n{part}: {reason}");
                self.left_out.push(format!("{part}: {reason}"));
            }
            Err(_) => {
                println!("\n{part}: broke; what it said stands above");
                self.left_out.push(format!("{part}: broke"));
                self.broken = true;
            }
        }
    }
}

async fn reading(part: &str, bench: &Bench<'_>) -> Result<Table, String> {
    Ok(match part {
        "start" => start::measure(bench),
        "counts" => counts::measure(bench).await,
        "pages" => pages::measure(bench).await,
        "scans" => scans::measure(bench).await,
        "fingerprints" => fingerprints::measure(bench).await,
        "contrast" => contrast::measure(bench),
        "freeze" => freeze::measure(bench),
        "leaving" => leaving::measure(bench)?,
        _ => footprint::measure(bench),
    })
}

async fn writing(part: &str, bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    match part {
        "live" => Ok(live::measure(bench, copy).await),
        "replay" => replay::measure(bench, copy, slices).await,
        "batch" => batch::measure(bench, copy, slices).await,
        "workers" if !bench.is_postgres() => Err("left out: the workers here are PostgreSQL's".to_owned()),
        "workers" if bench.ground.layout == Layout::DlqEvents => {
            Err("left out: this layout has no live table of its own".to_owned())
        }
        "workers" => workers::measure(bench, copy, slices).await,
        "rollout" => rollout::measure(bench).await,
        "keyboard" => Ok(keyboard::measure(bench, copy, slices)),
        "soak" => soak::measure(bench, copy),
        "indexes" => pages::with_indexes(bench, copy).await,
        _ => million::measure(bench, copy, slices),
    }
}

async fn peers(bench: &Bench<'_>) -> Result<Table, String> {
    if bench.small {
        return Err("left out of the small size: they come from npm and PyPI".to_owned());
    }
    if !bench.is_postgres() {
        return Err("left out: these frameworks are PostgreSQL's".to_owned());
    }
    Ok(peers::measure(bench).await)
}
