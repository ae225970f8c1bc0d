//! The list: a contiguous piece of an order that may be millions long, with cursor, scroll and marks kept by job id.

use std::collections::{HashMap, VecDeque};

use super::freshness::Freshness;
use super::loaded_range::{KEPT, LoadedRange};
use super::marks::SelectionMarks;
use super::varied::{OptionalColumn, Varied};
use crate::domain::job::JobId;
use crate::store::{Cursor, Entry, Page, Position, Scanned, Sort};

/// Where the rows that were asked for belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSide {
    /// They replace the list, from its start.
    Start,
    /// They replace the list, from its end.
    End,
    /// They replace the list from the first row on screen.
    Around,
    /// They follow what is there.
    Below,
    /// They stand before what is there.
    Above,
}

/// The list pane.
#[derive(Debug, Default)]
pub struct ListPane {
    /// The order.
    pub sort: Sort,
    /// What is marked.
    pub marks: SelectionMarks,
    /// Where a range of marks began.
    pub range: Option<JobId>,
    /// Which rows have changed since they were read.
    pub freshness: Freshness,
    /// Whether rows were read at all for the filter in force.
    pub loaded: bool,
    /// Windowed scan so far: rows looked at and share done; `None` when an index serves. No rows where some were not
    /// counted.
    pub scan: Option<Scanned>,
    /// Whether the operator stopped the scan.
    pub halted: bool,
    /// Which columns say more than one thing.
    varied: Varied,
    /// From where the page on its way was asked for.
    from: Cursor,
    rows: LoadedRange,
    cursor: ListCursor,
}

/// Where the cursor and the screen are in the list.
#[derive(Debug, Default)]
struct ListCursor {
    job: Option<JobId>,
    /// Where the job under the cursor stood on screen, while a list that is reloaded in pieces has not come to it again. Until
    /// then the cursor is nowhere, and not on another job.
    awaited: Option<Stood>,
    /// The first row on screen.
    top: usize,
}

impl ListCursor {
    /// Scrolls to a row, by half a page at the edge: moving a window costs a terminal far more than moving a cursor.
    fn reveal(&mut self, index: usize, rows: usize, height: usize) {
        let height = height.max(1);
        let half = (height / 2).max(1);
        if index < self.top {
            self.top = index.saturating_sub(half - 1);
        } else if index >= self.top + height {
            self.top = (index + half).saturating_sub(height).max(index + 1 - height);
        }
        self.top = self.top.min(rows.saturating_sub(height));
    }
}

/// Where a job stood.
#[derive(Debug)]
struct Stood {
    /// On screen.
    row: usize,
    /// In the order.
    at: Position,
}

impl ListPane {
    /// The loaded rows, in order.
    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.rows.entries
    }

    /// The rows on screen when the list is `height` rows high.
    pub fn visible(&self, height: usize) -> impl Iterator<Item = &Entry> {
        self.rows.entries.iter().skip(self.cursor.top).take(height)
    }

    /// Whether a column says the same of every row, of which there are more than one.
    pub fn is_same(&self, column: OptionalColumn) -> bool {
        self.rows.entries.len() > 1 && self.varied.is_same(column)
    }

    /// Index of the cursor within the visible rows.
    pub fn cursor_row(&self) -> Option<usize> {
        self.index()?.checked_sub(self.cursor.top)
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<&Entry> {
        self.rows.entries.get(self.index()?)
    }

    /// Whether the last row of the whole order is loaded.
    pub fn knows_end(&self) -> bool {
        self.loaded && self.rows.below.is_none() && !self.rows.is_bare()
    }

    /// Whether the first row of the whole order is loaded.
    pub fn knows_start(&self) -> bool {
        self.loaded && self.rows.is_first()
    }

    fn index(&self) -> Option<usize> {
        self.rows.index_of(self.cursor.job.as_ref()?)
    }

    /// Forgets all rows, as when the filter or the order changes.
    pub fn clear(&mut self) {
        *self = ListPane { sort: self.sort, marks: SelectionMarks::None, ..ListPane::default() };
    }

    /// Moves the cursor by `by` rows and scrolls so that it stays within `height`.
    pub fn step(&mut self, by: isize, height: usize) {
        let Some(last) = self.rows.entries.len().checked_sub(1) else { return };
        let from = self
            .index()
            .unwrap_or(self.cursor.top + self.cursor.awaited.as_ref().map_or(0, |stood| stood.row))
            .min(last);
        let to = from.saturating_add_signed(by).min(last);
        self.put(to, height);
    }

    /// Puts the cursor on the `row`th visible row, as a click does.
    pub fn point(&mut self, row: usize, height: usize) {
        if let Some(last) = self.rows.entries.len().checked_sub(1) {
            self.put((self.cursor.top + row).min(last), height);
        }
    }

    /// Lets the cursor go to the first row of the order, which is read next.
    pub fn forget_place(&mut self) {
        self.cursor = ListCursor::default();
        self.loaded &= !self.rows.is_bare();
        self.rows.since = None;
    }

    fn put(&mut self, index: usize, height: usize) {
        self.cursor.awaited = None;
        self.cursor.job = self.rows.entries.get(index).map(|e| e.row.id.clone());
        self.cursor.reveal(index, self.rows.entries.len(), height);
    }

    /// Keeps the cursor on screen after the height changed.
    pub fn fit(&mut self, height: usize) {
        if let Some(index) = self.index() {
            self.cursor.reveal(index, self.rows.entries.len(), height);
        }
    }

    /// What should be read next so that a page of rows lies ready on either side of the screen.
    pub fn wanted(&self, height: usize) -> Option<(ListSide, Cursor)> {
        if self.halted {
            return None;
        }
        if !self.loaded {
            return Some((ListSide::Start, Cursor::Start));
        }
        let ahead = self.rows.entries.len().saturating_sub(self.cursor.top + height);
        match (&self.rows.below, &self.rows.above) {
            // Until all of the table was read, the next hit may belong anywhere.
            (Some(cursor @ Cursor::Unordered(_)), _) => Some((ListSide::Below, cursor.clone())),
            (Some(cursor), _) if ahead < height || self.cursor.awaited.is_some() => {
                Some((ListSide::Below, cursor.clone()))
            }
            (_, Some(cursor)) if self.cursor.top < height => Some((ListSide::Above, cursor.clone())),
            // All that stood there is gone: what is left comes before.
            (None, None) if self.rows.since.is_some() => Some((ListSide::End, Cursor::End)),
            _ => None,
        }
    }

    /// Where to read from so that the rows on screen are read again.
    pub fn anchor(&self) -> Cursor {
        match self.cursor.top.checked_sub(1).and_then(|i| self.rows.entries.get(i)) {
            Some(before) => Cursor::After(before.position.clone()),
            None => self.rows.since.clone().unwrap_or_default(),
        }
    }

    /// The rows on screen that may have changed since they were read. They count as asked for again.
    pub fn unsure(&mut self, height: usize) -> Vec<JobId> {
        self.freshness.unsure(self.rows.entries.iter().skip(self.cursor.top).take(height))
    }

    /// Notes that a page is being asked for.
    pub fn asked(&mut self, from: Cursor) {
        self.freshness.page_asked();
        self.from = from;
    }

    /// Takes in the rows that were asked for.
    pub fn receive(&mut self, side: ListSide, page: Page, height: usize) {
        self.varied.learn(&page.entries);
        self.freshness.page_received(&page.entries, &self.rows.entries, 2 * KEPT);
        match side {
            ListSide::Start | ListSide::Around => {
                let stood = self.stood();
                let since = Some(self.from.clone()).filter(|from| side == ListSide::Around && *from != Cursor::Start);
                self.rows = LoadedRange { entries: page.entries.into(), above: None, below: page.next, since };
                self.rows.lead();
                self.loaded = true;
                self.freshness.reloaded(self.rows.is_first());
                self.cursor.top = 0;
                self.restore_cursor(stood, height);
            }
            ListSide::End => {
                self.rows = LoadedRange { entries: page.entries.into(), above: page.next, below: None, since: None };
                (self.loaded, self.cursor.awaited) = (true, None);
                self.cursor.job = self.rows.entries.back().map(|e| e.row.id.clone());
                self.cursor.top = self.rows.entries.len().saturating_sub(height);
            }
            ListSide::Below => {
                match self.is_searching() {
                    true => {
                        self.cursor.top += self.rows.insert(page.entries, self.sort, self.cursor.top);
                        // Of more rows than are kept only the first are wanted.
                        let kept = self.index().map_or(KEPT, |index| KEPT.max(index + 1));
                        self.rows.keep_first(kept, page.next);
                        if self.cursor.job.is_some() && self.cursor.awaited.is_none() {
                            let last = self.rows.entries.len().saturating_sub(1);
                            self.put(self.index().unwrap_or(last), height);
                        }
                    }
                    false => self.cursor.top -= self.rows.append(page, self.cursor.top),
                }
                self.rows.lead();
                if let Some(stood) = self.cursor.awaited.take() {
                    self.restore_cursor(Some(stood), height);
                } else if self.cursor.job.is_none() {
                    self.cursor.job = self.rows.entries.front().map(|e| e.row.id.clone());
                }
            }
            ListSide::Above => {
                self.cursor.top += self.rows.prepend(page, self.cursor.top);
                // Rows that were fewer than the screen has stood at its top.
                self.cursor.top = self.cursor.top.min(self.rows.entries.len().saturating_sub(height));
                if let (None, None, Some(last)) =
                    (&self.cursor.job, &self.cursor.awaited, self.rows.entries.len().checked_sub(1))
                {
                    self.put(last, height);
                }
            }
        }
    }

    /// Whether rows come as they are stored, in no order and uncounted.
    pub fn is_searching(&self) -> bool {
        self.rows.is_searching()
    }

    /// Where the job stands that has the cursor, or stood that is to have it again.
    fn stood(&mut self) -> Option<Stood> {
        let here = self.cursor_row().zip(self.current()).map(|(row, entry)| Stood { row, at: entry.position.clone() });
        here.or_else(|| self.cursor.awaited.take())
    }

    /// After a reload: the cursor stays on its job, or on the one that has taken its place on screen. Where rows come in pieces
    /// it waits until it is known which.
    fn restore_cursor(&mut self, stood: Option<Stood>, height: usize) {
        match (self.index(), stood, self.rows.entries.len().checked_sub(1)) {
            (Some(index), _, _) => self.put(index, height),
            (None, Some(stood), _) if self.rows.may_come(&stood.at, self.sort) => self.cursor.awaited = Some(stood),
            (None, stood, Some(last)) => self.put(stood.map_or(0, |stood| stood.row).min(last), height),
            (None, _, None) => self.cursor = ListCursor::default(),
        }
    }

    /// Whether the job that is to have the cursor has still to come, and no other has it.
    pub fn is_awaiting(&self) -> bool {
        self.cursor.awaited.is_some() || self.rows.is_bare()
    }

    /// Begins a range at the cursor, or ends one by marking everything between.
    pub fn toggle_range(&mut self) {
        let Some(here) = self.index() else { return };
        match self.range.take() {
            None => self.range = self.cursor.job.clone(),
            Some(from) => {
                let start = self.rows.index_of(&from).unwrap_or(here);
                let span = start.min(here)..=start.max(here);
                let ids: Vec<JobId> = self.rows.entries.range(span).map(|e| e.row.id.clone()).collect();
                self.marks.add(ids);
            }
        }
    }

    /// Takes note of how the rows on screen stand now: `asked` were looked up, `found` still exist.
    pub fn freshen(&mut self, asked: &[JobId], found: &[Entry]) {
        let now: HashMap<&JobId, &Entry> = found.iter().map(|e| (&e.row.id, e)).collect();
        for entry in &mut self.rows.entries {
            if asked.contains(&entry.row.id) {
                self.freshness.compare(entry, now.get(&entry.row.id).copied());
            }
        }
    }
}
