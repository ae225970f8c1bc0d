//! How many entries there are, and where the newest stands: what a server knows without reading any.

use super::context::RedisContext;
use super::job_id::score_text;
use super::walk::{EntryPlace, WalkDirection, number, scored_entries, stream_entries};
use crate::adapter::redis::{RawEntry, SetKind};
use crate::db::redis::RedisCommand;
use crate::domain::time::Timestamp;
use crate::store::{Budget, Result};

/// The dead sets at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Totals {
    /// Entries.
    pub(super) n: u64,
    /// The newest of them.
    pub(super) newest: Option<EntryPlace>,
    /// The server's clock, as far as is known.
    pub(super) at: Timestamp,
}

impl RedisContext {
    /// Counts the entries, and looks up the newest one.
    pub(super) async fn totals(&self, budget: &Budget) -> Result<Totals> {
        let (queues, kind) = (self.queues(budget).await?, self.spec()?.dead.kind);
        let text = |word: &str| word.as_bytes().to_vec();
        let mut commands: Vec<RedisCommand> = Vec::new();
        for queue in queues.iter() {
            let key = self.dead_key(queue)?;
            commands.extend(match kind {
                SetKind::Stream => [
                    vec![text("XLEN"), key.clone()],
                    [text("XREVRANGE"), key].into_iter().chain(["+", "-", "COUNT", "1"].map(text)).collect(),
                ],
                _ => [
                    vec![text("ZCARD"), key.clone()],
                    [text("ZREVRANGE"), key].into_iter().chain(["0", "0", "WITHSCORES"].map(text)).collect(),
                ],
            });
        }
        let replies = self.engine.read(&commands, budget).await?;
        let (mut n, mut newest): (u64, Option<EntryPlace>) = (0, None);
        for (queue, pair) in queues.iter().zip(replies.chunks(2)) {
            let [count, last] = pair else { continue };
            n = n.saturating_add(u64::try_from(number(count).unwrap_or(0)).unwrap_or(0));
            let queue = Some(queue.as_str()).filter(|queue| !queue.is_empty());
            let last: Vec<RawEntry> = match kind {
                SetKind::Stream => stream_entries(queue, last),
                _ => scored_entries(queue, last),
            };
            let last = last.first().map(EntryPlace::of);
            let is_newer = |a: &EntryPlace| newest.as_ref().is_none_or(|b| a.compare(b, kind).is_gt());
            if let Some(last) = last.filter(is_newer) {
                newest = Some(last);
            }
        }
        Ok(Totals { n, newest, at: self.clock() })
    }

    /// Entries that a walk has yet to come to, of all.
    pub(super) async fn left_behind(
        &self,
        place: &EntryPlace,
        direction: WalkDirection,
        budget: &Budget,
    ) -> Result<(u64, u64)> {
        let queues = self.queues(budget).await?;
        if self.spec()?.dead.kind == SetKind::Stream {
            return Ok((1, 2));
        }
        let text = |word: &str| word.as_bytes().to_vec();
        let bound = format!("({}", score_text(place.score));
        let [from, to] = if direction == WalkDirection::Down { ["-inf", &bound] } else { [bound.as_str(), "+inf"] };
        let mut commands: Vec<RedisCommand> = Vec::new();
        for queue in queues.iter() {
            let key = self.dead_key(queue)?;
            commands.push(vec![text("ZCOUNT"), key.clone(), text(from), text(to)]);
            commands.push(vec![text("ZCARD"), key]);
        }
        let (mut left, mut all) = (0_u64, 0_u64);
        for pair in self.engine.read(&commands, budget).await?.chunks(2) {
            let [some, whole] = pair else { continue };
            let count = |reply| u64::try_from(number(reply).unwrap_or(0)).unwrap_or(0);
            (left, all) = (left.saturating_add(count(some)), all.saturating_add(count(whole)));
        }
        Ok((left, all))
    }

    /// Entries from a score on.
    pub(super) async fn since(&self, score: f64, budget: &Budget) -> Result<u64> {
        let queues = self.queues(budget).await?;
        if self.spec()?.dead.kind == SetKind::Stream {
            return Ok(0);
        }
        let text = |word: &str| word.as_bytes().to_vec();
        let mut commands: Vec<RedisCommand> = Vec::new();
        for queue in queues.iter() {
            commands.push(vec![text("ZCOUNT"), self.dead_key(queue)?, text(&score_text(score)), text("+inf")]);
        }
        let counted = self.engine.read(&commands, budget).await?;
        Ok(counted.iter().map(|reply| u64::try_from(number(reply).unwrap_or(0)).unwrap_or(0)).sum())
    }
}
