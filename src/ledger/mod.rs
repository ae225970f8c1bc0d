//! The ledger: the record of runs, their frozen ids, the outcome of each job, who did it, from where, and why.
//!
//! Local by default: an SQLite file in the operator's state folder. What it holds was written before the fact
//! (intent) and after it (result), so that a crash leaves at most one batch to look at.

mod backend;
mod batches;
mod cohort;
mod dialect;
mod edits;
mod error;
mod handle;
mod health;
mod history;
mod locate;
mod marks;
mod model;
mod outcomes;
mod reveal_log;
mod runs;
mod schema;
mod snapshots;

pub use backend::WHEN_DAMAGED;
pub use batches::{Batches, CompletedBatch, Results};
pub use cohort::{CohortStats, Cohorts};
pub use edits::ArgumentEdits;
pub use error::{LedgerError, Result};
pub use handle::Ledger;
pub use health::{LedgerHealth, Lying, in_source, latest_version, lying};
pub use history::{JobHistory, KnownJob, known};
pub use locate::LedgerLocator;
pub use marks::{Mark, Marks, find as find_mark};
pub use model::*;
pub use outcomes::{ReplayOutcomes, ReplayedJob};
pub use reveal_log::{Reveal, RevealLog};
pub use runs::{RunLock, RunLocks, Runs};
pub use schema::LedgerInstallation;
pub use snapshots::RowSnapshots;

#[cfg(test)]
mod tests;
