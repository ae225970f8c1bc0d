//! A store that measures how long each batch takes, and leaves everything else to the one inside.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::ObservedOutcome;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::sql::SqlStore;
use dlq_tui::store::{
    Applied, Batch, Budget, Changes, HistogramQuery, HistogramStep, Identity, Job, Page, PageQuery, PlanFacts,
    Projection, Reconcile, Result, ScanMode, Store, StoreInfo, Token,
};
use futures_util::future::BoxFuture;

use crate::sample::Sample;

pub struct Stopwatch {
    store: SqlStore,
    laps: Mutex<Laps>,
}

/// What was measured so far.
#[derive(Clone, Debug, Default)]
pub struct Laps {
    /// How long each batch took, which is a transaction.
    pub batches: Sample,
    /// How long it took from the end of one batch to the start of the next: the ledger, mostly.
    pub between: Sample,
    ended: Option<Instant>,
}

impl Stopwatch {
    pub fn new(store: SqlStore) -> Self {
        Self { store, laps: Mutex::default() }
    }

    pub fn laps(&self) -> Laps {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Laps> {
        self.laps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Stopwatch {
    fn info(&self) -> &StoreInfo {
        self.store.info()
    }

    fn clock(&self) -> Timestamp {
        self.store.clock()
    }

    fn identity<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        self.store.identity(budget)
    }

    fn count<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        self.store.count(query, budget)
    }

    fn scan<'a>(&'a self, query: PageQuery, mode: ScanMode, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        self.store.scan(query, mode, budget)
    }

    fn fetch<'a>(&'a self, ids: &'a [JobId], what: Projection, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Job>>> {
        self.store.fetch(ids, what, budget)
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        self.store.changes(since, facet, filter, budget)
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(async move {
            let began = Instant::now();
            let applied = self.store.apply(batch, budget).await;
            let mut laps = self.lock();
            laps.batches.push(began.elapsed());
            if let Some(ended) = laps.ended.replace(Instant::now()) {
                laps.between.push(began.saturating_duration_since(ended));
            }
            applied
        })
    }

    fn plan(&self) -> &dyn PlanFacts {
        self.store.plan()
    }

    fn reconcile(&self) -> Option<&dyn Reconcile> {
        self.store.reconcile()
    }

    fn outcomes<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ObservedOutcome)>>> {
        self.store.outcomes(ids, kept, budget)
    }
}
