//! Rows in an order, from a place, in either direction: pages, and the ids of a cohort.
//!
//! The order falls into two segments, rows that have the key and after them rows that have none (NULL), so that one
//! index serves both directions. A segment is read *directly* (the condition and a LIMIT: one statement, at best an
//! index that ends early), and when that takes too long, or when part of the filter is judged in memory, by *windows*:
//! a number of rows in order, whatever they are, of which those are returned that pass. A window is bounded whatever
//! the filter is.

use std::iter;
use std::time::{Duration, Instant};

use crate::db::{Engine, Row, Statement};
use crate::store::sql::query::columns::{Read, read};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::read::chunk_size::{ChunkSizes, MOST_HEAVY, TARGET, Yield, up_to};
use crate::store::sql::read::range_estimate::RangeEstimate;
use crate::store::sql::read::scan_sql::ScanSql;
use crate::store::{Budget, Cursor, Position, Result};

/// How long the direct statement may take before windows are used instead; where it asks of nothing but payloads no index
/// helps it, and windows find as soon what is near.
const DIRECT: Duration = Duration::from_millis(400);
const DIRECT_OF_PAYLOADS: Duration = Duration::from_millis(50);

/// A question for rows.
pub(crate) struct Scan<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) pace: &'a ChunkSizes,
    pub(crate) budget: &'a Budget,
    /// Writes its statements.
    pub(crate) sql: ScanSql<'a>,
    /// Rows that are read directly at the most where they lie apart.
    pub(crate) apart: usize,
    /// Rows that windows look at, at the most, before it is asked whether there is a better way.
    pub(crate) newest: usize,
    /// What is expected of rows that may lie far apart.
    pub(crate) outlook: Option<RangeEstimate>,
}

/// What one step of a scan found, in reading order.
pub(crate) struct Step {
    pub(crate) rows: Vec<Read>,
    /// The last place looked at, when there may be more beyond it.
    pub(crate) last: Option<Position>,
    /// Rows looked at, when windows were used.
    pub(crate) looked_at: Option<u64>,
}

/// Rows with the key, or rows without, from a place on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) null: bool,
    pub(crate) from: Option<Position>,
}

impl Scan<'_> {
    /// The next rows, at most `limit`, in the direction that the cursor reads.
    pub(crate) async fn step(&self, cursor: &Cursor, limit: usize) -> Result<Step> {
        let order = self.sql.order()?;
        let forward = cursor.is_forward();
        let segments = segments(cursor, forward, order.nullable && !self.sql.layout.is_key(order));
        if self.sql.judge.rest.is_some() {
            return self.windows(order, forward, &segments, limit).await;
        }
        // Along the order as long as jobs are mostly dead, and else by what finds the few that are. Where the planner knows which
        // it is, both are one statement, and the question of the second is known to be slow.
        let at_once = if self.sql.judge.lies_apart(self.sql.sort.key) { limit.min(self.apart) } else { limit };
        let at_once = match self.scan_rare_value(order, forward, &segments, at_once).await? {
            (Some(step), _) => return Ok(step),
            (None, at_once) => at_once,
        };
        let few = (!self.sql.judge.reads_payload()).then(|| self.sql.judge.of_few_dead());
        for judge in iter::once(self.sql.judge).chain(&few) {
            let scan = Scan { sql: ScanSql { judge, ..self.sql }, ..*self };
            let question = scan.question(order, &segments, forward);
            if self.pace.is_slow(&question) {
                continue;
            }
            match scan.direct(order, forward, &segments, at_once).await {
                Err(error) if error.took_too_long() && !judge.by_key() => self.pace.remember(&error, &question),
                other => return other,
            }
        }
        self.windows(order, forward, &segments, limit).await
    }

    /// What the same scan would ask wherever it stands: the memory of what was slow goes by it.
    fn question(&self, order: &Expr, segments: &[Segment], forward: bool) -> String {
        let mut anywhere = segments.to_vec();
        anywhere.iter_mut().for_each(|s| s.from = None);
        let statement = anywhere.first().map(|s| self.sql.direct_statement(order, s, forward, 1)).unwrap_or_default();
        format!("{statement:?}")
    }

    /// The budget of what is read directly.
    pub(crate) fn direct_budget(&self) -> Budget {
        let most = match (self.sql.judge.by_key(), self.sql.judge.reads_payload()) {
            (true, _) => self.budget.statement,
            (false, true) if self.sql.judge.reads_payload_only() => DIRECT_OF_PAYLOADS,
            // For what is far the time would be lost.
            (false, true) => TARGET,
            (false, false) => DIRECT,
        };
        let deadline = self.budget.statement.min(most);
        Budget { statement: deadline, ..self.budget.clone() }
    }

    pub(crate) async fn direct(&self, order: &Expr, forward: bool, segments: &[Segment], limit: usize) -> Result<Step> {
        let budget = self.direct_budget();
        let mut rows = Vec::new();
        for segment in segments {
            let wanted = limit.saturating_sub(rows.len());
            if wanted == 0 {
                break;
            }
            let statement = self.sql.direct_statement(order, segment, forward, wanted);
            rows.extend(self.fetch(statement, &budget).await?);
        }
        Ok(directly(rows, limit))
    }

    async fn windows(&self, order: &Expr, forward: bool, segments: &[Segment], limit: usize) -> Result<Step> {
        let started = Instant::now();
        let question = self.question(order, segments, forward);
        let (mut rows, mut looked_at, mut last) = (Vec::new(), 0, None);
        for (i, segment) in segments.iter().enumerate() {
            let mut from = segment.from.clone();
            loop {
                let here = Segment { null: segment.null, from: from.clone() };
                // What is found beyond the limit is read once more, by the next step.
                let most = self.pace.rows_for(&question, limit.saturating_sub(rows.len()));
                let most = most.min(up_to(self.newest.saturating_sub(looked_at as usize)));
                let (found, seen, end) = self.window(order, forward, &here, most).await?;
                self.pace.found(&question, Yield { rows: seen, hits: found.len() as u64 });
                looked_at += seen;
                for row in found {
                    if rows.len() < limit {
                        last = Some(row.entry.position.clone());
                        rows.push(row);
                    } else {
                        // The window held more than was asked for: go on behind the last that is returned.
                        return Ok(Step { rows, last, looked_at: Some(looked_at) });
                    }
                }
                let done = end.is_none();
                if let Some(place) = end {
                    last = Some(place.clone());
                    from = Some(place);
                } else if i + 1 == segments.len() {
                    last = None;
                }
                let is_enough = started.elapsed() >= TARGET || looked_at as usize >= self.newest;
                if rows.len() >= limit || (!done && is_enough) {
                    return Ok(Step { rows, last, looked_at: Some(looked_at) });
                }
                if done {
                    break;
                }
            }
        }
        Ok(Step { rows, last: None, looked_at: Some(looked_at) })
    }

    /// One window, of `most` rows at the most: the rows that pass, how many were looked at, and the last place unless the
    /// segment ended.
    async fn window(
        &self,
        order: &Expr,
        forward: bool,
        segment: &Segment,
        most: usize,
    ) -> Result<(Vec<Read>, u64, Option<Position>)> {
        let most = if self.sql.judge.rest.is_some() { MOST_HEAVY.min(most) } else { most };
        let (rows, size) =
            self.read_chunk(most, |size| self.sql.window_statement(order, segment, forward, size)).await?;
        let mut reads: Vec<Read> = rows.into_iter().map(|row| read(self.sql.layout, row)).collect::<Result<_>>()?;
        let edge = u64::try_from(size).unwrap_or(u64::MAX);
        let end = reads.iter().find(|r| r.number == edge).map(|r| r.entry.position.clone());
        let seen = reads.iter().map(|r| r.number).max().unwrap_or(0);
        reads.sort_by_key(|r| r.number);
        reads.retain(|r| r.hit && self.sql.judge.rest.as_ref().is_none_or(|rest| rest.matches(&r.subject())));
        Ok((reads, seen, end))
    }

    /// One window forward from a cursor, or several where they are quick: all rows that pass.
    pub(crate) async fn window_step(&self, cursor: &Cursor) -> Result<Step> {
        let order = self.sql.order()?;
        let nullable = order.nullable && !self.sql.layout.is_key(order);
        self.windows(order, true, &segments(cursor, true, nullable), usize::MAX).await
    }

    /// Reads a window, a smaller one each time that it takes too long: what was not looked at must never pass for the end.
    pub(crate) async fn read_chunk(
        &self,
        most: usize,
        statement: impl Fn(usize) -> Statement,
    ) -> Result<(Vec<Row>, usize)> {
        loop {
            let (size, began) = (self.pace.window(most), Instant::now());
            match self.engine.read(&[statement(size)], self.budget).await {
                Ok(mut results) => {
                    self.pace.learn(size, self.engine.worked(began));
                    return Ok((results.pop().unwrap_or_default(), size));
                }
                Err(error) if error.took_too_long() && self.pace.back_off(size) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn fetch(&self, statement: Statement, budget: &Budget) -> Result<Vec<Read>> {
        let mut results = self.engine.read(&[statement], budget).await?;
        results.pop().unwrap_or_default().into_iter().map(|row| read(self.sql.layout, row)).collect()
    }
}

/// What was found directly.
pub(crate) fn directly(rows: Vec<Read>, limit: usize) -> Step {
    let last = (rows.len() >= limit).then(|| rows.last().map(|r| r.entry.position.clone())).flatten();
    Step { rows, last, looked_at: None }
}

/// The segments that lie ahead of a cursor, in reading order.
pub(crate) fn segments(cursor: &Cursor, forward: bool, nullable: bool) -> Vec<Segment> {
    let from = match cursor {
        Cursor::Start | Cursor::End => None,
        Cursor::After(place) | Cursor::Before(place) => Some(place.clone()),
        Cursor::Unordered(at) => Some(at.beyond.clone()),
    };
    let at_null = from.as_ref().is_some_and(|p| p.key.is_none());
    let whole = |null| Segment { null, from: None };
    let part = |null| Segment { null, from: from.clone() };
    match (forward, at_null) {
        // NULL stands last in either direction of the sort, so it is read last forwards and first backwards.
        (true, true) => vec![part(true)],
        (true, false) if nullable => vec![part(false), whole(true)],
        (false, true) => vec![part(true), whole(false)],
        (false, false) if nullable && from.is_none() => vec![whole(true), whole(false)],
        _ => vec![part(false)],
    }
}
