//! Counts by windows beside what happens meanwhile.

use super::*;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::store::Store;
use crate::store::sql::count::state::MOST_VALUES;
use crate::store::sql::tests::{Odd, budget, numbers};

#[tokio::test]
async fn a_job_that_dies_between_the_recent_past_and_the_windows_is_counted_once() {
    let rows = "SELECT i, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (i * 3) || ' seconds'), 0, 'A', 'boom' FROM n";
    for facet in [Facet::Class, Facet::Fingerprint] {
        let odd = Odd::new(&format!("{} {rows}", numbers(100))).await;
        let (store, filter) = (&odd.store, Filter::all());
        let judge = WhereClause::new(&store.context.layout, &filter, store.context.server_now());
        let grouping = Grouping { layout: &store.context.layout, facet };
        let begun = store.counter().begin_windows(&judge, &grouping, &budget()).await;
        let begun = begun.unwrap_or_else(|e| panic!("{e}"));
        odd.run("INSERT INTO odd SELECT 5000, max(at), 0, 'A', 'boom' FROM odd").await;
        odd.run("INSERT INTO odd SELECT 5001, NULL, 0, 'A', 'boom'").await;
        let done =
            store.counter().count_windows(&judge, &grouping, begun, &budget()).await.unwrap_or_else(|e| panic!("{e}"));
        // Looks never see a row without a time.
        assert_eq!((done.resume.is_none(), done.histogram.total.n), (true, 101), "{facet:?}");
        let changes = store.changes(done.token.as_ref(), facet, &filter, &budget()).await;
        let changes = changes.unwrap_or_else(|e| panic!("{e}"));
        let known = done.recent.iter().filter(|cell| cell.bucket >= changes.from_bucket);
        let (known, now): (u64, u64) = (known.map(|cell| cell.n).sum(), changes.cells.iter().map(|cell| cell.n).sum());
        assert_eq!((now - known, known > 0), (1, true), "{facet:?}");
    }
}

#[tokio::test]
async fn windows_keep_some_thousand_values_and_count_the_others_together() {
    let jobs = MOST_VALUES as u32 + 2_000;
    let rows =
        "SELECT i, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (i * 3) || ' seconds'), 0, 'C' || i, 'boom' FROM n";
    let odd = Odd::new(&format!("{} {rows}", numbers(jobs))).await;
    let (store, filter) = (&odd.store, Filter::all());
    let judge = WhereClause::new(&store.context.layout, &filter, store.context.server_now());
    let grouping = Grouping { layout: &store.context.layout, facet: Facet::Class };
    let mut step = store.counter().begin_windows(&judge, &grouping, &budget()).await.unwrap_or_else(|e| panic!("{e}"));
    let histogram = loop {
        let done =
            store.counter().count_windows(&judge, &grouping, step, &budget()).await.unwrap_or_else(|e| panic!("{e}"));
        match done.resume {
            Some(resume) => step = resume.state::<CountState>().expect("a count").clone(),
            None => break done.histogram,
        }
    };
    assert_eq!((histogram.bars.len(), histogram.total.n), (MOST_VALUES, jobs.into()));
}
