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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::filter::Filter;
    use crate::store::Sort;
    use crate::triage::fake::Fake;

    async fn run(cursor: Cursor, limit: usize, budget: &Budget) -> (Result<Found>, Vec<ScanProgress>) {
        let query = PageQuery { filter: Filter::all(), sort: Sort::default(), cursor, limit };
        let mut steps = Vec::new();
        let fake = Fake::new(12);
        let found = scan(&*fake, query, budget, |_, progress| steps.push(progress)).await;
        (found, steps)
    }

    fn ids(found: &Found) -> Vec<&str> {
        found.entries.iter().map(|entry| entry.row.id.as_str()).collect()
    }

    #[tokio::test]
    async fn empty_steps_are_passed_over_until_there_are_enough_rows() {
        let budget = Budget::new(Duration::from_secs(1));
        let (found, steps) = run(Cursor::Start, 3, &budget).await;
        let found = found.unwrap();
        assert_eq!(ids(&found), ["9", "8", "5"]);
        assert!(found.next.is_some());
        assert_eq!(steps.iter().map(|s| s.found).collect::<Vec<_>>(), [0, 2, 2, 3]);
        assert_eq!(steps.last().map(|s| s.examined), Some(8));
    }

    #[tokio::test]
    async fn the_end_of_the_list_ends_the_scan_and_is_told_as_such() {
        let budget = Budget::new(Duration::from_secs(1));
        let (found, steps) = run(Cursor::Start, 100, &budget).await;
        let found = found.unwrap();
        assert_eq!((found.entries.len(), found.next), (6, None));
        assert_eq!(steps.last().map(|s| s.share), Some(1.0));
    }

    #[tokio::test]
    async fn rows_read_backwards_stand_in_the_order_of_the_list() {
        let budget = Budget::new(Duration::from_secs(1));
        let (found, _) = run(Cursor::End, 4, &budget).await;
        assert_eq!(ids(&found.unwrap()), ["5", "4", "1", "0"]);
    }

    #[tokio::test]
    async fn a_cancelled_scan_asks_for_nothing_more() {
        let budget = Budget::new(Duration::from_secs(1));
        budget.cancel.cancel();
        let (found, steps) = run(Cursor::Start, 4, &budget).await;
        assert!(matches!(found, Err(StoreError::Cancelled)) && steps.is_empty());
    }
}
