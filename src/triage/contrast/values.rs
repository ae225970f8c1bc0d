//! The values that the arguments of jobs have: of all paths from a sample, of one path from all jobs.

use std::collections::{BTreeSet, HashMap};

use super::reader::JobReader;
use crate::domain::contrast::{ComparedJob, ValueCounts};
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness};
use crate::domain::json::{NodeKind, REDACTED, scalar_nodes};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Budget, ScanMode, SourceError};
use crate::triage::StoreContext;

/// Values that have a bar of their own; jobs with later ones are in the total only.
const MAX_BARS: usize = 10_000;
/// Jobs between two reports of a count.
const PROGRESS_EVERY: u64 = 500;

/// Counts of jobs by the value at a path of their arguments. A job with several values is in several bars; one with none is in
/// that of `None`.
#[derive(Clone, Debug, Default)]
pub struct ValueBars {
    bars: HashMap<Option<String>, Bar>,
    total: u64,
}

impl ValueBars {
    fn add(&mut self, job: &ComparedJob<'_>, keys: &[String], at: Option<Timestamp>) {
        self.total += 1;
        for value in values_of(job, keys) {
            if self.bars.len() == MAX_BARS && !self.bars.contains_key(&value) {
                continue;
            }
            let untrusted = value.clone().map(Untrusted::new);
            add(self.bars.entry(value).or_insert_with(|| Bar::new(untrusted, Count::exact(0))), at);
        }
    }

    /// Jobs that were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether no job has a value at the path.
    pub fn has_no_value(&self) -> bool {
        self.bars.keys().all(Option::is_none)
    }

    /// The bars, the most frequent first, and the number of jobs.
    pub fn counts(&self, exactness: Exactness) -> (Vec<Bar>, Count) {
        let count = |n| Count { n, exactness };
        let mut bars: Vec<Bar> = self.bars.values().cloned().collect();
        bars.iter_mut().for_each(|bar| bar.count = count(bar.count.n));
        bars.sort_by(|a, b| b.count.n.cmp(&a.count.n).then_with(|| a.value.cmp(&b.value)));
        (bars, count(self.total))
    }
}

/// Counts the jobs of a filter by the value at a path of their arguments, and tells after every `PROGRESS_EVERY` jobs how far
/// that has got.
///
/// # Errors
/// When the source fails, or the budget is cancelled.
pub async fn count_values(
    desk: &StoreContext,
    filter: &Filter,
    keys: &[String],
    budget: &Budget,
    on_progress: &mut (dyn FnMut(&ValueBars) + Send),
) -> Result<ValueBars, SourceError> {
    let all = Filter::all();
    let reader = JobReader::new(desk, budget, &all, ScanMode::Arguments);
    let mut counted = ValueBars::default();
    reader
        .read(std::slice::from_ref(filter), usize::MAX, &mut |_| (), &mut |entry, job| {
            counted.add(job, keys, entry.row.at);
            if counted.total.is_multiple_of(PROGRESS_EVERY) {
                on_progress(&counted);
            }
        })
        .await?;
    Ok(counted)
}

fn add(bar: &mut Bar, at: Option<Timestamp>) {
    bar.count.n += 1;
    bar.first_seen = [bar.first_seen, at].into_iter().flatten().min();
    bar.last_seen = [bar.last_seen, at].into_iter().flatten().max();
}

/// The different values that a filter finds at a path; `None` alone where it finds none.
fn values_of(job: &ComparedJob<'_>, keys: &[String]) -> BTreeSet<Option<String>> {
    let mut values = BTreeSet::new();
    if let Some(document) = job.arguments {
        for node in scalar_nodes(document, keys) {
            let mut around = std::iter::successors(Some(node), |&node| document.parent(node));
            if around.any(|node| job.marks.is_redacted(node)) {
                values.insert(Some(REDACTED.to_owned()));
                continue;
            }
            let value =
                document.scalar(node).filter(|value| !value.is_empty() && document.kind(node) != NodeKind::Null);
            values.extend(value.map(|value| Some(value.into_owned())));
        }
    }
    if values.is_empty() {
        values.insert(None);
    }
    values
}

/// Reads the newest jobs of a filter, at most `most`, and counts what stands in their arguments.
///
/// # Errors
/// When the source fails, or the budget is cancelled.
pub async fn sample_values(
    desk: &StoreContext,
    filter: &Filter,
    most: usize,
    budget: &Budget,
) -> Result<ValueCounts, SourceError> {
    let all = Filter::all();
    let reader = JobReader::new(desk, budget, &all, ScanMode::Arguments);
    let mut counts = ValueCounts::default();
    reader.read(std::slice::from_ref(filter), most, &mut |_| (), &mut |_, job| counts.add(job)).await?;
    Ok(counts)
}
