//! What operators do: plans, the run engine, and live counts, over any store and with every act in the ledger.
//!
//! No clock is read and no task is spawned here but where a function says so: the callers hand in the time.

mod argument_pages;
pub mod conformance;
pub mod contrast;
pub mod deliver;
pub mod freeze;
mod ledger_filter;
pub mod live;
mod lock_retry;
pub mod mark_comparison;
pub mod outcomes;
pub mod plan;
mod plan_notes;
pub mod progress;
pub mod repair;
pub mod replay_limit;
pub mod run;
mod single_attempts;
pub mod undo;
pub mod validate;

#[cfg(test)]
mod memory_store;

use std::sync::Arc;

use crate::domain::redact::Redactor;
use crate::ledger::{LedgerLocator, Operator};
use crate::store::{Reconcile, SourceError, Store, StoreInfo};

/// Everything that triage of one store needs, shared by the console and the commands.
#[derive(Clone)]
pub struct StoreContext {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Name of the source as the config has it, or the URL without its secret.
    pub source: String,
    /// Whether the source is marked as production: every bulk asks for the number.
    pub production: bool,
    /// Who acts.
    pub operator: Operator,
    /// What is a secret in the words of servers, commands and rows: it never goes on record.
    pub redactor: Arc<Redactor>,
    /// The ledger that judges filters by replays; looked up when one first needs it.
    pub ledger: Option<LedgerLocator>,
}

impl StoreContext {
    /// What the ledger calls the store: adapter and table.
    pub fn store_name(&self) -> String {
        store_name(self.store.info())
    }

    /// What tells how an interrupted batch ended.
    ///
    /// # Errors
    /// Where the store cannot tell that: then nobody may guess.
    pub fn reconcile(&self) -> Result<&dyn Reconcile, SourceError> {
        let cannot = || SourceError::Input(format!("{} does not tell what took effect", self.store_name()));
        self.store.reconcile().ok_or_else(cannot)
    }
}

/// What the record calls a store.
pub fn store_name(info: &StoreInfo) -> String {
    format!("{} {}", info.adapter, info.title)
}
