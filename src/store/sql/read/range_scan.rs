//! Rows that an index finds and does not order, where they lie far apart in the order.
//!
//! An index on a value tells which rows have it, and the one by time which rows come next. Read along the time alone, a row of
//! a value that one in a thousand has costs all that lie between it and the next. So both are read together, for as long a
//! span of time as is expected to hold the rows that are wanted, and the row behind its end, where the next span begins: what is
//! between was looked at whole, however much or little it was. What is expected is the planner's to say at first, and
//! then what the spans before have held.

use std::time::{Duration, Instant};

use crate::adapter::FieldKind;
use crate::db::cells::Cells;
use crate::db::{Row, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::order_by;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{Read, WIDTH, read, select};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::query::time_of_death::Rows;
use crate::store::sql::read::chunk_size::TARGET;
use crate::store::sql::read::chunks::MANY;
use crate::store::sql::read::page::{Reader, axis_value};
use crate::store::sql::read::range_estimate::{MOST, RangeEstimate, RangeMethod, Span};
use crate::store::sql::read::scan::{Scan, Segment, Step, directly};
use crate::store::sql::read::scan_sql::ScanSql;
use crate::store::{Result, SortKey, SourceError};

/// Among how many rows one passes at the most, that this is thought of: of more, a page is read as quickly in order.
const SELDOM: u64 = 60;
/// So many rows, and twice as many as are wanted, are too many for a span: each may stand in a block of its own.
const FULL: usize = 180;
/// How often a span is cut short before rows are read otherwise.
const TRIES: u32 = 4;
/// Rows of which the planner is asked what they cost in order, and what each costs at the most that an index leads to.
const WANTED: usize = 25;
const ORDERED: u64 = 8;
/// By what it is remembered that no question of a table is worth it.
const SMALL: &str = "small";
/// How long what the planner expects is taken to hold.
const EXPECTED: Duration = Duration::from_secs(300);

impl<'s> Reader<'s> {
    /// What is expected of the rows of a scan; `None` where they are read in order all the same.
    pub(crate) async fn estimate(self, scan: &Scan<'_>) -> Result<Option<RangeEstimate>> {
        let Some(question) = scan.rare_value_question()? else { return Ok(None) };
        let known =
            || self.memory.pace.estimate(&question, EXPECTED).or_else(|| self.memory.pace.estimate(SMALL, EXPECTED));
        if let Some(known) = known() {
            return Ok(known);
        }
        match self.planned(scan).await {
            Ok(Some(outlook)) => {
                self.memory.pace.expect(&question, outlook);
                Ok(outlook)
            }
            Err(error @ (SourceError::Cancelled | SourceError::Unreachable(_))) => Err(error),
            // That may be otherwise the next time.
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// The same by the planner; `None` where it cannot be told now.
    async fn planned(self, scan: &Scan<'_>) -> Result<Option<Option<RangeEstimate>>> {
        let (dialect, from, order) = (self.context.layout.dialect, &self.context.layout.tables.from, scan.sql.order()?);
        let all = Segment { null: false, from: None };
        let explained = |Statement { sql, binds }: Statement| Statement { sql: dialect.explain(&sql), binds };
        let of = |condition: &dyn Fn(&mut Sql)| {
            let mut sql = Sql::new(dialect);
            // Of the rows themselves: an index may hold all else.
            sql.push(&format!("SELECT t.* FROM {from} WHERE "));
            condition(&mut sql);
            explained(sql.done())
        };
        let plans = [
            of(&|sql| scan.sql.judge.push_for(sql, Rows::of(scan.sql.sort.key, all.null))),
            of(&|sql| scan.sql.in_window(sql, order, &all, true)),
            explained(scan.sql.direct_statement(order, &all, true, WANTED)),
        ];
        let told = self.context.engine.read(&plans, &scan.direct_budget()).await?.into_iter().map(|lines| {
            let line = Row(vec![lines.into_iter().next()?.0.pop()?]);
            let line = Cells::new(line).text().ok()??;
            Some((dialect.cost_of(&line)?, dialect.expected_of(&line)?))
        });
        let told: Option<Vec<(u64, u64)>> = told.collect();
        let Some(&[(cost, passing), (whole, among), (in_order, _)]) = told.as_deref() else { return Ok(Some(None)) };
        let dead = scan.sql.judge.only_dead();
        // Only where these are all rows of the table.
        let is_whole = !scan.sql.judge.asks_time() && !order.nullable && self.context.layout.among(dead).is_none();
        if among <= MANY && is_whole {
            self.memory.pace.expect(SMALL, None);
        }
        let is_seldom = among > MANY && passing.max(1).saturating_mul(SELDOM) < among;
        // An index that leads to them in order needs no help, and without one that leads to them there is none.
        let is_ordered = in_order < WANTED as u64 * ORDERED;
        if !is_seldom || is_ordered || cost >= whole / 2 {
            return Ok(Some(None));
        }
        let Some((newest, oldest)) = self.ends(order, dead).await else { return Ok(None) };
        let newest = scan.sql.judge.time_ranges().filter_map(|(_, to)| to).fold(newest, |newest, to| newest.min(to.0));
        let oldest =
            scan.sql.judge.time_ranges().filter_map(|(from, _)| from).fold(oldest, |oldest, from| oldest.max(from.0));
        Ok(Some(Some(RangeEstimate::planned(passing, among, (newest, oldest)))))
    }
}

impl Scan<'_> {
    /// What is remembered of a question by, where its rows may be found by one index and lie in the order of another.
    fn rare_value_question(&self) -> Result<Option<String>> {
        let ScanSql { judge, layout, .. } = self.sql;
        let is_by_time = self.sql.sort.key == SortKey::Time;
        if !is_by_time || layout.dialect.together().is_none() || !layout.tables.join.is_empty() {
            return Ok(None);
        }
        let is_timed = matches!(self.sql.order()?.kind, FieldKind::Utc | FieldKind::Instant);
        let asks = judge.lies_apart(self.sql.sort.key) && judge.rest.is_none() && !judge.reads_payload();
        let question = || {
            let mut sql = Sql::new(layout.dialect);
            judge.push(&mut sql);
            format!("{:?}", sql.done())
        };
        Ok((is_timed && asks && !self.pace.is_gentle()).then(question))
    }

    /// The next rows by spans where that is the way to them; else how many are to be read in order at once.
    pub(crate) async fn scan_rare_value(
        &self,
        order: &Expr,
        forward: bool,
        segments: &[Segment],
        wanted: usize,
    ) -> Result<(Option<Step>, usize)> {
        let (Some(outlook), [first @ Segment { null: false, .. }, others @ ..]) = (self.outlook, segments) else {
            return Ok((None, wanted));
        };
        let most = match outlook.range_method(wanted, self.apart == usize::MAX) {
            RangeMethod::InOrder(rows) => return Ok((None, rows)),
            RangeMethod::Spans(most) => most,
        };
        let step = self.scan_time_ranges(order, forward, first, (wanted, most), outlook).await?;
        let (is_last, left) =
            step.as_ref().map_or((false, 0), |s| (s.last.is_none(), wanted.saturating_sub(s.rows.len())));
        if !is_last || left == 0 || others.is_empty() {
            return Ok((step, wanted));
        }
        match self.direct(order, forward, others, left).await {
            Ok(rest) => {
                let rows = step.into_iter().flat_map(|step| step.rows).chain(rest.rows).collect();
                Ok((Some(Step { rows, ..rest }), wanted))
            }
            Err(error) if error.took_too_long() => Ok((None, wanted)),
            Err(error) => Err(error),
        }
    }

    /// What is left of reading by spans that failed: another way where it took too long, which is remembered.
    fn broken_off(&self, question: &str, error: SourceError) -> Result<Option<Step>> {
        if !error.took_too_long() {
            return Err(error);
        }
        // Whoever stopped it may not do so again.
        if matches!(error, SourceError::Timeout(_)) {
            self.pace.revise(question, None);
        }
        Ok(None)
    }

    /// Reads the next rows by spans of `most` rows; `None` where that takes too long, or too many died at one instant.
    async fn scan_time_ranges(
        &self,
        order: &Expr,
        forward: bool,
        segment: &Segment,
        (wanted, most): (usize, u64),
        mut outlook: RangeEstimate,
    ) -> Result<Option<Step>> {
        let (began, question) = (Instant::now(), self.rare_value_question()?.unwrap_or_default());
        let descending = self.sql.sort.descending == forward;
        let (mut here, mut tries) = (segment.clone(), 0);
        if here.from.is_none() {
            (outlook.gap, outlook.is_much) = (1.0, false);
        }
        loop {
            // All that is left, once behind a span that held nothing: there may be little or none.
            let asks_rest = outlook.gap > 1.0 && !outlook.is_much;
            // Where much lies behind, what lies between is to be got over.
            let most = if outlook.is_much { MOST } else { most };
            let from = start_of(order, &here, &outlook, descending);
            let span = match from {
                Some(from) if !asks_rest => Span::holding(wanted, most, &outlook, from, descending),
                _ => Span { until: None, micros: 0.0 },
            };
            let twice = wanted.saturating_mul(2);
            let guard = if asks_rest { twice } else { twice.max(FULL) };
            let (behind, mut rows) = match self.read_span(order, &here, forward, (span.until, guard)).await {
                Ok(read) => read,
                Err(error) => return self.broken_off(&question, error),
            };
            let held = rows.len();
            if held >= guard {
                // There may be more, and which are the first of them is not known.
                if asks_rest {
                    outlook.is_much = true;
                } else {
                    tries += 1;
                    if from.is_none() || died_at_once(&rows) || tries > TRIES || began.elapsed() >= TARGET {
                        return Ok(None);
                    }
                    outlook = outlook.denser(span.micros, wanted);
                }
                self.pace.revise(&question, Some(outlook));
                continue;
            }
            if span.until.is_some() {
                outlook = outlook.after(span.micros, held as u64);
                self.pace.revise(&question, Some(outlook));
            }
            rows.sort_by_key(|row| row.number);
            if held >= wanted {
                rows.truncate(wanted);
                return Ok(Some(directly(rows, wanted)));
            }
            let last = behind.as_ref().map(|row| row.entry.position.clone());
            rows.extend(behind.filter(|row| row.hit));
            if !rows.is_empty() || last.is_none() || most < MOST || began.elapsed() >= TARGET {
                // Rows that were passed over are not counted; that there are none yet is to be seen.
                let looked_at = rows.is_empty().then_some(0);
                return Ok(Some(Step { rows, last, looked_at }));
            }
            here.from = last;
        }
    }

    /// The row behind an instant, whether or not it passes, and those that pass from a place until there, each with its number.
    async fn read_span(
        &self,
        order: &Expr,
        segment: &Segment,
        forward: bool,
        (until, guard): (Option<Timestamp>, usize),
    ) -> Result<(Option<Read>, Vec<Read>)> {
        let together = self.sql.layout.dialect.together().unwrap_or_default();
        let mut statements = vec![
            Statement { sql: together.to_owned(), binds: Vec::new() },
            self.sql.span_statement(order, segment, forward, (until, guard)),
        ];
        // First, as it is found by one index alone.
        statements.splice(0..0, until.map(|until| self.sql.behind_statement(order, segment, forward, until)));
        let mut results = self.engine.read(&statements, &self.direct_budget()).await?;
        let reads = |rows: Option<Vec<Row>>| {
            let rows = rows.unwrap_or_default().into_iter();
            rows.map(|row| read(self.sql.layout, row)).collect::<Result<Vec<Read>>>()
        };
        let rows = reads(results.pop())?;
        let behind = if until.is_some() { reads(results.into_iter().next())?.pop() } else { None };
        Ok((behind, rows))
    }
}

impl ScanSql<'_> {
    fn span_statement(
        &self,
        order: &Expr,
        segment: &Segment,
        forward: bool,
        (until, guard): (Option<Timestamp>, usize),
    ) -> Statement {
        let descending = self.sort.descending == forward;
        let by = self.by(order, false);
        let named = &["by_first", "by_last"][..by.len().min(2)];
        let columns: Vec<String> = (0..WIDTH).map(|i| format!("c{i}")).collect();
        let mut sql = Sql::new(self.layout.dialect);
        // By itself, so that the planner looks for all of them and not for the first in order.
        sql.push("WITH found AS MATERIALIZED (SELECT ");
        select(&mut sql, self.layout, order, self.judge.extras);
        for (raw, name) in by.iter().zip(named) {
            sql.push(&format!(", {raw} AS {name}"));
        }
        sql.push(&format!(" FROM {} WHERE ", self.layout.tables.from));
        self.judge.push_for(&mut sql, Rows::of(self.sort.key, segment.null));
        sql.push(" AND ");
        self.beyond(&mut sql, order, segment, forward);
        if let Some(until) = until {
            self.limit(&mut sql, order, if descending { ">=" } else { "<=" }, until);
        }
        let (columns, in_order) = (columns.join(", "), order_by(named, descending));
        let number = format!("row_number() OVER (ORDER BY {in_order})");
        sql.push(&format!(" LIMIT {guard}) SELECT {columns}, 1 AS hit, {number} AS rn FROM found"));
        sql.done()
    }

    fn behind_statement(&self, order: &Expr, segment: &Segment, forward: bool, until: Timestamp) -> Statement {
        let descending = self.sort.descending == forward;
        let mut sql = Sql::new(self.layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, self.layout, order, self.judge.extras);
        self.push_hit(&mut sql);
        sql.push(&format!(" FROM {} WHERE ", self.layout.tables.from));
        self.in_window(&mut sql, order, segment, forward);
        self.limit(&mut sql, order, if descending { "<" } else { ">" }, until);
        sql.push(&format!(" ORDER BY {} LIMIT 1", order_by(&self.by(order, false), descending)));
        sql.done()
    }

    /// Writes a further condition: on which side of an instant a row lies.
    fn limit(&self, sql: &mut Sql, order: &Expr, op: &str, at: Timestamp) {
        let instant = self.layout.dialect.instant_or_now(sql, Some(at), order.kind == FieldKind::Instant);
        sql.push(&format!(" AND {} {op} {instant}", order.raw));
    }
}

/// Whether no span is so short that it would hold fewer of them.
fn died_at_once(rows: &[Read]) -> bool {
    let at = |row: &Read| row.entry.position.key.clone();
    rows.windows(2).all(|two| matches!(two, [a, b] if at(a) == at(b)))
}

/// Where a segment begins on the axis; `None` for what is no instant of the calendar, and lies behind all that are, or before.
fn start_of(order: &Expr, segment: &Segment, outlook: &RangeEstimate, descending: bool) -> Option<i64> {
    let start = if descending { outlook.ends.0 } else { outlook.ends.1 };
    segment.from.as_ref().map_or(Some(start), |place| axis_value(order, place))
}
