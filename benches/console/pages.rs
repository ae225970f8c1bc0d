//! The list at any depth, both ends and under filters that an index serves.

use std::time::Instant;

use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Budget, Cursor, PageQuery, ScanMode, Sort, Store, StoreExt};

use crate::bench::Bench;
use crate::books::{Cost, Meter};
use crate::client::Client;
use crate::cohort::instant_at;
use crate::fixtures::Layout;
use crate::ground::open_store;
use crate::harness::Engine;
use crate::sample::{Sample, ratio};
use crate::steps::{PAGE, filter};
use crate::table::{Line, Table};

const RUNS: usize = 11;
/// Buffers that a page may touch.
const BUFFERS: u64 = 200;
/// Rows of the list on a terminal of 140 x 45.
const SCREEN: usize = 16;
const RARE: &str = "class:Invoices::RenderJob";

/// Pages through the store, against the same page by keyset and by OFFSET.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let store = open_store(bench.many, bench.ground.layout, &bench.budget).await;
    let mut table = Table::new(format!("4. A page of {PAGE} rows at the most, {} in the table", bench.rows));
    let reader = Reader { store: &store, meter: bench.meter(bench.many), budget: &bench.budget };
    plain(bench, &reader, &mut table).await;
    for (name, words) in indexed(bench) {
        let wanted = filter(&words);
        for (end, cursor) in [("first", Cursor::Start), ("last", Cursor::End)] {
            let line = reader.line(format!("{name}, {end}"), &wanted, cursor).await;
            table.add(line);
        }
        let until = filter(&format!("{words} until:{}", moment(bench, 0.5)));
        if let Some(place) = reader.first(&until).await {
            table.add(reader.line(format!("{name}, middle"), &wanted, Cursor::After(place)).await);
        }
    }
    table
}

/// Pages of the values that lie behind an index of their own which does not order them, with one that does, as `doctor`
/// proposes it.
pub async fn with_indexes(bench: &Bench<'_>, copy: &str) -> Result<Table, String> {
    if bench.ground.layout != Layout::DeadLetterJobs {
        return Err("left out: this layout has no such values".to_owned());
    }
    let client = Client::new(copy);
    let mut table = Table::new(format!(
        "4. A page of {PAGE} rows at the most with the indexes that doctor names, {} rows",
        bench.rows
    ));
    let dead = if bench.is_postgres() { " where status = 'failed'" } else { "" };
    let began = Instant::now();
    client.once(&[
        format!("create index bench_by_class on dead_letter_jobs (job_class, failed_at, id){dead}"),
        "create index bench_by_state on dead_letter_jobs (status, failed_at, id)".to_owned(),
    ]);
    table.add(Line::new("building both", crate::sample::told(began.elapsed())));
    let store = open_store(copy, bench.ground.layout, &bench.budget).await;
    let reader = Reader { store: &store, meter: bench.meter(copy), budget: &bench.budget };
    for (name, words) in [("by a rare job class", RARE), ("by state", "state:resolved")] {
        for (end, cursor) in [("first", Cursor::Start), ("last", Cursor::End)] {
            table.add(reader.line(format!("{name}, {end}"), &filter(words), cursor).await);
        }
    }
    let of = if client.engine() == Engine::Mysql { " on dead_letter_jobs" } else { "" };
    client.once(&["bench_by_class", "bench_by_state"].map(|index| format!("drop index {index}{of}")));
    Ok(table)
}

/// Filters that an index of the layout serves: a name, and the filter.
fn indexed(bench: &Bench<'_>) -> Vec<(&'static str, String)> {
    let by_time = ("by time", format!("since:{} until:{}", moment(bench, 0.4), moment(bench, 0.6)));
    match bench.ground.layout {
        Layout::DeadLetterJobs => vec![
            by_time,
            ("by job class", "class:Billing::CaptureJob".to_owned()),
            ("by a rare job class", RARE.to_owned()),
            ("by state", "state:resolved".to_owned()),
            ("by a rare state", "state:ignored".to_owned()),
            ("by class and state", "class:Billing::CaptureJob state:ignored".to_owned()),
            ("by a rare class and a rare state", format!("{RARE} state:ignored")),
            ("by class and state, of which there are none", format!("{RARE} state:resolved")),
        ],
        Layout::DlqEvents => vec![by_time],
        Layout::JobsDlq => Vec::new(),
    }
}

/// A moment as filters have it, at so large a share of the time that the rows take up.
fn moment(bench: &Bench<'_>, share: f64) -> String {
    instant_at(bench.rows, share).replace(' ', "T") + "Z"
}

async fn plain(bench: &Bench<'_>, reader: &Reader<'_>, table: &mut Table) {
    let (baseline, client) = (bench.baseline(), bench.client());
    let all = Filter::default();
    let mut against = |line: Line, ours: &Sample, statement: &str| {
        let theirs = client.timing(statement, RUNS);
        let buffers = client.buffers(statement).map_or_else(String::new, |n| format!("; baseline {n} buffers"));
        let evidence = format!("{}{buffers}", line.evidence);
        table.add(line.against(theirs.told(), ratio(ours.median(), theirs.median())).because(evidence));
    };
    let (line, ours) = reader.timed("first".to_owned(), &all, Cursor::Start).await;
    against(line, &ours, &baseline.first_page());
    for share in [0.1, 0.5, 0.9] {
        let place = place(bench, 1.0 - share);
        let cursor = Cursor::After(reader.position(&place).await);
        let (line, ours) = reader.timed(format!("{:.0} % of the way down", share * 100.0), &all, cursor).await;
        against(line, &ours, &baseline.page_after(&place));
    }
    let (line, ours) = reader.timed("last".to_owned(), &all, Cursor::End).await;
    against(line, &ours, &baseline.last_page());

    // Once: at ten million rows it takes half a minute.
    let depth = bench.rows / 2;
    let theirs = client.once(&[baseline.page_by_offset(depth)]);
    let place = place(bench, 0.5);
    let (line, ours) = reader
        .timed("half way down, against OFFSET".to_owned(), &all, Cursor::After(reader.position(&place).await))
        .await;
    table.add(line.against(crate::sample::told(theirs), ratio(ours.median(), theirs)));
}

/// The values of the order of a row in the midst.
fn place(bench: &Bench<'_>, share: f64) -> Vec<String> {
    let client = bench.client();
    let statements = bench.baseline().place(&instant_at(bench.rows, share));
    statements.iter().map(|statement| client.print(&[statement])).collect()
}

/// Reads pages and what they cost.
struct Reader<'a> {
    store: &'a dyn Store,
    meter: Meter,
    budget: &'a Budget,
}

impl Reader<'_> {
    async fn position(&self, place: &[String]) -> dlq_tui::store::Position {
        let id = JobId::new(place.last().map_or("", String::as_str));
        let rows = self.store.rows(std::slice::from_ref(&id), self.budget).await.unwrap_or_else(|e| panic!("{e}"));
        rows.into_iter().next().unwrap_or_else(|| panic!("no row {id:?}")).position
    }

    /// The place of the newest row.
    async fn first(&self, filter: &Filter) -> Option<dlq_tui::store::Position> {
        let mut at = Some(Cursor::Start);
        while let Some(cursor) = at {
            let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor, limit: 1 };
            let page = self.store.scan(query, ScanMode::List, self.budget).await.unwrap_or_else(|e| panic!("{e}"));
            if let Some(entry) = page.entries.into_iter().next() {
                return Some(entry.position);
            }
            at = page.next;
        }
        None
    }

    async fn line(&self, name: String, filter: &Filter, cursor: Cursor) -> Line {
        self.timed(name, filter, cursor).await.0
    }

    async fn timed(&self, name: String, filter: &Filter, cursor: Cursor) -> (Line, Sample) {
        let (mut sample, mut rows) = (Sample::default(), 0);
        // The first warms the connection, as in psql.
        for run in 0..=RUNS {
            if run == 1 {
                self.meter.reset();
            }
            let query =
                PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: cursor.clone(), limit: PAGE };
            let began = Instant::now();
            let page =
                self.store.scan(query, ScanMode::Screen(SCREEN), self.budget).await.unwrap_or_else(|e| panic!("{e}"));
            let took = began.elapsed();
            rows = page.entries.len();
            if run > 0 {
                sample.push(took);
            }
        }
        let cost: Cost = self.meter.read().each(RUNS);
        let evidence = match rows {
            PAGE => cost.told(),
            rows => format!("{}; {rows} rows", cost.told()),
        };
        let line = if self.meter.counts() {
            let line = Line::new(name, format!("{} buffers, {}", cost.buffers, sample.told()));
            line.aim(format!("under {BUFFERS} buffers"), cost.buffers < BUFFERS)
        } else {
            Line::new(name, sample.told())
        };
        (line.because(evidence), sample)
    }
}
