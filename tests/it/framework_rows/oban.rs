//! Oban: its tables on three databases, with rows that Oban 2.23.1 wrote and rows of our own for what is rare.

use std::collections::BTreeMap;
use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::{JobId, State};
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::domain::text::Untrusted;
use dlq_tui::store::{Cursor, PageQuery, RunTime, ScanMode, Sort, Store};
use serde_json::{Map, Value, json};

use super::bench::{act, assert_error, changes, checked, detail, detection, fixture, id, literal, rows, undo, whole};
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_server, postgres};
use crate::store_desk::{apply, bars, batch, budget, exhaust, filter, histogram};

/// The fixture's row as a statement that inserts it.
fn insert(engine: Engine, row: &Map<String, Value>) -> String {
    let arrays = |value: &Value, of: &str| format!("ARRAY(SELECT {of}({}::jsonb))", literal(engine, value));
    let value = |(column, value): (&String, &Value)| match (engine, column.as_str()) {
        (Engine::Postgres, "errors") => arrays(value, "jsonb_array_elements"),
        (Engine::Postgres, "tags" | "attempted_by") => arrays(value, "jsonb_array_elements_text"),
        (Engine::Sqlite, column) if column.ends_with("_at") && value.is_string() => {
            format!("'{}Z'", value.as_str().unwrap_or_default().replace(' ', "T"))
        }
        _ => literal(engine, value),
    };
    let cells = || row.iter().filter(|(column, _)| *column != "expect");
    let columns: Vec<&str> = cells().map(|(column, _)| column.as_str()).collect();
    let values: Vec<String> = cells().map(value).collect();
    format!("INSERT INTO oban_jobs ({}) VALUES ({});", columns.join(", "), values.join(", "))
}

pub async fn seed(db: &TestDb) -> Vec<Map<String, Value>> {
    db.execute(&fixture(&format!("oban/{}.sql", db.engine.name()))).await;
    let rows = rows("oban/rows.json");
    db.execute(&rows.iter().map(|row| insert(db.engine, row)).collect::<String>()).await;
    rows
}

#[tokio::test]
async fn it_is_found_in_any_schema_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("oban_found").await;
    let table = fixture("oban/postgres.sql");
    db.execute(&format!("create schema shop; set search_path to shop; {table}")).await;
    db.execute("create schema older; create table older.oban_jobs (id bigint primary key, state text, errors jsonb[])")
        .await;
    let python = fixture("oban/python.sql");
    db.execute(&format!("create schema snake; set search_path to snake; {python}")).await;
    db.execute("create schema text; create table text.oban_jobs (like shop.oban_jobs including all)").await;
    db.execute("alter table text.oban_jobs alter column errors drop default, alter column errors type text").await;
    let detection = detection(&db).await;
    let found: BTreeMap<&str, &str> =
        detection.found.iter().map(|found| (found.schema.as_str(), found.title.as_str())).collect();
    assert_eq!(found, BTreeMap::from([("shop", "Oban"), ("snake", "Oban for Python")]), "{detection:?}");
    let reasons = |schema: &str| {
        let of = |r: &&dlq_tui::store::sql::Rejected| r.adapter == "oban" && r.schema == schema;
        let told = detection.rejected.iter().find(of).into_iter().flat_map(|r| &r.reasons);
        told.map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert!(reasons("older").contains("oban_jobs has no column discarded_at"), "{}", reasons("older"));
    assert!(reasons("text").contains("oban_jobs.errors is text"), "{}", reasons("text"));
}

#[tokio::test]
async fn every_error_is_cut_as_the_framework_wrote_it() {
    for db in every_server("oban_errors").await {
        let rows = seed(&db).await;
        let (store, missing) = checked(&db, "oban").await;
        // The framework itself makes this index on one database only.
        assert_eq!(missing.is_empty(), db.engine == Engine::Postgres, "{missing:?}");
        for row in rows.iter().filter(|row| row.contains_key("expect")) {
            let told = format!("{} {}", db.engine.name(), id(row));
            let detail = detail(&store, id(row)).await;
            assert_error(&told, &detail, row, |stack| stack.lines().next());
            let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
            assert_eq!(text(&detail.row.worker).as_deref(), row["attempted_by"][0].as_str(), "{told}");
            assert_eq!(text(&detail.row.job_class).as_deref(), row["worker"].as_str(), "{told}");
            assert_eq!(text(&detail.row.queue).as_deref(), row["queue"].as_str(), "{told}");
            assert_eq!(
                (detail.row.attempts, detail.row.max_attempts),
                (row["attempt"].as_i64(), row["max_attempts"].as_i64())
            );
            assert_eq!(Some(detail.row.native_state.exact()), row["state"].as_str(), "{told}");
            let arguments = text(&detail.arguments).expect("arguments");
            assert_eq!(serde_json::from_str::<Value>(&arguments).expect("JSON"), row["args"], "{told}");
            let dead = ["discarded_at", "cancelled_at", "completed_at", "attempted_at"];
            let died = dead.into_iter().find_map(|column| row[column].as_str()).unwrap_or_default().replace(' ', "T");
            let at =
                detail.row.at.and_then(|at| at.calendar()).map(|at| at.format("%Y-%m-%dT%H:%M:%S%.6f").to_string());
            assert!(died.is_empty() || at == Some(died), "{told}: {at:?}");
        }
    }
}

#[tokio::test]
async fn lists_and_counts_tell_the_dead_from_the_cancelled_and_all_others() {
    for db in every_server("oban_lists").await {
        let rows = seed(&db).await;
        let (store, _) = checked(&db, "oban").await;
        let name = db.engine.name();
        let mut dead: Vec<&Map<String, Value>> = rows.iter().filter(|row| row["state"] == "discarded").collect();
        // Where no index gives the order by time of death, the keys do.
        match db.engine {
            Engine::Postgres => dead.sort_by_key(|row| (row["discarded_at"].as_str(), id(row))),
            _ => dead.sort_by_key(|row| id(row)),
        }
        let ids: Vec<JobId> = dead.iter().rev().map(|row| JobId::new(id(row).to_string())).collect();
        for text in ["", "msg:/.*/ -msg:/never seen/"] {
            for start in [Cursor::Start, Cursor::End] {
                let list = exhaust(&store, &filter(text), Sort::default(), start, 4).await;
                let there: Vec<JobId> = list.into_iter().map(|entry| entry.row.id).collect();
                let with_message = |id: &&JobId| text.is_empty() || id.as_str() != "14";
                assert_eq!(there, ids.iter().filter(with_message).cloned().collect::<Vec<_>>(), "{name} {text}");
            }
        }
        // What is judged in memory is read among the dead alone, where they have an order of their own.
        let step = store
            .scan(PageQuery::cohort(&filter("-msg:/never seen/"), Cursor::Start), ScanMode::Cohort, &budget())
            .await
            .expect("a step");
        let looked_at = if db.engine == Engine::Postgres { dead.len() } else { rows.len() };
        let scanned = step.scanned.expect("it is told");
        assert_eq!((step.entries.len(), scanned.rows), (dead.len(), looked_at as u64), "{name}");
        let by_error = bars(&histogram(&store, Facet::Error, &Filter::all()).await.histogram);
        assert_eq!(by_error[&Some("Oban.CrashError".to_owned())], 3, "{name}");
        assert_eq!(by_error[&None], 2, "{name}: the rescued job has no error, and one text has no class");
        let everything = filter("state:dead state:retrying state:resolved state:ignored");
        let by_state = bars(&histogram(&store, Facet::State, &everything).await.histogram);
        let counted = [State::Dead, State::Retrying, State::Resolved, State::Ignored]
            .map(|state| by_state[&Some(state.word().to_owned())]);
        assert_eq!(counted, [21, 3, 1, 2], "{name}");
        for (state, n) in ["dead", "retrying", "resolved", "ignored"].into_iter().zip(counted) {
            let there = exhaust(&store, &filter(&format!("state:{state}")), Sort::default(), Cursor::Start, 50).await;
            assert_eq!(there.len() as u64, n, "{name} {state}");
        }
    }
}

/// What Oban's own retry writes of these jobs, on any database.
const RETRIED: [&str; 18] = [
    "2.discarded_at=null",
    "2.max_attempts=3",
    "2.scheduled_at=<now>",
    "2.state=available",
    "3.cancelled_at=null",
    "3.scheduled_at=<now>",
    "3.state=available",
    "4.discarded_at=null",
    "4.scheduled_at=<now>",
    "4.state=available",
    "14.discarded_at=null",
    "14.max_attempts=21",
    "14.scheduled_at=<now>",
    "14.state=available",
    "23.max_attempts=4",
    "23.scheduled_at=<now>",
    "27.cancelled_at=null",
    "27.scheduled_at=<now>",
];

#[tokio::test]
async fn a_replay_leaves_what_its_own_retry_leaves_and_a_second_one_nothing() {
    for db in every_server("oban_replay").await {
        seed(&db).await;
        let user = User::of(&db);
        let before = whole(&db, "oban_jobs").await;
        // 23 waits with its attempts used up, and would wait for good; 24 to 26 are alive.
        let receipt = act(&user, "replay", &[2, 3, 4, 14, 23, 24, 25, 26, 27], &[]);
        assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(6), &json!(6)), "{receipt}");
        let after = whole(&db, "oban_jobs").await;
        let mut expected: Vec<&str> = RETRIED.to_vec();
        expected.push("27.state=available");
        let mut changed = changes(&before, &after);
        changed.sort();
        expected.sort_unstable();
        assert_eq!(changed, expected, "{}", db.engine.name());
        // Nothing that waits is passed over by a worker, which takes what has an attempt left.
        assert_eq!(
            db.scalar("select count(*) from oban_jobs where state = 'available' and attempt >= max_attempts").await,
            "0"
        );
        if db.engine == Engine::Sqlite {
            // Workers compare times as text: only in their own form do these stand in order.
            let form = "????-??-??T??:??:??.??????Z";
            let odd = format!(
                "select count(*) from oban_jobs where scheduled_at not glob '{form}' or length(scheduled_at) <> 27"
            );
            assert_eq!(db.scalar(&odd).await, "0");
        }
        let again = act(&user, "replay", &[2, 3, 4, 14, 23, 27], &[]);
        assert_eq!(again["done"], 0, "{again}");
        assert_eq!(whole(&db, "oban_jobs").await, after, "{}", db.engine.name());

        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 5, "{}: {undone}", db.engine.name());
        let left = changes(&before, &whole(&db, "oban_jobs").await);
        assert_eq!(left, ["23.max_attempts=4", "23.scheduled_at=<now>"], "{}", db.engine.name());
    }
}

#[tokio::test]
async fn all_tries_anew_later_and_in_another_queue() {
    for db in every_server("oban_options").await {
        seed(&db).await;
        let user = User::of(&db);
        let before = whole(&db, "oban_jobs").await;
        let receipt = act(&user, "replay", &[2, 14], &["--attempts", "reset", "--to-queue", "low", "--spread", "10h"]);
        assert_eq!(receipt["done"], 2, "{receipt}");
        let mut changed = changes(&before, &whole(&db, "oban_jobs").await);
        changed.retain(|cell| !cell.starts_with("2.") || cell.starts_with("2.attempt"));
        // What is available is run whatever its time says: what is to wait is scheduled.
        let expected =
            ["14.attempt=0", "14.discarded_at=null", "14.queue=low", "14.scheduled_at=<later>", "14.state=scheduled"];
        changed.sort();
        let last = db.scalar("select max(id) from oban_jobs where state = 'scheduled' and queue = 'low'").await;
        assert_eq!(
            (changed[..5].to_vec(), changed[5].as_str(), last.as_str()),
            (expected.map(str::to_owned).to_vec(), "2.attempt=0", "14")
        );
        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 2, "{undone}");
        assert_eq!(changes(&before, &whole(&db, "oban_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
    }
}

#[tokio::test]
async fn what_a_worker_took_is_left_to_it() {
    for db in every_server("oban_taken").await {
        seed(&db).await;
        let user = User::of(&db);
        let receipt = act(&user, "replay", &[2, 4, 5], &[]);
        db.execute("update oban_jobs set state = 'executing', attempt = attempt + 1 where id = 2").await;
        db.execute("update oban_jobs set state = 'completed', attempt = attempt + 1 where id = 4").await;
        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 1, "{}: {undone}", db.engine.name());
        let states = db.column("select concat(id, ' ', state) from oban_jobs where id in (2, 4, 5) order by id");
        let states = if db.engine == Engine::Sqlite {
            db.column("select id || ' ' || state from oban_jobs where id in (2, 4, 5) order by id").await
        } else {
            states.await
        };
        assert_eq!(states, ["2 executing", "4 completed", "5 discarded"], "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_job_that_a_worker_ran_and_lost_is_not_taken_back() {
    for db in every_server("oban_lost").await {
        seed(&db).await;
        let user = User::of(&db);
        // 1 of 20 attempts: reset to none, a run makes it 1 again, and the rescue of a lost node sets the state alone.
        let receipt = act(&user, "replay", &[3, 4], &["--attempts", "reset"]);
        let ran = if db.engine == Engine::Sqlite { "2026-11-22T00:00:00.000000Z" } else { "2026-11-22 00:00:00" };
        db.execute(&format!("update oban_jobs set attempt = 1, attempted_at = '{ran}' where id = 4")).await;
        let undone = undo(&user, &receipt);
        assert_eq!(undone["done"], 1, "{}: {undone}", db.engine.name());
        let states = db.column("select state from oban_jobs where id in (3, 4) order by id").await;
        assert_eq!(states, ["cancelled", "available"], "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_function_of_many_arguments_begins_a_stack_too() {
    for db in every_server("oban_arity").await {
        seed(&db).await;
        let error = json!({"at": "2026-11-21T09:30:00Z", "attempt": 1,
            "error": "** (RuntimeError) boom\n    Shop.Mail.send/12\n    run.exs:35: Shop.Worker.perform/1"});
        let errors = match db.engine {
            Engine::Postgres => format!("ARRAY[{}::jsonb]", literal(db.engine, &error)),
            _ => literal(db.engine, &json!([error])),
        };
        db.execute(&format!("update oban_jobs set errors = {errors} where id = 1")).await;
        let (store, _) = checked(&db, "oban").await;
        let detail = detail(&store, 1).await;
        let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().trim_start().to_owned());
        assert_eq!(text(&detail.message).as_deref(), Some("boom"), "{}", db.engine.name());
        assert!(text(&detail.backtrace).is_some_and(|stack| stack.starts_with("Shop.Mail.send/12\n")), "{detail:?}");
    }
}

#[tokio::test]
async fn discarded_jobs_are_deleted_and_come_back_as_they_were() {
    for db in every_server("oban_discard").await {
        seed(&db).await;
        let user = User::of(&db);
        let before = whole(&db, "oban_jobs").await;
        let receipt = act(&user, "discard", &[1, 3, 9, 22, 24, 26], &[]);
        assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(4), &json!(4)), "{receipt}");
        let gone = changes(&before, &whole(&db, "oban_jobs").await);
        assert_eq!(gone, ["1 gone", "3 gone", "9 gone", "22 gone"], "{}", db.engine.name());
        assert_eq!(undo(&user, &receipt)["done"], 4);
        assert_eq!(changes(&before, &whole(&db, "oban_jobs").await), Vec::<String>::new(), "{}", db.engine.name());
    }
}

#[tokio::test]
async fn where_replayed_jobs_have_got_to_is_told_and_what_it_has_no_word_for_is_refused() {
    for db in every_server("oban_outcome").await {
        seed(&db).await;
        let (store, _) = checked(&db, "oban").await;
        let ids: Vec<JobId> = [23, 24, 25, 26, 27, 1, 99].map(|n: i64| JobId::new(n.to_string())).into();
        let fates: Vec<ReplayOutcome> = store
            .outcomes(&ids, &[], &budget())
            .await
            .expect("fates")
            .into_iter()
            .map(|(_, fate)| fate.outcome)
            .collect();
        let again = ReplayOutcome::DiedAgain(Some(Untrusted::new("ArgumentError")));
        let dead = ReplayOutcome::DiedAgain(None);
        let wanted = [
            ReplayOutcome::Waiting,
            ReplayOutcome::Retrying(Some("RuntimeError".into())),
            ReplayOutcome::Succeeded,
            ReplayOutcome::Running,
            dead,
            again,
            ReplayOutcome::Gone(GoneMeaning::Deleted),
        ];
        assert_eq!(fates, wanted, "{}", db.engine.name());
        for action in [Action::Ignore, Action::Reopen] {
            let refused = store.apply(batch(action, [JobId::new("1")]), &budget()).await;
            assert!(refused.broke.is_some_and(|broke| broke.error.to_string().contains("cancel")), "{action}");
        }
        let purged = apply(&store, batch(Action::Purge, ["1", "3", "25"].map(JobId::new))).await;
        let done = purged.values().filter(|result| **result == JobResult::Done).count();
        assert_eq!((done, db.count("oban_jobs").await), (2, 25), "{}", db.engine.name());
        let archived = act(&User::of(&db), "archive", &[2, 24, 25, 26, 27], &[]);
        assert_eq!((&archived["planned"], &archived["done"]), (&json!(2), &json!(2)), "{archived}");
        assert_eq!(db.column("select id from oban_jobs_archive order by id").await, ["2", "27"]);
    }
}

#[tokio::test]
async fn how_long_jobs_ran_that_succeeded_is_read() {
    for db in every_server("oban_times").await {
        seed(&db).await;
        let (from, to) = ("2026-11-20 10:00:00.000000", "2026-11-20 10:01:30.500000");
        let times = format!("state = 'completed', worker = 'Timed', attempted_at = '{from}', completed_at = '{to}'");
        db.execute(&format!("update oban_jobs set {times} where id = 1")).await;
        let (store, _) = checked(&db, "oban").await;
        let read = store.plan().run_times(&budget()).await.expect("run times");
        let timed = RunTime { job_class: Some("Timed".into()), took: Duration::from_millis(90_500) };
        assert!(read.contains(&timed), "{}: {read:?}", db.engine.name());
    }
}
