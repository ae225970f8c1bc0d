//! The values that the arguments of jobs have: of all paths from a sample, of one path from all jobs.

use std::collections::{BTreeSet, HashMap};

use super::reader::{JobReader, Progress};
use crate::domain::contrast::{ComparedJob, ValueCounts};
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count};
use crate::domain::json::{NodeKind, REDACTED, scalar_nodes};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Budget, SourceError};
use crate::triage::StoreContext;

/// Values that have a bar of their own; jobs with later ones are in the total only.
const MAX_BARS: usize = 10_000;

/// Counts the jobs of a filter by the value at a path of their arguments, the most frequent first. A job with several values
/// is in several bars; one with none is in that of `None`.
///
/// # Errors
/// When the source fails, or the budget is cancelled.
pub async fn count_values(
    desk: &StoreContext,
    filter: &Filter,
    keys: &[String],
    budget: &Budget,
    on_progress: Progress<'_>,
) -> Result<(Vec<Bar>, Count), SourceError> {
    let reader = JobReader { desk, budget, chosen: &Filter::all(), marks: true };
    let (mut bars, mut total): (HashMap<Option<String>, Bar>, u64) = (HashMap::new(), 0);
    reader
        .read(std::slice::from_ref(filter), usize::MAX, on_progress, &mut |entry, job| {
            total += 1;
            for value in values_of(job, keys) {
                if bars.len() == MAX_BARS && !bars.contains_key(&value) {
                    continue;
                }
                let untrusted = value.clone().map(Untrusted::new);
                let bar = bars.entry(value).or_insert_with(|| Bar::new(untrusted, Count::exact(0)));
                add(bar, entry.row.at);
            }
        })
        .await?;
    let mut bars: Vec<Bar> = bars.into_values().collect();
    bars.sort_by(|a, b| b.count.n.cmp(&a.count.n).then_with(|| a.value.cmp(&b.value)));
    Ok((bars, Count::exact(total)))
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
    let reader = JobReader { desk, budget, chosen: &Filter::all(), marks: true };
    let mut counts = ValueCounts::default();
    reader.read(std::slice::from_ref(filter), most, &mut |_| (), &mut |_, job| counts.add(job)).await?;
    Ok(counts)
}
