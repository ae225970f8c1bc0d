//! Counts of a table that is read as it is stored, window by window.

use std::time::Duration;

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::{Bar, Exactness};
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::sql::SqlStore;
use dlq_tui::store::{Budget, HistogramQuery, HistogramStep, Store};

use crate::fixtures::Layout;
use crate::harness;
use crate::store_desk::*;

/// Each class with its jobs and the first and last of the times that are instants, in microseconds.
const TRUTH: &str = "select concat_ws(' ', error_class, count(*), \
    min(extract(epoch from failed_at) * 1000000) filter (where isfinite(failed_at)), \
    max(extract(epoch from failed_at) * 1000000) filter (where isfinite(failed_at))) \
    from dead_letter_jobs where status = 'failed' group by error_class order by error_class";

#[tokio::test]
async fn odd_times_and_jobs_that_just_died_are_counted_like_all_others_in_windows_and_whole() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("odd_windows").await;
    Layout::DeadLetterJobs.seed(&db, 6_000).await;
    let some = |n: u32| {
        format!("id in (select id from dead_letter_jobs where status = 'failed' order by md5(id::text) limit {n})")
    };
    for (time, class, n) in [
        ("clock_timestamp() at time zone 'utc'", "error_class", 18),
        ("'infinity'", "'Odd'", 10),
        ("'-infinity'", "'Odd'", 8),
        ("'1999-01-01 00:00:01'", "'Odd'", 6),
        ("'2001-01-01 00:00:00.000001'", "'Odd'", 4),
    ] {
        db.execute(&format!("update dead_letter_jobs set failed_at = {time}, error_class = {class} where {}", some(n)))
            .await;
    }
    // A window is some sixteen blocks: the first has all odd times, some a job that just died, and most neither.
    db.execute(
        "create table shuffled as select * from dead_letter_jobs; truncate dead_letter_jobs; \
         insert into dead_letter_jobs select * from shuffled order by error_class = 'Odd', md5(id::text || 'x')",
    )
    .await;
    let truth: Vec<String> = db.column(TRUTH).await;
    let truth: Vec<String> = truth.iter().map(|line| line.replace(".000000", "")).collect();
    let windows = gentle_store(&db, Layout::DeadLetterJobs).await;
    assert_eq!(told(&windows).await, truth);
    let whole = store(&db, Layout::DeadLetterJobs).await;
    assert_eq!(told(&whole).await, truth);
    assert_eq!(told(&whole).await, truth, "and once it is known that some times are none");
}

/// As [`TRUTH`] has it.
async fn told(store: &SqlStore) -> Vec<String> {
    let step = histogram(store, Facet::Error, &Filter::all()).await;
    let time = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.0.to_string());
    let line = |bar: &Bar| {
        let value = bar.value.as_ref().map_or("", |value| value.exact());
        format!("{value} {} {} {}", bar.count.n, time(bar.first_seen), time(bar.last_seen))
    };
    let mut told: Vec<String> = step.histogram.bars.iter().map(line).collect();
    told.sort_unstable();
    told
}

#[tokio::test]
async fn something_of_a_large_table_of_mariadb_is_there_to_be_seen_before_all_of_it_is_counted() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("glimpse").await;
    Layout::DeadLetterJobs.seed(&db, 6_000).await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let query = || HistogramQuery::exact(Facet::Error, Filter::all(), None);
    let of_few = store.count(query(), &budget()).await.expect("a count");
    assert!(of_few.resume.is_none(), "one statement counts a small table");
    // A table is large where the server takes it for that.
    for statement in [
        "alter table dead_letter_jobs stats_persistent = 1, stats_auto_recalc = 0",
        "analyze table dead_letter_jobs",
        "update mysql.innodb_table_stats set n_rows = 5000000 \
         where database_name = database() and table_name = 'dead_letter_jobs'",
        // Under its name again, the table has this read.
        "rename table dead_letter_jobs to aside, aside to dead_letter_jobs",
    ] {
        db.execute(statement).await;
    }
    let first = store.count(query(), &budget()).await.expect("a count");
    let seen = &first.histogram.total;
    assert!((1..=1_000).contains(&seen.n) && seen.exactness == Exactness::AtLeast, "{seen:?}");
    let rest = HistogramQuery { resume: first.resume, ..query() };
    let whole = store.count(rest, &budget()).await.expect("a count");
    assert!(whole.resume.is_none(), "what is left is one statement");
    let counts = |step: &HistogramStep| {
        let mut bars: Vec<_> = step.histogram.bars.iter().map(|bar| (bar.value.clone(), bar.count)).collect();
        bars.sort_by_key(|(value, _)| value.as_ref().map(|value| value.exact().to_owned()));
        bars
    };
    assert_eq!(counts(&whole), counts(&of_few));
}

#[tokio::test]
async fn tables_of_sqlite_are_counted_whole_whatever_their_rows_are_numbered_by() {
    for (shape, change) in [
        ("numbered", ""),
        ("sparse", "update dead_letter_jobs set rowid = rowid * 1000000007;"),
        ("negative", "update dead_letter_jobs set rowid = rowid - 3000;"),
        // What died today and not just now, written so that it sorts behind what just died.
        (
            "written both ways",
            "update dead_letter_jobs set failed_at = strftime('%Y-%m-%dT00:00:01', 'now'), error_class = 'Odd' \
             where rowid % 10 = 4",
        ),
        ("with gaps", "delete from dead_letter_jobs where rowid between 1000 and 4000 or rowid > 5990;"),
        // Such a table has no numbers, or something else is called like them.
        (
            "unnumbered",
            "alter table dead_letter_jobs rename to had; create table dead_letter_jobs (id text primary key, \
            job_class, job_id, queue_name, arguments, error_class, error_message, error_backtrace, failed_at, status, metadata, \
            created_at, updated_at) without rowid; insert into dead_letter_jobs select * from had; drop table had;",
        ),
        ("misnamed", "alter table dead_letter_jobs add column _rowid_ text;"),
    ] {
        let db = harness::sqlite(shape).await;
        Layout::DeadLetterJobs.seed(&db, 6_000).await;
        for (time, remainder) in
            [("strftime('%Y-%m-%d %H:%M:%f', 'now')", 1), ("'2026-02-30 00:00:00'", 2), ("'never'", 3)]
        {
            let odd = format!("update dead_letter_jobs set failed_at = {time}, error_class = 'Odd'");
            db.execute(&format!("{odd} where abs(rowid) % 500 = {remainder}")).await;
        }
        db.execute(change).await;
        let store = gentle_store(&db, Layout::DeadLetterJobs).await;
        let step = histogram(&store, Facet::Error, &Filter::all()).await;
        let mut told: Vec<String> = step
            .histogram
            .bars
            .iter()
            .map(|bar| format!("{} {}", bar.value.as_ref().map_or("", |value| value.exact()), bar.count.n))
            .collect();
        told.sort_unstable();
        let truth =
            "select error_class || ' ' || count(*) from dead_letter_jobs where status = 'failed' group by error_class";
        let mut truth = db.column(truth).await;
        truth.sort_unstable();
        assert_eq!(told, truth, "{shape}");
        assert!(truth.iter().any(|line| line.starts_with("Odd ")), "{shape}");
    }
}

/// How jobs by state were counted, all of them in the same way.
async fn by_state(store: &SqlStore, asked: bool, budget: &Budget) -> Option<Exactness> {
    let totals = store.count(HistogramQuery::states(asked), budget).await.ok()?.histogram.by_state();
    let ways: Vec<Exactness> = totals.iter().map(|(_, count)| count.exactness).collect();
    assert!(ways.iter().all(|way| *way == ways[0]), "{totals:?}");
    Some(ways[0])
}

#[tokio::test]
async fn jobs_by_state_that_could_not_be_counted_in_time_are_guessed_and_not_tried_again_at_once() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("outlasted").await;
    Layout::DeadLetterJobs.seed(&db, 600).await;
    // A few rows whose state takes long to read, and of which the statistics know.
    db.execute(
        "drop index index_dead_letter_jobs_on_job_class_and_status, index_dead_letter_jobs_on_status; \
         update dead_letter_jobs set status = repeat('x', 5000000) \
         where id in (select id from dead_letter_jobs order by id limit 60); analyze dead_letter_jobs",
    )
    .await;
    let (guessed, counted) = (Some(Exactness::Estimate), Some(Exactness::Exact));
    let store = store(&db, Layout::DeadLetterJobs).await;
    // On a busy machine that may be too little for a guess, too.
    let first = by_state(&store, false, &Budget::new(Duration::from_millis(50))).await;
    assert!(first.is_none() || first == guessed, "{first:?}");
    assert_eq!(by_state(&store, false, &budget()).await, guessed, "it would cost the server as much as before");
    assert_eq!(by_state(&store, true, &budget()).await, counted, "somebody asked");
    assert_eq!(by_state(&store, false, &budget()).await, counted, "it is known that it can be done");
}
