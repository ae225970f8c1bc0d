//! Looking for what no index finds, and walking through a table while its rows move.

use std::collections::BTreeSet;
use std::time::Duration;

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::histogram::Count;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Budget, Cursor, Entry, HistogramQuery, Page, PageQuery, ScanMode, Sort, SourceError, Store};

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::store_desk::*;

/// Rows enough for a table to be read as it is stored.
const ROWS: u32 = 150_000;

async fn step(store: &dyn Store, text: &str, cursor: Cursor, budget: &Budget) -> Result<Page, SourceError> {
    let query = PageQuery { filter: filter(text), sort: Sort::default(), cursor, limit: 200 };
    store.scan(query, ScanMode::Screen(20), budget).await
}

/// All pages of a search; `between` is called with the number of the page and where it goes on.
async fn search(store: &dyn Store, text: &str, mut between: impl AsyncFnMut(usize, &Cursor)) -> Vec<Page> {
    let (mut pages, mut cursor) = (Vec::new(), Some(Cursor::Start));
    while let Some(at) = cursor {
        let page = step(store, text, at, &budget()).await.expect("a step");
        cursor = page.next.clone();
        pages.push(page);
        if let Some(next) = &cursor {
            between(pages.len(), next).await;
        }
    }
    pages
}

fn is_stored(page: &Page) -> bool {
    matches!(page.next, Some(Cursor::Unordered(_)))
}

fn ids(entries: impl IntoIterator<Item = Entry>) -> BTreeSet<JobId> {
    entries.into_iter().map(|entry| entry.row.id).collect()
}

async fn selected(db: &TestDb, condition: &str) -> BTreeSet<JobId> {
    let text = if db.engine == Engine::Mysql { "char" } else { "text" };
    let sql = format!("select cast(id as {text}) from dead_letter_jobs where status = 'failed' and {condition}");
    db.column(&sql).await.into_iter().map(JobId::new).collect()
}

/// Ids of the `n` oldest dead jobs, as a list in SQL.
const OLDEST: &str = "(select id from \
                      (select id from dead_letter_jobs where status = 'failed' order by failed_at limit 9) as oldest)";

#[tokio::test]
async fn what_is_rare_is_found_wherever_it_is_stored_and_wherever_it_moves_meanwhile() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("rare").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    db.execute(&format!("update dead_letter_jobs set error_message = 'Needle in hay' where id in {OLDEST}")).await;
    db.execute("cluster dead_letter_jobs using index_dead_letter_jobs_on_failed_at; analyze").await;
    find_what_is_rare(&db).await;
}

#[tokio::test]
async fn what_is_rare_is_found_by_the_numbers_of_rows_on_sqlite() {
    let db = harness::sqlite("rare").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    db.execute(&format!("update dead_letter_jobs set error_message = 'Needle in hay' where id in {OLDEST}")).await;
    find_what_is_rare(&db).await;
}

#[tokio::test]
async fn what_is_rare_is_found_by_the_keys_of_rows_on_mariadb() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("rare").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    db.execute(&format!("update dead_letter_jobs set error_message = 'Needle in hay' where id in {OLDEST}")).await;
    db.execute("analyze table dead_letter_jobs").await;
    find_what_is_rare(&db).await;
}

#[tokio::test]
async fn keys_that_are_numbers_lead_through_a_table_as_well_however_far_they_lie_apart() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("numbers").await;
    Layout::DlqEvents.seed(&db, ROWS).await;
    // Beyond the largest signed number, and none of them next to another.
    db.execute(
        "alter table dlq_events modify id bigint unsigned not null auto_increment; \
         update dlq_events set id = 9223372036854775807 + id * 1000 order by id desc; \
         update dlq_events set error_reason = 'a needle' where status = 'FAILED_PERMANENTLY' order by created_at limit 9; \
         analyze table dlq_events",
    )
    .await;
    let wanted = db.column("select cast(id as char) from dlq_events where error_reason = 'a needle'").await;
    let store = gentle_store(&db, Layout::DlqEvents).await;
    let pages = search(&store, "msg:needle", async |_, _| {}).await;
    assert!(pages.iter().any(is_stored), "never read as it is stored");
    assert_eq!(ids(pages.into_iter().flat_map(|page| page.entries)), wanted.into_iter().map(JobId::new).collect());
    let all = db.count("dlq_events where status = 'FAILED_PERMANENTLY' and error_reason > ''").await;
    // What the database counts, and what is judged in memory.
    for (text, n) in [("msg:needle", 9), ("msg:/[n]eedle$/", 9), ("msg:/./", all)] {
        let (counted, steps) = counted(&store, text).await;
        assert_eq!(counted, Count::exact(n), "{text}");
        assert!(steps.iter().any(|step| step.contains("Block(")), "{text}: never counted as it is stored");
    }
    // What keeps to a span of time goes along it, and ends with it.
    let early = "since:2026-11-01T00:00 until:2026-11-01T01:00";
    let text = format!("msg:/[n]eedle$/ {early}");
    let pages = search(&store, &text, async |_, _| {}).await;
    assert!(!pages.iter().any(is_stored), "read as it is stored");
    let (_, steps) = counted(&store, &text).await;
    assert!(!steps.iter().any(|step| step.contains("Block(")), "counted as it is stored");
}

#[tokio::test]
async fn where_a_window_ends_is_found_without_reading_the_rows_before_it() {
    let Some(server) = harness::mariadb() else { return };
    // Written in hex, and numbers.
    for layout in [Layout::DeadLetterJobs, Layout::DlqEvents] {
        let db = server.database("bounds").await;
        layout.seed(&db, ROWS).await;
        db.column(&format!("analyze table {}", layout.table())).await;
        let store = gentle_store(&db, layout).await;
        let before = rows_read(&db).await;
        let pages = search(&store, "msg:\"nobody knows\"", async |_, _| {}).await;
        assert!(pages.iter().any(is_stored), "{layout:?}: never read as it is stored");
        let read = rows_read(&db).await - before;
        // All once, and the newest twice more: in order, and by their keys.
        let needed = u64::from(ROWS) + 2 * 6_000;
        assert!(read < needed * 5 / 4, "{layout:?}: read {read} rows where {needed} do");
    }
}

#[tokio::test]
async fn a_window_by_keys_is_no_large_part_of_its_table_however_quick_it_is() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("parts").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    db.column("analyze table dead_letter_jobs").await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    for nth in 0..5 {
        let (_, steps) = counted(&store, "msg:\"nobody knows\"").await;
        let windows = steps.iter().filter(|step| step.contains("Block(")).count();
        assert!(windows >= 7, "{windows} windows in the count before the last, {nth}");
    }
}

#[tokio::test]
async fn keys_that_lie_as_far_apart_as_they_can_are_counted_each_once() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("gaps").await;
    Layout::DlqEvents.seed(&db, ROWS).await;
    db.execute(
        "alter table dlq_events modify id bigint not null auto_increment; \
         update dlq_events set id = id - 9223372036854775807 where id <= 40; \
         update dlq_events set id = id + 4611686018427387904 where id > 149000 order by id desc; \
         update dlq_events set id = 9223372036854775806 order by id desc limit 1; \
         analyze table dlq_events",
    )
    .await;
    let all = db.count("dlq_events where status = 'FAILED_PERMANENTLY' and error_reason > ''").await;
    let store = gentle_store(&db, Layout::DlqEvents).await;
    let (counted, steps) = counted(&store, "msg:/./").await;
    assert_eq!(counted, Count::exact(all));
    assert!(steps.iter().any(|step| step.contains("Block(")), "never counted as it is stored");
}

/// What a filter counts in the end, and where each step of the count went on.
async fn counted(store: &dyn Store, text: &str) -> (Count, Vec<String>) {
    let mut query = HistogramQuery::exact(Facet::Fingerprint, filter(text), None);
    let mut steps = Vec::new();
    loop {
        let step = store.count(query.clone(), &budget()).await.expect("a step");
        query.resume = step.resume;
        if query.resume.is_none() {
            return (step.histogram.total, steps);
        }
        steps.push(format!("{:?}", query.resume));
    }
}

/// Looks for the oldest jobs, and one of the newest, while some of the old ones are changed.
async fn find_what_is_rare(db: &TestDb) {
    let newest = "(select id from \
                  (select id from dead_letter_jobs where status = 'failed' order by failed_at desc limit 1) as newest)";
    db.execute(&format!("update dead_letter_jobs set error_message = 'a needle' where id = {newest}")).await;
    let wanted = selected(db, "lower(error_message) like '%needle%'").await;
    assert_eq!(wanted.len(), 10);
    // What the database judges, and what it cannot.
    for text in ["msg:needle", "msg:/[Nn]eedle( in hay)?$/"] {
        let store = gentle_store(db, Layout::DeadLetterJobs).await;
        let mut moved = false;
        let pages = search(&store, text, async |_, next| {
            if matches!(next, Cursor::Unordered(_)) && !std::mem::replace(&mut moved, true) {
                let touch = "update dead_letter_jobs set metadata = '{\"touched\": 1}'";
                let some = format!("(select id from {OLDEST} as o limit 3)");
                db.execute(&format!("{touch} where id in (select id from {some} as few)")).await;
            }
        })
        .await;
        assert!(pages.iter().any(is_stored), "{text}: never read as it is stored");
        let first = pages.iter().position(|page| !page.entries.is_empty());
        assert_eq!(first, Some(0), "{text}: the newest comes at once");
        let shares: Vec<f32> =
            pages.iter().filter(|p| is_stored(p)).skip(1).filter_map(|p| Some(p.scanned?.share)).collect();
        assert!(shares.is_sorted(), "{text}: {shares:?}");
        assert_eq!(ids(pages.into_iter().flat_map(|page| page.entries)), wanted, "{text}");
    }
}

/// The URL of a role that waits a while for every old row that it reads.
async fn slowed(db: &TestDb, role: &str, each: f64) -> String {
    db.execute(&format!(
        "create or replace function slow(id uuid) returns boolean language plpgsql volatile as $$ begin \
           perform pg_sleep({each}); return true; end $$; \
         drop role if exists {role}; create role {role} login; grant select on all tables in schema public to {role}; \
         alter table dead_letter_jobs enable row level security; \
         create policy slowly on dead_letter_jobs for select using (queue_name is distinct from 'slow' or slow(id))"
    ))
    .await;
    db.url.replacen(harness::USER, role, 1)
}

#[tokio::test]
async fn windows_shrink_to_what_the_deadline_of_a_statement_allows_and_no_statement_outlives_it() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("slowly").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    let oldest = "select id from dead_letter_jobs order by failed_at limit 1000";
    db.execute(&format!("update dead_letter_jobs set queue_name = 'slow' where id in ({oldest})")).await;
    db.execute(&format!("update dead_letter_jobs set error_message = 'needle' where id in {OLDEST}")).await;
    db.execute("cluster dead_letter_jobs using index_dead_letter_jobs_on_failed_at; analyze").await;
    let url = slowed(&db, "dlq_slowly", 0.001).await;
    let store = store_at(&url, Layout::DeadLetterJobs, true).await;
    let (deadline, short) = (Budget::new(Duration::from_millis(600)), Budget::new(Duration::from_millis(50)));
    let (mut found, mut cursor) = (BTreeSet::new(), Some(Cursor::Start));
    while let Some(at) = cursor {
        let page = step(&store, "msg:needle", at.clone(), &deadline).await.expect("windows that fit");
        // The same place with a deadline that only few slow rows meet, and on a busy machine none.
        match step(&store, "msg:needle", at, &short).await {
            Err(SourceError::Timeout(after)) => assert_eq!(after, short.statement),
            other => drop(other.expect("a step")),
        }
        cursor = page.next.clone();
        found.extend(ids(page.entries));
    }
    assert_eq!(found, selected(&db, "error_message = 'needle'").await);
    db.execute("drop policy slowly on dead_letter_jobs; drop owned by dlq_slowly; drop role dlq_slowly").await;
}

#[tokio::test]
async fn a_cohort_has_every_job_that_was_there_all_along_however_rows_move_while_it_is_frozen() {
    for db in harness::every_engine("moving").await {
        Layout::DeadLetterJobs.seed(&db, 30_000).await;
        let store = gentle_store(&db, Layout::DeadLetterJobs).await;
        let dead = format!("select id from dead_letter_jobs where {}", Layout::DeadLetterJobs.is_dead());
        let before: BTreeSet<String> = db.column(&dead).await.into_iter().collect();
        // What the database judges, and what it cannot.
        for text in ["", "msg:/./"] {
            let (mut frozen, mut cursor, mut steps) = (BTreeSet::new(), Some(Cursor::Start), 0);
            while let Some(at) = cursor {
                let step = store
                    .scan(PageQuery::cohort(&filter(text), at), ScanMode::Cohort, &budget())
                    .await
                    .expect("a step");
                for job in step.entries.into_iter().map(|entry| entry.row) {
                    assert!(frozen.insert(job.id.as_str().to_owned()), "{:?}: twice: {}", db.engine, job.id.as_str());
                }
                // Of the rows, some that were read and some that were not are written anew, where there is room for them.
                let some = if steps % 2 == 0 { "id < '3'" } else { "id > '7'" };
                db.execute(&format!(
                    "update dead_letter_jobs set queue_name = 'a queue with a longer name {steps}' where {}",
                    some.replace("id ", if db.engine == harness::Engine::Postgres { "id::text " } else { "id " })
                ))
                .await;
                cursor = step.next;
                steps += 1;
            }
            assert!(steps > 2, "{:?}: {steps} steps", db.engine);
            assert_eq!(frozen, before, "{:?} {text}", db.engine);
        }
    }
}
