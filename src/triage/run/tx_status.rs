//! What the database says of the transactions of an interrupted batch.
//!
//! Heard only of rows that are no longer as they were: a server that crashed may give the name of a transaction that
//! it lost to another one, and a row that is still as it was says better that nothing happened.

use std::collections::{HashMap, HashSet};

use super::reconcile::Reconciler;
use crate::domain::job::JobId;
use crate::ledger::LedgerError;
use crate::store::{Evidence, SourceError, TxStatus};

/// How our transactions on each job ended.
pub(super) struct TxStatusByJob {
    known: HashMap<JobId, TxStatus>,
    /// Of jobs that no transaction was noted for.
    others: TxStatus,
}

impl TxStatusByJob {
    /// Whether one of them took effect. A transaction is noted before it commits, so where all that were noted were
    /// undone, nothing was committed.
    pub(super) fn of(&self, id: &JobId) -> TxStatus {
        self.known.get(id).copied().unwrap_or(self.others)
    }

    /// What a record says that is written along with the effect: these were done, and of the `others` it says the same.
    fn recorded(done: Vec<JobId>, others: TxStatus) -> Self {
        Self { known: done.into_iter().map(|id| (id, TxStatus::Committed)).collect(), others }
    }

    fn add(&mut self, id: JobId, status: TxStatus) {
        let known = self.known.entry(id).or_insert(status);
        *known = match (*known, status) {
            (TxStatus::Committed, _) | (_, TxStatus::Committed) => TxStatus::Committed,
            (TxStatus::Unknown, _) | (_, TxStatus::Unknown) => TxStatus::Unknown,
            (TxStatus::Undone, TxStatus::Undone) => TxStatus::Undone,
        };
    }
}

impl Reconciler<'_> {
    /// Those of these jobs that were recorded as done along with the effect, where the record is in the source.
    pub(super) async fn recorded(&self, ids: &[JobId]) -> Result<Vec<JobId>, SourceError> {
        let done = self.context.ledger.batches().recorded_done(&self.context.run.id, ids).await;
        done.map_err(|e| match e {
            LedgerError::Unusable { .. } => SourceError::Unreachable(e.to_string()),
            other => SourceError::Input(other.to_string()),
        })
    }

    pub(super) async fn tx_status(&self, ids: &[JobId]) -> Result<TxStatusByJob, SourceError> {
        if self.context.records_with_effect() {
            // What is not there did not happen, but for what a command may have had before it could be written down.
            let others = if self.context.is_delivered_to_command() { TxStatus::Unknown } else { TxStatus::Undone };
            return Ok(TxStatusByJob::recorded(self.recorded(ids).await?, others));
        }
        let wanted: HashSet<&JobId> = ids.iter().collect();
        let notes = self
            .context
            .ledger
            .batches()
            .transactions(&self.context.run.id)
            .await
            .map_err(|e| SourceError::Input(e.to_string()))?;
        // No transaction commits before it was noted: where none was, nothing happened.
        let noted = self.context.desk.store.info().capabilities.evidence == Evidence::Transaction
            && !self.context.is_delivered_to_command();
        let others = if noted { TxStatus::Undone } else { TxStatus::Unknown };
        let mut tx_status = TxStatusByJob { known: HashMap::new(), others };
        for (name, mut jobs) in notes {
            jobs.retain(|id| wanted.contains(id));
            if jobs.is_empty() {
                continue;
            }
            let (reconcile, budget) = (self.context.desk.reconcile()?, &self.context.budget);
            if let Some(done) = reconcile.done_in(&name, budget).await? {
                let done: HashSet<JobId> = done.into_iter().collect();
                let of = |id: &JobId| if done.contains(id) { TxStatus::Committed } else { TxStatus::Undone };
                jobs.into_iter().for_each(|id| tx_status.add(id.clone(), of(&id)));
                continue;
            }
            let status = reconcile.tx_status(&name, budget).await?;
            jobs.into_iter().for_each(|id| tx_status.add(id, status));
        }
        Ok(tx_status)
    }
}
