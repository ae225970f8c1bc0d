//! What MariaDB keeps in tables that other databases do not: numbers without a sign, text in wide character sets, dates that
//! are none.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Cursor, Sort, Store};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::*;
use crate::undo::{Bench, content};

/// Around the largest number that has a sign, and the largest of all.
const IDS: [&str; 6] = [
    "18446744073709551615",
    "18446744073709551614",
    "9223372036854775809",
    "9223372036854775808",
    "9223372036854775807",
    "5",
];

async fn unsigned(name: &str, how: &str) -> Option<TestDb> {
    let db = harness::mariadb()?.database(name).await;
    Layout::JobsDlq.install(&db).await;
    db.execute(&format!(
        "alter table jobs_dlq modify id bigint unsigned {how} not null; \
         alter table jobs modify id bigint unsigned {how} not null auto_increment, auto_increment = 9223372036854775800"
    ))
    .await;
    for id in IDS {
        db.execute(&format!(
            "insert into jobs_dlq (id, payload, attempts, error_class, failed_at) \
             values ({id}, '{{\"class\":\"A\"}}', 1, 'Boom', '2026-11-18 09:00:00')"
        ))
        .await;
    }
    Some(db)
}

#[tokio::test]
async fn ids_beyond_the_largest_signed_number_are_read_in_order_and_found() {
    let Some(db) = unsigned("unsigned", "").await else { return };
    for store in [store(&db, Layout::JobsDlq).await, gentle_store(&db, Layout::JobsDlq).await] {
        for (from, limit) in [(Cursor::Start, 1), (Cursor::Start, 2), (Cursor::End, 1), (Cursor::End, 4)] {
            let all = exhaust(&store, &Filter::all(), Sort::default(), from.clone(), limit).await;
            let read: Vec<&str> = all.iter().map(|entry| entry.row.id.as_str()).collect();
            assert_eq!(read, IDS, "{from:?} by {limit}");
        }
        let ids = IDS.map(JobId::new);
        assert_eq!(store.rows(&ids, &budget()).await.expect("rows").len(), IDS.len());
        assert_eq!(store.details(&ids, &budget()).await.expect("details").len(), IDS.len());
        for id in IDS {
            let found = exhaust(&store, &filter(&format!("id:{id}")), Sort::default(), Cursor::Start, 9).await;
            assert_eq!(found.len(), 1, "{id}");
        }
        // As a number that wraps, this is the largest.
        for other in ["-1", "18446744073709551616", "-9223372036854775808"] {
            let found = exhaust(&store, &filter(&format!("id:{other}")), Sort::default(), Cursor::Start, 9).await;
            assert!(found.is_empty(), "{other}");
            assert!(store.rows(&[JobId::new(other)], &budget()).await.expect("rows").is_empty(), "{other}");
        }
        assert_eq!(histogram(&store, Facet::Error, &Filter::all()).await.histogram.total.n, 6);
    }
}

#[tokio::test]
async fn a_new_job_with_such_an_id_is_seen_by_the_next_look() {
    let Some(db) = unsigned("unsignednews", "").await else { return };
    let store = store(&db, Layout::JobsDlq).await;
    db.execute("delete from jobs_dlq where id in (18446744073709551615, 5)").await;
    let look = async |since| store.changes(since, Facet::Error, &Filter::all(), &budget()).await.expect("changes");
    let first = look(None).await;
    db.execute(
        "insert into jobs_dlq (id, payload, attempts, error_class, failed_at) \
         values (18446744073709551615, '{}', 1, 'Late', '2026-11-18 09:00:00')",
    )
    .await;
    let again = look(Some(&first.watermark)).await;
    let of = |changes: &dlq_tui::store::Changes, class: &str| -> u64 {
        let cells = changes.cells.iter();
        cells.filter(|cell| cell.value.as_ref().is_some_and(|v| v.exact() == class)).map(|cell| cell.n).sum()
    };
    assert_eq!((of(&first, "Late"), of(&again, "Late"), of(&again, "Boom")), (0, 1, 4));
}

#[tokio::test]
async fn jobs_with_such_ids_are_replayed_discarded_and_put_back_as_others_are() {
    for how in ["", "zerofill"] {
        let Some(db) = unsigned("unsignedacts", how).await else { return };
        let before = content(&db, "jobs_dlq").await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        for action in [Action::Discard, Action::Replay] {
            let (run, tally) = bench.act("", action).await;
            assert_eq!((tally.done, db.count("jobs_dlq").await), (6, 0), "{action:?} {how}: {tally:?}");
            let (_, tally) = bench.undo(&run).await;
            assert_eq!(tally.done, 6, "{action:?} {how}: {tally:?}");
            assert_eq!(content(&db, "jobs_dlq").await, before, "{action:?} {how}");
            assert_eq!(db.count("jobs").await, 0, "{action:?} {how}");
        }
        let results = apply(&store(&db, Layout::JobsDlq).await, batch(Action::Replay, IDS.map(JobId::new))).await;
        assert!(results.values().all(|result| *result == JobResult::Done), "{how}: {results:?}");
    }
}
