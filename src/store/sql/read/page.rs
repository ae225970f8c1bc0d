//! Pages, single rows, cohorts, and what became of replayed jobs.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::adapter::FieldKind;
use crate::db::cells::Cells;
use crate::db::cells::on_axis;
use crate::domain::action::ReplayStatus;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::text::Untrusted;
use crate::store::sql::SqlStore;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{Read, read, select};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::query::row_snapshot::Kept;
use crate::store::sql::query::row_snapshot::row_of;
use crate::store::sql::query::snapshot_members::narrowed;
use crate::store::sql::query::template::{Fill, expand};
use crate::store::sql::query::where_clause::{Extras, Judge};
use crate::store::sql::read::chunks::read_number;
use crate::store::sql::read::lookup_parts::json_bytes;
use crate::store::sql::read::scan::{Scan, Segment, Step};
use crate::store::{
    Budget, Cursor, Entry, FreezeStep, Frozen, Glance, GlanceQuery, Page, PageQuery, Position, Result, Scanned, Sort,
    SortKey, StoreError,
};

/// Jobs of one step of freezing: the more, the more memory, half of which the allocator never gives back.
const FREEZE: usize = 2_000;
/// The newest and oldest place on an axis, as they were a while ago.
#[derive(Clone)]
pub(crate) struct Span {
    asked: Instant,
    order: String,
    ends: (i64, i64),
}

/// Rows at either end that do not count as one: a single job of 1970 would keep the progress near nothing all along.
const STRAYS: usize = 100;
/// How long the ends of the table are remembered for showing progress.
const SPAN_AGE: Duration = Duration::from_secs(60);

impl SqlStore {
    pub(crate) fn scan<'a>(&'a self, judge: &'a Judge<'a>, sort: Sort, budget: &'a Budget) -> Scan<'a> {
        Scan {
            engine: &self.engine,
            layout: &self.layout,
            pace: &self.pace,
            judge,
            sort,
            budget,
            before: None,
            apart: usize::MAX,
            newest: usize::MAX,
            tried: false,
            outlook: None,
        }
    }

    /// A page, of rows that lie apart no more than `apart`, for which windows look at `newest` rows at the most.
    pub(crate) async fn read_page(
        &self,
        query: PageQuery,
        apart: usize,
        newest: usize,
        budget: &Budget,
    ) -> Result<Page> {
        let judge = Judge::new(&self.layout, &query.filter, self.server_now());
        let mut scan = Scan { apart, newest, ..self.scan(&judge, query.sort, budget) };
        scan.outlook = self.outlook(&scan).await?;
        self.page_by(&scan, &query).await
    }

    async fn page_by(&self, scan: &Scan<'_>, query: &PageQuery) -> Result<Page> {
        let step = scan.step(&query.cursor, query.limit.max(1)).await?;
        self.page_of(scan, step, query.cursor.is_forward()).await
    }

    async fn page_of(&self, &Scan { judge, sort, .. }: &Scan<'_>, step: Step, forward: bool) -> Result<Page> {
        let next = step.last.clone().map(if forward { Cursor::After } else { Cursor::Before });
        let scanned = match step.looked_at {
            Some(rows) => Some(Scanned { rows, share: self.share_of(&step, judge, sort, forward).await }),
            None => None,
        };
        let mut entries: Vec<Entry> = step.rows.into_iter().map(|r| r.entry).collect();
        if !forward {
            entries.reverse();
        }
        Ok(Page { entries, next, scanned })
    }

    /// All in one exchange where the page takes one statement, one after the other elsewhere.
    pub(crate) async fn read_glance(&self, query: GlanceQuery, budget: &Budget) -> Result<Glance> {
        let judge = Judge::new(&self.layout, &query.page.filter, self.server_now());
        let mut scan = self.scan(&judge, query.page.sort, budget);
        if let Some(only) = scan.only_segment(&query.page)? {
            match self.glance_at_once(&query, &scan, &only).await {
                // Each by itself has its own ways out.
                Err(error) if !matches!(error, StoreError::Cancelled | StoreError::Unreachable(_)) => {
                    scan.tried = error.took_too_long();
                }
                other => return other,
            }
        }
        let GlanceQuery { facet, page, .. } = query;
        let estimate = self.read_statistics(facet, budget).await.unwrap_or_default();
        Ok(Glance { estimate, page: self.page_by(&scan, &page).await?, job: None })
    }

    /// The same where the page is `only` one segment. Where no statistics tell the counts, how many rows there are is asked in
    /// their place, which is what comes next, and the rows of the page are counted.
    async fn glance_at_once(&self, query: &GlanceQuery, scan: &Scan<'_>, only: &Segment) -> Result<Glance> {
        let GlanceQuery { facet, page, opens } = query;
        let mut statements = vec![scan.only_statement(only, page)?];
        // A key that is not unique by itself is asked for by name, and so is one where that costs nothing.
        let with_job = *opens && self.layout.scope.is_none() && self.layout.speech.is_far();
        if with_job {
            let first = scan.first_key(only)?;
            statements.push(self.detail_statement(|sql| first(sql)));
        }
        let statistics = self.statistics_statement(*facet);
        let with_statistics = statistics.is_some();
        statements.extend(statistics.or_else(|| self.rows_statement()));
        let mut results = self.engine.read(&statements, &scan.direct_budget()).await?.into_iter();
        let mut next = || results.next().unwrap_or_default();
        let step = scan.only_step(next(), page)?;
        let job = if with_job { self.details_of(next()).next().transpose()? } else { None };
        let estimate = match with_statistics {
            true => self.estimate_of(*facet, next(), scan.budget).await?,
            false => {
                self.foretell(read_number(next())?);
                None
            }
        };
        let estimate = estimate.or_else(|| self.glimpsed(*facet, page.sort, &step.rows));
        let page = self.page_of(scan, step, true).await?;
        Ok(Glance { estimate, page, job })
    }

    pub(crate) async fn read_rows(&self, ids: &[JobId], budget: &Budget) -> Result<Vec<Entry>> {
        let order = self.layout.order(SortKey::Time, true).unwrap_or(&self.layout.key);
        let valid = self.valid(ids);
        if valid.is_empty() {
            return Ok(Vec::new());
        }
        let mut sql = Sql::new(self.layout.speech);
        sql.push("SELECT ");
        select(&mut sql, &self.layout, order, Extras { lineage: true, ..Extras::default() });
        sql.push(&format!(" FROM {} WHERE ", self.layout.from));
        self.layout.keys_in(&mut sql, &valid);
        let rows = self.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let named = self.named(ids);
        let entries = rows.into_iter().map(|row| Ok(read(&self.layout, row)?.entry));
        entries.filter(|entry| entry.as_ref().map_or(true, |e| named(&e.row.id))).collect()
    }

    pub(crate) async fn freeze_step(&self, filter: &Filter, cursor: Cursor, budget: &Budget) -> Result<FreezeStep> {
        let mut judge = Judge::new(&self.layout, filter, self.server_now());
        // What is judged in memory is judged by all the light columns.
        judge.extras.record_only = judge.rest.is_none();
        judge.extras.lineage = true;
        let sort = Sort::default();
        let mut scan = self.scan(&judge, sort, budget);
        scan.outlook = self.outlook(&scan).await?;
        let step = scan.step(&cursor, FREEZE).await?;
        let next = step.last.clone().map(Cursor::After);
        let rows = step.looked_at.unwrap_or(step.rows.len() as u64);
        let share = if next.is_some() { self.share_of(&step, &judge, sort, true).await } else { 1.0 };
        let jobs = step.rows.into_iter().map(frozen).collect();
        Ok(FreezeStep { jobs, next, scanned: Scanned { rows, share } })
    }

    pub(crate) async fn read_outcome(
        &self,
        ids: &[JobId],
        kept: &[(JobId, String)],
        budget: &Budget,
    ) -> Result<Vec<(JobId, ReplayStatus)>> {
        let unknown = || ids.iter().map(|id| (id.clone(), ReplayStatus::Unknown)).collect();
        let Some(outcome) = &self.layout.spec.outcome else { return Ok(unknown()) };
        let needs_target = outcome.get_ref().contains("{target}");
        let valid = self.valid(ids);
        if valid.is_empty() || (needs_target && self.destination.table().is_none()) {
            return Ok(unknown());
        }
        // Jobs without a row any more are asked about too.
        let kept: HashMap<&str, &str> = kept.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        // What was erased since is an empty text.
        let known = |id: &String| kept.get(id.as_str()).filter(|text| Kept::parse(text).is_some());
        let row = |id: &String| match known(id) {
            Some(text) => row_of(id, text),
            None => BatchRow { id: id.clone(), ..BatchRow::default() },
        };
        let batch = narrowed(outcome.get_ref(), &valid.iter().map(row).collect::<Vec<BatchRow>>());
        let weigh = |row: &BatchRow| json_bytes(&row.id) + row.kept.as_deref().map_or(0, json_bytes);
        let mut fates: HashMap<String, ReplayStatus> = HashMap::new();
        for part in self.parts(&batch, weigh) {
            let ids: Vec<String> = part.iter().map(|row| row.id.clone()).collect();
            let fill = Fill { ids: &ids, batch: part, ..Fill::of(&self.layout, self.destination.table()) };
            let told = match self.engine.read(&[expand(outcome.get_ref(), &fill)], budget).await {
                Ok(mut results) => results.pop().unwrap_or_default(),
                // What is too large by itself to be asked about is unknown.
                Err(StoreError::Refused { .. }) if part.len() == 1 && batch.len() > 1 => continue,
                Err(error) => return Err(error),
            };
            for row in told {
                let mut cells = Cells::new(row);
                let (id, word, error) = (cells.text()?, cells.text()?, cells.untrusted()?);
                if let Some(id) = id {
                    let fate = fate(word.as_deref().unwrap_or_default(), error)?;
                    let told = fates.remove(&id).map_or_else(|| fate.clone(), |other| either(other, fate.clone()));
                    fates.insert(id, told);
                }
            }
        }
        let missing = || ReplayStatus::Unknown;
        Ok(ids.iter().map(|id| (id.clone(), fates.remove(id.as_str()).unwrap_or_else(missing))).collect())
    }

    /// The keys among `ids` that can be keys of this table.
    pub(crate) fn valid(&self, ids: &[JobId]) -> Vec<String> {
        ids.iter().map(JobId::as_str).filter(|id| self.layout.holds(id)).map(str::to_owned).collect()
    }

    /// Whether a row that was found by its key is one that was named. A collation takes keys for each other that are not
    /// written alike; what is no text is written in one way, or means the same in all.
    pub(crate) fn named<'a>(&self, ids: &'a [JobId]) -> impl Fn(&JobId) -> bool + use<'a> {
        let named: Option<HashSet<&JobId>> = (self.layout.key.kind == FieldKind::Text).then(|| ids.iter().collect());
        move |id| named.as_ref().is_none_or(|named| named.contains(id))
    }

    async fn share_of(&self, step: &Step, judge: &Judge<'_>, sort: Sort, forward: bool) -> f32 {
        let Some(last) = &step.last else { return 1.0 };
        if sort.key != SortKey::Time {
            return 0.0;
        }
        let share = self.share(last, judge.only_dead()).await;
        if sort.descending == forward { share } else { 1.0 - share }
    }

    /// How far a place lies from the newest row towards the oldest, from 0 to 1.
    pub(crate) async fn share(&self, last: &Position, dead: bool) -> f32 {
        let Some(order) = self.layout.order(SortKey::Time, dead) else { return 0.0 };
        let Some((newest, oldest)) = self.ends(order, dead).await else { return 0.0 };
        let Some(here) = axis_value(order, last) else { return 1.0 };
        let whole = newest.saturating_sub(oldest).max(1) as f64;
        (newest.saturating_sub(here) as f64 / whole).clamp(0.0, 1.0) as f32
    }

    /// The newest and oldest place on the axis, as numbers.
    pub(crate) async fn ends(&self, order: &Expr, dead: bool) -> Option<(i64, i64)> {
        let known = self.span.lock().unwrap_or_else(|p| p.into_inner()).clone();
        let fresh = |known: &Span| known.asked.elapsed() < SPAN_AGE && known.order == order.raw;
        if let Some(known) = known.filter(fresh) {
            return Some(known.ends);
        }
        let speech = self.layout.speech;
        let among = self.layout.among(dead).map_or(String::new(), |condition| format!("{condition} AND "));
        let (raw, table) = (&order.raw, &self.layout.table);
        let end = |direction: &str, skipped: usize| {
            let rows = format!("FROM {table} AS t WHERE {among}{raw} IS NOT NULL");
            speech.contract(
                &format!("(SELECT {raw} {rows} ORDER BY {raw} {direction} LIMIT 1 OFFSET {skipped})"),
                order.kind,
            )
        };
        let mut sql = Sql::new(speech);
        let ends = [end("DESC", STRAYS), end("DESC", 0), end("ASC", STRAYS), end("ASC", 0)];
        sql.push(&format!("SELECT {}", ends.join(", ")));
        let budget = Budget::new(Duration::from_millis(500));
        let row = self.engine.read(&[sql.done()], &budget).await.ok()?.pop()?.into_iter().next()?;
        let mut cells = Cells::new(row);
        let mut either = || {
            let (usual, outermost) = (cells.place().ok()?, cells.place().ok()?);
            usual.or(outermost)
        };
        let ends = (either()?, either()?);
        let known = Span { asked: Instant::now(), order: order.raw.clone(), ends };
        *self.span.lock().unwrap_or_else(|p| p.into_inner()) = Some(known);
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

fn frozen(read: Read) -> Frozen {
    Frozen::of(read.entry)
}

/// Where a job has got to that was found twice: there is no telling which of two is the one that was replayed.
fn either(one: ReplayStatus, other: ReplayStatus) -> ReplayStatus {
    match (one, other) {
        (one, other) if one == other => one,
        (ReplayStatus::DeadAgain(_), ReplayStatus::DeadAgain(_)) => ReplayStatus::DeadAgain(None),
        _ => ReplayStatus::Unknown,
    }
}

fn fate(word: &str, error: Option<Untrusted>) -> Result<ReplayStatus> {
    Ok(match word {
        "queued" => ReplayStatus::Queued,
        "running" => ReplayStatus::Running,
        "succeeded" => ReplayStatus::Succeeded,
        "dead" => ReplayStatus::DeadAgain(error),
        "gone" => ReplayStatus::Gone,
        "unknown" => ReplayStatus::Unknown,
        other => return Err(StoreError::Layout(format!("the outcome statement returned the fate `{other}`"))),
    })
}
