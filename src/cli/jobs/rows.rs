//! Rows of a store one by one, read a page at a time.

use std::collections::VecDeque;

use crate::cli::source::open::OpenedStore;
use crate::domain::filter::Filter;
use crate::domain::job::JobRow;
use crate::store::{Cursor, PageQuery, Result, ScanMode, Sort};

/// Rows asked for at a time.
pub const PAGE: usize = 500;

/// The jobs that a filter selects, newest first, with what looks like a secret masked.
pub struct SelectedRows<'a> {
    opened: &'a OpenedStore,
    query: PageQuery,
    read: VecDeque<JobRow>,
    at_end: bool,
    left: usize,
}

impl<'a> SelectedRows<'a> {
    /// Begins at the newest; ends after `limit` jobs, or after all where that is 0.
    pub fn new(opened: &'a OpenedStore, filter: Filter, limit: usize) -> Self {
        let query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: PAGE };
        let left = if limit == 0 { usize::MAX } else { limit };
        Self { opened, query, read: VecDeque::new(), at_end: false, left }
    }

    /// The next job.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn next(&mut self) -> Result<Option<JobRow>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.fill().await?;
        let Some(row) = self.read.pop_front() else { return Ok(None) };
        self.left -= 1;
        Ok(Some(self.opened.masked(row)))
    }

    /// The next jobs, as many as are at hand and no more than `most`; none at the end.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn some(&mut self, most: usize) -> Result<Vec<JobRow>> {
        if self.left == 0 {
            return Ok(Vec::new());
        }
        self.fill().await?;
        let n = most.min(self.left).min(self.read.len());
        self.left -= n;
        Ok(self.read.drain(..n).map(|row| self.opened.masked(row)).collect())
    }

    /// Whether there is a job behind the last one that was given out.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn has_more(&mut self) -> Result<bool> {
        self.fill().await?;
        Ok(!self.read.is_empty())
    }

    async fn fill(&mut self) -> Result<()> {
        while self.read.is_empty() && !self.at_end {
            // One more than is wanted tells whether there are more.
            self.query.limit = PAGE.min(self.left.saturating_add(1));
            let page = self.opened.desk.scan(self.query.clone(), ScanMode::List, &self.opened.budget).await?;
            self.read.extend(page.entries.into_iter().map(|entry| entry.row));
            match page.next {
                Some(next) => self.query.cursor = next,
                None => self.at_end = true,
            }
        }
        Ok(())
    }
}
