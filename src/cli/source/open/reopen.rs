//! A database that was surveyed before, looked at again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Surveyed;
use crate::adapter::Library;
use crate::cli::source::source_choice::SourceChoice;
use crate::ledger::LedgerLocator;
use crate::store::sql::{self, Detection};
use crate::store::{Budget, Result};

/// Lets nothing be written to the layouts whose adapters are in doubt.
pub(super) fn hold_back(library: &Library, detection: &mut Detection) {
    for found in &mut detection.found {
        if let Some(reason) = library.doubt(&found.adapter, &found.table) {
            found.hold_back(reason);
        }
    }
}

impl Surveyed {
    /// What the server is and which layouts it has now, by the same connections and adapters.
    ///
    /// # Errors
    /// When the database cannot be reached or read.
    pub async fn again(&self, session: &SourceChoice, budget: &Budget) -> Result<Surveyed> {
        let engine = Arc::new(self.engine.reconnect(budget).await?);
        let mut detection = sql::detect(&engine, &self.library.adapters, budget).await?;
        hold_back(&self.library, &mut detection);
        Ok(Surveyed {
            origin: self.origin.clone(),
            homes: LedgerLocator::new(session.paths.ledger(), Some(Arc::clone(&engine))),
            engine,
            library: self.library.clone(),
            detection,
            is_fresh: AtomicBool::new(true),
            redactor: Arc::clone(&self.redactor),
        })
    }
}
