//! At most one request of a kind runs and at most one waits, whatever the keyboard and the clock ask for.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use crate::tui::app::{Request, RequestId, Slot};

/// A request that is to be started now.
#[derive(Debug)]
pub struct Start {
    /// Identity.
    pub id: RequestId,
    /// Its place.
    pub slot: Slot,
    /// The question.
    pub request: Request,
    /// Cancelled when its answer no longer matters.
    pub cancel: CancellationToken,
}

#[derive(Debug)]
struct Running {
    id: RequestId,
    cancel: CancellationToken,
    /// A newer request has taken its place: nobody waits for this answer.
    superseded: bool,
}

/// What runs and what waits.
#[derive(Debug, Default)]
pub struct RequestSlots {
    running: HashMap<Slot, Running>,
    waiting: HashMap<Slot, (RequestId, Request)>,
}

impl RequestSlots {
    /// Takes in a request; what is returned is to be started now.
    #[must_use = "a request that is not started never frees its slot"]
    pub fn ask(&mut self, slot: Slot, id: RequestId, request: Request) -> Option<Start> {
        let Some(running) = self.running.get_mut(&slot) else {
            return Some(self.start(slot, id, request));
        };
        // An act is somebody's decision: only they stop it.
        if slot != Slot::Act {
            running.superseded = true;
            running.cancel.cancel();
        }
        self.waiting.insert(slot, (id, request));
        None
    }

    /// Stops what a slot runs and forgets what it has waiting. What runs still answers.
    pub fn cancel(&mut self, slot: Slot) {
        self.waiting.remove(&slot);
        if let Some(running) = self.running.get(&slot) {
            running.cancel.cancel();
        }
    }

    /// Notes that a request has ended: whether its answer still matters, and what is to be started now.
    #[must_use = "a request that is not started never frees its slot"]
    pub fn ended(&mut self, slot: Slot, id: RequestId) -> (bool, Option<Start>) {
        match self.running.remove(&slot) {
            Some(running) if running.id == id => {
                let next = self.waiting.remove(&slot).map(|(id, request)| self.start(slot, id, request));
                (!running.superseded, next)
            }
            Some(other) => {
                self.running.insert(slot, other);
                (false, None)
            }
            None => (false, None),
        }
    }

    /// Cancels everything but acts, and forgets everything that waits: for the end of the console.
    pub fn close(&mut self) {
        self.waiting.clear();
        for (_, running) in self.running.iter().filter(|(slot, _)| **slot != Slot::Act) {
            running.cancel.cancel();
        }
    }

    fn start(&mut self, slot: Slot, id: RequestId, request: Request) -> Start {
        let cancel = CancellationToken::new();
        self.running.insert(slot, Running { id, cancel: cancel.clone(), superseded: false });
        Start { id, slot, request, cancel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(slots: &mut RequestSlots, slot: Slot, id: u64) -> Option<Start> {
        slots.ask(slot, RequestId(id), Request::Totals(true))
    }

    fn id(start: Option<Start>) -> Option<u64> {
        start.map(|start| start.id.0)
    }

    #[test]
    fn of_many_requests_the_first_runs_and_only_the_last_waits() {
        let mut slots = RequestSlots::default();
        let first = ask(&mut slots, Slot::Page, 1).expect("starts");
        assert!(ask(&mut slots, Slot::Page, 2).is_none());
        assert!(ask(&mut slots, Slot::Page, 3).is_none());
        assert!(first.cancel.is_cancelled());
        let (matters, next) = slots.ended(Slot::Page, RequestId(1));
        assert!(!matters);
        let next = next.expect("starts");
        assert_eq!(next.id, RequestId(3));
        assert!(!next.cancel.is_cancelled());
        let (matters, next) = slots.ended(Slot::Page, RequestId(3));
        assert!(matters && next.is_none());
    }

    #[test]
    fn slots_do_not_disturb_each_other() {
        let mut slots = RequestSlots::default();
        let page = ask(&mut slots, Slot::Page, 1).expect("starts");
        assert_eq!(id(ask(&mut slots, Slot::Poll, 2)), Some(2));
        assert!(!page.cancel.is_cancelled());
    }

    #[test]
    fn an_act_is_cancelled_by_its_own_switch_only() {
        let mut slots = RequestSlots::default();
        let freeze = ask(&mut slots, Slot::Act, 1).expect("starts");
        assert!(ask(&mut slots, Slot::Act, 2).is_none());
        slots.close();
        assert!(!freeze.cancel.is_cancelled());
        slots.cancel(Slot::Act);
        assert!(freeze.cancel.is_cancelled());
        let (matters, next) = slots.ended(Slot::Act, RequestId(1));
        assert!(matters, "the operator is told what became of it");
        assert!(next.is_none());
    }

    #[test]
    fn an_end_that_is_not_the_running_one_changes_nothing() {
        let mut slots = RequestSlots::default();
        let first = ask(&mut slots, Slot::Rows, 7).expect("starts");
        let (matters, next) = slots.ended(Slot::Rows, RequestId(6));
        assert!(!matters && next.is_none());
        assert!(!first.cancel.is_cancelled());
        assert!(ask(&mut slots, Slot::Rows, 8).is_none(), "7 still runs");
        assert!(!slots.ended(Slot::Totals, RequestId(9)).0);
    }
}
