//! The run engine: short batches, each named in the ledger before its jobs are touched and settled after.

mod batch;
mod batch_size;
mod batches;
mod context;
mod control;
mod delivery_monitor;
mod erase;
mod executor;
mod preflight;
mod progress;
mod reconcile;
mod rollout;
mod schedule;
mod stop_reason;
#[cfg(test)]
mod tests;
mod tx_status;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

pub use control::{RunControl, Wish};
pub use executor::{execute, resume};

use crate::ledger::{LedgerError, Run, RunState};
use crate::store::{Deliver, Outdated};
use crate::triage::validate::Validate;

/// How a run is executed.
#[derive(Clone)]
pub struct RunOptions {
    /// The most jobs of a batch, where the run's own pacing does not say less; the size adapts below it.
    pub batch: usize,
    /// Whether the size adapts to what batches take; without, each has `batch` jobs, which is for measuring.
    pub adapts: bool,
    /// Jobs a second at the most, in place of the rate that the run was planned with.
    pub rate: Option<f64>,
    /// Where replayed jobs go when the destination is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// What judges jobs before they are replayed, in place of the command that was planned.
    pub validate: Option<Arc<dyn Validate>>,
    /// Deadline of each statement.
    pub statement: Duration,
    /// How long an unreachable database is waited for before the run is stopped.
    pub patience: Duration,
    /// The wait before the second try of what failed; later ones double, up to fifty times this.
    pub retry: Duration,
    /// Whether the operator lets the jobs behind the canary follow, whatever their outcomes are.
    pub skip_gate: bool,
    /// How often the gate asks for outcomes. Later the run asks as often, and a rate that grows does so at each fifth time.
    pub outcome_interval: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            // More are no quicker, and some of them are in memory with all that is kept of them, twice over.
            batch: 2_000,
            adapts: true,
            rate: None,
            deliver: None,
            validate: None,
            statement: Duration::from_secs(10),
            patience: Duration::from_secs(600),
            retry: Duration::from_millis(200),
            skip_gate: false,
            outcome_interval: Duration::from_secs(1),
        }
    }
}

/// What an execution left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The run as the ledger has it now. Its remainder is a cohort of its own: [`super::plan::ActionScope::Run`].
    pub run: Run,
    /// Why it did not reach the end; a sentence. `None` when it did.
    pub halted: Option<String>,
    /// Nothing was done, as the database does not allow it, or lacks what it takes.
    pub refused: bool,
    /// The table that has changed since the store was opened, where that stopped it: the store has to be opened anew before
    /// the run can go on.
    pub outdated: Option<Outdated>,
    /// How long this execution took.
    pub elapsed: Duration,
}

impl Receipt {
    /// Whether every planned job is done.
    pub fn is_complete(&self) -> bool {
        self.run.state == RunState::Finished && self.run.tally.done == self.run.tally.planned
    }
}

/// Why a run could not be executed, or not be recorded.
#[derive(Debug, Error)]
pub enum RunError {
    /// The record cannot be kept: nothing was acted on after this.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The run was planned on another store.
    #[error("run {run} is for {planned}, and this is {here}")]
    OtherStore {
        /// The run.
        run: String,
        /// Source and store that it was planned on.
        planned: String,
        /// Source and store of the desk.
        here: String,
    },
    /// The action cannot be used on this store any more.
    #[error("{0}")]
    Disabled(String),
}

impl RunError {
    /// What kind of fault it is, in words of our own alone.
    pub fn kind(&self) -> &'static str {
        match self {
            RunError::Ledger(error) => error.kind(),
            RunError::OtherStore { .. } => "the run is for another store",
            RunError::Disabled(_) => "the verb cannot be used on this store",
        }
    }
}
