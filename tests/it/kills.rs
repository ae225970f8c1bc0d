//! Processes that execute a run and are killed at it.

use std::process::Child;
use std::time::Duration;

use dlq_tui::ledger::{Ledger, RunId, RunState};

/// Jobs of a batch that the processes take at a time, which is all that a kill may leave in doubt.
pub const BATCH: usize = 50;

/// Starts a process that executes a run, and returns when it has begun to work on it, or has ended.
pub async fn at_work(ledger: &Ledger, run: &RunId, start: impl FnOnce() -> Child) -> Child {
    // As it stood before: the process may have begun before anybody looks.
    let before = not_started(ledger, run).await;
    let mut child = start();
    while not_started(ledger, run).await == before && child.try_wait().expect("a state").is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    child
}

/// Kills a process at work on a run for each of `waits`: so many milliseconds after it has begun, spread over what a batch
/// takes. The run adds up each time, and was killed at work at least once.
pub async fn kill_at_work(ledger: &Ledger, run: &RunId, waits: &[u64], start: impl Fn() -> Child) {
    let mut kills = 0;
    for wait in waits {
        let mut child = at_work(ledger, run, &start).await;
        tokio::time::sleep(Duration::from_millis(*wait)).await;
        let _ = child.kill();
        child.wait().expect("an end");
        let left = ledger.run(run).await.expect("a run");
        assert!(left.tally.adds_up() && left.tally.in_doubt <= BATCH as u64, "{:?}", left.tally);
        kills += u32::from(left.state == RunState::Running);
        if left.state == RunState::Finished {
            break;
        }
    }
    assert!(kills > 0, "it was never killed at work");
}

async fn not_started(ledger: &Ledger, run: &RunId) -> u64 {
    ledger.tally(run).await.expect("a tally").not_started
}
