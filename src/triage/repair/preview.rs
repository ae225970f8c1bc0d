//! What an expression would do to the arguments of the jobs that a filter selects. Nothing is written.

use thiserror::Error;

use super::{Evaluator, EvaluatorError};
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::repair::{ArgumentChange, Evaluation, RepairGroup, RepairPreview, RepairedArguments, repaired};
use crate::store::{Budget, Entry, SourceError};
use crate::triage::StoreContext;
use crate::triage::argument_pages::ArgumentPages;

/// Changes that the examples have together, about: one job may have thousands.
pub(super) const EXAMPLE_CHANGES: usize = 10_000;

/// What is looked at.
#[derive(Clone, Debug)]
pub struct RepairQuery {
    /// The jobs; resolved.
    pub filter: Filter,
    /// Jobs whose changes are told one by one, the newest that change.
    pub examples: usize,
}

/// What would become of the jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairReport {
    /// Jobs that were read.
    pub jobs: u64,
    /// Those whose arguments change.
    pub changed: u64,
    /// All of them by the shape of their change.
    pub groups: Vec<RepairGroup>,
    /// The changes of some.
    pub examples: Vec<(JobId, Vec<ArgumentChange>)>,
}

/// Why there is no preview.
#[derive(Debug, Error)]
pub enum RepairError {
    /// The expression cannot be evaluated.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// The source failed, or the budget was cancelled.
    #[error(transparent)]
    Store(#[from] SourceError),
}

/// Evaluates the expression for each job, a page of jobs at a time.
///
/// # Errors
/// When the source fails, the budget is cancelled, or no process for the expression starts.
pub async fn preview(
    desk: &StoreContext,
    evaluator: &mut Evaluator,
    query: &RepairQuery,
    budget: &Budget,
    on_progress: &mut (dyn FnMut(u64) + Send),
) -> Result<RepairReport, RepairError> {
    let mut preview = RepairPreview::default();
    let mut report = RepairReport { jobs: 0, changed: 0, groups: Vec::new(), examples: Vec::new() };
    let mut example_changes = 0;
    let mut pages = ArgumentPages::new(desk, &query.filter, usize::MAX, budget);
    while let Some(entries) = pages.next().await? {
        for (entry, evaluation) in entries.iter().zip(evaluated(evaluator, &entries).await?) {
            let original = entry.arguments.as_deref().unwrap_or_default();
            let arguments = repaired(original, evaluation, &desk.redactor);
            preview.add(&entry.row.id, &arguments);
            if let RepairedArguments::Changed { changes, .. } = arguments
                && report.examples.len() < query.examples
                && example_changes < EXAMPLE_CHANGES
            {
                example_changes += changes.len();
                report.examples.push((entry.row.id.clone(), changes));
            }
        }
        report.jobs += entries.len() as u64;
        on_progress(report.jobs);
    }
    Ok(RepairReport { changed: preview.changed(), groups: preview.groups(), ..report })
}

/// What becomes of the arguments of each job.
async fn evaluated(evaluator: &mut Evaluator, entries: &[Entry]) -> Result<Vec<Evaluation>, EvaluatorError> {
    let texts: Vec<&str> = entries.iter().filter_map(|entry| entry.arguments.as_deref()).collect();
    let mut evaluations = evaluator.evaluate(&texts).await?.into_iter();
    let evaluation = |entry: &Entry| match entry.arguments {
        Some(_) => evaluations.next(),
        None => None,
    };
    let missing = || Evaluation::Failed("the job has no arguments".to_owned());
    Ok(entries.iter().map(evaluation).map(|one| one.unwrap_or_else(missing)).collect())
}
