//! Reading jobs with what is compared of them, in bounded steps.

use std::panic::resume_unwind;

use tokio::task::JoinSet;

use crate::domain::contrast::ComparedJob;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::json::{Document, JsonHighlights, decode_double};
use crate::store::{Budget, Cursor, Entry, Page, PageQuery, ScanMode, Sort, SourceError};
use crate::triage::StoreContext;

/// Jobs that are read at a time, at the most and at first.
pub(super) const STEP: usize = 500;
const FIRST_STEP: usize = 50;
/// Bytes of arguments that one step should have at the most.
const STEP_BYTES: usize = 4 << 20;

/// Facets that are compared; error class and fingerprint are what was chosen by.
const FACETS: [Facet; 5] = [Facet::Class, Facet::Queue, Facet::Worker, Facet::Reason, Facet::Hour];

/// How far a comparison has got: jobs read so far.
pub type Progress<'a> = &'a mut (dyn FnMut(u64) + Send);

/// Jobs to read next, by the bytes of the arguments of those that were read.
pub(in crate::triage) fn next_step(bytes: usize, jobs: usize) -> usize {
    (STEP_BYTES / (bytes / jobs.max(1)).max(1)).clamp(1, STEP)
}

/// Reads jobs with what is compared of them.
pub(super) struct JobReader<'a> {
    pub(super) desk: &'a StoreContext,
    pub(super) budget: &'a Budget,
    /// What jobs were chosen by, which is no news.
    pub(super) chosen: &'a Filter,
    /// Whether secrets are marked: what is only counted is not shown.
    pub(super) marks: bool,
}

impl JobReader<'_> {
    /// Reads at most `most` jobs of the filters, newest first, and says whether there are more.
    pub(super) async fn read(
        &self,
        filters: &[Filter],
        most: usize,
        on_progress: Progress<'_>,
        each: &mut (dyn FnMut(&Entry, &ComparedJob<'_>) + Send),
    ) -> Result<bool, SourceError> {
        let (mut left, mut step) = (most, FIRST_STEP);
        for filter in filters {
            if left == 0 {
                return Ok(true);
            }
            // The next jobs are read while these are compared. Dropped, it is cancelled.
            let mut reading = JoinSet::new();
            reading.spawn(self.scan(filter.clone(), Cursor::Start, step.min(left)));
            while let Some(page) = reading.join_next().await {
                let page = page.unwrap_or_else(|ended| match ended.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => Err(SourceError::Cancelled),
                })?;
                let bytes = page.entries.iter().map(|entry| entry.arguments.as_ref().map_or(0, String::len)).sum();
                step = next_step(bytes, page.entries.len());
                left = left.saturating_sub(page.entries.len());
                let has_more = page.next.is_some();
                if let Some(cursor) = page.next.filter(|_| left > 0) {
                    reading.spawn(self.scan(filter.clone(), cursor, step.min(left)));
                }
                for entry in &page.entries {
                    self.compare(entry, each);
                }
                on_progress(page.entries.len() as u64);
                if has_more && left == 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn scan(
        &self,
        filter: Filter,
        cursor: Cursor,
        limit: usize,
    ) -> impl Future<Output = Result<Page, SourceError>> + Send + use<> {
        let (desk, budget) = (self.desk.clone(), self.budget.clone());
        let query = PageQuery { filter, sort: Sort::default(), cursor, limit };
        async move { desk.scan(query, ScanMode::Arguments, &budget).await }
    }

    pub(super) fn compare(&self, entry: &Entry, each: &mut (dyn FnMut(&Entry, &ComparedJob<'_>) + Send)) {
        let keys = || self.chosen.clauses().iter().map(|clause| &clause.key);
        let asks = |key: &Key| keys().any(|asked| asked == key);
        let facets = FACETS.into_iter().filter(|facet| !asks(&Key::of_facet(*facet)));
        let mut values: Vec<(&str, Option<String>)> = facets
            .map(|facet| (facet.word(), facet.value_of(&entry.row).map(|value| value.exact().to_owned())))
            .collect();
        values.push(("attempts", entry.row.attempts.map(|n| n.to_string()).filter(|_| !asks(&Key::Attempts))));
        let fields: Vec<(&str, Option<&str>)> = values.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let document =
            entry.arguments.as_deref().and_then(|text| Document::parse(decode_double(text).into_owned()).ok());
        let mut marks = JsonHighlights::default();
        if let Some(document) = document.as_ref().filter(|_| self.marks) {
            self.desk.redactor.mark(document, &mut marks);
        }
        let job = ComparedJob { fields: &fields, arguments: document.as_ref(), marks: &marks };
        each(entry, &job);
    }
}
