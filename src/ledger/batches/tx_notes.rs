//! The transactions of a run that are under way, so that an interrupted one can be asked about.

use super::Batches;
use crate::domain::job::JobId;
use crate::ledger::backend::{LedgerTx, RowCells, int, text};
use crate::ledger::error::Result;
use crate::ledger::model::RunId;

impl Batches<'_> {
    /// The transactions that a run noted since jobs of it are in doubt, each with the jobs that it acted on.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn transactions(self, run: &RunId) -> Result<Vec<(String, Vec<JobId>)>> {
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

/// Drops the notes of a run none of whose jobs is in doubt any more.
pub(super) async fn drop_notes(tx: &mut LedgerTx<'_>, run: i64) -> Result<()> {
    let dropped = tx.execute(
        "DELETE FROM {transactions} WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM {run_jobs} {by_in_doubt} \
         WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL)",
        [int(run)],
    );
    dropped.await.map(drop)
}
