//! What a page costs, wherever it is in the list: read from the plans that PostgreSQL writes down as it runs them.

use std::time::Duration;

use dlq_tui::store::{Budget, Cursor, Entry, Page, PageQuery, Position, ScanMode, Sort, Store};
use serde_json::Value;

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::*;

const ROWS: u32 = 100_000;
/// Rows of the list on a usual terminal.
const SCREEN: usize = 16;
/// Blocks that a page may touch, each row of which may stand in one of its own.
const MOST: u64 = 200;

/// A server that writes down the plan of every statement, with what it touched.
const SETTINGS: [&str; 8] = [
    "session_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_analyze=on",
    "auto_explain.log_buffers=on",
    "auto_explain.log_format=json",
    "logging_collector=on",
    "log_destination=jsonlog",
    // One file for all of it.
    "log_rotation_size=0",
];

/// The plans of the statements since the last call that read the list, oldest first.
async fn plans(db: &TestDb, read: &mut usize) -> Vec<Value> {
    // A process of its own writes the log: what was said before this mark is there when the mark is.
    let mark = format!("so far {read}");
    db.scalar(&format!("select '{mark}'")).await;
    let mut log = String::new();
    while !log.get(*read..).unwrap_or_default().contains(&mark) {
        log = db.scalar("select pg_read_file(pg_current_logfile('jsonlog'))").await;
    }
    let new = log.get(*read..).unwrap_or_default();
    *read = log.len();
    let plan = |line: &str| {
        let entry: Value = serde_json::from_str(line).ok()?;
        let (_, plan) = entry["message"].as_str()?.split_once("plan:\n")?;
        serde_json::from_str::<Value>(plan).ok()
    };
    // A message of several statements is the text of each of them: what reads no table only says who asks. What was only
    // explained never ran.
    let lists = |plan: &Value| {
        let (text, root) = (&plan["Query Text"], &plan["Plan"]);
        let has_run = root["Actual Loops"].as_u64().is_some_and(|loops| loops > 0);
        text.as_str().is_some_and(|sql| sql.contains(" AS c14")) && has_run && root["Node Type"] != "Result"
    };
    new.lines().filter_map(plan).filter(lists).collect()
}

/// Every node of a plan.
fn nodes(plan: &Value) -> Vec<&Value> {
    let below = plan["Plans"].as_array().into_iter().flatten();
    std::iter::once(plan).chain(below.flat_map(nodes)).collect()
}

/// The blocks that a plan touched.
fn blocks(root: &Value) -> u64 {
    root["Shared Hit Blocks"].as_u64().unwrap_or(0) + root["Shared Read Blocks"].as_u64().unwrap_or(0)
}

/// A page for whoever sees so many rows at a time; a whole one for nobody in particular.
async fn page(store: &dyn Store, text: &str, cursor: Cursor, screen: Option<usize>) -> Page {
    let query = PageQuery { filter: filter(text), sort: Sort::default(), cursor, limit: 100 };
    let page = match screen {
        Some(screen) => store.scan(query, ScanMode::Screen(screen), &budget()).await,
        None => store.scan(query, ScanMode::List, &budget()).await,
    };
    page.expect("a page")
}

fn place(rows: &[Entry]) -> Position {
    rows.last().expect("rows").position.clone()
}

async fn check(db: &TestDb, store: &dyn Store, screen: Option<usize>, texts: &[&str]) {
    let mut read = 0;
    for text in texts {
        let middle = page(store, format!("{text} until:2026-11-01T05:00").trim(), Cursor::Start, screen).await.entries;
        let ends = [Cursor::Start, Cursor::End, Cursor::After(place(&middle)), Cursor::Before(place(&middle))];
        plans(db, &mut read).await;
        for cursor in ends {
            let rows = page(store, text, cursor.clone(), screen).await.entries.len();
            let plans = plans(db, &mut read).await;
            let [plan] = plans.as_slice() else { panic!("{text} {cursor:?}: {} statements", plans.len()) };
            let root = &plan["Plan"];
            let blocks = blocks(root);
            assert!(
                rows > 0 && blocks > 0 && blocks < MOST,
                "{text} {cursor:?}: {rows} rows of {blocks} blocks: {root:#}"
            );
            let sorts = nodes(root).into_iter().filter(|node| node["Node Type"] == "Sort").count();
            assert_eq!(sorts, 0, "{text} {cursor:?}: {root:#}");
        }
    }
}

#[tokio::test]
async fn a_page_touches_few_blocks_wherever_it_is() {
    if harness::postgres().is_none() {
        return;
    }
    let server = harness::private_postgres_with(&SETTINGS, None).expect("a server with auto_explain");
    let db = server.database("pages").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    db.execute("analyze").await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    check(&db, &store, None, &["", "state:dead", "since:2026-11-01T01:00", "class:Billing::CaptureJob"]).await;
    // With the index that `doctor` names, a class that no index of the layout knows.
    db.execute("create index on dead_letter_jobs (error_class, failed_at, id) where status = 'failed'; analyze").await;
    check(&db, &store, None, &["error:Legacy::Error39", "error:Net::ReadTimeout"]).await;
    // Few are like these, and each has all that lie between it and the next before it. Jobs are stored as they die, hardly any
    // two of them at the same time.
    db.execute(
        "update dead_letter_jobs set failed_at = failed_at + right(id::text, 12)::bigint % 3 * interval '0.3 s'",
    )
    .await;
    db.execute("cluster dead_letter_jobs using index_dead_letter_jobs_on_failed_at; analyze").await;
    check(&db, &store, Some(SCREEN), &["class:Invoices::RenderJob", "state:resolved"]).await;
}

/// All jobs that pass, newest first, page by page from either end.
async fn listed(store: &dyn Store, text: &str, start: Cursor, screen: Option<usize>) -> Vec<String> {
    let (mut listed, mut at, mut steps) = (Vec::new(), Some(start.clone()), 0);
    while let Some(cursor) = at {
        let page = page(store, text, cursor, screen).await;
        steps += 1;
        assert!(steps < 2_000, "{text} {start:?} {screen:?}: no end at {:?}", page.next);
        let ids = page.entries.iter().map(|entry| entry.row.id.as_str().to_owned());
        match start == Cursor::Start {
            true => listed.extend(ids),
            false => listed.splice(0..0, ids.collect::<Vec<_>>()).for_each(drop),
        }
        at = page.next;
    }
    listed
}

/// The same as they are frozen.
async fn frozen(store: &dyn Store, text: &str) -> Vec<String> {
    let (mut frozen, mut at) = (Vec::new(), Some(Cursor::Start));
    while let Some(cursor) = at {
        let step =
            store.scan(PageQuery::cohort(&filter(text), cursor), ScanMode::Cohort, &budget()).await.expect("a step");
        frozen.extend(step.entries.into_iter().map(|entry| entry.row.id.as_str().to_owned()));
        at = step.next;
    }
    frozen
}

/// Whether all ways to the jobs of a class and a state lead to these.
async fn check_rare(db: &TestDb, store: &dyn Store, class: &str, state: &str) {
    let condition = format!("job_class = '{class}' and status = '{state}'");
    let since = "failed_at >= '2026-11-01 04:00' and failed_at < 'infinity'";
    for (more, condition) in [("", condition.clone()), (" since:2026-11-01T04:00", format!("{condition} and {since}"))]
    {
        let sql = format!("select id::text from dead_letter_jobs where {condition} order by failed_at desc, id desc");
        let (wanted, text) = (db.column(&sql).await, format!("class:{class} state:{state}{more}"));
        for start in [Cursor::Start, Cursor::End] {
            for screen in [Some(SCREEN), None] {
                let listed = listed(store, &text, start.clone(), screen).await;
                assert!(listed == wanted, "{text} {start:?} {screen:?}: {} of {}", listed.len(), wanted.len());
            }
        }
        let frozen = frozen(store, &text).await;
        assert!(frozen == wanted, "{text}: {} of {}", frozen.len(), wanted.len());
    }
}

#[tokio::test]
async fn rows_of_a_rare_value_are_found_by_two_indexes_together_and_none_is_left_out() {
    if harness::postgres().is_none() {
        return;
    }
    let server = harness::private_postgres_with(&SETTINGS, None).expect("a server with auto_explain");
    let db = server.database("rare").await;
    Layout::DeadLetterJobs.seed(&db, 150_000).await;
    db.execute("vacuum analyze dead_letter_jobs").await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let mut read = 0;
    for (text, is_many) in
        [("class:Billing::CaptureJob state:ignored", true), ("class:Invoices::RenderJob state:resolved", false)]
    {
        plans(&db, &mut read).await;
        for start in [Cursor::Start, Cursor::End] {
            listed(&store, text, start, Some(SCREEN)).await;
        }
        let plans = plans(&db, &mut read).await;
        assert!(plans.len() > 1, "{text}: {}", plans.len());
        for plan in &plans {
            let root = &plan["Plan"];
            assert!(blocks(root) < MOST, "{text}: {} blocks: {root:#}", blocks(root));
        }
        let both = |plan: &Value| nodes(&plan["Plan"]).into_iter().any(|node| node["Node Type"] == "BitmapAnd");
        assert!(!is_many || plans.iter().any(both), "{text}: they are not read together");
    }
    // Of one value more at one time than are read at once, and as many at none that the calendar has. Those of another one long
    // before all others, and each so much later than the one before that spans fall short, and end before one that passes.
    let some = |state: &str, n: u32, offset: u32| {
        format!(
            "id in (select id from dead_letter_jobs where job_class = 'Billing::CaptureJob' and status = '{state}' \
             order by failed_at limit {n} offset {offset})"
        )
    };
    db.execute(&format!(
        "update dead_letter_jobs set failed_at = '2026-11-01 05:00:00' where {} or {}; \
         update dead_letter_jobs set failed_at = 'infinity' where {} or {}; \
         update dead_letter_jobs set failed_at = '-infinity' where {}; \
         update dead_letter_jobs \
         set failed_at = timestamp '2025-01-01' + interval '1 second' * 2.0 ^ (right(id::text, 12)::float / 6000) \
         where job_class = 'Legacy::SyncJob' and status = 'ignored'; \
         update dead_letter_jobs set failed_at = '2026-05-01' where job_class = 'Legacy::SyncJob' and status = 'resolved'",
        some("ignored", 70, 100),
        some("resolved", 210, 100),
        some("ignored", 3, 0),
        some("resolved", 200, 400),
        some("ignored", 9, 3),
    ))
    .await;
    // One that knows how far the jobs reach now, and one that does not.
    let fresh = crate::store_desk::store(&db, Layout::DeadLetterJobs).await;
    for (class, state) in [
        ("Billing::CaptureJob", "ignored"),
        ("Billing::CaptureJob", "resolved"),
        ("Billing::ChargeJob", "ignored"),
        ("Legacy::SyncJob", "ignored"),
        ("Legacy::SyncJob", "resolved"),
        ("Invoices::RenderJob", "resolved"),
    ] {
        plans(&db, &mut read).await;
        for store in [&store, &fresh] {
            check_rare(&db, store, class, state).await;
        }
        let plans = plans(&db, &mut read).await;
        let spans = plans.iter().filter(|plan| is_span(plan));
        let is_single = |node: &Value| ["Index Scan", "Seq Scan"].map(Value::from).contains(&node["Node Type"]);
        let follows = |plan: &&Value| nodes(&plan["Plan"]).into_iter().any(is_single);
        assert!(spans.clone().count() > 5, "{class} {state}: not by spans");
        assert_eq!(spans.clone().find(follows), None, "{class} {state}");
    }
    // An index that leads to them in order is followed.
    db.execute("create index on dead_letter_jobs (job_class, status, failed_at, id); analyze dead_letter_jobs").await;
    let ordered = crate::store_desk::store(&db, Layout::DeadLetterJobs).await;
    plans(&db, &mut read).await;
    check_rare(&db, &ordered, "Billing::CaptureJob", "ignored").await;
    let plans = plans(&db, &mut read).await;
    assert!(!plans.iter().any(is_span), "an index is passed over");
}

/// Whether a plan is one of those by which a span is read.
fn is_span(plan: &Value) -> bool {
    plan["Plan"]["Node Type"] == "WindowAgg"
}

#[tokio::test]
async fn few_dead_jobs_among_many_settled_ones_are_found_by_their_state() {
    // Where the planner takes our word for what most rows are, our word is wrong here.
    let db = harness::sqlite("few dead").await;
    Layout::DeadLetterJobs.seed(&db, ROWS).await;
    let oldest = "select id from dead_letter_jobs order by failed_at, id limit 3";
    db.execute(&format!("update dead_letter_jobs set status = 'resolved' where id not in ({oldest})")).await;
    let few =
        db.column("select id from dead_letter_jobs where status = 'failed' order by failed_at desc, id desc").await;
    let query = PageQuery { filter: filter(""), sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
    let mut was_direct = false;
    // Too short for the whole table, and long for three rows, unless the machine looks away for just that time.
    for _ in 0..5 {
        let store = store(&db, Layout::DeadLetterJobs).await;
        let page =
            store.scan(query.clone(), ScanMode::List, &Budget::new(Duration::from_millis(25))).await.expect("a page");
        let ids: Vec<&str> = page.entries.iter().map(|entry| entry.row.id.as_str()).collect();
        was_direct |= page.scanned.is_none() && ids == few;
    }
    assert!(was_direct, "windows were read each time");
}
