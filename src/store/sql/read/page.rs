//! Pages, single rows, cohorts, and what became of replayed jobs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::adapter::FieldKind;
use crate::db::cells::{Cells, on_axis};
use crate::domain::job::JobId;
use crate::domain::outcome::{ObservedOutcome, ReplayOutcome};
use crate::store::sql::context::Context;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{Read, read, select};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::query::lookup_parts::json_bytes;
use crate::store::sql::query::row_snapshot::{RelatedRow, row_of};
use crate::store::sql::query::snapshot_members::narrowed;
use crate::store::sql::query::template::{Fill, expand};
use crate::store::sql::query::where_clause::{Extras, WhereClause};
use crate::store::sql::read::ReadMemory;
use crate::store::sql::read::scan::{Scan, Step};
use crate::store::sql::read::scan_sql::ScanSql;
use crate::store::{
    Budget, Cursor, Entry, Job, Page, PageQuery, Position, Result, Scanned, Sort, SortKey, SourceError,
};

/// Jobs of one step of freezing: the more, the more memory, half of which the allocator never gives back.
const COHORT: usize = 2_000;
/// The newest and oldest place on an axis, as they were a while ago.
#[derive(Clone)]
pub(crate) struct AxisEnds {
    asked: Instant,
    order: String,
    ends: (i64, i64),
}

/// Rows at either end that do not count as one: a single job of 1970 would keep the progress near nothing all along.
const STRAYS: usize = 100;
/// How long the ends of the table are remembered for showing progress.
const SPAN_AGE: Duration = Duration::from_secs(60);

/// Reads pages, rows, the ids of a cohort, and what became of replayed jobs.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'s> {
    pub(crate) context: &'s Context,
    pub(crate) memory: &'s ReadMemory,
}

impl<'s> Reader<'s> {
    pub(crate) fn scan<'a>(self, judge: &'a WhereClause<'a>, sort: Sort, budget: &'a Budget) -> Scan<'a>
    where
        's: 'a,
    {
        Scan {
            engine: &self.context.engine,
            pace: &self.memory.pace,
            budget,
            sql: ScanSql { layout: &self.context.layout, judge, sort, before: None },
            apart: usize::MAX,
            newest: usize::MAX,
            outlook: None,
        }
    }

    /// A page, of rows that lie apart no more than `apart`, for which windows look at `newest` rows at the most.
    pub(crate) async fn read_page(
        self,
        query: PageQuery,
        apart: usize,
        newest: usize,
        budget: &Budget,
    ) -> Result<Page> {
        let judge = WhereClause::new(&self.context.layout, &query.filter, self.context.server_now());
        let scan = Scan { apart, newest, ..self.scan(&judge, query.sort, budget) };
        self.page_of(scan, query, &judge, false).await
    }

    /// A page with the arguments of each job, and with what else is compared of it where that is asked for.
    pub(crate) async fn read_arguments(self, query: PageQuery, compared: bool, budget: &Budget) -> Result<Page> {
        let mut judge = WhereClause::new(&self.context.layout, &query.filter, self.context.server_now());
        (judge.extras.arguments, judge.extras.compared) = (true, compared);
        self.page_of(self.scan(&judge, query.sort, budget), query, &judge, true).await
    }

    async fn page_of(self, mut scan: Scan<'_>, query: PageQuery, judge: &WhereClause<'_>, keeps: bool) -> Result<Page> {
        scan.outlook = self.estimate(&scan).await?;
        let step = scan.step(&query.cursor, query.limit.max(1)).await?;
        let (sort, forward) = (query.sort, query.cursor.is_forward());
        let next = step.last.clone().map(if forward { Cursor::After } else { Cursor::Before });
        let scanned = match step.looked_at {
            Some(rows) => Some(Scanned { rows, share: self.share_of(&step, judge, sort, forward).await }),
            None => None,
        };
        let entry = |read: Read| Entry { arguments: read.arguments.filter(|_| keeps), ..read.entry };
        let mut entries: Vec<Entry> = step.rows.into_iter().map(entry).collect();
        if !forward {
            entries.reverse();
        }
        Ok(Page { entries, next, scanned })
    }

    pub(crate) async fn read_rows(self, ids: &[JobId], budget: &Budget) -> Result<Vec<Job>> {
        let order = self.context.layout.order(SortKey::Time, true).unwrap_or(&self.context.layout.key.expr);
        let valid = self.context.valid(ids);
        if valid.is_empty() {
            return Ok(Vec::new());
        }
        let mut sql = Sql::new(self.context.layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, &self.context.layout, order, Extras { lineage: true, ..Extras::default() });
        sql.push(&format!(" FROM {} WHERE ", self.context.layout.tables.from));
        self.context.layout.keys_in(&mut sql, &valid);
        let rows = self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let named = self.context.named(ids);
        let entries = rows.into_iter().map(|row| Ok(read(&self.context.layout, row)?.entry));
        entries
            .filter(|entry| entry.as_ref().map_or(true, |e| named(&e.row.id)))
            .map(|entry| entry.map(Job::Row))
            .collect()
    }

    /// The next jobs of a cohort, with what the record keeps of them.
    pub(crate) async fn read_cohort(self, query: PageQuery, record_only: bool, budget: &Budget) -> Result<Page> {
        let mut judge = WhereClause::new(&self.context.layout, &query.filter, self.context.server_now());
        // What is judged in memory is judged by all the light columns.
        judge.extras.record_only = record_only && judge.rest.is_none();
        judge.extras.lineage = true;
        let mut scan = self.scan(&judge, query.sort, budget);
        scan.outlook = self.estimate(&scan).await?;
        let step = scan.step(&query.cursor, query.limit.min(COHORT)).await?;
        let next = step.last.clone().map(Cursor::After);
        let rows = step.looked_at.unwrap_or(step.rows.len() as u64);
        let share = if next.is_some() { self.share_of(&step, &judge, query.sort, true).await } else { 1.0 };
        let entries = step.rows.into_iter().map(|read| read.entry).collect();
        Ok(Page { entries, next, scanned: Some(Scanned { rows, share }) })
    }

    pub(crate) async fn read_outcome(
        self,
        ids: &[JobId],
        kept: &[(JobId, String)],
        budget: &Budget,
    ) -> Result<Vec<(JobId, ObservedOutcome)>> {
        let unknown = || ids.iter().map(|id| (id.clone(), ReplayOutcome::Unknown.into())).collect();
        let Some(outcome) = &self.context.layout.spec.outcome else { return Ok(unknown()) };
        let gone = self.context.layout.spec.replayed.gone;
        let needs_target = outcome.get_ref().contains("{target}");
        let valid = self.context.valid(ids);
        if valid.is_empty() || (needs_target && self.context.destination.table().is_none()) {
            return Ok(unknown());
        }
        // Jobs without a row any more are asked about too.
        let kept: HashMap<&str, &str> = kept.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        // What was erased since is an empty text.
        let known = |id: &String| kept.get(id.as_str()).filter(|text| RelatedRow::parse(text).is_some());
        let row = |id: &String| match known(id) {
            Some(text) => row_of(id, text),
            None => BatchRow { id: id.clone(), ..BatchRow::default() },
        };
        let batch = narrowed(outcome.get_ref(), &valid.iter().map(row).collect::<Vec<BatchRow>>());
        let weigh = |row: &BatchRow| json_bytes(&row.id) + row.kept.as_deref().map_or(0, json_bytes);
        let mut fates: HashMap<String, ObservedOutcome> = HashMap::new();
        for part in self.context.parts(&batch, weigh) {
            let ids: Vec<String> = part.iter().map(|row| row.id.clone()).collect();
            let fill = Fill {
                ids: &ids,
                batch: part,
                ..Fill::names_only(&self.context.layout, self.context.destination.table())
            };
            let told = match self.context.engine.read(&[expand(outcome.get_ref(), &fill)], budget).await {
                Ok(mut results) => results.pop().unwrap_or_default(),
                // What is too large by itself to be asked about is unknown.
                Err(SourceError::Refused { .. }) if part.len() == 1 && batch.len() > 1 => continue,
                Err(error) => return Err(error),
            };
            for row in told {
                let mut cells = Cells::new(row);
                let (id, word, error) = (cells.text()?, cells.text()?, cells.untrusted()?);
                let dead_row = if cells.is_end() { None } else { cells.text()? };
                if let Some(id) = id {
                    let word = word.unwrap_or_default();
                    let outcome = ReplayOutcome::from_statement(&word, error, gone).ok_or_else(|| {
                        SourceError::Layout(format!("the outcome statement returned the unknown word `{word}`"))
                    })?;
                    let has_died = matches!(outcome, ReplayOutcome::DiedAgain(_));
                    let dead_row = dead_row.filter(|row| has_died && *row != id).map(JobId::new);
                    let fate = ObservedOutcome { outcome, dead_row };
                    let told = fates.remove(&id).map_or_else(|| fate.clone(), |other| either(other, fate.clone()));
                    fates.insert(id, told);
                }
            }
        }
        let missing = || ReplayOutcome::Unknown.into();
        Ok(ids.iter().map(|id| (id.clone(), fates.remove(id.as_str()).unwrap_or_else(missing))).collect())
    }

    async fn share_of(self, step: &Step, judge: &WhereClause<'_>, sort: Sort, forward: bool) -> f32 {
        let Some(last) = &step.last else { return 1.0 };
        if sort.key != SortKey::Time {
            return 0.0;
        }
        let share = self.share(last, judge.only_dead()).await;
        if sort.descending == forward { share } else { 1.0 - share }
    }

    /// How far a place lies from the newest row towards the oldest, from 0 to 1.
    pub(crate) async fn share(self, last: &Position, dead: bool) -> f32 {
        let Some(order) = self.context.layout.order(SortKey::Time, dead) else { return 0.0 };
        let Some((newest, oldest)) = self.ends(order, dead).await else { return 0.0 };
        let Some(here) = axis_value(order, last) else { return 1.0 };
        let whole = newest.saturating_sub(oldest).max(1) as f64;
        (newest.saturating_sub(here) as f64 / whole).clamp(0.0, 1.0) as f32
    }

    /// The newest and oldest place on the axis, as numbers.
    pub(crate) async fn ends(self, order: &Expr, dead: bool) -> Option<(i64, i64)> {
        let known = self.memory.span.lock().unwrap_or_else(|p| p.into_inner()).clone();
        let fresh = |known: &AxisEnds| known.asked.elapsed() < SPAN_AGE && known.order == order.raw;
        if let Some(known) = known.filter(fresh) {
            return Some(known.ends);
        }
        let dialect = self.context.layout.dialect;
        let among = self.context.layout.among(dead).map_or(String::new(), |condition| format!("{condition} AND "));
        let (raw, table) = (&order.raw, &self.context.layout.tables.table);
        let end = |direction: &str, skipped: usize| {
            let rows = format!("FROM {table} AS t WHERE {among}{raw} IS NOT NULL");
            dialect.contract(
                &format!("(SELECT {raw} {rows} ORDER BY {raw} {direction} LIMIT 1 OFFSET {skipped})"),
                order.kind,
            )
        };
        let mut sql = Sql::new(dialect);
        let ends = [end("DESC", STRAYS), end("DESC", 0), end("ASC", STRAYS), end("ASC", 0)];
        sql.push(&format!("SELECT {}", ends.join(", ")));
        let budget = Budget::new(Duration::from_millis(500));
        let row = self.context.engine.read(&[sql.done()], &budget).await.ok()?.pop()?.into_iter().next()?;
        let mut cells = Cells::new(row);
        let mut either = || {
            let (usual, outermost) = (cells.place().ok()?, cells.place().ok()?);
            usual.or(outermost)
        };
        let ends = (either()?, either()?);
        let known = AxisEnds { asked: Instant::now(), order: order.raw.clone(), ends };
        *self.memory.span.lock().unwrap_or_else(|p| p.into_inner()) = Some(known);
        Some(ends)
    }
}

/// A place as a number on the axis.
pub(crate) fn axis_value(order: &Expr, place: &Position) -> Option<i64> {
    let key = place.key.as_deref()?;
    if !matches!(order.kind, FieldKind::Utc | FieldKind::Instant) {
        let unit = match order.kind {
            FieldKind::EpochS => 1_000_000,
            FieldKind::EpochMs => 1_000,
            _ => 1,
        };
        let whole = key.split_once('.').map_or(key, |(whole, _)| whole);
        return on_axis(whole).map(|n| n.saturating_mul(unit));
    }
    let (whole, more) = key.split_at_checked(19)?;
    let fraction: String = more.chars().take_while(|c| *c == '.' || c.is_ascii_digit()).collect();
    let written = whole.replace('T', " ") + &fraction;
    let at = chrono::NaiveDateTime::parse_from_str(&written, "%Y-%m-%d %H:%M:%S%.f").ok()?;
    Some(at.and_utc().timestamp_micros())
}

/// Where a job has got to that was found twice: there is no telling which of two is the one that was replayed.
fn either(one: ObservedOutcome, other: ObservedOutcome) -> ObservedOutcome {
    let outcome = match (one.outcome, other.outcome) {
        (one, other) if one == other => one,
        (ReplayOutcome::DiedAgain(_), ReplayOutcome::DiedAgain(_)) => ReplayOutcome::DiedAgain(None),
        (ReplayOutcome::Retrying(_), ReplayOutcome::Retrying(_)) => ReplayOutcome::Retrying(None),
        _ => ReplayOutcome::Unknown,
    };
    ObservedOutcome { outcome, dead_row: one.dead_row.filter(|row| other.dead_row.as_ref() == Some(row)) }
}
