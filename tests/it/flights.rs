//! How often an answer is waited for until there is something to see: what a long wire makes of every start.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use dlq_tui::adapter::{Adapter, built_in};
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions};
use dlq_tui::domain::action::Action;
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::sql::{Detection, OpenOptions, ReplayDestination, SqlStore, open, survey};
use dlq_tui::store::{Availability, Budget, Cursor, HistogramQuery, PageQuery, ScanMode, Sort, Store, StoreExt};

use crate::fixtures::Layout;
use crate::harness::{self, Said, TestDb, Wire};
use crate::pty::{Pty, Screen};

/// A reading transaction, whatever its statements: it is begun, asked and ended at once.
const READ: usize = 1;

fn budget() -> Budget {
    Budget::new(Duration::from_secs(30))
}

fn to_jobs() -> ReplayDestination {
    ReplayDestination::Table("jobs".to_owned())
}

async fn seeded(name: &str) -> Option<TestDb> {
    let db = harness::postgres()?.database(name).await;
    Layout::DeadLetterJobs.seed(&db, 2_000).await;
    db.execute("analyze").await;
    Some(db)
}

/// Connects, and finds layouts.
async fn surveyed(wire: &Wire, adapters: &[Adapter]) -> (Engine, Detection) {
    let target = Target::from_url(&wire.url).expect("a target");
    let found = survey(&target, &EngineOptions::default(), ready(adapters), &to_jobs(), &budget()).await;
    let (engine, _, detection) = found.unwrap_or_else(|error| panic!("{error}"));
    (engine, detection)
}

/// The statements of all that was said.
fn statements(said: &[Said]) -> impl Iterator<Item = &str> {
    let scripts = said.iter().filter_map(|said| if let Said::Query(script) = said { Some(script) } else { None });
    scripts.flat_map(|script| script.split("; "))
}

/// Finds and opens the layout as the console does, and says how many flights each took.
async fn opened(wire: &Wire) -> (SqlStore, usize, usize) {
    let adapters = built_in();
    let (engine, detection) = surveyed(wire, &adapters).await;
    let surveying = wire.flights();
    let table = Layout::DeadLetterJobs.table();
    let found = detection.found.iter().find(|found| found.adapter == table).expect("the layout");
    let adapter = adapters.iter().find(|adapter| adapter.name == table).expect("the adapter");
    let options = OpenOptions { destination: to_jobs(), just_connected: true, ..OpenOptions::default() };
    let store = open(Arc::new(engine), adapter, found, &options, &budget()).await.expect("a store");
    (store, surveying, wire.flights())
}

#[tokio::test]
async fn a_layout_is_found_in_one_flight_behind_the_greeting_and_opened_in_none() {
    let Some(db) = seeded("found").await else { return };
    let pooler = harness::pgbouncer(&db, 2);
    for url in [Some(&db.url), pooler.as_ref().map(|pooler| &pooler.url)].into_iter().flatten() {
        let wire = Wire::to(url, Duration::ZERO);
        let (store, surveying, opening) = opened(&wire).await;
        // The greeting asks for TLS first.
        assert_eq!((surveying, opening), (2 + READ, 0), "{url}");
        let replay = store.info().availability(Action::Replay);
        assert!(matches!(replay, Availability::Ready { .. }), "{replay:?}");
    }
}

/// Bars, rows, and the job under the cursor: what an operator can decide on.
fn is_useful(screen: &Screen<'_>) -> bool {
    let is_bar = |row: &String| row.contains(['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█']);
    let is_job = |row: &String| row.split_whitespace().count() >= 4;
    screen.rows().iter().filter(|row| is_bar(row)).count() >= 3
        && screen.below("time UTC", 2).iter().filter(|row| is_job(row)).count() >= 5
        // A tab tells the size of what is on it.
        && screen.contains("[Arguments ")
}

/// Tells whether a console shows what `condition` looks for though its wire carries `most` things that are said, and hands
/// out what was. Several are started: a busy machine may let a read run into its deadline, and what is asked once more
/// then is over the number. What takes more flights than that is over it every time.
fn is_shown_after(most: usize, db: &TestDb, condition: impl Fn(&Screen<'_>) -> bool) -> Result<Vec<Said>, String> {
    let mut seen = String::new();
    for _ in 0..5 {
        let wire = Wire::until(&db.url, most);
        let pty = Pty::console(&[]).size(140, 45).env("DATABASE_URL", &wire.url).start();
        if pty.seen_within(Duration::from_secs(10), &condition) {
            return Ok(wire.said());
        }
        seen = format!("{}\n{:#?}", pty.text(), wire.said());
    }
    Err(seen)
}

#[tokio::test]
async fn the_first_screen_takes_three_questions_behind_the_one_for_the_layouts() {
    let Some(db) = seeded("screen").await else { return };
    // Two connections, whose greeting asks for TLS first; the layouts; rows and bars, and the job.
    let shown = is_shown_after(2 * 2 + 4 * READ, &db, |screen| is_useful(screen) && screen.contains("~"));
    shown.unwrap_or_else(|seen| {
        panic!(
            "no bars of an estimate, rows and a job:
{seen}"
        )
    });
}

#[tokio::test]
async fn a_server_that_takes_one_connection_of_us_shows_the_first_screen_all_the_same() {
    let Some(db) = seeded("single").await else { return };
    db.execute("create role single login password 'single' connection limit 1").await;
    db.execute("grant select on all tables in schema public to single").await;
    let (_, place) = db.url.split_once('@').expect("a URL with a user");
    let url = format!("postgres://single:single@{place}");
    let pty = Pty::console(&[]).size(140, 45).env("DATABASE_URL", &url).start();
    assert!(pty.seen_within(Duration::from_secs(10), is_useful), "no bars, rows and a job:\n{}", pty.text());
}

#[tokio::test]
async fn a_layout_is_looked_for_without_opening_the_tables_of_other_databases() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("alone").await;
    Layout::DeadLetterJobs.seed(&db, 10).await;
    let wire = Wire::to(&db.url, Duration::ZERO);
    let (_, detection) = surveyed(&wire, &built_in()).await;
    assert!(!detection.found.is_empty());
    let said = wire.said();
    let statement = statements(&said).find(|s| s.contains("information_schema")).expect("a look at the catalogue");
    let notes = db.column_at(&format!("explain {statement}"), 9).await;
    let of = |what: &str| notes.iter().filter(|note| note.contains(what)).count();
    // Of columns, of indexes, and of tables.
    assert_eq!((of("Scanned 1 database"), of("Scanned all databases")), (3, 0), "{notes:?}");
}

/// Buffers of the statements that the first screen takes, as the server explains them.
async fn buffers(rows: u32) -> Option<u64> {
    let db = harness::postgres()?.database(&format!("buffers{rows}")).await;
    Layout::DeadLetterJobs.seed(&db, rows).await;
    db.execute("vacuum analyze").await;
    let wire = Wire::to(&db.url, Duration::ZERO);
    let (store, ..) = opened(&wire).await;
    let query = PageQuery { filter: Filter::all(), sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
    let estimate = store.count(HistogramQuery::estimate(Facet::Error), &budget()).await.expect("an estimate").histogram;
    assert!(!estimate.bars.is_empty(), "statistics");
    let page = store.scan(query, ScanMode::Screen(40), &budget()).await.expect("a page");
    store.detail(&page.entries[0].row.id, &budget()).await.expect("a job").expect("it is there");
    let said = wire.said();
    let statements: Vec<&str> = statements(&said).filter(|s| s.contains(" FROM ")).collect();
    assert_eq!(statements.len(), 3, "statistics, page and job: {said:?}");
    let mut sum = 0;
    for statement in statements {
        let lines = db.column_at(&format!("explain (analyze, buffers) {statement}"), 0).await;
        let line = lines.iter().find(|line| line.trim().starts_with("Buffers: shared")).expect("buffers");
        let counts = line.split(' ').filter_map(|word| word.split_once('=')).map(|(_, n)| n.parse::<u64>());
        sum += counts.sum::<Result<u64, _>>().unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    Some(sum)
}

#[tokio::test]
async fn the_first_screen_reads_no_more_of_a_large_table_than_of_a_small_one() {
    let (Some(small), Some(large)) = (buffers(1_000).await, buffers(60_000).await) else { return };
    assert!(large <= small + small / 2, "{large} buffers of 60,000 rows, {small} of 1,000");
}

#[tokio::test]
async fn bars_rows_and_a_job_take_one_flight_each() {
    let Some(db) = seeded("bars").await else { return };
    let wire = Wire::to(&db.url, Duration::ZERO);
    let (store, ..) = opened(&wire).await;
    let estimate = store.count(HistogramQuery::estimate(Facet::Error), &budget()).await.expect("an estimate").histogram;
    assert!(estimate.bars.len() > 10 && estimate.total.n > 1_000, "{estimate:?}");
    assert_eq!(wire.flights(), READ);
    let query = PageQuery { filter: Filter::all(), sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
    let page = store.scan(query, ScanMode::List, &budget()).await.expect("a page");
    assert_eq!((page.entries.len(), wire.flights()), (100, READ));
    let detail = store.detail(&page.entries[0].row.id, &budget()).await.expect("a job");
    assert_eq!((detail.is_some(), wire.flights()), (true, READ));
}

#[tokio::test]
async fn a_store_that_is_opened_again_is_asked_whether_it_is_there() {
    let Some(db) = seeded("again").await else { return };
    let wire = Wire::to(&db.url, Duration::ZERO);
    let adapters = built_in();
    let target = Target::from_url(&wire.url).expect("a target");
    let (engine, _, detection) =
        survey(&target, &EngineOptions::default(), ready(&adapters), &ReplayDestination::None, &budget())
            .await
            .expect("found");
    wire.flights();
    let found = detection.found.iter().find(|found| found.adapter == Layout::DeadLetterJobs.table());
    let found = found.expect("the layout");
    let adapter = adapters.iter().find(|adapter| adapter.name == found.adapter).expect("the adapter");
    let engine = Arc::new(engine);
    let options = OpenOptions { destination: to_jobs(), ..OpenOptions::default() };
    open(Arc::clone(&engine), adapter, found, &options, &budget()).await.expect("a store");
    // The layout's own detection has seen the destination.
    assert_eq!(wire.flights(), READ);
    // One that was not there is looked for each time: it may have been created since.
    let elsewhere = ReplayDestination::Table("later".to_owned());
    let options = OpenOptions { destination: elsewhere, just_connected: true, ..OpenOptions::default() };
    let replay = async || {
        let store = open(Arc::clone(&engine), adapter, found, &options, &budget()).await.expect("a store");
        store.info().availability(Action::Replay)
    };
    assert!(matches!(replay().await, Availability::Disabled(_)));
    db.execute("create table later (like jobs including all)").await;
    assert!(matches!(replay().await, Availability::Ready { .. }));
}
