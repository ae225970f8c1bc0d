//! From a command line to an open store: which database, connect, what is in it, which of that.

mod masked;
mod no_layout;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use tokio::sync::watch;

use crate::adapter::Library;
use crate::cli::exit::CliError;
use crate::cli::operator;
use crate::cli::source::source_choice::{Origin, SourceChoice};
use crate::config::{ReplayTo, Source, Thresholds};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::job::{JobDetail, JobId};
use crate::domain::load_share::LoadShare;
use crate::domain::redact::{Masker, Redactor};
use crate::domain::run_options::destination::Destination;
use crate::domain::run_options::validator::Validator;
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, LedgerLocator, Whose, known};
use crate::store::survey::{EngineOptions, Found, OpenOptions, ReplayDestination, Survey};
use crate::store::{Budget, Deliver, HistogramStep, SourceError, Store};
use crate::triage::deliver::CommandDestination;
use crate::triage::{StoreContext, replay_limit};

/// An open store with everything that a command needs of it.
pub struct OpenedStore {
    /// The store, and who acts on it.
    pub desk: StoreContext,
    /// Where replayed jobs go when that is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// What the config names to judge jobs before they are replayed.
    pub validate: Option<Validator>,
    /// Deadline and cancel switch of every statement.
    pub budget: Budget,
    /// When the command began.
    pub now: Timestamp,
    /// The same instant by the source's clock: relative times of filters are resolved against it.
    clock: Timestamp,
    /// From where on a cohort asks for the number, and how often a job may have been replayed.
    pub thresholds: Thresholds,
    /// What watching may take of the database's time.
    pub share: LoadShare,
    /// The options by which another command line reaches the same store.
    pub reach: Vec<String>,
    /// Whether a run is to pause, as signals say.
    pub pauses: watch::Receiver<bool>,
    masker: Masker,
    homes: LedgerLocator,
}

/// A database with the layouts that were found in it.
pub struct Surveyed {
    /// Where it came from.
    pub origin: Origin,
    /// What is there.
    pub survey: Survey,
    /// The way to the ledger.
    pub homes: LedgerLocator,
    /// Nothing was opened yet: what the survey heard is fresh.
    is_fresh: AtomicBool,
    redactor: Arc<Redactor>,
}

/// Connects, and looks which layouts are there; the adapters are read meanwhile. Where the server wants a password that
/// nobody has told us, somebody at the terminal is asked for it.
///
/// # Errors
/// When the database cannot be reached or read.
pub async fn survey(session: &SourceChoice, origin: Origin, budget: &Budget) -> Result<Surveyed> {
    let looked = survey_with_library(session, reading(session, tell_faults), origin.clone(), budget).await;
    or_asked(session, &origin, looked, budget).await
}

/// What was found, or what is found with the password that somebody at the terminal was asked for.
///
/// # Errors
/// As [`survey`].
pub async fn or_asked(
    session: &SourceChoice,
    origin: &Origin,
    looked: Result<Surveyed>,
    budget: &Budget,
) -> Result<Surveyed> {
    match looked {
        Err(error) => match origin.with_asked_password(&error).await? {
            // What is wrong with the adapters was told.
            Some(origin) => survey_with_library(session, reading(session, |_| {}), origin, budget).await,
            None => Err(error),
        },
        surveyed => surveyed,
    }
}

/// The same for the console, which has the terminal: nobody is asked for anything, and two connections are opened at once, as its
/// first screen asks for rows and bars at the same time.
///
/// # Errors
/// As [`survey`].
pub async fn survey_silently(session: &SourceChoice, origin: Origin, budget: &Budget) -> Result<Surveyed> {
    let options = EngineOptions { opens_second: true, ..origin.engine_options(session) };
    survey_with_options(session, reading(session, tell_faults), (origin, options), budget).await
}

/// The adapters, which are read on another thread once they are asked for.
fn reading(session: &SourceChoice, tell: impl FnOnce(&Library)) -> impl Future<Output = Library> {
    let folder = session.paths.adapters().to_owned();
    async {
        let reading = tokio::task::spawn_blocking(move || Library::load(Some(&folder)));
        let library = reading.await.unwrap_or_default();
        tell(&library);
        library
    }
}

/// The same, by these adapters.
///
/// # Errors
/// As [`survey`].
pub async fn survey_with_library(
    session: &SourceChoice,
    library: impl Future<Output = Library>,
    origin: Origin,
    budget: &Budget,
) -> Result<Surveyed> {
    let options = origin.engine_options(session);
    survey_with_options(session, library, (origin, options), budget).await
}

async fn survey_with_options(
    session: &SourceChoice,
    library: impl Future<Output = Library>,
    (origin, options): (Origin, EngineOptions),
    budget: &Budget,
) -> Result<Surveyed> {
    // What is shown on this screen is one thing, and what is put on record another.
    let redactor = Arc::new(session.redactor().revealing(false));
    let destination = destination(origin.source.as_ref(), &redactor);
    let survey = Survey::connect(&origin.target, &options, library, &destination, budget).await?;
    Ok(Surveyed::of(survey, session, origin, redactor))
}

/// The adapters at hand; a file that cannot be used is told of and left out.
pub fn library(session: &SourceChoice) -> Library {
    let library = Library::load(Some(session.paths.adapters()));
    tell_faults(&library);
    library
}

fn tell_faults(library: &Library) {
    for fault in &library.faults {
        crate::cli::output::say(&format!("dlq-tui: warning: {fault}"));
    }
}

impl Surveyed {
    fn of(survey: Survey, session: &SourceChoice, origin: Origin, redactor: Arc<Redactor>) -> Self {
        let homes = LedgerLocator::new(session.paths.ledger(), Some(survey.source().clone()));
        Self { origin, survey, homes, is_fresh: AtomicBool::new(true), redactor }
    }

    /// What is there now, by the same connections and adapters.
    ///
    /// # Errors
    /// When the database cannot be reached or read.
    pub async fn again(&self, session: &SourceChoice, budget: &Budget) -> crate::store::Result<Surveyed> {
        let survey = self.survey.again(budget).await?;
        Ok(Self::of(survey, session, self.origin.clone(), Arc::clone(&self.redactor)))
    }

    /// The one layout to open: the one that was named, or the only one.
    ///
    /// # Errors
    /// When there is none, none of that name, or several and none is named.
    pub async fn layout_to_open(&self, session: &SourceChoice, budget: &Budget) -> Result<&Found> {
        let choices = self.choices();
        if let [one] = choices.as_slice() {
            return Ok(one);
        }
        let name = &self.origin.name;
        // As a shell takes them: a schema may have blanks in its name.
        let labels = |found: &[&Found]| {
            found.iter().map(|f| shell_words::quote(&f.label()).into_owned()).collect::<Vec<_>>().join(", ")
        };
        let all: Vec<&Found> = self.survey.found().iter().collect();
        let why = match (choices.as_slice(), &self.origin.store) {
            ([], Some(store)) if !all.is_empty() => {
                format!("{name} holds no store `{store}`; it holds {}", labels(&all))
            }
            ([], _) => self.why_none(session, budget).await,
            (several, _) => format!("{name} holds several stores: choose one with --store ({})", labels(several)),
        };
        Err(CliError::usage(why).into())
    }

    /// The layouts that fit what was named with `--store`, or all.
    pub fn matching(&self) -> Vec<&Found> {
        let named = |found: &&Found| self.origin.store.as_ref().is_none_or(|store| found.is_named(store));
        self.survey.found().iter().filter(named).collect()
    }

    /// Of those the ones to choose among: what the role may not read is none, unless it may read nothing.
    pub fn choices(&self) -> Vec<&Found> {
        let matching = self.matching();
        let readable: Vec<&Found> = matching.iter().copied().filter(|found| found.is_readable()).collect();
        if readable.is_empty() { matching } else { readable }
    }

    /// Opens a layout.
    ///
    /// # Errors
    /// When the table does not fit its adapter, or the database fails.
    pub async fn open(&self, found: &Found, budget: &Budget) -> Result<StoreContext> {
        let options =
            OpenOptions { just_connected: self.is_fresh.swap(false, Ordering::Relaxed), ..self.open_options() };
        let store = self.survey.open(found, &options, budget).await?;
        Ok(StoreContext {
            operator: operator::current(self.survey.source().user()),
            store,
            source: self.origin.name.clone(),
            production: self.origin.production(),
            redactor: Arc::clone(&self.redactor),
            ledger: Some(self.homes.clone()),
        })
    }
}

impl Surveyed {
    /// How the source's stores are opened, whatever was heard of the database meanwhile.
    pub fn open_options(&self) -> OpenOptions {
        let source = self.origin.source.as_ref();
        let no_edit = source.is_some_and(|source| !source.edit);
        OpenOptions { destination: destination(source, &self.redactor), no_edit, ..OpenOptions::default() }
    }

    /// Opens a layout over a connection of its own, of which nothing lasts.
    ///
    /// # Errors
    /// When it cannot be reached or read.
    pub async fn rehearse(
        &self,
        session: &SourceChoice,
        found: &Found,
        budget: &Budget,
    ) -> crate::store::Result<Arc<dyn Store>> {
        let connection = (&self.origin.target, self.origin.engine_options(session));
        self.survey.open_rollback_only(connection, found, &self.open_options(), budget).await
    }
}

/// Where a source's replayed jobs go, as the store takes it.
fn destination(source: Option<&Source>, redactor: &Redactor) -> ReplayDestination {
    match source.and_then(|s| s.replay.as_ref()) {
        None => ReplayDestination::None,
        Some(ReplayTo::Table(table)) => ReplayDestination::Table(table.clone()),
        Some(ReplayTo::Command { command, .. }) => ReplayDestination::Command(Destination::line(command, redactor)),
    }
}

/// Opens the one store that a headless command is for.
///
/// # Errors
/// When nothing says which database or which store, or it cannot be reached or read.
pub async fn open(session: &SourceChoice) -> Result<OpenedStore> {
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    // From the beginning: a pause that is asked for while the jobs are frozen is one, and no end.
    let pauses = crate::cli::signal::pauses();
    session.record_reveal(&origin.name).await?;
    let surveyed = survey(session, origin, &budget).await?;
    let found = surveyed.layout_to_open(session, &budget).await?;
    for warning in &found.warnings {
        crate::cli::output::say(&format!("dlq-tui: warning: {}", Clean::line(warning)));
    }
    let desk = surveyed.open(found, &budget).await?;
    let opened = OpenedStore::of_console(session, &surveyed, desk, budget);
    let mut reach = surveyed.origin.reach.clone();
    reach.extend(session.connect.store.iter().flat_map(|store| ["--store".to_owned(), store.clone()]));
    Ok(OpenedStore {
        reach,
        pauses,
        deliver: deliver(&surveyed.origin),
        validate: surveyed.origin.validate(),
        ..opened
    })
}

/// The command that replayed jobs of a source are handed to, where the config names one.
pub fn deliver(origin: &Origin) -> Option<Arc<dyn Deliver>> {
    match origin.source.as_ref()?.replay.clone()? {
        ReplayTo::Command { command, timeout } => Some(Arc::new(CommandDestination { argv: command, timeout })),
        ReplayTo::Table(_) => None,
    }
}

impl OpenedStore {
    /// A store that the console has open, for what commands read of it.
    pub fn of_console(session: &SourceChoice, surveyed: &Surveyed, desk: StoreContext, budget: Budget) -> Self {
        Self {
            reach: surveyed.origin.reach.clone(),
            deliver: None,
            validate: None,
            clock: desk.store.clock(),
            desk,
            budget,
            now: Timestamp::now(),
            pauses: watch::channel(false).1,
            thresholds: session.config.thresholds,
            share: session.config.watch.budget,
            masker: Masker::new(Arc::new(session.redactor())),
            homes: surveyed.homes.clone(),
        }
    }

    /// Opens the ledger: the one in the source, where it holds one, beside the operator's own.
    ///
    /// # Errors
    /// When it cannot be used.
    pub async fn ledger(&self) -> Result<Ledger> {
        let ledger = self.homes.ledger().await?;
        if let Some(remark) = ledger.warning() {
            crate::cli::output::say(&format!("dlq-tui: {remark}"));
        }
        Ok(ledger)
    }

    /// What jobs are counted by: what was asked for, or the error class, or what there is where no error classes are kept.
    pub fn facet(&self, asked: Option<Facet>) -> Facet {
        let offered = &self.desk.store.info().capabilities.facets;
        let usual = if offered.contains(&Facet::Error) { Some(&Facet::Error) } else { offered.first() };
        asked.or(usual.copied()).unwrap_or(Facet::Error)
    }

    /// How often a job was replayed before, along its lineage; `None` where the ledger cannot be read.
    pub async fn replayed(&self, detail: &JobDetail) -> Option<u64> {
        let ledger = self.homes.ledger().await.ok()?;
        let known = [known(detail)];
        let database = self.desk.store.identity(&self.budget).await.ok()?;
        let (source, store) = (&self.desk.source, self.desk.store_name());
        let counts =
            ledger.history().replayed_counts(Whose { source, store: &store, database: database.as_ref() }, &known);
        let counts = counts.await.ok()?;
        Some(counts.get(&detail.row.id).copied().unwrap_or(0))
    }

    /// How often each of these jobs of a list was replayed before, along its lineage, some hundreds at the most; jobs that
    /// never were are left out. `None` where the ledger cannot be read.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn replays(&self, ids: Vec<JobId>) -> Result<Option<HashMap<JobId, u64>>, SourceError> {
        let (source, store) = (&self.desk.source, self.desk.store_name());
        let Ok(ledger) = self.homes.ledger().await else { return Ok(None) };
        match ledger.history().has_replays(source, &store).await {
            // Which is what most sources are: then no row is read for it.
            Ok(false) => return Ok(Some(HashMap::new())),
            Ok(true) => {}
            Err(_) => return Ok(None),
        }
        let known = replay_limit::known(&*self.desk.store, ids, &self.budget).await?;
        let database = self.desk.store.identity(&self.budget).await?;
        Ok(ledger
            .history()
            .replayed_counts(Whose { source, store: &store, database: database.as_ref() }, &known)
            .await
            .ok())
    }

    /// Reads a filter and resolves its times; without a text every dead job passes.
    ///
    /// # Errors
    /// With the column that is wrong, and what was expected there.
    pub fn filter(&self, text: Option<&str>) -> Result<Filter> {
        filter(text).map(|f| f.resolve(self.clock))
    }

    /// Counts by a facet to the end, and returns the last step: complete, with where looks take over.
    ///
    /// # Errors
    /// When the store does not offer the facet, or the database fails.
    pub async fn count(&self, facet: Facet, filter: &Filter) -> Result<HistogramStep> {
        Ok(self.count_to_end(self.offered(facet)?, filter).await?)
    }

    /// The facet, where the store can be counted by it.
    ///
    /// # Errors
    /// Otherwise, with those that it can be counted by.
    pub fn offered(&self, facet: Facet) -> Result<Facet> {
        let info = self.desk.store.info();
        if info.capabilities.facets.contains(&facet) {
            return Ok(facet);
        }
        let known: Vec<&str> = info.capabilities.facets.iter().map(|f| f.word()).collect();
        let message = format!("{} cannot be counted by {facet}; it can by {}", info.title, known.join(", "));
        Err(CliError::usage(message).into())
    }

    /// As [`OpenedStore::count`], for a facet that the store is known to offer.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn count_to_end(&self, facet: Facet, filter: &Filter) -> Result<HistogramStep, SourceError> {
        self.desk.count_to_end(facet, filter, &self.budget).await
    }
}

/// Reads a filter as it was written.
///
/// # Errors
/// With the column that is wrong, and what was expected there.
pub fn filter(text: Option<&str>) -> Result<Filter> {
    match text {
        None => Ok(Filter::all()),
        Some(text) => {
            Filter::parse(text).map_err(|e| CliError::usage(format!("the filter: {e}\n{}", e.pointer())).into())
        }
    }
}
