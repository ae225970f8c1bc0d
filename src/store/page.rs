//! Lists: orders, places in them, and pages read from a place.

use crate::domain::filter::Filter;
use crate::domain::job::{JobId, JobRow};

/// What a list is ordered by; ties are broken by primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Time of death (or the indexed column that stands for it).
    Time,
    /// Attempts made.
    Attempts,
}

/// An order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: SortKey,
    /// Greatest first.
    pub descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { key: SortKey::Time, descending: true }
    }
}

/// A row's place in an order: the sort column's value and the primary key, as the database prints them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The sort column's value; `None` for NULL, which stands last in either direction.
    pub key: Option<String>,
    /// The primary key.
    pub id: JobId,
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The first rows of the order.
    Start,
    /// The last rows of the order.
    End,
    /// The rows that follow a place.
    After(Position),
    /// The rows that stand before a place.
    Before(Position),
}

impl Cursor {
    /// Whether it is read in the order, and not against it.
    pub(super) fn is_forward(&self) -> bool {
        matches!(self, Cursor::Start | Cursor::After(_))
    }
}

/// A request for some rows of a list.
#[derive(Clone, Debug)]
pub struct PageQuery {
    /// Which jobs; resolved, so that its times are absolute.
    pub filter: Filter,
    /// In which order.
    pub sort: Sort,
    /// From where.
    pub cursor: Cursor,
    /// How many rows at the most.
    pub limit: usize,
}

/// A light row with its place in the order it was read in.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The row.
    pub row: JobRow,
    /// Its place.
    pub position: Position,
    /// By what the job is known across its deaths, as [`crate::domain::lineage::kept`]; pages leave it out.
    pub lineage: Option<String>,
}

/// The rows that one bounded step found, in the order of the list whichever way it was read.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows; fewer than asked for when the step's window ended first.
    pub entries: Vec<Entry>,
    /// Where the same query goes on in the same direction; `None` when that end of the list is reached.
    pub next: Option<Cursor>,
    /// What a windowed scan has done so far in this step; `None` when an index served.
    pub scanned: Option<Scanned>,
}

/// The extent of one step of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanned {
    /// Rows looked at in this step.
    pub rows: u64,
    /// Share of the whole scan that lies behind, from 0 to 1, as well as is known.
    pub share: f32,
}
