//! Workers, which claim live jobs one by one, and how long a claim takes them while jobs are replayed beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::Store;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use dlq_tui::triage::run::RunOptions;
use sqlx::{Connection, Executor, PgConnection, Row};

use crate::bench::Bench;
use crate::client::Client;
use crate::cohort::Slices;
use crate::ground::open_store;
use crate::replay::{desk, execute_all};
use crate::sample::{Sample, ratio, told};
use crate::steps::filter;
use crate::table::{Line, Table};

/// Workers, and what each claims in a second.
const WORKERS: u32 = 4;
const RATE: u32 = 25;
/// Jobs that wait in the live table from the start.
const WAITING: u32 = 20_000;
/// How long workers are watched when nothing is replayed.
const QUIET: Duration = Duration::from_secs(8);

/// The claim of a worker that never waits for another's.
const CLAIM: &str = "select id from jobs where locked_at is null and run_after <= now() \
                     order by run_after limit 1 for update skip locked";

/// Watches workers alone, then beside a replay into the table that they claim from, and beside the same move as one statement.
pub async fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    let (jobs, quiet) = if bench.small { (2_000, QUIET / 4) } else { (100_000.min(u64::from(bench.rows / 20)), QUIET) };
    let (slice, by_hand) = (slices.take(jobs, false)?, slices.take(jobs, false)?);
    let ground = || {
        Client::new(copy).print(&[
            "truncate jobs",
            &format!("insert into jobs (payload) select '{{}}' from generate_series(1, {WAITING})"),
            "vacuum analyze jobs",
            "checkpoint",
        ])
    };
    ground();
    let store = Arc::new(open_store(copy, bench.ground.layout, &bench.budget).await) as Arc<dyn Store>;
    let desk = desk(store);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let ask = Ask::new(ActionScope::Filter(filter(&slice.filter())), Action::Replay, Timestamp::now());
    let plan = freeze(&desk, &ledger, ask, &bench.budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let workers = Workers::start(copy);
    tokio::time::sleep(quiet).await;
    let alone = workers.stop();
    let busy = Busy::start();
    let workers = Workers::start(copy);
    tokio::time::sleep(quiet).await;
    let beside_busy = workers.stop();
    drop(busy);
    let workers = Workers::start(copy);
    let took = execute_all(&desk, &ledger, &plan, RunOptions::default()).await;
    let beside = workers.stop();
    ledger.close().await;
    let (client, statements) = (Client::new(copy), bench.baseline().replay(&by_hand));
    ground();
    let workers = Workers::start(copy);
    tokio::task::spawn_blocking(move || client.once(&statements)).await.expect("a session");
    let beside_one = workers.stop();
    let mut table = report(plan.count, took, &alone, &beside);
    for (what, sample) in [
        ("threads that do nothing but keep every processor busy", beside_busy),
        ("the same move in one statement", beside_one),
    ] {
        let name = format!("a claim beside {what}, p50 / p99 / longest");
        table.add(
            Line::new(name, sample.quantiles()).because("not ours: how far that holds workers up on this machine"),
        );
    }
    Ok(table)
}

fn report(jobs: u64, took: Duration, alone: &Sample, beside: &Sample) -> Table {
    let mut table = Table::new(format!(
        "7. Workers that claim jobs (FOR UPDATE SKIP LOCKED) while {jobs} are replayed into their table; baseline: the same \
         workers alone"
    ));
    let line = |name: &str, share: f64| {
        let (ours, theirs) = (beside.quantile(share), alone.quantile(share));
        Line::new(name, told(ours)).against(told(theirs), ratio(ours, theirs))
    };
    table.add(line("a claim, p50", 0.5).aim("at most 2x", beside.median() <= alone.median() * 2));
    // The one in a hundred waits for a processor, beside whatever keeps them busy.
    table.add(line("a claim, p99", 0.99));
    let rate = jobs as f64 / took.as_secs_f64().max(1e-9);
    table.add(
        Line::new("a claim, p50 / p99 / longest", beside.quantiles()).against(alone.quantiles(), "").because(format!(
            "{} and {} claims by {WORKERS} workers, {} a second in all; from when each was due; the run made {rate:.0} rows/s",
            beside.len(),
            alone.len(),
            WORKERS * RATE
        )),
    );
    table
}

/// Threads that keep every processor busy until they are dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn start() -> Self {
        let busy = Arc::new(AtomicBool::new(true));
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let busy = Arc::clone(&busy);
            std::thread::spawn(move || {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Workers in threads of their own, which claim at a steady rate until they are stopped.
struct Workers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Sample>>,
}

impl Workers {
    fn start(url: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |_| {
            let (stop, url) = (Arc::clone(&stop), url.to_owned());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(work(&url, &stop))
            })
        };
        let threads = (0..WORKERS).map(thread).collect();
        Self { stop, threads }
    }

    /// How long the claims took.
    fn stop(self) -> Sample {
        self.stop.store(true, Ordering::Relaxed);
        let mut sum = Sample::default();
        for thread in self.threads {
            sum.extend(thread.join().expect("a worker"));
        }
        sum
    }
}

/// Claims a job, runs it in no time, deletes it. Times run from when a claim was due.
async fn work(url: &str, stop: &AtomicBool) -> Sample {
    let mut connection = PgConnection::connect(url).await.unwrap_or_else(|e| panic!("{e}"));
    let pause = Duration::from_secs(1) / RATE;
    let mut due = Instant::now();
    let mut sample = Sample::default();
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        let mut tx = connection.begin().await.unwrap_or_else(|e| panic!("{e}"));
        let claimed = sqlx::query(CLAIM).fetch_optional(&mut *tx).await.unwrap_or_else(|e| panic!("{e}"));
        sample.push(due.elapsed());
        if let Some(row) = claimed {
            let id: i64 = row.try_get(0).unwrap_or_else(|e| panic!("{e}"));
            let delete = sqlx::query("delete from jobs where id = $1").bind(id);
            tx.execute(delete).await.unwrap_or_else(|e| panic!("{e}"));
        }
        tx.commit().await.unwrap_or_else(|e| panic!("{e}"));
        due += pause;
    }
    sample
}
