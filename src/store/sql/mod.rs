//! One SQL store for every database: adapters say what the statements are made of, dialects are text, and `db` binds values
//! and decodes three types.
//!
//! | room | what it does | may use |
//! |---|---|---|
//! | `dialect` | what databases say differently, as text | |
//! | `schema` | which layouts a database holds, and what its tables are made of | `dialect` |
//! | `query` | the text of statements: fields, filters, groups, templates | and `schema` |
//! | `context` | what all rooms below work with: the database and the layout | and `query` |
//! | `read` | pages, details, the ids of a cohort: in order, or in chunks as a table is stored | and `context` |
//! | `count` | counts by a facet and by state, and polls for what changed | and `read` |
//! | `write` | a batch in one transaction, and what is kept of it | and `count` |
//! | `undo` | rows put back, replayed jobs taken out of the queue | and `write` |
//! | `open` | a store over a layout: what is offered there, and what the role may do | and `undo` |
//! | `diagnostics` | what `doctor` asks | all of these |
//! | `verbs` | what takes several rooms | all of these |
//! | `install` | the tables that `init` creates | `dialect`, `schema` |

mod context;
mod count;
mod diagnostics;
mod dialect;
pub mod install;
mod open;
mod query;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod undo;
mod verbs;
mod write;

use std::time::Instant;

use futures_util::TryFutureExt;
use futures_util::future::BoxFuture;

pub use diagnostics::health::connection;
pub use open::adapter_check::{check, missing_indexes, untold_key};
pub use open::grant_script::grant_script;
pub use open::open;
pub use open::privileges::{Site, numbered, required};
pub use schema::candidates::candidates;
pub use schema::discovery::{Detection, detect, survey};
pub use schema::sample_rows::sample;

pub use super::found::{CheckFinding, Found, Rejected};
pub use super::open_options::{OpenOptions, ReplayDestination};
use super::{
    Accuracy, Applied, Batch, Budget, Changes, Diagnose, EditArguments, FoundArguments, Grant, HistogramQuery,
    HistogramStep, Identity, Ineligible, Job, Page, PageQuery, PlanFacts, Preparation, Projection, Reconcile, Result,
    RunTime, ScanMode, SourceError, Store, StoreInfo, Token, TxStatus,
};
use crate::adapter::Table;
use crate::domain::action::{Action, JobOutcome};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::log;
use crate::domain::outcome::ObservedOutcome;
use crate::domain::time::Timestamp;
use context::Context;
use count::CountMemory;
use count::changes::Poller;
use count::histogram::Counter;
use count::statistics::Statistics;
use diagnostics::Diagnostics;
use read::ReadMemory;
use read::detail::Details;
use read::page::Reader;
use undo::restore::Restore;
use verbs::Verbs;
use write::archive_table::ArchiveTable;
use write::edit::ArgumentsEditor;
use write::foreign_keys::ForeignKeys;
use write::refusals::Refusals;
use write::transaction_id::Transactions;

/// A dead-letter store in an SQL database.
pub struct SqlStore {
    context: Context,
    /// What the role lacks to see everything (`None`), and for the verbs that it may not use.
    lacks: Vec<(Option<Action>, Vec<Grant>)>,
    /// The table as it was seen when the store was opened.
    table: Table,
    read: ReadMemory,
    count: CountMemory,
}

impl SqlStore {
    fn reader(&self) -> Reader<'_> {
        Reader { context: &self.context, memory: &self.read }
    }

    fn counter(&self) -> Counter<'_> {
        Counter { context: &self.context, reader: self.reader(), memory: &self.count }
    }

    fn statistics(&self) -> Statistics<'_> {
        self.counter().statistics()
    }

    fn poller(&self) -> Poller<'_> {
        self.counter().poller()
    }

    fn diagnostics(&self) -> Diagnostics<'_> {
        Diagnostics { context: &self.context, table: &self.table, statistics: self.statistics() }
    }
}

/// A call to the store, of which the log is told: its name, how many rows came of it, and how long it took.
fn logged<'a, T: 'a>(
    call: &'static str,
    work: impl Future<Output = Result<T>> + Send + 'a,
    rows: impl FnOnce(&T) -> usize + Send + 'a,
) -> BoxFuture<'a, Result<T>> {
    Box::pin(async move {
        let began = Instant::now();
        let answer = work.await;
        log::call(call, answer.as_ref().map(rows).map_err(SourceError::kind), began.elapsed());
        answer
    })
}

impl Store for SqlStore {
    fn info(&self) -> &StoreInfo {
        &self.context.info
    }

    fn clock(&self) -> Timestamp {
        self.context.server_now()
    }

    fn identity<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async move { self.context.read_identity(budget).await.map(Some) })
    }

    fn count<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        let bars = |step: &HistogramStep| step.histogram.bars.len();
        match (query.accuracy, query.facet) {
            (Accuracy::Exact, _) => logged("histogram", self.counter().count(query, budget), bars),
            (Accuracy::Affordable { retry }, Facet::State) => {
                logged("totals", self.statistics().count_states(retry, budget).map_ok(HistogramStep::of), bars)
            }
            (_, facet) => logged("estimate", self.statistics().estimate(facet, budget).map_ok(HistogramStep::of), bars),
        }
    }

    fn scan<'a>(&'a self, query: PageQuery, mode: ScanMode, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        let (reader, rows) = (self.reader(), |page: &Page| page.entries.len());
        match mode {
            ScanMode::List => logged("page", reader.read_page(query, usize::MAX, usize::MAX, budget), rows),
            ScanMode::Screen(screen) => logged("search", reader.search_page(query, screen, budget), rows),
            ScanMode::Arguments => logged("arguments", reader.read_arguments(query, false, budget), rows),
            ScanMode::Comparison => logged("comparison", reader.read_arguments(query, true, budget), rows),
            ScanMode::Cohort => logged("freeze", reader.read_cohort(query, true, budget), rows),
            ScanMode::CohortRows => logged("freeze", reader.read_cohort(query, false, budget), rows),
        }
    }

    fn fetch<'a>(&'a self, ids: &'a [JobId], what: Projection, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Job>>> {
        let read = move |part| match what {
            Projection::Row => Box::pin(self.reader().read_rows(part, budget)) as BoxFuture<'a, _>,
            Projection::Full => Box::pin(Details::new(&self.context).read_details(part, budget)),
        };
        let call = match what {
            Projection::Row => "rows",
            Projection::Full => "details",
        };
        logged(call, self.context.in_parts(ids, read), Vec::len)
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        logged("changes", self.poller().poll(since, facet, filter, budget), |changes| changes.cells.len())
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(async move {
            let began = Instant::now();
            let applied = Verbs::new(&self.context).apply_batch(batch, budget).await;
            log::call("apply", Ok(applied.outcomes.len()), began.elapsed());
            applied
        })
    }

    fn plan(&self) -> &dyn PlanFacts {
        self
    }

    fn reconcile(&self) -> Option<&dyn Reconcile> {
        Some(self)
    }

    fn arguments(&self) -> Option<&dyn EditArguments> {
        Some(self)
    }

    fn diagnose(&self) -> Option<&dyn Diagnose> {
        Some(self)
    }

    fn outcomes<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ObservedOutcome)>>> {
        logged("outcome", self.reader().read_outcome(ids, kept, budget), Vec::len)
    }
}

impl PlanFacts for SqlStore {
    fn unfit<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        by_state: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, Ineligible)>>> {
        let refused = move |part| {
            Box::pin(Refusals::new(&self.context).refused(action, part, by_state, budget)) as BoxFuture<'a, _>
        };
        logged("unfit", self.context.in_parts(ids, refused), Vec::len)
    }

    fn cautions<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(String, u64)>>> {
        logged(
            "cautions",
            self.context
                .in_parts(ids, move |part| Box::pin(Refusals::new(&self.context).read_cautions(action, part, budget))),
            Vec::len,
        )
    }

    fn preparation<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Preparation>>> {
        logged("preparation", ArchiveTable::new(&self.context).missing_archive(action, budget), |missing| {
            usize::from(missing.is_some())
        })
    }

    fn prepare<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<()>> {
        logged("prepare", ArchiveTable::new(&self.context).create_archive(action, budget), |()| 0)
    }

    fn consequences<'a>(
        &'a self,
        action: Action,
        keeps: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        logged("consequences", ForeignKeys::new(&self.context).consequences(action, keeps, budget), Vec::len)
    }

    fn run_times<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<RunTime>>> {
        logged("run_times", self.reader().read_run_times(budget), Vec::len)
    }
}

impl EditArguments for SqlStore {
    fn documents<'a>(
        &'a self,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, FoundArguments)>>> {
        let read = move |part| Box::pin(ArgumentsEditor::new(&self.context).read(part, budget)) as BoxFuture<'a, _>;
        logged("documents", self.context.in_parts(ids, read), Vec::len)
    }

    fn stored_forms<'a>(
        &'a self,
        texts: &'a [String],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<std::result::Result<String, String>>>> {
        logged("stored_forms", ArgumentsEditor::new(&self.context).stored_forms(texts, budget), Vec::len)
    }
}

impl Reconcile for SqlStore {
    fn dry_run<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        logged("look", Verbs::new(&self.context).dry_run(batch, budget), Vec::len)
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        logged("as_kept", Restore::new(&self.context).read_as_kept(kept, budget), Vec::len)
    }

    fn traced<'a>(
        &'a self,
        action: Action,
        run: &'a str,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        logged("traced", Transactions::new(&self.context).read_traces(action, run, ids, budget), |found| {
            found.as_ref().map_or(0, Vec::len)
        })
    }

    fn tx_status<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<TxStatus>> {
        logged("tx_status", Transactions::new(&self.context).read_tx_status(transaction, budget), |_| 1)
    }

    fn archived<'a>(&'a self, run: &'a str, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        logged(
            "kept",
            self.context
                .in_parts(ids, move |part| Box::pin(ArchiveTable::new(&self.context).archived(run, part, budget))),
            Vec::len,
        )
    }
}
