//! The ledger: the record of runs, their frozen ids, the outcome of each job, who did it, from where, and why.
//!
//! Local by default: an SQLite file in the operator's state folder. What it holds was written before the fact
//! (intent) and after it (result), so that a crash leaves at most one batch to look at.

mod error;
mod model;

pub use error::{LedgerError, Result};
pub use model::*;

/// The open ledger. Cheap to clone: clones share one pool.
#[derive(Clone, Debug)]
pub struct Ledger {}
