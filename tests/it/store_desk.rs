//! Opening a test's database as the console would, and asking a store for whole answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dlq_tui::adapter::{Adapter, built_in};
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions};
use dlq_tui::domain::action::{Action, JobOutcome};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::Histogram;
use dlq_tui::domain::job::{JobId, JobRow};
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, SqlStore, detect, open};
use dlq_tui::store::{
    Batch, Budget, Cursor, Entry, HistogramQuery, HistogramStep, Journal, JournalEntry, Page, PageQuery, ScanMode,
    Sort, SourceError, Store,
};
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::TestDb;

/// A budget that only a hang exhausts.
pub fn budget() -> Budget {
    Budget::new(Duration::from_secs(30))
}

pub async fn engine(db: &TestDb) -> Arc<Engine> {
    let target = Target::from_url(&db.url).expect("a target");
    Arc::new(Engine::connect(&target, &EngineOptions::default()).await.expect("an engine"))
}

pub fn adapter(name: &str) -> Adapter {
    built_in().into_iter().find(|a| a.name == name).expect("an adapter of that name")
}

/// The layout's store, with the live table `jobs` as destination where the layout asks for one.
pub async fn store(db: &TestDb, layout: Layout) -> SqlStore {
    store_to(db, layout, ReplayDestination::Table("jobs".to_owned())).await
}

/// The same, reading by windows only.
pub async fn gentle_store(db: &TestDb, layout: Layout) -> SqlStore {
    store_with(
        db,
        layout,
        OpenOptions {
            destination: ReplayDestination::Table("jobs".to_owned()),
            gentle: true,
            ..OpenOptions::default()
        },
    )
    .await
}

pub async fn store_to(db: &TestDb, layout: Layout, destination: ReplayDestination) -> SqlStore {
    store_with(db, layout, OpenOptions { destination, ..OpenOptions::default() }).await
}

/// The store at a URL of its own, as somebody else than the tests' user.
pub async fn store_at(url: &str, layout: Layout, gentle: bool) -> SqlStore {
    let target = Target::from_url(url).expect("a target");
    let engine = Arc::new(Engine::connect(&target, &EngineOptions::default()).await.expect("an engine"));
    opened(engine, layout, OpenOptions { gentle, ..OpenOptions::default() }).await
}

async fn store_with(db: &TestDb, layout: Layout, options: OpenOptions) -> SqlStore {
    opened(engine(db).await, layout, options).await
}

async fn opened(engine: Arc<Engine>, layout: Layout, options: OpenOptions) -> SqlStore {
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.iter().find(|f| f.adapter == layout.table());
    let found = found.unwrap_or_else(|| panic!("{} not found: {detection:?}", layout.table()));
    open(engine, &adapter(layout.table()), found, &options, &budget()).await.expect("a store")
}

pub fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// The whole list, page by page in one direction; panics on a repeated row.
pub async fn exhaust(store: &dyn Store, filter: &Filter, sort: Sort, from: Cursor, limit: usize) -> Vec<Entry> {
    let budget = budget();
    exhaust_by(&|query| store.scan(query, ScanMode::List, &budget), filter, sort, from, limit).await
}

/// The same, by what reads a page.
pub async fn exhaust_by<'a>(
    read: &(dyn Fn(PageQuery) -> BoxFuture<'a, Result<Page, SourceError>> + Sync),
    filter: &Filter,
    sort: Sort,
    from: Cursor,
    limit: usize,
) -> Vec<Entry> {
    let backward = matches!(from, Cursor::End | Cursor::Before(_));
    let mut cursor = Some(from);
    let mut all: Vec<Entry> = Vec::new();
    while let Some(at) = cursor {
        let query = PageQuery { filter: filter.clone(), sort, cursor: at, limit };
        let page = read(query).await.expect("a page");
        assert!(page.entries.len() <= limit);
        match backward {
            true => all.splice(0..0, page.entries).for_each(drop),
            false => all.extend(page.entries),
        }
        cursor = page.next;
    }
    let ids: BTreeSet<&JobId> = all.iter().map(|e| &e.row.id).collect();
    assert_eq!(ids.len(), all.len(), "a row came twice");
    all
}

/// A histogram carried to its end.
pub async fn histogram(store: &dyn Store, facet: Facet, filter: &Filter) -> HistogramStep {
    let budget = budget();
    histogram_by(&|query| store.count(query, &budget), facet, filter).await
}

/// The same, by what counts a step.
pub async fn histogram_by<'a>(
    count: &(dyn Fn(HistogramQuery) -> BoxFuture<'a, Result<HistogramStep, SourceError>> + Sync),
    facet: Facet,
    filter: &Filter,
) -> HistogramStep {
    let mut resume = None;
    loop {
        let query = HistogramQuery::exact(facet, filter.clone(), resume);
        let step = count(query).await.expect("a histogram");
        match step.resume {
            None => return step,
            Some(on) => resume = Some(on),
        }
    }
}

/// How many rows a MariaDB has read of the tables of a database since it was first asked.
pub async fn rows_read(db: &TestDb) -> u64 {
    db.execute("set global userstat = 1").await;
    let sum = "select coalesce(sum(rows_read), 0) from information_schema.table_statistics where table_schema = ";
    db.scalar(&format!("{sum}'{}'", db.name())).await.parse().expect("a number")
}

pub fn bars(histogram: &Histogram) -> BTreeMap<Option<String>, u64> {
    histogram.bars.iter().map(|b| (b.value.as_ref().map(|v| v.exact().to_owned()), b.count.n)).collect()
}

/// What the rows themselves say of a facet.
pub fn counted(rows: &[Entry], value: impl Fn(&JobRow) -> Option<String>) -> BTreeMap<Option<String>, u64> {
    let mut out = BTreeMap::new();
    for entry in rows {
        *out.entry(value(&entry.row)).or_default() += 1;
    }
    out
}

pub fn batch(action: Action, ids: impl IntoIterator<Item = JobId>) -> Batch {
    Batch::of(action, ids.into_iter().collect(), "run-1")
}

pub async fn apply(store: &dyn Store, batch: Batch) -> BTreeMap<JobId, dlq_tui::domain::action::JobResult> {
    let wanted: BTreeSet<JobId> = batch.ids.iter().cloned().collect();
    let outcomes: Vec<JobOutcome> = store.apply(batch, &budget()).await.into_outcomes().expect("a batch");
    assert_eq!(outcomes.len(), wanted.len(), "each job is answered for once: {outcomes:?}");
    let map: BTreeMap<_, _> = outcomes.into_iter().collect();
    assert_eq!(map.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    map
}

/// An archive that keeps rows in memory, or refuses.
#[derive(Default)]
pub struct Shelf {
    pub rows: Mutex<Vec<(JobId, String)>>,
    pub full: bool,
}

impl Journal for Shelf {
    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(async move {
            if self.full {
                return Err(SourceError::Unrecorded("the disk is full".to_owned()));
            }
            self.rows.lock().expect("a lock").extend(entry.rows);
            Ok(())
        })
    }
}
