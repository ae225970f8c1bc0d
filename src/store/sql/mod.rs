//! One SQL store for every engine: adapters say what the statements are made of, dialects are text, and the engine
//! layer binds values and decodes three types.
//!
//! | file | what it does |
//! |---|---|
//! | `offers` | what an operator can ask of a replay |
//! | `detect`, `open` | which layouts a database holds, and a store over one of them |
//! | `candidates` | tables that may hold dead jobs where no adapter fits |
//! | `layout`, `build`, `dialect` | an adapter's fields as expressions, statements under construction, what engines say differently |
//! | `judge` | a filter as a condition, and what of it is judged in memory |
//! | `row`, `scan`, `pace`, `reads` | light rows, and reading them in order by bounded steps |
//! | `outlook`, `spans` | rows that one index finds and another orders |
//! | `detail` | everything of a job |
//! | `search` | reading them as they are stored, where hits are rare |
//! | `blocks` | a table cut into windows as it is stored |
//! | `group`, `count`, `window`, `walk`, `memory`, `stats`, `sampled` | histograms, totals, estimates |
//! | `watch`, `look` | what is new since the last look |
//! | `apply`, `handover`, `steps`, `message` | the verbs |
//! | `twin` | the table beside a dead-letter table that jobs are archived in |
//! | `work` | what a batch asks for, put together from what the adapter says |
//! | `record` | what is kept of the rows of a batch, and the record that it is done |
//! | `unfit` | jobs that a plan leaves out, or warns of |
//! | `foresee` | what a batch would come to, and why rows are left alone |
//! | `parts`, `kept_members` | lookups cut by what the database takes at once, and what of a kept row a statement needs |
//! | `kept`, `restore`, `recall`, `undoable` | rows as the ledger keeps them, and what undoes a discard or a replay |
//! | `misread` | columns of which the database's own functions tell nothing right |
//! | `whole`, `cascade` | whether what is kept of rows is all of them, and which other rows the database takes along |
//! | `witness` | which transaction acts on a batch, and how it ended |
//! | `unique` | whether two rows can have the same key |
//! | `rights` | which verbs the role may not use, and what would give it the right |
//! | `check` | an adapter's statements against a live database |
//! | `advice`, `health`, `bloat` | which indexes serve and what the missing ones would cost; how connection and table are doing; room that is not used |

mod count;
mod diagnostics;
mod dialect;
mod open;
mod query;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod undo;
mod write;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::future::BoxFuture;

pub use count::histogram::CountState;
pub use diagnostics::bloat::{Bloat, Oldest};
pub use diagnostics::health::{Connection, Housekeeping, connection};
pub use diagnostics::index_advice::{Extent, MissingIndex, Served, Service};
pub use open::adapter_check::{Finding, check, missing_indexes, untold_key};
pub use open::open;
pub use open::privileges::{Grant, Site, numbered, required};
pub use query::buckets::Mark;
pub use schema::candidates::{Candidates, NearMiss, Renamed, candidates};
pub use schema::destination::{OpenOptions, ReplayDestination};
pub(super) use schema::discovery::read_catalogue;
pub use schema::discovery::{Detection, Found, Rejected, detect, survey};
pub use schema::sample_rows::sample;
pub use write::foreign_keys::Following;

use super::{
    Applied, Batch, Budget, Changes, Cursor, Ending, Entry, FreezeStep, Glance, GlanceQuery, HistogramQuery,
    HistogramStep, Identity, Page, PageQuery, Preparation, Result, Store, StoreError, StoreInfo, Unfit, Watermark,
};
use crate::adapter::{Column, Retention};
use crate::db::{Engine, Tx};
use crate::domain::action::{Action, JobOutcome, ReplayStatus};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobDetail, JobId, State};
use crate::domain::log;
use crate::domain::time::Timestamp;
use query::layout::Layout;
use read::chunk_size::Pace;
use schema::destination::Destination;

/// A name as an identifier of the database's.
pub(super) fn quote(dialect: crate::db::Dialect, name: &str) -> String {
    dialect::speech(dialect).quote(name)
}

/// Microseconds.
const SECOND: i64 = 1_000_000;

/// A dead-letter store in an SQL database.
pub struct SqlStore {
    engine: Arc<Engine>,
    layout: Layout,
    destination: Destination,
    info: StoreInfo,
    /// What the role lacks to see everything (`None`), and for the verbs that it may not use.
    lacks: Vec<(Option<Action>, Vec<Grant>)>,
    pace: Pace,
    /// Whether the unit of its times is not known, as it holds none: the first ones have it opened anew.
    awaits_unit: bool,
    /// Whether the database says that no two rows have the same key.
    unique: bool,
    /// The columns of the tables whose rows are kept along with the jobs'.
    along: BTreeMap<String, Vec<Column>>,
    /// The database's clock when we last heard it.
    clock: Mutex<(Timestamp, Instant)>,
    /// The newest and oldest instant of death, when it was last asked for.
    span: Mutex<Option<read::page::Span>>,
    /// How many rows there are, more or less, and when that was asked.
    foretold: Mutex<Option<(Instant, u64)>>,
    /// That counts by state took too long when they were tried last.
    misses: Mutex<count::statistics::Misses>,
    /// Where the instants begin that no job was told yet to run at.
    instants: AtomicI64,
}

impl SqlStore {
    /// What the role is known to lack: to see everything (`None`), and for each verb.
    pub fn lacks(&self) -> &[(Option<Action>, Vec<Grant>)] {
        &self.lacks
    }

    /// Begins a transaction that writes; none where the role may do nothing.
    async fn begin(&self, budget: &Budget) -> Result<Tx<'_>> {
        match &self.info.read_only {
            Some(reason) => Err(StoreError::Denied(reason.clone())),
            None => self.engine.begin(budget).await,
        }
    }

    /// The database's clock, by ours since we last heard it.
    fn server_now(&self) -> Timestamp {
        let (at, heard) = *self.clock.lock().unwrap_or_else(|p| p.into_inner());
        at.after(heard.elapsed())
    }

    /// The first of as many instants as there are jobs, none later than the database's clock (`now`) and none that was
    /// given before; where the clock has not moved on since by as much, they are later than it by what is missing.
    fn instants(&self, now: i64, jobs: usize) -> Timestamp {
        let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
        let usual = now.saturating_sub(jobs);
        // A clock that was set back is not made up for.
        let first = |unused| if (usual..=now.saturating_add(SECOND)).contains(&unused) { unused } else { usual };
        let next = |unused: i64| Some(first(unused).saturating_add(jobs));
        let unused = self.instants.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        Timestamp(first(unused.unwrap_or_else(|unused| unused)))
    }

    async fn read_identity(&self, budget: &Budget) -> Result<Identity> {
        let own = match self.layout.speech.identity() {
            None => None,
            Some(statement) => match self.engine.read(&[statement], budget).await {
                Ok(mut results) => {
                    let row = results.pop().unwrap_or_default().pop();
                    row.map(|row| crate::db::cells::Cells::new(row).text()).transpose()?.flatten()
                }
                // Not every role may ask for it, and not everything that speaks the protocol knows it.
                Err(
                    StoreError::Denied(_)
                    | StoreError::Refused { .. }
                    | StoreError::Unfit { .. }
                    | StoreError::Layout(_),
                ) => None,
                Err(error) => return Err(error),
            },
        };
        Ok(Identity { own, place: self.engine.place().to_owned() })
    }

    /// What becomes of its dead jobs by themselves as they grow old, as far as the adapter knows.
    pub fn retention(&self) -> Option<&Retention> {
        self.layout.spec.retention.as_ref()
    }

    fn set_clock(&self, at: Timestamp) {
        *self.clock.lock().unwrap_or_else(|p| p.into_inner()) = (at, Instant::now());
    }
}

/// A call to the store, of which the log is told: its name, how many rows came of it, and how long it took.
fn told<'a, T: 'a>(
    call: &'static str,
    work: impl Future<Output = Result<T>> + Send + 'a,
    rows: impl FnOnce(&T) -> usize + Send + 'a,
) -> BoxFuture<'a, Result<T>> {
    Box::pin(async move {
        let began = Instant::now();
        let answer = work.await;
        log::call(call, answer.as_ref().map(rows).map_err(StoreError::kind), began.elapsed());
        answer
    })
}

impl Store for SqlStore {
    fn info(&self) -> &StoreInfo {
        &self.info
    }

    fn clock(&self) -> Timestamp {
        self.server_now()
    }

    fn identity<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async move { self.read_identity(budget).await.map(Some) })
    }

    fn estimate<'a>(&'a self, facet: Facet, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Histogram>>> {
        told("estimate", self.read_statistics(facet, budget), |found| found.as_ref().map_or(0, |h| h.bars.len()))
    }

    fn histogram<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        told("histogram", self.count(query, budget), |step| step.histogram.bars.len())
    }

    fn abreast_for<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<u64>> {
        told("abreast_for", self.room(budget), |_| 1)
    }

    fn totals<'a>(&'a self, asked: bool, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<(State, Count)>>> {
        told("totals", self.count_states(asked, budget), Vec::len)
    }

    fn page<'a>(&'a self, query: PageQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        told("page", self.read_page(query, usize::MAX, usize::MAX, budget), |page| page.entries.len())
    }

    fn glance<'a>(&'a self, query: GlanceQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Glance>> {
        told("glance", self.read_glance(query, budget), |glance| glance.page.entries.len())
    }

    fn search<'a>(&'a self, query: PageQuery, screen: usize, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        told("search", self.search_page(query, screen, budget), |page| page.entries.len())
    }

    fn rows<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Entry>>> {
        told("rows", self.in_parts(ids, move |part| Box::pin(self.read_rows(part, budget))), Vec::len)
    }

    fn details<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobDetail>>> {
        told("details", self.in_parts(ids, move |part| Box::pin(self.read_details(part, budget))), Vec::len)
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Watermark>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        told("changes", self.look_again(since, facet, filter, budget), |changes| changes.cells.len())
    }

    fn freeze<'a>(
        &'a self,
        filter: &'a Filter,
        cursor: Cursor,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<FreezeStep>> {
        told("freeze", self.freeze_step(filter, cursor, budget), |step| step.jobs.len())
    }

    fn preparation<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Preparation>>> {
        told("preparation", self.missing_twin(action, budget), |missing| usize::from(missing.is_some()))
    }

    fn prepare<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<()>> {
        told("prepare", self.make_twin(action, budget), |()| 0)
    }

    fn consequences<'a>(
        &'a self,
        action: Action,
        keeps: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        told("consequences", self.look_for_consequences(action, keeps, budget), Vec::len)
    }

    fn kept<'a>(&'a self, run: &'a str, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        told("kept", self.in_parts(ids, move |part| Box::pin(self.in_twin(run, part, budget))), Vec::len)
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(async move {
            let began = Instant::now();
            let applied = self.apply_batch(batch, budget).await;
            log::call("apply", Ok(applied.outcomes.len()), began.elapsed());
            applied
        })
    }

    fn unfit<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        by_state: bool,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, Unfit)>>> {
        let refused = move |part| Box::pin(self.refused(action, part, by_state, budget)) as BoxFuture<'a, _>;
        told("unfit", self.in_parts(ids, refused), Vec::len)
    }

    fn cautions<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(String, u64)>>> {
        told("cautions", self.in_parts(ids, move |part| Box::pin(self.read_cautions(action, part, budget))), Vec::len)
    }

    fn look<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        told("look", self.look_at_batch(batch, budget), Vec::len)
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        told("as_kept", self.read_as_kept(kept, budget), Vec::len)
    }

    fn traced<'a>(
        &'a self,
        action: Action,
        run: &'a str,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        told("traced", self.read_traces(action, run, ids, budget), |found| found.as_ref().map_or(0, Vec::len))
    }

    fn ending<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<Ending>> {
        told("ending", self.read_ending(transaction, budget), |_| 1)
    }

    fn outcome_of<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ReplayStatus)>>> {
        told("outcome", self.read_outcome(ids, kept, budget), Vec::len)
    }

    fn outcome_needs_kept(&self) -> bool {
        self.layout.spec.outcome.as_ref().is_some_and(|outcome| outcome.get_ref().contains("b.kept"))
    }
}
