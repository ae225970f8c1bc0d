//! Batches of one run that are under way beside each other, and stand before each other's locks.

use dlq_tui::adapter::Adapter;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions};
use dlq_tui::domain::action::Action;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::Store;
use dlq_tui::store::sql::{OpenOptions, detect, open};
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::run::{budget, dead, desk, plan, progress};

/// An application in which every other batch takes a lock when it adds its jobs that all want when they change their rows, for
/// which each waits a while until the next one has added its own: the second of two has what the first needs, and waits for
/// the first to end.
const GATE: &str = "create table gate (n bigint not null); insert into gate values (0); \
    create sequence added; create sequence ready; \
    create function on_add() returns trigger language plpgsql as $$ begin \
    if nextval('added') % 2 = 0 then update gate set n = n + 1; end if; perform nextval('ready'); return null; end $$; \
    create function on_change() returns trigger language plpgsql as $$ begin \
    for i in 1..20 loop \
    exit when (select last_value from ready) > currval('ready'); perform pg_sleep(0.005); end loop; \
    update gate set n = n + 1; return null; end $$; \
    create trigger on_add after insert on jobs for each statement execute function on_add(); \
    create trigger on_change after update on dead_letter_jobs for each statement execute function on_change()";

/// The same where triggers know rows only: one of two sessions takes the lock when it adds its jobs.
const GATE_BY_ROWS: &str = "create table gate (n bigint not null); insert into gate values (0); \
    create sequence ready nocache; create sequence takers nocache; \
    create trigger on_add after insert on jobs for each row begin \
    set @turn = coalesce(@turn, nextval(takers)), @waited = 0, @seen = nextval(ready); \
    if @turn % 2 = 0 then update gate set n = n + 1; end if; end; \
    create trigger on_change after update on dead_letter_jobs for each row begin \
    while @waited < 20 do \
    set @waited = if((select next_not_cached_value from ready) > @seen + 1, 20, @waited + 1); \
    do if(@waited < 20, sleep(0.005), 0); end while; \
    update gate set n = n + 1; end";

#[tokio::test]
async fn batches_that_stand_before_each_others_locks_give_way_and_each_job_is_replayed_once() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("abreast").await;
    // A sequence goes on with jobs that were added and taken back.
    let added = clashing(&db, (1_000, 50), GATE, "select last_value::text from jobs_id_seq").await;
    assert!(added > db.count("jobs").await, "none gave way");
}

#[tokio::test]
async fn the_same_where_a_lock_is_waited_for_by_the_second() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("abreast").await;
    // A small table has one batch at a time.
    let added =
        clashing(&db, (8_000, 400), GATE_BY_ROWS, "select cast(next_not_cached_value - 1 as char) from ready").await;
    assert!(added > db.count("jobs").await, "none gave way");
}

/// Replays all jobs of such an application, each of them once; how many were ever added is told by a statement.
async fn clashing(db: &TestDb, (rows, batch): (u32, usize), gate: &str, added: &str) -> u64 {
    let layout = Layout::DeadLetterJobs;
    layout.seed(db, rows).await;
    db.execute(if db.engine == harness::Engine::Mysql { "analyze table dead_letter_jobs" } else { "analyze" }).await;
    db.execute(gate).await;
    let before = dead(db, layout).await;
    let desk = desk(&db.url, layout.table()).await;
    assert!(desk.store.info().abreast, "the trigger is none of the layout's guards");
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
    let options = RunOptions { batch, ..RunOptions::default() };
    let receipt = execute(&desk, &ledger, &run, options, &RunControl::new(), &progress()).await.expect("a receipt");
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(receipt.run.tally.done, before);
    assert_eq!((dead(db, layout).await, db.count("jobs").await), (0, before));
    db.scalar(added).await.parse().expect("a number")
}

/// Chores that failed, put back by this statement.
async fn is_abreast(db: &TestDb, step: &str) -> bool {
    let adapter = format!(
        "name = \"chores\"\ntitle = \"Chores\"\ntable = \"chores_failed\"\nkey = {{ column = \"id\", kind = \"int\" }}\n\
         [detect.columns]\nfailed_at = \"time\"\n[order]\ntime = {{ column = \"failed_at\", kind = \"utc\" }}\n\
         [fields]\nat = {{ column = \"failed_at\", kind = \"utc\" }}\nstate = {{ sql = \"t.state\", kind = \"text\" }}\n\
         [states]\ndead = [\"failed\"]\n[verbs.replay]\nwhen = \"t.state = 'failed'\"\n\
         steps = [{{ rows = \"any\", sql = \"{step}\" }}]\n"
    );
    let adapters = [Adapter::parse(&adapter, None).expect("an adapter")];
    let engine = Engine::connect(&Target::from_url(&db.url).expect("a target"), &EngineOptions::default()).await;
    let engine = std::sync::Arc::new(engine.expect("an engine"));
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let [found] = &detection.found[..] else { panic!("{:?}", detection.found.len()) };
    let store = open(engine, &adapters[0], found, &OpenOptions::default(), &budget()).await.expect("a store");
    store.info().abreast
}

#[tokio::test]
async fn no_batch_is_begun_behind_another_where_a_step_asks_what_is_there_already() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("looking_around").await;
    db.execute(
        "create table chores_failed (id bigint primary key, kind text, failed_at timestamp, state text); \
         create table chores (id bigint generated always as identity, kind text unique)",
    )
    .await;
    let add = "INSERT INTO {schema}.chores (kind) SELECT t.kind FROM {table} AS t WHERE {ids}";
    let asks = " AND NOT EXISTS (SELECT FROM {schema}.chores AS c WHERE c.kind = t.kind)";
    assert!(is_abreast(&db, add).await);
    assert!(!is_abreast(&db, &format!("{add}{asks}")).await, "the other batch may be about to add it");
    assert!(is_abreast(&db, &format!("{add}{asks} ON CONFLICT DO NOTHING")).await, "the index decides");
}
