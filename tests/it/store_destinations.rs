//! Where replayed jobs go: a live table, a command, or nowhere yet; and what the verbs leave in the rows.

use std::sync::{Arc, Mutex};

use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::{ReplayDestination, detect};
use dlq_tui::store::{Availability, Batch, Cursor, Deliver, Message, Sort, Store};
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness;
use crate::store_desk::*;

/// Accepts every job but the second, and does not answer for the third.
#[derive(Default)]
struct Picky(Mutex<Vec<Message>>);

impl Deliver for Picky {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        let answers = batch
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != 2)
            .map(|(i, m)| (m.id.clone(), if i == 1 { Err("no thanks".to_owned()) } else { Ok(()) }))
            .collect();
        self.0.lock().expect("a lock").extend(batch);
        Box::pin(async move { answers })
    }
}

#[tokio::test]
async fn only_jobs_that_the_command_accepts_are_resolved_and_the_others_are_dead_again() {
    for db in harness::every_server("command").await {
        Layout::DeadLetterJobs.seed(&db, 40).await;
        let store = store_to(&db, Layout::DeadLetterJobs, ReplayDestination::Command("bin/replay".to_owned())).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        let ids: Vec<JobId> = all.iter().map(|e| e.row.id.clone()).take(10).collect();
        let picky = Arc::new(Picky::default());
        let results = apply(&store, Batch { deliver: Some(picky.clone()), ..batch(Action::Replay, ids) }).await;
        let done = results.values().filter(|r| **r == JobResult::Done).count();
        assert_eq!(done, 8, "{}: {results:?}", db.engine.name());
        assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, all.len() as u64 - 8);
        let sent = std::mem::take(&mut *picky.0.lock().expect("a lock"));
        assert_eq!(sent.len(), 10);
        for message in &sent {
            assert!(!message.json.contains('\n'));
            let job: serde_json::Value = serde_json::from_str(&message.json).expect("JSON");
            assert_eq!(job["executions"], 0);
        }
        assert_eq!(db.scalar("select count(*) from dead_letter_jobs where status = 'retrying'").await, "0");
    }
}

#[tokio::test]
async fn without_a_destination_replay_is_disabled_and_says_what_to_write() {
    for db in harness::every_server("nowhere").await {
        Layout::DeadLetterJobs.install(&db).await;
        for (destination, part) in [
            (ReplayDestination::None, "replay = { table = \"jobs\" }"),
            (ReplayDestination::Table("no_such".into()), "there is no such table"),
            (ReplayDestination::Table("jobs; --".into()), "replay.table names jobs; --: there is no such table"),
            (ReplayDestination::Table("dead_letter_jobs".into()), "has no column payload"),
        ] {
            let store = store_to(&db, Layout::DeadLetterJobs, destination).await;
            match store.info().availability(Action::Replay) {
                Availability::Disabled(reason) => assert!(reason.contains(part), "{reason}"),
                ready => panic!("{ready:?}"),
            }
            assert!(store.apply(batch(Action::Replay, [JobId::new("1")]), &budget()).await.broke.is_some());
        }
    }
}

#[tokio::test]
async fn the_live_table_may_have_any_name_that_the_database_allows() {
    for db in harness::every_server("odd-name").await {
        Layout::DeadLetterJobs.seed(&db, 20).await;
        let quote = if db.engine == harness::Engine::Mysql { '`' } else { '"' };
        let odd = format!("{quote}jobs-live.v2 für alle{quote}");
        db.execute(&format!("alter table jobs rename to {odd}")).await;
        let schema = match db.engine {
            harness::Engine::Postgres => "public",
            harness::Engine::Mysql => db.name(),
            harness::Engine::Sqlite => "main",
        };
        for (name, replayed) in
            [("jobs-live.v2 für alle".to_owned(), 1), (format!("{schema}.jobs-live.v2 für alle"), 2)]
        {
            let store = store_to(&db, Layout::DeadLetterJobs, ReplayDestination::Table(name)).await;
            let page = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
            let results = apply(&store, batch(Action::Replay, [page[0].row.id.clone()])).await;
            assert!(results.values().all(|r| *r == JobResult::Done), "{results:?}");
            assert_eq!(db.count(&odd).await, replayed, "{}", db.engine.name());
        }
    }
}

#[tokio::test]
async fn a_name_with_a_dot_means_the_table_of_the_stores_own_schema_before_a_table_of_another() {
    for db in harness::every_server("dotted").await.into_iter().filter(|db| db.engine == harness::Engine::Postgres) {
        Layout::DeadLetterJobs.seed(&db, 5).await;
        db.execute("create schema shop; create table shop.jobs (like jobs including all)").await;
        db.execute("alter table jobs rename to \"shop.jobs\"").await;
        let to = ReplayDestination::Table("shop.jobs".to_owned());
        let store = store_to(&db, Layout::DeadLetterJobs, to).await;
        let page = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        apply(&store, batch(Action::Replay, [page[0].row.id.clone()])).await;
        assert_eq!((db.count("\"shop.jobs\"").await, db.count("shop.jobs").await), (1, 0));
    }
}

#[tokio::test]
async fn a_replayed_job_is_enqueued_decoded_and_exact_and_the_row_names_its_new_id() {
    for db in harness::every_server("exact").await {
        Layout::DeadLetterJobs.install(&db).await;
        let id = "11111111-1111-4111-8111-111111111111";
        db.execute(&format!(
            "insert into dead_letter_jobs (id, job_class, job_id, queue_name, arguments, error_class, error_backtrace, \
             failed_at, status, metadata, created_at, updated_at) values ('{id}', 'Charge', 'old', 'billing', \
             '\"[12345678901234567890, 1.10]\"', 'Boom', '[]', '2026-11-18 09:00:00', 'failed', \
             '{{\"locale\": \"de\", \"executions\": 3}}', '2026-11-18 09:00:00', '2026-11-18 09:00:00')"
        ))
        .await;
        let store = store(&db, Layout::DeadLetterJobs).await;
        let results = apply(&store, batch(Action::Replay, [JobId::new(id)])).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{results:?}");
        let payload = match db.engine {
            harness::Engine::Postgres => db.scalar("select payload::text from jobs").await,
            _ => db.scalar("select payload from jobs").await,
        };
        assert!(payload.contains("12345678901234567890") && payload.contains("1.10"), "{payload}");
        let job: serde_json::Value = serde_json::from_str(&payload).expect("JSON");
        assert!(job["arguments"].is_array());
        assert_eq!((&job["locale"], &job["queue_name"]), (&"de".into(), &"billing".into()));
        let metadata = match db.engine {
            harness::Engine::Postgres => db.scalar("select metadata::text from dead_letter_jobs").await,
            _ => db.scalar("select metadata from dead_letter_jobs").await,
        };
        let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
        assert_eq!(metadata["replayed_as"], job["job_id"]);
        assert_eq!(metadata["replay_run"], "run-1");
        assert_eq!(metadata["executions"], 3);
    }
}

#[tokio::test]
async fn ignore_and_reopen_undo_each_other_and_a_second_time_is_a_no_op() {
    for db in harness::every_server("ignore").await {
        Layout::DeadLetterJobs.seed(&db, 30).await;
        let store = store(&db, Layout::DeadLetterJobs).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        let ids: Vec<JobId> = all.iter().map(|e| e.row.id.clone()).collect();
        for (action, dead) in [(Action::Ignore, 0), (Action::Reopen, all.len() as u64)] {
            let first = apply(&store, batch(action, ids.clone())).await;
            assert!(first.values().all(|r| *r == JobResult::Done));
            assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, dead);
            let again = apply(&store, batch(action, ids.clone())).await;
            assert!(again.values().all(|r| *r == JobResult::Skipped(SkipReason::Changed)));
        }
    }
}

#[tokio::test]
async fn layouts_are_found_in_every_schema_and_a_stranger_of_the_same_name_is_told_why() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("schemas").await;
    Layout::JobsDlq.install(&db).await;
    db.execute("create schema \"Odd Name\"; create table \"Odd Name\".dlq_events (id int, note text)").await;
    db.execute("alter table jobs set schema \"Odd Name\"; alter table jobs_dlq set schema \"Odd Name\"").await;
    let engine = engine(&db).await;
    let adapters = dlq_tui::adapter::built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    assert_eq!(detection.found.len(), 1);
    assert_eq!(detection.found[0].label(), "Odd Name.jobs_dlq");
    let stranger = detection.rejected.iter().find(|r| r.adapter == "dlq_events").expect("the stranger");
    assert_eq!(stranger.schema, "Odd Name");
    assert!(stranger.reasons.iter().any(|r| r.sentence == "dlq_events has no column event_type"), "{stranger:?}");
    db.execute("insert into \"Odd Name\".jobs_dlq (payload, failed_at) values ('{}', now())").await;
    let store = store(&db, Layout::JobsDlq).await;
    let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 10).await;
    let results = apply(&store, batch(Action::Replay, [all[0].row.id.clone()])).await;
    assert!(results.values().all(|r| *r == JobResult::Done));
    assert_eq!(db.count("\"Odd Name\".jobs").await, 1);
}

#[tokio::test]
async fn a_wrong_column_in_an_adapter_is_found_with_its_line_and_the_databases_own_words() {
    for db in harness::every_server("wrong").await {
        Layout::JobsDlq.install(&db).await;
        let good = adapter("jobs_dlq");
        let text = good.text.replace("worker = { column = \"failed_by\"", "worker = { column = \"nobody_knows\"");
        let line = 1 + text.lines().position(|l| l.contains("nobody_knows")).expect("the line");
        let wrong = dlq_tui::adapter::Adapter::parse(&text, None).expect("well formed");
        let engine = engine(&db).await;
        let detection = detect(&engine, std::slice::from_ref(&wrong), &budget()).await.expect("a detection");
        let findings =
            dlq_tui::store::sql::check(&engine, &wrong, &detection.found[0], None, &budget()).await.expect("a check");
        let faults: Vec<_> = findings.iter().filter(|f| f.verdict.is_err()).collect();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!((faults[0].what.as_str(), faults[0].line), ("fields.worker", line));
        assert!(faults[0].verdict.as_ref().is_err_and(|e| e.contains("nobody_knows")), "{faults:?}");
    }
}
