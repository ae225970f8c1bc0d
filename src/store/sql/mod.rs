//! One SQL store for every engine: adapters say what the statements are made of, dialects are text, and the engine
//! layer binds values and decodes three types.
//!
//! | file | what it does |
//! |---|---|
//! | `offers` | what an operator can ask of a replay |
//! | `detect`, `open` | which layouts a database holds, and a store over one of them |
//! | `layout`, `build`, `dialect` | an adapter's fields as expressions, statements under construction, what engines say differently |
//! | `judge` | a filter as a condition, and what of it is judged in memory |
//! | `row`, `scan`, `pace`, `reads` | light rows, and reading them in order by bounded steps |
//! | `search` | reading them as they are stored, where hits are rare |
//! | `blocks` | a table cut into windows as it is stored |
//! | `group`, `count`, `window`, `walk`, `stats`, `sampled` | histograms, totals, estimates |
//! | `watch`, `look` | what is new since the last look |
//! | `apply`, `handover`, `steps`, `message` | the verbs |
//! | `twin` | the table beside a dead-letter table that jobs are archived in |
//! | `work` | what a batch asks for, put together from what the adapter says |
//! | `record` | what is kept of the rows of a batch, and the record that it is done |
//! | `foresee` | what a batch would come to, and why rows are left alone |
//! | `kept`, `restore`, `recall`, `undoable` | rows as the ledger keeps them, and what undoes a discard or a replay |
//! | `witness` | which transaction acts on a batch, and how it ended |
//! | `unique` | whether two rows can have the same key |
//! | `check` | an adapter's statements against a live database |
//! | `advice`, `health` | which indexes serve and what the missing ones would cost; how connection and table are doing |

mod advice;
mod along;
mod apply;
mod blocks;
mod build;
mod check;
mod count;
mod detect;
mod dialect;
pub mod engine;
mod foresee;
mod group;
mod handover;
mod health;
mod judge;
mod kept;
mod layout;
mod look;
mod message;
mod offers;
mod open;
mod pace;
mod reads;
mod recall;
mod record;
mod restore;
mod row;
mod sample;
mod sampled;
mod scan;
mod search;
mod stats;
mod steps;
pub mod target;
#[cfg(test)]
mod tests;
mod twin;
mod undoable;
mod unique;
mod walk;
mod watch;
mod window;
mod witness;
mod work;
mod writer;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::future::BoxFuture;

pub use advice::{Extent, MissingIndex, Served, Service};
pub use check::{Finding, check, missing_indexes, untold_key};
pub use count::CountState;
pub(super) use detect::read_catalogue;
pub use detect::{Detection, Found, Rejected, detect, survey};
pub use health::{Connection, Housekeeping, connection};
pub use open::{OpenOptions, ReplayDestination, open};
pub use sample::sample;
pub use watch::Mark;

use super::{
    Applied, Batch, Budget, Changes, Cursor, Ending, Entry, FreezeStep, HistogramQuery, HistogramStep, Identity, Page,
    PageQuery, Preparation, Result, Store, StoreError, StoreInfo, Watermark,
};
use crate::adapter::Column;
use crate::domain::action::{Action, Fate, JobOutcome};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobDetail, JobId, State};
use crate::domain::time::Timestamp;
use engine::Engine;
use layout::Layout;
use open::Destination;
use pace::Pace;

/// A name as an identifier of the database's.
pub(super) fn quote(dialect: engine::Dialect, name: &str) -> String {
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
    pace: Pace,
    /// Whether the database says that no two rows have the same key.
    unique: bool,
    /// The columns of the tables whose rows are kept along with the jobs'.
    along: BTreeMap<String, Vec<Column>>,
    /// The database's clock when we last heard it.
    clock: Mutex<(Timestamp, Instant)>,
    /// The newest and oldest instant of death, when it was last asked for.
    span: Mutex<Option<reads::Span>>,
    /// Where the instants begin that no job was told yet to run at.
    instants: AtomicI64,
}

impl SqlStore {
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
                    row.map(|row| row::Cells::new(row).text()).transpose()?.flatten()
                }
                // Not every role may ask for it, and not everything that speaks the protocol knows it.
                Err(StoreError::Denied(_) | StoreError::Refused { .. } | StoreError::Layout(_)) => None,
                Err(error) => return Err(error),
            },
        };
        Ok(Identity { own, place: self.engine.place().to_owned() })
    }

    fn set_clock(&self, at: Timestamp) {
        *self.clock.lock().unwrap_or_else(|p| p.into_inner()) = (at, Instant::now());
    }
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
        Box::pin(self.read_statistics(facet, budget))
    }

    fn histogram<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        Box::pin(self.count(query, budget))
    }

    fn totals<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<(State, Count)>>> {
        Box::pin(self.count_states(budget))
    }

    fn page<'a>(&'a self, query: PageQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        Box::pin(self.read_page(query, budget))
    }

    fn glance<'a>(
        &'a self,
        facet: Facet,
        query: PageQuery,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<(Option<Histogram>, Page)>> {
        Box::pin(self.read_glance(facet, query, budget))
    }

    fn search<'a>(&'a self, query: PageQuery, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        Box::pin(self.search_page(query, budget))
    }

    fn rows<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Entry>>> {
        Box::pin(self.read_rows(ids, budget))
    }

    fn details<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobDetail>>> {
        Box::pin(self.read_details(ids, budget))
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Watermark>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        Box::pin(self.look_again(since, facet, filter, budget))
    }

    fn freeze<'a>(
        &'a self,
        filter: &'a Filter,
        cursor: Cursor,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<FreezeStep>> {
        Box::pin(self.freeze_step(filter, cursor, budget))
    }

    fn preparation<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Preparation>>> {
        Box::pin(self.missing_twin(action, budget))
    }

    fn prepare<'a>(&'a self, action: Action, budget: &'a Budget) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.make_twin(action, budget))
    }

    fn kept<'a>(&'a self, run: &'a str, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(self.in_twin(run, ids, budget))
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(self.apply_batch(batch, budget))
    }

    fn unfit<'a>(
        &'a self,
        action: Action,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, String)>>> {
        Box::pin(self.refused(action, ids, budget))
    }

    fn look<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        Box::pin(self.look_at_batch(batch, budget))
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(self.read_as_kept(kept, budget))
    }

    fn traced<'a>(
        &'a self,
        action: Action,
        run: &'a str,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        Box::pin(self.read_traces(action, run, ids, budget))
    }

    fn ending<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<Ending>> {
        Box::pin(self.read_ending(transaction, budget))
    }

    fn outcome_of<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, Fate)>>> {
        Box::pin(self.read_outcome(ids, kept, budget))
    }

    fn outcome_needs_kept(&self) -> bool {
        self.layout.spec.outcome.as_ref().is_some_and(|outcome| outcome.get_ref().contains("b.kept"))
    }
}
