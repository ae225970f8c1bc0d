//! Which transaction acted on a batch, and what the database says of it afterwards.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Batch, Cursor, Ending, Sort, SourceError, Store, Witness};
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::{self, Engine};
use crate::store_desk::*;

/// Remembers what it is told, or cannot.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<(String, Vec<JobId>)>>,
    full: bool,
    /// The record does not name the batch.
    unnamed: bool,
}

impl Witness for Notes {
    fn named(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(async { if self.unnamed { Err(SourceError::Unrecorded("it is late".to_owned())) } else { Ok(()) } })
    }

    fn note(&self, transaction: &str, ids: &[JobId]) -> BoxFuture<'_, Result<(), SourceError>> {
        self.told.lock().expect("a lock").push((transaction.to_owned(), ids.to_vec()));
        Box::pin(async { if self.full { Err(SourceError::Unrecorded("the disk is full".to_owned())) } else { Ok(()) } })
    }
}

fn replay(ids: &[JobId], notes: &Arc<Notes>) -> Batch {
    Batch { witness: Some(notes.clone()), ..batch(Action::Replay, ids.to_vec()) }
}

#[tokio::test]
async fn the_database_tells_later_how_the_transaction_of_a_batch_ended_where_it_can() {
    for db in harness::every_engine("witness").await {
        let layout = Layout::JobsDlq;
        layout.seed(&db, 20).await;
        // A row that the live table refuses: its batch is undone and halved.
        db.execute("update jobs_dlq set payload = null where original_id = 13").await;
        let store = store(&db, layout).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        let ids: Vec<JobId> = all.into_iter().map(|e| e.row.id).collect();
        let notes = Arc::new(Notes::default());
        let results = apply(&store, replay(&ids, &notes)).await;
        let done: Vec<&JobId> = results.iter().filter(|(_, r)| **r == JobResult::Done).map(|(id, _)| id).collect();
        assert_eq!(done.len(), 19, "{}: {results:?}", db.engine.name());

        let mut committed: Vec<JobId> = Vec::new();
        let told = notes.told.lock().expect("a lock").clone();
        for (transaction, jobs) in &told {
            if store.ending(transaction, &budget()).await.expect("an ending") == Ending::Committed {
                committed.extend(jobs.clone());
            }
        }
        committed.sort();
        if db.engine == Engine::Postgres {
            assert_eq!(committed.iter().collect::<Vec<_>>(), done);
            assert_eq!(store.ending(&told[0].0, &budget()).await.expect("an ending"), Ending::Undone);
        } else {
            assert!(told.is_empty());
        }
        // A transaction that this server has not come to.
        let ending = store.ending("9000000000000000", &budget()).await.expect("an ending");
        assert_eq!(ending, Ending::Unknown, "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_batch_whose_transaction_cannot_be_noted_is_undone() {
    for db in harness::every_engine("unnoted").await.into_iter().filter(|db| db.engine == Engine::Postgres) {
        let layout = Layout::JobsDlq;
        layout.seed(&db, 9).await;
        let store = store(&db, layout).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        let ids: Vec<JobId> = all.into_iter().map(|e| e.row.id).collect();
        let notes = Arc::new(Notes { full: true, ..Notes::default() });
        let refused = store.apply(replay(&ids, &notes), &budget()).await.whole();
        assert!(
            matches!(&refused, Err(SourceError::Unrecorded(why)) if why.contains("the disk is full")),
            "{refused:?}"
        );
        assert_eq!((layout.count_dead(&db).await, db.count("jobs").await), (9, 0));
    }
}

#[tokio::test]
async fn a_batch_that_the_record_does_not_name_takes_no_effect() {
    for db in harness::every_engine("unnamed").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 20).await;
        let store = store(&db, layout).await;
        store.prepare(Action::Archive, &budget()).await.expect("a twin");
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
        let ids: Vec<JobId> = all.into_iter().map(|e| e.row.id).collect();
        let (notes, shelf) = (Arc::new(Notes { unnamed: true, ..Notes::default() }), Arc::new(Shelf::default()));
        let before = (layout.count_dead(&db).await, db.count("dead_letter_jobs").await);
        for action in [Action::Replay, Action::Ignore, Action::Discard, Action::Archive, Action::Purge] {
            let unnamed = Batch { action, archive: Some(shelf.clone()), ..replay(&ids, &notes) };
            let refused = store.apply(unnamed, &budget()).await.whole();
            let told = format!("{action} on {}: {refused:?}", db.engine.name());
            assert!(matches!(&refused, Err(SourceError::Unrecorded(why)) if why.contains("late")), "{told}");
            let after = (layout.count_dead(&db).await, db.count("dead_letter_jobs").await);
            assert_eq!((after, db.count("jobs").await), (before, 0), "{told}");
        }
        assert!(shelf.rows.lock().expect("a lock").is_empty() && notes.told.lock().expect("a lock").is_empty());
    }
}

/// Names a batch once all of its dead rows have changed, and looks then how many jobs others see in the live table.
struct Watcher {
    db: Arc<harness::TestDb>,
    jobs: usize,
    seen: Mutex<Vec<u64>>,
}

impl Witness for Watcher {
    fn named(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(async {
            // Sequences go on whether or not a transaction ends well.
            let told = "select coalesce(max(last_value), 0)::text from pg_sequences where sequencename = 'changed'";
            let all = self.jobs.to_string();
            let changed = async {
                while self.db.scalar(told).await != all {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let late = |_| SourceError::Unrecorded("the rows are not changed before".to_owned());
            tokio::time::timeout(Duration::from_secs(20), changed).await.map_err(late)?;
            let seen = self.db.count("jobs").await;
            self.seen.lock().expect("a lock").push(seen);
            Ok(())
        })
    }

    fn note(&self, _: &str, _: &[JobId]) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_batch_is_written_before_it_is_named_and_takes_effect_after_it() {
    let Some(server) = harness::postgres() else { return };
    let db = Arc::new(server.database("named").await);
    let layout = Layout::DeadLetterJobs;
    layout.seed(&db, 40).await;
    db.execute(
        "create sequence changed; create function count_it() returns trigger language plpgsql as \
         $$ begin perform nextval('changed'); return new; end $$; \
         create trigger count_it before update on dead_letter_jobs for each row execute function count_it()",
    )
    .await;
    let store = store(&db, layout).await;
    let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
    let ids: Vec<JobId> = all.into_iter().map(|e| e.row.id).collect();
    let watcher = Arc::new(Watcher { db: Arc::clone(&db), jobs: ids.len(), seen: Mutex::default() });
    let results = apply(&store, Batch { witness: Some(watcher.clone()), ..batch(Action::Replay, ids.clone()) }).await;
    assert!(results.values().all(|result| *result == JobResult::Done), "{results:?}");
    let seen = watcher.seen.lock().expect("a lock").clone();
    assert!(!seen.is_empty() && seen.iter().all(|jobs| *jobs == 0), "{seen:?}");
    assert_eq!(db.count("jobs").await as usize, ids.len());
}

#[tokio::test]
async fn a_statement_that_is_refused_is_told_by_its_place_among_those_of_the_verb() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("refused_statement").await;
    let layout = Layout::DeadLetterJobs;
    layout.seed(&db, 20).await;
    db.execute(
        "create function keep_it() returns trigger language plpgsql as $$ begin return null; end $$; \
         create trigger keep_it before update on dead_letter_jobs for each row execute function keep_it()",
    )
    .await;
    let store = store(&db, layout).await;
    let job = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await.remove(0).row.id;
    let results = apply(&store, batch(Action::Replay, vec![job.clone()])).await;
    let told =
        matches!(&results[&job], JobResult::Failed(why) if why.exact() == "statement 2 touched 0 rows instead of 1");
    assert!(told, "what adds runs before the others, and counts: {results:?}");
    assert_eq!(db.count("jobs").await, 0);
}
