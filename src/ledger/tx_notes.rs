//! The transactions of a run that are under way, so that an interrupted one can be asked about.

use futures_util::future::BoxFuture;

use super::backend::{LedgerTx, RowCells, int, text};
use super::error::Result;
use super::handle::Ledger;
use super::model::RunId;
use crate::db::Bind;
use crate::domain::job::JobId;
use crate::store::{SourceError, Witness};

/// What writes a note down.
const NOTING: &str = "INSERT INTO {transactions} (run, name, job_ids) SELECT seq, ?2, ?3 FROM {runs} WHERE id = ?1 \
                      {or_replace_note}";

/// Which transaction of the source's database acts on which jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    transaction: String,
    /// The ids, a JSON array.
    jobs: String,
}

impl Note {
    /// Of a transaction by its name.
    pub fn new(transaction: &str, jobs: &[JobId]) -> Self {
        let ids: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
        Self { transaction: transaction.to_owned(), jobs: serde_json::to_string(&ids).unwrap_or_default() }
    }

    /// The values of [`NOTING`].
    fn binds(&self, run: &RunId) -> [Bind; 3] {
        [text(&run.0), text(&self.transaction), text(&self.jobs)]
    }

    /// The name of the transaction.
    pub fn transaction(&self) -> &str {
        &self.transaction
    }
}

/// The witness of one run, as a store takes it.
#[derive(Clone, Debug)]
pub struct LedgerTxNotes {
    ledger: Ledger,
    run: RunId,
}

impl LedgerTxNotes {
    /// Keeps notes under `run`.
    pub fn new(ledger: Ledger, run: RunId) -> Self {
        Self { ledger, run }
    }

    /// Durable on return.
    async fn write(&self, note: &Note) -> Result<()> {
        self.ledger.home.execute(NOTING, note.binds(&self.run)).await.map(drop)
    }
}

impl Witness for LedgerTxNotes {
    fn note(&self, transaction: &str, ids: &[JobId]) -> BoxFuture<'_, std::result::Result<(), SourceError>> {
        let note = Note::new(transaction, ids);
        Box::pin(async move { self.write(&note).await.map_err(SourceError::from) })
    }
}

impl Ledger {
    /// The transactions that a run noted since jobs of it are in doubt, each with the jobs that it acted on.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn transactions(&self, run: &RunId) -> Result<Vec<(String, Vec<JobId>)>> {
        let rows = self.home.fetch(
            "SELECT name, job_ids FROM {transactions} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0)],
        );
        let note = |row| {
            let mut row = RowCells::of(row);
            let (name, ids) = (row.text()?, serde_json::from_str::<Vec<String>>(&row.text()?).unwrap_or_default());
            Ok((name, ids.into_iter().map(JobId::new).collect()))
        };
        rows.await?.into_iter().map(note).collect()
    }
}

/// Writes a note down along with another entry.
pub(super) async fn note_along(tx: &mut LedgerTx<'_>, run: &RunId, note: &Note) -> Result<()> {
    tx.execute(NOTING, note.binds(run)).await.map(drop)
}

/// Drops the notes of a run none of whose jobs is in doubt any more.
pub(super) async fn drop_notes(tx: &mut LedgerTx<'_>, run: i64) -> Result<()> {
    let dropped = tx.execute(
        "DELETE FROM {transactions} WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM {run_jobs} {by_in_doubt} \
         WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL)",
        [int(run)],
    );
    dropped.await.map(drop)
}
