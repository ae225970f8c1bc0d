//! The dead-letter store: a source opened through an adapter, as everything above sees it.
//!
//! Every call is one bounded piece of work. What may take long (a filter that no index serves, freezing a million
//! ids, an exact count) is a *step* that returns where to go on, so that progress, cancelling and statement deadlines
//! come for free and no query is ever unbounded.

mod batch;
mod count;
mod diagnose;
mod edit_arguments;
mod fetch;
mod found;
mod info;
mod journal;
mod open_options;
mod page;
mod plan_facts;
mod reconcile;
#[cfg(feature = "redis")]
mod redis;
pub mod sql;
pub mod survey;
mod token;

use futures_util::future::BoxFuture;

pub use crate::domain::budget::Budget;
pub use crate::domain::source_error::{Outdated, Result, SourceError};
pub use batch::{
    Applied, Batch, Deliver, Frozen, Ineligible, Interrupted, Message, Preparation, Standing, TxStatus, Undoing,
};
pub use count::{Accuracy, Cell, Changes, HistogramQuery, HistogramStep};
pub use diagnose::{
    Bloat, Connection, Diagnose, Extent, Following, Grant, Housekeeping, MissingIndex, Oldest, Served, Service,
};
pub use edit_arguments::{EditArguments, FoundArguments};
pub use fetch::{Job, Projection, StoreExt};
pub use info::{Availability, COPY_NEEDS_QUEUE, Capabilities, Evidence, Identity, LayoutOptions, StoreInfo};
pub use journal::{Journal, JournalEntry, RowCopies, SourceJournal, TxMarker};
pub use page::{
    ComparedColumns, Cursor, Entry, Page, PageQuery, Position, ScanMode, Scanned, Sort, SortKey, Unordered,
};
pub use plan_facts::{PlanFacts, RunTime};
pub use reconcile::Reconcile;
pub use token::Token;

use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::outcome::ObservedOutcome;
use crate::domain::time::Timestamp;
use plan_facts::NoPlanFacts;

/// A dead-letter store. Futures can be dropped at any time; a dropped read is cancelled on the server.
pub trait Store: Send + Sync {
    /// What is known without asking.
    fn info(&self) -> &StoreInfo;

    /// The source's own clock, as far as is known without asking: times that a filter counts from now count from there.
    fn clock(&self) -> Timestamp;

    /// What tells this database from every other; `None` where nothing can be said.
    fn identity<'a>(&'a self, _budget: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async { Ok(None) })
    }

    /// Counts by a facet, a step at a time.
    fn count<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>>;

    /// Rows that a filter selects, a step at a time.
    fn scan<'a>(&'a self, query: PageQuery, mode: ScanMode, budget: &'a Budget) -> BoxFuture<'a, Result<Page>>;

    /// These jobs, for those that still exist; in no order. [`StoreExt`] has the answers by type.
    fn fetch<'a>(&'a self, ids: &'a [JobId], what: Projection, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Job>>>;

    /// What changed since a look, counted by `facet` under `filter`; cheap when nothing did.
    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>>;

    /// What a plan says of an action before anything is touched, and what it needs to be made.
    fn plan(&self) -> &dyn PlanFacts {
        &NoPlanFacts
    }

    /// Applies an action to a batch and answers for each job at most once; what is `Done` is committed.
    ///
    /// A batch may break off in the middle, when the database fails as a whole: what was answered for until then counts. Also where
    /// another session has a lock: the store does not try again by itself.
    /// Applying it again is safe, as jobs that are no longer as they were chosen are skipped.
    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied>;

    /// What tells whether an interrupted batch took effect, where the store can tell that.
    fn reconcile(&self) -> Option<&dyn Reconcile> {
        None
    }

    /// What arguments look like where they are kept, where the store can change them.
    fn arguments(&self) -> Option<&dyn EditArguments> {
        None
    }

    /// How it is doing where it is kept, where the store can tell that.
    fn diagnose(&self) -> Option<&dyn Diagnose> {
        None
    }

    /// Where replayed jobs have got to. Of jobs whose replay kept something, `kept` has it as its [`Journal`] was given it: where
    /// their rows are gone, that says by what to look for them.
    fn outcomes<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ObservedOutcome)>>>;
}
