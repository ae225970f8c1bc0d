//! How current the list is: rows that have changed since they were read, and rows that it lacks.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::domain::job::{JobId, State};
use crate::store::Entry;

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

/// What is known of changes since the rows of the list were read.
#[derive(Debug, Default)]
pub struct Freshness {
    /// Rows that are no longer as they were read.
    pub stale: HashMap<JobId, Stale>,
    /// Jobs that died since the list was read from its start.
    pub arrived: u64,
    /// Whether polls have seen rows since then that the list does not have, or has as they were, whatever they are.
    pub behind: bool,
    /// Rows that nothing is known to have happened to since they were read, or asked for again.
    current: HashSet<JobId>,
    /// Whether a poll has found that something changed since the page on its way was asked for.
    overtaken: bool,
}

impl Freshness {
    /// Notes that a poll found that something has changed, which may be any row.
    pub fn outdate(&mut self) {
        self.current.clear();
        self.overtaken = true;
    }

    /// Notes that a page is being asked for.
    pub(super) fn page_asked(&mut self) {
        self.overtaken = false;
    }

    /// Notes that a page came; `kept` are the rows that were loaded before it.
    pub(super) fn page_received(&mut self, page: &[Entry], kept: &VecDeque<Entry>, limit: usize) {
        let ids = page.iter().map(|e| &e.row.id);
        match self.overtaken {
            true => ids.for_each(|id| _ = self.current.remove(id)),
            false => self.current.extend(ids.cloned()),
        }
        if self.current.len() > limit {
            // Where nothing ever changes, those of rows that were let go would only become more.
            let here: HashSet<&JobId> = kept.iter().chain(page).map(|e| &e.row.id).collect();
            self.current.retain(|id| here.contains(id));
        }
    }

    /// Notes that the list was read again; from the start of the order, it lacks no row.
    pub(super) fn reloaded(&mut self, is_first: bool) {
        self.stale.clear();
        if is_first {
            (self.arrived, self.behind) = (0, false);
        }
    }

    /// Those of these rows that may have changed since they were read. They count as asked for again.
    pub(super) fn unsure<'e>(&mut self, shown: impl Iterator<Item = &'e Entry>) -> Vec<JobId> {
        let ids = shown.map(|e| &e.row.id);
        let unsure: Vec<JobId> = ids.filter(|id| !self.current.contains(*id)).cloned().collect();
        self.current.extend(unsure.iter().cloned());
        unsure
    }

    /// Compares a row with how it stands now, `None` when it is gone, and takes over its state.
    pub(super) fn compare(&mut self, entry: &mut Entry, now: Option<&Entry>) {
        let id = entry.row.id.clone();
        let Some(now) = now else {
            self.stale.insert(id, Stale::Gone);
            return;
        };
        let was = match self.stale.get(&id) {
            Some(Stale::Changed(was)) => *was,
            _ => entry.row.state,
        };
        entry.row.native_state = now.row.native_state.clone();
        entry.row.state = now.row.state;
        let died_again = was == State::Dead && now.row.at > entry.row.at && entry.row.at.is_some();
        if now.row.state != was {
            self.stale.insert(id, Stale::Changed(was));
        } else if died_again {
            self.stale.insert(id, Stale::DiedAgain);
        } else {
            // Somebody has put it back as it was.
            self.stale.remove(&id);
        }
    }
}
