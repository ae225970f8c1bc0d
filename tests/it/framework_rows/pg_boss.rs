//! pg-boss.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::{Attempts, Options};
use dlq_tui::store::{Cursor, Sort};

use super::bench::act;
use super::shop::{Shop, look, why};
use crate::cli::User;
use crate::store_desk::{bars, exhaust, filter, histogram};

const TABLES: &str = include_str!("../../fixtures/frameworks/pg-boss/tables.sql");
const TABLES_10: &str = include_str!("../../fixtures/frameworks/pg-boss/tables10.sql");
const ROWS: &str = include_str!("../../fixtures/frameworks/pg-boss/rows.sql");

/// What maintenance of any version takes: what ended long ago by its time of the end, and what waited too long.
const SWEPT: &str = "select count(*) from boss.job where state = 'retry' \
    and (completed_on < now() - interval '12 hours' or keep_until < now())";

async fn shop() -> Option<Shop> {
    Shop::new("pg-boss", &[TABLES, ROWS]).await
}

fn id(queue: &str, n: u32) -> String {
    format!("{queue}/00000000-0000-4000-8000-{n:012}")
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn whatever_was_thrown_is_told_by_class_message_and_stack() {
    let Some(shop) = shop().await else { return };
    assert_eq!(shop.title, "pg-boss 12");
    let dead = exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await;
    assert_eq!(dead.len(), 11);
    assert_eq!(dead.first().map(|e| e.row.id.as_str().to_owned()), Some(id("fifo", 17)));
    let backward = exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::End, 3).await;
    assert!(dead.iter().map(|e| &e.row.id).eq(backward.iter().map(|e| &e.row.id)));
    assert_eq!(
        shop.error(&id("payments", 3)).await,
        [some("PaymentDeclined"), some("declined for order 9001\nline two"), some("PaymentDeclined: declined")]
    );
    assert_eq!(shop.error(&id("payments", 4)).await, [None, some("just a string"), None]);
    assert_eq!(shop.error(&id("payments", 5)).await, [None, some(r#"{"body": "bad gateway", "status": 502}"#), None]);
    assert_eq!(shop.error(&id("payments", 7)).await, [None, None, None]);
    let backtrace = shop.job(&id("reports", 6)).await.backtrace.map(|text| text.exact().to_owned()).unwrap_or_default();
    assert_eq!(
        backtrace.lines().take(3).collect::<Vec<_>>(),
        ["Error: outer", "    at h (jobs.mjs:35:33)", "Caused by: RangeError: inner"]
    );
    let row = shop.job(&id("payments", 3)).await.row;
    assert_eq!((row.attempts, row.max_attempts), (Some(2), Some(2)));
    let by_error = bars(&histogram(shop.store(), Facet::Error, &Filter::all()).await.histogram);
    assert_eq!((by_error[&some("Error")], by_error[&None]), (6, 3));
    assert_eq!(
        exhaust(
            shop.store(),
            &filter("since:2026-11-01T10:04:00Z until:2026-11-01T10:06:00Z"),
            Sort::default(),
            Cursor::Start,
            9
        )
        .await
        .len(),
        2
    );
}

#[tokio::test]
async fn of_a_job_and_its_dead_letter_copy_one_is_dead_and_names_the_other() {
    let Some(shop) = shop().await else { return };
    let copy = shop.job(&id("email_dlq", 2)).await.row;
    assert_eq!(copy.native_state.exact(), "copy");
    assert_eq!(
        shop.error(&id("email_dlq", 2)).await[0].as_deref(),
        Some("TypeError"),
        "its error is that of its source"
    );
    let told = shop.metadata(&id("email", 1), "dead-letter copy").await;
    assert_eq!(told.as_deref(), Some("created in email_dlq as 00000000-0000-4000-8000-000000000002"));
    let waits = shop.metadata(&id("fifo", 17), "waits behind it").await;
    assert_eq!(waits.as_deref(), Some("1 job of its key, until it is retried or deleted"));
}

#[tokio::test]
async fn a_replay_leaves_the_row_as_its_own_retry_does() {
    let Some(shop) = shop().await else { return };
    let ids = [id("payments", 3), id("reports", 6), id("email", 1), id("payments", 8), id("fifo", 17)];
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let results = shop.act(Action::Replay, &ids, Options::default()).await;
    assert_eq!(why(&results[ids[3]]), "changed meanwhile", "{results:?}");
    assert_eq!(results.values().filter(|result| **result == JobResult::Done).count(), 4, "{results:?}");
    let sql = "select jsonb_build_array(name, state, retry_limit, retry_count, completed_on, start_after > started_on, started_on, output is null) \
               from boss.job where completed_on is null and started_on is not null order by id";
    assert_eq!(
        shop.db.column(sql).await,
        [
            r#"["email", "retry", 1, 0, null, true, "2026-11-01T09:59:30+00:00", false]"#,
            r#"["payments", "retry", 2, 1, null, true, "2026-11-01T09:59:30+00:00", false]"#,
            r#"["reports", "retry", 1, 0, null, true, "2026-11-01T09:59:30+00:00", false]"#,
            r#"["fifo", "retry", 1, 0, null, true, "2026-11-01T09:59:30+00:00", false]"#,
        ]
    );
    let gone = id("email", 999);
    let fates = shop.fates(&[ids[0], ids[3], &gone]).await;
    assert_eq!([ids[0], ids[3], &gone].map(|id| fates[id].as_str()), ["Waiting", "Succeeded", "Gone(Deleted)"]);
    let reset = Options { attempts: Some(Attempts::Reset), ..Options::default() };
    assert_eq!(shop.act(Action::Replay, &[&id("payments", 4)], reset).await[&id("payments", 4)], JobResult::Done);
    let left = "select retry_count || ' ' || retry_limit || ' ' || (started_on is null) from boss.job where id::text like '%004'";
    assert_eq!(shop.db.scalar(left).await, "0 0 true");
}

#[tokio::test]
async fn a_key_that_its_queue_holds_once_costs_one_job_and_not_the_batch() {
    let Some(shop) = shop().await else { return };
    let refused = shop.try_plan(Action::Replay, "queue:one").await.map(|plan| plan.count).map_err(|e| e.to_string());
    assert!(refused.as_ref().is_err_and(|why| why.contains("its queue is exclusive")), "{refused:?}");
    let ids: Vec<String> =
        [("one", 11), ("state", 13), ("state", 14), ("state", 15), ("payments", 4)].map(|(q, n)| id(q, n)).into();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let results = shop.act(Action::Replay, &ids, Options::default()).await;
    assert_eq!(why(&results[ids[0]]), "its queue is exclusive, and holds another job of its key");
    assert_eq!(why(&results[ids[3]]), "its queue is stately, and another job of its key waits to be retried");
    assert_eq!((&results[ids[1]], &results[ids[4]]), (&JobResult::Done, &JobResult::Done), "{results:?}");
    assert!(
        matches!(&results[ids[2]], JobResult::Failed(_) | JobResult::Skipped(_)),
        "one of two dead ones: {results:?}"
    );
}

#[tokio::test]
async fn workers_that_listen_are_woken_on_its_own_channel() {
    let Some(shop) = shop().await else { return };
    // `printf boss | sha224sum`, cut to 24 characters.
    let channel = shop.db.scalar("select 'pgboss_' || left(encode(sha224('boss'), 'hex'), 24)").await;
    let mut listener = sqlx::postgres::PgListener::connect(&shop.db.url).await.expect("a listener");
    listener.listen(&channel).await.expect("listens");
    shop.act(Action::Replay, &[&id("email", 1), &id("payments", 3)], Options::default()).await;
    let heard = listener.recv().await.expect("a notification");
    assert_eq!(heard.payload(), "email", "the other queue has asked for none");
}

#[tokio::test]
async fn undo_and_discard_bring_rows_back_as_they_were() {
    let Some(shop) = shop().await else { return };
    shop.db.execute("update boss.job set keep_until = '2096-01-01 00:00:00+00'").await;
    let before = shop.rows("boss.job", "true").await;
    let (run, tally) = shop.run(Action::Replay, "queue:payments").await;
    assert_eq!(tally.done, 4);
    assert_eq!(shop.undo(&run).await.done, 4);
    assert_eq!(shop.rows("boss.job", "true").await, before);
    let (run, _) = shop.run(Action::Replay, "queue:payments").await;
    shop.db
        .execute("update boss.job set state = 'active', retry_count = retry_count + 1 where id::text like '%004'")
        .await;
    let tally = shop.undo(&run).await;
    assert_eq!((tally.done, tally.skipped.len()), (3, 1), "{tally:?}");
    shop.db.execute("update boss.job set state = 'failed', retry_count = 0, retry_limit = 0, start_after = '2026-11-01 09:59:00+00', completed_on = '2026-11-01 10:02:00+00', keep_until = '2096-01-01 00:00:00+00' where id::text like '%004'").await;
    assert_eq!(shop.rows("boss.job", "true").await, before);
    let (run, tally) = shop.run(Action::Discard, "").await;
    assert_eq!(tally.done, 11);
    assert_eq!(shop.undo(&run).await.done, 11);
    assert_eq!(shop.rows("boss.job", "true").await, before);
    assert_eq!(shop.run(Action::Archive, "queue:reports").await.1.done, 1);
}

#[tokio::test]
async fn version_10_finds_copies_by_the_time_of_death_and_leaves_none_that_maintenance_would_take() {
    let Some(shop) = Shop::new("pg-boss", &[TABLES_10]).await else { return };
    assert_eq!(shop.title, "pg-boss 10, 11 or early 12");
    assert_eq!(exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await.len(), 2);
    assert_eq!(shop.error(&id("payments", 3)).await[1].as_deref(), Some("job failed by timeout in active state"));
    assert_eq!(shop.error(&id("email", 1)).await, [some("Error"), some("boom"), some("Error: boom")]);
    assert!(
        shop.metadata(&id("email", 1), "dead-letter copy")
            .await
            .is_some_and(|told| told.starts_with("created in email_dlq as"))
    );
    assert_eq!(shop.job(&id("email_dlq", 2)).await.row.native_state.exact(), "copy");
    shop.db.execute("update boss.job set keep_until = created_on + interval '1 hour'").await;
    let before = shop.rows("boss.job", "true").await;
    let (run, tally) = shop.run(Action::Replay, "").await;
    assert_eq!(tally.done, 2);
    let sql = "select jsonb_build_array(state, retry_limit, retry_count, completed_on, start_after <= clock_timestamp(), \
               keep_until > now() + interval '50 minutes') from boss.job where id::text like '%003'";
    assert_eq!(shop.db.scalar(sql).await, r#"["retry", 2, 1, null, true, true]"#);
    assert_eq!(shop.db.scalar(SWEPT).await, "0");
    assert_eq!(shop.undo(&run).await.done, 2);
    assert_eq!(shop.rows("boss.job", "true").await, before);
    assert_eq!(shop.run(Action::Discard, "native:copy").await.1.done, 1);
}

#[tokio::test]
async fn version_10_can_reset_its_counters_and_spread_its_jobs() {
    let Some(shop) = Shop::new("pg-boss", &[TABLES_10]).await else { return };
    shop.db.execute("update boss.job set retry_count = 1, retry_limit = 1").await;
    let ids = [id("email", 1), id("payments", 3)];
    let more = [ids[0].as_str(), ids[1].as_str(), "--attempts", "reset", "--spread", "10h"];
    let receipt = act(&User::of(&shop.db), "replay", &[], &more);
    assert_eq!(receipt["done"], 2, "{receipt}");
    let sql = "select retry_count || ' ' || retry_limit || ' ' || (started_on is null) || ' ' || (keep_until - start_after > interval '13 days') \
               from boss.job where state = 'retry'";
    assert_eq!(shop.db.column(sql).await, ["0 1 true true"; 2]);
    let apart = "select max(start_after) - min(start_after) > interval '1 hour' from boss.job where state = 'retry'";
    assert_eq!(shop.db.scalar(&format!("select ({apart})::text")).await, "true");
}

#[tokio::test]
async fn from_schema_34_to_42_a_copy_names_its_job_and_has_the_error_as_its_own() {
    let moved = "update boss.job set output = source_output where source_output is not null; alter table boss.job drop column source_output";
    let Some(shop) = Shop::new("pg-boss", &[TABLES, ROWS, moved]).await else { return };
    assert_eq!(shop.title, "pg-boss 12, its schemas 34 to 42");
    assert_eq!(exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await.len(), 11);
    let copy = id("email_dlq", 2);
    assert_eq!(shop.job(&copy).await.row.native_state.exact(), "copy");
    assert_eq!(shop.error(&copy).await, [some("TypeError"), some("no email"), some("TypeError: no email")]);
    assert_eq!(shop.error(&id("payments", 4)).await, [None, some("just a string"), None]);
    let told = shop.metadata(&id("email", 1), "dead-letter copy").await;
    assert!(told.is_some_and(|told| told.starts_with("created in email_dlq as")));
    let before = shop.rows("boss.job", "true").await;
    let (run, tally) = shop.run(Action::Replay, "queue:payments").await;
    assert_eq!((tally.done, shop.undo(&run).await.done), (4, 4));
    assert_eq!(shop.rows("boss.job", "true").await, before);
}

#[tokio::test]
async fn what_was_dead_for_long_or_waits_long_is_not_swept_away_unrun() {
    let Some(shop) = shop().await else { return };
    // A queue whose jobs may wait for an hour, and stay for a week once they are dead.
    shop.db.execute("update boss.job set keep_until = created_on + interval '1 hour' where name = 'payments'").await;
    let before = shop.rows("boss.job", "true").await;
    let (run, tally) = shop.run(Action::Replay, "queue:payments").await;
    assert_eq!((tally.done, shop.db.scalar(SWEPT).await.as_str()), (4, "0"));
    assert_eq!(shop.undo(&run).await.done, 4);
    assert_eq!(shop.rows("boss.job", "true").await, before);
    let ids = [id("payments", 3), id("payments", 4)];
    act(&User::of(&shop.db), "replay", &[], &[&ids[0], &ids[1], "--spread", "10h"]);
    let left = "select count(*) from boss.job where state = 'retry' and name = 'payments' and keep_until >= start_after + interval '1 hour'";
    assert_eq!(shop.db.scalar(left).await, "2");
}

#[tokio::test]
async fn a_copy_that_a_worker_had_is_a_job_like_any_other() {
    let Some(shop) = shop().await else { return };
    let copy = id("email_dlq", 2);
    shop.db
        .execute("update boss.job set state = 'retry', retry_count = 1, started_on = now() where name = 'email_dlq'")
        .await;
    assert_eq!(shop.job(&copy).await.row.native_state.exact(), "retry");
    let refused = shop.try_plan(Action::Discard, "state:retrying queue:email_dlq").await.map(|plan| plan.count);
    let why = refused.expect_err("nothing to do").to_string();
    assert!(why.ends_with("1 left out: discard takes no job that is `retry`"), "{why}");
    shop.db.execute("update boss.job set state = 'created' where name = 'email_dlq'").await;
    assert_eq!(shop.run(Action::Discard, "native:copy").await.1.done, 1);
}

#[tokio::test]
async fn a_later_start_stays_a_run_is_told_and_what_ended_can_be_purged() {
    let Some(shop) = shop().await else { return };
    let of = |n| id("payments", n);
    shop.db.execute("update boss.job set start_after = '2096-01-01 00:00:00+00', output = '{\"value\": {\"message\": \"job timed out\"}}' where id::text like '%003'").await;
    assert_eq!(shop.error(&of(3)).await, [None, some("job timed out"), None]);
    assert_eq!(shop.act(Action::Replay, &[&of(3), &of(4)], Options::default()).await[&of(3)], JobResult::Done);
    assert_eq!(
        shop.db.scalar("select start_after::date::text from boss.job where id::text like '%003'").await,
        "2096-01-01"
    );
    shop.db.execute("update boss.job set state = 'active' where id::text like '%004'").await;
    assert_eq!(shop.fates(&[&of(4)]).await[&of(4)], "Running");
    let results = shop.act(Action::Purge, &[&of(5), &of(8), &of(4)], Options::default()).await;
    assert_eq!((&results[&of(5)], &results[&of(8)]), (&JobResult::Done, &JobResult::Done), "{results:?}");
    assert_eq!(why(&results[&of(4)]), "changed meanwhile");
    assert_eq!(shop.db.scalar("select count(*) from boss.job where name = 'payments'").await, "3");
}

#[tokio::test]
async fn an_index_for_a_partitioned_table_is_named_as_it_can_be_made() {
    let Some(shop) = shop().await else { return };
    let [ddl] = shop.missing.as_slice() else { panic!("{:?}", shop.missing) };
    shop.db.execute(ddl).await;
    assert!(Shop::on(shop.db, "pg-boss").await.missing.is_empty());
}

#[tokio::test]
async fn a_table_that_is_only_called_job_is_not_taken_for_it() {
    let Some(server) = crate::harness::postgres() else { return };
    let db = server.database("just-a-job").await;
    db.execute(
        "create table job (id uuid primary key, name text, state text, data jsonb); create table queue (name text)",
    )
    .await;
    let detection = look(&db).await;
    assert!(detection.found.is_empty());
    let rejected = detection.rejected.iter().find(|r| r.adapter == "pg-boss").expect("rejected");
    assert!(rejected.why().contains("job has no column retry_limit"), "{rejected:?}");
}
