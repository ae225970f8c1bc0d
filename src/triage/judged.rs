//! A store with the terms that only the ledger can judge: `replayed:` counts what was done from here.
//!
//! Filters without such a term go straight through. With one, rows are read by the rest of the filter and judged by the
//! ledger, a page at a time: lists keep their order and their steps, counts become windowed counts.

use std::collections::HashMap;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::listed::{Listed, ListedBar};
use super::replay_limit::{asks, known, replays_pass};
use crate::domain::action::{Action, JobOutcome, ReplayStatus};
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::{JobDetail, JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerError, LedgerLocator, Whose};
use crate::store::Identity;
use crate::store::{
    Applied, Batch, Budget, Changes, Cursor, Ending, Entry, FreezeStep, HistogramQuery, HistogramStep, Page, PageQuery,
    Preparation, Result, Scanned, Sort, SourceError, Store, StoreInfo, Token, Unfit,
};

/// Rows that one step of a judged count reads.
const STEP: usize = 2_000;

/// A store and the ledger that judges for it.
pub struct Judged<S> {
    store: S,
    source: String,
    ledger: LedgerLocator,
}

impl<S: Store> Judged<S> {
    /// Wraps a store of a source; the ledger is looked up when a filter first needs it.
    pub fn new(store: S, source: String, ledger: LedgerLocator) -> Self {
        Self { store, source, ledger }
    }

    async fn judge(&self, filter: &Filter, entries: Vec<Entry>, budget: &Budget) -> Result<Vec<Entry>> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let jobs = known(&self.store, entries.iter().map(|e| e.row.id.clone()).collect(), budget).await?;
        let ledger = self.ledger.ledger().await.map_err(input)?;
        let name = super::store_name(self.store.info());
        let database = self.store.identity(budget).await?;
        let whose = Whose { source: &self.source, store: &name, database: database.as_ref() };
        let counts = ledger.replayed_counts(whose, &jobs).await.map_err(input)?;
        let passes = |e: &Entry| replays_pass(filter, counts.get(&e.row.id).copied().unwrap_or(0));
        Ok(entries.into_iter().filter(passes).collect())
    }

    async fn judged_page(&self, query: PageQuery, budget: &Budget) -> Result<Page> {
        let filter = query.filter.clone();
        // Most jobs were never replayed: where those pass nearly all do, and where they do not hardly any does.
        let limit = if replays_pass(&filter, 0) { query.limit } else { query.limit.max(STEP) };
        let asked = PageQuery { filter: filter.without(&Key::Replayed), limit, ..query.clone() };
        let page = self.store.page(asked, budget).await?;
        let read = page.entries.len() as u64;
        let backwards = matches!(query.cursor, Cursor::End | Cursor::Before(_));
        let mut entries = self.judge(&filter, page.entries, budget).await?;
        let mut next = page.next;
        if entries.len() > query.limit {
            // What was read beyond the limit is read again, from the last row that is handed out.
            if backwards {
                entries.drain(..entries.len() - query.limit);
                next = entries.first().map(|e| Cursor::Before(e.position.clone()));
            } else {
                entries.truncate(query.limit);
                next = entries.last().map(|e| Cursor::After(e.position.clone()));
            }
        }
        let share = if next.is_none() { 1.0 } else { page.scanned.map_or(0.0, |s| s.share) };
        let rows = page.scanned.map_or(read, |s| s.rows);
        Ok(Page { entries, next, scanned: Some(Scanned { rows, share }) })
    }

    async fn judged_count(&self, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
        let began = std::time::Instant::now();
        let mut state = query.resume.as_ref().and_then(Token::state::<Listed>).cloned().unwrap_or_default();
        let cursor = state.next.clone().unwrap_or(Cursor::Start);
        let asked = PageQuery { filter: query.filter.clone(), sort: Sort::default(), cursor, limit: STEP };
        let page = self.judged_page(asked, budget).await?;
        for entry in page.entries {
            let at = entry.row.at;
            let bar = state.bars.entry(query.facet.value_of(&entry.row)).or_default();
            bar.n += 1;
            bar.first = earliest(bar.first, at);
            bar.last = bar.last.max(at);
            if query.facet == Facet::Fingerprint && bar.example.is_none() {
                bar.example = entry.row.message;
            }
        }
        state.next = page.next;
        let finished = state.next.is_none();
        let share = page.scanned.map_or(0.0, |s| s.share);
        let counts = histogram(query.facet, &state.bars, (!finished).then_some(share));
        let histogram = Histogram { as_of: self.store.clock(), ..counts };
        let resume = (!finished).then(|| Token::new(state));
        Ok(HistogramStep { resume, cost: began.elapsed(), ..HistogramStep::of(histogram) })
    }
}

fn input(error: LedgerError) -> SourceError {
    SourceError::Input(error.to_string())
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn histogram(facet: Facet, counted: &HashMap<Option<Untrusted>, ListedBar>, progress: Option<f32>) -> Histogram {
    let exactness = if progress.is_some() { Exactness::AtLeast } else { Exactness::Exact };
    let bar = |(value, bar): (&Option<Untrusted>, &ListedBar)| Bar {
        value: value.clone(),
        count: Count { n: bar.n, exactness },
        first_seen: bar.first,
        last_seen: bar.last,
        trend: Vec::new(),
        example: bar.example.clone(),
    };
    let mut bars: Vec<Bar> = counted.iter().map(bar).collect();
    facet.sort(&mut bars);
    let total = Count { n: bars.iter().map(|b| b.count.n).sum(), exactness };
    Histogram { facet, bars, total, as_of: Timestamp::default(), progress }
}

impl<S: Store> Store for Judged<S> {
    fn info(&self) -> &StoreInfo {
        self.store.info()
    }

    fn clock(&self) -> Timestamp {
        self.store.clock()
    }

    fn identity<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        self.store.identity(budget)
    }

    fn estimate<'a>(&'a self, facet: Facet, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Histogram>>> {
        self.store.estimate(facet, budget)
    }

    fn histogram<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        if asks(&query.filter) {
            return self.judged_count(query, budget).boxed();
        }
        self.store.histogram(query, budget)
    }

    fn abreast_for<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<u64>> {
        self.store.abreast_for(budget)
    }

    fn totals<'a>(&'a self, asked: bool, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<(State, Count)>>> {
        self.store.totals(asked, budget)
    }

    fn page<'a>(&'a self, query: PageQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        if asks(&query.filter) {
            return self.judged_page(query, budget).boxed();
        }
        self.store.page(query, budget)
    }

    fn search<'a>(&'a self, query: PageQuery, screen: usize, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        if asks(&query.filter) {
            return self.judged_page(query, budget).boxed();
        }
        self.store.search(query, screen, budget)
    }

    fn rows<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Entry>>> {
        self.store.rows(ids, budget)
    }

    fn details<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobDetail>>> {
        self.store.details(ids, budget)
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        async move {
            let mut changes = self.store.changes(since, facet, filter, budget).await?;
            if asks(filter) {
                // Cells cannot be judged, as they count more than what passes; and the ledger may know more than it did
                // although no row has changed. Only a full count tells.
                changes.uncounted = true;
                changes.cells.clear();
            }
            Ok(changes)
        }
        .boxed()
    }

    fn freeze<'a>(
        &'a self,
        filter: &'a Filter,
        cursor: Cursor,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<FreezeStep>> {
        self.store.freeze(filter, cursor, budget)
    }

    fn preparation<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Preparation>>> {
        self.store.preparation(action, budget)
    }

    fn prepare<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<()>> {
        self.store.prepare(action, budget)
    }

    fn consequences<'a>(
        &'a self,
        action: Action,
        keeps: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        self.store.consequences(action, keeps, budget)
    }

    fn kept<'a>(&'a self, run: &'a str, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        self.store.kept(run, ids, budget)
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        self.store.apply(batch, budget)
    }

    fn unfit<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        by_state: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, Unfit)>>> {
        self.store.unfit(action, ids, by_state, budget)
    }

    fn cautions<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(String, u64)>>> {
        self.store.cautions(action, ids, budget)
    }

    fn look<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        self.store.look(batch, budget)
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        self.store.as_kept(kept, budget)
    }

    fn traced<'a>(
        &'a self,
        action: Action,
        run: &'a str,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        self.store.traced(action, run, ids, budget)
    }

    fn ending<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<Ending>> {
        self.store.ending(transaction, budget)
    }

    fn outcome_of<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ReplayStatus)>>> {
        self.store.outcome_of(ids, kept, budget)
    }

    fn outcome_needs_kept(&self) -> bool {
        self.store.outcome_needs_kept()
    }
}
