//! Reading jobs with what is compared of them.

use std::borrow::Cow;

use tokio::time::Instant;

use crate::domain::backtrace::{Backtrace, FrameOrigins};
use crate::domain::contrast::{ComparedJob, ValuePath};
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::json::{Document, JsonHighlights, NodeKind, decode_double};
use crate::domain::text::Untrusted;
use crate::store::{Budget, ComparedColumns, Entry, ScanMode, SourceError};
use crate::triage::StoreContext;
use crate::triage::argument_pages::ArgumentPages;

/// Facets that are compared; error class and fingerprint are what was chosen by.
const FACETS: [Facet; 5] = [Facet::Class, Facet::Queue, Facet::Worker, Facet::Reason, Facet::Hour];

const ATTEMPTS: &str = "attempts";
/// The application's frame in which a job failed.
const FRAME: &str = "frame";
/// Values of columns that are longer do not take part, in bytes.
const MAX_VALUE: usize = 120;

/// How far a comparison has got: jobs read so far.
pub type Progress<'a> = &'a mut (dyn FnMut(u64) + Send);

/// Reads jobs with what is compared of them.
#[derive(Clone, Copy)]
pub(super) struct JobReader<'a> {
    pub(super) desk: &'a StoreContext,
    pub(super) budget: &'a Budget,
    /// What jobs were chosen by, which is no news.
    pub(super) chosen: &'a Filter,
    /// Whether secrets are marked: what is only counted is not shown.
    pub(super) marks: bool,
    /// What is read of each job.
    pub(super) mode: ScanMode,
    /// When reading ends, whether all are read or not.
    pub(super) until: Option<Instant>,
}

impl<'a> JobReader<'a> {
    /// Reads all of each job in this mode, with its secrets marked.
    pub(super) fn new(desk: &'a StoreContext, budget: &'a Budget, chosen: &'a Filter, mode: ScanMode) -> Self {
        Self { desk, budget, chosen, marks: true, mode, until: None }
    }

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
            let mut pages = ArgumentPages::reading(self.desk, filter, left, self.mode, self.budget);
            while let Some(entries) = pages.next().await? {
                for entry in &entries {
                    self.compare(entry, each);
                }
                on_progress(entries.len() as u64);
                if self.until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(true);
                }
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
        values.push((ATTEMPTS, entry.row.attempts.map(|n| n.to_string()).filter(|_| !asks(&Key::Attempts))));
        let columns = entry.compared.as_deref().map(|columns| self.columns(columns, entry.row.job_class.as_ref()));
        let columns = columns.iter().flatten().map(|(name, value)| (*name, Some(&**value)));
        let fields = values.iter().map(|(name, value)| (*name, value.as_deref()));
        let fields: Vec<(&str, Option<&str>)> = fields.chain(columns).collect();
        let document =
            entry.arguments.as_deref().and_then(|text| Document::parse(decode_double(text).into_owned()).ok());
        let mut marks = JsonHighlights::default();
        if let Some(document) = document.as_ref().filter(|_| self.marks) {
            self.desk.redactor.mark(document, &mut marks);
        }
        let job = ComparedJob { fields: &fields, arguments: document.as_ref(), marks: &marks };
        each(entry, &job);
    }

    /// The columns that take part, and the application's frame in which the job failed. What holds a secret is left out.
    fn columns<'c>(&self, columns: &'c ComparedColumns, class: Option<&Untrusted>) -> Vec<(&'c str, Cow<'c, str>)> {
        let redactor = &self.desk.redactor;
        // A name that is a key of filters means another thing there.
        let is_free = |name: &str| Key::from_word(name).is_none() && name != FRAME && !redactor.is_secret_name(name);
        let free = columns.values.iter().filter(|(name, _)| is_free(name));
        let each = free.flat_map(|(name, value)| elements(value).into_iter().map(|value| (name.as_str(), value)));
        let frame = columns.backtrace.as_deref().and_then(|text| top_frame(text, class));
        let all = each.chain(frame.map(|frame| (FRAME, Cow::Owned(frame))));
        all.filter(|(_, value)| value.len() <= MAX_VALUE && redactor.text(value) == *value).collect()
    }
}

/// The values of a column: those of an array, as tags are kept, or the column's own.
fn elements(value: &str) -> Vec<Cow<'_, str>> {
    if let Some(list) = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
        && !list.contains(['"', '{', ':'])
    {
        // PostgreSQL's form of an array.
        return list.split(',').filter(|element| !element.is_empty()).map(Cow::Borrowed).collect();
    }
    match Document::parse(value.to_owned()) {
        Ok(list) if list.kind(0) == NodeKind::Array => {
            let scalars = (1..list.node_count()).filter_map(|node| list.scalar(node).map(Cow::into_owned));
            scalars.map(Cow::Owned).collect()
        }
        _ => vec![Cow::Borrowed(value)],
    }
}

/// Where the job failed, in the application's code.
fn top_frame(backtrace: &str, class: Option<&Untrusted>) -> Option<String> {
    let origins =
        class.map_or_else(FrameOrigins::default, |class| FrameOrigins::default().with_job_class(class.exact()));
    let backtrace = Backtrace::parse(backtrace, &origins);
    let frame = backtrace.top_application()?;
    let place = frame.location.as_ref().map(|at| match at.line {
        Some(line) => format!("{}:{line}", at.file),
        None => at.file.clone(),
    });
    place.or_else(|| frame.function.as_ref().map(|function| function.exact().to_owned()))
}

/// Whether a path is one of those that only a comparison reads.
pub(super) fn is_column(path: &ValuePath) -> bool {
    let is_in_row = |name: &str| name == ATTEMPTS || Facet::from_word(name).is_some();
    path.argument_keys().is_none() && !is_in_row(&path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_tags_has_each_of_them_as_a_value() {
        for (column, values) in [
            ("{eu,vip}", vec!["eu", "vip"]),
            ("{}", vec![]),
            (r#"["eu", "vip"]"#, vec!["eu", "vip"]),
            ("5", vec!["5"]),
            ("a, b", vec!["a, b"]),
            (r#"{"a":1}"#, vec![r#"{"a":1}"#]),
        ] {
            assert_eq!(elements(column), values, "{column}");
        }
    }

    #[test]
    fn the_frame_is_the_applications_first_one() {
        let ruby = "/usr/lib/ruby/gems/3.3.0/gems/net-http-0.4.1/lib/net/http.rb:5:in 'get'\n/app/models/charge.rb:12:in 'capture'";
        assert_eq!(top_frame(ruby, None).as_deref(), Some("/app/models/charge.rb:12"));
        assert_eq!(top_frame("boom", None), None);
    }
}
