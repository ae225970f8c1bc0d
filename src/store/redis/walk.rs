//! Entries of all dead sets in one order: by score (the time in the id of a stream entry), then by queue, then by entry.
//!
//! Windows go on from a place and not from an offset, so entries that come or go meanwhile shift nothing. Scores are compared as
//! numbers: servers spell them in different ways.

use std::cmp::Ordering;
use std::sync::Arc;

use super::context::RedisContext;
use super::job_id::score_text;
use crate::adapter::redis::{RawEntry, RedisReply, SetKind};
use crate::db::redis::RedisCommand;
use crate::store::{Budget, Result, SourceError};

/// Entries that are read beyond those asked for, as some of them have the score of the place and stand before it.
const SLACK: usize = 16;
/// How often a window is read again whose place was moved by others meanwhile.
const TRIES: usize = 8;

/// A place in the order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EntryPlace {
    /// Score, or milliseconds of a stream id.
    pub(super) score: f64,
    pub(super) queue: String,
    pub(super) member: Vec<u8>,
}

impl EntryPlace {
    pub(super) fn of(entry: &RawEntry) -> Self {
        let score = entry.score.unwrap_or_else(|| stream_parts(&entry.member).0 as f64);
        Self { score, queue: entry.queue.clone().unwrap_or_default(), member: entry.member.clone() }
    }

    /// How two places stand in the ascending order.
    pub(super) fn compare(&self, other: &Self, kind: SetKind) -> Ordering {
        let members = || match kind {
            SetKind::Stream => stream_parts(&self.member).cmp(&stream_parts(&other.member)),
            _ => self.member.cmp(&other.member),
        };
        self.score.total_cmp(&other.score).then_with(|| self.queue.cmp(&other.queue)).then_with(members)
    }
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkDirection {
    /// The greatest score first.
    Down,
    /// The smallest score first.
    Up,
}

impl WalkDirection {
    fn turned(self, order: Ordering) -> Ordering {
        if self == WalkDirection::Down { order.reverse() } else { order }
    }
}

/// Entries in order, and whether the order ends with them.
#[derive(Debug, Default)]
pub(super) struct EntryWindow {
    pub(super) entries: Vec<RawEntry>,
    pub(super) is_last: bool,
}

/// Reads windows of the order.
#[derive(Clone)]
pub(super) struct EntryWalk<'c> {
    context: &'c RedisContext,
    queues: Arc<Vec<String>>,
    kind: SetKind,
    direction: WalkDirection,
    budget: &'c Budget,
}

impl<'c> EntryWalk<'c> {
    pub(super) async fn new(context: &'c RedisContext, direction: WalkDirection, budget: &'c Budget) -> Result<Self> {
        let (queues, kind) = (context.queues(budget).await?, context.spec()?.dead.kind);
        match kind {
            SetKind::Zset | SetKind::Stream => Ok(Self { context, queues, kind, direction, budget }),
            _ => Err(SourceError::Layout("dead jobs in lists, hashes and strings cannot be listed yet".to_owned())),
        }
    }

    /// The next entries behind a place, some at least unless the order ends; `None` is the beginning.
    pub(super) async fn window(&self, from: Option<&EntryPlace>, most: usize) -> Result<EntryWindow> {
        let asked = most.saturating_add(SLACK);
        let commands: Vec<RedisCommand> =
            self.queues.iter().map(|queue| self.command(queue, from, asked)).collect::<Result<_>>()?;
        let replies = self.context.engine.read(&commands, self.budget).await?;
        let (mut entries, mut bound, mut is_last): (Vec<RawEntry>, Option<EntryPlace>, bool) = (Vec::new(), None, true);
        for (queue, reply) in self.queues.iter().zip(&replies) {
            let mut found = self.entries(queue, reply);
            let mut is_full = found.len() >= asked;
            let last = found.last().map(EntryPlace::of);
            found.retain(|entry| self.is_behind(&EntryPlace::of(entry), from));
            if let (true, true, Some(from), Some(last)) = (is_full, found.is_empty(), from, &last) {
                // More entries than a window have the score of the place.
                (found, is_full) = self.behind_equals(queue, from, last, asked).await?;
            }
            if is_full {
                is_last = false;
                let end = found.last().map(EntryPlace::of).or(last);
                bound = self.first_of(bound, end);
            }
            entries.extend(found);
        }
        entries.sort_by(|a, b| self.direction.turned(EntryPlace::of(a).compare(&EntryPlace::of(b), self.kind)));
        // Behind the last entry of a full window there may be more of its queue.
        if let Some(bound) = &bound {
            entries.retain(|entry| !self.is_behind(&EntryPlace::of(entry), Some(bound)));
        }
        if entries.len() > most {
            is_last = false;
            entries.truncate(most);
        }
        Ok(EntryWindow { entries, is_last })
    }

    fn is_behind(&self, place: &EntryPlace, from: Option<&EntryPlace>) -> bool {
        from.is_none_or(|from| self.direction.turned(place.compare(from, self.kind)) == Ordering::Greater)
    }

    fn first_of(&self, a: Option<EntryPlace>, b: Option<EntryPlace>) -> Option<EntryPlace> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if self.is_behind(&a, Some(&b)) { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// What reads the entries of a queue from a place on, those with the score of the place among them where they may be behind it.
    fn command(&self, queue: &str, from: Option<&EntryPlace>, asked: usize) -> Result<RedisCommand> {
        let key = self.context.dead_key(queue)?;
        let text = |word: &str| word.as_bytes().to_vec();
        let is_behind_equals = from.is_some_and(|from| self.direction.turned(queue.cmp(&from.queue)) == Ordering::Less);
        if self.kind == SetKind::Stream {
            let bound = from.map(|from| match queue == from.queue {
                true => format!("({}", String::from_utf8_lossy(&from.member)),
                false if is_behind_equals && self.direction == WalkDirection::Down => format!("({}-0", from.score),
                false if is_behind_equals => format!("({}-{}", from.score, u64::MAX),
                false => format!("{}", from.score),
            });
            let (name, [start, end]) = match self.direction {
                WalkDirection::Down => ("XREVRANGE", [bound.unwrap_or_else(|| "+".to_owned()), "-".to_owned()]),
                WalkDirection::Up => ("XRANGE", [bound.unwrap_or_else(|| "-".to_owned()), "+".to_owned()]),
            };
            return Ok(vec![text(name), key, text(&start), text(&end), text("COUNT"), text(&asked.to_string())]);
        }
        let bound = from.map(|from| match is_behind_equals {
            true => format!("({}", score_text(from.score)),
            false => score_text(from.score),
        });
        let (start, end) = if self.direction == WalkDirection::Down { ("+inf", "-inf") } else { ("-inf", "+inf") };
        let start = bound.unwrap_or_else(|| start.to_owned());
        let mut words = vec![text("ZRANGE"), key, text(&start), text(end), text("BYSCORE")];
        words.extend((self.direction == WalkDirection::Down).then(|| text("REV")));
        words.extend(["LIMIT", "0", &asked.to_string(), "WITHSCORES"].map(text));
        Ok(words)
    }

    /// The entries behind a place among many with its score, by their rank: from one that stands before it or at it.
    async fn behind_equals(
        &self,
        queue: &str,
        from: &EntryPlace,
        last: &EntryPlace,
        asked: usize,
    ) -> Result<(Vec<RawEntry>, bool)> {
        let (rank, range) = match self.direction {
            WalkDirection::Down => ("ZREVRANK", "ZREVRANGE"),
            WalkDirection::Up => ("ZRANK", "ZRANGE"),
        };
        let key = self.context.dead_key(queue)?;
        let text = |word: &str| word.as_bytes().to_vec();
        let mut anchor = if from.queue == queue { from.member.clone() } else { last.member.clone() };
        for _ in 0..TRIES {
            let asking = vec![text(rank), key.clone(), anchor.clone()];
            let reply = self.context.engine.read(&[asking], self.budget).await?.pop().unwrap_or_default();
            let Some(at) = number(&reply) else {
                // It went meanwhile: the end of the window read before stands for it.
                anchor.clone_from(&last.member);
                continue;
            };
            let end = at.saturating_add(i64::try_from(asked).unwrap_or(i64::MAX));
            let asking =
                vec![text(range), key.clone(), text(&at.to_string()), text(&end.to_string()), text("WITHSCORES")];
            let reply = self.context.engine.read(&[asking], self.budget).await?.pop().unwrap_or_default();
            let mut found = self.entries(queue, &reply);
            // Others moved it: what was read may leave entries out.
            if found.first().is_none_or(|first| first.member != anchor) {
                continue;
            }
            let is_full = found.len() > asked;
            let end = found.last().map(|last| last.member.clone());
            found.retain(|entry| self.is_behind(&EntryPlace::of(entry), Some(from)));
            match end {
                Some(end) if is_full && found.is_empty() => anchor = end,
                _ => return Ok((found, is_full)),
            }
        }
        Err(SourceError::Locked("its dead jobs change faster than they can be read".to_owned()))
    }

    fn entries(&self, queue: &str, reply: &RedisReply) -> Vec<RawEntry> {
        let queue = (!queue.is_empty()).then(|| queue.to_owned());
        match self.kind {
            SetKind::Stream => stream_entries(queue.as_deref(), reply),
            _ => scored_entries(queue.as_deref(), reply),
        }
    }
}

/// Members with their scores, in turn.
pub(super) fn scored_entries(queue: Option<&str>, reply: &RedisReply) -> Vec<RawEntry> {
    let RedisReply::List(parts) = reply else { return Vec::new() };
    let entry = |pair: &[RedisReply]| {
        let [member, score] = pair else { return None };
        let score = number_of(score.bytes()?)?;
        let member = member.bytes()?.to_vec();
        Some(RawEntry { queue: queue.map(str::to_owned), member, score: Some(score), ..RawEntry::default() })
    };
    parts.chunks(2).filter_map(entry).collect()
}

/// Entries of a stream: the id, and its fields.
pub(super) fn stream_entries(queue: Option<&str>, reply: &RedisReply) -> Vec<RawEntry> {
    let RedisReply::List(parts) = reply else { return Vec::new() };
    let entry = |entry: &RedisReply| {
        let RedisReply::List(entry) = entry else { return None };
        let [id, RedisReply::List(fields)] = entry.as_slice() else { return None };
        let field = |pair: &[RedisReply]| match pair {
            [name, value] => Some((name.bytes()?.to_vec(), value.bytes()?.to_vec())),
            _ => None,
        };
        let fields = fields.chunks(2).filter_map(field).collect();
        let member = id.bytes()?.to_vec();
        Some(RawEntry { queue: queue.map(str::to_owned), member, fields: Some(fields), ..RawEntry::default() })
    };
    parts.iter().filter_map(entry).collect()
}

/// A score as a server spells it.
pub(super) fn number_of(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

pub(super) fn number(reply: &RedisReply) -> Option<i64> {
    std::str::from_utf8(reply.bytes()?).ok()?.parse().ok()
}

fn stream_parts(id: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(id);
    let (ms, seq) = text.split_once('-').unwrap_or((&text, "0"));
    (ms.parse().unwrap_or(0), seq.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(score: f64, queue: &str, member: &str) -> EntryPlace {
        EntryPlace { score, queue: queue.to_owned(), member: member.as_bytes().to_vec() }
    }

    #[test]
    fn places_stand_by_score_then_queue_then_entry() {
        let order = [place(1.0, "b", "9"), place(2.0, "a", "9"), place(2.0, "b", "10"), place(2.0, "b", "9")];
        for pair in order.windows(2) {
            assert_eq!(pair[0].compare(&pair[1], SetKind::Zset), Ordering::Less, "{pair:?}");
        }
        let ids = [place(5.0, "a", "5-9"), place(5.0, "a", "5-10")];
        assert_eq!(ids[0].compare(&ids[1], SetKind::Stream), Ordering::Less);
    }

    #[test]
    fn scores_are_read_however_they_are_spelt() {
        for text in ["1795795178.0140002", "1.7957951780140002e+9", "1795795178.0140002e0"] {
            assert_eq!(number_of(text.as_bytes()), Some(1_795_795_178.014_000_2));
        }
        assert_eq!(number_of(b"inf"), Some(f64::INFINITY));
    }
}
