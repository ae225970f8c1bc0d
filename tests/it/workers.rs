//! Everything at once: live workers that claim jobs, two operators with the same cohort, and processes killed at random
//! instants. The workers write down what they ran, and that is what is counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dlq_tui::domain::action::Action;
use dlq_tui::ledger::{CohortPart, Ledger, Outcome, RunId, RunState};
use dlq_tui::triage::StoreContext;

use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine};
use crate::run::{MOVING, desk, plan, resume_to_the_end, start};

/// Times that each operator's process is killed.
const KILLS: usize = 7;

/// Gives each job an argument of its own, by which a worker can tell which dead job it ran.
async fn mark(db: &TestDb, layout: Layout) {
    let array = match db.engine {
        Engine::Postgres => "jsonb_build_array(id::text)",
        Engine::Mysql | Engine::Sqlite => "json_array(id)",
    };
    let object = match db.engine {
        Engine::Postgres => "jsonb_build_object('class', 'Marked', 'arguments', ",
        Engine::Mysql | Engine::Sqlite => "json_object('class', 'Marked', 'arguments', ",
    };
    let set = match layout {
        Layout::JobsDlq => format!("payload = {object}{array})"),
        _ => format!("arguments = {array}"),
    };
    db.execute(&format!("update {} set {set}", layout.table())).await;
    db.execute("create table ran (marker varchar(80))").await;
}

/// Takes some jobs as workers do, and writes down which.
fn claim(engine: Engine, worker: usize) -> String {
    match engine {
        Engine::Postgres => "with taken as (delete from jobs where id in (select id from jobs where locked_at is null \
             order by id limit 20 for update skip locked) returning payload) \
             insert into ran select payload->'arguments'->>0 from taken"
            .to_owned(),
        Engine::Mysql => format!(
            "start transaction; \
             update jobs set locked_at = utc_timestamp(6), locked_by = 'w{worker}' where locked_at is null order by id limit 20; \
             insert into ran select json_value(payload, '$.arguments[0]') from jobs where locked_by = 'w{worker}'; \
             delete from jobs where locked_by = 'w{worker}'; commit"
        ),
        Engine::Sqlite => "begin immediate; \
             insert into ran select payload->>'$.arguments[0]' from jobs order by id limit 20; \
             delete from jobs where id in (select id from jobs order by id limit 20); commit"
            .to_owned(),
    }
}

async fn work(db: Arc<TestDb>, worker: usize, enough: Arc<AtomicBool>) {
    let claim = claim(db.engine, worker);
    while !enough.load(Ordering::Relaxed) {
        // A deadlock or a busy database is a worker's daily bread: it comes again.
        let _ = db.try_execute(&claim).await;
    }
}

/// A number below `n` that nobody can foresee.
fn random(n: u64) -> u64 {
    u64::from(uuid::Uuid::new_v4().as_fields().0) % n
}

/// Executes a run in a process that is killed again and again at random instants, and ends it.
async fn operate(db: &TestDb, layout: Layout, desk: &StoreContext, ledger: &Ledger, run: &RunId) -> Vec<u64> {
    let mut killed_after = Vec::new();
    for _ in 0..KILLS {
        let state = ledger.runs().get(run).await.expect("a run").state;
        if state == RunState::Finished {
            break;
        }
        let mut child = start(db, layout, ledger, run);
        // Most of it falls into the work; some of it before the first batch or behind the last.
        let millis = 40 + random(260);
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let _ = child.kill();
        child.wait().expect("an end");
        killed_after.push(millis);
    }
    resume_to_the_end(desk, ledger, run).await;
    killed_after
}

/// The jobs of a run that are reported as not certain.
async fn reported(ledger: &Ledger, run: &RunId) -> Vec<String> {
    let failed = ledger.cohorts().jobs(run, CohortPart::Failed, 0, usize::MAX).await.expect("jobs");
    let doubtful = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed(reason)) if reason.exact().starts_with("in doubt"));
    failed.into_iter().filter(|job| doubtful(&job.outcome)).map(|job| job.id.as_str().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_workers_alive_and_two_operators_killed_at_random_each_job_runs_once_or_is_reported() {
    for layout in MOVING {
        for db in every_engine("workers").await {
            let db = Arc::new(db);
            layout.seed(&db, 3_000).await;
            mark(&db, layout).await;
            let dead = db.column(&format!("select id from {} where {}", layout.table(), layout.is_dead())).await;
            let enough = Arc::new(AtomicBool::new(false));
            let workers: Vec<_> = (0..2).map(|n| tokio::spawn(work(Arc::clone(&db), n, Arc::clone(&enough)))).collect();
            let folder = tempfile::tempdir().expect("a folder");
            let operator = async |name: &str| {
                let ledger = Ledger::open(&folder.path().join(name)).await.expect("a ledger");
                let desk = desk(&db.url, layout.table()).await;
                let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
                let kills = operate(&db, layout, &desk, &ledger, &run).await;
                let tally = ledger.runs().tally(&run).await.expect("a tally");
                assert!(tally.adds_up() && tally.not_started + tally.in_doubt == 0, "{kills:?} {tally:?}");
                (kills, tally.done, reported(&ledger, &run).await)
            };
            let (first, second) = tokio::join!(operator("one.sqlite3"), operator("two.sqlite3"));
            let told = format!("{layout:?} on {:?}: {first:?} {second:?}", db.engine);
            while db.count("jobs").await > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            enough.store(true, Ordering::Relaxed);
            for worker in workers {
                worker.await.expect("a worker");
            }
            let mut times: HashMap<String, u32> = HashMap::new();
            for marker in db.column("select marker from ran").await {
                *times.entry(marker).or_default() += 1;
            }
            let twice: Vec<_> = times.iter().filter(|(_, n)| **n > 1).collect();
            assert!(twice.is_empty(), "{told}: twice {twice:?}");
            let unsure = |id: &String| first.2.contains(id) || second.2.contains(id);
            let lost: Vec<_> = dead.iter().filter(|id| !times.contains_key(*id) && !unsure(id)).collect();
            assert!(lost.is_empty(), "{told}: lost {lost:?}");
            assert_eq!(layout.count_dead(&db).await, 0, "{told}");
            let counted = first.1 + second.1 + (first.2.len() + second.2.len()) as u64;
            assert!(counted >= dead.len() as u64, "{told}");
            // Where the database remembers transactions, nothing is left in doubt, and the receipts say who did what.
            if db.engine == Engine::Postgres {
                assert_eq!(first.1 + second.1, dead.len() as u64, "{told}");
            }
            assert!(first.0.len() + second.0.len() > 0, "{told}: nobody was killed");
        }
    }
}
