//! Which transaction acted on a batch, and what the database says of it afterwards.

use std::sync::{Arc, Mutex};

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{
    Batch, Cursor, Journal, JournalEntry, Reconcile, RowCopies, Sort, SourceError, Store, TxMarker, TxStatus,
};
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::{self, Engine};
use crate::store_desk::*;

/// Remembers what it is told, or cannot.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<(String, Vec<JobId>)>>,
    full: bool,
}

impl Journal for Notes {
    fn copies(&self) -> RowCopies {
        RowCopies::Nothing
    }

    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, Result<(), SourceError>> {
        let TxMarker { transaction, ids } = entry.marker.expect("nothing else is written");
        self.told.lock().expect("a lock").push((transaction, ids));
        Box::pin(async { if self.full { Err(SourceError::Unrecorded("the disk is full".to_owned())) } else { Ok(()) } })
    }
}

fn replay(ids: &[JobId], notes: &Arc<Notes>) -> Batch {
    Batch { journal: Some(notes.clone()), ..batch(Action::Replay, ids.to_vec()) }
}

#[tokio::test]
async fn the_database_tells_later_how_the_transaction_of_a_batch_ended_where_it_can() {
    for db in harness::every_engine("tx_status").await {
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
            if store.tx_status(transaction, &budget()).await.expect("a status") == TxStatus::Committed {
                committed.extend(jobs.clone());
            }
        }
        committed.sort();
        if db.engine == Engine::Postgres {
            assert_eq!(committed.iter().collect::<Vec<_>>(), done);
            assert_eq!(store.tx_status(&told[0].0, &budget()).await.expect("a status"), TxStatus::Undone);
        } else {
            assert!(told.is_empty());
        }
        // A transaction that this server has not come to.
        let status = store.tx_status("9000000000000000", &budget()).await.expect("a status");
        assert_eq!(status, TxStatus::Unknown, "{}", db.engine.name());
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
        let refused = store.apply(replay(&ids, &notes), &budget()).await.into_outcomes();
        assert!(
            matches!(&refused, Err(SourceError::Unrecorded(why)) if why.contains("the disk is full")),
            "{refused:?}"
        );
        assert_eq!((layout.count_dead(&db).await, db.count("jobs").await), (9, 0));
    }
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
