//! The switches that an operator has on a run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// What the operator wants of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Go,
    /// Wait after the batch that runs.
    Pause,
    /// End after the batch that runs; the run can be resumed.
    Stop,
}

/// Pause, go on and stop, from any task; clones are the same switch.
#[derive(Clone, Debug)]
pub struct RunControl(Arc<watch::Sender<Wish>>);

impl Default for RunControl {
    fn default() -> Self {
        Self::new()
    }
}

impl RunControl {
    /// A switch that says go.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Wish::Go)))
    }

    /// Waits after the batch that runs. A stop stands.
    pub fn pause(&self) {
        self.unless_stopped(Wish::Pause);
    }

    /// Goes on after a pause. A stop stands.
    pub fn go_on(&self) {
        self.unless_stopped(Wish::Go);
    }

    /// Ends after the batch that runs, for good.
    pub fn stop(&self) {
        self.0.send_replace(Wish::Stop);
    }

    /// What is wanted now.
    pub fn wish(&self) -> Wish {
        *self.0.borrow()
    }

    fn unless_stopped(&self, wish: Wish) {
        self.0.send_if_modified(|now| {
            let change = *now != Wish::Stop && *now != wish;
            if change {
                *now = wish;
            }
            change
        });
    }

    /// Waits for `span`, and no longer than until a stop.
    pub(super) async fn rest(&self, span: Duration) {
        let mut wishes = self.0.subscribe();
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            // Cannot fail: `self` keeps the sending half.
            _ = wishes.wait_for(|wish| *wish == Wish::Stop) => {}
        }
    }

    /// Waits until the run is not paused.
    pub(super) async fn unpaused(&self) -> Wish {
        match self.0.subscribe().wait_for(|wish| *wish != Wish::Pause).await {
            Ok(wish) => *wish,
            Err(_) => Wish::Stop,
        }
    }
}
