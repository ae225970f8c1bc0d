//! A table cut into windows of blocks, as it is stored: the quickest way through all of it.
//!
//! Such a window is read in one piece with the database's own read-ahead, whatever indexes there are and whatever the
//! planner takes them for; how far one has come is exact. Rows come in no order, but the newest blocks of a table that
//! is only added to hold the newest rows, so that windows go from the last block to the first. A row that is changed
//! while windows are read may move from a block that was not read yet to one that was, or back: who needs each row
//! exactly once reads in one statement, or says that there may be changes.
//!
//! A table that is stored by its key has no blocks to go by. There so many rows count as one, windows go from key to key,
//! each from where the one before ended, and where the next one ends is found out first (`bounds`). A row stays where it is, and
//! how many blocks there are is a guess.

use std::time::Instant;

use crate::db::cells::Cells;
use crate::db::{Engine, Row, Statement};
use crate::domain::job::JobId;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::read::chunk_size::{ChunkSizes, LEAST_BLOCKS, TARGET};
use crate::store::sql::read::page::Reader;
use crate::store::{Budget, Result};

/// Rows that one statement gets through before anybody waits for it.
pub(crate) const MANY: u64 = 100_000;
/// Rows that a block is taken to hold.
pub(crate) const ROWS_OF_BLOCK: u64 = 10;
/// Windows of a table that is stored by its key, at the least.
const PARTS: u64 = 8;

/// Blocks from one up to another, which is not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// How many were asked for.
    pub(crate) blocks: u64,
    /// What the window goes by where the table is stored by its key.
    pub(crate) keys: Option<Keys>,
}

/// Keys from one down to another, which is among them; to an end of the table where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) before: Option<JobId>,
    pub(crate) down_to: Option<JobId>,
}

/// Where a window ends that goes by keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// With this key, which need not be there.
    pub(crate) key: JobId,
    /// The rows that it is taken to hold.
    pub(crate) rows: u64,
}

/// Where a window is read from, downwards: before a block, and before a key where the table is stored by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkEnd<'a> {
    pub(crate) block: u64,
    /// Blocks of the whole table.
    pub(crate) of: u64,
    /// Blocks before this one are not read.
    pub(crate) floor: u64,
    pub(crate) key: Option<&'a JobId>,
}

impl Window {
    /// The last `blocks` of those before `end`; `None` when there are none.
    fn before(end: ChunkEnd<'_>, blocks: u64) -> Option<Self> {
        let left = end.block.checked_sub(end.floor).filter(|left| *left > 0)?;
        let blocks = blocks.clamp(1, left);
        Some(Self { from: end.block - blocks, to: end.block, blocks, keys: None })
    }

    /// The same where the table is stored by its key. It is through when there are no rows any more, whatever it was taken for.
    fn down_to(end: ChunkEnd<'_>, blocks: u64, bound: Option<Bound>) -> Self {
        let from = bound.as_ref().map_or(0, |bound| end.block.saturating_sub(bound.rows / ROWS_OF_BLOCK).max(1));
        let keys = Keys { before: end.key.cloned(), down_to: bound.map(|bound| bound.key) };
        Self { from, to: end.block.max(from), blocks, keys: Some(keys) }
    }

    /// Whether it has about as much as was asked for, so that what it took tells how long that takes; the last one may not.
    fn is_full(&self, asked: u64) -> bool {
        self.keys.as_ref().map_or(self.blocks == asked, |keys| keys.down_to.is_some())
    }

    /// The key that the window ends with, before which the next one begins.
    pub(crate) fn last_key(&self) -> Option<JobId> {
        self.keys.as_ref().and_then(|keys| keys.down_to.clone())
    }

    /// Writes whether a row stands in it.
    pub(crate) fn push(&self, sql: &mut Sql, layout: &Layout) {
        match &self.keys {
            None => layout.dialect.in_blocks(sql, self.from, self.to),
            Some(keys) => keys.push(sql, layout),
        }
    }
}

impl<'s> Reader<'s> {
    /// How many blocks the table is stored in; `None` where it cannot be read by them.
    pub(crate) async fn blocks(self, budget: &Budget) -> Result<Option<u64>> {
        if self.context.layout.tables.is_stored_by_key {
            let Some(statement) = self.rows_statement() else { return Ok(None) };
            let rows = self.number(statement, budget).await?;
            return Ok(rows.map(|rows| (rows / ROWS_OF_BLOCK).max(1)));
        }
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let Some(statement) = self.context.layout.dialect.blocks(place) else { return Ok(None) };
        self.number(statement, budget).await
    }

    /// What asks how many rows there are, more or less, where counts go by that.
    pub(crate) fn rows_statement(self) -> Option<Statement> {
        self.context
            .layout
            .dialect
            .rows(Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table })
    }

    /// Asks for one of these numbers.
    pub(crate) async fn number(self, statement: Statement, budget: &Budget) -> Result<Option<u64>> {
        read_number(self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default())
    }
}

/// Reads what [`crate::store::sql::dialect::Plans::blocks`] or [`crate::store::sql::dialect::Plans::rows`] asked for.
pub(crate) fn read_number(rows: Vec<Row>) -> Result<Option<u64>> {
    let blocks = rows.into_iter().next().map(|row| Cells::new(row).int()).transpose()?.flatten();
    Ok(blocks.and_then(|n| u64::try_from(n).ok()))
}

/// How much of so many blocks is read where some are left: all of it only where none is, as how many there are may be a guess.
pub(crate) fn share(left: u64, blocks: u64) -> f32 {
    const MOST: f32 = 0.99;
    // The share is for a gauge.
    let share = (1.0 - left as f64 / blocks.max(1) as f64) as f32;
    if left == 0 { 1.0 } else { share.clamp(0.0, MOST) }
}

/// What windows are read with.
#[derive(Clone, Copy)]
pub(crate) struct ChunkReader<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) layout: &'a Layout,
    pub(crate) pace: &'a ChunkSizes,
    pub(crate) budget: &'a Budget,
}

impl ChunkReader<'_> {
    /// Reads the window before a place, a smaller one each time that it takes too long or has more than `most` rows, unless it
    /// is the smallest; the rows of `statement`, and what was read. `None` before the first block.
    ///
    /// The next window goes by what this one took; half of the rows that one may have count as much as its time.
    pub(crate) async fn read_before(
        self,
        end: ChunkEnd<'_>,
        most: usize,
        statement: impl Fn(&Window) -> Result<Statement>,
    ) -> Result<Option<(Window, Vec<Row>)>> {
        if end.block == 0 {
            return Ok(None);
        }
        // Others learn meanwhile; what was too much here stays too much.
        let mut cap = u64::MAX;
        loop {
            let asked = self.pace.blocks().min(cap).min(self.most(end));
            match self.try_before(end, asked, &statement).await {
                Ok(None) => return Ok(None),
                Ok(Some((window, rows, began))) => {
                    if rows.len() <= most || window.blocks <= LEAST_BLOCKS {
                        if window.is_full(asked) {
                            let share = rows.len() as f64 * 2.0 / most as f64;
                            let took = self.engine.worked(began).max(TARGET.mul_f64(share));
                            self.pace.learn_blocks(asked, took);
                        }
                        return Ok(Some((window, rows)));
                    }
                    cap = window.blocks;
                }
                Err(error) if error.took_too_long() && asked > 1 => {
                    cap = if self.layout.tables.is_stored_by_key { asked } else { asked.min(end.block - end.floor) };
                }
                Err(error) => return Err(error),
            }
            self.pace.back_off_blocks(cap);
            cap = (cap / 2).max(1);
        }
    }

    /// Blocks of a window at the most. How many rows a large part of a table holds is told badly where windows go by keys, and
    /// of half of it not at all.
    fn most(self, end: ChunkEnd<'_>) -> u64 {
        if self.layout.tables.is_stored_by_key { (end.of / PARTS).max(LEAST_BLOCKS) } else { u64::MAX }
    }

    /// One window: what it is, its rows, and when reading them began.
    async fn try_before(
        self,
        end: ChunkEnd<'_>,
        blocks: u64,
        statement: impl Fn(&Window) -> Result<Statement>,
    ) -> Result<Option<(Window, Vec<Row>, Instant)>> {
        let window = match self.layout.tables.is_stored_by_key {
            true => {
                let bound = self.bound_before(end, blocks.saturating_mul(ROWS_OF_BLOCK)).await?;
                Some(Window::down_to(end, blocks, bound))
            }
            false => Window::before(end, blocks),
        };
        let Some(window) = window else { return Ok(None) };
        let (statement, began) = (statement(&window)?, Instant::now());
        let rows = self.engine.read(&[statement], self.budget).await?.pop();
        Ok(Some((window, rows.unwrap_or_default(), began)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_every_block_once_from_the_last_to_the_first() {
        let read_down_to = |floor| {
            let (mut block, mut read) = (1_000, Vec::new());
            while let Some(window) = Window::before(ChunkEnd { block, of: 1_000, floor, key: None }, 300) {
                read.push((window.from, window.to));
                block = window.from;
            }
            read
        };
        assert_eq!(read_down_to(0), [(700, 1_000), (400, 700), (100, 400), (0, 100)]);
        assert_eq!(read_down_to(650), [(700, 1_000), (650, 700)], "what is below was read before");
        let least = Window::before(ChunkEnd { block: 5, of: 5, floor: 0, key: None }, 0);
        assert_eq!(least.map(|window| (window.from, window.to)), Some((4, 5)), "a window of nothing would never end");
    }

    #[test]
    fn a_table_that_goes_by_its_key_is_through_when_there_is_no_row_left_and_not_before() {
        let end = |block, key| ChunkEnd { block, of: 1_000, floor: 0, key };
        let key = JobId::new("k");
        let bound = |key: &str, rows| Some(Bound { key: JobId::new(key), rows });
        let first = Window::down_to(end(1_000, None), 300, bound("k", 3_000));
        assert_eq!((first.from, first.last_key()), (700, Some(key.clone())));
        let fewer = Window::down_to(end(1_000, None), 300, bound("k", 1_000));
        assert_eq!(fewer.from, 900, "it holds less than was asked for");
        let more_than_thought = Window::down_to(end(200, Some(&key)), 300, bound("j", 3_000));
        assert_eq!(more_than_thought.from, 1, "there is another window");
        let last = Window::down_to(end(1_000, Some(&key)), 300, None);
        assert_eq!((last.from, last.last_key()), (0, None), "fewer than were thought");
    }
}
