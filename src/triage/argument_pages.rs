//! Reading jobs with their arguments, a page at a time.

use std::panic::resume_unwind;

use tokio::task::JoinSet;

use super::StoreContext;
use crate::domain::filter::Filter;
use crate::store::{Budget, Cursor, Entry, Page, PageQuery, ScanMode, Sort, SourceError};

/// Jobs of a page, at the most and at first: nobody knows yet how large their arguments are.
const STEP: usize = 500;
const FIRST_STEP: usize = 50;
/// Bytes of arguments that a page should have at the most.
const STEP_BYTES: usize = 4 << 20;

/// The jobs of a filter, newest first. The next page is read while one is worked on; dropped, that is cancelled.
pub(super) struct ArgumentPages {
    desk: StoreContext,
    filter: Filter,
    budget: Budget,
    mode: ScanMode,
    reading: JoinSet<Result<Page, SourceError>>,
    left: usize,
    is_cut: bool,
}

impl ArgumentPages {
    /// Begins with the newest of at most `most` jobs.
    pub(super) fn new(desk: &StoreContext, filter: &Filter, most: usize, budget: &Budget) -> Self {
        Self::reading(desk, filter, most, ScanMode::Arguments, budget)
    }

    /// The same in another mode, which reads the arguments too.
    pub(super) fn reading(desk: &StoreContext, filter: &Filter, most: usize, mode: ScanMode, budget: &Budget) -> Self {
        let (desk, filter, budget) = (desk.clone(), filter.clone(), budget.clone());
        let mut pages = Self { desk, filter, budget, mode, reading: JoinSet::new(), left: most, is_cut: false };
        pages.read(Cursor::Start, FIRST_STEP);
        pages
    }

    /// The jobs of the next page; `None` behind the last one.
    ///
    /// # Errors
    /// When the source fails, or the budget is cancelled.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Entry>>, SourceError> {
        let Some(page) = self.reading.join_next().await else { return Ok(None) };
        let page = page.unwrap_or_else(|ended| match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(SourceError::Cancelled),
        })?;
        let bytes = page.entries.iter().map(bytes_of).sum();
        self.left = self.left.saturating_sub(page.entries.len());
        self.is_cut = page.next.is_some() && self.left == 0;
        if let Some(cursor) = page.next.filter(|_| self.left > 0) {
            self.read(cursor, next_step(bytes, page.entries.len()));
        }
        Ok(Some(page.entries))
    }

    fn read(&mut self, cursor: Cursor, step: usize) {
        let (desk, budget) = (self.desk.clone(), self.budget.clone());
        let limit = step.min(self.left);
        let query = PageQuery { filter: self.filter.clone(), sort: Sort::default(), cursor, limit };
        let mode = self.mode;
        self.reading.spawn(async move { desk.scan(query, mode, &budget).await });
    }

    /// Jobs that could still be read.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether there are more jobs than were to be read.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

fn bytes_of(entry: &Entry) -> usize {
    let backtrace = entry.compared.as_ref().and_then(|compared| compared.backtrace.as_ref());
    [entry.arguments.as_ref(), backtrace].into_iter().flatten().map(String::len).sum()
}

/// Jobs to read next, by the bytes of the arguments of those that were read.
pub(super) fn next_step(bytes: usize, jobs: usize) -> usize {
    (STEP_BYTES / (bytes / jobs.max(1)).max(1)).clamp(1, STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_arguments_are_read_in_smaller_steps() {
        assert_eq!(next_step(0, 0), STEP);
        assert_eq!(next_step(40, 2), STEP);
        assert_eq!(next_step(2 << 20, 2), 4);
        assert_eq!(next_step(10 << 20, 1), 1);
    }
}
