//! The transactions of a run that are under way, so that an interrupted one can be asked about.

use futures_util::future::BoxFuture;
use sqlx::SqliteConnection;

use super::error::Result;
use super::model::RunId;
use super::open::Ledger;
use crate::domain::job::JobId;
use crate::store::Witness;

/// The witness of one run, as a store takes it.
#[derive(Clone, Debug)]
pub struct LedgerWitness {
    ledger: Ledger,
    run: RunId,
}

impl LedgerWitness {
    /// Keeps notes under `run`.
    pub fn new(ledger: Ledger, run: RunId) -> Self {
        Self { ledger, run }
    }
}

impl Witness for LedgerWitness {
    fn note(&self, transaction: &str, ids: &[JobId]) -> BoxFuture<'_, std::result::Result<(), String>> {
        let (transaction, ids) = (transaction.to_owned(), super::batches::ids_json(ids));
        Box::pin(
            async move { self.ledger.note_transaction(&self.run, &transaction, &ids).await.map_err(|e| e.to_string()) },
        )
    }
}

impl Ledger {
    /// `ids` is a JSON array. Durable on return.
    async fn note_transaction(&self, run: &RunId, name: &str, ids: &str) -> Result<()> {
        sqlx::query(
            "INSERT INTO transactions (run, name, job_ids) SELECT seq, ?2, ?3 FROM runs WHERE id = ?1 \
             ON CONFLICT (run, name) DO UPDATE SET job_ids = excluded.job_ids",
        )
        .bind(&run.0)
        .bind(name)
        .bind(ids)
        .execute(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// The transactions that a run noted since jobs of it are in doubt, each with the jobs that it acted on.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn transactions(&self, run: &RunId) -> Result<Vec<(String, Vec<JobId>)>> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT name, job_ids FROM transactions WHERE run = (SELECT seq FROM runs WHERE id = ?)")
                .bind(&run.0)
                .fetch_all(&self.pool)
                .await
                .map_err(|e| self.fault(e))?;
        let ids = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap_or_default();
        Ok(rows.into_iter().map(|(name, text)| (name, ids(&text).into_iter().map(JobId::new).collect())).collect())
    }

    /// Drops the notes of a run none of whose jobs is in doubt any more.
    pub(super) async fn drop_notes(&self, tx: &mut SqliteConnection, run: i64) -> Result<()> {
        sqlx::query(
            "DELETE FROM transactions WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM run_jobs INDEXED BY run_jobs_in_doubt \
             WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL)",
        )
        .bind(run)
        .execute(tx)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(())
    }
}
