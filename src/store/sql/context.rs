//! What every room of the store works with.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::query::layout::Layout;
use super::query::lookup_parts::{cut, json_bytes};
use super::schema::destination::CheckedDestination;
use crate::adapter::{Column, FieldKind};
use crate::db::cells::Cells;
use crate::db::{Engine, Tx};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::{Budget, Identity, Result, SourceError, StoreInfo};

/// Microseconds.
const SECOND: i64 = 1_000_000;

/// A database, a layout in it, and what is known of both.
pub(crate) struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) layout: Layout,
    pub(crate) destination: CheckedDestination,
    pub(crate) info: StoreInfo,
    /// Whether the database says that no two rows have the same key.
    pub(crate) unique: bool,
    /// The columns of the tables whose rows are kept along with the jobs', or changed with them.
    pub(crate) along: BTreeMap<String, Vec<Column>>,
    /// The database's clock when we last heard it.
    pub(crate) clock: Mutex<(Timestamp, Instant)>,
    /// Where the instants begin that no job was told yet to run at.
    pub(crate) next_instant: AtomicI64,
}

impl Context {
    /// Begins a transaction that writes; none where the role may do nothing.
    pub(crate) async fn begin(&self, budget: &Budget) -> Result<Tx<'_>> {
        match &self.info.read_only {
            Some(reason) => Err(SourceError::Denied(reason.clone())),
            None => self.engine.begin(budget).await,
        }
    }

    /// The database's clock, by ours since we last heard it.
    pub(crate) fn server_now(&self) -> Timestamp {
        let (at, heard) = *self.clock.lock().unwrap_or_else(|p| p.into_inner());
        at.after(heard.elapsed())
    }

    /// The first of as many instants as there are jobs, none later than the database's clock (`now`) and none that was
    /// given before; where the clock has not moved on since by as much, they are later than it by what is missing.
    pub(crate) fn instants(&self, now: i64, jobs: usize) -> Timestamp {
        let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
        let usual = now.saturating_sub(jobs);
        // A clock that was set back is not made up for.
        let first = |unused| if (usual..=now.saturating_add(SECOND)).contains(&unused) { unused } else { usual };
        let next = |unused: i64| Some(first(unused).saturating_add(jobs));
        let unused = self.next_instant.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        Timestamp(first(unused.unwrap_or_else(|unused| unused)))
    }

    pub(crate) async fn read_identity(&self, budget: &Budget) -> Result<Identity> {
        let own = match self.layout.dialect.identity() {
            None => None,
            Some(statement) => match self.engine.read(&[statement], budget).await {
                Ok(mut results) => {
                    let row = results.pop().unwrap_or_default().pop();
                    row.map(|row| Cells::new(row).text()).transpose()?.flatten()
                }
                // Not every role may ask for it, and not everything that speaks the protocol knows it.
                Err(
                    SourceError::Denied(_)
                    | SourceError::Refused { .. }
                    | SourceError::Unfit { .. }
                    | SourceError::Layout(_),
                ) => None,
                Err(error) => return Err(error),
            },
        };
        Ok(Identity { own, place: self.engine.place().to_owned() })
    }

    pub(crate) fn set_clock(&self, at: Timestamp) {
        *self.clock.lock().unwrap_or_else(|p| p.into_inner()) = (at, Instant::now());
    }

    /// A failure with what it cost the database: of several tries, each with less to read than the one before, and each perhaps
    /// ended by a deadline of the server's own.
    pub(crate) fn timed(&self, error: SourceError, began: Instant) -> SourceError {
        let took = Duration::from_secs(self.engine.worked(began).as_secs());
        match error {
            SourceError::Timeout(after) => SourceError::Timeout(after.max(took)),
            SourceError::Interrupted if !took.is_zero() => SourceError::Timeout(took),
            other => other,
        }
    }

    /// The keys among `ids` that can be keys of this table.
    pub(crate) fn valid(&self, ids: &[JobId]) -> Vec<String> {
        ids.iter().map(JobId::as_str).filter(|id| self.layout.holds(id)).map(str::to_owned).collect()
    }

    /// Whether a row that was found by its key is one that was named. A collation takes keys for each other that are not
    /// written alike; what is no text is written in one way, or means the same in all.
    pub(crate) fn named<'a>(&self, ids: &'a [JobId]) -> impl Fn(&JobId) -> bool + use<'a> {
        let named: Option<HashSet<&JobId>> =
            (self.layout.key.expr.kind == FieldKind::Text).then(|| ids.iter().collect());
        move |id| named.as_ref().is_none_or(|named| named.contains(id))
    }

    /// Looks jobs up by their ids alone, a part at a time.
    pub(crate) async fn in_parts<'a, T>(
        &self,
        ids: &'a [JobId],
        look_up: impl Fn(&'a [JobId]) -> BoxFuture<'a, Result<Vec<T>>>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for part in self.parts(ids, |id| json_bytes(id.as_str())) {
            found.extend(look_up(part).await?);
        }
        Ok(found)
    }

    /// Cuts jobs into parts, each with as many as fit by what `weigh` says of them; at least one, which may be too large alone.
    pub(crate) fn parts<'a, T>(&self, jobs: &'a [T], weigh: impl Fn(&T) -> usize) -> Vec<&'a [T]> {
        cut(jobs, self.engine.facts().max_request_bytes(), weigh)
    }
}
