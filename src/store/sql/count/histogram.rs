//! Histograms: whole where the database gets through in time, else window by window.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Instant;

use crate::adapter::Part;
use crate::db::{Row, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::context::Context;
use crate::store::sql::count::CountMemory;
use crate::store::sql::count::changes::{Poller, Recent};
use crate::store::sql::count::chunked::{MOMENT, Walk};
use crate::store::sql::count::in_memory::in_memory;
use crate::store::sql::count::state::{At, CountState, SLOT, SLOTS, Side, finished, trend, unfinished};
use crate::store::sql::count::statistics::Statistics;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::buckets::{Axis, PollReading, cells};
use crate::store::sql::query::group_by::{Counted, Grouping, Tally};
use crate::store::sql::query::time_of_death::Rows;
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::sql::read::chunks::{MANY, ROWS_OF_BLOCK};
use crate::store::sql::read::page::Reader;
use crate::store::{Budget, Cell, Cursor, HistogramQuery, HistogramStep, Position, Result, Sort, Token};

/// Rows of a first window that is only something to be seen.
const GLIMPSE: usize = 1_000;

/// Counts by a facet.
#[derive(Clone, Copy)]
pub(crate) struct Counter<'s> {
    pub(crate) context: &'s Context,
    pub(crate) reader: Reader<'s>,
    pub(crate) memory: &'s CountMemory,
}

impl<'s> Counter<'s> {
    pub(crate) fn statistics(self) -> Statistics<'s> {
        let Counter { context, reader, memory } = self;
        Statistics { context, reader, memory }
    }

    pub(crate) fn poller(self) -> Poller<'s> {
        Poller { context: self.context, memory: self.memory }
    }

    pub(crate) async fn count(self, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
        let began = Instant::now();
        let step = self.count_on(query, budget).await.map_err(|error| self.context.timed(error, began))?;
        Ok(HistogramStep { cost: self.context.engine.worked(began), ..step })
    }

    async fn count_on(self, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
        let judge = WhereClause::new(&self.context.layout, &query.filter, self.context.server_now());
        let grouping = Grouping { layout: &self.context.layout, facet: query.facet };
        if let Some(state) = query.resume.as_ref().and_then(Token::state::<CountState>) {
            let mut state = state.clone();
            if std::mem::take(&mut state.then_whole) {
                let plain = grouping.statement(&judge, None, |_| {});
                match self.count_whole(&judge, &grouping, budget).await {
                    Err(error) if error.took_too_long() => {
                        self.reader.memory.pace.remember(&error, &format!("{plain:?}"));
                        let by_key = self.context.layout.tables.is_stored_by_key && self.goes_as_stored(&judge);
                        if let Some(blocks) = if by_key { self.reader.blocks(budget).await? } else { None } {
                            // What was counted of the newest is in the windows again that lie ahead.
                            state = self.begin_windows(&judge, &grouping, budget).await?;
                            state.at = At::Block(Walk::of(blocks));
                        }
                    }
                    other => return other,
                }
            }
            return self.count_on_windows(&judge, &grouping, state, budget).await;
        }
        let (mut by_blocks, mut blocks, mut then_whole) = (false, None, false);
        if !in_memory(&judge, &grouping) {
            let plain = grouping.statement(&judge, None, |_| {});
            let (question, way) = (format!("{plain:?}"), self.count_method(plain, budget).await?);
            let is_quick = !way.is_long && !self.reader.memory.pace.is_slow(&question);
            then_whole = is_quick && way.may_be_long;
            if is_quick && !then_whole {
                match self.count_whole(&judge, &grouping, budget).await {
                    Err(error) if error.took_too_long() => self.reader.memory.pace.remember(&error, &question),
                    other => return other,
                }
            }
            by_blocks = way.has_blocks && self.goes_as_stored(&judge);
        } else if self.goes_as_stored(&judge) {
            let moment = if self.context.layout.tables.is_stored_by_key { MANY / ROWS_OF_BLOCK } else { MOMENT };
            blocks = self.reader.blocks(budget).await?;
            by_blocks = blocks.is_some_and(|blocks| blocks > moment);
        }
        let mut state = self.begin_windows(&judge, &grouping, budget).await?;
        state.then_whole = then_whole;
        // Asked for last, so that every row that was there when the recent past was read stands in them.
        if let Some(blocks) = if by_blocks && !then_whole { self.reader.blocks(budget).await? } else { None } {
            state.at = At::Block(Walk::of(blocks));
        }
        if let Some(sample) = self.statistics().sample(blocks, &judge, &grouping, budget).await? {
            state.side.sample = sample;
            return Ok(unfinished(query.facet, state, 0.0));
        }
        self.count_on_windows(&judge, &grouping, state, budget).await
    }

    /// One step of a count by windows. Where a single block has rows that take too long together, it begins again in order,
    /// in which windows may be of one row.
    async fn count_on_windows(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        state: CountState,
        budget: &Budget,
    ) -> Result<HistogramStep> {
        let is_of_blocks = matches!(state.at, At::Block(_));
        match self.count_windows(judge, grouping, state, budget).await {
            Err(error) if error.took_too_long() && is_of_blocks => {
                let state = self.begin_windows(judge, grouping, budget).await?;
                self.count_windows(judge, grouping, state, budget).await
            }
            step => step,
        }
    }

    /// Whether a count that takes windows may take them as the table is stored. In order, it ends with the span of time that
    /// it keeps to, and where live jobs stand in the same table it passes over none of them.
    fn goes_as_stored(self, judge: &WhereClause<'_>) -> bool {
        match (judge.rest.is_some(), self.context.layout.tables.is_stored_by_key) {
            (true, _) => !judge.has_span() && self.context.layout.among(judge.only_dead()).is_none(),
            (false, true) => !judge.has_span(),
            (false, false) => true,
        }
    }

    /// A count by windows that has only begun. What is counted of the recent past is what looks take it to be: windows,
    /// which are read later, look at what lies before it.
    async fn begin_windows(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        budget: &Budget,
    ) -> Result<CountState> {
        let side = match in_memory(judge, grouping) {
            true => self.side_in_memory(judge, grouping, budget).await?,
            false => self.side(judge, grouping, None, budget).await?.0,
        };
        let mut bars: HashMap<Option<String>, Tally> = HashMap::new();
        for cell in &side.recent {
            let value = cell.value.as_ref().map(|value| value.exact().to_owned());
            bars.entry(value).or_default().add(&Tally {
                n: cell.n,
                first: cell.first_seen,
                last: cell.last_seen,
                example: cell.example.clone(),
            });
        }
        Ok(CountState { bars, side, at: At::Order(Cursor::Start), then_whole: false })
    }

    /// Everything in one snapshot: the counts, and what is read beside them.
    async fn count_whole(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        budget: &Budget,
    ) -> Result<HistogramStep> {
        // Where no index gives the last hour, the one pass over all rows tells its slots apart as well.
        let from = self.trend_start();
        let at = self.context.layout.part(Part::At).filter(|_| !self.at_is_indexed(judge));
        let slot = at.map(|at| {
            let slot = self.context.layout.dialect.bucket(&at.raw, at.kind, SLOT);
            // The comparison is cheap and spares all older rows the arithmetic.
            move |sql: &mut Sql| {
                sql.push("CASE WHEN ");
                self.context.layout.dialect.at_or_after(sql, &at.raw, at.kind, from);
                sql.push(&format!(" THEN {slot} END"));
            }
        });
        let slot: Option<&(dyn Fn(&mut Sql) + Sync)> = slot.as_ref().map(|s| s as _);
        let with_slot = slot.is_some();
        if !with_slot && let Some(step) = self.count_timed(judge, grouping, budget).await? {
            return Ok(step);
        }
        let whole = grouping.statement(judge, slot, |_| {});
        let (mut side, rows) = self.side(judge, grouping, Some(whole), budget).await?;
        let counted = grouping.read(rows)?;
        if with_slot {
            side.trend = trend(&counted, from);
        }
        Ok(finished(grouping.facet, summed(counted), side))
    }

    /// The same, in less time, where all rows have a time that is one; nothing where some have none.
    async fn count_timed(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        budget: &Budget,
    ) -> Result<Option<HistogramStep>> {
        // A value whose jobs have none at all would be asked for in vain.
        if self.context.layout.part(Part::At).is_none_or(|at| at.nullable) {
            return Ok(None);
        }
        let whole = grouping.statement_of_timed(judge, |_| {});
        let question = format!("{whole:?}");
        if self.reader.memory.pace.is_slow(&question) {
            return Ok(None);
        }
        let (side, rows) = self.side(judge, grouping, Some(whole), budget).await?;
        let counted = grouping.read(rows)?;
        if !counted.iter().all(|one| one.tally.is_timed(None)) {
            // What is asked in vain takes twice the time.
            self.reader.memory.pace.mark_slow(&question);
            return Ok(None);
        }
        Ok(Some(finished(grouping.facet, summed(counted), side)))
    }

    /// Reads the clock, the recent cells and the trend, and the rows of one statement more.
    async fn side(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        more: Option<Statement>,
        budget: &Budget,
    ) -> Result<(Side, Vec<Row>)> {
        let Some(axis) = Axis::of(&self.context.layout, judge.only_dead()) else {
            return Ok((Side::default(), Vec::new()));
        };
        let mut from = self.poller().start_bucket(&axis, budget).await?;
        let hour_ago = self.trend_start();
        let mut statements = vec![axis.poll_statement(), axis.count_since(grouping, judge, from, None)];
        statements.extend(self.trend_statement(grouping, judge, hour_ago));
        let mut with_trend = statements.len() == 3;
        let is_alone = more.is_none();
        statements.extend(more);
        let results = match self.context.engine.read(&statements, budget).await {
            Err(error) if error.took_too_long() && is_alone => {
                // Too many jobs died just now for one statement: windows count them, and looks begin behind them.
                (from, with_trend) = (self.poller().end_bucket(&axis, budget).await?, false);
                self.context
                    .engine
                    .read(&[axis.poll_statement(), axis.count_since(grouping, judge, from, None)], budget)
                    .await?
            }
            results => results?,
        };
        let mut results = results.into_iter();
        let mut next = || results.next().unwrap_or_default();
        let look = PollReading::read(next())?;
        let recent = cells(grouping.read(next())?);
        let trend = if with_trend { trend(&grouping.read(next())?, hour_ago) } else { HashMap::new() };
        let (clock, mark) = (look.clock, self.first_token(look, &axis, from, &recent));
        Ok((Side { clock, mark: Some(mark), recent, from: Some(from), trend, ..Side::default() }, next()))
    }

    /// The same for what is judged in memory: only the clock; the deltas start from the mark.
    async fn side_in_memory(self, judge: &WhereClause<'_>, grouping: &Grouping<'_>, budget: &Budget) -> Result<Side> {
        let Some(axis) = Axis::of(&self.context.layout, judge.only_dead()) else { return Ok(Side::default()) };
        let from = self.poller().start_bucket(&axis, budget).await?;
        let recount = self.poller().count_in_memory(&axis, judge, grouping, from, None, budget).await?;
        let Recent { look, cells: recent, from } = recount;
        let (clock, mark) = (look.clock, self.first_token(look, &axis, from, &recent));
        Ok(Side { clock, mark: Some(mark), recent, from: Some(from), ..Side::default() })
    }

    /// What looks go on from that follow a count, which has these of the recent past from a bucket on.
    fn first_token(self, look: PollReading, axis: &Axis<'_>, from: i64, recent: &[Cell]) -> Token {
        self.context.set_clock(look.clock);
        look.mark(axis, None).not_before(axis, from).counted(self.context.layout.dialect, recent).into_token()
    }

    fn trend_statement(self, grouping: &Grouping<'_>, judge: &WhereClause<'_>, from: Timestamp) -> Option<Statement> {
        let death = self.context.layout.death(judge.only_dead())?;
        self.at_is_indexed(judge).then(|| {
            let at = death.expr(Rows::All);
            let slot = self.context.layout.dialect.bucket(&at.raw, at.kind, SLOT);
            grouping.statement(
                judge,
                Some(&|sql: &mut Sql| {
                    sql.push(&slot);
                }),
                |sql| {
                    sql.push(" AND ");
                    death.write(sql, Rows::All, &|sql, at| {
                        self.context.layout.dialect.at_or_after(sql, &at.raw, at.kind, from);
                    });
                },
            )
        })
    }

    /// Where the first slot of the trend begins.
    fn trend_start(self) -> Timestamp {
        Timestamp(self.context.server_now().0.div_euclid(SLOT).saturating_sub(SLOTS as i64 - 1).saturating_mul(SLOT))
    }

    /// Whether the time of death is what the list is ordered by, and so has an index.
    fn at_is_indexed(self, judge: &WhereClause<'_>) -> bool {
        self.context.layout.death(judge.only_dead()).is_some_and(|death| death.indexed.is_some())
    }

    /// One step of a count by windows.
    async fn count_windows(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        mut state: CountState,
        budget: &Budget,
    ) -> Result<HistogramStep> {
        let reached = match (state.at.clone(), judge.rest.is_some()) {
            (At::Block(walk), is_in_memory) => {
                let walk = match is_in_memory {
                    true => self.rows_of_blocks(judge, grouping, &mut state, walk, budget).await?,
                    false => self.window_of_blocks(judge, grouping, &mut state, walk, budget).await?,
                };
                walk.map(|walk| (walk.share(), At::Block(walk)))
            }
            (At::Order(cursor), is_in_memory) => {
                let last = match is_in_memory {
                    true => self.window_in_memory(judge, grouping, &mut state, &cursor, budget).await?,
                    false => self.window_grouped(judge, grouping, &mut state, &cursor, budget).await?,
                };
                match last {
                    Some(last) => {
                        Some((self.reader.share(&last, judge.only_dead()).await, At::Order(Cursor::After(last))))
                    }
                    None => None,
                }
            }
        };
        let Some((share, at)) = reached else {
            return Ok(finished(grouping.facet, state.bars, state.side));
        };
        state.at = at;
        Ok(unfinished(grouping.facet, state, share))
    }

    async fn window_grouped(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        state: &mut CountState,
        cursor: &Cursor,
        budget: &Budget,
    ) -> Result<Option<Position>> {
        let mut scan = self.reader.scan(judge, Sort::default(), budget);
        scan.sql.before = state.side.from;
        let most = if state.then_whole { GLIMPSE } else { usize::MAX };
        let counted = scan.window_counts(cursor, grouping, most).await?;
        for (value, tally) in counted.values {
            state.add(value, &tally);
        }
        Ok(counted.last)
    }
}

/// Jobs by value, whatever else they were counted by.
fn summed(counted: Vec<Counted>) -> HashMap<Option<String>, Tally> {
    let mut bars: HashMap<Option<String>, Tally> = HashMap::new();
    for one in counted {
        bars.entry(one.value).or_default().add(&one.tally);
    }
    bars
}
