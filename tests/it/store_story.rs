//! One story told against every store: all layouts on all databases.

use std::collections::BTreeSet;
use std::sync::Arc;

use dlq_tui::adapter::built_in;
use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::Exactness;
use dlq_tui::domain::job::{JobId, State};
use dlq_tui::domain::outcome::ReplayOutcome;
use dlq_tui::store::sql::{check, detect};
use dlq_tui::store::{Cursor, HistogramQuery, PageQuery, ScanMode, Sort, SortKey, Store, StoreExt};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::*;

const SEEDED: u32 = 700;

/// Runs a chapter on every layout and database; failures name both.
async fn everywhere<F>(name: &str, chapter: impl Fn(Arc<TestDb>, Layout) -> F)
where
    F: Future<Output = ()>,
{
    for layout in Layout::ALL {
        for db in harness::every_server(&format!("{name}_{}", layout.table())).await {
            println!("{} on {}", layout.table(), db.engine.name());
            chapter(Arc::new(db), layout).await;
        }
    }
}

#[tokio::test]
async fn every_layout_is_detected_and_its_adapter_holds_statement_by_statement() {
    everywhere("detect", async |db: Arc<TestDb>, layout| {
        layout.install(&db).await;
        let engine = engine(&db).await;
        let detection = detect(&engine, &built_in(), &budget()).await.expect("a detection");
        let names: Vec<&str> = detection.found.iter().map(|f| f.adapter.as_str()).collect();
        assert_eq!(names, [layout.table()], "{detection:?}");
        assert_eq!(detection.rejected, []);
        let adapter = adapter(layout.table());
        let findings = check(&engine, &adapter, &detection.found[0], Some("jobs"), &budget()).await.expect("a check");
        assert!(findings.len() > 12);
        let wrong: Vec<_> = findings.into_iter().filter(|f| f.verdict.is_err()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    })
    .await;
}

#[tokio::test]
async fn pages_in_both_directions_hold_every_dead_job_once() {
    everywhere("pages", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, SEEDED).await;
        let store = store(&db, layout).await;
        let dead = layout.count_dead(&db).await;
        for key in [SortKey::Time, SortKey::Attempts] {
            for descending in [true, false] {
                let sort = Sort { key, descending };
                let down = exhaust(&store, &Filter::all(), sort, Cursor::Start, 97).await;
                let up = exhaust(&store, &Filter::all(), sort, Cursor::End, 101).await;
                assert_eq!(down.len() as u64, dead);
                assert_eq!(down, up, "{key:?} {descending}");
                let other =
                    exhaust(&store, &Filter::all(), Sort { key, descending: !descending }, Cursor::Start, 300).await;
                let flipped: Vec<_> = other.into_iter().rev().filter(|e| e.position.key.is_some()).collect();
                let keyed: Vec<_> = down.into_iter().filter(|e| e.position.key.is_some()).collect();
                assert_eq!(keyed, flipped);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_page_can_be_left_and_resumed_in_either_direction_while_rows_arrive() {
    everywhere("arrive", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, 200).await;
        let store = store(&db, layout).await;
        let before = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
        let query = |cursor| PageQuery { filter: Filter::all(), sort: Sort::default(), cursor, limit: 20 };
        let first = store.scan(query(Cursor::Start), ScanMode::List, &budget()).await.expect("a page");
        arrive(&db, layout).await;
        let rest = exhaust(&store, &Filter::all(), Sort::default(), first.next.clone().expect("more"), 33).await;
        let seen: Vec<_> = first.entries.iter().chain(&rest).map(|e| &e.row.id).collect();
        assert_eq!(seen, before.iter().map(|e| &e.row.id).collect::<Vec<_>>());
        let place = first.entries[10].position.clone();
        let above = store.scan(query(Cursor::Before(place)), ScanMode::List, &budget()).await.expect("a page");
        assert_eq!(above.entries.len(), 11, "ten that were there and one that arrived");
        assert_eq!(above.entries[1..], first.entries[..10]);
    })
    .await;
}

/// A job dies now.
async fn arrive(db: &TestDb, layout: Layout) {
    let sql = match layout {
        Layout::DeadLetterJobs => {
            "insert into dead_letter_jobs (id, job_class, job_id, arguments, error_class, error_backtrace, failed_at, status, \
             metadata, created_at, updated_at) values ('99999999-9999-4999-8999-999999999999', 'New', 'new', '[]', 'Fresh', \
             '[]', '2039-01-01 00:00:00', 'failed', '{}', '2039-01-01 00:00:00', '2039-01-01 00:00:00')"
        }
        Layout::DlqEvents => {
            "insert into dlq_events (event_type, payload, error_reason, status, created_at, updated_at) \
             values ('New', '{}', 'Fresh: x', 'FAILED_PERMANENTLY', '2039-01-01 00:00:00', '2039-01-01 00:00:00')"
        }
        Layout::JobsDlq => {
            "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
             values ('{}', 5, 'Fresh', '2039-01-01 00:00:00')"
        }
    };
    db.execute(sql).await;
}

#[tokio::test]
async fn counts_by_every_facet_are_those_of_the_rows() {
    everywhere("counts", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, SEEDED).await;
        let store = store(&db, layout).await;
        let rows = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
        let text = |t: &Option<dlq_tui::domain::text::Untrusted>| t.as_ref().map(|t| t.exact().to_owned());
        for facet in store.info().capabilities.facets.clone() {
            let step = histogram(&store, facet, &Filter::all()).await;
            let expected = counted(&rows, |row| match facet {
                Facet::Error => text(&row.error_class),
                Facet::Class => text(&row.job_class),
                Facet::Queue => text(&row.queue),
                Facet::Worker => text(&row.worker),
                Facet::State => Some(row.state.word().to_owned()),
                Facet::Hour => row.at.and_then(|a| a.calendar()).map(|c| c.format("%Y-%m-%dT%H").to_string()),
                Facet::Fingerprint => Some(
                    dlq_tui::domain::fingerprint::Fingerprint::of(
                        row.error_class.as_ref().map(|t| t.exact()),
                        row.message.as_ref().map(|t| t.exact()),
                    )
                    .to_string(),
                ),
                Facet::Reason => None,
            });
            assert_eq!(bars(&step.histogram), expected, "{facet}");
            assert_eq!(step.histogram.total.n as usize, rows.len());
            assert_eq!(step.histogram.total.exactness, Exactness::Exact);
            assert!(step.token.is_some());
        }
        let gentle = gentle_store(&db, layout).await;
        for facet in [Facet::Error, Facet::Hour, Facet::Fingerprint] {
            let (whole, windows) =
                (histogram(&store, facet, &Filter::all()).await, histogram(&gentle, facet, &Filter::all()).await);
            assert_eq!(bars(&windows.histogram), bars(&whole.histogram), "{facet} by windows");
            assert_eq!(windows.recent, whole.recent);
        }
        let down = exhaust(&gentle, &Filter::all(), Sort::default(), Cursor::Start, 97).await;
        let up = exhaust(&gentle, &Filter::all(), Sort::default(), Cursor::End, 60).await;
        assert_eq!(down, rows);
        assert_eq!(up, rows);
        let totals = store.count(HistogramQuery::states(true), &budget()).await.expect("totals").histogram.by_state();
        let dead = totals.iter().find(|(s, _)| *s == State::Dead).map(|(_, c)| c.n);
        assert_eq!(dead, Some(layout.count_dead(&db).await));
    })
    .await;
}

#[tokio::test]
async fn what_arrives_shows_in_the_changes_and_only_there() {
    everywhere("changes", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, 300).await;
        let store = store(&db, layout).await;
        let step = histogram(&store, Facet::Error, &Filter::all()).await;
        let token = step.token.expect("a token");
        let quiet = store.changes(Some(&token), Facet::Error, &Filter::all(), &budget()).await.expect("changes");
        assert!(quiet.cells.iter().all(|c| c.value.as_ref().is_none_or(|v| v.exact() != "Fresh")));
        arrive(&db, layout).await;
        for (facet, text) in [(Facet::Error, ""), (Facet::Error, "error:/^Fr/"), (Facet::Fingerprint, "error:Fresh")] {
            let changes = store.changes(Some(&quiet.token), facet, &filter(text), &budget()).await.expect("changes");
            assert!(changes.changed);
            let fresh = changes.cells.iter().filter(|c| c.bucket >= changes.from_bucket).map(|c| c.n).sum::<u64>();
            let value = |c: &dlq_tui::store::Cell| c.value.as_ref().is_some_and(|v| v.exact() == "Fresh");
            match facet {
                Facet::Error => assert!(changes.cells.iter().any(|c| value(c) && c.n == 1), "{changes:?}"),
                _ => assert_eq!(fresh, 1, "{changes:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_trend_holds_what_died_within_the_hour_and_bars_carry_their_first_and_last() {
    everywhere("trend", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, 100).await;
        let column = if layout == Layout::DlqEvents { "created_at" } else { "failed_at" };
        let now = match db.engine {
            harness::Engine::Postgres => "timezone('UTC', now())",
            harness::Engine::Mysql => "utc_timestamp(6)",
            harness::Engine::Sqlite => "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
        };
        let store = store(&db, layout).await;
        let newest = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 200).await.swap_remove(0).row;
        let id = newest.id.as_str();
        db.execute(&format!("update {} set {column} = {now} where id = '{id}'", layout.table())).await;
        let step = histogram(&store, Facet::Error, &Filter::all()).await;
        let died: u32 = step.histogram.bars.iter().flat_map(|b| &b.trend).sum();
        assert_eq!(died, 1);
        let bar = step.histogram.bars.iter().find(|b| b.trend.iter().any(|n| *n > 0)).expect("its bar");
        assert_eq!(bar.value, newest.error_class);
        assert_eq!(bar.trend.len(), 12);
        assert!(bar.first_seen <= bar.last_seen && bar.last_seen > newest.at);
    })
    .await;
}

#[tokio::test]
async fn a_filter_whose_times_are_still_relative_selects_no_more_than_it_says() {
    everywhere("relative", async |db: Arc<TestDb>, layout| {
        layout.rows(&db).await;
        let store = store(&db, layout).await;
        let step = store
            .scan(PageQuery::cohort(&filter("since:1m"), Cursor::Start), ScanMode::Cohort, &budget())
            .await
            .expect("a step");
        assert!(step.entries.is_empty(), "{:?}", step.entries);
    })
    .await;
}

#[tokio::test]
async fn a_cohort_is_frozen_whole_and_replayed_once() {
    everywhere("replay", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, SEEDED).await;
        let store = store(&db, layout).await;
        let mut cursor = Cursor::Start;
        let mut frozen = Vec::new();
        loop {
            let step = store
                .scan(PageQuery::cohort(&Filter::all(), cursor), ScanMode::Cohort, &budget())
                .await
                .expect("a step");
            frozen.extend(step.entries);
            match step.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        let dead = layout.count_dead(&db).await;
        assert_eq!(frozen.len() as u64, dead);
        let ids: Vec<JobId> = frozen.into_iter().map(|entry| entry.row.id).collect();
        let first = apply(&store, batch(Action::Replay, ids.clone())).await;
        assert!(first.values().all(|r| *r == JobResult::Done), "{:?}", first.values().find(|r| **r != JobResult::Done));
        assert_eq!(layout.count_dead(&db).await, 0);
        if layout != Layout::DlqEvents {
            assert_eq!(db.count("jobs").await, dead);
        }
        let again = apply(&store, batch(Action::Replay, ids.clone())).await;
        match layout {
            // A pending event that is due is about to be taken; one that is not may be pushed again by name.
            Layout::DlqEvents => {
                assert!(again.values().all(|r| *r == JobResult::Skipped(SkipReason::Changed)), "{again:?}");
                db.execute("update dlq_events set retry_after = '2039-01-01 00:00:00' where status = 'PENDING'").await;
                let pushed = apply(&store, batch(Action::Replay, ids.clone())).await;
                assert!(pushed.values().all(|r| *r == JobResult::Done), "{pushed:?}");
            }
            Layout::JobsDlq => assert!(again.values().all(|r| *r == JobResult::Skipped(SkipReason::Gone))),
            Layout::DeadLetterJobs => assert!(again.values().all(|r| *r == JobResult::Skipped(SkipReason::Changed))),
        }
        if layout != Layout::DlqEvents {
            assert_eq!(db.count("jobs").await, dead, "nothing was enqueued twice");
        }
        let fates = store.outcomes(&ids[..3], &[], &budget()).await.expect("fates");
        let expected = if layout == Layout::JobsDlq { ReplayOutcome::Unknown } else { ReplayOutcome::Waiting };
        assert!(fates.iter().all(|(_, fate)| fate.outcome == expected), "{fates:?}");
    })
    .await;
}

#[tokio::test]
async fn jobs_that_cannot_be_or_are_gone_are_skipped_and_cost_nobody_else() {
    everywhere("gone", async |db: Arc<TestDb>, layout| {
        layout.seed(&db, 50).await;
        let store = store(&db, layout).await;
        let page = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 5).await;
        let missing = match layout {
            Layout::DeadLetterJobs => "00000000-0000-4000-8000-00000000dead",
            _ => "987654321",
        };
        let ids = [page[0].row.id.clone(), JobId::new(missing), JobId::new("'; drop table jobs; --")];
        let results = apply(&store, batch(Action::Replay, ids.clone())).await;
        assert_eq!(results[&ids[0]], JobResult::Done);
        assert_eq!(results[&ids[1]], JobResult::Skipped(SkipReason::Gone));
        assert_eq!(results[&ids[2]], JobResult::Skipped(SkipReason::Gone));
    })
    .await;
}

#[tokio::test]
async fn a_job_that_the_live_table_refuses_fails_alone_with_the_servers_words() {
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        for db in harness::every_server(&format!("bad_{}", layout.table())).await {
            layout.seed(&db, 64).await;
            let store = store(&db, layout).await;
            let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
            let bad = all[17].row.id.clone();
            refuse(&db, layout, &bad).await;
            let results = apply(&store, batch(Action::Replay, all.iter().map(|e| e.row.id.clone()))).await;
            let failed: Vec<_> = results.iter().filter(|(_, r)| **r != JobResult::Done).collect();
            assert_eq!(failed.len(), 1, "{} {}: {failed:?}", layout.table(), db.engine.name());
            assert_eq!(failed[0].0, &bad);
            assert!(matches!(failed[0].1, JobResult::Failed(_)));
            assert_eq!(layout.count_dead(&db).await, 1);
            assert_eq!(db.count("jobs").await, all.len() as u64 - 1);
        }
    }
}

/// Makes the live table refuse the payload of one job.
async fn refuse(db: &TestDb, layout: Layout, id: &JobId) {
    let (table, column, value) = match layout {
        Layout::DeadLetterJobs => ("dead_letter_jobs", "job_class", "Poison"),
        _ => ("jobs_dlq", "payload", "{\"type\":\"Poison\"}"),
    };
    db.execute(&format!("update {table} set {column} = '{value}' where id = '{}'", id.as_str())).await;
    let check = "alter table jobs add constraint no_poison check";
    match db.engine {
        harness::Engine::Postgres => db.execute(&format!("{check} (payload::text not like '%Poison%')")).await,
        harness::Engine::Mysql => db.execute(&format!("{check} (payload not like '%Poison%')")).await,
        harness::Engine::Sqlite => {
            db.execute(
                "create trigger no_poison before insert on jobs when new.payload like '%Poison%' \
                 begin select raise(abort, 'no poison'); end",
            )
            .await;
        }
    }
}

#[tokio::test]
async fn two_replayers_at_once_replay_each_job_once() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
            let db = server.database(&format!("two_{}", layout.table())).await;
            layout.seed(&db, 1_500).await;
            let (one, two) = (store(&db, layout).await, store(&db, layout).await);
            let all = exhaust(&one, &Filter::all(), Sort::default(), Cursor::Start, 2_000).await;
            let ids: Vec<JobId> = all.into_iter().map(|e| e.row.id).collect();
            let backwards: Vec<JobId> = ids.iter().rev().cloned().collect();
            let (a, b) = tokio::join!(drain(&one, &ids), drain(&two, &backwards));
            assert!(a.is_disjoint(&b), "a job was replayed twice");
            assert_eq!(a.len() + b.len(), ids.len());
            assert_eq!(db.count("jobs").await, ids.len() as u64);
            assert_eq!(layout.count_dead(&db).await, 0);
        }
    }
}

/// Replays in small batches and sweeps again over what was locked; returns what was done here.
async fn drain(store: &dyn Store, ids: &[JobId]) -> BTreeSet<JobId> {
    let mut done = BTreeSet::new();
    let mut todo = ids.to_vec();
    while !todo.is_empty() {
        let mut locked = Vec::new();
        for part in todo.chunks(40) {
            let results = match store.apply(batch(Action::Replay, part.to_vec()), &budget()).await.into_outcomes() {
                Ok(results) => results,
                // Undone as a whole, as after one deadlock too many: applied again later.
                Err(error) if error.retryable() => {
                    locked.extend(part.iter().cloned());
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            for (id, result) in results {
                match result {
                    JobResult::Done => drop(done.insert(id)),
                    JobResult::Skipped(SkipReason::Locked) => locked.push(id),
                    JobResult::Skipped(_) => {}
                    JobResult::Failed(why) => panic!("{why:?}"),
                }
            }
        }
        todo = locked;
    }
    done
}

#[tokio::test]
async fn discard_deletes_only_what_the_archive_has_kept_whole() {
    everywhere("discard", async |db: Arc<TestDb>, layout| {
        layout.rows(&db).await;
        let store = store(&db, layout).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
        let ids: Vec<JobId> = all.iter().map(|e| e.row.id.clone()).collect();
        let full = Arc::new(Shelf { full: true, ..Shelf::default() });
        let refused = store.apply(with(&ids, &full), &budget()).await.into_outcomes();
        assert!(refused.is_err_and(|e| e.to_string().contains("the disk is full")));
        assert_eq!(layout.count_dead(&db).await, ids.len() as u64);
        let shelf = Arc::new(Shelf::default());
        let results = apply(&store, with(&ids, &shelf)).await;
        assert!(results.values().all(|r| *r == JobResult::Done));
        assert_eq!(layout.count_dead(&db).await, 0);
        let rows = shelf.rows.lock().expect("a lock");
        assert_eq!(rows.len(), ids.len());
        for (_, row) in rows.iter() {
            let value: serde_json::Value = serde_json::from_str(row).expect("JSON");
            assert!(value.get("id").is_some() && value.as_object().is_some_and(|o| o.len() >= 9), "{row}");
        }
    })
    .await;
}

fn with(ids: &[JobId], shelf: &Arc<Shelf>) -> dlq_tui::store::Batch {
    dlq_tui::store::Batch { journal: Some(shelf.clone()), ..batch(Action::Discard, ids.to_vec()) }
}

#[tokio::test]
async fn a_detail_holds_every_column_and_the_nastiest_day_can_be_read() {
    everywhere("nasty", async |db: Arc<TestDb>, layout| {
        let rows = layout.nasty_day(&db).await;
        let store = store(&db, layout).await;
        let everything = "state:dead state:retrying state:resolved state:ignored";
        let all = exhaust(&store, &filter(everything), Sort::default(), Cursor::Start, 50).await;
        assert_eq!(all.len() as u64, rows);
        for entry in &all {
            let detail = store.detail(&entry.row.id, &budget()).await.expect("a detail").expect("the job");
            assert_eq!(detail.row, entry.row);
            assert!(detail.metadata.len() >= 5);
        }
        let mut ids: Vec<JobId> = all.iter().map(|entry| entry.row.id.clone()).collect();
        ids.push(JobId::new("no such job"));
        let mut whole = store.details(&ids, &budget()).await.expect("details");
        whole.sort_by_key(|detail| ids.iter().position(|id| *id == detail.row.id));
        assert_eq!(whole.iter().map(|d| &d.row).collect::<Vec<_>>(), all.iter().map(|e| &e.row).collect::<Vec<_>>());
        assert_eq!(Some(&whole[0]), store.detail(&ids[0], &budget()).await.expect("a detail").as_ref());
        for facet in store.info().capabilities.facets.clone() {
            let step = histogram(&store, facet, &filter(everything)).await;
            assert_eq!(step.histogram.total.n, rows, "{facet}");
        }
    })
    .await;
}
