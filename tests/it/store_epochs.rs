//! Columns that count time since 1970: read and written in the unit that their values are in, and left alone where that is
//! not known.

use dlq_tui::adapter::Adapter;
use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::{Detection, OpenOptions, ReplayDestination, SqlStore, check, detect, open};
use dlq_tui::store::{Availability, Cursor, Sort, Store};

use crate::cli::User;
use crate::harness::{Engine, TestDb, every_engine};
use crate::store_desk::{adapter, apply, bars, batch, budget, engine, exhaust, filter, histogram};

const UNITS: [(&str, i64); 3] = [("seconds", 1), ("milliseconds", 1_000), ("microseconds", 1_000_000)];
/// 2026-11-20 10:00 UTC.
const DIED: i64 = 1_795_168_800;

fn key(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "bigserial primary key",
        Engine::Mysql => "bigint auto_increment primary key",
        Engine::Sqlite => "integer primary key autoincrement",
    }
}

fn json(engine: Engine) -> &'static str {
    if engine == Engine::Postgres { "jsonb" } else { "text" }
}

/// `jobs` and `jobs_dlq`, with times of a type.
async fn queue(db: &TestDb, of: &str) {
    let (key, json) = (key(db.engine), json(db.engine));
    db.execute("drop table if exists jobs").await;
    db.execute("drop table if exists jobs_dlq").await;
    db.execute(&format!(
        "create table jobs (id {key}, payload {json}, attempts int, max_attempts int, run_after {of}, locked_at {of})"
    ))
    .await;
    db.execute(&format!(
        "create table jobs_dlq (id {key}, original_id bigint, payload {json}, attempts int, error_class text, \
         error_msg text, stacktrace text, failed_by text, failed_at {of})"
    ))
    .await;
}

async fn dead(db: &TestDb, at: &str) {
    db.execute(&format!(
        "insert into jobs_dlq (payload, attempts, error_class, failed_at) values ('{{\"class\":\"A\"}}', 3, 'E', {at})"
    ))
    .await;
}

async fn found(db: &TestDb, adapters: &[Adapter]) -> Detection {
    detect(&*engine(db).await, adapters, &budget()).await.expect("a detection")
}

async fn opened(db: &TestDb, adapter: &Adapter, table: Option<&str>) -> SqlStore {
    let detection = found(db, std::slice::from_ref(adapter)).await;
    let found = detection.found.first().unwrap_or_else(|| panic!("{detection:?}"));
    let engine = engine(db).await;
    for finding in check(&engine, adapter, found, table, &budget()).await.expect("findings") {
        assert_eq!(finding.verdict, Ok(()), "{} {}", db.engine.name(), finding.what);
    }
    unchecked(db, adapter, table).await
}

async fn unchecked(db: &TestDb, adapter: &Adapter, table: Option<&str>) -> SqlStore {
    let detection = found(db, std::slice::from_ref(adapter)).await;
    let found = detection.found.first().unwrap_or_else(|| panic!("{detection:?}"));
    let engine = engine(db).await;
    let destination = table.map_or(ReplayDestination::None, |table| ReplayDestination::Table(table.to_owned()));
    let options = OpenOptions { destination, ..OpenOptions::default() };
    open(engine, adapter, found, &options, &budget()).await.expect("a store")
}

fn refused(store: &SqlStore, action: Action) -> Option<String> {
    store.info().capabilities.actions.iter().find(|(a, _)| *a == action).and_then(
        |(_, availability)| match availability {
            Availability::Disabled(why) => Some(why.clone()),
            Availability::Ready { .. } => None,
        },
    )
}

/// Whether a column that was written lies within a minute of now, in a unit.
async fn is_now(db: &TestDb, what: &str, per_second: i64) -> bool {
    let now = chrono::Utc::now().timestamp() * per_second;
    let written: i64 = db.scalar(&format!("select {what}")).await.parse().expect("a whole number");
    (written - now).abs() < 60 * per_second
}

#[tokio::test]
async fn epochs_are_read_and_written_in_their_own_unit() {
    for db in every_engine("epochs").await {
        for (unit, per_second) in UNITS {
            let told = format!("{} {unit}", db.engine.name());
            queue(&db, "bigint").await;
            dead(&db, &(DIED * per_second).to_string()).await;
            dead(&db, "NULL").await;
            db.execute(&format!("insert into jobs (payload, run_after) values ('{{}}', {})", DIED * per_second)).await;
            let store = opened(&db, &adapter("jobs_dlq"), None).await;
            let rows = exhaust(&store, &filter("since:2026-11-20T09:30"), Sort::default(), Cursor::Start, 5).await;
            let times: Vec<i64> = rows.iter().filter_map(|entry| Some(entry.row.at?.0)).collect();
            assert_eq!(times, [DIED * 1_000_000], "{told}");
            let earlier = exhaust(&store, &filter("until:2026-11-20"), Sort::default(), Cursor::Start, 5).await;
            assert!(earlier.is_empty(), "{told}");
            let hours = bars(&histogram(&store, Facet::Hour, &Filter::all()).await.histogram);
            assert_eq!(hours.get(&Some("2026-11-20T10".to_owned())), Some(&1), "{told} {hours:?}");
            let results = apply(&store, batch(Action::Replay, [JobId::new("1")])).await;
            assert!(results.values().all(|r| matches!(r, JobResult::Done)), "{told} {results:?}");
            assert!(is_now(&db, "max(run_after) from jobs", per_second).await, "{told}");
            // A replay is known again by its microsecond alone.
            assert_eq!(refused(&store, Action::Recall).is_some(), per_second < 1_000_000, "{told}");
        }
    }
}

#[tokio::test]
async fn a_replayed_event_is_due_in_the_unit_of_its_table() {
    for db in every_engine("epoch_events").await {
        for (unit, per_second) in UNITS {
            let told = format!("{} {unit}", db.engine.name());
            let (key, json) = (key(db.engine), json(db.engine));
            db.execute("drop table if exists dlq_events").await;
            db.execute(&format!(
                "create table dlq_events (id {key}, event_type varchar(255), payload {json}, error_reason text, error_stacktrace \
                 text, status varchar(20), retry_count int, retry_after bigint, created_at bigint, updated_at bigint)"
            ))
            .await;
            let at = DIED * per_second;
            db.execute(&format!(
                "insert into dlq_events (event_type, payload, error_reason, status, retry_count, retry_after, created_at, \
                 updated_at) values ('a', '{{}}', 'E: x', 'FAILED_PERMANENTLY', 2, {at}, {at}, {at})"
            ))
            .await;
            let store = opened(&db, &adapter("dlq_events"), None).await;
            let rows = exhaust(&store, &filter("at:2026-11-20"), Sort::default(), Cursor::Start, 5).await;
            assert_eq!(rows.len(), 1, "{told}");
            let results = apply(&store, batch(Action::Replay, [JobId::new("1")])).await;
            assert!(results.values().all(|r| matches!(r, JobResult::Done)), "{told} {results:?}");
            assert!(is_now(&db, "retry_after from dlq_events", per_second).await, "{told}");
            assert!(is_now(&db, "updated_at from dlq_events", per_second).await, "{told}");
        }
    }
}

#[tokio::test]
async fn a_live_table_that_counts_is_given_its_unit() {
    for db in every_engine("epoch_target").await {
        let told = db.engine.name();
        queue(&db, "bigint").await;
        let json = json(db.engine);
        let (id, of) = if db.engine == Engine::Postgres { ("uuid", "bigint") } else { ("char(36)", "bigint") };
        db.execute(&format!(
            "create table dead_letter_jobs (id {id} primary key, job_class varchar(255), job_id varchar(255), queue_name \
             varchar(255), arguments {json}, error_class varchar(255), error_message text, error_backtrace {json}, failed_at {of}, \
             status varchar(20) default 'failed', metadata {json}, created_at {of}, updated_at {of})"
        ))
        .await;
        let key = "00000000-0000-4000-8000-000000000001";
        let millis = DIED * 1_000;
        db.execute(&format!(
            "insert into dead_letter_jobs (id, job_class, job_id, arguments, error_class, failed_at, metadata, updated_at) \
             values ('{key}', 'A', 'j1', '[]', 'E', {millis}, '{{}}', {millis})"
        ))
        .await;
        let store = unchecked(&db, &adapter("dead_letter_jobs"), Some("jobs")).await;
        let why = refused(&store, Action::Replay).unwrap_or_else(|| panic!("{told}: an empty table was replayed into"));
        assert!(why.contains("jobs.run_after is") && why.contains("no row tells"), "{told}: {why}");
        db.execute(&format!("insert into jobs (payload, run_after) values ('{{}}', {DIED})")).await;
        let store = opened(&db, &adapter("dead_letter_jobs"), Some("jobs")).await;
        assert_eq!(refused(&store, Action::Replay), None, "{told}");
        let results = apply(&store, batch(Action::Replay, [JobId::new(key)])).await;
        assert!(results.values().all(|r| matches!(r, JobResult::Done)), "{told} {results:?}");
        assert!(is_now(&db, "max(run_after) from jobs", 1).await, "{told}");
        assert!(is_now(&db, "updated_at from dead_letter_jobs", 1_000).await, "{told}");
    }
}

#[tokio::test]
async fn an_unknown_unit_is_never_written() {
    for db in every_engine("epoch_unknown").await {
        let told = db.engine.name();
        queue(&db, "bigint").await;
        let rejected = |detection: Detection| {
            assert!(detection.found.is_empty(), "{told} {detection:?}");
            detection.rejected.first().map(|rejected| rejected.why()).unwrap_or_default()
        };
        let own = [adapter("jobs_dlq")];
        // An empty queue is one, from which nothing is replayed until a value tells.
        let store = unchecked(&db, &own[0], Some("jobs")).await;
        let why = refused(&store, Action::Replay).unwrap_or_default();
        assert!(why.contains("jobs_dlq.failed_at is") && why.contains("epoch_s"), "{told}: {why}");
        for odd in ["20261127163555", "20261127"] {
            queue(&db, "bigint").await;
            dead(&db, odd).await;
            let why = rejected(found(&db, &own).await);
            assert!(why.contains(odd), "{told}: {why}");
        }
        queue(&db, "bigint").await;
        dead(&db, &DIED.to_string()).await;
        dead(&db, &(DIED * 1_000).to_string()).await;
        assert!(rejected(found(&db, &own).await).contains("several kinds"), "{told}");
        // The dead tell their unit, and the empty queue does not tell its own.
        queue(&db, "bigint").await;
        dead(&db, &DIED.to_string()).await;
        let store = opened(&db, &own[0], None).await;
        let why = refused(&store, Action::Replay).unwrap_or_else(|| panic!("{told}: a guess"));
        assert!(why.contains("jobs.run_after is"), "{told}: {why}");
        assert!(store.info().warnings.iter().any(|warning| warning.contains("jobs.run_after")), "{told}");
        assert_eq!(refused(&store, Action::Discard), None, "{told}");
        // An adapter file says it.
        let text = own[0].text.replace("run_after = \"time_or_epoch\"", "run_after = \"epoch_ms\"");
        let said = Adapter::parse(&text, None).expect("an adapter");
        let store = opened(&db, &said, None).await;
        let results = apply(&store, batch(Action::Replay, [JobId::new("1")])).await;
        assert!(results.values().all(|r| matches!(r, JobResult::Done)), "{told} {results:?}");
        assert!(is_now(&db, "max(run_after) from jobs", 1_000).await, "{told}");
    }
}

#[tokio::test]
async fn a_type_that_holds_no_time_is_refused() {
    for db in every_engine("epoch_types").await {
        let refused: &[(&str, &str)] = match db.engine {
            Engine::Postgres => &[
                ("double precision", "1795168800.5"),
                ("text", "'2026-11-20 10:00:00'"),
                ("text", "'1795168800'"),
                ("interval", "'1 day'"),
                ("time", "'10:00'"),
                ("boolean", "true"),
                ("bytea", "'x'"),
                ("tstzrange", "NULL"),
                ("numeric(20,3)", "1795168800.5"),
            ],
            Engine::Mysql => &[
                ("double", "1795168800.5"),
                ("varchar(40)", "'1795168800'"),
                ("time", "'10:00'"),
                ("year", "2026"),
                ("decimal(20,3)", "1795168800.5"),
                ("varbinary(20)", "'x'"),
            ],
            Engine::Sqlite => &[
                ("real", "2461000.5"),
                ("text", "'1795168800'"),
                ("datetime", "2461000.5"),
                ("", "'tomorrow'"),
                ("blob", "x'00'"),
            ],
        };
        for (of, value) in refused {
            queue(&db, of).await;
            dead(&db, value).await;
            let detection = found(&db, &[adapter("jobs_dlq")]).await;
            assert!(detection.found.is_empty(), "{} {of} {value}: {detection:?}", db.engine.name());
            let why = detection.rejected.first().map(|rejected| rejected.why()).unwrap_or_default();
            assert!(why.contains("jobs_dlq.failed_at is"), "{} {of}: {why}", db.engine.name());
        }
    }
}

#[tokio::test]
async fn sqlite_columns_are_what_their_values_are() {
    for db in every_engine("epoch_affinity").await.into_iter().filter(|db| db.engine == Engine::Sqlite) {
        for of in ["datetime", "timestamp", "numeric", "", "integer"] {
            queue(&db, of).await;
            dead(&db, &DIED.to_string()).await;
            db.execute(&format!("insert into jobs (payload, run_after) values ('{{}}', {DIED})")).await;
            let store = opened(&db, &adapter("jobs_dlq"), None).await;
            apply(&store, batch(Action::Replay, [JobId::new("1")])).await;
            let kinds = db.scalar("select group_concat(distinct typeof(run_after)) from jobs").await;
            assert_eq!(kinds, "integer", "{of}");
            assert!(is_now(&db, "max(run_after) from jobs", 1).await, "{of}");
        }
    }
}

#[tokio::test]
async fn a_queue_that_was_emptied_is_one_still_and_is_filled_again_by_an_undo() {
    for db in every_engine("epochs_emptied").await {
        queue(&db, "bigint").await;
        dead(&db, &DIED.to_string()).await;
        // What tells the unit of the live table.
        db.execute(&format!("insert into jobs (payload, attempts, run_after) values ('{{}}', 0, {DIED})")).await;
        let (user, engine) = (User::of(&db), db.engine.name());
        user.run(&["discard", "--all", "--yes"]).with(0);
        user.run(&["check", "--max", "total:0"]).with(0);
        assert_eq!(user.json(&["list", "-o", "json"])["jobs"], serde_json::json!([]), "{engine}");
        let run = user.json(&["runs", "-o", "json"])["runs"][0]["run"].as_str().map(str::to_owned).expect("a run");
        user.run(&["undo", &run, "--yes"]).with(0);
        let list = user.json(&["list", "-o", "json"]);
        assert_eq!(list["jobs"][0]["at"], "2026-11-20T10:00:00.000000Z", "{engine}: {list}");

        // The console is told to open its store anew once a time has come, in whatever unit.
        db.execute("delete from jobs_dlq").await;
        let store = unchecked(&db, &adapter("jobs_dlq"), None).await;
        let look = async |since| store.changes(since, Facet::Error, &Filter::all(), &budget()).await.expect("changes");
        let first = look(None).await;
        dead(&db, &(DIED * 1_000).to_string()).await;
        let second = look(Some(&first.token)).await;
        assert!(second.changed && second.needs_reopen, "{engine}: {second:?}");
    }
}
