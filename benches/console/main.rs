//! Measures the console beside what it is measured against, in one run, and prints the ratios.
//!
//! `scripts/bench --help` says how it is started. Nothing here asserts a time: machines differ, and so do their
//! neighbours. What is asserted is that the work was done.

mod baseline;
mod batch;
mod counts;
mod freeze;
mod ground;
mod machine;
mod pages;
mod program;
mod psql;
mod replay;
mod sample;
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

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use dlq_tui::store::Budget;

use fixtures::Layout;
use ground::Ground;
use table::Table;

/// Measures dlq-tui on a PostgreSQL of its own and prints its figures beside those of psql.
#[derive(Debug, Parser)]
#[command(name = "scripts/bench")]
struct Args {
    /// Rows in the table of the dead: 20000, 500k, 1M, 10M.
    #[arg(long, default_value = "1M", value_parser = count)]
    rows: u32,
    /// The database; PostgreSQL is the only one so far.
    #[arg(long, default_value = "postgres", value_parser = ["postgres"])]
    db: String,
    /// The layout: dead_letter_jobs, dlq_events or jobs_dlq.
    #[arg(long, default_value = "dead_letter_jobs", value_parser = layout)]
    layout: Layout,
    /// 20,000 rows and one run of the slow things: shows that the bench works, not how fast anything is.
    #[arg(long)]
    small: bool,
    /// Leaves parts out: frames, pages, counts, freeze, replay, batch, workers, footprint.
    #[arg(long, value_delimiter = ',')]
    skip: Vec<String>,
    /// Prints the statements behind each figure, the dearest first.
    #[arg(long)]
    statements: bool,
    /// Also writes the report as a page of the documentation.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// What `cargo bench` passes along.
    #[arg(long, hide = true)]
    bench: bool,
}

fn count(text: &str) -> Result<u32, String> {
    let (digits, factor) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1_000),
        Some('m' | 'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: u32 = digits.parse().map_err(|_| format!("{text} is no number of rows"))?;
    number.checked_mul(factor).filter(|rows| *rows >= 1_000).ok_or_else(|| "between 1000 and 4000M".to_owned())
}

fn layout(name: &str) -> Result<Layout, String> {
    let known = || Layout::ALL.map(Layout::table).join(", ");
    Layout::ALL.into_iter().find(|layout| layout.table() == name).ok_or_else(|| format!("one of {}", known()))
}

fn main() {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let report = runtime.block_on(measure(&args));
    if let Some(file) = &args.markdown {
        std::fs::write(file, report).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        println!("\nwritten to {}", file.display());
    }
}

/// Measures and prints as it goes; returns the whole report as Markdown.
async fn measure(args: &Args) -> String {
    let rows = if args.small { 20_000 } else { args.rows };
    let ground = Ground::start(args.layout, args.statements);
    let budget = Budget::new(Duration::from_secs(10));
    let wanted = |part: &str| !args.skip.iter().any(|skipped| skipped == part);

    println!("seeding {rows} rows into {}", args.layout.table());
    let few = ground.database("few", 10_000).await;
    let many = ground.database("many", rows).await;
    let machine = machine::description(&many.url, rows);
    machine.iter().for_each(|line| println!("  {line}"));
    let mut tables: Vec<Table> = Vec::new();
    let mut tell = |table: Table| {
        print!("{}", table.plain());
        tables.push(table);
    };

    if wanted("frames") {
        tell(program::first_frame(&[(10_000, few.url.as_str()), (rows, many.url.as_str())], args.layout));
    }
    if wanted("pages") {
        tell(pages::measure(&ground, &many.url, rows, &budget).await);
    }
    if wanted("freeze") {
        tell(freeze::measure(&many.url, args.layout, if args.small { 1 } else { 3 }));
    }
    if wanted("replay") {
        let (jobs, runs) = if args.small { (5_000, 1) } else { (100_000, 3) };
        tell(replay::measure(&ground, &many.url, jobs, runs, &budget).await);
    }
    if wanted("batch") {
        let (jobs, rounds) = if args.small { (2_000, 1) } else { (10_000, 5) };
        match batch::fits(&many.url, args.layout, jobs, rounds) {
            Ok(()) => tell(batch::measure(&ground, &many.url, jobs, rounds, &budget).await),
            Err(reason) => println!("\nbatch: {reason}"),
        }
    }
    if wanted("workers") {
        let jobs = if args.small { 5_000 } else { 50_000 };
        match (args.layout, batch::enough(&many.url, args.layout, jobs)) {
            (Layout::DlqEvents, _) => println!("\nworkers: this layout has no live table of its own"),
            (_, Err(reason)) => println!("\nworkers: {reason}"),
            _ => tell(workers::measure(&ground, &many.url, jobs, &budget).await),
        }
    }
    if wanted("footprint") {
        tell(program::footprint(&ground, &many.url, rows));
    }
    // Last, because it adds rows.
    if wanted("counts") {
        tell(counts::measure(&ground, &many.url, rows, &budget).await);
    }
    markdown(&machine, &tables)
}

fn markdown(machine: &[String], tables: &[Table]) -> String {
    let machine: String = machine.iter().map(|line| format!("- {line}\n")).collect();
    let tables: String = tables.iter().map(Table::markdown).collect();
    format!(
        "# Benchmarks\n\nWritten by `scripts/bench --markdown docs/benchmarks.md`; no figure here comes from anywhere else. \
         It seeds a PostgreSQL of its own and measures the program beside what somebody who knows SQL would type into \
         `psql`, in one run: how long it takes from the start to bars and rows, pages at any depth, counts, freezing, replays with the \
         ledger, batches of all sizes, workers beside a replay, and what an open console costs. `--small` shows in a minute that it works, `--skip` leaves parts out.\n\n\
         Medians, with the shortest and the longest in brackets; a ratio below 1 in a time means that dlq-tui is quicker. \
         Ratios, buffers, round trips and bytes travel between machines; milliseconds do not, and on a machine that others \
         use they move by a factor of two from run to run. A load above the number of cores means that this was such a \
         run.\n\n{machine}\n{tables}"
    )
}
