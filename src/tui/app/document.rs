//! A job made ready to be drawn: parsed, folded and searched by window, away from the loop that reads keys.

use crate::domain::job::JobDetail;
use crate::ledger::HistoryEntry;

/// One open job. Built by the runtime, because parsing megabytes takes longer than a frame.
#[derive(Debug)]
pub struct JobDocument {
    /// As the store has it.
    pub detail: JobDetail,
    /// What the ledger knows of it, latest first.
    pub history: Vec<HistoryEntry>,
}
