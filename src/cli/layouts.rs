//! The one place where commands touch how the store finds, opens and checks layouts.

use std::sync::Arc;

use anyhow::{Result, bail};

use crate::adapter::{Adapter, Library};
use crate::config::ReplayTo;
use crate::store::sql::engine::Engine;
use crate::store::{Budget, Store};

/// A layout that was found in a database.
#[derive(Clone, Debug)]
pub struct Found {
    /// The adapter's name.
    pub adapter: String,
    /// The table, with its schema where that is not the usual one.
    pub title: String,
}

impl Found {
    /// Whether `--store` means this one: by adapter or by table.
    pub fn is_named(&self, name: &str) -> bool {
        self.adapter == name || self.title == name || self.title.rsplit('.').next() == Some(name)
    }
}

/// The layouts that are in a database.
///
/// # Errors
/// When it cannot be read.
pub async fn detect(engine: &Arc<Engine>, library: &Library, budget: &Budget) -> Result<Vec<Found>> {
    let _ = (engine, library, budget);
    bail!("not built yet")
}

/// Opens a layout.
///
/// # Errors
/// When the table does not fit its adapter, or the database fails.
pub async fn open(
    engine: Arc<Engine>,
    found: &Found,
    replay_to: Option<&ReplayTo>,
    budget: &Budget,
) -> Result<Arc<dyn Store>> {
    let _ = (engine, found, replay_to, budget);
    bail!("not built yet")
}

/// Checks one adapter, or every one that fits a table, statement by statement: its name, and what is wrong.
///
/// # Errors
/// When the database cannot be read.
pub async fn check(
    engine: &Arc<Engine>,
    library: &Library,
    adapter: Option<&Adapter>,
    budget: &Budget,
) -> Result<Vec<(String, Vec<String>)>> {
    let _ = (engine, library, adapter, budget);
    bail!("not built yet")
}
