//! What a destination outside the database was given of a batch, and whether it accepted any of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::domain::job::JobId;
use crate::store::{Deliver, Message};

/// It was given jobs.
const GIVEN: u8 = 1;
/// It accepted one.
const ACCEPTED: u8 = 2;

/// A destination of which is remembered how it took what it was given.
pub(super) struct DeliveryMonitor {
    to: Arc<dyn Deliver>,
    seen: AtomicU8,
}

impl DeliveryMonitor {
    pub(super) fn new(to: Arc<dyn Deliver>) -> Self {
        Self { to, seen: AtomicU8::new(0) }
    }

    /// Whether it accepted any job since this was asked last; `None` where it was given none.
    pub(super) fn accepted(&self) -> Option<bool> {
        let seen = self.seen.swap(0, Ordering::Relaxed);
        (seen & GIVEN != 0).then_some(seen & ACCEPTED != 0)
    }
}

impl Deliver for DeliveryMonitor {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        if !batch.is_empty() {
            self.seen.fetch_or(GIVEN, Ordering::Relaxed);
        }
        let told = |answers: &Vec<(JobId, Result<(), String>)>| {
            if answers.iter().any(|(_, answer)| answer.is_ok()) {
                self.seen.fetch_or(ACCEPTED, Ordering::Relaxed);
            }
        };
        self.to.deliver(batch).inspect(told).boxed()
    }
}
