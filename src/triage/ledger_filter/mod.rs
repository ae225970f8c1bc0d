//! Filters with terms that only the ledger can judge: `replayed:`, `run:` and `outcome:` ask what was done from here, and
//! `since:@NAME` names a mark.
//!
//! Without such a term the store answers by itself. With one, rows are read by the rest of the filter and judged by the ledger, a
//! page at a time: lists keep their order and their steps, counts become windowed counts.

mod runs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerError, Whose};
use crate::store::{
    Budget, Changes, Cursor, Entry, HistogramQuery, HistogramStep, Page, PageQuery, Result, ScanMode, Scanned, Sort,
    SourceError, Token,
};
pub(in crate::triage) use runs::{RunRows, RunTerms};

use crate::triage::StoreContext;
use crate::triage::live::earliest;
use crate::triage::replay_limit::{asks, known, replays_pass};

/// Rows that one step of a count by the ledger reads.
const STEP: usize = 2_000;

impl StoreContext {
    /// As [`crate::store::Store::scan`], under any filter.
    ///
    /// # Errors
    /// As there; also when the filter asks for replays, and the ledger cannot be read.
    pub async fn scan(&self, query: PageQuery, mode: ScanMode, budget: &Budget) -> Result<Page> {
        let query = PageQuery { filter: self.with_marks(query.filter).await?, ..query };
        let (filter, terms) = match self.run_rows(&query.filter, budget).await? {
            None => (query.filter.clone(), None),
            Some(RunRows::Named(filter)) => (filter, None),
            Some(RunRows::Paged(filter, terms)) => (filter, Some(terms)),
            Some(RunRows::Nothing) => return Ok(Page { entries: Vec::new(), next: None, scanned: None }),
        };
        let query = PageQuery { filter, ..query };
        if terms.is_some() || asks(&query.filter) {
            return self.page_by_ledger(query, terms.as_ref(), mode, budget).await;
        }
        self.store.scan(query, mode, budget).await
    }

    /// As [`crate::store::Store::count`], under any filter.
    ///
    /// # Errors
    /// As [`StoreContext::scan`].
    pub async fn count(&self, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
        let query = HistogramQuery { filter: self.with_marks(query.filter).await?, ..query };
        let (filter, terms) = match self.run_rows(&query.filter, budget).await? {
            None => (query.filter.clone(), None),
            Some(RunRows::Named(filter)) => (filter, None),
            Some(RunRows::Paged(filter, terms)) => (filter, Some(terms)),
            Some(RunRows::Nothing) => {
                let nothing = histogram(query.facet, &HashMap::new(), None);
                return Ok(HistogramStep::of(Histogram { as_of: self.store.clock(), ..nothing }));
            }
        };
        let query = HistogramQuery { filter, ..query };
        if terms.is_some() || asks(&query.filter) {
            return self.count_by_ledger(query, terms.as_ref(), budget).await;
        }
        self.store.count(query, budget).await
    }

    /// As [`crate::store::Store::changes`], under any filter.
    ///
    /// # Errors
    /// As there.
    pub async fn changes(
        &self,
        since: Option<&Token>,
        facet: Facet,
        filter: &Filter,
        budget: &Budget,
    ) -> Result<Changes> {
        let filter = &self.with_marks(filter.clone()).await?;
        let rows = self.run_rows(filter, budget).await?;
        let asked = match &rows {
            Some(RunRows::Named(filter) | RunRows::Paged(filter, _)) => filter,
            Some(RunRows::Nothing) | None => filter,
        };
        let mut changes = self.store.changes(since, facet, asked, budget).await?;
        if rows.is_some() || asks(filter) {
            // Cells cannot be judged, as they count more than what passes; and the ledger may know more than it did although no
            // row has changed. Only a full count tells.
            changes.uncounted = true;
            changes.cells.clear();
        }
        Ok(changes)
    }

    /// The filter with the moments of the marks that it names: what a store answers knows none.
    ///
    /// # Errors
    /// When a mark is unknown, or the ledger cannot be read.
    pub async fn with_marks(&self, filter: Filter) -> Result<Filter> {
        if !filter.names_marks() {
            return Ok(filter);
        }
        let locator = self.ledger.as_ref().ok_or_else(|| SourceError::Input("no ledger tells of marks here".into()))?;
        let ledger = locator.ledger().await.map_err(input)?;
        ledger.marks().resolve(&self.source, &filter).await.map_err(input)
    }

    async fn passing(
        &self,
        filter: &Filter,
        terms: Option<&RunTerms>,
        mut entries: Vec<Entry>,
        budget: &Budget,
    ) -> Result<Vec<Entry>> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let locator =
            self.ledger.as_ref().ok_or_else(|| SourceError::Input("no ledger tells of replays here".into()))?;
        let ledger = locator.ledger().await.map_err(input)?;
        if let Some(terms) = terms {
            entries = terms.retain_passing(&ledger, entries, |entry: &Entry| &entry.row.id).await?;
        }
        if !asks(filter) || entries.is_empty() {
            return Ok(entries);
        }
        let jobs = known(&*self.store, entries.iter().map(|e| e.row.id.clone()).collect(), budget).await?;
        let name = self.store_name();
        let database = self.store.identity(budget).await?;
        let whose = Whose { source: &self.source, store: &name, database: database.as_ref() };
        let counts = ledger.history().replayed_counts(whose, &jobs).await.map_err(input)?;
        let passes = |e: &Entry| replays_pass(filter, counts.get(&e.row.id).copied().unwrap_or(0));
        Ok(entries.into_iter().filter(passes).collect())
    }

    async fn page_by_ledger(
        &self,
        query: PageQuery,
        terms: Option<&RunTerms>,
        mode: ScanMode,
        budget: &Budget,
    ) -> Result<Page> {
        let filter = query.filter.clone();
        // Most jobs were never replayed: where those pass nearly all do, and where they do not hardly any does.
        let most_fail = !replays_pass(&filter, 0) || terms.is_some_and(RunTerms::is_selective);
        let limit = if most_fail { query.limit.max(STEP) } else { query.limit };
        let asked = PageQuery { filter: filter.without_ledger_terms(), limit, ..query.clone() };
        // Rows in no order could not be handed out page by page.
        let mode = match mode {
            ScanMode::Arguments | ScanMode::Comparison => mode,
            _ => ScanMode::List,
        };
        let page = self.store.scan(asked, mode, budget).await?;
        let read = page.entries.len() as u64;
        let backwards = matches!(query.cursor, Cursor::End | Cursor::Before(_));
        let mut entries = self.passing(&filter, terms, page.entries, budget).await?;
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

    async fn count_by_ledger(
        &self,
        query: HistogramQuery,
        terms: Option<&RunTerms>,
        budget: &Budget,
    ) -> Result<HistogramStep> {
        let began = std::time::Instant::now();
        let mut state = query.resume.as_ref().and_then(Token::state::<Listed>).cloned().unwrap_or_default();
        let cursor = state.next.clone().unwrap_or(Cursor::Start);
        let asked = PageQuery { filter: query.filter.clone(), sort: Sort::default(), cursor, limit: STEP };
        let page = self.page_by_ledger(asked, terms, ScanMode::List, budget).await?;
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

/// What was counted so far, and where the list goes on.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// Counts by value.
    bars: HashMap<Option<Untrusted>, ListedBar>,
    /// Where to go on; `None` at the start and at the end.
    next: Option<Cursor>,
}

/// What was counted of one value.
#[derive(Clone, Debug, Default)]
struct ListedBar {
    /// Jobs.
    n: u64,
    /// Oldest of them.
    first: Option<Timestamp>,
    /// Newest of them.
    last: Option<Timestamp>,
    /// As [`crate::domain::histogram::Bar::example`].
    example: Option<Untrusted>,
}
