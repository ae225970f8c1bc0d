//! Questions under way: an answer that was superseded is nobody's answer.

use std::collections::HashMap;

use super::list::ListSide;
use crate::domain::job::JobId;
use crate::tui::app::effect::{Effect, Request, RequestId, Slot};

/// Questions under way.
#[derive(Debug, Default)]
pub struct OpenRequests {
    next: u64,
    open: HashMap<Slot, RequestId>,
    /// Where the rows of the page that was asked for belong.
    pub page: Option<ListSide>,
    /// The job whose detail was asked for.
    pub detail: Option<JobId>,
}

impl OpenRequests {
    /// Puts a question; what its slot was waiting for is superseded.
    #[must_use]
    pub fn ask(&mut self, slot: Slot, request: Request) -> Effect {
        self.next += 1;
        let id = RequestId(self.next);
        self.open.insert(slot, id);
        Effect::Ask { id, slot, request }
    }

    /// Whether an answer is the one that its slot waits for; it no longer waits then.
    pub fn accept(&mut self, slot: Slot, id: RequestId) -> bool {
        let wanted = self.open.get(&slot) == Some(&id);
        if wanted {
            self.open.remove(&slot);
        }
        wanted
    }

    /// Whether a slot waits for an answer.
    pub fn is_open(&self, slot: Slot) -> bool {
        self.open.contains_key(&slot)
    }

    /// Gives up a question.
    #[must_use]
    pub fn cancel(&mut self, slot: Slot) -> Effect {
        self.open.remove(&slot);
        if slot == Slot::Page {
            self.page = None;
        }
        Effect::Cancel(slot)
    }
}
