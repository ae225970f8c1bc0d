//! Opening a layout: what is known of the store from then on.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::RedisStore;
use super::actions::capabilities;
use super::context::{KnownQueues, RedisContext};
use super::queues;
use super::write::apply::BatchMemory;
use crate::adapter::Adapter;
use crate::adapter::redis::{RedisSpec, ScoreTime, SetKind};
use crate::db::redis::RedisEngine;
use crate::domain::run_options::destination::Destination;
use crate::store::found::Found;
use crate::store::open_options::{OpenOptions, ReplayDestination};
use crate::store::{Budget, Result, SourceError, StoreInfo};

/// Bytes of an entry before any was read: the first window is a small one.
const UNKNOWN_SIZE: usize = 64 << 10;

/// Opens a layout.
///
/// # Errors
/// When its dead jobs stand in what cannot be listed yet, or the server fails.
pub(in crate::store) async fn open(
    engine: Arc<RedisEngine>,
    adapter: &Adapter,
    found: &Found,
    options: &OpenOptions,
    budget: &Budget,
) -> Result<RedisStore> {
    let gone = || SourceError::Layout(format!("the adapter {} says nothing of Redis", adapter.name));
    let spec = adapter.redis().ok_or_else(gone)?;
    if !matches!(spec.dead.kind, SetKind::Zset | SetKind::Stream) {
        return Err(SourceError::Layout(format!(
            "{} keeps its dead jobs in a list, a hash or strings, which cannot be opened yet",
            found.table
        )));
    }
    if options.destination != ReplayDestination::None {
        return Err(SourceError::Input(
            "jobs in Redis go back to their own queue: take `replay` out of the source's section of the config"
                .to_owned(),
        ));
    }
    let prefix = engine.prefix().unwrap_or(&spec.prefix).to_owned();
    let names = Arc::new(queues::find(&engine, spec, &prefix, budget).await?.names);
    let info = describe(&engine, adapter, spec, found);
    let context = RedisContext {
        prefix,
        adapter: Arc::new(adapter.clone()),
        queues: Mutex::new(KnownQueues { names, at: Instant::now() }),
        engine,
        info,
        entry_bytes: AtomicUsize::new(UNKNOWN_SIZE),
    };
    Ok(RedisStore { context, batches: BatchMemory::default() })
}

fn describe(engine: &RedisEngine, adapter: &Adapter, spec: &RedisSpec, found: &Found) -> StoreInfo {
    let facts = engine.facts();
    let is_timed = spec.dead.kind == SetKind::Stream || spec.dead.score != ScoreTime::Other;
    StoreInfo {
        adapter: adapter.name.clone(),
        title: found.label(),
        server: facts.server.clone(),
        database: engine.database(),
        user: facts.user.clone(),
        newest_by: (!is_timed).then(|| "score".to_owned()),
        destination: spec.verbs.replay.as_ref().and_then(|verb| verb.body()).map(|_| Destination::Own),
        notation: Arc::new(spec.notation.clone()),
        read_only: facts.read_only.clone(),
        replica: facts.is_replica,
        warnings: found.warnings.clone(),
        capabilities: capabilities(spec, &adapter.name, found.unsafe_to_write.as_deref()),
    }
}
