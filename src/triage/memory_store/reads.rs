//! What the store in memory is asked for: rows in order, and counts.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use super::data::{Data, number};
use crate::domain::facet::Facet;
use crate::domain::filter::{Clause, CompiledFilter, Filter, RowSubject};
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::{JobDetail, JobRow, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::*;

/// Rows that one step of a count reads.
const STEP: usize = 25;
/// Rows of a bucket.
const BUCKET: u64 = 10;

/// What was counted, by bucket and value.
type Cells = BTreeMap<(i64, Option<Untrusted>), u64>;

/// What polls remember: the cells as they were counted last.
#[derive(Clone, Debug)]
struct Polled(Cells);

/// A count that goes on below a row.
#[derive(Clone, Debug)]
struct Unfinished {
    cells: Cells,
    below: u64,
}

/// A filter as stores take it: dead jobs, unless it asks for states.
struct Passes {
    filter: CompiledFilter,
    is_of_dead: bool,
}

impl Passes {
    fn new(filter: &Filter, now: Timestamp) -> Self {
        let is_of_dead = !filter.clauses().iter().any(Clause::names_states);
        Self { filter: filter.without_ledger_terms().compile(now), is_of_dead }
    }

    fn lets_in(&self, row: &JobRow) -> bool {
        (!self.is_of_dead || row.state == State::Dead)
            && self.filter.matches(&RowSubject { row, message: None, arguments: None })
    }
}

impl Data {
    /// A page in the order of time.
    pub(super) fn page(&self, query: &PageQuery) -> Page {
        let passes = Passes::new(&query.filter, self.clock);
        let descending = query.sort.descending;
        let oldest_first = self.rows.keys().filter_map(|id| self.row(*id));
        let mut passing: Vec<JobRow> = oldest_first.filter(|row| passes.lets_in(row)).collect();
        if descending {
            passing.reverse();
        }
        let precedes = |row: &JobRow, place: &Position| match number(&row.id).cmp(&number(&place.id)) {
            Ordering::Greater => descending,
            Ordering::Less => !descending,
            Ordering::Equal => false,
        };
        let before = |place: &Position| passing.iter().take_while(|row| precedes(row, place)).count();
        let range = match &query.cursor {
            Cursor::Start => 0..passing.len().min(query.limit),
            Cursor::After(place) | Cursor::Unordered(Unordered { beyond: place, .. }) => {
                let is_up_to = |row: &&JobRow| precedes(row, place) || row.id == place.id;
                let from = passing.iter().take_while(is_up_to).count();
                from..passing.len().min(from + query.limit)
            }
            Cursor::End => passing.len().saturating_sub(query.limit)..passing.len(),
            Cursor::Before(place) => before(place).saturating_sub(query.limit)..before(place),
        };
        let next = match query.cursor {
            Cursor::End | Cursor::Before(_) => (range.start > 0).then(|| Cursor::Before(place(&passing[range.start]))),
            _ => (range.end < passing.len() && range.end > 0).then(|| Cursor::After(place(&passing[range.end - 1]))),
        };
        Page { entries: passing[range].iter().cloned().map(entry_of).collect(), next, scanned: None }
    }

    /// A step of a count. There are no statistics.
    pub(super) fn answer(&self, query: &HistogramQuery) -> HistogramStep {
        match query.accuracy {
            Accuracy::Exact => self.count(query),
            Accuracy::Affordable { .. } if query.facet == Facet::State => HistogramStep::of(self.by_state()),
            _ => HistogramStep::of(histogram(query.facet, &Cells::new(), self.clock, None)),
        }
    }

    fn count(&self, query: &HistogramQuery) -> HistogramStep {
        let resume = query.resume.as_ref().and_then(Token::state::<Unfinished>).cloned();
        let Unfinished { mut cells, below } = resume.unwrap_or(Unfinished { cells: Cells::new(), below: u64::MAX });
        let rows: Vec<u64> = self.rows.range(..below).rev().take(STEP).map(|(id, _)| *id).collect();
        let last = rows.last().copied().filter(|last| self.rows.range(..last).next().is_some());
        self.add(&mut cells, rows, query.facet, &query.filter);
        let histogram = histogram(query.facet, &cells, self.clock, last.map(|_| 0.5));
        let Some(below) = last else {
            let recent = contract(&cells);
            let token = Some(Token::new(Polled(cells)));
            return HistogramStep { token, recent, recent_from: Some(0), ..HistogramStep::of(histogram) };
        };
        HistogramStep { resume: Some(Token::new(Unfinished { cells, below })), ..HistogramStep::of(histogram) }
    }

    /// What changed since a poll or a count.
    pub(super) fn changes(&self, since: Option<&Token>, facet: Facet, filter: &Filter) -> Changes {
        let mut cells = Cells::new();
        self.add(&mut cells, self.rows.keys().copied().collect(), facet, filter);
        let since: Option<&Polled> = since.and_then(Token::state);
        let changed = since.is_none_or(|Polled(since)| *since != cells);
        Changes {
            changed,
            uncounted: false,
            unsettled: false,
            from_bucket: 0,
            cells: if changed { contract(&cells) } else { Vec::new() },
            token: Token::new(Polled(cells)),
            server_time: self.clock,
            cost: Duration::ZERO,
            needs_reopen: false,
        }
    }

    /// Jobs by state, each by its word.
    fn by_state(&self) -> Histogram {
        let mut cells = Cells::new();
        for row in self.rows.values() {
            *cells.entry((0, Some(row.state.word().into()))).or_default() += 1;
        }
        histogram(Facet::State, &cells, self.clock, None)
    }

    fn add(&self, cells: &mut Cells, ids: Vec<u64>, facet: Facet, filter: &Filter) {
        let passes = Passes::new(filter, self.clock);
        let rows = ids.into_iter().filter_map(|id| Some((id, self.row(id)?)));
        for (id, row) in rows.filter(|(_, row)| passes.lets_in(row)) {
            *cells.entry(((id / BUCKET) as i64, facet.value_of(&row))).or_default() += 1;
        }
    }
}

fn contract(cells: &Cells) -> Vec<Cell> {
    let cell = |((bucket, value), n): (&(i64, Option<Untrusted>), &u64)| Cell {
        bucket: *bucket,
        value: value.clone(),
        n: *n,
        first_seen: None,
        last_seen: None,
        example: None,
    };
    cells.iter().map(cell).collect()
}

fn histogram(facet: Facet, cells: &Cells, as_of: Timestamp, progress: Option<f32>) -> Histogram {
    let exactness = if progress.is_some() { Exactness::AtLeast } else { Exactness::Exact };
    let mut values: BTreeMap<&Option<Untrusted>, u64> = BTreeMap::new();
    cells.iter().for_each(|((_, value), n)| *values.entry(value).or_default() += n);
    let bar = |(value, n): (&Option<Untrusted>, u64)| Bar::new(value.clone(), Count { n, exactness });
    let total = Count { n: values.values().sum(), exactness };
    let mut bars: Vec<Bar> = values.into_iter().map(bar).collect();
    facet.sort(&mut bars);
    Histogram { facet, bars, total, as_of, progress }
}

fn place(row: &JobRow) -> Position {
    Position { key: None, id: row.id.clone() }
}

pub(super) fn entry_of(row: JobRow) -> Entry {
    Entry { position: place(&row), row, lineage: None, arguments: None, compared: None }
}

pub(super) fn detail_of(row: JobRow) -> JobDetail {
    JobDetail {
        row,
        message: None,
        arguments: None,
        undecodable: false,
        backtrace: None,
        metadata: Vec::new(),
        decoded_from: Vec::new(),
        lineage: None,
    }
}
