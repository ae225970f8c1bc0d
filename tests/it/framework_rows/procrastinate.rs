//! Procrastinate.

use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::{Attempts, Options};
use dlq_tui::store::{Cursor, Sort};

use super::shop::{Shop, look, why};
use crate::store_desk::{bars, exhaust, histogram};

const TABLES: &str = include_str!("../../fixtures/frameworks/procrastinate/tables.sql");
const JOBS: &str = "tasks.procrastinate_jobs";

async fn shop() -> Option<Shop> {
    Shop::new("procrastinate", &[TABLES]).await
}

#[tokio::test]
async fn failed_jobs_are_grouped_by_task_and_say_that_no_error_is_recorded() {
    let Some(shop) = shop().await else { return };
    assert_eq!(shop.title, "Procrastinate 3");
    assert_eq!(shop.store().info().capabilities.facets.first(), Some(&Facet::Class));
    let dead = exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await;
    assert_eq!(dead.len(), 8);
    let by_task = bars(&histogram(shop.store(), Facet::Class, &Filter::all()).await.histogram);
    assert_eq!(by_task[&Some("shop.tasks.charge".to_owned())], 6);
    let [class, message, _] = shop.error("1").await;
    assert_eq!(class, None);
    assert!(message.is_some_and(|m| m.starts_with("not recorded by Procrastinate")));
    let at = |id: &'static str| async { shop.job(id).await.row.at.map(|at| at.to_rfc3339()).unwrap_or_default() };
    assert!(at("2").await.starts_with("2026-11-01T09:02:00"), "its last failure, no schedule: {}", at("2").await);
    let by_state =
        bars(&histogram(shop.store(), Facet::State, &crate::store_desk::filter("state:resolved")).await.histogram);
    assert_eq!(by_state.values().sum::<u64>(), 2, "{by_state:?}");
}

#[tokio::test]
async fn a_replay_is_its_own_retry_and_wakes_those_who_listen() {
    let Some(shop) = shop().await else { return };
    let mut listener = sqlx::postgres::PgListener::connect(&shop.db.url).await.expect("a listener");
    listener.listen("procrastinate_queue_v1#mailers").await.expect("listens");
    let mut any = sqlx::postgres::PgListener::connect(&shop.db.url).await.expect("a listener");
    any.listen("procrastinate_any_queue_v1").await.expect("listens");
    let results = shop.act(Action::Replay, &["1", "2", "10", "12"], Options::default()).await;
    assert_eq!((&results["1"], &results["2"]), (&JobResult::Done, &JobResult::Done));
    assert_eq!(
        (why(&results["10"]), why(&results["12"])),
        ("changed meanwhile".to_owned(), "changed meanwhile".to_owned())
    );
    let heard = listener.recv().await.expect("a notification");
    assert_eq!(heard.payload(), r#"{"type" : "job_inserted", "job_id" : 1}"#);
    for _ in ["mailers", "payments"] {
        let heard = tokio::time::timeout(Duration::from_secs(30), any.recv()).await.expect("one for each queue");
        assert!(heard.expect("a notification").payload().contains("job_inserted"));
    }
    let left = "select jsonb_build_array(status, attempts, scheduled_at <= clock_timestamp(), queue_name, priority) from tasks.procrastinate_jobs where id = ";
    assert_eq!(shop.db.scalar(&format!("{left}1")).await, r#"["todo", 2, true, "mailers", 0]"#);
    assert_eq!(shop.db.scalar(&format!("{left}2")).await, r#"["todo", 4, true, "payments", 0]"#);
    let events = "select string_agg(type::text, ' ' order by id) from tasks.procrastinate_events where job_id = 1";
    assert_eq!(shop.db.scalar(events).await, "failed scheduled retried");
    assert_eq!(why(&shop.act(Action::Replay, &["1"], Options::default()).await["1"]), "changed meanwhile");
    assert_eq!(
        shop.fates(&["1", "10", "12", "3", "999"]).await.into_values().collect::<Vec<_>>(),
        ["Waiting", "Succeeded", "Running", "DiedAgain(None)", "Gone(Deleted)"]
    );
}

#[tokio::test]
async fn attempts_start_again_where_that_is_asked_and_another_queue_is_taken() {
    let Some(shop) = shop().await else { return };
    let options = Options { attempts: Some(Attempts::Reset), to_queue: Some("slow".into()), ..Options::default() };
    assert_eq!(shop.act(Action::Replay, &["3"], options).await["3"], JobResult::Done);
    let left = "select jsonb_build_array(status, attempts, queue_name, lock, queueing_lock, priority) from tasks.procrastinate_jobs where id = 3";
    assert_eq!(shop.db.scalar(left).await, r#"["todo", 0, "slow", "cust:1", "order:9002", 7]"#);
    let events = "select string_agg(type::text, ' ' order by id) from tasks.procrastinate_events where job_id = 3";
    assert_eq!(shop.db.scalar(events).await, "failed scheduled retried", "as the framework's own, and no more");
}

#[tokio::test]
async fn twins_by_queueing_lock_are_refused_and_cost_nobody_else() {
    let Some(shop) = shop().await else { return };
    let results = shop.act(Action::Replay, &["4", "5", "6", "7", "9"], Options::default()).await;
    assert_eq!(why(&results["7"]), "another job with its queueing lock waits already");
    assert_eq!(why(&results["9"]), "somebody asked to abort it, and Procrastinate lets no such job wait");
    assert_eq!((&results["4"], &results["5"]), (&JobResult::Done, &JobResult::Done), "{results:?}");
    assert!(!matches!(&results["6"], JobResult::Done), "{results:?}");
    assert_eq!(shop.db.scalar("select status from tasks.procrastinate_jobs where id = 6").await, "failed");
}

#[tokio::test]
async fn an_installation_that_cannot_retry_failed_jobs_gets_the_same() {
    let Some(server) = crate::harness::postgres() else { return };
    let db = server.database("procrastinate-old").await;
    db.execute(TABLES).await;
    db.execute("drop function tasks.procrastinate_retry_job_v2").await;
    let shop = Shop::on(db, "procrastinate").await;
    assert_eq!(shop.title, "Procrastinate 3, before it could retry failed jobs");
    let results = shop.act(Action::Replay, &["1", "7", "9"], Options::default()).await;
    assert_eq!(results["1"], JobResult::Done, "{results:?}");
    assert!(results.iter().filter(|(id, _)| *id != "1").all(|(_, result)| matches!(result, JobResult::Skipped(_))));
    let left = "select jsonb_build_array(status, attempts, scheduled_at <= clock_timestamp()) from tasks.procrastinate_jobs where id = 1";
    assert_eq!(shop.db.scalar(left).await, r#"["todo", 2, true]"#);
    shop.db.execute("alter table tasks.procrastinate_jobs drop column abort_requested").await;
    let shop = Shop::on(shop.db, "procrastinate").await;
    assert_eq!(shop.title, "Procrastinate 2");
    assert_eq!(shop.act(Action::Replay, &["2"], Options::default()).await["2"], JobResult::Done);
}

#[tokio::test]
async fn undo_and_discard_bring_rows_back_and_archives_work_in_any_schema() {
    let Some(shop) = shop().await else { return };
    let before = shop.rows(JOBS, "true").await;
    let (run, tally) = shop.run(Action::Replay, "queue:mailers").await;
    assert_eq!(tally.done, 2);
    let died = shop.job("1").await.row.at;
    assert_eq!(shop.undo(&run).await.done, 2);
    assert_eq!(shop.rows(JOBS, "true").await, before);
    assert_eq!(shop.job("1").await.row.at, died, "an undo is no death");
    let (run, tally) = shop.run(Action::Discard, "queue:mailers").await;
    assert_eq!(tally.done, 2);
    assert_eq!(
        shop.db.scalar("select coalesce(job_id::text, 'none') from tasks.procrastinate_periodic_defers").await,
        "none"
    );
    assert_eq!(shop.undo(&run).await.done, 2);
    assert_eq!(shop.rows(JOBS, "true").await, before);
    assert_eq!(shop.job("1").await.row.at, died, "its events are back too");
    let (_, tally) = shop.run(Action::Archive, "queue:mailers").await;
    assert_eq!((tally.done, shop.db.count("tasks.procrastinate_jobs_archive").await), (2, 2));
}

#[tokio::test]
async fn a_table_of_that_name_without_its_type_is_not_taken_for_it() {
    let Some(shop) = shop().await else { return };
    shop.db.execute("drop table tasks.procrastinate_events").await;
    let detection = look(&shop.db).await;
    assert!(detection.found.is_empty());
    let rejected = detection.rejected.iter().find(|r| r.adapter == "procrastinate").expect("rejected");
    assert_eq!(rejected.why(), "there is no table procrastinate_events beside it");
}

#[tokio::test]
async fn what_a_worker_has_tried_again_meanwhile_is_left_to_it() {
    let Some(shop) = shop().await else { return };
    let (run, tally) = shop.run(Action::Replay, "queue:mailers").await;
    assert_eq!(tally.done, 2);
    // Its worker ran it, and will try it again at a time of its own.
    shop.db
        .execute("set search_path to tasks, public; update procrastinate_jobs set scheduled_at = scheduled_at + interval '1 minute', attempts = attempts + 1 where id = 1")
        .await;
    let tally = shop.undo(&run).await;
    assert_eq!((tally.done, tally.skipped.len()), (1, 1), "{tally:?}");
    assert_eq!(
        shop.db.column("select status from tasks.procrastinate_jobs where id in (1, 4) order by id").await,
        ["todo", "failed"]
    );
}

#[tokio::test]
async fn without_an_event_of_its_failure_a_job_died_with_its_last_and_purged_ones_go_with_their_events() {
    let Some(shop) = shop().await else { return };
    shop.db.execute("delete from tasks.procrastinate_events where job_id in (1, 2) and type = 'failed'").await;
    shop.db
        .execute(
            "insert into tasks.procrastinate_events (job_id, type, at) values (2, 'started', '2026-11-01 07:00:00+00')",
        )
        .await;
    let at = |id: &'static str| async { shop.job(id).await.row.at.map(|at| at.to_rfc3339()) };
    assert_eq!(at("1").await, None);
    assert!(at("2").await.is_some_and(|at| at.starts_with("2026-11-01T07:00:00")), "no schedule is one");
    // `public` is where the connection looks, and its triggers are elsewhere.
    let results = shop.act(Action::Purge, &["1", "10", "12"], Options::default()).await;
    assert_eq!((&results["1"], &results["10"]), (&JobResult::Done, &JobResult::Done), "{results:?}");
    assert_eq!(why(&results["12"]), "changed meanwhile");
    assert_eq!(shop.db.scalar("select count(*) from tasks.procrastinate_events where job_id in (1, 10)").await, "0");
}
