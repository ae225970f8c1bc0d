//! Counts that take more than one step.

use std::collections::HashMap;
use std::time::Instant;

use super::*;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::fingerprint::Fingerprint;
use crate::domain::histogram::Exactness;
use crate::domain::job::JobId;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{HistogramQuery, HistogramStep, Result, SourceError, Store, StoreExt};

async fn step(odd: &Odd, facet: Facet, before: Option<HistogramStep>, budget: &Budget) -> Result<HistogramStep> {
    let resume = before.and_then(|step| step.resume);
    odd.store.count(HistogramQuery::exact(facet, Filter::all(), resume), budget).await
}

async fn count(odd: &Odd, facet: Facet, budget: &Budget) -> Result<HistogramStep> {
    let mut done = step(odd, facet, None, budget).await?;
    while done.resume.is_some() {
        done = step(odd, facet, Some(done), budget).await?;
    }
    Ok(done)
}

#[tokio::test]
async fn fingerprints_are_counted_by_class_and_message_and_each_bar_shows_one_of_its_messages() {
    let rows = "SELECT i, strftime('%Y-%m-%d %H:%M:%S', '2026-11-18', '+' || i || ' seconds'), i % 10 = 0 AND i < 100, 'A', \
                CASE i % 3 WHEN 0 THEN 'order ' || i || ' is late' WHEN 1 THEN 'card ' || i || ' declined' END FROM n";
    let odd = Odd::table("integer", &format!("{} {rows}", numbers(3_000)), true).await;
    let done = count(&odd, Facet::Fingerprint, &budget()).await.expect("a count");
    let mut expected: HashMap<String, (u64, Option<i64>, Option<i64>)> = HashMap::new();
    let everything = (1..=3_000).map(|i| JobId::new(i.to_string())).collect::<Vec<_>>();
    for entry in odd.store.rows(&everything, &budget()).await.expect("rows") {
        let text = |t: &Option<Untrusted>| t.as_ref().map(|t| t.exact().to_owned());
        let of = Fingerprint::of(text(&entry.row.error_class).as_deref(), text(&entry.row.message).as_deref());
        let (n, first, last) = expected.entry(of.to_string()).or_default();
        let at = entry.row.at.map(|at| at.0);
        *n += 1;
        (*first, *last) = (if first.is_none() { at } else { at.min(*first) }, at.max(*last));
        let bar = done.histogram.bars.iter().find(|bar| bar.value == Some(of.to_string().into())).expect("a bar");
        let example = bar
            .example
            .as_ref()
            .map(|example| Fingerprint::of(text(&entry.row.error_class).as_deref(), Some(example.exact())));
        assert_eq!(example, entry.row.message.is_some().then_some(of));
    }
    let bars = &done.histogram.bars;
    let found = bars.iter().map(|bar| {
        let at = |at: Option<Timestamp>| at.map(|at| at.0);
        (bar.value.as_ref().map_or("", |v| v.exact()).to_owned(), (bar.count.n, at(bar.first_seen), at(bar.last_seen)))
    });
    assert_eq!(found.collect::<HashMap<_, _>>(), expected);
}

#[tokio::test]
async fn of_too_many_values_the_later_ones_are_known_in_the_total_only() {
    // Words of letters only: no number among them that would be left out of a fingerprint.
    let letters = "char(97 + i % 26) || char(97 + i / 26 % 26) || char(97 + i / 676 % 26)";
    let rows = format!("SELECT i, '2026-11-18 09:00:00', 0, 'A', 'no such place as ' || {letters} FROM n");
    let odd = Odd::table("integer", &format!("{} {rows}", numbers(12_000)), true).await;
    let done = count(&odd, Facet::Fingerprint, &budget()).await.expect("a count");
    assert_eq!((done.histogram.bars.len(), done.histogram.total.n), (10_000, 12_000));
}

#[tokio::test]
async fn a_count_whose_windows_take_too_long_is_whole_or_none_at_all() {
    let all = "SELECT i, '2026-11-18 09:00:00', 1, 'A', '' FROM n";
    let untimed = "SELECT i, CASE WHEN i <= 500 THEN '2026-11-18 09:00:00' END, i > 500, 'A', '' FROM n";
    for rows in [all, untimed] {
        let odd = Odd::new(&format!("{} {rows}", numbers(2_500))).await;
        let began = Instant::now();
        count(&odd, Facet::Error, &budget()).await.expect("a count");
        // Long enough for the least window of slow jobs, and too short for all of them.
        let short = Budget::new(began.elapsed() / 2);
        match count(&odd, Facet::Error, &short).await {
            Ok(done) => {
                let total = done.histogram.total;
                assert_eq!((total.n, total.exactness), (2_500, Exactness::Exact), "{rows}");
            }
            // A machine that is busy may not even get through the least window.
            Err(SourceError::Timeout(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_job_that_dies_while_windows_are_counted_is_counted_once() {
    let ago = "CASE WHEN i <= 600 THEN i / 10 ELSE i * 10 END";
    let rows = format!("SELECT i, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || {ago} || ' seconds'), 0, 'A', '' FROM n");
    let odd = Odd::table("integer", &format!("{} {rows}", numbers(1_000)), true).await;
    let began = step(&odd, Facet::Class, None, &budget()).await.expect("a step");
    assert!(began.resume.is_some() && began.histogram.total.exactness == Exactness::AtLeast);
    odd.run("INSERT INTO odd SELECT 5000, at, 0, 'A', '' FROM odd WHERE id = 600").await;
    let mut done = began;
    while done.resume.is_some() {
        done = step(&odd, Facet::Class, Some(done), &budget()).await.expect("a step");
    }
    let (mark, filter) = (done.token.expect("a mark"), Filter::all());
    let changes = odd.store.changes(Some(&mark), Facet::Class, &filter, &budget()).await.expect("a look");
    let known: u64 = done.recent.iter().filter(|cell| cell.bucket >= changes.from_bucket).map(|cell| cell.n).sum();
    let now: u64 = changes.cells.iter().map(|cell| cell.n).sum();
    assert_eq!(done.histogram.total.n + now - known, 1_001);
}
