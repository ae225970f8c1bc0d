//! A record that is written in the transaction whose effect it records.

use super::Statement;
use crate::domain::job::JobId;

/// A statement that records jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The statement.
    pub statement: Statement,
    /// How many rows it touches. Where it touches fewer, another client acts on these jobs, and nothing may take effect.
    pub rows: u64,
}

/// Keeps the record of a batch in the same database, where its statements run in the batch's own transaction: what took
/// effect is recorded, and what is not recorded took none.
pub trait TxJournal: Send + Sync {
    /// What keeps rows before they are written over or deleted, each as one JSON text.
    fn keep(&self, rows: &[(JobId, String)]) -> Vec<Statement>;

    /// What records these jobs as done.
    fn done(&self, ids: &[JobId]) -> Recorded;
}
