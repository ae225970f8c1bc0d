//! Driving the steps of a list until there are enough rows, with the first hits told at once.

use crate::store::{Budget, Cursor, Entry, PageQuery, Result, Store, StoreError};

/// How far a scan has got.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanProgress {
    /// Rows looked at so far; 0 where an index serves.
    pub examined: u64,
    /// Share of the whole scan that lies behind, from 0 to 1.
    pub share: f32,
    /// Rows found so far.
    pub found: usize,
}

/// What a scan found, in the order of the list whichever way it was read.
#[derive(Clone, Debug)]
pub struct Found {
    /// The rows; at most as many as were asked for.
    pub entries: Vec<Entry>,
    /// Where the same query goes on in the same direction; `None` when that end of the list is reached.
    pub next: Option<Cursor>,
}

/// Reads steps until `query.limit` rows are found or the list ends. `on_step` gets the rows of each step, also where
/// there are none, and how far it is: a list can be filled while the scan goes on.
///
/// # Errors
/// What a step says; [`StoreError::Cancelled`] once the budget is cancelled.
pub async fn scan(
    store: &dyn Store,
    query: PageQuery,
    budget: &Budget,
    mut on_step: impl FnMut(&[Entry], ScanProgress) + Send,
) -> Result<Found> {
    let backwards = matches!(query.cursor, Cursor::End | Cursor::Before(_));
    let (mut steps, mut found, mut examined) = (Vec::new(), 0, 0);
    let mut next = Some(query.cursor.clone());
    while let Some(cursor) = next.take_if(|_| found < query.limit) {
        if budget.cancel.is_cancelled() {
            return Err(StoreError::Cancelled);
        }
        let step = PageQuery { cursor, limit: query.limit - found, ..query.clone() };
        let page = store.page(step, budget).await?;
        found += page.entries.len();
        let share = match page.scanned {
            Some(scanned) => {
                examined += scanned.rows;
                scanned.share
            }
            None => 1.0,
        };
        next = page.next;
        let share = if next.is_none() { 1.0 } else { share };
        on_step(&page.entries, ScanProgress { examined, share, found });
        steps.push(page.entries);
    }
    if backwards {
        steps.reverse();
    }
    Ok(Found { entries: steps.into_iter().flatten().collect(), next })
}
