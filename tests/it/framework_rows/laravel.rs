//! Laravel's database driver on three databases: rows that 12.67.0 wrote, and rows of our own for what is rare.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::{JobId, MESSAGE_HEAD};
use dlq_tui::domain::outcome::OutcomeCounts;
use dlq_tui::domain::outcome::ReplayOutcome;
use dlq_tui::domain::text::Untrusted;
use dlq_tui::store::{Availability, Cursor, Sort, Store};
use dlq_tui::triage::outcomes::count_outcomes;
use serde_json::{Map, Value, json};

use super::bench::{act, changes, checked, detail, detection, fixture, id, literal, toml_rows, undo, whole};
use super::shop::Shop;
use crate::cli::User;
use crate::harness::{TestDb, every_server, postgres};
use crate::store_desk::{apply, bars, batch, budget, exhaust, filter, histogram};

/// What stands in a fixture's row beside its columns: what is to be read from it.
const READ: [&str; 4] = ["job_class", "error_class", "message", "backtrace"];
const DEAD: [i64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

pub async fn seed(db: &TestDb) -> Vec<Map<String, Value>> {
    seed_with(db, "laravel/rows.toml").await
}

async fn seed_with(db: &TestDb, file: &str) -> Vec<Map<String, Value>> {
    db.execute(&fixture(&format!("laravel/{}.sql", db.engine.name()))).await;
    let mut rows = toml_rows(file);
    for row in &mut rows {
        let uuid = format!("00000000-0000-4000-8000-{:012}", id(row));
        let defaults =
            [("uuid", uuid.as_str()), ("queue", "default"), ("payload", "{}"), ("failed_at", "2026-11-20 08:00:00")];
        for (name, value) in defaults {
            row.entry(name).or_insert_with(|| value.into());
        }
    }
    for row in &rows {
        let mut cells: Map<String, Value> = row.clone();
        cells.retain(|name, _| !READ.contains(&name.as_str()));
        cells.entry("connection").or_insert_with(|| "database".into());
        let names: Vec<&str> = cells.keys().map(String::as_str).collect();
        let values: Vec<String> = cells.values().map(|value| literal(db.engine, value)).collect();
        db.execute(&format!("insert into failed_jobs ({}) values ({})", names.join(", "), values.join(", "))).await;
    }
    rows
}

/// As much of a message as a list shows.
fn begins(message: &Option<Untrusted>) -> Option<String> {
    message.as_ref().map(|message| message.exact().chars().take(MESSAGE_HEAD).collect())
}

fn text(text: &Option<Untrusted>) -> Option<String> {
    text.as_ref().map(|text| text.exact().to_owned())
}

#[tokio::test]
async fn it_is_found_in_any_schema_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("laravel_found").await;
    let tables = fixture("laravel/postgres.sql");
    db.execute(&format!("create schema shop; set search_path to shop; {tables}")).await;
    db.execute("create schema far; create table far.failed_jobs (like shop.failed_jobs including all)").await;
    db.execute("create schema old; create table old.failed_jobs (like shop.failed_jobs including all)").await;
    db.execute("alter table old.failed_jobs drop column uuid").await;
    let detection = detection(&db).await;
    let mut found: Vec<(&str, &str)> = detection.found.iter().map(|f| (f.schema.as_str(), f.title.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, [("far", "Laravel's failed_jobs"), ("shop", "Laravel's failed_jobs and jobs")], "{detection:?}");
    let of = |r: &&dlq_tui::store::sql::Rejected| r.adapter == "laravel" && r.schema == "old";
    let reasons = detection.rejected.iter().find(of).map(|r| format!("{:?}", r.reasons)).unwrap_or_default();
    assert!(reasons.contains("failed_jobs has no column uuid"), "{reasons}");
}

#[tokio::test]
async fn where_the_queue_is_elsewhere_jobs_are_shown_and_not_replayed() {
    for db in every_server("laravel_apart").await {
        seed(&db).await;
        db.execute("drop table jobs").await;
        let (store, _) = checked(&db, "laravel").await;
        let Availability::Disabled(why) = store.info().availability(Action::Replay) else { panic!("a replay") };
        assert!(why.contains("no table jobs"), "{why}");
        assert_eq!(exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await.len(), 10);
    }
}

#[tokio::test]
async fn every_exception_is_cut_as_the_framework_wrote_it() {
    for db in every_server("laravel_rows").await {
        let rows = seed(&db).await;
        let (store, missing) = checked(&db, "laravel").await;
        assert!(missing.is_empty(), "{missing:?}");
        for row in &rows {
            let told = format!("{} {}", db.engine.name(), id(row));
            let detail = detail(&store, id(row)).await;
            let expected = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
            assert_eq!(text(&detail.row.job_class), expected("job_class"), "{told}");
            assert_eq!(text(&detail.row.error_class), expected("error_class"), "{told}");
            assert_eq!(text(&detail.message), expected("message").or(expected("exception")), "{told}");
            assert_eq!(text(&detail.row.message), begins(&detail.message), "{told}");
            assert_eq!(text(&detail.backtrace), expected("backtrace"), "{told}");
            assert_eq!(
                (text(&detail.row.queue), text(&detail.lineage)),
                (expected("queue"), expected("uuid")),
                "{told}"
            );
            let at = detail.row.at.and_then(|at| at.calendar()).map(|at| at.format("%Y-%m-%d %H:%M:%S").to_string());
            assert_eq!(at, expected("failed_at"), "{told}");
            let stored = detail.metadata.iter().find(|(name, _)| name == "payload").and_then(|(_, v)| text(v));
            assert_eq!(stored, expected("payload"), "{told}: as it is stored it is shown too");
        }
        let arguments = text(&detail(&store, 1).await.arguments).expect("arguments");
        let command = &serde_json::from_str::<Value>(&arguments).expect("JSON")["data"]["command"];
        assert_eq!((&command["__class"], &command["accountId"]), (&json!(r"App\Jobs\ChargeCard"), &json!(42)));
        assert_eq!((&command["opts"]["cur"], &command["secret"]), (&json!("EUR"), &json!("s3cr3t")));
        assert_eq!(command["at"]["date"], "2026-01-02 03:04:05.000000", "a protected member without its marks");
        let sealed = text(&detail(&store, 6).await.arguments).expect("arguments");
        assert!(sealed.contains(r#""command":"eyJpdiI6IkFBIn0=""#), "what is encrypted stays: {sealed}");
    }
}

#[tokio::test]
async fn a_place_is_told_from_the_message_before_it_and_a_class_may_have_any_letters() {
    for db in every_server("laravel_places").await {
        let rows = seed_with(&db, "laravel/places.toml").await;
        let (store, _) = checked(&db, "laravel").await;
        for row in &rows {
            let told = format!("{} {}", db.engine.name(), id(row));
            let detail = detail(&store, id(row)).await;
            let expected = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
            assert_eq!(text(&detail.row.error_class), expected("error_class"), "{told}");
            assert_eq!(text(&detail.message), expected("message").or(expected("exception")), "{told}");
            assert_eq!(text(&detail.row.message), begins(&detail.message), "{told}");
            assert_eq!(text(&detail.backtrace), expected("backtrace"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_list_shows_where_a_long_message_begins_wherever_the_length_is() {
    let query = "INSERT INTO `t` VALUES ('é', 'x in /tmp');\n".repeat(2_000);
    let trace = "#0 /srv/app/Jobs/Import.php(12): App\\Import->row()\n".repeat(2_000);
    let (short, end) = ("SQLSTATE[22001]: data in it is too long", "/srv/app/Import.php:7\nStack trace:\n#0 {main}");
    let exceptions = [
        format!("PDOException: {query} in {end}"),
        format!("PDOException: {short} in /srv/app/Import.php:7\nStack trace:\n{trace}"),
        format!("PDOException: {query} in {end}\n\nNext App\\Failed: {short} in {end}"),
        format!("PDOException: {short} in {end}\n\nNext App\\Failed: {query} in {end}"),
        format!("PDOException: {short}\nStack trace:\n#1 of another\n{query} in {end}"),
        format!("PDOException in {end}"),
        query.clone(),
        format!("no class: {query}\nStack trace:\n#0 {{main}}"),
    ];
    let messages = [
        &query,
        short,
        short,
        &query,
        &format!("{short}\nStack trace:\n#1 of another\n{query}"),
        "",
        &exceptions[6],
        &exceptions[7],
    ];
    for db in every_server("laravel_long").await {
        db.execute(&fixture(&format!("laravel/{}.sql", db.engine.name()))).await;
        for (n, exception) in (1..).zip(&exceptions) {
            let exception = literal(db.engine, &json!(exception));
            let row = format!("{n}, 'u{n}', 'database', 'd', '{{}}', {exception}, '2026-11-20 08:00:00'");
            let columns = "id, uuid, connection, queue, payload, exception, failed_at";
            db.execute(&format!("insert into failed_jobs ({columns}) values ({row})")).await;
        }
        let (store, _) = checked(&db, "laravel").await;
        let mut listed = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await;
        listed.reverse();
        for (row, message) in listed.iter().map(|entry| &entry.row).zip(messages) {
            let told = format!("{} {}", db.engine.name(), row.id.as_str());
            let whole = detail(&store, row.id.as_str().parse().expect("a number")).await.message;
            assert_eq!(text(&whole).as_deref(), Some(message), "{told}");
            assert_eq!(text(&row.message), begins(&whole), "{told}");
        }
        assert_eq!(listed.len(), messages.len());
    }
}

#[tokio::test]
async fn a_payload_nested_deeper_than_the_server_reads_is_listed_counted_and_replayed() {
    let nested = format!("{}{}", "[".repeat(150), "]".repeat(150));
    let head = r#"{"uuid":"00000000-0000-4000-8000-000000000099","displayName":"App\\Jobs\\Deep","job":"x","data":"#;
    let payload = format!("{head}{nested}}}");
    for db in every_server("laravel_deep").await {
        seed(&db).await;
        let (store, _) = checked(&db, "laravel").await;
        let row =
            format!("99, '', 'database', 'd', {}, 'x', '2026-11-20 08:00:00'", literal(db.engine, &json!(payload)));
        let columns = "id, uuid, connection, queue, payload, exception, failed_at";
        db.execute(&format!("insert into failed_jobs ({columns}) values ({row})")).await;
        let name = db.engine.name();
        let listed = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await;
        assert_eq!(listed.len(), DEAD.len() + 1, "{name}");
        assert_eq!(text(&listed[0].row.job_class).as_deref(), Some(r"App\Jobs\Deep"), "{name}");
        let deep = detail(&store, 99).await;
        assert_eq!(text(&deep.arguments).as_deref(), Some(payload.as_str()), "{name}");
        assert_eq!(text(&deep.lineage).as_deref(), Some("00000000-0000-4000-8000-000000000099"), "{name}");
        let classes = bars(&histogram(&store, Facet::Class, &Filter::all()).await.histogram);
        assert_eq!(classes[&Some(r"App\Jobs\Deep".to_owned())], 1, "{name}");
        // Those who have not met it yet.
        let (fresh, _) = checked(&db, "laravel").await;
        let found = exhaust(&fresh, &filter(r"class:App\Jobs\Deep"), Sort::default(), Cursor::End, 4).await;
        assert_eq!(found.len(), 1, "{name}");
        let receipt = act(&User::of(&db), "replay", &[99], &[]);
        assert_eq!(receipt["done"], 1, "{name}: {receipt}");
        let queued = db.scalar("select count(*) from jobs where payload like '%Deep%'").await;
        assert_eq!(queued, "1", "{name}");
    }
}

#[tokio::test]
async fn lists_counts_and_filters_see_through_serialized_commands() {
    for db in every_server("laravel_lists").await {
        seed(&db).await;
        let (store, _) = checked(&db, "laravel").await;
        let name = db.engine.name();
        for (text, expected) in [
            ("", DEAD.to_vec()),
            ("args.data.command.accountId:42", vec![1]),
            ("args.data.command.opts.amount:>=1999", vec![1]),
            ("args.data.command.__class:*SendMail", vec![2]),
            ("args.data.id:1", vec![4]),
            ("error:*Exception -queue:billing", vec![2, 3, 4, 6]),
            ("msg:insufficient_funds", vec![1]),
            ("error:\"\"", vec![5, 9]),
            ("class:*Legacy*", vec![4, 7]),
        ] {
            let list = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 4).await;
            let mut ids: Vec<i64> = list.iter().filter_map(|e| e.row.id.as_str().parse().ok()).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{name} {text}");
        }
        let by_error = bars(&histogram(&store, Facet::Error, &Filter::all()).await.histogram);
        assert_eq!((by_error[&Some("LogicException".to_owned())], by_error[&None]), (1, 2), "{name}: {by_error:?}");
        let by_queue = bars(&histogram(&store, Facet::Queue, &filter("args.data.command.tries:1")).await.histogram);
        assert_eq!(by_queue[&Some("billing".to_owned())], 1, "{name}");
    }
}

#[tokio::test]
async fn a_secret_in_a_command_is_hidden_where_the_payload_is_shown_as_stored_too() {
    for db in every_server("laravel_secret").await {
        seed(&db).await;
        let shown = User::of(&db).run(&["show", "1", "-o", "json"]).out;
        assert!(shown.contains("[redacted]") && shown.contains("accountId") && !shown.contains("s3cr3t"), "{shown}");
        let revealed = User::of(&db).run(&["show", "1", "-o", "json", "--reveal"]).out;
        assert!(revealed.contains("s3cr3t"), "{revealed}");
    }
}

#[tokio::test]
async fn a_replay_moves_the_job_as_the_frameworks_retry_does_and_all_or_nothing() {
    for db in every_server("laravel_replay").await {
        let rows = seed(&db).await;
        let user = User::of(&db);
        let before = whole(&db, "failed_jobs").await;
        let began = chrono::Utc::now().timestamp();
        let receipt = act(&user, "replay", &DEAD, &[]);
        let told = format!("{}: {receipt}", db.engine.name());
        // 8 is of another connection; 9 has no payload that could be run.
        assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(9), &json!(8)), "{told}");
        let failed = receipt["failed"][0]["reason"].as_str().unwrap_or_default();
        assert!(failed.contains("the stored payload is no JSON"), "{told}");
        let left_out = user.run(&["replay", "8", "--dry-run"]);
        let left_out = format!("{}{}", left_out.out, left_out.err);
        assert!(left_out.contains("its queue connection is not `database`"), "{left_out}");
        let left = db.column("select id from failed_jobs order by id").await;
        assert_eq!(left, ["8", "9"], "{told}");
        let live = whole(&db, "jobs").await;
        assert_eq!(live.len(), 8, "{told}");
        for row in live.values() {
            let payload = row["payload"].as_str().expect("a payload");
            let of = |name: &str| serde_json::from_str::<Value>(payload).ok().and_then(|json| json.get(name).cloned());
            let uuid = payload.split('"').nth(3).expect("a uuid");
            let dead = rows.iter().find(|dead| dead["uuid"] == uuid).unwrap_or_else(|| panic!("{payload}"));
            let stored = dead["payload"].as_str().expect("a payload");
            let edited = stored
                .replace(r#""retryUntil":1795162161"#, r#""retryUntil":null"#)
                .replace(r#""attempts":3"#, r#""attempts":0"#);
            assert_eq!(payload, edited, "but for these it is byte for byte as it was");
            assert_eq!(
                (&row["queue"], &row["attempts"], &row["reserved_at"]),
                (&dead["queue"], &json!(0), &Value::Null)
            );
            // The one is read when the job is locked, the other when it is written: a second may begin between them.
            let at = |column: &str| row[column].as_i64().expect("seconds");
            let done = chrono::Utc::now().timestamp();
            assert!([began, at("available_at"), at("created_at"), done].is_sorted(), "{began} {row:?} {done}");
            assert!(of("n").is_none() || uuid.ends_with("06"), "{payload}");
            let now = chrono::Utc::now().timestamp();
            assert!(row["available_at"].as_i64().is_some_and(|at| (now - 600..=now).contains(&at)), "{row:?}");
        }
        let again = act(&user, "replay", &DEAD, &[]);
        assert_eq!((&again["done"], db.count("jobs").await), (&json!(0), 8), "{again}");
        assert_eq!(undo(&user, &receipt)["done"], 8, "{told}");
        assert_eq!(changes(&before, &whole(&db, "failed_jobs").await), Vec::<String>::new(), "{told}");
        assert_eq!(db.count("jobs").await, 0);
    }
}

#[tokio::test]
async fn a_queue_and_a_time_can_be_given_and_what_a_worker_took_is_left_to_it() {
    for db in every_server("laravel_taken").await {
        seed(&db).await;
        let user = User::of(&db);
        let receipt = act(&user, "replay", &[1, 2, 3, 4], &["--to-queue", "slow", "--spread", "10h"]);
        let told = format!("{}: {receipt}", db.engine.name());
        assert_eq!(receipt["done"], 4, "{told}");
        let late = "select count(*) from jobs where queue = 'slow' and available_at > created_at + 3600 and reserved_at is null";
        assert_ne!(db.scalar(late).await, "0", "{told}");
        let by_uuid = |of: &str| format!("payload like '%{of}%'");
        db.execute(&format!("update jobs set reserved_at = created_at, attempts = 1 where {}", by_uuid("26333ad4")))
            .await;
        // Failed once and released: it is a worker's too.
        db.execute(&format!("update jobs set attempts = 1 where {}", by_uuid("8a8a1f60"))).await;
        db.execute(&format!("delete from jobs where {}", by_uuid("4cff9d4b"))).await;
        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 1, "{}: {undone}", db.engine.name());
        assert_eq!(db.column("select id from failed_jobs where id < 5").await, ["4"], "{told}");
        assert_eq!(db.count("jobs").await, 2, "{told}");
    }
}

#[tokio::test]
async fn a_job_that_fails_again_is_recorded_anew_under_its_uuid() {
    for db in every_server("laravel_again").await {
        seed(&db).await;
        act(&User::of(&db), "replay", &[1], &[]);
        // What a worker does: the row that was left behind would be in its way.
        db.execute(
            "insert into failed_jobs (uuid, connection, queue, payload, exception, failed_at) \
             select '26333ad4-791d-4f3f-970e-fe88043eba94', 'database', queue, payload, 'x', '2026-11-21 00:00:00' from jobs",
        )
        .await;
        assert_eq!(db.scalar("select count(*) from failed_jobs where uuid like '26333ad4%'").await, "1");
    }
}

#[tokio::test]
async fn discarded_jobs_come_back_as_they_were_and_batches_are_not_touched() {
    for db in every_server("laravel_discard").await {
        seed(&db).await;
        let user = User::of(&db);
        let before = whole(&db, "failed_jobs").await;
        let receipt = act(&user, "discard", &[1, 2, 8, 9], &[]);
        assert_eq!(receipt["done"], 4, "{receipt}");
        assert_eq!(changes(&before, &whole(&db, "failed_jobs").await), ["1 gone", "2 gone", "8 gone", "9 gone"]);
        assert_eq!(undo(&user, &receipt)["done"], 4);
        assert_eq!(changes(&before, &whole(&db, "failed_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
        let (store, _) = checked(&db, "laravel").await;
        for action in [Action::Ignore, Action::Reopen] {
            let refused = store.apply(batch(action, [JobId::new("4")]), &budget()).await;
            assert!(refused.broke.is_some_and(|broke| broke.error.to_string().contains("ignored")), "{action}");
        }
        let noted = user.run(&["replay", "2", "--dry-run"]).out;
        assert!(noted.contains("batch") && noted.contains("uuid"), "{noted}");
    }
}

#[tokio::test]
async fn lists_go_by_the_key_and_old_rows_are_archived_or_deleted() {
    for db in every_server("laravel_purge").await {
        seed(&db).await;
        let user = User::of(&db);
        let name = db.engine.name();
        let (store, _) = checked(&db, "laravel").await;
        // The first by key died last.
        db.execute("update failed_jobs set failed_at = '2026-11-21 00:00:00' where id = 1").await;
        let list = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 3).await;
        let ids: Vec<&str> = list.iter().map(|e| e.row.id.as_str()).collect();
        assert_eq!(ids, ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1"], "{name}");
        let before = whole(&db, "failed_jobs").await;
        let archived = act(&user, "archive", &[1, 2], &[]);
        assert_eq!((&archived["done"], db.count("failed_jobs_archive").await), (&json!(2), 2), "{name}: {archived}");
        assert_eq!(changes(&before, &whole(&db, "failed_jobs").await), ["1 gone", "2 gone"], "{name}");
        let purged = apply(&store, batch(Action::Purge, ["3", "4", "1"].map(JobId::new))).await;
        assert_eq!(purged.values().filter(|result| **result == JobResult::Done).count(), 2, "{name}: {purged:?}");
        assert_eq!((db.count("failed_jobs").await, db.count("jobs").await), (6, 0), "{name}");
    }
}

#[tokio::test]
async fn where_a_replayed_job_has_got_to_is_found_by_its_uuid() {
    for db in every_server("laravel_fates").await {
        seed(&db).await;
        let shop = Shop::on(db, "laravel").await;
        let (run, tally) = shop.run(Action::Replay, "").await;
        let (db, name) = (&shop.db, shop.db.engine.name());
        let board = async || count_outcomes(&shop.desk, &shop.ledger, &run, &budget()).await.expect("a board");
        let all = OutcomeCounts { replayed: tally.done, waiting: tally.done, ..OutcomeCounts::default() };
        assert_eq!(board().await, all, "{name}: {tally:?}");
        let of = |uuid: &str| format!("where payload like '%{uuid}%'");
        db.execute(&format!("update jobs set reserved_at = 1, attempts = 1 {}", of("26333ad4"))).await;
        db.execute(&format!("delete from jobs {}", of("4cff9d4b"))).await;
        // It fails again, and is recorded under its uuid and another id.
        db.execute(&format!(
            "insert into failed_jobs (uuid, connection, queue, payload, exception, failed_at) \
             select '8a8a1f60-c4d2-4b80-9a8e-6f0b7de6a2ce', 'database', queue, payload, 'x', '2026-11-21 00:00:00' from jobs {}",
            of("8a8a1f60")
        ))
        .await;
        db.execute(&format!("delete from jobs {}", of("8a8a1f60"))).await;
        let wanted = OutcomeCounts {
            waiting: tally.done - 3,
            running: 1,
            gone_succeeded: 1,
            died_other: 1,
            died_by_class: vec![(None, 1)],
            ..all
        };
        assert_eq!(board().await, wanted, "{name}");
        // Of a job of which nothing is kept nobody knows.
        let ids = ["1", "99"].map(JobId::new);
        let told = shop.store().outcomes(&ids, &[], &budget()).await.expect("fates");
        assert!(told.iter().all(|(_, fate)| fate.outcome == ReplayOutcome::Unknown), "{name}: {told:?}");
    }
}
