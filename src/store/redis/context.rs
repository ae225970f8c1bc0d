//! What every part of the store works with: the connection, the adapter, and which queues there are.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::job_id::{IdForm, JobKey, JobName, document_name};
use super::queues;
use crate::adapter::Adapter;
use crate::adapter::redis::{KeyNames, RawEntry, ReadParts, RedisReply, RedisSpec, SetKind};
use crate::db::redis::RedisEngine;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::{Budget, Result, SourceError, StoreInfo};

/// How long the queues count as known. A new one has its first dead jobs shown after that.
const QUEUES_KNOWN: Duration = Duration::from_secs(30);
/// The same, where finding them takes a walk through all keys.
const QUEUES_KNOWN_BY_SCAN: Duration = Duration::from_secs(300);

/// Entries of a window at the most, and bytes that are read for one.
const MOST_AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 4 << 20;

/// The connection and the layout.
pub(super) struct RedisContext {
    pub(super) engine: Arc<RedisEngine>,
    pub(super) adapter: Arc<Adapter>,
    pub(super) prefix: String,
    pub(super) info: StoreInfo,
    pub(super) queues: Mutex<KnownQueues>,
    /// Bytes that were read for an entry of the last window.
    pub(super) entry_bytes: AtomicUsize,
}

/// The queues, and when they were found.
pub(super) struct KnownQueues {
    pub(super) names: Arc<Vec<String>>,
    pub(super) at: Instant,
}

impl RedisContext {
    /// What the adapter says.
    ///
    /// # Errors
    /// When it says nothing of Redis, which opening has checked.
    pub(super) fn spec(&self) -> Result<&RedisSpec> {
        let gone = || SourceError::Layout(format!("the adapter {} says nothing of Redis", self.adapter.name));
        self.adapter.redis().ok_or_else(gone)
    }

    /// How ids are made.
    pub(super) fn ids(&self) -> Result<IdForm> {
        let dead = &self.spec()?.dead;
        Ok(IdForm { has_queues: dead.key.names("queue"), is_scored: dead.id.is_some() && dead.kind == SetKind::Zset })
    }

    /// The server's clock, as far as is known without asking.
    pub(super) fn clock(&self) -> Timestamp {
        self.engine.clock()
    }

    /// How many entries are read at a time: fewer of big jobs, so that memory stays bounded.
    pub(super) fn window_size(&self) -> usize {
        (BYTES_AT_ONCE / self.entry_bytes.load(Ordering::Relaxed).max(1)).clamp(1, MOST_AT_ONCE)
    }

    /// Takes note of how much was read for these entries.
    pub(super) fn note_size(&self, entries: &[RawEntry]) {
        let replies = entries.iter().flat_map(|entry| &entry.replies).map(|(_, reply)| size_of_reply(reply));
        let bytes: usize = replies.sum::<usize>() + entries.iter().map(|entry| entry.member.len()).sum::<usize>();
        if !entries.is_empty() {
            self.entry_bytes.store(bytes / entries.len(), Ordering::Relaxed);
        }
    }

    /// The key of a queue's dead set.
    pub(super) fn dead_key(&self, queue: &str) -> Result<Vec<u8>> {
        Ok(self.spec()?.dead.key.fill(&self.names(queue, b"")))
    }

    /// What stands for the holes of key patterns.
    pub(super) fn names<'a>(&'a self, queue: &'a str, id: &'a [u8]) -> KeyNames<'a> {
        KeyNames { prefix: &self.prefix, queue, id }
    }

    /// The queues, in the order of their names; one without a name where the layout has a single dead set.
    pub(super) async fn queues(&self, budget: &Budget) -> Result<Arc<Vec<String>>> {
        let spec = self.spec()?;
        let Some(found_by) = &spec.queues else { return Ok(Arc::new(vec![String::new()])) };
        let lasts = if found_by.known.is_some() { QUEUES_KNOWN } else { QUEUES_KNOWN_BY_SCAN };
        {
            let known = self.known_queues();
            if known.at.elapsed() < lasts {
                return Ok(Arc::clone(&known.names));
            }
        }
        let found = queues::find(&self.engine, spec, &self.prefix, budget).await?;
        let mut names = found.names;
        if found.is_partial {
            // Those that were not come to this time are there as before.
            names.extend(self.known_queues().names.iter().cloned());
            names = names.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        }
        let names = Arc::new(names);
        *self.known_queues() = KnownQueues { names: Arc::clone(&names), at: Instant::now() };
        Ok(names)
    }

    fn known_queues(&self) -> std::sync::MutexGuard<'_, KnownQueues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of an entry of which nothing but itself was read.
    pub(super) fn id_of(&self, entry: &RawEntry) -> Result<JobId> {
        let (spec, form) = (self.spec()?, self.ids()?);
        let own = if form.is_scored { spec.job(entry, ReadParts::Parts(&[])).own_id() } else { None };
        Ok(form.id(entry.queue.as_deref().unwrap_or_default(), &entry.member, entry.score, own.as_deref()))
    }

    /// Whether an entry is the one that a key names.
    pub(super) fn is_named(&self, entry: &RawEntry, key: &JobKey) -> Result<bool> {
        Ok(match &key.name {
            JobName::Entry(member) => entry.member == *member,
            JobName::Scored(score, name) => {
                let own = self.spec()?.job(entry, ReadParts::Parts(&[])).own_id();
                entry.score == Some(*score) && document_name(&entry.member, own.as_deref()) == *name
            }
        })
    }
}

fn size_of_reply(reply: &RedisReply) -> usize {
    match reply {
        RedisReply::Nil => 0,
        RedisReply::Bytes(bytes) => bytes.len(),
        RedisReply::List(replies) => replies.iter().map(size_of_reply).sum(),
    }
}
