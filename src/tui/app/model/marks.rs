//! Marks on jobs of the list: single ones, and all that the filter selects.

use std::collections::HashSet;

use crate::domain::job::JobId;

/// Which jobs are marked.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SelectionMarks {
    /// None.
    #[default]
    None,
    /// These.
    Some(HashSet<JobId>),
    /// All that the filter selects, shown or not.
    All,
}

impl SelectionMarks {
    /// Whether a job is marked.
    pub fn has(&self, id: &JobId) -> bool {
        match self {
            Self::None => false,
            Self::Some(ids) => ids.contains(id),
            Self::All => true,
        }
    }

    /// Marks or unmarks a job. A mark of all gives way to single marks.
    pub fn toggle(&mut self, id: JobId) {
        self.change(|ids| {
            if !ids.remove(&id) {
                ids.insert(id);
            }
        });
    }

    /// Marks these jobs too. A mark of all gives way to them.
    pub fn add(&mut self, more: impl IntoIterator<Item = JobId>) {
        self.change(|ids| ids.extend(more));
    }

    fn change(&mut self, change: impl FnOnce(&mut HashSet<JobId>)) {
        let mut ids = match std::mem::take(self) {
            Self::Some(ids) => ids,
            Self::None | Self::All => HashSet::new(),
        };
        change(&mut ids);
        *self = if ids.is_empty() { Self::None } else { Self::Some(ids) };
    }
}
