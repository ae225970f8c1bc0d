//! Reading jobs with what is compared of them.

use crate::domain::contrast::ComparedJob;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::json::{Document, JsonHighlights, decode_double};
use crate::store::{Budget, Entry, SourceError};
use crate::triage::StoreContext;
use crate::triage::argument_pages::ArgumentPages;

/// Facets that are compared; error class and fingerprint are what was chosen by.
const FACETS: [Facet; 5] = [Facet::Class, Facet::Queue, Facet::Worker, Facet::Reason, Facet::Hour];

/// How far a comparison has got: jobs read so far.
pub type Progress<'a> = &'a mut (dyn FnMut(u64) + Send);

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
        let mut left = most;
        for filter in filters {
            if left == 0 {
                return Ok(true);
            }
            let mut pages = ArgumentPages::new(self.desk, filter, left, self.budget);
            while let Some(entries) = pages.next().await? {
                for entry in &entries {
                    self.compare(entry, each);
                }
                on_progress(entries.len() as u64);
            }
            if pages.is_cut() {
                return Ok(true);
            }
            left = pages.left();
        }
        Ok(false)
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
