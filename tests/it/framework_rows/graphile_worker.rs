//! graphile-worker.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::{Attempts, Options};
use dlq_tui::store::{Cursor, Sort};

use super::bench::act;
use super::shop::{Shop, look, why};
use crate::cli::User;
use crate::store_desk::{bars, exhaust, filter, histogram};

const TABLES: &str = include_str!("../../fixtures/frameworks/graphile-worker/tables.sql");
const JOBS: &str = "work._private_jobs";

async fn shop() -> Option<Shop> {
    Shop::new("graphile-worker", &[TABLES]).await
}

#[tokio::test]
async fn its_jobs_are_listed_with_task_queue_and_error() {
    let Some(shop) = shop().await else { return };
    let dead = exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await;
    assert_eq!(dead.len(), 10, "neither the one that runs nor those that wait");
    let row = shop.job("3").await.row;
    let text = |value: &Option<dlq_tui::domain::text::Untrusted>| value.as_ref().map(|v| v.exact().to_owned());
    assert_eq!(text(&row.job_class).as_deref(), Some("charge_card"));
    assert_eq!((text(&row.queue), row.attempts, row.max_attempts), (None, Some(1), Some(1)));
    assert_eq!(shop.error("3").await[1].as_deref(), Some("Payment declined for order 9001\nsecond line of message"));
    assert_eq!(shop.error("9").await, [None, None, None], "its worker was lost");
    assert_eq!(shop.error("10").await[1].as_deref(), Some(""));
    let by_queue = bars(&histogram(shop.store(), Facet::Queue, &Filter::all()).await.histogram);
    assert_eq!((by_queue[&Some("mailers".to_owned())], by_queue[&None]), (2, 8));
    let native = |id: &'static str| async { shop.job(id).await.row.native_state.exact().to_owned() };
    let natives = [native("1").await, native("11").await, native("12").await, native("13").await];
    assert_eq!(natives, ["failed", "retry", "locked", "queued"]);
    assert_eq!(shop.job("12").await.row.worker.map(|w| w.exact().to_owned()).as_deref(), Some("worker-1"));
}

#[tokio::test]
async fn the_time_of_death_is_reckoned_back_from_what_the_failure_put_off() {
    let Some(shop) = shop().await else { return };
    let at = |id: &'static str| async { shop.job(id).await.row.at.expect("a time").to_rfc3339() };
    assert!(at("1").await.starts_with("2026-11-01T10:00:00"), "{}", at("1").await);
    assert!(at("7").await.starts_with("2026-11-01T10:06:00"), "two attempts: {}", at("7").await);
    assert!(at("8").await.starts_with("2026-11-01T10:07:00"), "given up by hand: {}", at("8").await);
    // The same with the index that puts lists in the order of `run_at`, which is not that time.
    let [ddl] = shop.missing.as_slice() else { panic!("{:?}", shop.missing) };
    let early = filter("until:2026-11-01T10:06:01Z");
    let found = exhaust(shop.store(), &early, Sort::default(), Cursor::Start, 9).await.len();
    shop.db.execute(ddl).await;
    let shop = Shop::on(shop.db, "graphile-worker").await;
    assert!(shop.missing.is_empty());
    let ids: Vec<_> = exhaust(shop.store(), &early, Sort::default(), Cursor::End, 9).await;
    assert_eq!((ids.len(), found), (7, 7));
    let newest = exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 3).await;
    assert_eq!(newest.first().map(|e| e.row.id.as_str()), Some("8"));
}

#[tokio::test]
async fn a_replay_is_its_own_reschedule_with_the_attempts_at_naught() {
    let Some(shop) = shop().await else { return };
    let before = shop.rows(JOBS, "id > 10").await;
    let mut listener = sqlx::postgres::PgListener::connect(&shop.db.url).await.expect("a listener");
    listener.listen("jobs:insert").await.expect("listens");
    let results = shop.act(Action::Replay, &["1", "3", "11", "12", "99"], Options::default()).await;
    assert_eq!((&results["1"], &results["3"]), (&JobResult::Done, &JobResult::Done));
    assert_eq!(["11", "12", "99"].map(|id| why(&results[id])), ["changed meanwhile", "changed meanwhile", "gone"]);
    let told: serde_json::Value =
        serde_json::from_str(listener.recv().await.expect("a notification").payload()).expect("JSON");
    assert_eq!(told["count"], 2);
    assert!(told["r"].is_number(), "{told}");
    let left = "select jsonb_build_array(attempts, max_attempts, last_error is null, key, job_queue_id, revision, is_available, \
                run_at <= clock_timestamp(), updated_at > created_at) from work._private_jobs where id = ";
    assert_eq!(shop.db.scalar(&format!("{left}1")).await, "[0, 1, false, null, 1, 0, true, true, true]");
    assert_eq!(shop.rows(JOBS, "id > 10").await, before);
    let again = shop.act(Action::Replay, &["1"], Options::default()).await;
    assert_eq!(why(&again["1"]), "changed meanwhile");
    assert_eq!(
        shop.fates(&["1", "2", "12", "999"]).await.values().cloned().collect::<Vec<_>>(),
        ["Waiting", "Running", "DiedAgain(None)", "Gone(Succeeded)"]
    );
}

#[tokio::test]
async fn a_job_that_a_worker_took_meanwhile_costs_nobody_else() {
    let Some(shop) = shop().await else { return };
    // The functions pass over it, and say nothing.
    shop.db
        .execute(
            "create or replace function work.reschedule_jobs(job_ids bigint[], run_at timestamptz default null, priority integer default null, \
             attempts integer default null, max_attempts integer default null) returns setof work._private_jobs language sql as $$ \
             update work._private_jobs as j set attempts = reschedule_jobs.attempts where j.id = any(job_ids) and j.id <> 4 returning j.* $$",
        )
        .await;
    let results = shop.act(Action::Replay, &["3", "4", "5"], Options::default()).await;
    assert_eq!((&results["3"], &results["5"]), (&JobResult::Done, &JobResult::Done));
    assert!(
        matches!(&results["4"], JobResult::Failed(why) if why.exact().contains("0 rows instead of 1")),
        "{results:?}"
    );
    assert_eq!(shop.db.scalar("select count(*) from work._private_jobs where attempts = 0").await, "3");
}

#[tokio::test]
async fn a_replay_can_have_one_try_another_queue_and_a_later_time() {
    let Some(shop) = shop().await else { return };
    let options = Options { attempts: Some(Attempts::Once), to_queue: Some("slow lane".into()), ..Options::default() };
    let results = shop.act(Action::Replay, &["7", "1"], options).await;
    assert!(results.values().all(|result| *result == JobResult::Done), "{results:?}");
    let sql = "select t.id || ' ' || q.queue_name || ' ' || t.attempts from work._private_jobs t join work._private_job_queues q \
               on q.id = t.job_queue_id where q.queue_name <> 'mailers' order by t.id";
    assert_eq!(shop.db.column(sql).await, ["1 slow lane 0", "7 slow lane 1"]);
}

#[tokio::test]
async fn what_no_worker_took_is_dead_again_as_it_was() {
    let Some(shop) = shop().await else { return };
    let before = shop.rows(JOBS, "true").await;
    let (run, tally) = shop.run(Action::Replay, "").await;
    assert_eq!(tally.done, 10);
    shop.db
        .execute(
            "update work._private_jobs set locked_at = now(), locked_by = 'w', attempts = attempts + 1 where id = 2",
        )
        .await;
    // Added again under its key: another job than the one that was replayed.
    shop.db.execute("update work._private_jobs set revision = revision + 1, payload = '{}' where id = 4").await;
    let tally = shop.undo(&run).await;
    assert_eq!((tally.done, tally.skipped.len()), (8, 2), "{tally:?}");
    let without = |rows: Vec<String>| {
        rows.into_iter().filter(|r| !r.starts_with("(2,") && !r.starts_with("(4,")).collect::<Vec<_>>()
    };
    assert_eq!(without(shop.rows(JOBS, "true").await), without(before));
}

#[tokio::test]
async fn a_discard_goes_through_its_function_and_comes_back_whole() {
    let Some(shop) = shop().await else { return };
    let before = shop.rows(JOBS, "true").await;
    let (run, tally) = shop.run(Action::Discard, "").await;
    assert_eq!((tally.done, shop.db.count(JOBS).await), (10, 3));
    assert_eq!(shop.undo(&run).await.done, 10);
    assert_eq!(shop.rows(JOBS, "true").await, before);
    let (_, tally) = shop.run(Action::Archive, "class:charge_card").await;
    assert_eq!((tally.done, shop.db.count("work._private_jobs_archive").await), (2, 2));
}

#[tokio::test]
async fn a_table_of_that_name_alone_is_not_taken_for_it() {
    let Some(shop) = shop().await else { return };
    shop.db.execute("drop function work.complete_jobs").await;
    let detection = look(&shop.db).await;
    let rejected = detection.rejected.iter().find(|r| r.adapter == "graphile-worker").expect("rejected");
    assert_eq!(rejected.why(), "there is no function complete_jobs beside it");
    shop.db.execute("alter table work._private_jobs drop column is_available").await;
    assert!(look(&shop.db).await.found.is_empty());
}

#[tokio::test]
async fn attempts_order_a_list_a_queue_names_who_holds_it_and_purged_jobs_are_gone() {
    let Some(shop) = shop().await else { return };
    let row = shop.job("7").await.row;
    assert_eq!((row.attempts, row.max_attempts), (Some(2), Some(2)));
    let row = shop.job("11").await.row;
    assert_eq!((row.attempts, row.max_attempts), (Some(1), Some(25)));
    shop.db.execute("update work._private_job_queues set locked_at = now(), locked_by = 'worker-9'").await;
    assert_eq!(shop.metadata("1", "queue locked by").await.as_deref(), Some("worker-9"));
    assert_eq!(shop.metadata("3", "queue locked by").await, None);
    let results = shop.act(Action::Purge, &["1", "3", "11", "12"], Options::default()).await;
    assert_eq!((&results["1"], &results["3"]), (&JobResult::Done, &JobResult::Done), "{results:?}");
    assert_eq!((why(&results["11"]), why(&results["12"])), ("changed meanwhile".into(), "changed meanwhile".into()));
    assert_eq!(shop.db.count(JOBS).await, 11);
}

#[tokio::test]
async fn a_replay_that_is_spread_runs_each_job_at_its_own_time() {
    let Some(shop) = shop().await else { return };
    let receipt = act(&User::of(&shop.db), "replay", &[1, 2, 3, 4, 5], &["--spread", "10h"]);
    assert_eq!(receipt["done"], 5, "{receipt}");
    let sql = "select count(distinct run_at) || ' ' || (max(run_at) - min(run_at) > interval '1 hour') || ' ' || bool_and(attempts = 0) \
               from work._private_jobs where id <= 5";
    assert_eq!(shop.db.scalar(sql).await, "5 true true");
}
