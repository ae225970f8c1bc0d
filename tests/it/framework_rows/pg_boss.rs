//! pg-boss.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::options::{Attempts, Options};
use dlq_tui::store::{Cursor, Sort};

use super::shop::{Shop, look, why};
use crate::store_desk::{bars, exhaust, filter, histogram};

const TABLES: &str = include_str!("../../fixtures/frameworks/pg-boss/tables.sql");
const TABLES_10: &str = include_str!("../../fixtures/frameworks/pg-boss/tables10.sql");
const ROWS: &str = include_str!("../../fixtures/frameworks/pg-boss/rows.sql");

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
    assert_eq!(waits.as_deref(), Some("1 jobs of its key, until it is retried or deleted"));
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
    assert_eq!([ids[0], ids[3], &gone].map(|id| fates[id].as_str()), ["Queued", "Succeeded", "Gone"]);
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
    shop.db.execute("update boss.job set state = 'failed', retry_count = 0, retry_limit = 0, start_after = '2026-11-01 09:59:00+00', completed_on = '2026-11-01 10:02:00+00' where id::text like '%004'").await;
    assert_eq!(shop.rows("boss.job", "true").await, before);
    let (run, tally) = shop.run(Action::Discard, "").await;
    assert_eq!(tally.done, 11);
    assert_eq!(shop.undo(&run).await.done, 11);
    assert_eq!(shop.rows("boss.job", "true").await, before);
    assert_eq!(shop.run(Action::Archive, "queue:reports").await.1.done, 1);
}

#[tokio::test]
async fn version_10_keeps_the_time_of_death_and_its_copies_are_found_by_it() {
    let Some(shop) = Shop::new("pg-boss", &[TABLES_10]).await else { return };
    assert_eq!(shop.title, "pg-boss 10 or 11");
    assert_eq!(exhaust(shop.store(), &Filter::all(), Sort::default(), Cursor::Start, 4).await.len(), 2);
    assert_eq!(shop.error(&id("payments", 3)).await[1].as_deref(), Some("job failed by timeout in active state"));
    assert!(
        shop.metadata(&id("email", 1), "dead-letter copy")
            .await
            .is_some_and(|told| told.starts_with("created in email_dlq as"))
    );
    let before = shop.rows("boss.job", "true").await;
    let (run, tally) = shop.run(Action::Replay, "").await;
    assert_eq!(tally.done, 2);
    let sql = "select jsonb_build_array(state, retry_limit, retry_count, completed_on, start_after) from boss.job where id::text like '%003'";
    assert_eq!(
        shop.db.scalar(sql).await,
        r#"["retry", 2, 1, "2026-11-01T10:01:00+00:00", "2026-11-01T09:59:00+00:00"]"#
    );
    assert_eq!(shop.undo(&run).await.done, 2);
    assert_eq!(shop.rows("boss.job", "true").await, before);
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
