//! The dead-letter store: a source opened through an adapter, as everything above sees it.
//!
//! Every call is one bounded piece of work. What may take long (a filter that no index serves, freezing a million
//! ids, an exact count) is a *step* that returns where to go on, so that progress, cancelling and statement deadlines
//! come for free and no query is ever unbounded.

mod error;
pub mod install;
pub mod sql;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use error::{Result, StoreError};

use crate::domain::action::{Action, Fate, JobOutcome};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobDetail, JobId, JobRow, State};
use crate::domain::notation::Notation;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// What the floors above may know of a store without asking its database.
#[derive(Clone, Debug)]
pub struct StoreInfo {
    /// Name of the adapter, as in its file.
    pub adapter: String,
    /// What a picker shows: the table with its schema.
    pub title: String,
    /// Engine and version, such as `PostgreSQL 15.18`.
    pub server: String,
    /// Database name or file.
    pub database: String,
    /// Database user; empty where the engine has none.
    pub user: String,
    /// Facets that this layout can count by, in the order of the tabs.
    pub facets: Vec<Facet>,
    /// Orders that the list can be had in; the first is the default.
    pub sorts: Vec<SortKey>,
    /// Each action with whether it can be used, and if not why.
    pub actions: Vec<(Action, Availability)>,
    /// How payloads of this layout are read by a human.
    pub notation: Arc<Notation>,
    /// Why nothing can be written, where that is so.
    pub read_only: Option<String>,
}

impl StoreInfo {
    /// Whether `action` can be used here.
    pub fn availability(&self, action: Action) -> Availability {
        if let Some(reason) = &self.read_only {
            return Availability::Disabled(reason.clone());
        }
        match self.actions.iter().find(|(a, _)| *a == action) {
            Some((_, availability)) => availability.clone(),
            None => Availability::Disabled(format!("this layout has no {action}")),
        }
    }
}

/// Whether an action can be used, and what the operator must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can; the notes belong into the plan.
    Ready {
        /// Sentences of the adapter, such as `One more attempt, counters kept.`
        notes: Vec<String>,
    },
    /// It cannot; the sentence says why, and what to write into the config where that helps.
    Disabled(String),
}

/// The deadline and the cancel switch of one call.
#[derive(Clone, Debug)]
pub struct Budget {
    /// No statement of the call runs longer.
    pub statement: Duration,
    /// Cancelling stops the running statement on the server too.
    pub cancel: CancellationToken,
}

impl Budget {
    /// A budget of `statement` a statement, cancelled by a token of its own.
    pub fn new(statement: Duration) -> Self {
        Self { statement, cancel: CancellationToken::new() }
    }
}

/// What a list is ordered by; ties are broken by primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Time of death (or the indexed column that stands for it).
    Time,
    /// Attempts made.
    Attempts,
}

/// An order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: SortKey,
    /// Greatest first.
    pub descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { key: SortKey::Time, descending: true }
    }
}

/// A row's place in an order: the sort column's value and the primary key, as the database prints them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The sort column's value; `None` for NULL, which stands last in either direction.
    pub key: Option<String>,
    /// The primary key.
    pub id: JobId,
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The first rows of the order.
    Start,
    /// The last rows of the order.
    End,
    /// The rows that follow a place.
    After(Position),
    /// The rows that stand before a place.
    Before(Position),
}

/// A request for some rows of a list.
#[derive(Clone, Debug)]
pub struct PageQuery {
    /// Which jobs; resolved, so that its times are absolute.
    pub filter: Filter,
    /// In which order.
    pub sort: Sort,
    /// From where.
    pub cursor: Cursor,
    /// How many rows at the most.
    pub limit: usize,
}

/// A light row with its place in the order it was read in.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The row.
    pub row: JobRow,
    /// Its place.
    pub position: Position,
}

/// The rows that one bounded step found, in the order of the list whichever way it was read.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows; fewer than asked for when the step's window ended first.
    pub entries: Vec<Entry>,
    /// Where the same query goes on in the same direction; `None` when that end of the list is reached.
    pub next: Option<Cursor>,
    /// What a windowed scan has done so far in this step; `None` when an index served.
    pub scanned: Option<Scanned>,
}

/// The extent of one step of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanned {
    /// Rows looked at in this step.
    pub rows: u64,
    /// Share of the whole scan that lies behind, from 0 to 1, as well as is known.
    pub share: f32,
}

/// A request for counts.
#[derive(Clone, Debug)]
pub struct HistogramQuery {
    /// The dimension.
    pub facet: Facet,
    /// Which jobs; resolved.
    pub filter: Filter,
    /// Where an unfinished count goes on; `None` starts it.
    pub resume: Option<Resume>,
}

/// Where an unfinished count goes on; the store's own business.
#[derive(Clone, Debug)]
pub struct Resume(pub(crate) Arc<sql::CountState>);

/// What is counted so far.
#[derive(Clone, Debug)]
pub struct HistogramStep {
    /// The counts; `progress` is `None` once they are complete.
    pub histogram: Histogram,
    /// Pass it back to go on; `None` when the count is complete.
    pub resume: Option<Resume>,
    /// Where deltas of [`Store::changes`] take over; `None` until the count is complete.
    pub watermark: Option<Watermark>,
    /// The cells of the recent past that are contained in the counts already: what the first deltas replace. Empty
    /// until the count is complete.
    pub recent: Vec<Cell>,
}

/// What a store remembers from one look to the next; the store's own business.
#[derive(Clone, Debug)]
pub struct Watermark(pub(crate) Arc<sql::Mark>);

/// Jobs counted in one cell of the recent past.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The slot of the store's order (time or key) that the cell covers; later is greater.
    pub bucket: i64,
    /// Value of the facet.
    pub value: Option<Untrusted>,
    /// Jobs.
    pub n: u64,
    /// Oldest of them.
    pub first_seen: Option<Timestamp>,
    /// Newest of them.
    pub last_seen: Option<Timestamp>,
}

/// What is new since the last look.
#[derive(Clone, Debug)]
pub struct Changes {
    /// To be passed to the next look.
    pub watermark: Watermark,
    /// Whether anything may have changed at all; when not, `cells` is empty and means nothing.
    pub changed: bool,
    /// Cells from this bucket on replace all that were known; earlier ones stand.
    pub from_bucket: i64,
    /// The recounted cells.
    pub cells: Vec<Cell>,
    /// The database's clock at the look.
    pub server_time: Timestamp,
    /// Database time that the look cost.
    pub cost: Duration,
}

/// What the frozen record keeps of each job of a cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// Identity.
    pub id: JobId,
    /// For the plan's split.
    pub error_class: Option<Untrusted>,
    /// For the plan's split.
    pub job_class: Option<Untrusted>,
    /// For the plan's age range.
    pub at: Option<Timestamp>,
    /// State at the moment of freezing.
    pub state: State,
}

/// Some jobs of a cohort.
#[derive(Clone, Debug)]
pub struct FreezeStep {
    /// The jobs.
    pub jobs: Vec<Frozen>,
    /// Where to go on; `None` when the cohort is complete.
    pub next: Option<Cursor>,
    /// Extent of the step.
    pub scanned: Scanned,
}

/// A job on its way to a destination outside the database.
#[derive(Clone, Debug)]
pub struct Message {
    /// The dead job.
    pub id: JobId,
    /// The job as the destination takes it: one JSON text without line breaks, numbers exact.
    pub json: String,
}

/// Hands jobs to a destination outside the database (a command of the operator's).
pub trait Deliver: Send + Sync {
    /// Delivers a batch and answers for each job: accepted, or refused with a reason.
    ///
    /// A job that is not answered for counts as refused.
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, std::result::Result<(), String>)>>;
}

/// Keeps whole rows before they are deleted.
pub trait Archive: Send + Sync {
    /// Keeps each row as one JSON text; returns only when they are durable.
    ///
    /// # Errors
    /// When they could not be kept: then nothing is deleted.
    fn keep(&self, rows: Vec<(JobId, String)>) -> BoxFuture<'_, std::result::Result<(), String>>;
}

/// One batch of an action.
#[derive(Clone)]
pub struct Batch {
    /// The verb.
    pub action: Action,
    /// The jobs: at most a few thousand.
    pub ids: Vec<JobId>,
    /// Identity of the run, kept with the rows where the layout has a place for it.
    pub run: String,
    /// When replayed jobs may run: `None` is at once.
    pub run_after: Option<Timestamp>,
    /// Where replayed jobs go when the destination is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// Keeps rows that are to be deleted.
    pub archive: Option<Arc<dyn Archive>>,
}

/// A dead-letter store. Futures can be dropped at any time; a dropped read is cancelled on the server.
pub trait Store: Send + Sync {
    /// What is known without asking.
    fn info(&self) -> &StoreInfo;

    /// A quick estimate of a whole facet, where the database keeps statistics; `None` where it does not.
    fn estimate<'a>(&'a self, facet: Facet, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Histogram>>>;

    /// Counts by a facet, a step at a time.
    fn histogram<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>>;

    /// Jobs by state, whatever the filter.
    fn totals<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<(State, Count)>>>;

    /// Rows of a list, a step at a time.
    fn page<'a>(&'a self, query: PageQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Page>>;

    /// Light rows of these jobs, for those that still exist; in no order.
    fn rows<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Entry>>>;

    /// Everything of one job; `None` when it is gone.
    fn detail<'a>(&'a self, id: &'a JobId, budget: &'a Budget) -> BoxFuture<'a, Result<Option<JobDetail>>>;

    /// What changed since a look, counted by `facet` under `filter`; cheap when nothing did.
    fn changes<'a>(
        &'a self,
        since: Option<&'a Watermark>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>>;

    /// The ids that a filter selects, a step at a time, newest first: rows that arrive meanwhile are not among them.
    fn freeze<'a>(
        &'a self,
        filter: &'a Filter,
        cursor: Cursor,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<FreezeStep>>;

    /// Applies an action to a batch and answers for each job exactly once; what is `Done` is committed.
    ///
    /// # Errors
    /// When the database failed as a whole; a `retryable` error leaves it open whether the batch took effect,
    /// and applying it again is safe: jobs that are no longer dead are skipped.
    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>>;

    /// Where replayed jobs have got to.
    fn outcome<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<(JobId, Fate)>>>;
}
