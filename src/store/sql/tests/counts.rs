//! Counts that take more than one step.

use super::*;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::Exactness;
use crate::store::{HistogramQuery, HistogramStep, Result, Store, StoreError};

/// Long enough for the least window of slow jobs, and too short for all of them.
const SHORT: Duration = Duration::from_millis(400);

async fn step(odd: &Odd, facet: Facet, before: Option<HistogramStep>, budget: &Budget) -> Result<HistogramStep> {
    let resume = before.and_then(|step| step.resume);
    odd.store.histogram(HistogramQuery { facet, filter: Filter::all(), resume }, budget).await
}

async fn count(odd: &Odd, facet: Facet, budget: &Budget) -> Result<HistogramStep> {
    let mut done = step(odd, facet, None, budget).await?;
    while done.resume.is_some() {
        done = step(odd, facet, Some(done), budget).await?;
    }
    Ok(done)
}

#[tokio::test]
async fn a_count_whose_windows_take_too_long_is_whole_or_none_at_all() {
    let all = "SELECT i, '2026-11-18 09:00:00', 1, 'A', '' FROM n";
    let untimed = "SELECT i, CASE WHEN i <= 600 THEN '2026-11-18 09:00:00' END, i > 600, 'A', '' FROM n";
    for rows in [all, untimed] {
        let odd = Odd::new(&format!("{} {rows}", numbers(1_500))).await;
        match count(&odd, Facet::Error, &Budget::new(SHORT)).await {
            Ok(done) => {
                let total = done.histogram.total;
                assert_eq!((total.n, total.exactness), (1_500, Exactness::Exact), "{rows}");
            }
            // A machine that is busy may not even get through the least window.
            Err(StoreError::Timeout(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
