//! Dead jobs without the time that a framework gives them: somebody set the state by hand. When they died is one thing to
//! every filter, count and look.

use std::collections::BTreeSet;

use chrono::Utc;
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::{Cursor, PageQuery, ScanMode, Sort, Store};

use super::bench::{checked, fixture};
use super::shop::Shop;
use crate::harness::{Engine, every_engine};
use crate::store_desk::{bars, budget, exhaust, filter, histogram};

/// Jobs: 1 and 2 were set to discarded by hand, 3 and 4 died of themselves, 5 runs.
const JOBS: [(u32, &str, &str, Option<&str>); 5] = [
    (1, "discarded", "2026-11-20 10:30:00.000000", None),
    (2, "discarded", "2026-11-10 10:30:00.000000", None),
    (3, "discarded", "2026-11-01 00:00:00.000000", Some("2026-11-20 10:40:00.000000")),
    (4, "discarded", "2026-11-01 00:00:00.000000", Some("2026-11-10 10:40:00.000000")),
    (5, "executing", "2026-11-20 10:30:00.000000", None),
];

/// What the filters select of these.
const SELECTED: [(&str, &[&str]); 9] = [
    ("since:2026-11-15", &["1", "3"]),
    ("-since:2026-11-15", &["2", "4"]),
    ("until:2026-11-15", &["2", "4"]),
    ("-until:2026-11-15", &["1", "3"]),
    ("hour:2026-11-20T10", &["1", "3"]),
    ("-hour:2026-11-20T10", &["2", "4"]),
    ("since:2026-11-15 queue:default", &["1", "3"]),
    ("since:2026-11-01 until:2026-11-15 class:Shop*", &["2", "4"]),
    ("since:2026-11-15 msg:/.*/ -msg:/never/", &["1", "3"]),
];

fn insert(engine: Engine, (id, state, attempted, discarded): (u32, &str, &str, Option<&str>)) -> String {
    let time = |at: &str| match engine {
        Engine::Sqlite => format!("'{}Z'", at.replace(' ', "T")),
        _ => format!("'{at}'"),
    };
    let (attempted, discarded) = (time(attempted), discarded.map_or("NULL".to_owned(), time));
    let error = r#"{"at": "2026-11-20T10:30:00Z", "attempt": 1, "error": "** (RuntimeError) boom"}"#;
    let (errors, more) = match engine {
        Engine::Postgres => (format!("ARRAY['{error}']::jsonb[]"), ("", "")),
        Engine::Mysql => (format!("'[{error}]'"), (", args, meta, tags, attempted_by", ", '{}', '{}', '[]', '[]'")),
        Engine::Sqlite => (format!("'[{error}]'"), ("", "")),
    };
    format!(
        "INSERT INTO oban_jobs (id, state, worker, errors, attempted_at, inserted_at, scheduled_at, discarded_at{}) \
         VALUES ({id}, '{state}', 'Shop.Fetch', {errors}, {attempted}, {attempted}, {attempted}, {discarded}{})",
        more.0, more.1
    )
}

#[tokio::test]
async fn deaths_by_hand_are_found_by_when_they_died() {
    for db in every_engine("untimed").await {
        let name = db.engine.name();
        db.execute(&fixture(&format!("oban/{name}.sql"))).await;
        if db.engine != Engine::Postgres {
            db.execute("CREATE INDEX died ON oban_jobs (state, discarded_at)").await;
        }
        for job in JOBS {
            db.execute(&insert(db.engine, job)).await;
        }
        let (store, missing) = checked(&db, "oban").await;
        assert!(missing.is_empty(), "{name}: {missing:?}");
        for (text, wanted) in SELECTED {
            for start in [Cursor::Start, Cursor::End] {
                let rows = exhaust(&store, &filter(text), Sort::default(), start, 1).await;
                let ids: BTreeSet<&str> = rows.iter().map(|entry| entry.row.id.as_str()).collect();
                assert_eq!(ids, wanted.iter().copied().collect(), "{name} {text}");
            }
            let step = store
                .scan(PageQuery::cohort(&filter(text), Cursor::Start), ScanMode::Cohort, &budget())
                .await
                .expect("a step");
            assert_eq!(step.entries.len(), wanted.len(), "{name} {text} frozen");
            let counted = histogram(&store, Facet::Queue, &filter(text)).await.histogram;
            assert_eq!(counted.total.n, wanted.len() as u64, "{name} {text} counted");
        }
        let hours = bars(&histogram(&store, Facet::Hour, &Filter::all()).await.histogram);
        assert_eq!(hours.get(&Some("2026-11-20T10".to_owned())), Some(&2), "{name} {hours:?}");
        // A count takes them in, and no look after it counts them again.
        let step = histogram(&store, Facet::Queue, &Filter::all()).await;
        let now = Utc::now().format("%Y-%m-%d %H:%M:%S%.6f").to_string();
        db.execute(&insert(db.engine, (6, "discarded", &now, None))).await;
        let after = histogram(&store, Facet::Queue, &Filter::all()).await;
        assert_eq!((step.histogram.total.n, after.histogram.total.n), (4, 5), "{name}");
        let seen = store.changes(after.token.as_ref(), Facet::Queue, &Filter::all(), &budget()).await;
        let seen: u64 = seen.expect("a look").cells.iter().map(|cell| cell.n).sum();
        assert_eq!(seen, after.recent.iter().map(|cell| cell.n).sum::<u64>(), "{name}");
    }
}

#[tokio::test]
async fn a_failed_job_without_its_end_passes_time_filters() {
    const TABLES: &str = include_str!("../../fixtures/frameworks/pg-boss/tables.sql");
    const ROWS: &str = "INSERT INTO boss.queue (name, policy) VALUES ('q', 'standard');
        INSERT INTO boss.job (id, name, data, state, retry_limit, retry_count, start_after, created_on, started_on, completed_on, output, policy)
        SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'q', '{}', 'failed', 0, 0, now(), now(), now(),
          CASE n WHEN 2 THEN now() END, '{\"message\":\"x\"}', 'standard' FROM generate_series(1, 2) AS n";
    let Some(shop) = Shop::new("pg-boss", &[TABLES, ROWS]).await else { return };
    for (text, wanted) in [("since:2h", 2), ("-since:2h", 0), ("until:2020-01-01", 0), ("-until:2020-01-01", 2)] {
        let rows = exhaust(shop.store(), &filter(text), Sort::default(), Cursor::Start, 1).await;
        assert_eq!(rows.len(), wanted, "{text}");
    }
}
