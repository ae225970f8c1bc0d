//! Whole rows, kept before they are deleted from their table.

use futures_util::future::BoxFuture;

use super::error::Result;
use super::model::RunId;
use super::open::Ledger;
use crate::domain::job::JobId;
use crate::store::Archive;

/// The archive of one run, as a store takes it.
#[derive(Clone, Debug)]
pub struct LedgerArchive {
    ledger: Ledger,
    run: RunId,
    keys_only: bool,
}

impl LedgerArchive {
    /// Keeps rows under `run`.
    pub fn new(ledger: Ledger, run: RunId) -> Self {
        Self { ledger, run, keys_only: false }
    }

    /// Keeps nothing of the rows but that they were about to be deleted: by that an interrupted batch is judged later.
    pub fn of_keys(ledger: Ledger, run: RunId) -> Self {
        Self { ledger, run, keys_only: true }
    }
}

impl Archive for LedgerArchive {
    fn keep(&self, rows: Vec<(JobId, String)>) -> BoxFuture<'_, std::result::Result<(), String>> {
        Box::pin(async move { self.ledger.keep_archive(&self.run, &rows).await.map_err(|e| e.to_string()) })
    }

    fn wants_rows(&self) -> bool {
        !self.keys_only
    }
}

impl Ledger {
    /// Keeps whole rows under a run; durable on return. A row that is kept already is replaced.
    ///
    /// # Errors
    /// When the record cannot be kept: then the rows must not be deleted.
    pub async fn keep_archive(&self, run: &RunId, rows: &[(JobId, String)]) -> Result<()> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq: i64 = sqlx::query_scalar("SELECT seq FROM runs WHERE id = ?")
            .bind(&run.0)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?
            .ok_or_else(|| super::LedgerError::NoSuchRun(run.0.clone()))?;
        for (id, row) in rows {
            sqlx::query(
                "INSERT INTO archive (run, job_id, row) VALUES (?, ?, ?) \
                 ON CONFLICT (run, job_id) DO UPDATE SET row = excluded.row",
            )
            .bind(seq)
            .bind(id.as_str())
            .bind(row)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.fault(e))
    }

    /// The rows that a run kept of these jobs, each as one JSON text.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn archived(&self, run: &RunId, ids: &[JobId]) -> Result<Vec<(JobId, String)>> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT job_id, row FROM archive WHERE run = (SELECT seq FROM runs WHERE id = ?1) \
             AND job_id IN (SELECT value FROM json_each(?2))",
        )
        .bind(&run.0)
        .bind(super::batches::ids_json(ids))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(rows.into_iter().map(|(id, row)| (JobId::new(id), row)).collect())
    }
}
