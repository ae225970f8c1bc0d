//! Which queues there are: named by a set of the framework's own, or found by their keys.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::walk::number;
use crate::adapter::redis::{KeyNames, RedisReply, RedisSpec};
use crate::db::redis::{RedisCommand, RedisEngine};
use crate::store::{Budget, Result, SourceError};

/// Keys that the server goes through at a time: well below a millisecond of its time.
const SCANNED_AT_ONCE: &str = "1000";
/// How long a walk through the keys may take. What it did not get to is said.
const LONGEST_SCAN: Duration = Duration::from_secs(10);

/// Keys up to which all of them are gone through for queues although the framework's own set names none.
const FEW_KEYS: i64 = 100_000;

/// Queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundQueues {
    /// Their names, in order, each once.
    pub(super) names: Vec<String>,
    /// Whether keys were left that nobody went through.
    pub(super) is_partial: bool,
}

/// Finds the queues of a layout.
pub(super) async fn find(engine: &RedisEngine, spec: &RedisSpec, prefix: &str, budget: &Budget) -> Result<FoundQueues> {
    let Some(queues) = &spec.queues else { return Ok(FoundQueues { names: vec![String::new()], is_partial: false }) };
    if !engine.queues().is_empty() {
        return Ok(FoundQueues { names: engine.queues().to_vec(), is_partial: false });
    }
    let mut found = FoundQueues::default();
    if let Some(known) = &queues.known {
        let key = known.fill(&KeyNames { prefix, ..KeyNames::default() });
        let named = engine.read_each(&[vec![b"SMEMBERS".to_vec(), key]], budget).await?.pop();
        let members = match named {
            Some(Ok(RedisReply::List(members))) => members,
            // A key of that name that holds something else is of no queue of ours.
            Some(Err(error)) if !matches!(error, SourceError::Unfit { .. }) => return Err(error),
            _ => Vec::new(),
        };
        let name = |member: &RedisReply| {
            let name = String::from_utf8(member.bytes()?.to_vec()).ok()?;
            Some(name.strip_prefix(&queues.strip).unwrap_or(&name).to_owned())
        };
        found.names = members.iter().filter_map(name).collect();
        // The set is how the framework finds them itself.
        if found.names.is_empty() && !has_few_keys(engine, budget).await? {
            return Ok(found);
        }
    }
    if let Some(pattern) = queues.scan.as_ref().filter(|_| found.names.is_empty()) {
        let pattern = pattern.get_ref().fill(&KeyNames { prefix, ..KeyNames::default() });
        let keys = scan(engine, &pattern, queues.key_type.map(|kind| kind.word()), budget).await?;
        found.is_partial = keys.1;
        found.names = keys.0.iter().filter_map(|key| queues.name_in(key, prefix)).map(str::to_owned).collect();
    }
    found.names = found.names.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    Ok(found)
}

async fn has_few_keys(engine: &RedisEngine, budget: &Budget) -> Result<bool> {
    let size = engine.read_each(&[vec![b"DBSIZE".to_vec()]], budget).await?.pop();
    Ok(size.and_then(std::result::Result::ok).and_then(|size| number(&size)).is_some_and(|keys| keys <= FEW_KEYS))
}

/// The keys that a pattern fits, and whether some were not looked at.
async fn scan(
    engine: &RedisEngine,
    pattern: &[u8],
    key_type: Option<&str>,
    budget: &Budget,
) -> Result<(Vec<String>, bool)> {
    let (began, mut cursor, mut keys) = (Instant::now(), b"0".to_vec(), Vec::new());
    loop {
        let mut command: RedisCommand = vec![b"SCAN".to_vec(), cursor, b"MATCH".to_vec(), escaped(pattern)];
        command.extend(["COUNT", SCANNED_AT_ONCE].map(|word| word.as_bytes().to_vec()));
        if let Some(key_type) = key_type {
            command.extend(["TYPE", key_type].map(|word| word.as_bytes().to_vec()));
        }
        let reply = engine.read(&[command], budget).await?.pop().unwrap_or_default();
        let RedisReply::List(parts) = reply else { return Ok((keys, false)) };
        if let Some(RedisReply::List(found)) = parts.get(1) {
            keys.extend(found.iter().filter_map(|key| String::from_utf8(key.bytes()?.to_vec()).ok()));
        }
        cursor = parts.first().and_then(RedisReply::bytes).unwrap_or(b"0").to_vec();
        if cursor == b"0" {
            return Ok((keys, false));
        }
        if began.elapsed() >= LONGEST_SCAN {
            return Ok((keys, true));
        }
    }
}

/// A pattern in which only the star is one: the others of a glob are part of the key.
fn escaped(pattern: &[u8]) -> Vec<u8> {
    let special = |byte: &u8| b"?[]\\^".contains(byte);
    pattern.iter().flat_map(|byte| special(byte).then_some(b'\\').into_iter().chain([*byte])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_star_of_a_pattern_stands_for_more() {
        assert_eq!(escaped(b"jobs[1]:*:meta?"), b"jobs\\[1\\]:*:meta\\?");
    }
}
