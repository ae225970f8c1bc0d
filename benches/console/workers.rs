//! Workers, which claim live jobs one by one, and how long a claim takes them while jobs are replayed beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::{Budget, Store};
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::Scope;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};
use sqlx::{Connection, Executor, PgConnection, Row};

use crate::ground::{Copy, Ground, open_store};
use crate::psql::Psql;
use crate::replay::{desk, planned, quantiles};
use crate::sample::{Sample, ratio};
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

/// Watches workers alone, then beside a replay of `jobs` jobs into the table that they claim from.
pub async fn measure(ground: &Ground, template: &str, jobs: u64, budget: &Budget) -> Table {
    let copy = Copy::of(template);
    Psql::new(&copy.url).print(&[
        &format!("insert into jobs (payload) select '{{}}' from generate_series(1, {WAITING})"),
        "vacuum analyze jobs",
        "checkpoint",
    ]);
    let store = Arc::new(open_store(&copy.url, ground.layout, budget).await) as Arc<dyn Store>;
    let desk = desk(store);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let ask = Ask { limit: Some(jobs), ..Ask::new(Scope::Filter(Filter::all()), Action::Replay, Timestamp::now()) };
    let plan = freeze(&desk, &ledger, ask, budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let workers = Workers::start(&copy.url);
    tokio::time::sleep(QUIET).await;
    let alone = workers.stop();
    let workers = Workers::start(&copy.url);
    let (progress, _watching) = tokio::sync::watch::channel(planned(&plan));
    let began = Instant::now();
    let receipt = execute(&desk, &ledger, &plan.run, RunOptions::default(), &RunControl::new(), &progress).await;
    let took = began.elapsed();
    let beside = workers.stop();
    let receipt = receipt.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(receipt.run.tally.done, plan.count, "not every job was replayed: {:?}", receipt.run.tally);
    ledger.close().await;
    let mut table = Table::new(format!(
        "Workers that claim jobs (FOR UPDATE SKIP LOCKED) while {} are replayed into their table; baseline: the same workers \
         alone",
        plan.count
    ));
    let rate = plan.count as f64 / took.as_secs_f64().max(1e-9);
    for (name, share) in [("a claim, p50", 0.5), ("a claim, p99", 0.99)] {
        let (ours, theirs) = (beside.quantile(share), alone.quantile(share));
        table.add(Line::new(name, crate::sample::told(ours)).against(crate::sample::told(theirs), ratio(ours, theirs)));
    }
    table.add(
        Line::new("a claim, p50 / p99 / longest", quantiles(&beside)).against(quantiles(&alone), "").because(format!(
            "{} and {} claims by {WORKERS} workers, {} a second in all; from when each was due; the run made {rate:.0} rows/s",
            beside.len(),
            alone.len(),
            WORKERS * RATE
        )),
    );
    table
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
