//! Whether a server takes changes: as it said when it was asked what it is, and as it says now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Engine;
use crate::db::cancellation::step;
use crate::db::connection::Facts;
use crate::domain::budget::Budget;
use crate::domain::source_error::Result;

/// Whether a server takes changes, from anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It does.
    Open,
    /// Somebody has closed it.
    Closed,
    /// It follows another one.
    Replica,
}

impl Gate {
    /// As dialects tell it in numbers, see `gate` of the dialects.
    pub(crate) fn from_number(number: i64) -> Self {
        match number {
            0 => Gate::Open,
            1 => Gate::Closed,
            _ => Gate::Replica,
        }
    }
}

impl Engine {
    /// Whether the server follows another one.
    pub fn is_replica(&self) -> bool {
        self.facts.gate == Some(Gate::Replica)
    }

    /// Why nothing can be written, where that is so.
    pub fn read_only(&self) -> Option<&str> {
        self.facts.read_only.as_deref()
    }

    /// Asks the server what it is, on a connection that is opened for that where one is to be had. What comes of it uses the
    /// same connections, so that closing one closes both.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses us.
    pub async fn reconnect(&self, budget: &Budget) -> Result<Engine> {
        // Some servers tell what they are when a connection is opened, and never again.
        self.pool.clear();
        let (lease, _) = self.lease(budget).await.map_err(|(error, _)| error)?;
        let patience = self.pool.connect_timeout();
        let asking = step(lease, patience, &budget.cancel, |link| Box::pin(async move { link.facts(None).await }));
        let (facts, _) = asking.await.1?;
        Ok(Engine {
            dialect: self.dialect,
            facts,
            place: self.place.clone(),
            connected: Instant::now(),
            lock_timeout: self.lock_timeout,
            quickest: AtomicU64::new(self.quickest.load(Ordering::Relaxed)),
            pool: Arc::clone(&self.pool),
        })
    }
}

impl Facts {
    /// Whether the server takes changes now and did not at the first question, or the other way round.
    pub(crate) fn has_turned(&self, now: Option<Gate>) -> bool {
        now.zip(self.gate).is_some_and(|(now, then)| now != then)
    }
}
