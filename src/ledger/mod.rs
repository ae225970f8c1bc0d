//! The ledger: the record of runs, their frozen ids, the outcome of each job, who did it, from where, and why.
//!
//! Local by default: an SQLite file in the operator's state folder. What it holds was written before the fact
//! (intent) and after it (result), so that a crash leaves at most one batch to look at.

mod archive;
mod batches;
mod census;
mod cohort;
mod error;
mod health;
mod hold;
mod home;
mod homes;
mod id;
mod jobs;
mod model;
mod open;
mod record;
mod replays;
mod reveals;
mod runs;
mod schema;
mod since;
mod tally;
mod text;
mod undo;
mod witness;

pub use archive::LedgerArchive;
pub use batches::{Begun, Next, Results, Settled, Upcoming};
pub use census::Census;
pub use error::{LedgerError, Result};
pub use health::{Lying, in_source, latest_version, lying};
pub use hold::Hold;
pub use home::WHEN_DAMAGED;
pub use homes::Homes;
pub use model::*;
pub use open::Ledger;
pub use replays::{Known, known};
pub use reveals::Reveal;
pub use schema::Installation;
pub use witness::{LedgerWitness, Note};

#[cfg(test)]
mod tests;
