//! delayed_job: its table on PostgreSQL and MariaDB, with rows that 4.2.0 wrote and rows of our own for what is rare.

use std::collections::BTreeMap;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::domain::text::Untrusted;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::{Cursor, Entry, Sort, Store};
use serde_json::{Map, Value, json};

use super::bench::{act, changes, checked, detail, detection, fixture, id, literal, toml_rows, undo, whole};
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_server, postgres};
use crate::store_desk::{apply, bars, batch, budget, exhaust, filter, histogram};

/// What stands in a fixture's row beside its columns: what is to be read from it.
const READ: [&str; 3] = ["job_class", "message", "backtrace"];
/// The lock that the worker which failed last left on each dead row.
const LOCK: &str = "'2026-11-20 07:43:46', 'host:web-1 pid:4242'";

pub async fn seeded(name: &str) -> Vec<(TestDb, Vec<Map<String, Value>>)> {
    let mut out = Vec::new();
    for db in every_server(name).await {
        if db.engine != Engine::Sqlite {
            let rows = seed(&db).await;
            out.push((db, rows));
        }
    }
    out
}

pub async fn seed(db: &TestDb) -> Vec<Map<String, Value>> {
    db.execute(&fixture(&format!("delayed_job/{}.sql", db.engine.name()))).await;
    let rows = toml_rows("delayed_job/rows.toml");
    for row in &rows {
        let cells: Vec<(&String, &Value)> = row.iter().filter(|(name, _)| !READ.contains(&name.as_str())).collect();
        let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
        let values: Vec<String> = cells.iter().map(|(_, value)| literal(db.engine, value)).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let (lock, locked) = match row.contains_key("failed_at") {
            true => (", locked_at, locked_by", format!(", {LOCK}")),
            false => ("", String::new()),
        };
        db.execute(&format!(
            "insert into delayed_jobs (run_at, created_at, updated_at, {names}{lock}) values \
             ('2026-11-20 07:43:45.138534', '2026-11-20 07:43:00', '2026-11-20 07:43:46.149732', {values}{locked})"
        ))
        .await;
    }
    rows
}

#[tokio::test]
async fn it_is_found_in_any_schema_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("delayed_found").await;
    db.execute(&format!("create schema shop; set search_path to shop; {}", fixture("delayed_job/postgres.sql"))).await;
    db.execute(
        "create schema late; create table late.delayed_jobs (id bigint primary key, handler text, run_at timestamp)",
    )
    .await;
    let detection = detection(&db).await;
    let found: Vec<(&str, &str)> = detection.found.iter().map(|f| (f.adapter.as_str(), f.schema.as_str())).collect();
    assert_eq!(found, [("delayed_job", "shop")], "{detection:?}");
    let of = |r: &&dlq_tui::store::sql::Rejected| r.adapter == "delayed_job" && r.schema == "late";
    let reasons = detection.rejected.iter().find(of).map(|r| format!("{:?}", r.reasons)).unwrap_or_default();
    assert!(reasons.contains("delayed_jobs has no column failed_at"), "{reasons}");
}

#[tokio::test]
async fn every_row_is_read_as_the_library_reads_it() {
    for (db, rows) in seeded("delayed_rows").await {
        let (store, missing) = checked(&db, "delayed_job").await;
        assert!(missing.len() == 1 && missing[0].contains("failed_at"), "{missing:?}");
        for row in &rows {
            let told = format!("{} {}", db.engine.name(), id(row));
            let detail = detail(&store, id(row)).await;
            let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
            let expected = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
            assert_eq!(text(&detail.row.job_class), expected("job_class"), "{told}");
            assert_eq!(text(&detail.message), expected("message"), "{told}");
            assert_eq!(text(&detail.backtrace), expected("backtrace"), "{told}");
            assert_eq!(text(&detail.row.queue), expected("queue"), "{told}");
            assert_eq!(detail.row.attempts, row["attempts"].as_i64(), "{told}");
            let stored = detail.metadata.iter().find(|(name, _)| name == "handler").and_then(|(_, v)| text(v));
            assert_eq!(stored, expected("handler"), "{told}: as it is stored it is shown too");
            assert_eq!(detail.decoded_from, ["handler"]);
        }
        let charge = arguments(&store, 2).await;
        let expected = r#"{"__class":"Delayed::PerformableMethod","object":{"__class":"Biller","n":3},"method_name":":charge!","args":[100,{"currency":"EUR"}]}"#;
        assert_eq!(charge, expected);
        let mail: Value = serde_json::from_str(&arguments(&store, 20).await).expect("JSON");
        assert_eq!(mail["args"][0], mail["args"][1], "an alias is written out");
        assert_eq!(mail["args"][0], json!({"__class": "User", "password": "hunter2", "name": "Zoë"}));
        assert_eq!(arguments(&store, 21).await, "{{{", "what is no YAML stays");
    }
}

async fn arguments(store: &dyn Store, id: i64) -> String {
    detail(store, id).await.arguments.map(|a| a.exact().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn lists_counts_and_filters_look_at_the_dead_alone_and_into_handlers() {
    for (db, _) in seeded("delayed_lists").await {
        let (store, _) = checked(&db, "delayed_job").await;
        let name = db.engine.name();
        for (text, expected) in [
            ("", vec![1, 2, 3, 4, 7, 9, 20, 21]),
            ("args.args.currency:EUR", vec![2]),
            ("args.job_data.arguments.amount:1999", vec![4]),
            ("args.__class:*PerformableM*", vec![2, 3, 20]),
            ("args.job_data.queue_name:billing class:Charge*", vec![4]),
            ("args.args.name:Zoë", vec![20]),
            ("worker:*4242 queue:mail", vec![1]),
            ("state:retrying", vec![30, 31, 32]),
        ] {
            let list = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 3).await;
            let mut ids: Vec<i64> = list.iter().filter_map(|e| e.row.id.as_str().parse().ok()).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{name} {text}");
        }
        let by_class = bars(&histogram(&store, Facet::Class, &Filter::all()).await.histogram);
        assert_eq!((by_class.len(), by_class[&Some("Biller#charge!".to_owned())]), (8, 1), "{name}: {by_class:?}");
        let words: BTreeMap<String, String> =
            exhaust(&store, &filter("state:retrying"), Sort::default(), Cursor::Start, 9)
                .await
                .iter()
                .map(|e| (e.row.id.as_str().to_owned(), e.row.native_state.exact().to_owned()))
                .collect();
        let expected = [("30", "queued"), ("31", "running"), ("32", "retrying")]
            .map(|(id, word)| (id.to_owned(), word.to_owned()));
        assert_eq!(words, BTreeMap::from(expected), "{name}");
    }
}

#[tokio::test]
async fn a_secret_in_a_handler_is_hidden_where_the_handler_is_shown_as_stored_too() {
    for (db, _) in seeded("delayed_secret").await {
        let shown = User::of(&db).run(&["show", "20", "-o", "json"]).out;
        assert!(shown.contains("[redacted]") && shown.contains("Zoë") && !shown.contains("hunter2"), "{shown}");
        let revealed = User::of(&db).run(&["show", "20", "-o", "json", "--reveal"]).out;
        assert!(revealed.contains("hunter2"), "{revealed}");
    }
}

#[tokio::test]
async fn a_replay_takes_the_stale_lock_off_and_gives_all_attempts_anew() {
    for (db, _) in seeded("delayed_replay").await {
        let user = User::of(&db);
        let before = whole(&db, "delayed_jobs").await;
        let receipt = act(&user, "replay", &[1, 4, 9, 30, 31], &[]);
        assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(3), &json!(3)), "{receipt}");
        let after = whole(&db, "delayed_jobs").await;
        let mut expected: Vec<String> = Vec::new();
        for id in [1, 4, 9] {
            let cells = ["failed_at=null", "locked_at=null", "locked_by=null", "run_at=<now>", "updated_at=<now>"];
            expected.extend(cells.map(|cell| format!("{id}.{cell}")));
            // Whose class was gone never had an attempt.
            expected.extend((id != 9).then(|| format!("{id}.attempts=0")));
        }
        expected.sort();
        let mut changed = changes(&before, &after);
        changed.sort();
        assert_eq!(changed, expected, "{}", db.engine.name());
        // What a worker asks for: due, not failed, and not locked by another within its time.
        let due = "select count(*) from delayed_jobs where failed_at is null and locked_at is null and id in (1, 4, 9)";
        assert_eq!(db.scalar(due).await, "3");
        let again = act(&user, "replay", &[1, 4, 9], &[]);
        assert_eq!(again["done"], 0, "{again}");
        assert_eq!(whole(&db, "delayed_jobs").await, after);
        assert_eq!(undo(&user, &receipt)["done"], 3);
        assert_eq!(changes(&before, &whole(&db, "delayed_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
    }
}

#[tokio::test]
async fn one_more_try_keeps_the_attempts_and_a_queue_and_a_time_can_be_given() {
    for (db, _) in seeded("delayed_options").await {
        let user = User::of(&db);
        let before = whole(&db, "delayed_jobs").await;
        let receipt = act(&user, "replay", &[2, 3], &["--attempts", "once", "--to-queue", "slow", "--spread", "10h"]);
        assert_eq!(receipt["done"], 2, "{receipt}");
        let changed = changes(&before, &whole(&db, "delayed_jobs").await);
        assert!(!changed.iter().any(|cell| cell.contains("attempts")), "{changed:?}");
        assert_eq!(
            changed.iter().filter(|cell| cell.ends_with("queue=\"slow\"") || cell.ends_with("queue=slow")).count(),
            2
        );
        assert!(changed.iter().any(|cell| cell.ends_with("run_at=<later>")), "{changed:?}");
        assert_eq!(undo(&user, &receipt)["done"], 2);
        assert_eq!(changes(&before, &whole(&db, "delayed_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
    }
}

#[tokio::test]
async fn what_a_worker_took_or_failed_again_is_left_to_it() {
    for (db, _) in seeded("delayed_taken").await {
        let user = User::of(&db);
        let receipt = act(&user, "replay", &[1, 2, 3, 4], &["--attempts", "once"]);
        db.execute("update delayed_jobs set locked_at = run_at, locked_by = 'w' where id = 1").await;
        db.execute("update delayed_jobs set failed_at = run_at, attempts = attempts + 1 where id = 2").await;
        db.execute("delete from delayed_jobs where id = 3").await;
        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 1, "{}: {undone}", db.engine.name());
        let dead = db.column("select id from delayed_jobs where failed_at is not null and id < 5 order by id").await;
        assert_eq!(dead, ["2", "4"], "{}", db.engine.name());
    }
}

#[tokio::test]
async fn discarded_jobs_come_back_as_they_were_and_the_rest_is_refused_or_told() {
    for (db, _) in seeded("delayed_discard").await {
        let user = User::of(&db);
        let before = whole(&db, "delayed_jobs").await;
        let receipt = act(&user, "discard", &[1, 20, 30], &[]);
        assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(2), &json!(2)), "{receipt}");
        assert_eq!(changes(&before, &whole(&db, "delayed_jobs").await), ["1 gone", "20 gone"]);
        assert_eq!(undo(&user, &receipt)["done"], 2);
        assert_eq!(changes(&before, &whole(&db, "delayed_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
        let (store, _) = checked(&db, "delayed_job").await;
        let ids: Vec<JobId> = ["1", "30", "31", "99"].map(JobId::new).into();
        let fates: Vec<ReplayOutcome> =
            store.outcomes(&ids, &[], &budget()).await.expect("fates").into_iter().map(|(_, f)| f.outcome).collect();
        assert_eq!(
            fates,
            [
                ReplayOutcome::DiedAgain(None),
                ReplayOutcome::Waiting,
                ReplayOutcome::Running,
                ReplayOutcome::Gone(GoneMeaning::Succeeded)
            ]
        );
        let purged = apply(&store, batch(Action::Purge, ["1", "2", "31"].map(JobId::new))).await;
        assert_eq!(purged.values().filter(|result| **result == JobResult::Done).count(), 2);
        for action in [Action::Ignore, Action::Reopen] {
            let refused = store.apply(batch(action, [JobId::new("4")]), &budget()).await;
            assert!(refused.broke.is_some_and(|broke| broke.error.to_string().contains("ignored")), "{action}");
        }
    }
}

#[tokio::test]
async fn lists_go_by_the_time_of_death_where_an_index_serves_it_and_dead_rows_can_be_archived() {
    for (db, _) in seeded("delayed_order").await {
        let name = db.engine.name();
        db.execute("update delayed_jobs set failed_at = '2026-11-21 00:00:00', updated_at = '2026-11-22 00:00:00' where id = 3").await;
        db.execute("update delayed_jobs set failed_at = '2026-11-01 00:00:00', updated_at = null where id = 21").await;
        let first_and_last = async |store: &dyn Store| {
            let list = exhaust(store, &Filter::all(), Sort::default(), Cursor::Start, 3).await;
            let id = |entry: Option<&Entry>| entry.map(|e| e.row.id.as_str().to_owned()).unwrap_or_default();
            (id(list.first()), id(list.last()))
        };
        let (store, missing) = checked(&db, "delayed_job").await;
        assert_eq!(first_and_last(&store).await, ("21".to_owned(), "1".to_owned()), "{name}: by the key");
        db.execute(&missing[0]).await;
        let (store, missing) = checked(&db, "delayed_job").await;
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(first_and_last(&store).await, ("3".to_owned(), "21".to_owned()), "{name}: by the time");
        let calendar =
            |at: Option<Timestamp>| at.and_then(|at| at.calendar()).map(|at| at.to_string()[..10].to_owned());
        let row = detail(&store, 3).await.row;
        assert_eq!(calendar(row.at).as_deref(), Some("2026-11-21"), "{name}");
        // Alive: the last that is known of it.
        assert_eq!(calendar(detail(&store, 30).await.row.at).as_deref(), Some("2026-11-20"), "{name}");
        let idle = exhaust(&store, &filter("since:2026-11-20T12:00:00Z"), Sort::default(), Cursor::Start, 3).await;
        assert_eq!(idle.len(), 1, "{name}");

        let before = whole(&db, "delayed_jobs").await;
        let archived = act(&User::of(&db), "archive", &[3, 21, 30], &[]);
        assert_eq!((&archived["done"], db.count("delayed_jobs_archive").await), (&json!(2), 2), "{name}: {archived}");
        assert_eq!(changes(&before, &whole(&db, "delayed_jobs").await), ["3 gone", "21 gone"], "{name}");
    }
}
