//! Which layouts a server holds.

use std::time::{Duration, Instant};

use super::queues;
use crate::adapter::Adapter;
use crate::adapter::redis::{KeyNames, RawEntry, ReadParts, RedisReply, RedisSpec, SetKind};
use crate::db::EngineOptions;
use crate::db::redis::{RedisCommand, RedisEngine, time_of};
use crate::db::target::Target;
use crate::domain::time::Timestamp;
use crate::store::found::Found;
use crate::store::{Budget, Connection, Result, SourceError};

use super::walk::{scored_entries, stream_entries};

/// Round trips of which the quickest counts as the way there and back.
const QUESTIONS: usize = 3;

/// How a connection is doing.
pub(in crate::store) async fn connection(engine: &RedisEngine, budget: &Budget) -> Result<Connection> {
    let (mut latency, mut ahead) = (Duration::MAX, None);
    for _ in 0..QUESTIONS {
        let began = Instant::now();
        let reply = engine.read(&[vec![b"TIME".to_vec()]], budget).await?.pop().unwrap_or_default();
        if began.elapsed() < latency {
            latency = began.elapsed();
            ahead = time_of(&reply).map(|clock| clock.0 - Timestamp::now().0);
        }
    }
    let is_lost = engine.facts().is_persistent == Some(false);
    let forgets = is_lost.then(|| "appendonly = no".to_owned());
    Ok(Connection { latency, other_port: None, forgets, ahead, encryption: None })
}

/// Queues whose dead sets are looked at to tell one layout from another.
const PROBED: usize = 8;

/// Connects, and finds the layouts.
pub(in crate::store) async fn survey<A: AsRef<[Adapter]>>(
    target: &Target,
    options: &EngineOptions,
    library: impl Future<Output = A>,
    budget: &Budget,
) -> Result<(RedisEngine, A, Vec<Found>)> {
    let (engine, library) = tokio::join!(RedisEngine::connect(target, options, budget), library);
    let engine = engine?;
    let found = detect(&engine, library.as_ref(), budget).await?;
    Ok((engine, library, found))
}

/// Finds the layouts. The first of several adapters for the same keys is taken.
pub(in crate::store) async fn detect(
    engine: &RedisEngine,
    adapters: &[Adapter],
    budget: &Budget,
) -> Result<Vec<Found>> {
    let (mut all, mut denied): (Vec<Found>, Option<SourceError>) = (Vec::new(), None);
    for adapter in adapters {
        let Some(spec) = adapter.redis() else { continue };
        let found = match probe(engine, &adapter.name, spec, budget).await {
            // A role may be shown the keys of one framework alone.
            Err(error @ SourceError::Denied(_)) => {
                denied.get_or_insert(error);
                None
            }
            probed => probed?,
        };
        if let Some(found) = found
            && all.iter().all(|other| other.table != found.table)
        {
            all.push(found);
        }
    }
    match denied {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// A layout, where its keys are there.
async fn probe(engine: &RedisEngine, name: &str, spec: &RedisSpec, budget: &Budget) -> Result<Option<Found>> {
    let prefix = engine.prefix().unwrap_or(&spec.prefix);
    if !spec.detect.any.is_empty() {
        let key = |key: &crate::adapter::redis::KeyTemplate| key.fill(&KeyNames { prefix, ..KeyNames::default() });
        let asking: Vec<RedisCommand> = spec.detect.any.keys().map(|k| vec![b"TYPE".to_vec(), key(k)]).collect();
        let types = engine.read(&asking, budget).await?;
        let mut wanted = spec.detect.any.values().zip(&types);
        if !wanted.any(|(wanted, is)| is.bytes() == Some(wanted.word().as_bytes())) {
            return Ok(None);
        }
    }
    let queues = queues::find(engine, spec, prefix, budget).await?;
    // Some libraries leave nothing of a queue that has no jobs; what the layout is known by may be there all the same.
    if queues.names.is_empty() && spec.detect.any.is_empty() {
        return Ok(None);
    }
    if !holds_such(engine, (spec, prefix), &queues.names, budget).await? {
        return Ok(None);
    }
    let warnings = match queues.is_partial {
        true => vec!["not all keys were gone through for queues: some may be missing".to_owned()],
        false => Vec::new(),
    };
    let table = spec.dead.key.fill(&KeyNames { prefix, queue: "*", id: b"*" });
    let table = String::from_utf8_lossy(&table).into_owned();
    Ok(Some(Found::of_keys(name, &spec.title, table, warnings)))
}

/// Whether the dead sets are of the right type, and an entry that stands in one of them is of this layout.
async fn holds_such(
    engine: &RedisEngine,
    (spec, prefix): (&RedisSpec, &str),
    queues: &[String],
    budget: &Budget,
) -> Result<bool> {
    let text = |word: &str| word.as_bytes().to_vec();
    let wanted = match spec.dead.kind {
        SetKind::Zset => "zset",
        SetKind::Stream => "stream",
        // Other kinds cannot be opened yet.
        _ => return Ok(false),
    };
    let keys = |queue: &String| spec.dead.key.fill(&KeyNames { prefix, queue, id: b"" });
    let keys: Vec<Vec<u8>> = queues.iter().take(PROBED).map(keys).collect();
    let types =
        engine.read(&keys.iter().map(|key| vec![text("TYPE"), key.clone()]).collect::<Vec<_>>(), budget).await?;
    let is = |reply: &RedisReply, word: &str| reply.bytes() == Some(word.as_bytes());
    let fits: Vec<&Vec<u8>> = keys.iter().zip(&types).filter(|(_, t)| is(t, wanted)).map(|(key, _)| key).collect();
    if fits.is_empty() {
        // Nothing has died yet; a single dead set whose key is not there tells nothing of its layout.
        let is_empty = types.iter().all(|reply| is(reply, "none"));
        let are_found = spec.queues.is_some() && engine.queues().is_empty();
        return Ok(is_empty && (are_found || !spec.detect.any.is_empty()));
    }
    if spec.detect.entry.is_empty() {
        return Ok(true);
    }
    let newest = |key: &&Vec<u8>| match spec.dead.kind {
        SetKind::Stream => vec![text("XREVRANGE"), (*key).clone(), text("+"), text("-"), text("COUNT"), text("1")],
        _ => vec![text("ZREVRANGE"), (*key).clone(), text("0"), text("0"), text("WITHSCORES")],
    };
    let replies = engine.read(&fits.iter().map(newest).collect::<Vec<_>>(), budget).await?;
    let entries = |reply: &RedisReply| match spec.dead.kind {
        SetKind::Stream => stream_entries(None, reply),
        _ => scored_entries(None, reply),
    };
    let entries: Vec<RawEntry> = replies.iter().flat_map(entries).collect();
    Ok(entries.is_empty() || entries.iter().any(|entry| spec.job(entry, ReadParts::Parts(&[])).is_of_layout()))
}
