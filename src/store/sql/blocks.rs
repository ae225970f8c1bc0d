//! A table cut into windows of blocks, as it is stored: the quickest way through all of it.
//!
//! Such a window is read in one piece with the database's own read-ahead, whatever indexes there are and whatever the
//! planner takes them for; how far one has come is exact. Rows come in no order, but the newest blocks of a table that
//! is only added to hold the newest rows, so that windows go from the last block to the first. A row that is changed
//! while windows are read may move from a block that was not read yet to one that was, or back: who needs each row
//! exactly once reads in one statement, or says that there may be changes.

use std::time::Instant;

use super::SqlStore;
use super::dialect::Place;
use super::engine::{Engine, Row, Statement};
use super::pace::{LEAST_BLOCKS, Pace, TARGET};
use super::row::Cells;
use crate::store::{Budget, Result, StoreError};

/// Blocks from one up to another, which is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Window {
    /// The last `blocks` of those before `end`; `None` when there are none.
    pub(super) fn before(end: u64, blocks: u64) -> Option<Self> {
        (end > 0).then(|| Self { from: end.saturating_sub(blocks.max(1)), to: end })
    }
}

impl SqlStore {
    /// How many blocks the table is stored in; `None` where it cannot be read by them.
    pub(super) async fn blocks(&self, budget: &Budget) -> Result<Option<u64>> {
        let place = Place { schema: &self.layout.schema, table: &self.layout.spec.table };
        let Some(statement) = self.layout.speech.blocks(place) else { return Ok(None) };
        read_blocks(self.engine.read(&[statement], budget).await?.pop().unwrap_or_default())
    }
}

/// Reads what [`super::dialect::Speech::blocks`] asked for.
pub(super) fn read_blocks(rows: Vec<Row>) -> Result<Option<u64>> {
    let blocks = rows.into_iter().next().map(|row| Cells::new(row).int()).transpose()?.flatten();
    Ok(blocks.and_then(|n| u64::try_from(n).ok()))
}

/// Reads the window before a block, a smaller one each time that it takes too long or has more than `most` rows, unless it is
/// the smallest; the rows of `statement`, and what was read. `None` before the first block.
///
/// The next window goes by what this one took; half of the rows that one may have count as much as its time.
pub(super) async fn read_before(
    end: u64,
    most: usize,
    (engine, pace): (&Engine, &Pace),
    statement: impl Fn(Window) -> Result<Statement>,
    budget: &Budget,
) -> Result<Option<(Window, Vec<Row>)>> {
    loop {
        let Some(window) = Window::before(end, pace.blocks()) else { return Ok(None) };
        let (blocks, began) = (window.to - window.from, Instant::now());
        match engine.read(&[statement(window)?], budget).await {
            Ok(mut results) => {
                let rows = results.pop().unwrap_or_default();
                if rows.len() <= most || blocks <= LEAST_BLOCKS {
                    let share = rows.len() as f64 * 2.0 / most as f64;
                    pace.learn_blocks(blocks, engine.worked(began).max(TARGET.mul_f64(share)));
                    return Ok(Some((window, rows)));
                }
            }
            Err(StoreError::Timeout(_)) if blocks > 1 => {}
            Err(error) => return Err(error),
        }
        pace.back_off_blocks(blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_every_block_once_from_the_last_to_the_first() {
        let (mut end, mut read) = (1_000, Vec::new());
        while let Some(window) = Window::before(end, 300) {
            read.push((window.from, window.to));
            end = window.from;
        }
        assert_eq!(read, [(700, 1_000), (400, 700), (100, 400), (0, 100)]);
        assert_eq!(Window::before(5, 0), Some(Window { from: 4, to: 5 }), "a window of nothing would never end");
    }
}
