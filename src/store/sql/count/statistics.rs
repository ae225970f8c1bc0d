//! Totals by state, and what the planner's statistics tell of a facet.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::adapter::{FieldKind, Part};
use crate::db::Row;
use crate::db::cells::Cells;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::State;
use crate::store::sql::context::Context;
use crate::store::sql::count::CountMemory;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::group_by::{Grouping, untrusted};
use crate::store::sql::query::layout::part_of_facet;
use crate::store::sql::query::where_clause::{Condition, WhereClause};
use crate::store::sql::read::page::Reader;
use crate::store::{Budget, Result, SourceError};

/// Blocks that a sample reads, more or less.
const SAMPLE: u64 = 3_000;

/// Rows at which a capped count stops.
const CAP: usize = 100_000;

/// How long jobs by state are guessed after counting them took too long, and how long after that has happened again and again.
const GUESSED: Duration = Duration::from_secs(60);
const LONGEST_GUESSED: Duration = Duration::from_secs(30 * 60);

/// That counts by state took too long when they were tried last. A table that is too large for the deadline is so the next time,
/// and each try costs the server all of it; a server that was ill, or had nothing in its memory, may be quick in a minute.
#[derive(Default)]
pub(crate) struct Misses {
    /// Until when it is not tried again, and how long that is.
    rest: Option<(Instant, Duration)>,
}

impl Misses {
    fn rests(&self, now: Instant) -> bool {
        self.rest.is_some_and(|(until, _)| now < until)
    }

    fn miss(&mut self, now: Instant) {
        let rest = self.rest.map_or(GUESSED, |(_, rest)| (rest * 2).min(LONGEST_GUESSED));
        self.rest = Some((now + rest, rest));
    }
}

/// The statistics of some columns.
struct ColumnStatistics {
    /// By column, values with their share of all rows, NULL included, in millionths.
    columns: HashMap<String, Vec<(Option<String>, u64)>>,
    rows: u64,
    /// Whether the table has changed much since they were made, or there are none.
    is_old: bool,
}

impl ColumnStatistics {
    fn read(rows: Vec<Row>) -> Result<Self> {
        let mut out = Self { columns: HashMap::new(), rows: 0, is_old: false };
        for row in rows {
            let mut cells = Cells::new(row);
            let (column, value, n) = (cells.text()?, cells.text()?, cells.count()?);
            match column {
                None => (out.rows, out.is_old) = (n, value.is_some()),
                Some(column) => out.columns.entry(column).or_default().push((value, n)),
            }
        }
        Ok(out)
    }

    /// What is known of a column; `None` when nothing is.
    fn of(&self, column: &str) -> Option<&[(Option<String>, u64)]> {
        self.columns.get(column).map(Vec::as_slice).filter(|_| self.rows > 0)
    }
}

/// Estimates counts, and counts by state.
#[derive(Clone, Copy)]
pub(crate) struct Statistics<'s> {
    pub(crate) context: &'s Context,
    pub(crate) reader: Reader<'s>,
    pub(crate) memory: &'s CountMemory,
}

impl<'s> Statistics<'s> {
    /// An estimate of a facet among dead jobs; no bars where the database keeps no statistics of it.
    pub(crate) async fn estimate(self, facet: Facet, budget: &Budget) -> Result<Histogram> {
        let nothing = || self.histogram(facet, Vec::new(), Count { n: 0, exactness: Exactness::Estimate });
        Ok(self.read_statistics(facet, budget).await?.unwrap_or_else(nothing))
    }

    fn histogram(self, facet: Facet, bars: Vec<Bar>, total: Count) -> Histogram {
        Histogram { facet, bars, total, as_of: self.context.server_now(), progress: None }
    }

    async fn read_statistics(self, facet: Facet, budget: &Budget) -> Result<Option<Histogram>> {
        let Some((column, state)) = self.columns_of(facet) else { return Ok(None) };
        let columns: Vec<&str> = [Some(column.as_str()), state.as_deref()].into_iter().flatten().collect();
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let Some(statement) = self.context.layout.dialect.statistics(place, &columns) else { return Ok(None) };
        let rows = self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default();
        let statistics = ColumnStatistics::read(rows)?;
        if statistics.is_old
            && let Some(sample) = self.read_sample(facet, budget).await?
        {
            return Ok(Some(sample));
        }
        Ok(self.estimate_of(facet, (&column, state.as_deref()), &statistics))
    }

    /// The columns whose statistics tell of a facet: its own, and the one of the state.
    fn columns_of(self, facet: Facet) -> Option<(String, Option<String>)> {
        let column = |part: Part| self.context.layout.part(part).and_then(|e| e.column.clone());
        let state = column(Part::State).filter(|_| facet != Facet::State);
        Some((part_of_facet(facet).and_then(column)?, state))
    }

    /// The estimate that they come to.
    fn estimate_of(
        self,
        facet: Facet,
        (column, state): (&str, Option<&str>),
        statistics: &ColumnStatistics,
    ) -> Option<Histogram> {
        let shares = statistics.of(column)?;
        let dead = state.map_or(1_000_000, |state| self.dead_share(state, statistics));
        let estimate = |share: u64| -> u64 {
            let n = u128::from(statistics.rows) * u128::from(share) * u128::from(dead) / 1_000_000_000_000;
            u64::try_from(n).unwrap_or(u64::MAX)
        };
        let mut values: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for (value, share) in shares {
            let value = match (facet, value) {
                (Facet::State, Some(word)) => Some(self.context.layout.state_of(word).word().to_owned()),
                (_, value) => value.clone(),
            };
            *values.entry(value).or_default() += estimate(*share);
        }
        let bar = |(value, n): (&Option<String>, &u64)| {
            Bar::new(untrusted(value), Count { n: *n, exactness: Exactness::Estimate })
        };
        let mut bars: Vec<Bar> = values.iter().filter(|(_, n)| **n > 0).map(bar).collect();
        facet.sort(&mut bars);
        let total = Count { n: estimate(1_000_000), exactness: Exactness::Estimate };
        Some(self.histogram(facet, bars, total))
    }

    /// An estimate from some blocks of a big table; `None` where it is small, or blocks cannot be taken by chance.
    async fn read_sample(self, facet: Facet, budget: &Budget) -> Result<Option<Histogram>> {
        let judge = WhereClause::new(&self.context.layout, &Filter::all(), self.context.server_now());
        let grouping = Grouping { layout: &self.context.layout, facet };
        let blocks = self.reader.blocks(budget).await?;
        let Some(sample) = self.sample_of((SAMPLE, blocks), &judge, &grouping, budget).await? else { return Ok(None) };
        let estimated = |n: u64| Count { n, exactness: Exactness::Estimate };
        let total = estimated(sample.values().map(|tally| tally.n).sum());
        let mut bars: Vec<Bar> =
            sample.iter().map(|(value, tally)| Bar::new(untrusted(value), estimated(tally.n))).collect();
        facet.sort(&mut bars);
        Ok(Some(self.histogram(facet, bars, total)))
    }

    /// Jobs by state, whatever the filter: counted, or guessed where that takes too long. What took too long lately is tried
    /// only for somebody who asked.
    pub(crate) async fn count_states(self, retry: bool, budget: &Budget) -> Result<Histogram> {
        let states = self.states(retry, budget).await?;
        let bar = |(state, count): &(State, Count)| Bar::new(Some(state.word().into()), *count);
        let total = states.iter().map(|(_, count)| *count).fold(Count::exact(0), Count::plus);
        let mut bars: Vec<Bar> = states.iter().map(bar).collect();
        Facet::State.sort(&mut bars);
        Ok(self.histogram(Facet::State, bars, total))
    }

    async fn states(self, retry: bool, budget: &Budget) -> Result<Vec<(State, Count)>> {
        let misses = || self.memory.misses.lock().unwrap_or_else(|p| p.into_inner());
        let began = Instant::now();
        if !retry && misses().rests(began) {
            return self.guess_states(budget).await;
        }
        match self.count_each_state(budget).await.map_err(|error| self.context.timed(error, began)) {
            Ok(counted) => {
                *misses() = Misses::default();
                Ok(counted)
            }
            Err(error) if error.took_too_long() => {
                // What somebody has interrupted at once may be quick the next time.
                if matches!(error, SourceError::Timeout(_)) {
                    misses().miss(Instant::now());
                }
                self.guess_states(budget).await
            }
            Err(error) => Err(error),
        }
    }

    async fn count_each_state(self, budget: &Budget) -> Result<Vec<(State, Count)>> {
        let mut sql = Sql::new(self.context.layout.dialect);
        let Some(expr) = self.context.layout.part(Part::State) else {
            sql.push(&format!("SELECT count(*) FROM {} AS t", self.context.layout.tables.table));
            let n = first_count(self.context.engine.read(&[sql.done()], budget).await?.pop())?;
            return Ok(vec![(State::Dead, Count::exact(n))]);
        };
        let word = self.context.layout.dialect.contract("v", FieldKind::Text);
        let (group, by) = (self.context.layout.dialect.group(&expr.text()), self.context.layout.dialect.group_key("v"));
        let from = &self.context.layout.tables.from;
        sql.push(&format!("SELECT {word}, count(*) FROM (SELECT {group} AS v FROM {from}) AS x GROUP BY {by}"));
        let rows = self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let mut totals: BTreeMap<State, u64> = BTreeMap::new();
        for row in rows {
            let mut cells = Cells::new(row);
            let state = self.context.layout.state_of(cells.text()?.as_deref().unwrap_or_default());
            *totals.entry(state).or_default() += cells.count()?;
        }
        let offered =
            State::ALL.into_iter().filter(|s| !self.context.layout.words(*s).is_empty() || totals.contains_key(s));
        Ok(offered.map(|s| (s, Count::exact(totals.get(&s).copied().unwrap_or(0)))).collect())
    }

    /// Totals from statistics, or by counting the dead up to a cap.
    async fn guess_states(self, budget: &Budget) -> Result<Vec<(State, Count)>> {
        if let Some(estimate) = self.read_statistics(Facet::State, budget).await? {
            let known = estimate.by_state();
            let count = |state: State| {
                let n = known.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| count.n);
                Count { n, exactness: Exactness::Estimate }
            };
            return Ok(State::ALL.into_iter().map(|s| (s, count(s))).collect());
        }
        let condition = Condition::new(&self.context.layout);
        let mut sql = Sql::new(self.context.layout.dialect);
        sql.push(&format!("SELECT count(*) FROM (SELECT 1 AS one FROM {} WHERE ", self.context.layout.tables.from));
        condition.state(&mut sql, State::Dead);
        sql.push(&format!(" LIMIT {CAP}) AS x"));
        let n = first_count(self.context.engine.read(&[sql.done()], budget).await?.pop())?;
        let exactness = if n < CAP as u64 { Exactness::Exact } else { Exactness::AtLeast };
        Ok(vec![(State::Dead, Count { n, exactness })])
    }

    /// The share of dead rows by the statistics of the state column, in millionths.
    fn dead_share(self, column: &str, statistics: &ColumnStatistics) -> u64 {
        let Some(shares) = statistics.of(column) else { return 1_000_000 };
        let dead = self.context.layout.words(State::Dead);
        let is_dead = |value: &Option<String>| value.as_ref().is_some_and(|w| dead.contains(w));
        shares.iter().filter(|(value, _)| is_dead(value)).map(|(_, share)| share).sum()
    }

    /// The share of dead rows among all of the table, from 0 to 1, as far as statistics know.
    pub(crate) async fn share_of_dead(self, budget: &Budget) -> Result<f64> {
        let Some(column) = self.context.layout.part(Part::State).and_then(|e| e.column.clone()) else { return Ok(1.0) };
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let Some(statement) = self.context.layout.dialect.statistics(place, &[&column]) else { return Ok(1.0) };
        let known =
            ColumnStatistics::read(self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default())?;
        // What is none by the statistics is little.
        Ok((self.dead_share(&column, &known) as f64 / 1e6).max(0.001))
    }
}

fn first_count(rows: Option<Vec<Row>>) -> Result<u64> {
    rows.unwrap_or_default().into_iter().next().map_or(Ok(0), |row| Cells::new(row).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_by_state_that_takes_too_long_each_time_is_tried_ever_more_seldom() {
        let (mut misses, mut now) = (Misses::default(), Instant::now());
        assert!(!misses.rests(now));
        let mut rests = Vec::new();
        for _ in 0..8 {
            misses.miss(now);
            let (until, rest) = misses.rest.expect("a rest");
            assert!(misses.rests(until - Duration::from_millis(1)) && !misses.rests(until));
            rests.push(rest.as_secs() / 60);
            now = until;
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
