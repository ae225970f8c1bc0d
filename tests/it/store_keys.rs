//! Keys that more than one row has: an adapter that names half of what is unique, or a live queue with two of a job.

use std::sync::Arc;

use dlq_tui::adapter::Adapter;
use dlq_tui::db::Engine as Connected;
use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::job::JobId;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::Store;
use dlq_tui::store::sql::{CheckFinding, Found, OpenOptions, SqlStore, check, detect, open, untold_key};

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::run::{desk, go, plan};
use crate::store_desk::*;

/// Dead jobs of many tenants, of whom each counts from one; the adapter knows nothing of tenants.
const TENANTS: &str = r#"
name = "tenant_dead"
title = "Tenants"
table = "tenant_dead"
key = { column = "id", kind = "int" }

[detect.columns]
tenant = "text"
id = "int"
died_at = "time"

[order]
time = { column = "died_at", kind = "utc" }

[fields]
at = { column = "died_at", kind = "utc" }
arguments = { column = "body", kind = "text" }

[states]
dead = ["dead"]

[verbs.replay]
when = "t.gone = 0"
steps = [
    { sql = "INSERT INTO {schema}.tenant_jobs (body) SELECT t.body FROM {table} AS t JOIN {batch} ON t.id = b.id" },
    { sql = "DELETE FROM {table} AS t WHERE {ids}" },
]
[mysql.verbs.replay]
steps = [
    { sql = "INSERT INTO {schema}.tenant_jobs (body) SELECT t.body FROM {table} AS t JOIN {batch} ON t.id = b.id" },
    { sql = "DELETE t FROM {table} AS t WHERE {ids}" },
]

[verbs.discard]
when = "t.gone = 0"
archive = true
steps = [{ sql = "DELETE FROM {table} AS t WHERE {ids}" }]
[mysql.verbs.discard]
steps = [{ sql = "DELETE t FROM {table} AS t WHERE {ids}" }]

[verbs.archive]
when = "t.gone = 0"

[verbs.purge]
when = "t.gone = 0"
steps = [{ sql = "DELETE FROM {table} AS t WHERE {ids}" }]
[mysql.verbs.purge]
steps = [{ sql = "DELETE t FROM {table} AS t WHERE {ids}" }]
"#;

/// The job 5 of two tenants; the job 6 of one; and the job 7 of two, of which one is not dead any more.
async fn seed(db: &TestDb, unique: &str) {
    let time = if db.engine == Engine::Mysql { "datetime(6)" } else { "timestamp" };
    db.execute(&format!(
        "create table tenant_dead (tenant varchar(20) not null, id integer not null, body varchar(100) not null, \
         gone integer not null, died_at {time} not null{unique}); create table tenant_jobs (body varchar(100))"
    ))
    .await;
    for (tenant, id, gone) in [("ours", 5, 0), ("theirs", 5, 0), ("ours", 6, 0), ("ours", 7, 0), ("theirs", 7, 1)] {
        let body = format!("[\"{tenant}\", {id}]");
        db.execute(&format!(
            "insert into tenant_dead values ('{tenant}', {id}, '{body}', {gone}, '2026-11-18 09:00:00')"
        ))
        .await;
    }
}

const BY_TENANT: &str = ", primary key (tenant, id)";

async fn found(db: &TestDb, adapter: &Adapter) -> (Arc<Connected>, Found) {
    let engine = engine(db).await;
    let detection = detect(&engine, std::slice::from_ref(adapter), &budget()).await.expect("a detection");
    let found = detection.found.first().unwrap_or_else(|| panic!("not found: {detection:?}")).clone();
    (engine, found)
}

async fn tenants(db: &TestDb) -> SqlStore {
    let adapter = Adapter::parse(TENANTS, None).unwrap_or_else(|e| panic!("{e}"));
    let (engine, found) = found(db, &adapter).await;
    open(engine, &adapter, &found, &OpenOptions::default(), &budget()).await.expect("a store")
}

#[tokio::test]
async fn a_job_whose_key_another_row_has_too_is_left_alone_by_every_verb_and_costs_no_other_job() {
    for action in [Action::Replay, Action::Discard, Action::Archive, Action::Purge] {
        for db in harness::every_engine("tenants").await {
            let name = format!("{action} on {}", db.engine.name());
            seed(&db, BY_TENANT).await;
            let store = tenants(&db).await;
            store.plan().prepare(action, &budget()).await.expect("a place");
            let shelf = Arc::new(Shelf::default());
            let ids = ["5", "6", "7"].map(JobId::new);
            let results = apply(&store, dlq_tui::store::Batch { journal: Some(shelf), ..batch(action, ids) }).await;
            assert_eq!(results[&JobId::new("6")], JobResult::Done, "{name}");
            for id in ["5", "7"] {
                match &results[&JobId::new(id)] {
                    JobResult::Failed(why) => assert!(why.exact().contains("key is not unique"), "{name}: {why:?}"),
                    other => panic!("{name}: job {id} is {other:?}"),
                }
                assert_eq!(
                    db.scalar(&format!("select count(*) from tenant_dead where id = {id}")).await,
                    "2",
                    "{name}"
                );
            }
            assert_eq!(db.count("tenant_jobs").await, u64::from(action == Action::Replay), "{name}");
        }
    }
}

/// The adapter of whoever knows of tenants, as far as its key goes.
fn scoped() -> String {
    TENANTS.replace(
        "key = { column = \"id\", kind = \"int\" }",
        "key = { column = \"id\", kind = \"int\" }\nscope = { column = \"tenant\", kind = \"text\" }",
    )
}

async fn of_key(db: &TestDb, text: &str) -> CheckFinding {
    let adapter = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
    let (engine, found) = found(db, &adapter).await;
    let findings = check(&engine, &adapter, &found, None, &budget()).await.expect("findings");
    findings.into_iter().find(|finding| finding.what == "key").expect("a finding")
}

#[tokio::test]
async fn a_check_faults_a_key_that_no_unique_index_covers() {
    let scoped = scoped();
    for db in harness::every_engine("keys").await {
        let name = db.engine.name();
        seed(&db, BY_TENANT).await;
        let why = of_key(&db, TENANTS).await.verdict.expect_err(name);
        assert!(why.contains("covers id") && why.contains("scope"), "{name}: {why}");
        assert_eq!(of_key(&db, &scoped).await.verdict, Ok(()), "{name}");
        db.execute("drop table tenant_dead; drop table tenant_jobs").await;
        seed(&db, "").await;
        assert!(of_key(&db, &scoped).await.verdict.is_err(), "{name}: no index at all");
        db.execute(
            "create index plain on tenant_dead (id); create unique index wide on tenant_dead (tenant, id, gone)",
        )
        .await;
        assert!(of_key(&db, &scoped).await.verdict.is_err(), "{name}: none that says so");
        db.execute("delete from tenant_dead where tenant = 'theirs'; create unique index one on tenant_dead (id)")
            .await;
        assert_eq!(of_key(&db, TENANTS).await.verdict, Ok(()), "{name}");
        assert_eq!(of_key(&db, &scoped).await.verdict, Ok(()), "{name}");
    }
}

/// What a check says of the key where it cannot tell; the key itself must not be faulted.
async fn untold(db: &TestDb, text: &str) -> Option<String> {
    assert_eq!(of_key(db, text).await.verdict, Ok(()), "{}", db.engine.name());
    let adapter = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
    let (engine, found) = found(db, &adapter).await;
    untold_key(&engine, &adapter, &found)
}

#[tokio::test]
async fn of_a_view_and_of_a_partitioned_table_it_is_said_that_it_cannot_be_told() {
    for db in harness::every_engine("views").await {
        seed(&db, BY_TENANT).await;
        db.execute("alter table tenant_dead rename to dead_rows; create view tenant_dead as select * from dead_rows")
            .await;
        let why = untold(&db, TENANTS).await.expect("a doubt");
        assert!(why.starts_with("tenant_dead is a view"), "{}: {why}", db.engine.name());
    }
    let Some(server) = harness::postgres() else { return };
    let db = server.database("parts").await;
    seed(
        &db,
        &format!(
            "{BY_TENANT}) partition by list (tenant); create table rest partition of tenant_dead default; \
                            create table spare (id integer"
        ),
    )
    .await;
    let why = untold(&db, TENANTS).await.expect("a doubt");
    assert!(why.starts_with("tenant_dead is partitioned"), "{why}");
    assert_eq!(untold(&db, &scoped()).await, None);
    let results = apply(&tenants(&db).await, batch(Action::Purge, ["5", "6"].map(JobId::new))).await;
    assert!(matches!(&results[&JobId::new("5")], JobResult::Failed(_)), "{results:?}");
    assert_eq!(db.count("tenant_dead").await, 4);
}

#[tokio::test]
async fn a_replay_is_not_undone_where_the_live_queue_has_the_job_twice() {
    for db in harness::every_engine("twice").await {
        let name = db.engine.name();
        Layout::DeadLetterJobs.seed(&db, 40).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, Layout::DeadLetterJobs.table()).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        let done = go(&desk, &ledger, &run).await.run.tally.done;
        db.execute(
            "insert into jobs (payload, attempts, run_after) select payload, attempts, run_after from jobs limit 1",
        )
        .await;
        let before = db.count("jobs").await;
        let ask = dlq_tui::triage::freeze::Ask::new(
            dlq_tui::triage::plan::ActionScope::Undo(run, Vec::new()),
            Action::Recall,
            dlq_tui::domain::time::Timestamp::now(),
        );
        let undo = dlq_tui::triage::freeze::freeze(&desk, &ledger, ask, &budget(), |_| {}).await.expect("a plan");
        let tally = go(&desk, &ledger, &undo.run).await.run.tally;
        assert_eq!((tally.done + 1, db.count("jobs").await), (done, before - tally.done), "{name}: {tally:?}");
        assert_eq!(tally.failed_total(), 1, "{name}: {tally:?}");
    }
}
