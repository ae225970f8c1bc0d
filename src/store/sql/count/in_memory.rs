//! Counting what is judged in memory: rows are read, and told apart here.

use std::time::Instant;

use crate::domain::facet::Facet;
use crate::store::sql::count::chunked::Walk;
use crate::store::sql::count::histogram::Counter;
use crate::store::sql::count::state::CountState;
use crate::store::sql::query::columns::Read;
use crate::store::sql::query::group_by::{Grouping, Tally, example};
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::sql::read::chunk_size::TARGET;
use crate::store::{Budget, Cursor, Position, Result, Sort};

/// Whether rows are counted here, one by one: the database cannot judge them, or not tell the values apart.
pub(crate) fn in_memory(judge: &WhereClause<'_>, grouping: &Grouping<'_>) -> bool {
    grouping.facet == Facet::Fingerprint || judge.rest.is_some()
}

/// A row that is in memory, counted.
pub(crate) fn tally_in_memory(facet: Facet, read: &Read) -> Tally {
    let row = &read.entry.row;
    let message = row.message.as_ref().filter(|_| facet == Facet::Fingerprint);
    Tally { n: 1, first: row.at, last: row.at, example: message.and_then(|message| example(message.exact())) }
}

/// The value of a facet for a row that is in memory.
pub(crate) fn value_in_memory(facet: Facet, read: &Read) -> Option<String> {
    facet.value_of(&read.entry.row).map(|value| value.exact().to_owned())
}

/// Adds rows to what was counted.
fn add(state: &mut CountState, facet: Facet, rows: &[Read]) {
    for read in rows {
        state.add(value_in_memory(facet, read), &tally_in_memory(facet, read));
    }
}

impl<'s> Counter<'s> {
    /// Counts the next window in order; its last place, until all are read.
    pub(crate) async fn window_in_memory(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        state: &mut CountState,
        cursor: &Cursor,
        budget: &Budget,
    ) -> Result<Option<Position>> {
        let mut scan = self.reader.scan(judge, Sort::default(), budget);
        scan.sql.before = state.before();
        let step = scan.window_step(cursor).await?;
        add(state, grouping.facet, &step.rows);
        Ok(step.last)
    }

    /// Counts the next windows of blocks where rows are judged in memory; how far that leads, until all are read.
    pub(crate) async fn rows_of_blocks(
        self,
        judge: &WhereClause<'_>,
        grouping: &Grouping<'_>,
        state: &mut CountState,
        mut walk: Walk,
        budget: &Budget,
    ) -> Result<Option<Walk>> {
        let mut scan = self.reader.scan(judge, Sort::default(), budget);
        scan.sql.before = state.before();
        let began = Instant::now();
        loop {
            let (window, reads) = scan.stored(walk.place(), None).await?;
            add(state, grouping.facet, &reads);
            let Some(behind) = walk.behind(&window) else { return Ok(None) };
            walk = behind;
            // Another window would take about as long as this one.
            if began.elapsed() >= TARGET / 2 {
                return Ok(Some(walk));
            }
        }
    }
}
