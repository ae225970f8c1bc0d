//! The list: a contiguous piece of an order that may be millions long, with cursor, scroll and marks kept by job id.

use std::collections::{HashMap, HashSet, VecDeque};

use super::loaded_range::LoadedRange;
use super::marks::SelectionMarks;
use super::varied::{OptionalColumn, Varied};
use crate::domain::job::{JobId, State};
use crate::store::{Cursor, Entry, Page, Position, Scanned, Sort};

/// Rows that a page is asked for: each may stand in a block of its own, even where an index leads straight to it.
pub const PAGE: usize = 100;
/// Rows that are kept around the cursor; what lies further off is read again when it is needed.
const KEPT: usize = 2_000;

/// What has become of a row since it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It is no longer there.
    Gone,
    /// Its state is another one now than this, which it had then.
    Changed(State),
    /// It was seen to be dead once more: it died again meanwhile, and stands elsewhere in the order.
    DiedAgain,
}

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
    /// Rows that are no longer as they were read.
    pub stale: HashMap<JobId, Stale>,
    /// Jobs that died since the list was read from its start.
    pub arrived: u64,
    /// Whether polls have seen rows since then that the list does not have, or has as they were, whatever they are.
    pub behind: bool,
    /// Whether rows were read at all for the filter in force.
    pub loaded: bool,
    /// Windowed scan so far: rows looked at and share done; `None` when an index serves. No rows where some were not
    /// counted.
    pub scan: Option<Scanned>,
    /// Whether the operator stopped the scan.
    pub halted: bool,
    /// Which columns say more than one thing.
    varied: Varied,
    /// Rows that nothing is known to have happened to since they were read, or asked for again.
    fresh: HashSet<JobId>,
    /// Whether a poll has found that something changed since the page on its way was asked for.
    overtaken: bool,
    /// From where that page was asked for.
    from: Cursor,
    rows: LoadedRange,
    place: Option<JobId>,
    /// Where the job under the cursor stood on screen, while a list that is reloaded in pieces has not come to it again. Until
    /// then the cursor is nowhere, and not on another job.
    awaited: Option<Stood>,
    top: usize,
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
        self.rows.entries.iter().skip(self.top).take(height)
    }

    /// Whether a column says the same of every row, of which there are more than one.
    pub fn is_same(&self, column: OptionalColumn) -> bool {
        self.rows.entries.len() > 1 && self.varied.is_same(column)
    }

    /// Index of the cursor within the visible rows.
    pub fn cursor_row(&self) -> Option<usize> {
        self.index()?.checked_sub(self.top)
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<&Entry> {
        self.rows.entries.get(self.index()?)
    }

    /// Whether the first row of the whole order is loaded and on screen.
    pub fn at_start(&self) -> bool {
        self.top == 0 && self.rows.is_first()
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
        let place = self.place.as_ref()?;
        self.rows.entries.iter().position(|e| e.row.id == *place)
    }

    /// Forgets all rows, as when the filter or the order changes.
    pub fn clear(&mut self) {
        *self = ListPane { sort: self.sort, marks: SelectionMarks::None, ..ListPane::default() };
    }

    /// Moves the cursor by `by` rows and scrolls so that it stays within `height`.
    pub fn step(&mut self, by: isize, height: usize) {
        let Some(last) = self.rows.entries.len().checked_sub(1) else { return };
        let from = self.index().unwrap_or(self.top + self.awaited.as_ref().map_or(0, |stood| stood.row)).min(last);
        let to = from.saturating_add_signed(by).min(last);
        self.put(to, height);
    }

    /// Puts the cursor on the `row`th visible row, as a click does.
    pub fn point(&mut self, row: usize, height: usize) {
        if let Some(last) = self.rows.entries.len().checked_sub(1) {
            self.put((self.top + row).min(last), height);
        }
    }

    /// Lets the cursor go to the first row of the order, which is read next.
    pub fn forget_place(&mut self) {
        self.let_go();
        self.loaded &= !self.rows.is_bare();
        self.rows.since = None;
    }

    fn let_go(&mut self) {
        (self.place, self.awaited) = (None, None);
        self.top = 0;
    }

    fn put(&mut self, index: usize, height: usize) {
        self.awaited = None;
        self.place = self.rows.entries.get(index).map(|e| e.row.id.clone());
        self.reveal(index, height);
    }

    /// Scrolls by half a page at the edge: moving a window costs a terminal far more than moving a cursor.
    fn reveal(&mut self, index: usize, height: usize) {
        let height = height.max(1);
        let half = (height / 2).max(1);
        if index < self.top {
            self.top = index.saturating_sub(half - 1);
        } else if index >= self.top + height {
            self.top = (index + half).saturating_sub(height).max(index + 1 - height);
        }
        self.top = self.top.min(self.rows.entries.len().saturating_sub(height.min(self.rows.entries.len())));
    }

    /// Keeps the cursor on screen after the height changed.
    pub fn fit(&mut self, height: usize) {
        if let Some(index) = self.index() {
            self.reveal(index, height);
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
        let ahead = self.rows.entries.len().saturating_sub(self.top + height);
        match (&self.rows.below, &self.rows.above) {
            // Until all of the table was read, the next hit may belong anywhere.
            (Some(cursor @ Cursor::Stored(_)), _) => Some((ListSide::Below, cursor.clone())),
            (Some(cursor), _) if ahead < height || self.awaited.is_some() => Some((ListSide::Below, cursor.clone())),
            (_, Some(cursor)) if self.top < height => Some((ListSide::Above, cursor.clone())),
            // All that stood there is gone: what is left comes before.
            (None, None) if self.rows.since.is_some() => Some((ListSide::End, Cursor::End)),
            _ => None,
        }
    }

    /// Where to read from so that the rows on screen are read again.
    pub fn anchor(&self) -> Cursor {
        match self.top.checked_sub(1).and_then(|i| self.rows.entries.get(i)) {
            Some(before) => Cursor::After(before.position.clone()),
            None => self.rows.since.clone().unwrap_or_default(),
        }
    }

    /// Notes that a poll found that something has changed, which may be any row.
    pub fn outdate(&mut self) {
        self.fresh.clear();
        self.overtaken = true;
    }

    /// The rows on screen that may have changed since they were read. They count as asked for again.
    pub fn unsure(&mut self, height: usize) -> Vec<JobId> {
        let shown = self.rows.entries.iter().skip(self.top).take(height).map(|e| &e.row.id);
        let unsure: Vec<JobId> = shown.filter(|id| !self.fresh.contains(*id)).cloned().collect();
        self.fresh.extend(unsure.iter().cloned());
        unsure
    }

    /// Notes that a page is being asked for.
    pub fn asked(&mut self, from: Cursor) {
        (self.overtaken, self.from) = (false, from);
    }

    /// Takes in the rows that were asked for.
    pub fn receive(&mut self, side: ListSide, page: Page, height: usize) {
        self.varied.learn(&page.entries);
        let ids = page.entries.iter().map(|e| &e.row.id);
        match self.overtaken {
            true => ids.for_each(|id| _ = self.fresh.remove(id)),
            false => self.fresh.extend(ids.cloned()),
        }
        if self.fresh.len() > 2 * KEPT {
            // Where nothing ever changes, those of rows that were let go would only become more.
            let here: HashSet<&JobId> = self.rows.entries.iter().chain(&page.entries).map(|e| &e.row.id).collect();
            self.fresh.retain(|id| here.contains(id));
        }
        match side {
            ListSide::Start | ListSide::Around => {
                let stood = self.stood();
                let since = Some(self.from.clone()).filter(|from| side == ListSide::Around && *from != Cursor::Start);
                self.rows = LoadedRange { entries: page.entries.into(), above: None, below: page.next, since };
                self.rows.lead();
                self.loaded = true;
                self.stale.clear();
                if self.rows.is_first() {
                    (self.arrived, self.behind) = (0, false);
                }
                self.top = 0;
                self.restore_cursor(stood, height);
            }
            ListSide::End => {
                self.rows = LoadedRange { entries: page.entries.into(), above: page.next, below: None, since: None };
                (self.loaded, self.awaited) = (true, None);
                self.place = self.rows.entries.back().map(|e| e.row.id.clone());
                self.top = self.rows.entries.len().saturating_sub(height);
            }
            ListSide::Below => {
                match self.is_searching() {
                    true => self.scatter(page, height),
                    false => self.append(page),
                }
                self.rows.lead();
                if let Some(stood) = self.awaited.take() {
                    self.restore_cursor(Some(stood), height);
                } else if self.place.is_none() {
                    self.place = self.rows.entries.front().map(|e| e.row.id.clone());
                }
            }
            ListSide::Above => {
                self.prepend(page);
                // Rows that were fewer than the screen has stood at its top.
                self.top = self.top.min(self.rows.entries.len().saturating_sub(height));
                if let (None, None, Some(last)) = (&self.place, &self.awaited, self.rows.entries.len().checked_sub(1)) {
                    self.put(last, height);
                }
            }
        }
    }

    /// Whether rows come as they are stored, in no order and uncounted.
    pub fn is_searching(&self) -> bool {
        matches!(self.rows.below, Some(Cursor::Stored(_)))
    }

    /// Takes in rows each of which has its place among those that are there. What is on screen stays where it is.
    fn scatter(&mut self, page: Page, height: usize) {
        let known: HashSet<&JobId> = self.rows.entries.iter().map(|e| &e.row.id).collect();
        let new: Vec<Entry> = page.entries.into_iter().filter(|e| !known.contains(&e.row.id)).collect();
        for entry in new {
            let before = |e: &Entry| self.sort.compare(&e.position, &entry.position).is_lt();
            let at = self.rows.entries.partition_point(before);
            self.rows.entries.insert(at, entry);
            if self.top > 0 && at <= self.top {
                self.top += 1;
            }
        }
        // Of more rows than are kept only the first are wanted; those behind them are read when they are gone to.
        let kept = self.index().map_or(KEPT, |index| KEPT.max(index + 1));
        self.rows.entries.truncate(kept);
        let last = self.rows.entries.get(kept - 1).map(|e| e.position.clone());
        self.rows.below = match (page.next, last) {
            (Some(Cursor::Stored(at)), Some(last)) => Some(Cursor::Stored(at.before(last))),
            (None, Some(last)) => Some(Cursor::After(last)),
            (next, _) => next,
        };
        if self.place.is_some() && self.awaited.is_none() {
            let last = self.rows.entries.len().saturating_sub(1);
            self.put(self.index().unwrap_or(last), height);
        }
    }

    fn append(&mut self, page: Page) {
        let known: HashSet<&JobId> = self.rows.entries.iter().map(|e| &e.row.id).collect();
        let new: Vec<Entry> = page.entries.into_iter().filter(|e| !known.contains(&e.row.id)).collect();
        self.rows.entries.extend(new);
        self.rows.below = page.next;
        let spare = self.rows.entries.len().saturating_sub(KEPT).min(self.top.saturating_sub(PAGE));
        if spare > 0 {
            self.rows.entries.drain(..spare);
            self.top -= spare;
            self.rows.since = None;
            self.rows.above = self.rows.entries.front().map(|e| Cursor::Before(e.position.clone()));
        }
    }

    fn prepend(&mut self, page: Page) {
        let known: HashSet<&JobId> = self.rows.entries.iter().map(|e| &e.row.id).collect();
        let new: Vec<Entry> = page.entries.into_iter().filter(|e| !known.contains(&e.row.id)).collect();
        self.top += new.len();
        if !new.is_empty() || page.next.is_none() {
            self.rows.since = None;
        }
        for entry in new.into_iter().rev() {
            self.rows.entries.push_front(entry);
        }
        self.rows.above = page.next;
        if self.rows.entries.len() > KEPT {
            let keep = KEPT.max(self.top + PAGE);
            if self.rows.entries.len() > keep {
                self.rows.entries.truncate(keep);
                self.rows.below = self.rows.entries.back().map(|e| Cursor::After(e.position.clone()));
            }
        }
    }

    /// Where the job stands that has the cursor, or stood that is to have it again.
    fn stood(&mut self) -> Option<Stood> {
        let here = self.cursor_row().zip(self.current()).map(|(row, entry)| Stood { row, at: entry.position.clone() });
        here.or_else(|| self.awaited.take())
    }

    /// After a reload: the cursor stays on its job, or on the one that has taken its place on screen. Where rows come in pieces
    /// it waits until it is known which.
    fn restore_cursor(&mut self, stood: Option<Stood>, height: usize) {
        match (self.index(), stood, self.rows.entries.len().checked_sub(1)) {
            (Some(index), _, _) => self.put(index, height),
            (None, Some(stood), _) if self.may_come(&stood.at) => self.awaited = Some(stood),
            (None, stood, Some(last)) => self.put(stood.map_or(0, |stood| stood.row).min(last), height),
            (None, _, None) => self.let_go(),
        }
    }

    /// Whether what is still to be read may have a job of this place in the order. Where more came before it than are kept, it
    /// is not waited for.
    fn may_come(&self, at: &Position) -> bool {
        let is_before = |place: &Position| self.sort.compare(place, at).is_lt();
        let rows = &self.rows.entries;
        match &self.rows.below {
            None => false,
            // All that is before it was read in order.
            Some(Cursor::Stored(stored)) => is_before(&stored.beyond),
            Some(_) => rows.len() < KEPT && rows.back().is_none_or(|last| is_before(&last.position)),
        }
    }

    /// Whether the job that is to have the cursor has still to come, and no other has it.
    pub fn is_awaiting(&self) -> bool {
        self.awaited.is_some() || self.rows.is_bare()
    }

    /// Begins a range at the cursor, or ends one by marking everything between.
    pub fn toggle_range(&mut self) {
        let Some(here) = self.index() else { return };
        match self.range.take() {
            None => self.range = self.place.clone(),
            Some(from) => {
                let start = self.rows.entries.iter().position(|e| e.row.id == from).unwrap_or(here);
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
            if !asked.contains(&entry.row.id) {
                continue;
            }
            let id = entry.row.id.clone();
            let Some(fresh) = now.get(&id) else {
                self.stale.insert(id, Stale::Gone);
                continue;
            };
            let was = match self.stale.get(&id) {
                Some(Stale::Changed(was)) => *was,
                _ => entry.row.state,
            };
            entry.row.native_state = fresh.row.native_state.clone();
            entry.row.state = fresh.row.state;
            let died_again = was == State::Dead && fresh.row.at > entry.row.at && entry.row.at.is_some();
            if fresh.row.state != was {
                self.stale.insert(id, Stale::Changed(was));
            } else if died_again {
                self.stale.insert(id, Stale::DiedAgain);
            } else {
                // Somebody has put it back as it was.
                self.stale.remove(&id);
            }
        }
    }
}
