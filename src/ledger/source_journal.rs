//! The record of a batch whose effect is in the same database: written in the batch's own transaction.

use std::sync::Arc;

use super::backend::{Backend, RowCells, RunToken, int, text, texts};
use super::error::Result;
use super::handle::Ledger;
use super::kept_rows;
use super::model::RunId;
use crate::db::Statement;
use crate::domain::job::JobId;
use crate::store::{Record, Recorded};

/// The record of one run, as a store takes it.
struct SourceJournal {
    home: Backend,
    token: RunToken,
}

impl Record for SourceJournal {
    fn keep(&self, rows: &[(JobId, String)]) -> Vec<Statement> {
        // What cannot be said is not kept, and then the number of rows tells.
        kept_rows::statements(&self.home, self.token.seq, rows).unwrap_or_default()
    }

    fn done(&self, ids: &[JobId]) -> Recorded {
        let binds = [int(self.token.seq), text(&self.token.holder), texts(ids.iter().map(JobId::as_str))];
        Recorded { statement: self.home.say("{record_done}", binds), rows: ids.len() as u64 }
    }
}

impl Ledger {
    /// What records the batches of a run along with their effect, where the record is in the source and the run is held
    /// by this process.
    pub fn record(&self, run: &RunId) -> Option<Arc<dyn Record>> {
        let token = self.home.shared()?.token(run)?;
        Some(Arc::new(SourceJournal { home: self.home.clone(), token }))
    }

    /// Those of these jobs of a run whose effect is recorded. Where [`Ledger::is_shared`], that is all of those on which
    /// the run took effect.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn recorded_done(&self, run: &RunId, ids: &[JobId]) -> Result<Vec<JobId>> {
        let rows = self.home.fetch(
            "SELECT job_id FROM {run_jobs} WHERE batch IS NOT NULL AND outcome = 'done' \
             AND job_id {among ?2} AND {all_known ?2} AND run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        rows.await?.into_iter().map(|row| RowCells::of(row).text().map(JobId::new)).collect()
    }
}
