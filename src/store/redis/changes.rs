//! Polls: whether the dead sets are as they were, and if not the recent past counted again.

use std::time::Instant;

use super::context::RedisContext;
use super::count::{CountMark, bucket, count_recent, ordered, score_of};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::store::{Budget, Changes, Result, Token};

/// Entries that a poll reads at the most. Where more are recent, only a full count tells.
const MOST: u64 = 20_000;
/// Buckets before the newest entry that the next poll counts again.
const RECENT_BUCKETS: i64 = 1;

/// What changed since a poll or a count.
pub(super) async fn changes(
    context: &RedisContext,
    since: Option<&Token>,
    counted: (Facet, &Filter),
    budget: &Budget,
) -> Result<Changes> {
    ordered(context)?;
    let began = Instant::now();
    let since: Option<&CountMark> = since.and_then(Token::state);
    let totals = context.totals(budget).await?;
    let newest = totals.newest.as_ref().map(|newest| bucket(context, newest.score));
    let start = newest.map_or(i64::MIN, |newest| newest.saturating_sub(RECENT_BUCKETS));
    let from = since.map_or(start, |since| since.from);
    let changed = since.is_none_or(|since| since.totals.n != totals.n || since.totals.newest != totals.newest);
    let mut uncounted = false;
    let mut cells = Vec::new();
    if changed {
        let is_little =
            from > i64::MIN && context.since(score_of(context, from), budget).await? <= MOST || totals.n <= MOST;
        let most = usize::try_from(MOST).unwrap_or(usize::MAX);
        let found = if is_little { count_recent(context, counted, from, most, budget).await? } else { None };
        uncounted = found.is_none();
        cells = found.unwrap_or_default();
    }
    let server_time = totals.at;
    // What is older than the last poll's newest entry has been counted; a clock that goes back leaves it as it was.
    let next = if uncounted { start } else { start.max(from) };
    Ok(Changes {
        token: Token::new(CountMark { totals, from: next }),
        changed: changed && !uncounted,
        uncounted,
        unsettled: false,
        from_bucket: from,
        cells,
        server_time,
        cost: began.elapsed(),
        needs_reopen: false,
    })
}
