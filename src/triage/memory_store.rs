//! A whole store in memory, for tests of what works on stores: the real ones are tested against real databases.

mod data;
mod reads;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use self::data::number;
pub(crate) use self::data::{Data, InjectedFault, Row};
use self::reads::{detail_of, entry_of};
use super::StoreContext;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{GoneMeaning, ObservedOutcome, ReplayOutcome};
use crate::domain::repair::ArgumentsDocument;
use crate::domain::time::Timestamp;
use crate::ledger::Operator;
use crate::store::*;

pub(crate) struct MemoryStore {
    info: StoreInfo,
    pub(crate) data: Mutex<Data>,
}

impl MemoryStore {
    /// A store of `n` jobs, and what else is known of the store.
    pub(crate) fn of(n: u64, change: impl FnOnce(&mut StoreInfo)) -> Arc<Self> {
        let ready = || Availability::Ready { notes: vec!["Counters start again.".into()] };
        let mut info = StoreInfo {
            adapter: "memory".into(),
            title: "jobs".into(),
            server: String::new(),
            database: String::new(),
            user: String::new(),
            newest_by: None,
            destination: None,
            notation: Arc::default(),
            read_only: None,
            replica: false,
            warnings: Vec::new(),
            capabilities: Capabilities {
                facets: vec![Facet::Error],
                sorts: vec![SortKey::Time],
                actions: Action::ALL
                    .into_iter()
                    .filter(|a| !matches!(a, Action::Reopen | Action::Copy))
                    .map(|a| (a, ready()))
                    .collect(),
                ..Capabilities::default()
            },
        };
        change(&mut info);
        let row = Row { state: State::Dead, locked: 0, refuses: None };
        let data = Data { rows: (0..n).map(|id| (id, row.clone())).collect(), ..Data::default() };
        Arc::new(Self { info, data: Mutex::new(data) })
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Data) -> T) -> T {
        f(&mut self.data.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn desk(self: &Arc<Self>) -> StoreContext {
        StoreContext {
            store: self.clone(),
            source: "main".into(),
            production: false,
            operator: Operator::default(),
            redactor: Arc::default(),
            ledger: None,
        }
    }
}

impl Store for MemoryStore {
    fn info(&self) -> &StoreInfo {
        &self.info
    }

    fn clock(&self) -> Timestamp {
        self.with(|data| data.clock)
    }

    fn identity<'a>(&'a self, _: &'a Budget) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async { Ok(self.with(|data| data.identity.clone())) })
    }

    fn count<'a>(&'a self, query: HistogramQuery, _: &'a Budget) -> BoxFuture<'a, Result<HistogramStep>> {
        Box::pin(async move { Ok(self.with(|data| data.answer(&query))) })
    }

    /// A cohort comes in steps of seven rows.
    fn scan<'a>(&'a self, query: PageQuery, mode: ScanMode, _: &'a Budget) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            if !matches!(mode, ScanMode::Cohort | ScanMode::CohortRows) {
                return Ok(self.with(|data| data.page(&query)));
            }
            let page = self.with(|data| {
                data.frozen_by = query.filter.to_string();
                data.page(&PageQuery { limit: 7, ..query })
            });
            let scanned = Some(Scanned { rows: page.entries.len() as u64, share: 0.5 });
            Ok(Page { scanned, ..page })
        })
    }

    fn fetch<'a>(&'a self, ids: &'a [JobId], what: Projection, _: &'a Budget) -> BoxFuture<'a, Result<Vec<Job>>> {
        let job = move |row| match what {
            Projection::Row => Job::Row(entry_of(row)),
            Projection::Full => Job::Full(detail_of(row)),
        };
        Box::pin(
            async move { Ok(self.with(|data| ids.iter().filter_map(|id| Some(job(data.row(number(id))?))).collect())) },
        )
    }

    fn changes<'a>(
        &'a self,
        since: Option<&'a Token>,
        facet: Facet,
        filter: &'a Filter,
        _: &'a Budget,
    ) -> BoxFuture<'a, Result<Changes>> {
        Box::pin(async move { Ok(self.with(|data| data.changes(since, facet, filter))) })
    }

    fn apply<'a>(&'a self, mut batch: Batch, _: &'a Budget) -> BoxFuture<'a, Applied> {
        Box::pin(async move {
            // Whether it took effect is not to be known from outside.
            let failed =
                |error: SourceError| Applied { outcomes: Vec::new(), broke: Some(Interrupted::at_commit(error)) };
            let fault = match self.with(|data| data.faults.pop_front()) {
                Some(InjectedFault::Before(error)) => return failed(error),
                Some(InjectedFault::Not) => None,
                other => other,
            };
            if let Some(InjectedFault::Midway(n, _)) = &fault {
                batch.ids.truncate(*n);
            }
            let dead: Vec<JobId> = self.with(|data| {
                let dead = |id: &&JobId| data.rows.get(&number(id)).is_some_and(|row| row.state == State::Dead);
                batch.ids.iter().filter(dead).cloned().collect()
            });
            self.with(|data| data.asked += 1);
            let undone = matches!(fault, Some(InjectedFault::Undone(_)));
            let name = self.with(|data| {
                let endings = data.endings.as_mut()?;
                // It has not ended well before it has.
                endings.push(false);
                Some(endings.len() - 1)
            });
            let mut refused = Vec::new();
            if let (Action::Replay, Some(deliver), false) = (batch.action, &batch.deliver, dead.is_empty()) {
                let message = |id: &JobId| Message { id: id.clone(), json: "{}".to_owned() };
                refused = deliver.deliver(dead.iter().map(message).collect()).await;
            }
            if let Some(journal) = &batch.journal {
                let keeps = batch.action == Action::Discard || self.info.capabilities.outcomes_need_copies;
                let row = format!("{{\"pad\":\"{}\"}}", "x".repeat(self.with(|data| data.padding)));
                let rows = dead.iter().filter(|_| keeps && journal.copies() != RowCopies::Nothing);
                let rows = rows.map(|id| (id.clone(), row.clone())).collect();
                let marker = name.map(|name| TxMarker { transaction: name.to_string(), ids: dead.clone() });
                let entry = JournalEntry { rows, marker };
                if entry != JournalEntry::default()
                    && let Err(error) = journal.write(entry).await
                {
                    return Applied { outcomes: Vec::new(), broke: Some(error.into()) };
                }
            }
            if let (Some(name), false) = (name, undone) {
                self.with(|data| data.endings.iter_mut().for_each(|endings| endings[name] = true));
            }
            if let Some(InjectedFault::Undone(error)) = fault {
                return failed(error);
            }
            let outcomes = self.with(|data| {
                data.batches.push(batch.ids.len());
                let no = |id: &JobId| refused.iter().any(|(job, told)| job == id && told.is_err());
                let refused = |id: &JobId| no(id).then(|| JobResult::Failed("no".into()));
                batch.ids.iter().map(|id| (id.clone(), refused(id).unwrap_or_else(|| data.apply(&batch, id)))).collect()
            });
            if let Some(then) = self.with(|data| data.then.take()) {
                then.await;
            }
            match fault {
                Some(InjectedFault::After(error)) => failed(error),
                Some(InjectedFault::Hang) => std::future::pending().await,
                Some(InjectedFault::Midway(_, error)) => Applied { outcomes, broke: Some(error.into()) },
                _ => Applied { outcomes, broke: None },
            }
        })
    }

    fn reconcile(&self) -> Option<&dyn Reconcile> {
        Some(self)
    }

    fn arguments(&self) -> Option<&dyn EditArguments> {
        Some(self)
    }

    fn outcomes<'a>(
        &'a self,
        ids: &'a [JobId],
        kept: &'a [(JobId, String)],
        _: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, ObservedOutcome)>>> {
        Box::pin(async move {
            Ok(self.with(|data| {
                let known =
                    |id: &JobId| !self.info.capabilities.outcomes_need_copies || kept.iter().any(|(of, _)| of == id);
                let fate = |id: &JobId| match data.live.contains(&number(id)) && !data.forgotten && known(id) {
                    true => data.workers.as_ref().map_or(ReplayOutcome::Waiting, |outcome| outcome(number(id))),
                    false => ReplayOutcome::Gone(GoneMeaning::Deleted),
                };
                ids.iter().map(|id| (id.clone(), fate(id).into())).collect()
            }))
        })
    }
}

impl EditArguments for MemoryStore {
    fn documents<'a>(&'a self, ids: &'a [JobId], _: &'a Budget) -> BoxFuture<'a, Result<Vec<(JobId, FoundArguments)>>> {
        let document = |data: &Data, id: &JobId| {
            let found = ArgumentsDocument::at(data.arguments_of(number(id)), "");
            (id.clone(), found.ok_or_else(|| "no JSON".to_owned()))
        };
        Box::pin(async move {
            Ok(self.with(|data| {
                ids.iter().filter(|id| data.rows.contains_key(&number(id))).map(|id| document(data, id)).collect()
            }))
        })
    }

    fn stored_forms<'a>(
        &'a self,
        texts: &'a [String],
        _: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<std::result::Result<String, String>>>> {
        Box::pin(async { Ok(texts.iter().cloned().map(Ok).collect()) })
    }
}

impl Reconcile for MemoryStore {
    fn dry_run<'a>(&'a self, batch: &'a Batch, _: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        Box::pin(async move {
            let there = |id: &JobId| self.with(|data| data.rows.contains_key(&number(id)));
            let place = |id: &JobId| match there(id) == (batch.action == Action::Restore) {
                true => JobResult::Skipped(SkipReason::AlreadyThere),
                false => JobResult::Done,
            };
            Ok(batch.ids.iter().map(|id| (id.clone(), place(id))).collect())
        })
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], _: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(async move {
            let there = |id: &JobId| self.with(|data| data.rows.contains_key(&number(id)));
            Ok(kept.iter().map(|(id, _)| id).filter(|id| there(id)).cloned().collect())
        })
    }

    fn tx_status<'a>(&'a self, transaction: &'a str, _: &'a Budget) -> BoxFuture<'a, Result<TxStatus>> {
        let known = self.with(|data| {
            let endings = data.endings.as_ref()?;
            endings.get(transaction.parse::<usize>().ok()?).copied()
        });
        let ending = match known {
            Some(true) => TxStatus::Committed,
            Some(false) => TxStatus::Undone,
            None => TxStatus::Unknown,
        };
        Box::pin(async move { Ok(ending) })
    }

    fn traced<'a>(
        &'a self,
        _: Action,
        _: &'a str,
        _: &'a [JobId],
        _: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        let traces = self.with(|data| data.traces.clone());
        Box::pin(async { Ok(traces.map(|ids| ids.iter().map(|id| JobId::new(id.to_string())).collect())) })
    }

    fn archived<'a>(&'a self, run: &'a str, ids: &'a [JobId], _: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(async move {
            let twin = self.with(|data| data.twin.clone());
            let held = |id: &&JobId| twin.contains(&(run.to_owned(), number(id)));
            Ok(ids.iter().filter(held).cloned().collect())
        })
    }
}
