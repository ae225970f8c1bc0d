//! Reads and validates a file with `engine = "redis"`.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::field::{ENTRY, OWN, RedisField};
use super::{FieldValue, ReadKind, RedisSpec, ScoreTime, SetKind};
use crate::adapter::key_places::key_at;
use crate::adapter::parse::{LocatedError, fault, is_redis, named_notation, take_name};
use crate::adapter::{Adapter, Part};

/// An adapter, of a file whose key `engine` was taken out.
pub(in crate::adapter) fn read(
    text: &str,
    mut root: DeTable<'_>,
    origin: &Option<PathBuf>,
) -> Result<Adapter, LocatedError> {
    let name = take_name(&mut root)?;
    named_notation(&mut root)?;
    let spec = spec(root, text.len())?;
    let adapter = Adapter::compiled_in_redis(&name, text);
    Ok(Adapter { origin: origin.clone(), redis: Some(Arc::new(spec)).into(), ..adapter })
}

/// What a file of a layout in Redis says that can be read.
pub(in crate::adapter) fn read_again(text: &str) -> Option<RedisSpec> {
    let mut root = DeTable::parse(text).ok()?.into_inner();
    is_redis(&mut root).ok()?.then_some(())?;
    take_name(&mut root).and_then(|_| named_notation(&mut root)).ok()?;
    spec(root, text.len()).ok()
}

/// What a file says, but for its name and its engine. `length` is that of its text, in bytes.
fn spec(root: DeTable<'_>, length: usize) -> Result<RedisSpec, LocatedError> {
    let places = root.clone();
    let spec = RedisSpec::deserialize(Deserializer::from(Spanned::new(0..length, root))).map_err(|e| {
        // A missing key has no place of its own.
        let (offset, message) = fault(e);
        (offset.filter(|at| *at > 0), message)
    })?;
    validate(&spec).map_err(|(path, message)| {
        let path: Vec<&str> = path.split('/').collect();
        // The last word may be within a value that was written in one line.
        let known = (1..=path.len()).rev().find_map(|end| key_at(&places, &path[..end]));
        (known, message)
    })?;
    Ok(spec)
}

/// A fault with the keys that lead to it.
type Misplaced = (String, String);

fn validate(spec: &RedisSpec) -> Result<(), Misplaced> {
    dead_set(spec)?;
    queues(spec)?;
    reads(spec)?;
    for (part, field) in spec.fields.iter() {
        let path = format!("fields/{}", part.word());
        check_field(spec, field, &path)?;
        if part == Part::MessageHead {
            return Err((path, "`message_head` is for databases: the start of `message` is cut here".to_owned()));
        }
        let is_time = field.sources.iter().all(|source| source.kind.is_time());
        if matches!(part, Part::At | Part::Touched) && !is_time {
            let message = format!("`fields.{}` is of kind epoch_s, epoch_ms, epoch, iso or stream_id", part.word());
            return Err((path, message));
        }
        let is_int = |kind| kind == FieldValue::Int;
        if matches!(part, Part::Attempts | Part::MaxAttempts) && !field.sources.iter().all(|s| is_int(s.kind)) {
            return Err((path, format!("`fields.{}` is of kind int", part.word())));
        }
    }
    for (name, field) in &spec.more {
        check_field(spec, field, &format!("more/{name}"))?;
    }
    let has_time = spec.dead.score != ScoreTime::Other || spec.dead.kind == SetKind::Stream;
    if !has_time && spec.fields.get(Part::At).is_none() {
        let message =
            "where neither score nor stream id is the time of death, `fields.at` says where it stands".to_owned();
        return Err(("dead".to_owned(), message));
    }
    verbs(spec)
}

fn dead_set(spec: &RedisSpec) -> Result<(), Misplaced> {
    let dead = &spec.dead;
    let stars = dead.key.as_str().matches('*').count();
    let at = |key: &str| format!("dead/{key}");
    if dead.kind == SetKind::Strings && stars != 1 {
        return Err((at("key"), "`dead.key` of strings has one `*`, which stands for the id".to_owned()));
    }
    if dead.kind != SetKind::Strings && (stars > 0 || dead.key.names("id")) {
        return Err((at("key"), "`dead.key` is one key, without `*` and {id}".to_owned()));
    }
    if dead.kind != SetKind::Zset && dead.score != ScoreTime::Other {
        return Err((at("score"), "`dead.score` is for a zset: nothing else has scores".to_owned()));
    }
    dead.id.as_ref().map_or(Ok(()), |id| check_field(spec, id, "dead/id"))
}

fn queues(spec: &RedisSpec) -> Result<(), Misplaced> {
    let named = spec.dead.key.names("queue");
    let Some(queues) = &spec.queues else {
        return match named {
            true => {
                Err(("dead/key".to_owned(), "`dead.key` has {queue}: `[queues]` says how queues are found".to_owned()))
            }
            false => Ok(()),
        };
    };
    if !named {
        return Err(("queues".to_owned(), "`[queues]` is for a `dead.key` with {queue}".to_owned()));
    }
    if queues.known.is_none() && queues.scan.is_none() {
        return Err(("queues".to_owned(), "`[queues]` needs `known`, a set of names, or `scan`, a pattern".to_owned()));
    }
    if let Some(scan) = queues.scan.as_ref().map(|scan| scan.get_ref())
        && (scan.as_str().matches('*').count() != 1 || scan.names("queue") || scan.names("id"))
    {
        return Err((
            "queues/scan".to_owned(),
            "`queues.scan` has one `*`, which stands for the queue's name".to_owned(),
        ));
    }
    Ok(())
}

fn reads(spec: &RedisSpec) -> Result<(), Misplaced> {
    for (name, read) in &spec.reads {
        let at = format!("reads/{name}");
        if name == ENTRY || OWN.contains(&name.as_str()) {
            return Err((at, format!("a read cannot be named `{name}`: that is a part of every entry")));
        }
        // Every step leads to another read, so that more of them than there are reads lead in a circle.
        let mut next = &read.kind;
        for step in 0.. {
            let ReadKind::Within(of, _) = next else { break };
            match spec.reads.get(of) {
                _ if step > spec.reads.len() => return Err((at, format!("`reads.{name}` leads back to itself"))),
                Some(read) => next = &read.kind,
                None if of == ENTRY => break,
                None => return Err((at, unknown_read(spec, of))),
            }
        }
    }
    Ok(())
}

fn unknown_read(spec: &RedisSpec, name: &str) -> String {
    let known: Vec<&str> = [ENTRY].into_iter().chain(spec.reads.keys().map(String::as_str)).collect();
    format!("there is no read `{name}`; there are {}", known.join(", "))
}

fn check_field(spec: &RedisSpec, field: &RedisField, at: &str) -> Result<(), Misplaced> {
    for source in &field.sources {
        let known =
            source.from == ENTRY || OWN.contains(&source.from.as_str()) || spec.reads.contains_key(&source.from);
        if !known {
            return Err((at.to_owned(), unknown_read(spec, &source.from)));
        }
        if source.add != 0 && source.kind != FieldValue::Int {
            return Err((at.to_owned(), "`add` is for a field of kind int".to_owned()));
        }
    }
    Ok(())
}

fn verbs(spec: &RedisSpec) -> Result<(), Misplaced> {
    for (name, verb) in spec.verbs.iter() {
        if verb.disabled.is_none() && verb.lua.is_none() {
            let message = format!("`verbs.{name}` needs `lua`, or `disabled` with the reason");
            return Err((format!("verbs/{name}"), message));
        }
    }
    if spec.verbs.recall.is_some() && spec.verbs.replay.is_none() {
        return Err(("verbs/recall".to_owned(), "`verbs.recall` undoes `verbs.replay`, which is not there".to_owned()));
    }
    let is_replayed = spec.verbs.replay.as_ref().is_some_and(|verb| verb.disabled.is_none());
    if spec.outcome.lua.is_none() && spec.outcome.unknown.is_none() && is_replayed {
        let message = "`outcome` has `lua`, or says with `unknown` why the outcome cannot be known".to_owned();
        return Err(("outcome".to_owned(), message));
    }
    Ok(())
}
