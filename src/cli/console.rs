//! The console, from the command line: what it opens, and whether there is a terminal for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::args::ConsoleArgs;
use super::exit::{CliError, Code};
use super::signal::Unhurried;
use crate::cli::export;
use crate::cli::export::note::NoteSubject;
use crate::cli::source::open::{self, OpenedStore, Surveyed};
use crate::cli::source::source_choice::{Origin, SourceChoice};
use crate::cli::verbs::run::resume_command;
use crate::config::mask_secrets;
use crate::ledger::LedgerLocator;
use crate::store::survey::{Found, Rejected};
use crate::store::{Budget, SourceError};
use crate::tui::app::Settings;
use crate::tui::runtime::ConsoleError;
use crate::tui::{self, Launch, Note, NoteRequest, OpenStore, Opener, StoreChoice};

/// How long a source may take to answer before the console comes up without it, and waits there. At 150 ms a round trip one
/// takes two thirds of a second.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// How long leaving may take: whoever leaves wants the shell at once. A statement that could not be stopped within it has the
/// deadline that every statement has on its server.
const LEAVE: Duration = Duration::from_millis(100);

/// Opens the console on the database that the command line names.
///
/// # Errors
/// When there is no terminal, nothing says which database, it holds no layout that is known, or the console fails.
pub async fn run(session: SourceChoice, args: &ConsoleArgs) -> Result<Code> {
    let origin = session.origin()?;
    on(session, origin, args, "").await
}

/// Opens the console on a database, with a line for its header.
///
/// # Errors
/// As [`run`].
pub async fn on(session: SourceChoice, origin: Origin, args: &ConsoleArgs, banner: &str) -> Result<Code> {
    terminal()?;
    let filter = open::filter(args.filter.as_deref())?;
    let record = LedgerLocator::new(session.paths.ledger(), None);
    let settings = settings(&session, &origin, args);
    let redaction = Arc::new(session.redactor());
    session.record_reveal(&origin.name).await?;
    let opener = Arc::new(SourceOpener::new(session, origin));
    // The source is waited for in any case, and called first.
    let check = opener.check_source();
    let (checked, ()) = tokio::join!(check, async { drop(tokio::task::spawn_blocking(tui::warm_up)) });
    checked?;
    let launch = Launch {
        opener: Arc::clone(&opener) as Arc<dyn Opener>,
        record,
        store: None,
        filter: filter.to_string(),
        settings,
        redaction,
        banner: banner.to_owned(),
    };
    let unhurried = Unhurried::begin();
    let ended = tui::run(launch).await;
    drop(unhurried);
    opener.close().await;
    match ended {
        Err(ConsoleError::RunStopped(run)) => {
            Err(CliError::partly(format!("stopped; resume with `{}`", resume_command(&run, &opener.reach()))).into())
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(Code::Done),
    }
}

fn settings(session: &SourceChoice, origin: &Origin, args: &ConsoleArgs) -> Settings {
    let ui = &session.config.ui;
    let theme = args.theme.or(ui.theme).map_or_else(|| "auto".to_owned(), |t| t.word().to_owned());
    Settings {
        theme,
        ascii: ui.ascii || args.ascii,
        mouse: ui.mouse || args.mouse,
        refresh: origin.source.as_ref().and_then(|s| s.refresh).unwrap_or(ui.refresh),
        budget: session.config.watch.budget,
        statement: session.statement_timeout(origin),
        keys: session.keys.clone(),
        thresholds: session.config.thresholds,
        redactor: Arc::new(session.redactor()),
        zone: ui.timezone,
    }
}

/// The way to a source, kept for reconnecting.
struct SourceOpener {
    session: SourceChoice,
    origin: Origin,
    statement: Duration,
    surveyed: Mutex<Option<Arc<Surveyed>>>,
    /// Whether what was surveyed could not be opened: what is tried again may have been changed since.
    in_vain: AtomicBool,
}

impl SourceOpener {
    fn new(session: SourceChoice, origin: Origin) -> Self {
        let statement = session.statement_timeout(&origin);
        Self { session, origin, statement, surveyed: Mutex::new(None), in_vain: AtomicBool::new(false) }
    }

    /// Looks before the console comes up, so that what cannot be mended by waiting is said in the shell. A source that
    /// is merely away is no reason to stay away: the console waits for it.
    async fn check_source(&self) -> Result<()> {
        let budget = Budget::new(self.statement);
        let looking = open::survey_silently(&self.session, self.origin.clone(), &budget);
        // An operator who sees nothing for long does not know whether anything happens: the console says it.
        let Ok(looked) = timeout(FIRST_LOOK, looking).await else { return Ok(()) };
        // The only connection for which somebody may be asked for a password: later the terminal is the console's.
        let looked = open::or_asked(&self.session, &self.origin, looked, &budget).await;
        match looked.map(|surveyed| self.keep(surveyed)) {
            Ok(surveyed) if surveyed.matching().is_empty() => {
                surveyed.layout_to_open(&self.session, &budget).await.map(drop)
            }
            Ok(_) => Ok(()),
            Err(error) if error.downcast_ref::<SourceError>().is_some_and(SourceError::retryable) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn survey(&self) -> Result<Arc<Surveyed>> {
        if let Some(surveyed) = self.known() {
            return Ok(surveyed);
        }
        let budget = Budget::new(self.statement);
        Ok(self.keep(open::survey_silently(&self.session, self.origin.clone(), &budget).await?))
    }

    fn keep(&self, surveyed: Surveyed) -> Arc<Surveyed> {
        let surveyed = Arc::new(surveyed);
        *self.lock() = Some(Arc::clone(&surveyed));
        surveyed
    }

    fn known(&self) -> Option<Arc<Surveyed>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Surveyed>>> {
        self.surveyed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open_in(&self, surveyed: &Surveyed, name: &str) -> std::result::Result<OpenStore, SourceError> {
        let found = surveyed.matching().into_iter().find(|f| f.label() == name);
        let found = found.ok_or_else(|| self.gone(surveyed, name))?;
        let desk = surveyed.open(found, &Budget::new(self.statement)).await.map_err(store_error)?;
        let record = Some(surveyed.homes.clone());
        let (deliver, validate) = (open::deliver(&self.origin), self.origin.validate());
        Ok(OpenStore { desk, deliver, validate, record })
    }

    /// Why a store that was there is not there any more.
    fn gone(&self, surveyed: &Surveyed, name: &str) -> SourceError {
        let before = self.known();
        let before = before.iter().flat_map(|before| before.matching()).find(|found| found.label() == name);
        let is_it = |r: &&Rejected| before.is_some_and(|f| f.adapter == r.adapter && f.schema == r.schema);
        let why = surveyed.survey.rejected().iter().find(is_it);
        let why = why.map_or_else(String::new, |rejected| format!(": {}", rejected.why()));
        SourceError::Input(format!("there is no store `{name}` any more{why}"))
    }

    /// Closes the connection, so that nothing of ours keeps running on the server.
    async fn close(&self) {
        if let Some(surveyed) = self.known() {
            surveyed.survey.close(LEAVE).await;
        }
    }
}

impl Opener for SourceOpener {
    fn label(&self) -> String {
        self.origin.name.clone()
    }

    fn reach(&self) -> Vec<String> {
        self.origin.reach.clone()
    }

    fn choices(&self) -> BoxFuture<'_, std::result::Result<Vec<StoreChoice>, SourceError>> {
        async move {
            let surveyed = self.survey().await.map_err(store_error)?;
            let choice = |f: &Found| StoreChoice { name: f.label(), title: f.title.clone() };
            Ok(surveyed.choices().into_iter().map(choice).collect())
        }
        .boxed()
    }

    fn open(&self, name: String) -> BoxFuture<'_, std::result::Result<OpenStore, SourceError>> {
        async move {
            // Unless this comes to its end, what is known of the source is in doubt.
            let opened = match self.in_vain.swap(true, Ordering::Relaxed) {
                true => self.reopen(name).await,
                false => {
                    let surveyed = self.survey().await.map_err(store_error)?;
                    self.open_in(&surveyed, &name).await
                }
            };
            let is_in_doubt = opened.as_ref().is_err_and(|error| !error.retryable());
            self.in_vain.store(is_in_doubt, Ordering::Relaxed);
            opened
        }
        .boxed()
    }

    fn reopen(&self, name: String) -> BoxFuture<'_, std::result::Result<OpenStore, SourceError>> {
        async move {
            let before = self.survey().await.map_err(store_error)?;
            let surveyed = before.again(&self.session, &Budget::new(self.statement)).await?;
            let opened = self.open_in(&surveyed, &name).await?;
            // Where it cannot be opened now, what was known of it is as good as anything.
            self.keep(surveyed);
            Ok(opened)
        }
        .boxed()
    }

    fn note(
        &self,
        store: OpenStore,
        asked: NoteRequest,
        budget: Budget,
    ) -> BoxFuture<'_, std::result::Result<Note, String>> {
        async move {
            let surveyed = self.survey().await?;
            let opened = OpenedStore::of_console(&self.session, &surveyed, store.desk, budget);
            let subject = asked.run.map_or(NoteSubject::Filter(asked.filter), NoteSubject::Run);
            export::note_of(&opened, &subject, asked.to).await
        }
        .map(|noted: Result<Note>| noted.map_err(|error| mask_secrets(&format!("{error:#}"))))
        .boxed()
    }
}

fn store_error(error: anyhow::Error) -> SourceError {
    error.downcast().unwrap_or_else(|error| SourceError::Input(format!("{error:#}")))
}

/// Whether the console can be shown here.
///
/// # Errors
/// Names the commands that work without a terminal.
pub fn terminal() -> Result<()> {
    tui::runtime::check_this_terminal().map_err(|why| CliError::usage(why).into())
}
