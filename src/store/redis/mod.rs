//! A store in Redis or Valkey: sorted sets and streams of dead jobs, as an adapter file describes them.

mod actions;
mod changes;
mod context;
mod count;
mod entries;
mod job_id;
mod open;
mod queues;
mod scan;
mod survey;
mod totals;
mod walk;
mod write;

use futures_util::future::BoxFuture;

use self::context::RedisContext;
use self::entries::ROW;
pub(super) use self::open::open;
use self::scan::PageScan;
pub(super) use self::survey::{connection, detect, survey};
use self::write::apply::{Applier, BatchMemory};
use self::write::outcomes;
use super::{
    Applied, Batch, Budget, Changes, HistogramQuery, HistogramStep, Identity, Job, Page, PageQuery, Projection,
    Reconcile, Result, ScanMode, Store, StoreInfo, Token,
};
use crate::adapter::Part;
use crate::adapter::redis::{RawEntry, ReadParts};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::outcome::ObservedOutcome;
use crate::domain::time::Timestamp;

/// Jobs whose every detail is read at a time.
const DETAILS_AT_ONCE: usize = 100;

/// A source in Redis, opened through an adapter.
pub(super) struct RedisStore {
    context: RedisContext,
    batches: BatchMemory,
}

impl Store for RedisStore {
    fn info(&self) -> &StoreInfo {
        &self.context.info
    }

    fn clock(&self) -> Timestamp {
        self.context.clock()
    }

    fn identity<'a>(&'a self, _: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async {
            // Another server takes the name of a data set over with a failover, and a new one has another.
            Ok(Some(Identity { own: None, place: self.context.engine.place().to_owned() }))
        })
    }

    fn count<'a>(&'a self, query: HistogramQuery, budget: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        Box::pin(count::count(&self.context, query, budget))
    }

    fn scan<'a>(&'a self, query: PageQuery, mode: ScanMode, budget: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move { PageScan { context: &self.context, budget }.page(query, mode).await })
    }

    fn fetch<'a>(&'a self, ids: &'a [JobId], what: Projection, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Job>>> {
        Box::pin(async move {
            let mut jobs = Vec::with_capacity(ids.len());
            let all = entries::RowSelection::new(&Filter::all(), self.clock());
            for ids in ids.chunks(DETAILS_AT_ONCE) {
                let found = self.context.locate(ids, budget).await?.into_iter().zip(ids);
                let (mut raw, ids): (Vec<RawEntry>, Vec<&JobId>) =
                    found.filter_map(|(raw, id)| Some((raw?, id))).unzip();
                let parts: Vec<Part> = ROW.iter().chain(&[Part::Lineage]).copied().collect();
                let wanted = if what == Projection::Full { ReadParts::Full } else { ReadParts::Parts(&parts) };
                self.context.read(&mut raw, wanted, budget).await?;
                for (raw, id) in raw.iter().zip(ids) {
                    jobs.extend(match what {
                        Projection::Row => self.context.entry(raw, wanted, &all)?.map(Job::Row),
                        Projection::Full => {
                            let mut detail = self.context.spec()?.job(raw, wanted).detail(id.clone());
                            // A server has the fields of a hash in no order, and in another one after an undo.
                            detail.metadata.sort_by(|a, b| a.0.cmp(&b.0));
                            Some(Job::Full(detail))
                        }
                    });
                }
            }
            Ok(jobs)
        })
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        Box::pin(changes::changes(&self.context, since, (facet, filter), budget))
    }

    fn apply<'a>(&'a self, batch: Batch, budget: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(async move { Applier::new(&self.context, &self.batches, &batch, budget).apply().await })
    }

    fn reconcile(&self) -> Option<&dyn Reconcile> {
        Some(self)
    }

    fn outcomes<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ObservedOutcome)>>> {
        Box::pin(outcomes::outcomes(&self.context, ids, kept, budget))
    }
}
