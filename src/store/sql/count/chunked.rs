//! Counting a big table as it is stored, window of blocks by window of blocks.

use crate::adapter::Part;
use crate::db::cells::Cells;
use crate::db::{Row, Statement};
use crate::domain::job::JobId;
use crate::store::sql::count::histogram::Counter;
use crate::store::sql::count::state::CountState;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::buckets::Axis;
use crate::store::sql::query::group_by::Grouping;
use crate::store::sql::query::layout::Expr;
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::sql::read::chunks::{ChunkEnd, ChunkReader, MANY, Window, read_number, share};
use crate::store::{Budget, Result};

/// Blocks that one statement gets through in a moment (256 MB).
pub(crate) const MOMENT: u64 = 32_768;
/// What part of the cost of reading every block a plan may have that reads something else.
const SPARED: u64 = 2;

/// How a count can be done.
pub(crate) struct CountMethod {
    /// Whether the table can be read by its blocks.
    pub(crate) has_blocks: bool,
    /// Whether one statement would take long.
    pub(crate) is_long: bool,
    /// Whether it might, as the table is large and more is not known: something should be there to be seen before.
    pub(crate) may_be_long: bool,
}

/// How far a walk over the blocks has come, from the last one to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Blocks before this one are still to be read.
    pub(crate) end: u64,
    /// The key down to which rows were read, where the table is stored by it.
    pub(crate) key: Option<JobId>,
    blocks: u64,
    /// Windows that were read in vain as if nothing odd were in them, and those that are not tried so until the next try.
    vain: u32,
    untried: u32,
}

/// Doublings of how long a window is not tried again as if nothing odd were in it.
const MOST_VAIN: u32 = 6;

impl Walk {
    pub(crate) fn of(blocks: u64) -> Self {
        Self { end: blocks, key: None, blocks, vain: 0, untried: 0 }
    }

    /// On behind a window; nothing where none is left.
    pub(crate) fn behind(self, window: &Window) -> Option<Self> {
        let untried = self.untried.saturating_sub(1);
        Some(Self { end: window.from, key: window.last_key(), untried, ..self }).filter(|walk| walk.end > 0)
    }

    /// The same place after a window was read in vain. What is odd about one is likely to be odd about those next to it, and
    /// each time in vain makes that likelier.
    fn warned(self) -> Self {
        let vain = self.vain.saturating_add(1).min(MOST_VAIN);
        Self { vain, untried: 1 << vain, ..self }
    }

    /// Where the next window is read from.
    pub(crate) fn place(&self) -> ChunkEnd<'_> {
        ChunkEnd { block: self.end, of: self.blocks, floor: 0, key: self.key.as_ref() }
    }

    /// How much of the table is read.
    pub(crate) fn share(&self) -> f32 {
        share(self.end, self.blocks)
    }
}

impl<'s> Counter<'s> {
    /// Whether a statement that counts would read all of a big table, and whether that can be had in pieces.
    pub(crate) async fn count_method(self, plain: Statement, budget: &Budget) -> Result<CountMethod> {
        let dialect = self.context.layout.dialect;
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let short = CountMethod { has_blocks: false, is_long: false, may_be_long: false };
        let Some(size) = dialect.blocks(place) else {
            let Some(statement) = self.reader.rows_statement() else { return Ok(short) };
            let rows = self.reader.number(statement, budget).await?;
            let is_big = rows.is_some_and(|rows| rows > MANY);
            return Ok(CountMethod {
                may_be_long: is_big,
                has_blocks: is_big && self.context.layout.tables.is_stored_by_key,
                ..short
            });
        };
        let plan = Statement { sql: dialect.explain(&plain.sql), binds: plain.binds };
        let mut results = self.context.engine.read(&[size, plan], budget).await?.into_iter();
        let Some(blocks) = read_number(results.next().unwrap_or_default())? else { return Ok(short) };
        let line = results.next().unwrap_or_default().into_iter().next().and_then(|mut row| row.0.pop());
        let plan = line.map(|line| Cells::new(Row(vec![line])).text()).transpose()?.flatten().unwrap_or_default();
        // An index may hold all that is asked for, or lead to the few rows that are.
        let is_spared = dialect.cost_of(&plan).is_some_and(|cost| cost < blocks / SPARED);
        Ok(CountMethod { has_blocks: true, is_long: blocks > MOMENT && !is_spared, ..short })
    }

    /// Counts the next window of blocks; how far that leads, until all are read.
    pub(crate) async fn window_of_blocks(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        state: &mut CountState,
        walk: Walk,
        budget: &Budget,
    ) -> Result<Option<Walk>> {
        let axis = Axis::of(&self.context.layout, judge.only_dead());
        let recent = axis.as_ref().zip(state.before());
        let end = recent.and_then(|(axis, bucket)| axis.instant_of(bucket, grouping));
        let from = &self.context.layout.stored_joined();
        let statement = |window: &Window, is_trusted: bool| {
            let within = |sql: &mut Sql| {
                sql.push(" AND ");
                window.push(sql, &self.context.layout);
                if let Some((axis, bucket)) = recent.filter(|_| !is_trusted || end.is_none()) {
                    sql.push(" AND ");
                    axis.before(sql, bucket);
                }
            };
            match is_trusted {
                true => grouping.timed_over(from, judge, within),
                false => grouping.statement_over(from, judge, None, within),
            }
        };
        let reader = ChunkReader {
            engine: &self.context.engine,
            layout: &self.context.layout,
            pace: &self.reader.memory.pace,
            budget,
        };
        // Most windows hold old rows only, each with its time: then the database need not ask that of each row. What comes
        // back tells whether it was so.
        let tells = |at: &Expr| self.context.layout.dialect.sorts_in_time(at.kind);
        let mut is_trusted = walk.untried == 0 && self.context.layout.part(Part::At).is_some_and(tells);
        let mut walk = walk;
        loop {
            let of = |window: &Window| Ok(statement(window, is_trusted));
            let place = walk.place();
            let Some((window, rows)) = reader.read_before(place, usize::MAX, of).await? else {
                return Ok(None);
            };
            let counted = grouping.read(rows)?;
            if !is_trusted || counted.iter().all(|one| one.tally.is_timed(end)) {
                state.take(counted);
                return Ok(walk.behind(&window));
            }
            (walk, is_trusted) = (walk.warned(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_tells_how_much_of_the_table_is_behind_it() {
        assert_eq!([1_000, 750, 0].map(|end| Walk { end, ..Walk::of(1_000) }.share()), [0.0, 0.25, 1.0]);
        assert_eq!(Walk::of(0).share(), 1.0);
    }
}
