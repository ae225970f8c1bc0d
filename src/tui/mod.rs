//! The console.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::BoxFuture;

use crate::config::Ui;
use crate::domain::filter::Filter;
use crate::domain::redact::Redactor;
use crate::ledger::Ledger;
use crate::store::Deliver;
use crate::triage::Desk;

/// A store that can be opened.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The adapter's name.
    pub adapter: String,
    /// The adapter's title, as one line.
    pub title: String,
    /// Schema and table.
    pub store: String,
}

/// Opens one of the choices, by its place among them; may be called again after a failure.
pub type Opener = Arc<dyn Fn(usize) -> BoxFuture<'static, Result<Desk>> + Send + Sync>;

/// Everything that the console starts with.
pub struct Launch {
    /// Name of the source, for the picker and until a store is open.
    pub source: String,
    /// The stores that were found: one opens, several are a choice. Never empty.
    pub choices: Vec<Choice>,
    /// Opens one of them.
    pub open: Opener,
    /// The record of runs.
    pub ledger: Ledger,
    /// Where replayed jobs go when that is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// The filter to start with; its times are not resolved.
    pub filter: Filter,
    /// Looks and manners.
    pub ui: Ui,
    /// What is masked.
    pub redactor: Redactor,
    /// Jobs above which the number must be typed.
    pub confirm_count: u64,
    /// Deadline of each statement.
    pub statement: Duration,
    /// The folder for what is kept between calls: filter history, log.
    pub state: PathBuf,
}

/// Runs the console until the operator leaves it.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run(launch: Launch) -> Result<()> {
    let _ = launch;
    anyhow::bail!("not built yet")
}

/// The reference of all keys, as Markdown.
pub fn reference() -> String {
    String::new()
}
