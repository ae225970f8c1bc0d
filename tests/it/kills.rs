//! Processes that execute a run and are killed at it.

use std::process::Child;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::ledger::{Ledger, RunId, RunState};
use sqlx::{Connection, Executor, SqliteConnection};

use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine};
use crate::run::{dead, desk, plan, resume_to_the_end, start};

/// Jobs of a batch that the processes take at a time, which is all that a kill may leave in doubt.
pub const BATCH: usize = 50;

/// Starts a process that executes a run, and returns when it has begun to work on it, or has ended.
pub async fn at_work(ledger: &Ledger, run: &RunId, start: impl FnOnce() -> Child) -> Child {
    // As it stood before: the process may have begun before anybody looks.
    let before = not_started(ledger, run).await;
    let mut child = start();
    while not_started(ledger, run).await == before && child.try_wait().expect("a state").is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    child
}

/// Kills a process at work on a run for each of `waits`: so many milliseconds after it has begun, spread over what a batch
/// takes. The run adds up each time, and was killed at work at least once.
pub async fn kill_at_work(ledger: &Ledger, run: &RunId, waits: &[u64], start: impl Fn() -> Child) {
    let mut kills = 0;
    for wait in waits {
        let mut child = at_work(ledger, run, &start).await;
        tokio::time::sleep(Duration::from_millis(*wait)).await;
        let _ = child.kill();
        child.wait().expect("an end");
        let left = ledger.runs().get(run).await.expect("a run");
        assert!(left.tally.adds_up() && left.tally.in_doubt <= BATCH as u64, "{:?}", left.tally);
        kills += u32::from(left.state == RunState::Running);
        if left.state == RunState::Finished {
            break;
        }
    }
    assert!(kills > 0, "it was never killed at work");
}

async fn not_started(ledger: &Ledger, run: &RunId) -> u64 {
    ledger.runs().tally(run).await.expect("a tally").not_started
}

/// How long a batch may take to be committed while nothing can be recorded, before another moment is tried.
const A_WHILE: Duration = Duration::from_millis(150);

/// Jobs that were replayed, and those that the record has as done.
async fn told(db: &TestDb, ledger: &Ledger, run: &RunId) -> (u64, u64) {
    let done = ledger.runs().tally(run).await.expect("a tally").done;
    (db.count("jobs").await, done)
}

/// Kills a process at work on a run between the commit of a batch and its entry in the record; how many jobs are in the
/// live table then, and how many the record has as done.
pub async fn kill_before_entry(db: &TestDb, layout: Layout, ledger: &Ledger, run: &RunId) -> (u64, u64) {
    let file = format!("sqlite://{}", ledger.path().expect("a file").display());
    let mut writer = SqliteConnection::connect(&file).await.expect("a connection");
    let mut child = at_work(ledger, run, || start(db, layout, ledger, run)).await;
    // Nothing can be recorded any more. Where the transaction of a batch is noted too, it may wait for that, uncommitted.
    let (replayed, done) = loop {
        assert!(child.try_wait().expect("a state").is_none(), "it ended before it was caught");
        writer.execute("BEGIN IMMEDIATE").await.expect("a lock");
        let began = Instant::now();
        let mut caught = told(db, ledger, run).await;
        while caught.0 == caught.1 && began.elapsed() < A_WHILE {
            caught = told(db, ledger, run).await;
        }
        if caught.0 > caught.1 {
            break caught;
        }
        writer.execute("ROLLBACK").await.expect("an end");
        // Whoever waits for the file looks at it now and then: it must come to its turn.
        while told(db, ledger, run).await.1 == caught.1 && child.try_wait().expect("a state").is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // The next batch is worked on by now, and waits for its name.
    assert!(replayed - done <= BATCH as u64, "{replayed} replayed, {done} on record");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    writer.execute("ROLLBACK").await.expect("an end");
    let left = ledger.runs().get(run).await.expect("a run").tally;
    assert_eq!((told(db, ledger, run).await, left.in_doubt), ((replayed, done), replayed - done), "{left:?}");
    (replayed, done)
}

#[tokio::test]
async fn a_process_killed_between_a_commit_and_its_entry_leaves_one_batch_in_doubt_and_nothing_of_the_next() {
    let layout = Layout::DeadLetterJobs;
    for db in every_engine("ahead").await {
        layout.seed(&db, 6_000).await;
        let before = dead(&db, layout).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, layout.table()).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        kill_before_entry(&db, layout, &ledger, &run).await;
        resume_to_the_end(&desk, &ledger, &run).await;
        let tally = ledger.runs().tally(&run).await.expect("a tally");
        assert_eq!((tally.done, dead(&db, layout).await, db.count("jobs").await), (before, 0, before), "{tally:?}");
        assert!(db.engine != Engine::Postgres || tally.in_doubt == 0);
    }
}
