//! Runs against real databases: processes killed at work, and two operators at once. Every number of a receipt is
//! recounted in SQL.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dlq_tui::adapter::built_in;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions};
use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{CohortPart, Ledger, Operator, RunId, RunState, RunTally};
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, detect, open};
use dlq_tui::store::{Budget, Store};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::deliver::CommandDestination;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};
use dlq_tui::triage::progress::RunProgress;
use dlq_tui::triage::run::{Receipt, RunControl, RunOptions, execute, resume};
use tokio::sync::watch;

use crate::fixtures::{Layout, sql};
use crate::harness::{Engine as Database, TestDb, every_engine};
use crate::kills::{BATCH, kill_at_work};

/// Layouts whose replay adds a row to a live table, where a job that was replayed twice can be seen.
pub const MOVING: [Layout; 2] = [Layout::DeadLetterJobs, Layout::JobsDlq];

pub fn budget() -> Budget {
    Budget::new(Duration::from_secs(30))
}

pub async fn desk(url: &str, table: &str) -> StoreContext {
    desk_to(url, table, ReplayDestination::Table("jobs".to_owned())).await
}

pub async fn desk_to(url: &str, table: &str, destination: ReplayDestination) -> StoreContext {
    let target = Target::from_url(url).expect("a target");
    let engine = Arc::new(Engine::connect(&target, &EngineOptions::default()).await.expect("an engine"));
    desk_on(engine, table, destination).await
}

pub async fn desk_on(engine: Arc<Engine>, table: &str, destination: ReplayDestination) -> StoreContext {
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.iter().find(|f| f.adapter == table).expect("the layout");
    let adapter = adapters.iter().find(|a| a.name == table).expect("the adapter");
    let store = open(engine, adapter, found, &OpenOptions { destination, ..OpenOptions::default() }, &budget())
        .await
        .expect("a store");
    desk_of(store)
}

/// The desk at which the tests stand, with that store on it.
pub fn desk_of(store: impl Store + 'static) -> StoreContext {
    StoreContext {
        store: Arc::new(store),
        source: "test".into(),
        production: false,
        operator: Operator::default(),
        redactor: Arc::default(),
        ledger: None,
    }
}

pub async fn plan(desk: &StoreContext, ledger: &Ledger, filter: &str, action: Action) -> Plan {
    let scope = ActionScope::Filter(Filter::parse(filter).expect("a filter"));
    let ask = Ask { reason: Some("the gateway is back".into()), ..Ask::new(scope, action, Timestamp::now()) };
    freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan")
}

/// A place for progress that nobody watches.
pub fn progress() -> watch::Sender<RunProgress> {
    watch::Sender::new(RunProgress {
        run: RunId(String::new()),
        state: RunState::Planned,
        tally: RunTally::default(),
        rate: 0.0,
        eta: None,
        waiting: None,
    })
}

pub fn options() -> RunOptions {
    RunOptions { batch: BATCH, retry: Duration::from_millis(20), ..RunOptions::default() }
}

pub async fn go(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> Receipt {
    execute(desk, ledger, run, options(), &RunControl::new(), &progress()).await.expect("a receipt")
}

/// Dead jobs that are left: those of the layout's own condition.
pub async fn dead(db: &TestDb, layout: Layout) -> u64 {
    layout.count_dead(db).await
}

#[tokio::test]
async fn a_receipts_numbers_are_those_of_the_tables() {
    for layout in MOVING {
        for db in every_engine("receipt").await {
            layout.seed(&db, 1_200).await;
            let folder = tempfile::tempdir().expect("a folder");
            let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
            let desk = desk(&db.url, layout.table()).await;
            let before = dead(&db, layout).await;
            let plan = plan(&desk, &ledger, "state:dead", Action::Replay).await;
            assert_eq!(plan.count, before, "{layout:?} on {:?}", db.engine);
            assert_eq!(plan.breakdown.by_error.iter().map(|share| share.n).sum::<u64>(), before);
            let receipt = go(&desk, &ledger, &plan.run).await;
            assert!(receipt.is_complete(), "{layout:?} on {:?}: {receipt:?}", db.engine);
            assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before));
            let again = go_again(&desk, &ledger, &plan.run).await;
            assert_eq!((again, db.count("jobs").await), (0, before), "{layout:?} on {:?}", db.engine);
        }
    }
}

/// A new run over the jobs of an old one: nothing is left to be done. Returns how many were.
async fn go_again(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> u64 {
    let scope = ActionScope::Run(run.clone(), CohortPart::All);
    let ask = Ask::new(scope, Action::Replay, Timestamp::now());
    match freeze(desk, ledger, ask, &budget(), |_| {}).await {
        Ok(plan) => go(desk, ledger, &plan.run).await.run.tally.done,
        Err(_) => 0,
    }
}

#[tokio::test]
async fn two_operators_with_overlapping_cohorts_replay_each_job_once() {
    for layout in MOVING {
        for db in every_engine("overlap").await {
            layout.seed(&db, 1_500).await;
            let before = dead(&db, layout).await;
            let folder = tempfile::tempdir().expect("a folder");
            let work = async |name: &str| {
                let ledger = Ledger::open(&folder.path().join(name)).await.expect("a ledger");
                let desk = desk(&db.url, layout.table()).await;
                let plan = plan(&desk, &ledger, "state:dead", Action::Replay).await;
                go(&desk, &ledger, &plan.run).await
            };
            let (first, second) = tokio::join!(work("one.sqlite3"), work("two.sqlite3"));
            let (first, second) = (first.run.tally, second.run.tally);
            let told = format!("{layout:?} on {:?}: {first:?} {second:?}", db.engine);
            assert!(first.adds_up() && second.adds_up(), "{told}");
            assert_eq!(first.done + second.done, before, "{told}");
            assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
        }
    }
}

#[tokio::test]
async fn only_jobs_that_a_command_acknowledges_are_marked_and_the_rest_stay_dead_with_the_reason() {
    for db in every_engine("command").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 60).await;
        let before = dead(&db, layout).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk_to(&db.url, layout.table(), ReplayDestination::Command("bin/replay".to_owned())).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        // Takes five jobs, refuses one, and dies.
        let script = r#"n=0; while IFS= read -r line; do id=${line#*\"id\":\"}; id=${id%%\"*}; n=$((n+1));
            [ $n -le 5 ] && echo "{\"id\":\"$id\",\"ok\":true}";
            [ $n -eq 6 ] && echo "{\"id\":\"$id\",\"ok\":false,\"error\":\"no queue\"}";
            [ $n -eq 7 ] && { echo 'redis went away' >&2; exit 9; }; done"#;
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).into();
        let deliver = Arc::new(CommandDestination { argv, timeout: Duration::from_secs(30) });
        let options = RunOptions { deliver: Some(deliver), batch: 200, ..options() };
        let receipt = execute(&desk, &ledger, &run, options, &RunControl::new(), &progress()).await.expect("a receipt");
        let tally = receipt.run.tally;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((tally.done, tally.failed_total()), (5, before - 5), "{told}");
        let reasons: Vec<&str> = tally.failed.iter().map(|(reason, _)| reason.exact()).collect();
        assert!(reasons.contains(&"no queue"), "{told}");
        assert!(reasons.iter().any(|r| r.contains("exit status: 9") && r.contains("redis went away")), "{told}");
        assert_eq!(dead(&db, layout).await, before - 5, "{told}");
    }
}

/// The part of the next test that is killed: executes the run that the environment names.
#[tokio::test]
#[ignore = "a process that another test starts and kills"]
async fn a_process_that_is_to_be_killed() {
    let Ok(told) = std::env::var("DLQ_TEST_RUN_TO_KILL") else { return };
    let told: Vec<&str> = told.split('\n').collect();
    let [url, table, ledger, run] = told[..] else { panic!("{told:?}") };
    let ledger = Ledger::open(Path::new(ledger)).await.expect("a ledger");
    go(&desk(url, table).await, &ledger, &RunId(run.to_owned())).await;
}

pub fn start(db: &TestDb, layout: Layout, ledger: &Ledger, run: &RunId) -> Child {
    let told = [&db.url, layout.table(), &ledger.path().expect("a file").display().to_string(), &run.0].join("\n");
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "run::a_process_that_is_to_be_killed"])
        .env("DLQ_TEST_RUN_TO_KILL", told)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

/// Goes on with a run, as often as it takes.
pub async fn resume_to_the_end(desk: &StoreContext, ledger: &Ledger, run: &RunId) {
    let mut state = ledger.runs().get(run).await.expect("a run").state;
    while state != RunState::Finished {
        let (control, progress) = (RunControl::new(), progress());
        let receipt = match state {
            // Killed before it had begun.
            RunState::Planned => execute(desk, ledger, run, options(), &control, &progress).await,
            _ => resume(desk, ledger, run, options(), &control, &progress).await,
        };
        state = receipt.expect("a receipt").run.state;
    }
}

#[tokio::test]
async fn a_run_that_is_killed_again_and_again_replays_each_job_once() {
    for layout in MOVING {
        for db in every_engine("killed").await {
            layout.seed(&db, 3_000).await;
            let before = dead(&db, layout).await;
            let folder = tempfile::tempdir().expect("a folder");
            let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
            let desk = desk(&db.url, layout.table()).await;
            let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
            kill_at_work(&ledger, &run, &[0, 3, 9, 14, 22, 31], || start(&db, layout, &ledger, &run)).await;
            resume_to_the_end(&desk, &ledger, &run).await;
            let tally = ledger.runs().tally(&run).await.expect("a tally");
            let told = format!("{layout:?} on {:?}: {tally:?}", db.engine);
            assert!(tally.adds_up() && tally.planned == before, "{told}");
            assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
            assert_eq!((tally.done, tally.skipped_total()), (before - tally.failed_total(), 0), "{told}");
            assert!(tally.failed.iter().all(|(reason, _)| reason.exact().starts_with("in doubt")), "{told}");
            // Where the database remembers transactions, no job is left in doubt.
            assert!(db.engine != Database::Postgres || tally.done == before, "{told}");
        }
    }
}

#[tokio::test]
async fn a_job_that_somebody_else_has_put_back_since_it_was_frozen_is_left_alone() {
    for db in every_engine("putback").await {
        let layout = Layout::DlqEvents;
        layout.seed(&db, 60).await;
        let before = dead(&db, layout).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, layout.table()).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        // Another operator replayed ten of them, and the worker is at it.
        let ten = db
            .column(
                "select cast(id as char(20)) from dlq_events where status = 'FAILED_PERMANENTLY' order by id limit 10",
            )
            .await;
        let ten = ten.join(", ");
        db.execute(&format!("update dlq_events set status = 'PROCESSING' where id in ({ten})")).await;
        let tally = go(&desk, &ledger, &run).await.run.tally;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((tally.done, tally.skipped_total()), (before - 10, 10), "{told}");
        assert_eq!(db.count("dlq_events where status = 'PROCESSING'").await, 10, "{told}");
        // Those that are stuck can still be put back, when that is what was frozen.
        let run = plan(&desk, &ledger, "native:PROCESSING", Action::Replay).await.run;
        assert_eq!(go(&desk, &ledger, &run).await.run.tally.done, 10, "{told}");
    }
}

#[tokio::test]
async fn a_job_that_died_after_the_plan_is_left_alone_under_whatever_id_it_stands() {
    for action in [Action::Replay, Action::Discard, Action::Archive, Action::Purge] {
        for db in every_engine("reused ids").await {
            let (old, new) = (sql::ago(db.engine, 60), sql::ago(db.engine, 0));
            Layout::JobsDlq.seed(&db, 40).await;
            db.execute(&format!("update jobs_dlq set failed_at = {old}")).await;
            let folder = tempfile::tempdir().expect("a folder");
            let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
            let desk = desk(&db.url, "jobs_dlq").await;
            let plan = plan(&desk, &ledger, "", action).await;
            // A table that is emptied counts from one again; and a job may die again where it stands.
            db.execute(&format!("update jobs_dlq set failed_at = {new} where id > 25")).await;
            let tally = go(&desk, &ledger, &plan.run).await.run.tally;
            let left = db.count("jobs_dlq").await;
            assert_eq!((tally.done, tally.skipped_total(), left), (25, 15, 15), "{action} on {:?}", db.engine);
        }
    }
}

#[tokio::test]
async fn a_job_that_was_retrying_before_and_after_a_crash_is_not_put_back_a_second_time() {
    for db in every_engine("still_retrying").await {
        let layout = Layout::DlqEvents;
        layout.seed(&db, 60).await;
        db.execute("update dlq_events set status = 'PROCESSING' where status = 'FAILED_PERMANENTLY'").await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, layout.table()).await;
        let plan = plan(&desk, &ledger, "native:PROCESSING", Action::Replay).await;
        // A process that died between the effect of its batch and the record of it; a worker has begun with all of them.
        ledger.runs().start(&plan.run, Timestamp::now()).await.expect("a start");
        let (_, ids) = ledger.batches().begin(&plan.run, 10, Timestamp::now()).await.expect("a batch").expect("jobs");
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let named = format!("dlq_events where retry_count = 77 and id in ({})", ids.join(", "));
        db.execute(&format!("update dlq_events set retry_count = 77 where id in ({})", ids.join(", "))).await;
        let tally = resume(&desk, &ledger, &plan.run, options(), &RunControl::new(), &progress())
            .await
            .expect("a receipt")
            .run
            .tally;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!(db.count(&format!("{named} and status = 'PROCESSING'")).await, 10, "{told}");
        assert_eq!((tally.done, tally.failed_total(), tally.in_doubt), (plan.count - 10, 10, 0), "{told}");
        assert!(tally.failed[0].0.exact().starts_with("in doubt"), "{told}");
    }
}

#[tokio::test]
async fn a_job_that_a_worker_has_taken_up_since_it_was_frozen_is_not_put_back_under_its_hands() {
    for db in every_engine("taken_up").await {
        let layout = Layout::DlqEvents;
        layout.seed(&db, 60).await;
        db.execute("update dlq_events set status = 'PENDING' where status = 'FAILED_PERMANENTLY'").await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, layout.table()).await;
        let plan = plan(&desk, &ledger, "native:PENDING", Action::Replay).await;
        let taken =
            db.column("select cast(id as char(20)) from dlq_events where status = 'PENDING' order by id limit 7").await;
        db.execute(&format!("update dlq_events set status = 'PROCESSING' where id in ({})", taken.join(", "))).await;
        let running = db.count("dlq_events where status = 'PROCESSING'").await;
        let tally = go(&desk, &ledger, &plan.run).await.run.tally;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((tally.done, tally.skipped_total()), (plan.count - 7, 7), "{told}");
        assert_eq!(tally.skipped[0].0, "changed meanwhile", "{told}");
        assert_eq!(db.count("dlq_events where status = 'PROCESSING'").await, running, "{told}");
    }
}

#[tokio::test]
async fn a_server_that_is_full_stops_the_run_at_its_first_batch_and_it_goes_on_later() {
    for db in every_engine("server_full").await {
        Layout::JobsDlq.seed(&db, 120).await;
        match db.engine {
            Database::Postgres => {
                db.execute(
                    "create function full() returns trigger language plpgsql as $$ begin raise exception \
                     'could not extend file' using errcode = '53100'; end $$",
                )
                .await;
                db.execute("create trigger room before insert on jobs for each row execute function full()").await;
            }
            Database::Mysql => {
                db.execute(
                    "create trigger room before insert on jobs for each row \
                     signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table jobs is full'",
                )
                .await;
            }
            Database::Sqlite => continue,
        }
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, "jobs_dlq").await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        let receipt = go(&desk, &ledger, &run).await;
        let told = format!("{:?}: {receipt:?}", db.engine);
        assert_eq!((receipt.run.tally.not_started, receipt.run.state), (120, RunState::Stopped), "{told}");
        assert!(receipt.halted.is_some_and(|why| why.contains("make room on the database server")), "{told}");
        let on = if db.engine == Database::Postgres { " on jobs" } else { "" };
        db.execute(&format!("drop trigger room{on}")).await;
        let receipt = go(&desk, &ledger, &run).await;
        assert!(receipt.is_complete(), "{receipt:?}");
    }
}

#[tokio::test]
async fn a_run_is_not_resumed_on_another_database_of_the_same_name() {
    let (planned, others) = (every_engine("planned").await, every_engine("repointed").await);
    for (db, other) in planned.into_iter().zip(others) {
        Layout::JobsDlq.seed(&db, 60).await;
        Layout::JobsDlq.seed(&other, 60).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let here = desk(&db.url, "jobs_dlq").await;
        let run = plan(&here, &ledger, "state:dead", Action::Discard).await.run;
        let control = RunControl::new();
        control.stop();
        execute(&here, &ledger, &run, options(), &control, &progress()).await.expect("a receipt");
        let there = desk(&other.url, "jobs_dlq").await;
        let refused = resume(&there, &ledger, &run, options(), &RunControl::new(), &progress()).await;
        let why = refused.expect_err("another database").to_string();
        // On MySQL a store is named with its database.
        let named = db.engine == Database::Mysql && why.contains("and this is");
        assert!(named || why.contains("which is another database"), "{:?}: {why}", db.engine);
        assert_eq!(other.count("jobs_dlq").await, 60);
        let again = desk(&db.url, "jobs_dlq").await;
        assert!(go(&again, &ledger, &run).await.is_complete());
    }
}

#[tokio::test]
async fn a_secret_that_a_row_or_a_server_quotes_goes_on_no_record() {
    let secret = "hunter2sekret";
    for db in every_engine("secrets").await {
        Layout::JobsDlq.seed(&db, 30).await;
        db.execute(&format!("update jobs_dlq set error_class = 'Refused: token={secret}'")).await;
        let said = format!("Key (api_token)=({secret}) already exists, password: {secret}");
        match db.engine {
            Database::Postgres => {
                db.execute(&format!(
                    "create function no() returns trigger language plpgsql as $$ begin raise exception '{said}'; end $$"
                ))
                .await;
                db.execute("create trigger room before insert on jobs for each row execute function no()").await;
            }
            Database::Mysql => {
                db.execute(&format!(
                    "create trigger room before insert on jobs for each row \
                     signal sqlstate '45000' set message_text = '{said}'"
                ))
                .await;
            }
            Database::Sqlite => {
                db.execute(&format!(
                    "create trigger room before insert on jobs begin select raise(abort, '{said}'); end"
                ))
                .await;
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, "jobs_dlq").await;
        // What is kept for an undo is the row as it stands: here nothing is.
        let options = Options { no_archive: true, ..Options::default() };
        let scope = ActionScope::Filter(Filter::parse("state:dead").expect("a filter"));
        let ask = Ask { options, ..Ask::new(scope, Action::Replay, Timestamp::now()) };
        let plan = freeze(&desk, &ledger, ask, &budget(), |_| {}).await.expect("a plan");
        let splits = format!("{:?} {:?} {:?}", plan.breakdown.by_error, plan.breakdown.by_class, plan.warnings);
        let receipt = go(&desk, &ledger, &plan.run).await;
        assert_eq!(receipt.run.tally.failed_total(), 30, "{receipt:?}");
        let jobs = ledger.cohorts().jobs(&plan.run, CohortPart::All, 0, 100).await.expect("jobs");
        for told in [splits, format!("{receipt:?}"), format!("{jobs:?}")] {
            assert!(!told.contains(secret), "{:?}: {told}", db.engine);
        }
        for file in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = file.expect("a file").path();
            if path.is_dir() {
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{:?}: {}", db.engine, path.display());
        }
    }
}
