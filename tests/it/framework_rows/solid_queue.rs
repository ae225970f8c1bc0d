//! Solid Queue: its tables as 1.5 has them, on all three databases.

use std::collections::BTreeMap;

use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::{Availability, Cursor, Sort, Store};
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use serde_json::{Map, Value, json};

use super::bench::{Rows, changes, checked, detail, detection, fixture, literal, rows, undo, whole};
use super::ruby::{act, error, meanwhile, more, reasons, skipped};
use super::shop::Shop;
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_server, mariadb, postgres};
use crate::repair::edit;
use crate::run::go;
use crate::store_desk::{apply, bars, batch, budget, engine, exhaust, filter, histogram};

const TABLES: [&str; 6] = [
    "jobs",
    "failed_executions",
    "ready_executions",
    "scheduled_executions",
    "blocked_executions",
    "recurring_executions",
];

fn insert(engine: Engine, table: &str, row: &Map<String, Value>) -> String {
    let quote = if engine == Engine::Mysql { '`' } else { '"' };
    let columns: Vec<String> = row.keys().map(|column| format!("{quote}{column}{quote}")).collect();
    let values: Vec<String> = row.values().map(|value| literal(engine, value)).collect();
    format!("insert into solid_queue_{table} ({}) values ({})", columns.join(", "), values.join(", "))
}

pub async fn seed_into(db: &TestDb) {
    db.execute(&fixture(&format!("solid_queue/{}.sql", db.engine.name()))).await;
    for entry in rows("solid_queue/rows.json") {
        let table = entry["in"].as_str().expect("a table");
        db.execute(&insert(db.engine, table, entry["row"].as_object().expect("a row"))).await;
    }
}

async fn seeded(name: &str) -> Vec<TestDb> {
    let databases = every_server(name).await;
    for db in &databases {
        seed_into(db).await;
    }
    databases
}

/// All tables' rows.
async fn all(db: &TestDb) -> BTreeMap<&'static str, Rows> {
    let mut all = BTreeMap::new();
    for table in TABLES {
        all.insert(table, whole(db, &format!("solid_queue_{table}")).await);
    }
    all
}

/// Every table but that of the jobs, whose rows may be compared cell by cell.
fn changed(before: &BTreeMap<&'static str, Rows>, after: &BTreeMap<&'static str, Rows>, table: &str) -> Vec<String> {
    changes(&before[table], &after[table])
}

#[tokio::test]
async fn it_is_found_by_its_tables_together_and_not_by_one_name_alone() {
    for db in every_server("sq_found").await {
        let tables = fixture(&format!("solid_queue/{}.sql", db.engine.name()));
        db.execute(&tables).await;
        assert!(detection(&db).await.found.iter().any(|f| f.adapter == "solid_queue"), "{:?}", db.engine);
        db.execute("drop table solid_queue_blocked_executions").await;
        let detection = detection(&db).await;
        assert!(!detection.found.iter().any(|f| f.adapter == "solid_queue"), "{:?}", db.engine);
        let rejected = detection.rejected.iter().find(|r| r.adapter == "solid_queue").expect("a reason");
        assert_eq!(reasons(rejected), ["there is no table solid_queue_blocked_executions beside it"]);
    }
    let Some(server) = postgres() else { return };
    let db = server.database("sq_schema").await;
    db.execute(&format!("create schema queue; set search_path to queue; {}", fixture("solid_queue/postgres.sql")))
        .await;
    let found = detection(&db).await.found;
    assert_eq!(found.iter().map(|f| f.label()).collect::<Vec<_>>(), ["queue.solid_queue_failed_executions"]);
}

#[tokio::test]
async fn errors_arguments_and_attempts_are_read_out_of_text_whatever_that_holds() {
    for db in seeded("sq_errors").await {
        let (store, _) = checked(&db, "solid_queue").await;
        let name = db.engine.name();
        for entry in rows("solid_queue/rows.json").iter().filter(|entry| entry.contains_key("expect")) {
            let id = entry["row"]["job_id"].as_i64().expect("a job");
            let expect = |name: &str| entry["expect"][name].as_str().map(str::to_owned);
            let [class, message, trace] = error(&store, &id.to_string()).await;
            // What is no character in a database's text stands as one that says so.
            let message = message.map(|message| message.replace('\u{fffd}', "\0"));
            assert_eq!([class, message, trace], ["class", "message", "stack"].map(expect), "{name} {id}");
            let detail = detail(&store, id).await;
            assert_eq!(detail.row.attempts, entry["expect"]["attempts"].as_i64(), "{name} {id}");
            assert_eq!(detail.row.job_class.map(|class| class.exact().to_owned()), expect("job_class"), "{name} {id}");
        }
        let odd = detail(&store, 22).await.arguments.expect("arguments");
        let odd = odd.exact().replace(' ', "");
        let wanted = r#"[{"executions":99,"exception_executions":{}},"a\u0000b",1e400,{"b":1,"a":2}]"#;
        assert_eq!(odd, wanted, "{name}");
        assert_eq!(more(&store, "6", "concurrency key").await.as_deref(), Some("LimitedJob/7"), "{name}");
        for (text, from) in [("", Cursor::Start), ("-msg:/never seen/", Cursor::End)] {
            let dead = exhaust(&store, &filter(text), Sort::default(), from, 3).await;
            let ids: Vec<&str> = dead.iter().map(|entry| entry.row.id.as_str()).collect();
            assert_eq!(ids, ["23", "22", "21", "20", "9", "7", "6", "5", "4", "1"], "{name} {text}");
        }
        let by_error = bars(&histogram(&store, Facet::Error, &Filter::all()).await.histogram);
        assert_eq!((by_error[&Some("IOError".to_owned())], by_error[&None]), (2, 1), "{name}");
        let by_class = bars(&histogram(&store, Facet::Class, &filter("attempts:>2")).await.histogram);
        assert_eq!(by_class.keys().flatten().collect::<Vec<_>>(), ["OddJob", "RetryJob"], "{name}");
        let disabled = store.info().availability(Action::Archive);
        assert!(matches!(&disabled, Availability::Disabled(why) if why.contains("apart from its job")), "{disabled:?}");
    }
}

#[tokio::test]
async fn arguments_nested_deeper_than_the_server_reads_are_listed_with_what_is_around_them() {
    let nested = format!("[{}{}]", "[".repeat(150), "]".repeat(150));
    for db in seeded("sq_deep").await {
        let job = format!(
            r#"{{"job_class":"Deep","arguments":{nested},"executions":3,"exception_executions":{{"[Odd::Error]":3}},"locale":"en"}}"#
        );
        let job = literal(db.engine, &job.into());
        db.execute(&format!("update solid_queue_jobs set arguments = {job} where id = 9")).await;
        let (store, _) = checked(&db, "solid_queue").await;
        let name = db.engine.name();
        let dead = exhaust(&store, &filter(""), Sort::default(), Cursor::Start, 3).await;
        assert_eq!(dead.len(), 10, "{name}");
        let deep = detail(&store, 9).await;
        assert_eq!(deep.row.attempts, Some(4), "{name}");
        assert_eq!(deep.arguments.map(|text| text.exact().to_owned()).as_deref(), Some(nested.as_str()), "{name}");
        assert_eq!(
            detail(&store, 4).await.row.attempts,
            dead.iter().find(|e| e.row.id.as_str() == "4").and_then(|e| e.row.attempts)
        );
    }
}

#[tokio::test]
async fn a_replay_leaves_what_the_retry_of_one_job_leaves_and_limited_jobs_wait_as_blocked() {
    for db in seeded("sq_replay").await {
        let (user, name) = (User::of(&db), db.engine.name());
        let before = all(&db).await;
        let receipt = act(&user, "replay", &["9", "6", "22"], &[]);
        assert_eq!(receipt["done"], 3, "{name}: {receipt}");
        let after = all(&db).await;
        let mut cells = changed(&before, &after, "jobs");
        cells.retain(|cell| !cell.contains(".arguments="));
        // A job that had none is written anew as well, as its own retry does.
        assert_eq!(cells, ["6.updated_at=<now>", "9.updated_at=<now>", "22.updated_at=<now>"], "{name}");
        for (id, counts) in [
            (9, r#""executions":2,"exception_executions":{"[PaymentGateway::Timeout]":2}"#),
            (22, r#""executions":4,"exception_executions":{"[Odd::Error]":4}"#),
        ] {
            let text = before["jobs"][&id]["arguments"].as_str().expect("text");
            let wanted = text.replace(counts, r#""executions":0,"exception_executions":{}"#);
            assert!(wanted.len() < text.len());
            assert_eq!(after["jobs"][&id]["arguments"], wanted, "{name} {id}");
        }
        assert_eq!(changed(&before, &after, "failed_executions"), ["4 gone", "6 gone", "12 gone"], "{name}");
        let ready =
            "select concat(job_id, ' ', queue_name, ' ', priority) from solid_queue_ready_executions order by job_id";
        let ready = if db.engine == Engine::Sqlite {
            ready.replace(
                "concat(job_id, ' ', queue_name, ' ', priority)",
                "job_id || ' ' || queue_name || ' ' || priority",
            )
        } else {
            ready.to_owned()
        };
        assert_eq!(db.column(&ready).await, ["9 default 5", "22 odd 0"], "{name}");
        let created = after["ready_executions"].values().chain(after["blocked_executions"].values());
        for row in created {
            let empty = Rows::from([(0, row.clone())]);
            let shown = changes(&Rows::new(), &empty);
            assert!(shown.contains(&"0.created_at=<now>".to_owned()), "{name}: {shown:?}");
        }
        let [blocked] = after["blocked_executions"].values().collect::<Vec<_>>()[..] else { panic!("{after:?}") };
        assert_eq!((&blocked["job_id"], &blocked["concurrency_key"]), (&json!(6), &json!("LimitedJob/7")), "{name}");
        let value = db.scalar("select cast(value as char(9)) from solid_queue_semaphores").await;
        assert_eq!(value.trim(), "1", "{name}: whether there is room is the dispatcher's to say");

        let (store, _) = checked(&db, "solid_queue").await;
        let again = apply(&store, batch(Action::Replay, ["9"].map(JobId::new))).await;
        assert_eq!(again[&JobId::new("9")], JobResult::Skipped(SkipReason::Gone), "{name}");
        assert_eq!(all(&db).await, after, "{name}");
        assert_eq!(undo(&user, &receipt)["done"], 3, "{name}");
        assert_eq!(all(&db).await, before, "{name}");
    }
}

#[tokio::test]
async fn counts_are_kept_as_the_retry_of_many_keeps_them_and_a_replay_can_be_put_off() {
    for db in seeded("sq_options").await {
        let (user, name) = (User::of(&db), db.engine.name());
        let before = all(&db).await;
        let receipt = act(&user, "replay", &["9", "6"], &["--attempts", "once"]);
        let after = all(&db).await;
        assert_eq!(changed(&before, &after, "jobs"), Vec::<String>::new(), "{name}");
        assert_eq!((after["ready_executions"].len(), after["blocked_executions"].len()), (1, 1), "{name}: {receipt}");
        assert_eq!(undo(&user, &receipt)["done"], 2, "{name}");
        assert_eq!(all(&db).await, before, "{name}");

        let later = act(&user, "replay", &["9", "1", "6"], &["--to-queue", "slow", "--spread", "10h"]);
        let after = all(&db).await;
        let places = ["ready_executions", "scheduled_executions", "blocked_executions"].map(|table| &after[table]);
        let jobs: Vec<&Value> = places.iter().flat_map(|rows| rows.values()).map(|row| &row["job_id"]).collect();
        assert_eq!(jobs.len(), 3, "{name}: {jobs:?}");
        assert!(places.iter().flat_map(|rows| rows.values()).all(|row| row["queue_name"] == "slow"), "{name}");
        assert!(!after["scheduled_executions"].is_empty(), "{name}: {later}");
        for row in after["scheduled_executions"].values() {
            let id = row["job_id"].as_i64().expect("a job");
            assert_eq!(after["jobs"][&id]["scheduled_at"], row["scheduled_at"], "{name} {id}");
        }
        assert_eq!(undo(&user, &later)["done"], 3, "{name}");
        assert_eq!(all(&db).await, before, "{name}");
    }
}

#[tokio::test]
async fn a_discard_takes_the_job_and_what_refers_to_it_and_an_undo_brings_all_of_it_back() {
    for db in seeded("sq_discard").await {
        let (user, name) = (User::of(&db), db.engine.name());
        let before = all(&db).await;
        let receipt = act(&user, "discard", &["9", "20", "22"], &[]);
        assert_eq!(receipt["done"], 3, "{name}: {receipt}");
        let after = all(&db).await;
        assert_eq!(changed(&before, &after, "jobs"), ["9 gone", "20 gone", "22 gone"], "{name}");
        assert_eq!(changed(&before, &after, "recurring_executions"), ["1 gone"], "{name}");
        assert_eq!(after["failed_executions"].len(), 7, "{name}");
        assert_eq!(undo(&user, &receipt)["done"], 3, "{name}");
        assert_eq!(all(&db).await, before, "{name}");
    }
}

#[tokio::test]
async fn what_became_of_jobs_is_told_and_what_a_worker_has_is_not_taken_back() {
    for db in seeded("sq_fates").await {
        let (user, name) = (User::of(&db), db.engine.name());
        let receipt = act(&user, "replay", &["1", "4", "5", "7", "9"], &[]);
        assert_eq!(receipt["done"], 5, "{name}: {receipt}");
        let now = "'2026-11-22 00:00:00'";
        for statement in [
            format!("insert into solid_queue_claimed_executions (job_id, process_id, created_at) values (1, 1, {now})"),
            "delete from solid_queue_ready_executions where job_id in (1, 4, 5, 9)".to_owned(),
            format!("update solid_queue_jobs set finished_at = {now} where id = 4"),
            format!(
                "insert into solid_queue_failed_executions (id, job_id, error, created_at) values (99, 5, '{{\"exception_class\":\"IOError\"}}', {now})"
            ),
            "delete from solid_queue_jobs where id = 9".to_owned(),
        ] {
            db.execute(&statement).await;
        }
        let (store, _) = checked(&db, "solid_queue").await;
        let ids = ["1", "4", "5", "7", "9"].map(JobId::new);
        let fates = store.outcomes(&ids, &[], &budget()).await.expect("fates");
        let fates: Vec<&ReplayOutcome> = fates.iter().map(|(_, fate)| &fate.outcome).collect();
        let [
            ReplayOutcome::Running,
            ReplayOutcome::Succeeded,
            ReplayOutcome::DiedAgain(Some(class)),
            ReplayOutcome::Waiting,
            ReplayOutcome::Gone(GoneMeaning::Deleted),
        ] = fates[..]
        else {
            panic!("{name}: {fates:?}")
        };
        assert_eq!(class.exact(), "IOError");
        let back = undo(&user, &receipt);
        assert_eq!((&back["done"], skipped(&back, "a worker has taken it")), (&json!(1), 3), "{name}: {back}");
        assert_eq!(db.count("solid_queue_failed_executions where job_id = 7").await, 1, "{name}");
        assert_eq!(db.count("solid_queue_blocked_executions").await, 0, "{name}");
    }
}

#[tokio::test]
async fn a_job_that_a_worker_is_about_to_claim_is_not_waited_for_and_stays_with_it() {
    for server in [postgres(), mariadb()].into_iter().flatten() {
        let db = server.database("sq_claim").await;
        seed_into(&db).await;
        let (user, session, name) = (User::of(&db), engine(&db).await, db.engine.name());
        let receipt = act(&user, "replay", &["1", "4", "9"], &[]);
        let claim = "select id from solid_queue_ready_executions where job_id = 4 for update";
        let back = meanwhile(&session, claim, async || undo(&user, &receipt)).await;
        assert_eq!((&back["done"], db.count("solid_queue_ready_executions").await), (&json!(2), 1), "{name}: {back}");
        assert_eq!(skipped(&back, "locked by another session"), 1, "{name}: {back}");
        assert_eq!(undo(&user, &receipt)["done"], 1, "{name}");
    }
}

#[tokio::test]
async fn a_job_that_is_retried_as_another_is_told_by_the_newest_of_its_line() {
    for db in seeded("sq_line").await {
        let (user, name) = (User::of(&db), db.engine.name());
        assert_eq!(act(&user, "replay", &["9"], &[])["done"], 1, "{name}");
        let now = "'2026-11-22 00:00:00'";
        db.execute("delete from solid_queue_ready_executions where job_id = 9").await;
        db.execute(&format!("update solid_queue_jobs set finished_at = {now} where id = 9")).await;
        let (store, _) = checked(&db, "solid_queue").await;
        let fate = async || {
            let ids = [JobId::new("9")];
            store.outcomes(&ids, &[], &budget()).await.expect("a fate").pop().expect("a fate").1.outcome
        };
        assert_eq!(fate().await, ReplayOutcome::Succeeded, "{name}");
        // What `retry_on` does: this one is finished, and another with its ActiveJob id waits, runs, and dies.
        let columns = "queue_name, class_name, arguments, priority, active_job_id, created_at, updated_at";
        db.execute(&format!(
            "insert into solid_queue_jobs (id, {columns}) select 90, {columns} from solid_queue_jobs where id = 9"
        ))
        .await;
        assert_eq!(fate().await, ReplayOutcome::Retrying(None), "{name}");
        db.execute(&format!(
            "insert into solid_queue_claimed_executions (job_id, process_id, created_at) values (90, 1, {now})"
        ))
        .await;
        assert_eq!(fate().await, ReplayOutcome::Running, "{name}");
        db.execute("delete from solid_queue_claimed_executions").await;
        db.execute(&format!(
            "insert into solid_queue_failed_executions (id, job_id, error, created_at) values (99, 90, '{{\"exception_class\":\"IOError\"}}', {now})"
        ))
        .await;
        assert_eq!(fate().await, ReplayOutcome::DiedAgain(Some("IOError".into())), "{name}");
        db.execute("delete from solid_queue_failed_executions where id = 99").await;
        db.execute(&format!("update solid_queue_jobs set finished_at = {now} where id = 90")).await;
        assert_eq!(fate().await, ReplayOutcome::Succeeded, "{name}");
    }
}

#[tokio::test]
async fn what_no_text_can_hold_in_one_error_costs_only_that_error() {
    for db in seeded("sq_poison").await {
        let name = db.engine.name();
        let lone = r#"{"exception_class":"Odd","message":"a\ud800b","backtrace":["x:1"]}"#;
        let pair = r#"{"exception_class":"Odd","message":"a\ud83d\ude00b","backtrace":["x:1"]}"#;
        let bare = r#"{"exception_class":null,"message":null,"backtrace":null}"#;
        let nameless = r#"{"exception_class":null,"message":"gone","backtrace":["x:1"]}"#;
        let control = "{\"exception_class\":\"Odd\",\"message\":\"a\u{7f}b\u{85}c\",\"backtrace\":[\"x:1\"]}";
        for (id, error) in [(1, lone), (4, pair), (5, bare), (6, nameless), (7, control)] {
            let error = literal(db.engine, &json!(error));
            db.execute(&format!("update solid_queue_failed_executions set error = {error} where job_id = {id}")).await;
        }
        let (store, _) = checked(&db, "solid_queue").await;
        for text in ["", "-msg:/never seen/"] {
            let dead = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 3).await;
            assert_eq!(dead.len(), 10, "{name} {text}");
        }
        let [class, message, _] = error(&store, "1").await;
        assert_eq!((class.as_deref(), message.is_some()), (Some("Odd"), true), "{name}: {message:?}");
        if db.engine == Engine::Postgres {
            assert_eq!(message.as_deref(), Some(lone));
        }
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(error(&store, "4").await, [some("Odd"), some("a\u{1f600}b"), some("x:1")], "{name}");
        assert_eq!(error(&store, "5").await, [None, None, None], "{name}");
        assert_eq!(error(&store, "6").await[..2], [None, some("gone")], "{name}");
        assert_eq!(error(&store, "7").await[..2], [some("Odd"), some("a\u{7f}b\u{85}c")], "{name}");
    }
}

#[tokio::test]
async fn jobs_that_the_dispatcher_made_ready_are_taken_back_while_no_worker_has_them() {
    for db in seeded("sq_dispatched").await {
        let (user, name) = (User::of(&db), db.engine.name());
        let before = all(&db).await;
        let receipt = act(&user, "replay", &["1", "4", "9"], &["--spread", "10h"]);
        assert_ne!(db.count("solid_queue_scheduled_executions").await, 0, "{name}: {receipt}");
        db.execute(
            "insert into solid_queue_ready_executions (job_id, queue_name, priority, created_at) \
             select job_id, queue_name, priority, '2026-11-22 10:00:00' from solid_queue_scheduled_executions",
        )
        .await;
        db.execute("delete from solid_queue_scheduled_executions").await;
        let back = undo(&user, &receipt);
        assert_eq!(back["done"], 3, "{name}: {back}");
        assert_eq!(all(&db).await, before, "{name}");
    }
}

#[tokio::test]
async fn a_purge_takes_the_job_with_its_failed_execution() {
    for db in seeded("sq_purge").await {
        let name = db.engine.name();
        let (store, _) = checked(&db, "solid_queue").await;
        let before = all(&db).await;
        let purged = apply(&store, batch(Action::Purge, ["9", "20", "2"].map(JobId::new))).await;
        assert_eq!(purged[&JobId::new("2")], JobResult::Skipped(SkipReason::Gone), "{name}");
        let after = all(&db).await;
        assert_eq!(changed(&before, &after, "jobs"), ["9 gone", "20 gone"], "{name}");
        assert_eq!(changed(&before, &after, "failed_executions"), ["6 gone", "10 gone"], "{name}");
        // A job that is finished has no failed execution in the application's eyes.
        db.execute("update solid_queue_jobs set finished_at = '2026-11-22 00:00:00' where id = 1").await;
        let left = apply(&store, batch(Action::Purge, ["1"].map(JobId::new))).await;
        assert_eq!(left[&JobId::new("1")], JobResult::Skipped(SkipReason::Changed), "{name}");
    }
}

#[tokio::test]
async fn a_repair_leaves_jobs_whose_arguments_changed_or_are_locked_and_comes_back_byte_for_byte() {
    for db in seeded("sq_repair").await {
        let name = db.engine.name();
        let shop = Shop::on(db, "solid_queue").await;
        let db = &shop.db;
        let plan = async |ids: &[&str]| {
            let scope = ActionScope::Jobs(ids.iter().map(|id| JobId::new(*id)).collect());
            let ask = Ask { edit: Some(edit(". + [1.10]")), ..Ask::new(scope, Action::Repair, Timestamp::now()) };
            freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await.expect("a plan").run
        };
        let run = plan(&["1", "4", "9"]).await;
        // Only white space: another session wrote it all the same.
        let changed = "update solid_queue_jobs set arguments = replace(arguments, '\"arguments\":[', '\"arguments\": [') where id = 4";
        db.execute(changed).await;
        let before = all(db).await;
        let tally = go(&shop.desk, &shop.ledger, &run).await.run.tally;
        assert_eq!(
            (tally.done, &tally.skipped[..]),
            (2, &[("changed meanwhile".to_owned(), 1)][..]),
            "{name}: {tally:?}"
        );
        let after = all(db).await;
        let differs = TABLES.into_iter().filter(|table| after[table] != before[table]).collect::<Vec<_>>();
        assert_eq!(differs, ["jobs"], "{name}");
        let written = db.count("solid_queue_jobs where arguments like '%1.10]%'").await;
        assert_eq!(written, 2, "{name}");
        assert_eq!(shop.undo(&run).await.done, 2, "{name}");
        assert!(all(db).await == before, "{name}: not as it was");

        if db.engine != Engine::Sqlite {
            let run = plan(&["1", "9"]).await;
            let lock = "select id from solid_queue_jobs where id = 9 for update";
            let session = engine(db).await;
            let work = async || go(&shop.desk, &shop.ledger, &run).await.run.tally;
            let tally = meanwhile(&session, lock, work).await;
            assert_eq!(tally.done, 1, "{name}: {tally:?}");
            assert_eq!(tally.skipped, [("locked by another session".to_owned(), 1)], "{name}");
        }
    }
}
