//! The paths and values that the arguments of jobs have, from a sample.

use super::reader::JobReader;
use crate::domain::contrast::ValueCounts;
use crate::domain::filter::Filter;
use crate::store::{Budget, SourceError};
use crate::triage::StoreContext;

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
    let reader = JobReader { desk, budget, chosen: &Filter::all() };
    let mut counts = ValueCounts::default();
    reader.read(std::slice::from_ref(filter), most, &mut |_| (), &mut |_, job| counts.add(job)).await?;
    Ok(counts)
}
