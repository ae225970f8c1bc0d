//! The console: a synchronous model, a pure view, and a runtime that is the only place with IO, clock and tasks.

pub mod app;
pub mod keys;
mod program;
pub mod runtime;
pub mod theme;
pub mod view;

pub use runtime::edit_text;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::domain::filter::Filter;
use crate::domain::redact::Redactor;
use crate::ledger::{LedgerLocator, RunId};
use crate::store::{Budget, Deliver, SourceError};
use crate::triage::StoreContext;

/// One layout that was found in a source: what the picker shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreChoice {
    /// Unique among the choices: what `--store` takes.
    pub name: String,
    /// The adapter's title, and the table.
    pub title: String,
}

/// Reaches the source and opens stores in it, again after a lost connection.
pub trait Opener: Send + Sync {
    /// The source as the header shows it: its name in the config, or the URL without the secret.
    fn label(&self) -> String;

    /// The options by which another command line reaches the source; none where the environment does.
    fn reach(&self) -> Vec<String> {
        Vec::new()
    }

    /// Connects and lists the layouts that are there.
    ///
    /// # Errors
    /// When the source cannot be reached, or none of the known layouts is in it.
    fn choices(&self) -> BoxFuture<'_, Result<Vec<StoreChoice>, SourceError>>;

    /// Opens one of them.
    ///
    /// # Errors
    /// When the source cannot be reached any more or the layout is gone.
    fn open(&self, name: String) -> BoxFuture<'_, Result<OpenStore, SourceError>>;

    /// The same, of a source that may have become another one meanwhile: what it is and what its tables are is asked once more.
    ///
    /// # Errors
    /// As [`Opener::open`].
    fn reopen(&self, name: String) -> BoxFuture<'_, Result<OpenStore, SourceError>> {
        self.open(name)
    }

    /// Makes a note on an incident.
    ///
    /// # Errors
    /// A sentence: when the source or the ledger fails, or the file is there already.
    fn note(&self, _store: OpenStore, _asked: NoteRequest, _budget: Budget) -> BoxFuture<'_, Result<Note, String>> {
        Box::pin(async { Err("no note can be made of this source".to_owned()) })
    }
}

/// A note on an incident, as Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Its text.
    Text(String),
    /// It was written into this new file.
    Written(PathBuf),
}

/// What a note is asked for.
#[derive(Clone, Debug)]
pub struct NoteRequest {
    /// The run that it is about; without one, the jobs of the filter.
    pub run: Option<RunId>,
    /// The filter, resolved.
    pub filter: Filter,
    /// The new file that it is written into.
    pub to: Option<PathBuf>,
}

/// A store that was opened for the console.
#[derive(Clone)]
pub struct OpenStore {
    /// The store, and who acts on it.
    pub desk: StoreContext,
    /// Where replayed jobs go when the destination is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// What judges jobs before they are replayed.
    pub validate: Option<crate::domain::run_options::validator::Validator>,
    /// The record of the store's source; looked up when it is first needed. Without, the one of the launch.
    pub record: Option<LedgerLocator>,
}

/// What the console is started with.
pub struct Launch {
    /// The way to the source.
    pub opener: Arc<dyn Opener>,
    /// The way to the operator's own record, while no store is open; nothing is acted on without one.
    pub record: LedgerLocator,
    /// The store to open without asking (`--store`).
    pub store: Option<String>,
    /// The filter to start with, already known to parse.
    pub filter: String,
    /// Colours, glyphs, mouse, pace.
    pub settings: app::Settings,
    /// What is masked in payloads.
    pub redaction: Arc<Redactor>,
    /// A line for the header, such as `demo`; empty for none.
    pub banner: String,
}

/// Runs the console until the operator leaves it.
///
/// # Errors
/// When there is no fit terminal, or the console has a fault; the terminal is restored in every case.
pub async fn run(launch: Launch) -> Result<(), runtime::ConsoleError> {
    let filter = crate::domain::filter::Filter::parse(&launch.filter)
        .map_err(|error| runtime::ConsoleError::Fault(error.to_string()))?;
    let source = app::model::SourceState {
        label: launch.opener.label(),
        reach: launch.opener.reach(),
        banner: launch.banner.clone(),
        wanted: launch.store.clone(),
        opened: None,
        reopening: None,
    };
    let mut state = app::model::FilterState::default();
    state.set(filter, crate::domain::time::Timestamp::now());
    // Only the demo has a banner, and a story.
    let tour = (!launch.banner.is_empty()).then_some(app::tour::TourStep::Narrow);
    let mut model = app::model::Model::new(source, state, launch.settings.clone(), (80, 24));
    model.screen.tour = tour;
    runtime::run(&launch, program::ConsoleProgram::new(model)).await
}

pub use app::warm_up;

/// The reference of keys and of the command line's words, as Markdown.
pub fn reference() -> String {
    format!("{}{}", keys::reference(), app::command_reference())
}
