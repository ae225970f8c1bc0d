//! What became of an interrupted batch: its script wrote down what it did, in one step with doing it.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::copies::JobCopy;
use crate::adapter::Part;
use crate::adapter::redis::{ReadParts, RedisReply};
use crate::db::redis::RedisCommand;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::redis::RedisStore;
use crate::store::{Batch, Budget, Reconcile, Result, TxStatus};

/// How long the evidence of a batch is kept that nobody asks for.
pub(crate) const EVIDENCE_KEPT: Duration = Duration::from_secs(3 * 24 * 3600);
/// What the keys begin with that are ours.
const OURS: &str = "dlq-tui:batch:";

/// The key that holds the evidence of a batch: with the instant, which says until when it is there if the batch was done.
pub(crate) fn evidence_name(run: &str, now: Timestamp) -> String {
    format!("{OURS}{run}:{}:{}", now.0.div_euclid(1_000), uuid::Uuid::new_v4().simple())
}

/// When a batch began, as the name of its evidence says.
fn began(name: &str) -> Option<Timestamp> {
    let ms: i64 = name.strip_prefix(OURS)?.rsplit(':').nth(1)?.parse().ok()?;
    Some(Timestamp(ms.saturating_mul(1_000)))
}

impl RedisStore {
    async fn evidence(&self, name: &str, budget: &Budget) -> Result<Option<Vec<JobId>>> {
        let commands: [RedisCommand; 2] = [vec![b"HKEYS".to_vec(), name.into()], vec![b"TIME".to_vec()]];
        let replies = self.context.engine.read(&commands, budget).await?;
        let now = replies.get(1).and_then(crate::db::redis::time_of).unwrap_or_else(|| self.context.clock());
        let done: Vec<JobId> = match replies.first() {
            Some(RedisReply::List(keys)) => {
                keys.iter().filter_map(|key| Some(JobId::new(std::str::from_utf8(key.bytes()?).ok()?))).collect()
            }
            _ => Vec::new(),
        };
        if !done.is_empty() {
            return Ok(Some(done.into_iter().filter(|id| !id.as_str().is_empty()).collect()));
        }
        // Without evidence nothing was done, as long as it would still be there: a server that evicts keys may have lost it.
        let memory = self.context.engine.facts().memory.as_ref();
        let is_evicting = memory.is_none_or(|(limit, policy)| *limit > 0 && policy != "noeviction");
        let is_lasting = !is_evicting && began(name).is_some_and(|at| at.age(now) < EVIDENCE_KEPT);
        Ok(is_lasting.then(Vec::new))
    }
}

impl Reconcile for RedisStore {
    fn dry_run<'a>(&'a self, batch: &'a Batch, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobOutcome>>> {
        Box::pin(async move {
            let parts = [Part::At, Part::State];
            let found = self.context.locate(&batch.ids, budget).await?;
            let mut outcomes = Vec::with_capacity(batch.ids.len());
            for (id, entry) in batch.ids.iter().zip(found) {
                let is_kept = batch.undo.iter().flat_map(|undo| &undo.kept).any(|(kept, _)| kept == id);
                let result = match entry {
                    _ if batch.action.needs_kept() && !is_kept => JobResult::Skipped(SkipReason::Gone),
                    Some(_) if batch.action.needs_kept() => JobResult::Skipped(SkipReason::AlreadyThere),
                    None if batch.action.needs_kept() => JobResult::Done,
                    None => JobResult::Skipped(SkipReason::Gone),
                    Some(entry) => {
                        let mut entry = [entry];
                        self.context.read(&mut entry, ReadParts::Parts(&parts), budget).await?;
                        let at = self.context.spec()?.job(&entry[0], ReadParts::Parts(&parts)).at();
                        match batch.died_by.zip(at) {
                            Some((by, at)) if at > by => JobResult::Skipped(SkipReason::Changed),
                            _ => JobResult::Done,
                        }
                    }
                };
                outcomes.push((id.clone(), result));
            }
            Ok(outcomes)
        })
    }

    fn as_kept<'a>(&'a self, kept: &'a [(JobId, String)], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(async move {
            let ids: Vec<JobId> = kept.iter().map(|(id, _)| id.clone()).collect();
            let found = self.context.locate(&ids, budget).await?;
            let mut same = Vec::new();
            for ((id, text), entry) in kept.iter().zip(found) {
                let copy = JobCopy::read(text)?;
                let Some(entry) = entry.filter(|entry| *entry == copy.entry()) else { continue };
                drop(entry);
                let asking: Vec<RedisCommand> =
                    copy.key_names().map(|key| vec![b"EXISTS".to_vec(), key.to_vec()]).collect();
                let there = self.context.engine.read(&asking, budget).await?;
                if there.iter().all(|reply| reply.bytes() == Some(b"1")) {
                    same.push(id.clone());
                }
            }
            Ok(same)
        })
    }

    fn traced<'a>(
        &'a self,
        _: Action,
        _: &'a str,
        _: &'a [JobId],
        _: &'a Budget,
    ) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        Box::pin(async { Ok(None) })
    }

    fn tx_status<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<TxStatus>> {
        Box::pin(async move {
            Ok(match self.evidence(transaction, budget).await? {
                None => TxStatus::Unknown,
                Some(done) if done.is_empty() => TxStatus::Undone,
                Some(_) => TxStatus::Committed,
            })
        })
    }

    fn done_in<'a>(&'a self, transaction: &'a str, budget: &'a Budget) -> BoxFuture<'a, Result<Option<Vec<JobId>>>> {
        Box::pin(self.evidence(transaction, budget))
    }

    fn archived<'a>(&'a self, _: &'a str, _: &'a [JobId], _: &'a Budget) -> BoxFuture<'a, Result<Vec<JobId>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_evidence_says_when_its_batch_began() {
        let name = evidence_name("01900000-0000-7000-8000-000000000000", Timestamp(1_795_795_178_014_000));
        assert_eq!(began(&name), Some(Timestamp(1_795_795_178_014_000)));
        assert_eq!(began("something:else"), None);
    }
}
