//! How far a freeze or a run has got, and the switches that an operator has on it.

use std::time::Duration;

use crate::ledger::{RunId, RunState, RunTally};

/// How far freezing has got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreezeProgress {
    /// Jobs frozen so far.
    pub frozen: u64,
    /// Rows looked at so far.
    pub examined: u64,
    /// Share of the scan that lies behind, from 0 to 1.
    pub share: f32,
}

/// How far a run has got.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProgress {
    /// The run.
    pub run: RunId,
    /// Where it stands.
    pub state: RunState,
    /// What became of its jobs so far.
    pub tally: RunTally,
    /// Jobs a second over the last batches.
    pub rate: f64,
    /// Time left at this rate; `None` while it cannot be told.
    pub eta: Option<Duration>,
    /// Why it does not go on at the moment, such as a dropped connection; a sentence.
    pub waiting: Option<String>,
}
