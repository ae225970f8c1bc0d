//! The piece of an order that is loaded.

use std::collections::{HashSet, VecDeque};

use crate::domain::job::JobId;
use crate::store::{Cursor, Entry, Page, Position, Sort};

/// Rows that a page is asked for: each may stand in a block of its own, even where an index leads straight to it.
pub const PAGE: usize = 100;
/// Rows that are kept around the cursor; what lies further off is read again when it is needed.
pub(super) const KEPT: usize = 2_000;

/// The loaded piece and where it goes on.
#[derive(Debug, Default)]
pub(super) struct LoadedRange {
    pub(super) entries: VecDeque<Entry>,
    pub(super) above: Option<Cursor>,
    pub(super) below: Option<Cursor>,
    /// Where it was read from, where that is within the order and nothing was read that comes before.
    pub(super) since: Option<Cursor>,
}

impl LoadedRange {
    /// Whether it begins with the first row of the whole order.
    pub(super) fn is_first(&self) -> bool {
        self.above.is_none() && self.since.is_none()
    }

    /// Whether it has no row yet, and what comes before it was not read.
    pub(super) fn is_bare(&self) -> bool {
        self.entries.is_empty() && !self.is_first()
    }

    /// Whether rows come as they are stored, in no order and uncounted.
    pub(super) fn is_searching(&self) -> bool {
        matches!(self.below, Some(Cursor::Unordered(_)))
    }

    /// The index of a job.
    pub(super) fn index_of(&self, id: &JobId) -> Option<usize> {
        self.entries.iter().position(|e| e.row.id == *id)
    }

    /// Takes in that it may have got its first row.
    pub(super) fn lead(&mut self) {
        if self.since.is_some() && self.above.is_none() {
            self.above = self.entries.front().map(|e| Cursor::Before(e.position.clone()));
        }
    }

    /// Adds the rows that follow. Returns how many rows it let go at its start, of those that lie far above `top`.
    pub(super) fn append(&mut self, page: Page, top: usize) -> usize {
        let new = self.unknown(page.entries);
        self.entries.extend(new);
        self.below = page.next;
        let spare = self.entries.len().saturating_sub(KEPT).min(top.saturating_sub(PAGE));
        if spare > 0 {
            self.entries.drain(..spare);
            self.since = None;
            self.above = self.entries.front().map(|e| Cursor::Before(e.position.clone()));
        }
        spare
    }

    /// Adds the rows that come before, and lets go of those far below the screen, which begins with row `top`. Returns how
    /// many were added.
    pub(super) fn prepend(&mut self, page: Page, top: usize) -> usize {
        let new = self.unknown(page.entries);
        let added = new.len();
        if added > 0 || page.next.is_none() {
            self.since = None;
        }
        for entry in new.into_iter().rev() {
            self.entries.push_front(entry);
        }
        self.above = page.next;
        let keep = KEPT.max(top + added + PAGE);
        if self.entries.len() > keep {
            self.entries.truncate(keep);
            self.below = self.entries.back().map(|e| Cursor::After(e.position.clone()));
        }
        added
    }

    /// Adds rows each of which has its place among those that are there. Returns by how many rows what begins with row `top`
    /// has moved down.
    pub(super) fn insert(&mut self, entries: Vec<Entry>, sort: Sort, top: usize) -> usize {
        let mut moved = 0;
        for entry in self.unknown(entries) {
            let before = |e: &Entry| sort.compare(&e.position, &entry.position).is_lt();
            let at = self.entries.partition_point(before);
            self.entries.insert(at, entry);
            if top + moved > 0 && at <= top + moved {
                moved += 1;
            }
        }
        moved
    }

    /// Keeps the first rows, of which `kept` are wanted, and goes on from `next`. Those behind them are read when they are
    /// gone to.
    pub(super) fn keep_first(&mut self, kept: usize, next: Option<Cursor>) {
        self.entries.truncate(kept);
        let last = self.entries.get(kept - 1).map(|e| e.position.clone());
        self.below = match (next, last) {
            (Some(Cursor::Unordered(at)), Some(last)) => Some(Cursor::Unordered(at.before(last))),
            (None, Some(last)) => Some(Cursor::After(last)),
            (next, _) => next,
        };
    }

    /// Whether what is still to be read may have a job of this place in the order. Where more came before it than are kept, it
    /// is not waited for.
    pub(super) fn may_come(&self, at: &Position, sort: Sort) -> bool {
        let is_before = |place: &Position| sort.compare(place, at).is_lt();
        match &self.below {
            None => false,
            // All that is before it was read in order.
            Some(Cursor::Unordered(stored)) => is_before(&stored.beyond),
            Some(_) => self.entries.len() < KEPT && self.entries.back().is_none_or(|last| is_before(&last.position)),
        }
    }

    fn unknown(&self, entries: Vec<Entry>) -> Vec<Entry> {
        let known: HashSet<&JobId> = self.entries.iter().map(|e| &e.row.id).collect();
        entries.into_iter().filter(|e| !known.contains(&e.row.id)).collect()
    }
}
