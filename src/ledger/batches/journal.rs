//! The record of a batch while it is under way: before its transaction commits, or where both are in one database along with it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Batches;
use crate::db::{Recorded, Statement, TxJournal};
use crate::domain::job::JobId;
use crate::ledger::backend::{Backend, RowCells, RunToken, int, text, texts};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::RunId;
use crate::ledger::snapshots;
use crate::store::{Journal, JournalEntry, RowCopies, SourceError, SourceJournal, TxMarker};

/// The journal of one run, as a store takes it.
struct LedgerJournal {
    home: Backend,
    run: RunId,
    copies: RowCopies,
    in_source: Option<SourceJournal>,
}

impl Journal for LedgerJournal {
    fn copies(&self) -> RowCopies {
        self.copies
    }

    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, std::result::Result<(), SourceError>> {
        Box::pin(async move {
            let written = write_entry(&self.home, &self.run, &entry.rows, entry.marker.as_ref());
            written.await.map_err(SourceError::from)
        })
    }

    fn in_source(&self) -> Option<&SourceJournal> {
        self.in_source.as_ref()
    }
}

/// The same where the record is in the source.
struct SharedJournal {
    home: Backend,
    token: RunToken,
}

impl TxJournal for SharedJournal {
    fn keep(&self, rows: &[(JobId, String)]) -> Vec<Statement> {
        // What cannot be said is not kept, and then the number of rows tells.
        snapshots::statements(&self.home, self.token.seq, rows).unwrap_or_default()
    }

    fn done(&self, ids: &[JobId]) -> Recorded {
        let binds = [int(self.token.seq), text(&self.token.holder), texts(ids.iter().map(JobId::as_str))];
        Recorded { statement: self.home.say("{record_done}", binds), rows: ids.len() as u64 }
    }
}

impl Batches<'_> {
    /// The journal of a run: in the transactions of its batches where the record is in the source and the run is held by this
    /// process.
    pub fn journal(self, run: &RunId, copies: RowCopies) -> Arc<dyn Journal> {
        let token = self.home.shared().and_then(|shared| shared.token(run));
        let shared = token.map(|token| SharedJournal { home: self.home.clone(), token });
        let in_source = shared.map(|journal| SourceJournal::new(Arc::new(journal) as Arc<dyn TxJournal>));
        Arc::new(LedgerJournal { home: self.home.clone(), run: run.clone(), copies, in_source })
    }

    /// Those of these jobs of a run whose effect is recorded. Where [`Ledger::is_shared`](crate::ledger::Ledger::is_shared), that is all of those on which
    /// the run took effect.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn recorded_done(self, run: &RunId, ids: &[JobId]) -> Result<Vec<JobId>> {
        let rows = self.home.fetch(
            "SELECT job_id FROM {run_jobs} WHERE batch IS NOT NULL AND outcome = 'done' \
             AND job_id {among ?2} AND {all_known ?2} AND run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        rows.await?.into_iter().map(|row| RowCells::of(row).text().map(JobId::new)).collect()
    }
}

/// Writes down rows and a transaction of a run; durable on return.
pub(in crate::ledger) async fn write_entry(
    home: &Backend,
    run: &RunId,
    rows: &[(JobId, String)],
    marker: Option<&TxMarker>,
) -> Result<()> {
    let mut tx = home.begin().await?;
    let seq = tx.first("SELECT seq FROM {runs} WHERE id = ?1", [text(&run.0)]).await?;
    let seq = seq.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?.int()?;
    for statement in snapshots::statements(home, seq, rows)? {
        tx.run(statement).await?;
    }
    if let Some(TxMarker { transaction, ids }) = marker {
        let ids: Vec<&str> = ids.iter().map(JobId::as_str).collect();
        let ids = serde_json::to_string(&ids).unwrap_or_default();
        tx.execute(
            "INSERT INTO {transactions} (run, name, job_ids) VALUES (?1, ?2, ?3) {or_replace_note}",
            [int(seq), text(transaction), text(&ids)],
        )
        .await?;
    }
    tx.commit().await
}
