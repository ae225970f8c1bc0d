//! The piece of an order that is loaded.

use std::collections::VecDeque;

use crate::store::{Cursor, Entry};

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

    /// Takes in that it may have got its first row.
    pub(super) fn lead(&mut self) {
        if self.since.is_some() && self.above.is_none() {
            self.above = self.entries.front().map(|e| Cursor::Before(e.position.clone()));
        }
    }
}
