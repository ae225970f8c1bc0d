//! Counts: the total is the server's own, a facet takes one pass through the entries in windows.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::context::RedisContext;
use super::entries::RowSelection;
use super::totals::Totals;
use super::walk::{EntryPlace, EntryWalk, WalkDirection};
use crate::adapter::Part;
use crate::adapter::redis::{RawEntry, ReadParts, ScoreTime, SetKind};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram, TREND_SLOT};
use crate::domain::job::JobRow;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Accuracy, Budget, Cell, HistogramQuery, HistogramStep, Result, SourceError, Token};

/// How long one step counts.
const STEP: Duration = Duration::from_millis(250);
/// Values that are told apart. What comes after so many is in the total only, so that memory stays bounded.
const MOST_VALUES: usize = 50_000;
/// Milliseconds of the order that share a bucket.
const BUCKET_MS: f64 = 60_000.0;
/// Buckets before the newest entry that polls count again.
const RECENT_BUCKETS: i64 = 5;
/// Slots of a trend.
const TREND_SLOTS: usize = 12;
/// Bytes of a message that stands for a fingerprint.
const EXAMPLE: usize = 200;

/// Jobs of one value.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueTally {
    n: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    example: Option<Untrusted>,
    trend: Vec<u32>,
}

impl ValueTally {
    fn add(&mut self, row: &JobRow, facet: Facet, trend_from: Timestamp) {
        self.n += 1;
        self.first = [self.first, row.at].into_iter().flatten().min();
        self.last = self.last.max(row.at);
        if facet == Facet::Fingerprint && self.example.is_none() {
            let start = |text: &str| text.chars().take(EXAMPLE).collect::<String>();
            self.example = row.message.as_ref().map(|message| Untrusted::new(start(message.exact())));
        }
        let slot = i64::try_from(TREND_SLOT.as_micros()).unwrap_or(i64::MAX);
        let at = row.at.map(|at| (at.0 - trend_from.0).div_euclid(slot)).and_then(|at| usize::try_from(at).ok());
        if let Some(at) = at.filter(|at| *at < TREND_SLOTS) {
            self.trend.resize(TREND_SLOTS, 0);
            self.trend[at] += 1;
        }
    }
}

/// A count that goes on behind a place.
#[derive(Clone, Debug)]
struct UnfinishedCount {
    start: Totals,
    place: Option<EntryPlace>,
    looked_at: u64,
    counted: FacetCount,
}

/// What is counted so far.
#[derive(Clone, Debug, Default)]
pub(super) struct FacetCount {
    values: HashMap<Option<Untrusted>, ValueTally>,
    /// Jobs of values that are not told apart.
    others: u64,
    recent: HashMap<(i64, Option<Untrusted>), ValueTally>,
    recent_from: i64,
}

/// What polls go on from: the dead sets as they were when the count began.
#[derive(Clone, Debug)]
pub(super) struct CountMark {
    pub(super) totals: Totals,
    /// The first bucket that the next poll counts again.
    pub(super) from: i64,
}

/// A step of a count.
pub(super) async fn count(context: &RedisContext, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
    match query.accuracy {
        Accuracy::Exact => exact(context, query, budget).await,
        Accuracy::Affordable { .. } | Accuracy::Estimate => {
            let totals = context.totals(budget).await?;
            // Where not every entry is a dead job, only a pass tells how many are.
            let is_known = context.spec()?.dead.only.is_none();
            let exactness = if is_known { Exactness::Exact } else { Exactness::Estimate };
            let total = Count { n: totals.n, exactness };
            let bars = match query.facet {
                Facet::State => vec![Bar::new(Some(crate::domain::job::State::Dead.word().into()), total)],
                _ => Vec::new(),
            };
            let histogram = Histogram { facet: query.facet, bars, total, as_of: totals.at, progress: None };
            Ok(HistogramStep::of(histogram))
        }
    }
}

async fn exact(context: &RedisContext, query: HistogramQuery, budget: &Budget) -> Result<HistogramStep> {
    let began = Instant::now();
    let resumed = query.resume.as_ref().and_then(Token::state::<UnfinishedCount>).cloned();
    let mut count = match resumed {
        Some(resumed) => resumed,
        None => {
            let start = context.totals(budget).await?;
            let newest =
                start.newest.as_ref().map_or(i64::MAX - RECENT_BUCKETS, |newest| bucket(context, newest.score));
            let counted = FacetCount { recent_from: newest.saturating_sub(RECENT_BUCKETS), ..FacetCount::default() };
            // What comes while the count goes on is for polls.
            UnfinishedCount { place: None, looked_at: 0, counted, start }
        }
    };
    let walk = EntryWalk::new(context, WalkDirection::Down, budget).await?;
    let reading = Reading::new(context, (query.facet, &query.filter));
    let is_last = loop {
        let mut window = walk.window(count.place.as_ref(), context.window_size()).await?;
        reading.rows(&mut window.entries, budget, |raw, row| count.counted.add(context, query.facet, raw, row)).await?;
        count.looked_at += window.entries.len() as u64;
        count.place = window.entries.last().map(EntryPlace::of).or(count.place);
        if window.is_last || window.entries.is_empty() {
            break true;
        }
        if began.elapsed() >= STEP {
            break false;
        }
    };
    let share = count.looked_at as f32 / count.start.n.max(1) as f32;
    let progress = (!is_last).then_some(share.clamp(0.0, 0.99));
    let histogram = count.counted.histogram(query.facet, count.start.at, progress);
    if !is_last {
        return Ok(HistogramStep {
            resume: Some(Token::new(count)),
            cost: began.elapsed(),
            ..HistogramStep::of(histogram)
        });
    }
    let from = count.counted.recent_from;
    Ok(HistogramStep {
        token: Some(Token::new(CountMark { totals: count.start, from })),
        recent: cells(&count.counted.recent),
        recent_from: Some(from),
        cost: began.elapsed(),
        ..HistogramStep::of(histogram)
    })
}

impl FacetCount {
    fn add(&mut self, context: &RedisContext, facet: Facet, raw: &RawEntry, row: &JobRow) {
        let value = facet.value_of(row);
        let at = bucket(context, EntryPlace::of(raw).score);
        let trend_from = trend_start(context.clock());
        if at >= self.recent_from && self.recent.len() < MOST_VALUES {
            self.recent.entry((at, value.clone())).or_default().add(row, facet, trend_from);
        }
        if self.values.len() >= MOST_VALUES && !self.values.contains_key(&value) {
            self.others += 1;
            return;
        }
        self.values.entry(value).or_default().add(row, facet, trend_from);
    }

    fn histogram(&self, facet: Facet, as_of: Timestamp, progress: Option<f32>) -> Histogram {
        let exactness = if progress.is_some() { Exactness::AtLeast } else { Exactness::Exact };
        let bar = |(value, tally): (&Option<Untrusted>, &ValueTally)| Bar {
            value: value.clone(),
            count: Count { n: tally.n, exactness },
            first_seen: tally.first,
            last_seen: tally.last,
            trend: if tally.trend.is_empty() { vec![0; TREND_SLOTS] } else { tally.trend.clone() },
            example: tally.example.clone(),
        };
        let mut bars: Vec<Bar> = self.values.iter().map(bar).collect();
        facet.sort(&mut bars);
        let n = self.values.values().map(|tally| tally.n).sum::<u64>() + self.others;
        Histogram { facet, bars, total: Count { n, exactness }, as_of, progress }
    }
}

/// Where the first slot of trends begins.
fn trend_start(now: Timestamp) -> Timestamp {
    let slot = i64::try_from(TREND_SLOT.as_micros()).unwrap_or(i64::MAX);
    let slots = i64::try_from(TREND_SLOTS).unwrap_or(i64::MAX);
    Timestamp((now.0.div_euclid(slot) + 1 - slots).saturating_mul(slot))
}

/// The bucket of a score: later ones are greater.
pub(super) fn bucket(context: &RedisContext, score: f64) -> i64 {
    (score * ms_of(context) / BUCKET_MS).floor() as i64
}

/// The smallest score of a bucket.
pub(super) fn score_of(context: &RedisContext, bucket: i64) -> f64 {
    bucket as f64 * BUCKET_MS / ms_of(context)
}

/// Milliseconds that one of a score counts.
fn ms_of(context: &RedisContext) -> f64 {
    let dead = context.spec().map(|spec| (spec.dead.kind, spec.dead.score));
    match dead {
        Ok((SetKind::Stream, _) | (_, ScoreTime::Ms)) => 1.0,
        _ => 1_000.0,
    }
}

/// Reads of entries what a facet and a filter need.
pub(super) struct Reading<'c> {
    context: &'c RedisContext,
    selection: RowSelection,
    parts: Vec<Part>,
}

impl<'c> Reading<'c> {
    pub(super) fn new(context: &'c RedisContext, (facet, filter): (Facet, &Filter)) -> Self {
        let selection = RowSelection::new(filter, context.clock());
        let counted: &[Part] = match facet {
            Facet::Error => &[Part::Error],
            Facet::Fingerprint => &[Part::Error, Part::Message],
            Facet::Class => &[Part::Class],
            Facet::Queue => &[Part::Queue],
            Facet::Reason => &[Part::Reason],
            Facet::Worker => &[Part::Worker],
            Facet::State | Facet::Hour => &[],
        };
        let mut parts: Vec<Part> =
            [Part::At, Part::State].iter().chain(counted).chain(&selection.parts).copied().collect();
        parts.sort_unstable();
        parts.dedup();
        Self { context, selection, parts }
    }

    /// Hands on the row of each entry that is counted.
    pub(super) async fn rows(
        &self,
        entries: &mut [RawEntry],
        budget: &Budget,
        mut add: impl FnMut(&RawEntry, &JobRow),
    ) -> Result<()> {
        let wanted = ReadParts::Parts(&self.parts);
        self.context.read(entries, wanted, budget).await?;
        for raw in entries {
            if let Some(entry) = self.context.entry(raw, wanted, &self.selection)? {
                add(raw, &entry.row);
            }
        }
        Ok(())
    }
}

/// What polls compare.
pub(super) fn cells(recent: &HashMap<(i64, Option<Untrusted>), ValueTally>) -> Vec<Cell> {
    let cell = |((bucket, value), tally): (&(i64, Option<Untrusted>), &ValueTally)| Cell {
        bucket: *bucket,
        value: value.clone(),
        n: tally.n,
        first_seen: tally.first,
        last_seen: tally.last,
        example: tally.example.clone(),
    };
    recent.iter().map(cell).collect()
}

/// The cells from a bucket on, as they are now; `None` where there are more jobs in them than a poll reads.
pub(super) async fn count_recent(
    context: &RedisContext,
    (facet, filter): (Facet, &Filter),
    from: i64,
    most: usize,
    budget: &Budget,
) -> Result<Option<Vec<Cell>>> {
    let walk = EntryWalk::new(context, WalkDirection::Down, budget).await?;
    let reading = Reading::new(context, (facet, filter));
    let (mut place, mut looked_at) = (None, 0);
    let mut counted = FacetCount { recent_from: from, ..FacetCount::default() };
    loop {
        let mut window = walk.window(place.as_ref(), context.window_size()).await?;
        let found = window.entries.len();
        window.entries.retain(|raw| bucket(context, EntryPlace::of(raw).score) >= from);
        let is_past = window.entries.len() < found;
        reading.rows(&mut window.entries, budget, |raw, row| counted.add(context, facet, raw, row)).await?;
        looked_at += window.entries.len();
        place = window.entries.last().map(EntryPlace::of).or(place);
        if is_past || window.is_last || found == 0 {
            return Ok(Some(cells(&counted.recent)));
        }
        if looked_at > most {
            return Ok(None);
        }
    }
}

/// Refuses what the order cannot tell.
pub(super) fn ordered(context: &RedisContext) -> Result<()> {
    match context.spec()?.dead.kind {
        SetKind::Zset | SetKind::Stream => Ok(()),
        _ => Err(SourceError::Layout("dead jobs in lists, hashes and strings cannot be counted yet".to_owned())),
    }
}
