//! Pages of the list: windows of the order, of which those jobs are kept that the filter selects.

use std::time::{Duration, Instant};

use super::context::RedisContext;
use super::entries::{ROW, RowSelection};
use super::job_id::{JobName, score_text};
use super::walk::{EntryPlace, EntryWalk, EntryWindow, WalkDirection};
use crate::adapter::Part;
use crate::adapter::redis::ReadParts;
use crate::domain::filter::Clause;
use crate::store::{Budget, Cursor, Entry, Page, PageQuery, Position, Result, ScanMode, Scanned, Unordered};

/// Entries of a step of a cohort.
const COHORT_STEP: usize = 2_000;
/// How long one step reads on before it returns what it has.
const STEP: Duration = Duration::from_millis(150);

/// Reads pages.
pub(super) struct PageScan<'c> {
    pub(super) context: &'c RedisContext,
    pub(super) budget: &'c Budget,
}

impl PageScan<'_> {
    pub(super) async fn page(&self, query: PageQuery, mode: ScanMode) -> Result<Page> {
        let selection = RowSelection::new(&query.filter, self.context.clock());
        let parts = parts(mode, &selection);
        let wanted = ReadParts::Parts(&parts);
        if let Some(ids) = named_ids(&query) {
            return self.named(&ids, wanted, &selection, &query).await;
        }
        let is_forward = !matches!(query.cursor, Cursor::End | Cursor::Before(_));
        let direction = if query.sort.descending == is_forward { WalkDirection::Down } else { WalkDirection::Up };
        let walk = EntryWalk::new(self.context, direction, self.budget).await?;
        let most = match mode {
            ScanMode::Cohort | ScanMode::CohortRows => query.limit.min(COHORT_STEP),
            _ => query.limit,
        };
        let (began, mut entries, mut looked_at) = (Instant::now(), Vec::new(), 0);
        let mut place = self.start(&query.cursor, direction).await?;
        let is_last = loop {
            let missing = most.saturating_sub(entries.len());
            let at_once = match selection.is_all {
                true => missing.min(self.context.window_size()),
                false => self.context.window_size(),
            };
            let EntryWindow { entries: mut window, mut is_last } = walk.window(place.as_ref(), at_once.max(1)).await?;
            self.context.read(&mut window, wanted, self.budget).await?;
            for raw in &window {
                if entries.len() == most {
                    is_last = false;
                    break;
                }
                looked_at += 1;
                place = Some(EntryPlace::of(raw));
                entries.extend(self.context.entry(raw, wanted, &selection)?);
            }
            if is_last || window.is_empty() || entries.len() >= most || began.elapsed() >= STEP {
                break is_last || window.is_empty();
            }
        };
        let next = match (&place, is_last) {
            (Some(place), false) => Some(self.position(place, &entries)?),
            _ => None,
        };
        let is_counted = selection.is_all && !matches!(mode, ScanMode::Cohort | ScanMode::CohortRows);
        let scanned = match (&place, is_counted) {
            (Some(place), false) => {
                let share = if is_last { 1.0 } else { self.share(place, direction).await? };
                Some(Scanned { rows: looked_at, share })
            }
            _ => None,
        };
        if !is_forward {
            entries.reverse();
        }
        let next = next.map(|place| if is_forward { Cursor::After(place) } else { Cursor::Before(place) });
        Ok(Page { entries, next, scanned })
    }

    /// The page of a filter that names its jobs: all of them at once.
    async fn named(
        &self,
        ids: &[crate::domain::job::JobId],
        wanted: ReadParts<'_>,
        selection: &RowSelection,
        query: &PageQuery,
    ) -> Result<Page> {
        let mut raw: Vec<_> = self.context.locate(ids, self.budget).await?.into_iter().flatten().collect();
        self.context.read(&mut raw, wanted, self.budget).await?;
        let mut entries: Vec<Entry> = Vec::new();
        for raw in &raw {
            entries.extend(self.context.entry(raw, wanted, selection)?);
        }
        entries.sort_by(|a, b| query.sort.compare(&a.position, &b.position));
        entries.dedup_by(|a, b| a.row.id == b.row.id);
        let before = |place: &Position| entries.partition_point(|e| query.sort.compare(&e.position, place).is_lt());
        let through = |place: &Position| entries.partition_point(|e| query.sort.compare(&e.position, place).is_le());
        let (range, is_forward) = match &query.cursor {
            Cursor::Start => (0..entries.len(), true),
            Cursor::After(place) | Cursor::Unordered(Unordered { beyond: place, .. }) => {
                (through(place)..entries.len(), true)
            }
            Cursor::End => (0..entries.len(), false),
            Cursor::Before(place) => (0..before(place), false),
        };
        let left = range.len() > query.limit;
        let range = match is_forward {
            true => range.start..range.end.min(range.start.saturating_add(query.limit)),
            false => range.end.saturating_sub(query.limit).max(range.start)..range.end,
        };
        let entries: Vec<Entry> = entries.drain(range).collect();
        let next = match is_forward {
            true => entries.last().map(|entry| Cursor::After(entry.position.clone())),
            false => entries.first().map(|entry| Cursor::Before(entry.position.clone())),
        };
        Ok(Page { entries, next: next.filter(|_| left), scanned: None })
    }

    /// The place that a cursor names.
    async fn start(&self, cursor: &Cursor, direction: WalkDirection) -> Result<Option<EntryPlace>> {
        let position = match cursor {
            Cursor::Start | Cursor::End => return Ok(None),
            Cursor::After(position) | Cursor::Before(position) => position,
            Cursor::Unordered(Unordered { beyond, .. }) => beyond,
        };
        let Some(key) = self.context.ids()?.key(&position.id) else { return Ok(None) };
        let score = position.key.as_deref().and_then(|key| key.parse().ok()).unwrap_or(0.0);
        let member = match key.name {
            JobName::Entry(member) => member,
            JobName::Scored(..) => {
                let found = self.context.locate(std::slice::from_ref(&position.id), self.budget).await?.pop();
                match found.flatten() {
                    Some(entry) => entry.member,
                    // It has gone: entries with its score come again rather than not at all.
                    None if direction == WalkDirection::Down => vec![u8::MAX; 8],
                    None => Vec::new(),
                }
            }
        };
        Ok(Some(EntryPlace { score, queue: key.queue, member }))
    }

    fn position(&self, place: &EntryPlace, entries: &[Entry]) -> Result<Position> {
        let raw = crate::adapter::redis::RawEntry {
            queue: Some(place.queue.clone()),
            member: place.member.clone(),
            score: Some(place.score),
            ..Default::default()
        };
        let id = self.context.id_of(&raw)?;
        let known = entries.last().filter(|entry| entry.row.id == id).map(|entry| entry.position.clone());
        Ok(known.unwrap_or(Position { key: Some(score_text(place.score)), id }))
    }

    /// The share of all entries that lies behind a walk which has come to a place.
    async fn share(&self, place: &EntryPlace, direction: WalkDirection) -> Result<f32> {
        let (left, all) = self.context.left_behind(place, direction, self.budget).await?;
        Ok(if all == 0 { 1.0 } else { (1.0 - left as f32 / all as f32).clamp(0.0, 1.0) })
    }
}

/// The parts that a page needs.
fn parts(mode: ScanMode, selection: &RowSelection) -> Vec<Part> {
    let more: &[Part] = match mode {
        ScanMode::List | ScanMode::Screen(_) => &[],
        ScanMode::Arguments => &[Part::Arguments],
        ScanMode::Comparison => &[Part::Arguments, Part::Backtrace],
        ScanMode::Cohort | ScanMode::CohortRows => &[Part::Lineage],
    };
    let row: &[Part] = match mode {
        ScanMode::Cohort => &[Part::At, Part::State, Part::Error, Part::Class],
        _ => ROW,
    };
    let mut parts: Vec<Part> = row.iter().chain(more).chain(&selection.parts).copied().collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// The jobs that a filter names, where it does.
fn named_ids(query: &PageQuery) -> Option<Vec<crate::domain::job::JobId>> {
    use crate::domain::filter::{Pattern, Test};
    let clause = query.filter.clauses().iter().find(|clause| Clause::names_jobs(clause))?;
    let id = |test: &Test| match test {
        Test::Text(Pattern::Equals(text)) => Some(crate::domain::job::JobId::new(text.as_str())),
        _ => None,
    };
    clause.any.iter().map(id).collect()
}
