//! What requests are answered with: the way to the source, the open store, the record.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use super::marks;
use super::outcome_polls::OutcomePolls;
use super::world::Fact;
use crate::config::Thresholds;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Exactness, Histogram};
use crate::domain::job::{JobDetail, JobId, JobRow};
use crate::domain::redact::{Masker, Redactor};
use crate::domain::repair::EditableArguments;
use crate::domain::time::Timestamp;
use crate::ledger::{HistoryEntry, KnownJob, Ledger, LedgerError, LedgerLocator, Run, RunId, Whose, known};
use crate::store::{Budget, Entry, HistogramQuery, HistogramStep, Page, PageQuery, ScanMode, SourceError, StoreExt};
use crate::triage::StoreContext;
use crate::triage::contrast::{Comparison, ContrastQuery, ValueBars, contrast, count_values, sample_values};
use crate::triage::freeze::Ask;
use crate::triage::repair::{EditRequest, stored_arguments};
use crate::triage::run::RunControl;
use crate::tui::app::model::ArgumentCount;
use crate::tui::app::{JobDocument, Msg, Opened, Reply, Request, warm_up_rest};
use crate::tui::{Launch, Note, NoteRequest, OpenStore, Opener};

/// The longest that connecting and looking for layouts may take; the drivers give up before.
const CONNECT: Duration = Duration::from_secs(30);

/// Jobs whose arguments are read for completion.
const VALUES_OF: usize = 1_000;
/// Time between two frames of a count by a path of the arguments.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// Runs listed at a time.
const RUNS: usize = 200;
/// Jobs from which on a replay is stopped when they fail again, unless the operator switches that off.
const GUARD_ABOVE: u64 = 100;
/// How long what is not on the first screen waits for it to be drawn: it would take the processor from it.
const FIRST_FRAME: Duration = Duration::from_millis(10);
/// How long a database may take to say which it is.
const IDENTITY: Duration = Duration::from_secs(2);

/// What goes with a request that is under way.
pub struct Going {
    /// Deadline and cancel switch.
    pub budget: Budget,
    /// The operator's switch on a run.
    pub control: RunControl,
    /// Where progress is reported.
    pub facts: UnboundedSender<Fact>,
}

/// One console's way to its source. Shared by everything that is under way.
pub struct Session {
    pub opener: Arc<dyn Opener>,
    record: LedgerLocator,
    pub redactor: Arc<Redactor>,
    masker: Masker,
    /// Deadline of a statement.
    pub statement: Duration,
    /// From where on a cohort asks for the number, and how often a job may have been replayed.
    pub thresholds: Thresholds,
    open: Mutex<Option<OpenStore>>,
    outcomes: OutcomePolls,
}

impl Session {
    /// A session in which no store is open yet.
    pub fn new(launch: &Launch) -> Self {
        Self {
            opener: Arc::clone(&launch.opener),
            record: launch.record.clone(),
            redactor: Arc::clone(&launch.redaction),
            masker: Masker::new(Arc::clone(&launch.redaction)),
            statement: launch.settings.statement,
            thresholds: launch.settings.thresholds,
            open: Mutex::new(None),
            outcomes: OutcomePolls::default(),
        }
    }

    /// The open store.
    ///
    /// # Errors
    /// When none is open.
    pub fn store(&self) -> Result<OpenStore, SourceError> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| SourceError::Unreachable("no store is open".into()))
    }

    /// The record of the open store, or the operator's own while none is open.
    ///
    /// # Errors
    /// When it cannot be used.
    pub async fn ledger(&self) -> Result<Ledger, LedgerError> {
        self.ledger_locator().ledger().await
    }

    fn ledger_locator(&self) -> LedgerLocator {
        self.store().ok().and_then(|open| open.record).unwrap_or_else(|| self.record.clone())
    }

    async fn runs(&self) -> Result<Vec<Run>, LedgerError> {
        let ledger = self.ledger().await?;
        // However many plans were dismissed, they crowd out no run that was executed.
        let mut runs = ledger.runs().latest_confirmed(RUNS).await?;
        let known: HashSet<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        runs.extend(ledger.runs().latest(RUNS).await?.into_iter().filter(|run| !known.contains(&run.id)));
        runs.sort_by(|a, b| (b.intent.frozen_at, &b.id).cmp(&(a.intent.frozen_at, &a.id)));
        Ok(runs)
    }

    /// The runs, and what became of the latest replays.
    async fn runs_with_outcomes(&self, followed: Option<&RunId>, budget: &Budget) -> Result<Vec<Run>, LedgerError> {
        let mut runs = self.runs().await?;
        if let Ok(open) = self.store() {
            self.outcomes.refresh(&open.desk, &self.ledger().await?, &mut runs, followed, budget).await;
        }
        Ok(runs)
    }

    /// Answers a request. Can be dropped at any time, but for acts.
    pub async fn answer(&self, request: Request, going: &Going) -> Reply {
        let budget = &going.budget;
        match request {
            Request::Choices => Reply::Choices(within(CONNECT, self.opener.choices()).await),
            Request::Open(name) => Reply::Opened(Box::new(self.open(name, false).await)),
            Request::Reopen(name) => Reply::Reopened(Box::new(self.open(name, true).await)),
            Request::Histogram(query) => Reply::Histogram(Box::new(self.histogram(query, budget).await)),
            Request::Page { query, screen } => Reply::Page(self.page(query, screen, budget).await),
            Request::Detail(id) => Reply::Detail(self.detail(id, going).await),
            Request::Rows(ids) => {
                let rows = self.rows(&ids, budget).await;
                Reply::Rows(ids, rows)
            }
            Request::Estimate(facet) => Reply::Estimate(match self.store() {
                Ok(open) => {
                    open.desk.store.count(HistogramQuery::estimate(facet), budget).await.map(|s| Some(s.histogram))
                }
                Err(e) => Err(e),
            }),
            Request::ArgumentCount { keys, filter } => {
                Reply::ArgumentCount(Box::new(self.argument_count(keys, filter, going).await))
            }
            Request::Totals(asked) => Reply::Totals(match self.store() {
                Ok(open) => {
                    let states = open.desk.store.count(HistogramQuery::states(asked), budget).await;
                    states.map(|step| step.histogram.by_state())
                }
                Err(e) => Err(e),
            }),
            Request::Poll { since, facet, filter } => Reply::Poll(Box::new(match self.store() {
                Ok(open) => open.desk.changes(since.as_ref(), facet, &filter, budget).await,
                Err(e) => Err(e),
            })),
            Request::Values(facet) => Reply::Values(self.values(facet, budget).await),
            Request::Arguments(filter) => Reply::Arguments(match self.store() {
                Ok(open) => sample_values(&open.desk, &filter, VALUES_OF, budget).await.map(Arc::new),
                Err(e) => Err(e),
            }),
            Request::Contrast(query) => Reply::Contrast(Box::new(self.contrast(query, going).await)),
            Request::EditableArguments(id) => {
                Reply::EditableArguments(id.clone(), Box::new(self.editable_arguments(&id, budget).await))
            }
            Request::Plan { action, scope, limit, pick, options, reason, is_guarded, is_validated, edited } => {
                let guard_above = is_guarded.then_some(GUARD_ABOVE);
                let edit = edited.map(|edited| EditRequest::edited(*edited));
                let ask = Ask { guard_above, edit, ..Ask::new(scope, action, Timestamp::now()) };
                let ask = Ask { limit, pick, options: *options, reason, ..ask };
                Reply::Planned(Box::new(self.plan(ask, is_validated, going).await))
            }
            Request::Execute(run) => Reply::Executed(Box::new(self.execute(run, going).await)),
            Request::Resume { run, skip_gate } => Reply::Executed(Box::new(self.resume(run, skip_gate, going).await)),
            Request::Dismiss(run) => Reply::Dismissed(self.dismiss(run).await),
            Request::Runs => Reply::Runs(self.runs().await.map_err(|e| e.to_string())),
            Request::Note(asked) => Reply::Note(note(self, asked, budget).await),
            Request::Marks(asked) => marks::answer(self, asked, budget).await,
            Request::RunsAgain { followed } => {
                let runs = self.runs_with_outcomes(followed.as_ref(), budget).await;
                Reply::RunsAgain(runs.map_err(|e| e.to_string()))
            }
        }
    }

    async fn rows(&self, ids: &[JobId], budget: &Budget) -> Result<Vec<Entry>, SourceError> {
        let rows = self.store()?.desk.store.rows(ids, budget).await?;
        Ok(self.masked(rows))
    }

    async fn open(&self, name: String, reopen: bool) -> Result<Opened, SourceError> {
        let opening = if reopen { self.opener.reopen(name.clone()) } else { self.opener.open(name.clone()) };
        let open = within(CONNECT, opening).await?;
        let opened = Opened { info: open.desk.store.info().clone(), production: open.desk.production, name };
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        Ok(opened)
    }

    async fn histogram(&self, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep, SourceError> {
        self.store()?.desk.count(query, budget).await
    }

    /// Values for completion: what the statistics know, or the first steps of a count where there are none.
    async fn values(&self, facet: Facet, budget: &Budget) -> Result<Histogram, SourceError> {
        let store = self.store()?.desk.store;
        let estimate = store.count(HistogramQuery::estimate(facet), budget).await?.histogram;
        if !estimate.bars.is_empty() {
            return Ok(estimate);
        }
        let query = HistogramQuery::exact(facet, Filter::default(), None);
        let step = store.count(query.clone(), budget).await?;
        if step.resume.is_none() {
            return Ok(step.histogram);
        }
        // The first step of a long count may be no more than something to be seen.
        Ok(store.count(HistogramQuery { resume: step.resume, ..query }, budget).await?.histogram)
    }

    /// Counts by a path of the arguments, and shows now and then how far that has got.
    async fn argument_count(
        &self,
        keys: Vec<String>,
        filter: Filter,
        going: &Going,
    ) -> Result<ArgumentCount, SourceError> {
        let desk = self.store()?.desk;
        let as_of = desk.store.clock();
        let counted = |values: &ValueBars, exactness| {
            let (bars, total) = values.counts(exactness);
            // The path stands for the facet.
            let counts = Histogram { facet: Facet::Error, bars, total, as_of, progress: None };
            ArgumentCount { keys: keys.clone(), filter: filter.clone(), counts, near: None }
        };
        let mut told = Instant::now();
        let mut on_progress = |values: &ValueBars| {
            if told.elapsed() >= PROGRESS_INTERVAL {
                told = Instant::now();
                let counting = Box::new(counted(values, Exactness::AtLeast));
                // Nobody listens when the console has ended.
                let _ = going.facts.send(Fact::Told(Msg::CountingArgument(counting)));
            }
        };
        let values = count_values(&desk, &filter, &keys, &going.budget, &mut on_progress).await?;
        let near = match values.total() > 0 && values.has_no_value() {
            true => Some(sample_values(&desk, &filter, VALUES_OF, &going.budget).await?.near(&keys)),
            false => None,
        };
        Ok(ArgumentCount { near, ..counted(&values, Exactness::Exact) })
    }

    /// Compares jobs with others.
    async fn contrast(&self, query: ContrastQuery, going: &Going) -> Result<Comparison, SourceError> {
        let desk = self.store()?.desk;
        let mut on_progress = |jobs| {
            // Nobody listens when the console has ended.
            let _ = going.facts.send(Fact::Told(Msg::Comparing(jobs)));
        };
        let report = contrast(&desk, &query, &going.budget, &mut on_progress).await?;
        Ok(report.shown(&self.redactor))
    }

    /// The arguments of a job for an editor, with secrets masked, or why they cannot be edited.
    async fn editable_arguments(&self, id: &JobId, budget: &Budget) -> Result<EditableArguments, String> {
        let desk = self.store().map_err(|e| e.to_string())?.desk;
        let (id, redactor) = (id.clone(), Arc::clone(&self.redactor));
        let document = stored_arguments(&desk, &id, budget).await.map_err(|e| e.to_string())??;
        let built = tokio::task::spawn_blocking(move || EditableArguments::new(document.arguments(), redactor));
        built.await.unwrap_or_else(|_| Err("these arguments could not be prepared for the editor".to_owned()))
    }

    async fn page(&self, query: PageQuery, screen: usize, budget: &Budget) -> Result<Page, SourceError> {
        let page = self.store()?.desk.scan(query, ScanMode::Screen(screen), budget).await?;
        Ok(Page { entries: self.masked(page.entries), ..page })
    }

    /// Rows with what looks like a secret masked.
    fn masked(&self, entries: Vec<Entry>) -> Vec<Entry> {
        let masked = |entry: Entry| Entry { row: self.masked_row(entry.row), ..entry };
        entries.into_iter().map(masked).collect()
    }

    /// The same of one row.
    pub fn masked_row(&self, row: JobRow) -> JobRow {
        self.masker.row(row)
    }

    async fn detail(&self, id: JobId, going: &Going) -> Result<Option<Arc<JobDocument>>, SourceError> {
        let desk = self.store()?.desk;
        let Some(detail) = desk.store.detail(&id, &going.budget).await? else { return Ok(None) };
        self.document(detail, desk, going).await.map(Some)
    }

    /// A job with what the ledger knows of it, ready to be drawn.
    async fn document(
        &self,
        detail: JobDetail,
        desk: StoreContext,
        going: &Going,
    ) -> Result<Arc<JobDocument>, SourceError> {
        let mut behind = None;
        // A job without its history is still worth showing; the ledger's trouble is reported where one acts.
        let (history, replayed) = match self.ledger_locator().at_hand() {
            Some(ledger) => past(&ledger, &desk, &known(&detail)).await.unwrap_or_default(),
            // Nor does it wait for the ledger to be opened, or made.
            None => {
                behind = Some(follow_up(self.ledger_locator(), desk.clone(), known(&detail), going.facts.clone()));
                Default::default()
            }
        };
        let notation = Arc::clone(&desk.store.info().notation);
        let redactor = Arc::clone(&self.redactor);
        let built = tokio::task::spawn_blocking(move || {
            JobDocument::build(detail, history, &notation, &redactor).with_replays(replayed)
        });
        let built = built.await;
        behind.map(tokio::spawn);
        built.map(Arc::new).map_err(|_| SourceError::Input("this job could not be prepared for display".into()))
    }
}

/// What the first job did not wait for: opens the ledger, tells what it knows of the job, and makes ready what its other
/// sides need.
async fn follow_up(homes: LedgerLocator, desk: StoreContext, job: KnownJob, facts: UnboundedSender<Fact>) {
    sleep(FIRST_FRAME).await;
    tokio::task::spawn_blocking(warm_up_rest);
    let Ok(ledger) = homes.ledger().await else { return };
    let (history, replayed) = past(&ledger, &desk, &job).await.unwrap_or_default();
    if !history.is_empty() {
        // Nobody listens when the console has ended.
        let _ = facts.send(Fact::Told(Msg::Past { job: job.0, history, replayed }));
    }
}

/// What the ledger knows of a job, and how often it was replayed before.
async fn past(ledger: &Ledger, desk: &StoreContext, job: &KnownJob) -> Result<(Vec<HistoryEntry>, u64), LedgerError> {
    let store = desk.store_name();
    let history = ledger.history().of_job(&desk.source, &store, job).await?;
    let counts = match history.is_empty() {
        // What was replayed has a history.
        true => HashMap::new(),
        false => {
            // Where the database does not say which it is, as with one that is not known.
            let database = desk.store.identity(&Budget::new(IDENTITY)).await.unwrap_or_default();
            let whose = Whose { source: &desk.source, store: &store, database: database.as_ref() };
            ledger.history().replayed_counts(whose, std::slice::from_ref(job)).await?
        }
    };
    Ok((history, counts.get(&job.0).copied().unwrap_or_default()))
}

/// A note on an incident.
async fn note(session: &Session, asked: NoteRequest, budget: &Budget) -> Result<Note, String> {
    let open = session.store().map_err(|error| error.to_string())?;
    session.opener.note(open, asked, budget.clone()).await
}

/// The answer of something that has an end, or that it took too long.
pub async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, SourceError>>) -> Result<T, SourceError> {
    timeout(limit, work).await.unwrap_or(Err(SourceError::Timeout(limit)))
}

/// The answer to a request that could not be answered.
pub fn failure(request: Request, error: SourceError) -> Reply {
    match request {
        Request::Choices => Reply::Choices(Err(error)),
        Request::Open(_) => Reply::Opened(Box::new(Err(error))),
        Request::Reopen(_) => Reply::Reopened(Box::new(Err(error))),
        Request::Estimate(_) => Reply::Estimate(Err(error)),
        Request::Histogram(_) => Reply::Histogram(Box::new(Err(error))),
        Request::ArgumentCount { .. } => Reply::ArgumentCount(Box::new(Err(error))),
        Request::Totals(_) => Reply::Totals(Err(error)),
        Request::Page { .. } => Reply::Page(Err(error)),
        Request::Rows(ids) => Reply::Rows(ids, Err(error)),
        Request::Detail(_) => Reply::Detail(Err(error)),
        Request::Poll { .. } => Reply::Poll(Box::new(Err(error))),
        Request::Values(_) => Reply::Values(Err(error)),
        Request::Arguments(_) => Reply::Arguments(Err(error)),
        Request::Contrast(_) => Reply::Contrast(Box::new(Err(error))),
        Request::EditableArguments(id) => Reply::EditableArguments(id, Box::new(Err(error.to_string()))),
        Request::Plan { .. } => Reply::Planned(Box::new(Err(error.to_string()))),
        Request::Execute(_) | Request::Resume { .. } => Reply::Executed(Box::new(Err(error.to_string()))),
        Request::Dismiss(_) => Reply::Dismissed(Err(error.to_string())),
        Request::Runs => Reply::Runs(Err(error.to_string())),
        Request::RunsAgain { .. } => Reply::RunsAgain(Err(error.to_string())),
        Request::Note(_) => Reply::Note(Err(error.to_string())),
        Request::Marks(asked) => marks::failure(asked, error),
    }
}
