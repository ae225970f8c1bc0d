//! Looking again: the contract's `changes`.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::db::Row;
use crate::db::cells::Cells;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::store::sql::context::Context;
use crate::store::sql::count::CountMemory;
use crate::store::sql::count::in_memory::{in_memory, tally_in_memory, value_in_memory};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::buckets::{Axis, Mark, PollReading, cells};
use crate::store::sql::query::columns::{WIDTH, read, select};
use crate::store::sql::query::group_by::{Counted, Grouping, Tally};
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::{Budget, Cell, Changes, Result, SourceError, Token};

/// Rows of the recent past that are judged in memory at the most.
const MOST: usize = 20_000;
/// And of those that take long to read at the least.
const LEAST: usize = 5;

/// The recent past as one look saw it.
pub(crate) struct Recent {
    pub(crate) look: PollReading,
    pub(crate) cells: Vec<Cell>,
    /// From this bucket on the cells hold all there is.
    pub(crate) from: i64,
}

/// Polls for what changed.
#[derive(Clone, Copy)]
pub(crate) struct Poller<'s> {
    pub(crate) context: &'s Context,
    pub(crate) memory: &'s CountMemory,
}

impl<'s> Poller<'s> {
    pub(crate) async fn poll(
        self,
        since: Option<&Token>,
        facet: Facet,
        filter: &Filter,
        budget: &Budget,
    ) -> Result<Changes> {
        let began = Instant::now();
        self.poll_axis(since, facet, filter, budget).await.map_err(|error| self.context.timed(error, began))
    }

    async fn poll_axis(self, since: Option<&Token>, facet: Facet, filter: &Filter, budget: &Budget) -> Result<Changes> {
        let began = Instant::now();
        let judge = WhereClause::new(&self.context.layout, filter, self.context.server_now());
        let Some(axis) = Axis::of(&self.context.layout, judge.only_dead()) else {
            return Err(SourceError::Layout("the adapter names no order by time".to_owned()));
        };
        let since: Option<&Mark> = since.and_then(Token::state);
        let grouping = Grouping { layout: &self.context.layout, facet };
        let from = match since {
            Some(mark) => axis.bucket_of(mark.bound()),
            None => self.start_bucket(&axis, budget).await?,
        };
        let Recent { look, cells, from: whole_from } = if in_memory(&judge, &grouping) {
            self.count_in_memory(&axis, &judge, &grouping, from, since, budget).await?
        } else {
            let statements = [axis.poll_statement(), axis.count_since(&grouping, &judge, from, since)];
            let mut results = self.context.engine.read(&statements, budget).await?.into_iter();
            let look = PollReading::read(results.next().unwrap_or_default())?;
            Recent { look, cells: cells(grouping.read(results.next().unwrap_or_default())?), from }
        };
        let differs = look.differs(since);
        let has_missed = since.filter(|_| !differs).and_then(|mark| mark.has_missed(&cells, whole_from));
        let unsettled = !differs && since.is_some_and(Mark::is_unsure);
        let changed = differs || has_missed == Some(true);
        let cells = if changed { cells } else { Vec::new() };
        let server_time = look.clock;
        let needs_reopen = self.context.engine.facts().has_turned(look.gate) || self.memory.awaits_unit && changed;
        self.context.set_clock(server_time);
        let mut mark = look.mark(&axis, since);
        if since.is_none() || whole_from > from {
            mark = mark.not_before(&axis, whole_from);
        }
        // Again where it found something, until two in turn agree.
        if changed {
            mark = mark.counted(self.context.layout.dialect, &cells);
        }
        let cost = self.context.engine.worked(began);
        Ok(Changes {
            token: mark.into_token(),
            changed,
            uncounted: false,
            unsettled,
            from_bucket: whole_from,
            cells,
            server_time,
            cost,
            needs_reopen,
        })
    }

    /// The bucket where a look starts that knows nothing of the past.
    pub(crate) async fn start_bucket(self, axis: &Axis<'_>, budget: &Budget) -> Result<i64> {
        Ok(axis.bucket_of(axis.start(self.reach(axis, budget).await?)))
    }

    /// The first bucket that no job lies in yet.
    pub(crate) async fn end_bucket(self, axis: &Axis<'_>, budget: &Budget) -> Result<i64> {
        Ok(axis.bucket_of(self.reach(axis, budget).await?).saturating_add(1))
    }

    /// How far the order reaches by now: a plain value, so that an index serves what is compared with it.
    async fn reach(self, axis: &Axis<'_>, budget: &Budget) -> Result<i64> {
        // The clock is known as well as this needs it; how far keys reach takes an exchange more.
        if axis.is_time() {
            return Ok(self.context.server_now().0);
        }
        let rows = self.context.engine.read(&[axis.poll_statement()], budget).await?.pop().unwrap_or_default();
        let look = PollReading::read(rows)?;
        self.context.set_clock(look.clock);
        Ok(look.reach())
    }

    /// Counts the recent buckets of what the database cannot judge or tell apart, row by row: the newest of them, where
    /// all are too many.
    pub(crate) async fn count_in_memory(
        self,
        axis: &Axis<'_>,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        from: i64,
        since: Option<&Mark>,
        budget: &Budget,
    ) -> Result<Recent> {
        let statement = |most: usize| {
            let mut sql = Sql::new(self.context.layout.dialect);
            sql.push("SELECT ");
            select(&mut sql, &self.context.layout, &self.context.layout.key.expr, judge.extras);
            sql.push(&format!(", {} FROM {} WHERE ", axis.bucket(), self.context.layout.tables.from));
            judge.push(&mut sql);
            sql.push(" AND ");
            axis.from(&mut sql, from);
            axis.gate(&mut sql, since);
            sql.push(&format!(" ORDER BY {} LIMIT {}", axis.newest_first(), most + 1));
            sql.done()
        };
        let mut most = MOST;
        let results = loop {
            match self.context.engine.read(&[axis.poll_statement(), statement(most)], budget).await {
                // Of rows that take long to read fewer are: the rest is for windows.
                Err(error) if error.took_too_long() && most > LEAST => most = (most / 16).max(LEAST),
                results => break results?,
            }
        };
        let mut results = results.into_iter();
        let look = PollReading::read(results.next().unwrap_or_default())?;
        let mut counted: BTreeMap<(i64, Option<String>), Tally> = BTreeMap::new();
        let rows = results.next().unwrap_or_default();
        let is_full = rows.len() > most;
        let slotted = |mut row: Row| {
            let slot = Row(row.0.split_off(WIDTH.min(row.0.len())));
            Ok((Cells::new(slot).int()?.unwrap_or(from), row))
        };
        let rows: Vec<(i64, Row)> = rows.into_iter().map(slotted).collect::<Result<_>>()?;
        // Of the bucket of the last row there may be more.
        let from = rows.last().filter(|_| is_full).map_or(from, |(bucket, _)| bucket.saturating_add(1).max(from));
        for (bucket, row) in rows.into_iter().filter(|(bucket, _)| *bucket >= from) {
            let read = read(&self.context.layout, row)?;
            if judge.rest.as_ref().is_none_or(|rest| rest.matches(&read.subject())) {
                let one = tally_in_memory(grouping.facet, &read);
                counted.entry((bucket, value_in_memory(grouping.facet, &read))).or_default().add(&one);
            }
        }
        let counted = counted.into_iter();
        let cells = cells(counted.map(|((b, value), tally)| Counted { value, slot: Some(b), tally }).collect());
        Ok(Recent { look, cells, from })
    }
}
