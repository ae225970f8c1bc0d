//! An hour of an incident in a minute: jobs die while a console is open, some of them in transactions that commit late, others
//! change state or go; then what is on the screen is held against SQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::baseline::Baseline;
use crate::bench::Bench;
use crate::client::Client;
use crate::fingerprints::MEMORY;
use crate::fixtures::Layout;
use crate::process::{cpu_time, peak_memory};
use crate::pty::{Pty, Screen};
use crate::sample::told;
use crate::screen::{COLUMNS, ROWS, is_useful};
use crate::table::{Line, Table};
use crate::writers::{Writers, as_application};

/// Jobs that die in a second.
const RATE: u32 = 1_000;
/// How late transactions commit, and the jobs that die in each.
const LATE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(6)];
const LATE_JOBS: u32 = 50;
/// Jobs anywhere in the table that change state, and as many that go, how often.
const MOVED: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// What the console takes of the database's time by default, in per cent.
const SHARE: f64 = 2.0;
/// How long the counts may take to be exact again: half as long again as the half hour that docs/scale.md promises, so that a
/// count that misses it has a figure. And how many of them are looked at.
const PATIENCE: Duration = Duration::from_secs(2_700);
const BARS: usize = 5;

/// A console that nobody touches beside an application that does all of it; `copy` is written to.
pub fn measure(bench: &Bench<'_>, copy: &str) -> Result<Table, String> {
    if !bench.is_postgres() || bench.ground.layout != Layout::DeadLetterJobs {
        return Err("left out: its writers are for dead_letter_jobs on PostgreSQL".to_owned());
    }
    let span = Duration::from_secs(if bench.small { 8 } else { 60 });
    let mut table = Table::new(format!(
        "3. A soak: {} with {RATE} inserts/s, transactions that commit {} and {} late, jobs anywhere that change state or go",
        told(span),
        told(LATE[0]),
        told(LATE[1]),
    ));
    let pty = Pty::console(&[]).size(COLUMNS, ROWS).env("DATABASE_URL", copy).start();
    pty.wait("bars, rows and a job", is_useful);
    let server = Client::new(copy);
    let begun = Truth::of(&server, bench.baseline());
    equal(&pty, |screen| begun.dead_is_on(screen) && begun.bars_are_on(screen), PATIENCE)
        .ok_or("the counts were never exact, so nothing was soaked")?;

    let meter = bench.meter(copy);
    meter.reset();
    let cpu = cpu_time(pty.pid());
    let (writers, unrest) =
        (Writers::start(copy, bench.baseline(), RATE), Unrest::start(copy, bench.baseline(), bench.rows));
    std::thread::sleep(span);
    let (cost, cpu) = (meter.read(), cpu_time(pty.pid()) - cpu);
    let rows = writers.rows();
    let (inserts, moved) = (writers.stop(), unrest.stop());
    let ended = Instant::now();
    let seconds = span.as_secs_f64();

    if meter.counts() {
        let share = cost.ms / 10.0 / seconds;
        table.add(
            Line::new("what the console takes of the database's time", format!("{share:.1} %"))
                .aim(format!("at most {SHARE:.0} %, the default"), share <= SHARE)
                .because(format!(
                    "{:.0} buffers and {:.0} statements a second, the longest {:.0} ms",
                    cost.buffers as f64 / seconds,
                    cost.statements as f64 / seconds,
                    cost.longest
                )),
        );
    }
    table.add(Line::new("its processor", format!("{:.1} % of a core", cpu.as_secs_f64() / seconds * 100.0)));
    let truth = Truth::of(&server, bench.baseline());
    let evidence =
        format!("{rows} jobs died, and {moved} transactions did something else; an insert {}", inserts.told());
    table.add(said(
        "dead jobs in the header, as SQL counts them",
        equal(&pty, |screen| truth.dead_is_on(screen), PATIENCE).map(|_| ended.elapsed()),
        evidence,
    ));
    table.add(said(
        "bars, as SQL counts them",
        equal(&pty, |screen| truth.bars_are_on(screen), PATIENCE).map(|_| ended.elapsed()),
        format!("the {BARS} longest; marked `~` until then; `r` counts at once"),
    ));
    let most = peak_memory(pty.pid());
    table.add(
        Line::new("memory", format!("{most:.0} MB at the most")).aim(format!("under {MEMORY:.0} MB"), most < MEMORY),
    );
    Ok(table)
}

fn said(what: &str, after: Option<Duration>, evidence: String) -> Line {
    let shown =
        after.map_or_else(|| format!("not within {}", told(PATIENCE)), |after| format!("equal after {}", told(after)));
    Line::new(what, shown).aim("equal, without being asked", after.is_some()).because(evidence)
}

/// Waits until something is on the screen.
fn equal(pty: &Pty, is_on: impl Fn(&Screen<'_>) -> bool, patience: Duration) -> Option<()> {
    pty.seen_within(patience, is_on).then_some(())
}

/// What SQL counts.
struct Truth {
    dead: u64,
    bars: Vec<u64>,
}

impl Truth {
    fn of(server: &Client, baseline: Baseline) -> Self {
        let number = |text: &str| text.trim().parse::<u64>().unwrap_or_else(|_| panic!("{text} is no number"));
        let printed = server.print(&[&baseline.histogram()]);
        let mut bars: Vec<u64> =
            printed.lines().filter_map(|line| line.rsplit_once('|')).map(|(_, n)| number(n)).collect();
        bars.sort_by_key(|n| std::cmp::Reverse(*n));
        bars.truncate(BARS);
        Self { dead: number(&server.print(&[&baseline.dead_count()])), bars }
    }

    fn dead_is_on(&self, screen: &Screen<'_>) -> bool {
        screen.contains(&format!("dead {} ", grouped(self.dead)))
    }

    /// Each is there, with nothing before it that would make it an estimate.
    fn bars_are_on(&self, screen: &Screen<'_>) -> bool {
        let rows = screen.rows();
        self.bars.iter().all(|n| rows.iter().any(|row| row.contains(&format!(" {} ", grouped(*n)))))
    }
}

/// A number as the console writes it.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap_or("")).collect();
    parts.join(",")
}

/// What else the application does.
struct Unrest {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u32>>,
}

impl Unrest {
    fn start(url: &str, baseline: Baseline, rows: u32) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let late = LATE.map(|late| (format!("begin; {}", baseline.new_rows(LATE_JOBS)), Some(late)));
        let moved = (baseline.moved_rows(MOVED, rows), None);
        let thread = |(statements, late): (String, Option<Duration>)| {
            let (stop, url) = (Arc::clone(&stop), as_application(url));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(unsettle(&url, &statements, late, &stop))
            })
        };
        let threads = late.into_iter().chain([moved]).map(thread).collect();
        Self { stop, threads }
    }

    /// Returns when all has been committed, with how many transactions there were.
    fn stop(self) -> u32 {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("a writer")).sum()
    }
}

async fn unsettle(url: &str, statements: &str, late: Option<Duration>, stop: &AtomicBool) -> u32 {
    let mut connection = PgConnection::connect(url).await.unwrap_or_else(|e| panic!("{e}"));
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        connection.execute(AssertSqlSafe(statements.to_owned())).await.unwrap_or_else(|e| panic!("{e}"));
        tokio::time::sleep(late.unwrap_or(PAUSE)).await;
        if late.is_some() {
            connection.execute("commit").await.unwrap_or_else(|e| panic!("{e}"));
        }
        n += 1;
    }
    n
}
