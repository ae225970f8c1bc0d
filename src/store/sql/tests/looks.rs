//! Looks at a recent past that holds more than is judged in memory.

use std::collections::BTreeMap;

use super::*;
use crate::db::cells::Cells;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::store::{Changes, Store, Token};

/// Jobs by bucket of ten seconds, as the database has them.
async fn buckets(odd: &Odd) -> BTreeMap<i64, u64> {
    let sql = "SELECT CAST(strftime('%s', substr(at, 1, 19)) AS INTEGER) / 10, count(*) FROM odd GROUP BY 1";
    let statement = Statement { sql: sql.to_owned(), binds: Vec::new() };
    let rows = odd.engine.read(&[statement], &budget()).await.expect("rows").remove(0);
    let read = |row| {
        let mut cells = Cells::new(row);
        (cells.int().expect("a bucket").expect("a bucket"), cells.count().expect("a count"))
    };
    rows.into_iter().map(read).collect()
}

async fn look(odd: &Odd, since: Option<&Token>) -> Changes {
    odd.store.changes(since, Facet::Fingerprint, &Filter::all(), &budget()).await.expect("a look")
}

#[tokio::test]
async fn a_look_tells_all_of_a_bucket_or_nothing_of_it() {
    let rows = "SELECT i, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (i / 220) || ' seconds'), 0, 'A', 'boom' FROM n";
    let odd = Odd::new(&format!("{} {rows}", numbers(22_000))).await;
    let there = buckets(&odd).await;
    let told = |changes: &Changes| {
        let mut told: BTreeMap<i64, u64> = BTreeMap::new();
        for cell in &changes.cells {
            *told.entry(cell.bucket).or_default() += cell.n;
        }
        told
    };
    let from = |bucket: i64| there.range(bucket..).map(|(bucket, n)| (*bucket, *n)).collect::<BTreeMap<_, _>>();
    let first = look(&odd, None).await;
    assert!(!first.cells.is_empty() && told(&first).values().sum::<u64>() <= 20_000);
    assert_eq!(told(&first), from(first.from_bucket));
    // What the first look left out, no later one tells as new.
    odd.run("DELETE FROM odd WHERE id % 2 = 0").await;
    let second = look(&odd, Some(&first.token)).await;
    assert!(second.from_bucket >= first.from_bucket, "{} {}", second.from_bucket, first.from_bucket);
    let third = look(&odd, Some(&second.token)).await;
    assert!(third.from_bucket >= first.from_bucket, "{} {}", third.from_bucket, first.from_bucket);
}
