//! What chosen jobs have in common and others do not: which jobs are compared, and reading them in bounded steps.

mod reader;
mod report;
mod values;

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use reader::JobReader;
pub use reader::Progress;
pub use report::{Comparison, DifferenceLine};
pub use values::{ValueBars, count_values, sample_values};

use super::StoreContext;
use crate::domain::contrast::{Contrast, Counts, Difference, FullPass, ValuePath};
use crate::domain::facet::Facet;
use crate::domain::filter::{Clause, Filter, Key};
use crate::domain::text::Untrusted;
use crate::store::{Budget, Cursor, PageQuery, ScanMode, Sort, SourceError};

/// Jobs of each side that a sample has.
pub const SAMPLE: usize = 10_000;
/// Differences that are told.
const MOST: usize = 20;
/// Fewer other jobs say nothing.
const FEWEST: usize = 30;
/// The share of the chosen jobs whose classes the baseline has, in percent: few jobs of many other classes are left out.
const CLASSES_SHARE: usize = 95;
/// How long live or succeeded jobs are read.
const LIVE_DEADLINE: Duration = Duration::from_secs(2);
/// Classes that a baseline has at the most.
const CLASSES: usize = 20;

/// What is compared.
#[derive(Clone, Debug)]
pub struct ContrastQuery {
    /// The chosen jobs; resolved.
    pub chosen: Filter,
    /// The others; without it, the first that there is: other dead jobs of the same class, its live or succeeded ones, all
    /// other dead jobs. Resolved.
    pub against: Option<Filter>,
    /// Jobs of each side that are read at first; [`SAMPLE`] is usual.
    pub sample: usize,
    /// Whether all jobs are counted afterwards.
    pub counts_all: bool,
}

/// What the chosen jobs are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Other dead jobs of these classes.
    SameClasses(Vec<String>),
    /// Live or succeeded jobs of these classes.
    LiveOrSucceeded(Vec<String>),
    /// All other dead jobs.
    AllOthers,
    /// What the operator named.
    Named(Filter),
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub struct ContrastReport {
    /// What the jobs were compared with.
    pub baseline: Baseline,
    /// The differences, the clearest first.
    pub differences: Vec<Difference>,
    /// How many jobs were read.
    pub jobs: Counts,
    /// Whether there are more jobs than were read.
    pub is_sample: bool,
}

/// Compares the newest jobs of both sides, and counts all of them where that is asked for.
///
/// # Errors
/// When the source fails, or the budget is cancelled.
pub async fn contrast(
    desk: &StoreContext,
    query: &ContrastQuery,
    budget: &Budget,
    on_progress: Progress<'_>,
) -> Result<ContrastReport, SourceError> {
    let mode = mode(desk, &query.chosen, budget).await?;
    let reader = JobReader::new(desk, budget, &query.chosen, mode);
    let mut contrast = Contrast::chosen_by(argument_paths(&query.chosen));
    let mut classes: HashMap<Option<Untrusted>, usize> = HashMap::new();
    let mut more = reader
        .read(std::slice::from_ref(&query.chosen), query.sample, on_progress, &mut |entry, job| {
            *classes.entry(entry.row.job_class.clone()).or_default() += 1;
            contrast.add_chosen(job);
        })
        .await?;
    let (baseline, others) = match &query.against {
        Some(filter) => (Baseline::Named(filter.clone()), vec![filter.clone()]),
        None => first_baseline(&reader, &query.chosen, &classes).await?,
    };
    let of_others = reader.of_baseline(&baseline);
    more |= of_others.read(&others, query.sample, on_progress, &mut |_, job| contrast.add_other(job)).await?;
    let (differences, jobs) = (contrast.differences(MOST), contrast.jobs());
    let report = ContrastReport { baseline, differences, jobs, is_sample: more };
    if !more || !query.counts_all {
        return Ok(report);
    }
    let names_column =
        |difference: &Difference| difference.attributes.iter().any(|found| reader::is_column(&found.path));
    let mode = if report.differences.iter().any(names_column) { mode } else { ScanMode::Arguments };
    let mut full_pass = FullPass::of(report.differences);
    let chosen = std::slice::from_ref(&query.chosen);
    let reader = JobReader { marks: false, mode, ..reader };
    reader.read(chosen, usize::MAX, on_progress, &mut |_, job| full_pass.add_chosen(job)).await?;
    // Of jobs that have succeeded there may be very many more.
    let most = if matches!(report.baseline, Baseline::LiveOrSucceeded(_)) { query.sample } else { usize::MAX };
    let reader = reader.of_baseline(&report.baseline);
    let is_sample = reader.read(&others, most, on_progress, &mut |_, job| full_pass.add_other(job)).await?;
    let (differences, jobs) = full_pass.done();
    Ok(ContrastReport { differences, jobs, is_sample, ..report })
}

/// How jobs are read: as much of them as the role may read.
async fn mode(desk: &StoreContext, chosen: &Filter, budget: &Budget) -> Result<ScanMode, SourceError> {
    let query = PageQuery { filter: chosen.clone(), sort: Sort::default(), cursor: Cursor::Start, limit: 1 };
    match desk.scan(query, ScanMode::Comparison, budget).await {
        Ok(_) => Ok(ScanMode::Comparison),
        Err(error @ (SourceError::Cancelled | SourceError::Unreachable(_))) => Err(error),
        // The columns beside the arguments cannot be had: it does without.
        Err(_) => Ok(ScanMode::Arguments),
    }
}

/// The paths in the arguments that a filter names.
fn argument_paths(filter: &Filter) -> Vec<ValuePath> {
    let path = |clause: &Clause| match &clause.key {
        Key::Arg(keys) => Some(ValuePath::argument(keys.iter().cloned())),
        _ => None,
    };
    filter.clauses().iter().filter_map(path).collect()
}

impl JobReader<'_> {
    /// The reader of the jobs of a baseline. The table of a queue in use may be large, and is no place to search for long.
    fn of_baseline(self, baseline: &Baseline) -> Self {
        let is_in_use = matches!(baseline, Baseline::LiveOrSucceeded(_));
        Self { until: is_in_use.then(|| Instant::now() + LIVE_DEADLINE), ..self }
    }
}

/// The first baseline that has enough jobs.
async fn first_baseline(
    reader: &JobReader<'_>,
    chosen: &Filter,
    classes: &HashMap<Option<Untrusted>, usize>,
) -> Result<(Baseline, Vec<Filter>), SourceError> {
    let Some(classes) = main_classes(classes) else { return Ok(all_others(chosen)) };
    let words = &reader.desk.store.info().capabilities.live_or_succeeded;
    let candidates = [same_classes(chosen, &classes), live_or_succeeded(chosen, words, &classes)];
    for (baseline, others) in candidates.into_iter().flatten() {
        let mut found = 0;
        reader.of_baseline(&baseline).read(&others, FEWEST, &mut |_| (), &mut |_, _| found += 1).await?;
        if found >= FEWEST {
            return Ok((baseline, others));
        }
    }
    Ok(all_others(chosen))
}

/// The classes of nearly all chosen jobs, where these are few.
fn main_classes(classes: &HashMap<Option<Untrusted>, usize>) -> Option<Vec<String>> {
    let all: usize = classes.values().sum();
    let mut by_size: Vec<(&str, usize)> =
        classes.iter().filter_map(|(class, n)| Some((class.as_ref()?.exact(), *n))).collect();
    by_size.sort_by_key(|(class, n)| (std::cmp::Reverse(*n), *class));
    let (mut names, mut covered) = (Vec::new(), 0);
    for (class, n) in by_size {
        if covered * 100 < all * CLASSES_SHARE {
            names.push(class);
            covered += n;
        }
    }
    let are_few = covered * 100 >= all * CLASSES_SHARE && names.len() <= CLASSES;
    are_few.then(|| names.into_iter().map(str::to_owned).collect())
}

/// Other jobs of the classes of the chosen ones, where these were not chosen by them alone.
fn same_classes(chosen: &Filter, classes: &[String]) -> Option<(Baseline, Vec<Filter>)> {
    let values: Vec<Option<&str>> = classes.iter().map(|class| Some(class.as_str())).collect();
    let others = chosen.without(&Key::Class).complement();
    let narrowed: Vec<Filter> = others.iter().filter_map(|part| part.narrow(Facet::Class, &values).ok()).collect();
    (!narrowed.is_empty()).then_some((Baseline::SameClasses(classes.to_vec()), narrowed))
}

/// Live or succeeded jobs of these classes, where the layout keeps them and only dead ones were chosen.
fn live_or_succeeded(chosen: &Filter, words: &[String], classes: &[String]) -> Option<(Baseline, Vec<Filter>)> {
    let names_states = |clause: &Clause| matches!(clause.key, Key::State | Key::Native | Key::Id);
    if words.is_empty() || chosen.clauses().iter().any(names_states) {
        return None;
    }
    let values: Vec<Option<&str>> = classes.iter().map(|class| Some(class.as_str())).collect();
    let all = Filter::all().narrow(Facet::Class, &values).ok()?;
    let others = words.iter().try_fold(all, |filter, word| filter.with(&Key::Native, Some(word), false)).ok()?;
    Some((Baseline::LiveOrSucceeded(classes.to_vec()), vec![others]))
}

fn all_others(chosen: &Filter) -> (Baseline, Vec<Filter>) {
    (Baseline::AllOthers, chosen.complement())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::job::JobRow;
    use crate::domain::redact::{RedactConfig, Redactor};
    use crate::store::{Entry, Position};
    use crate::triage::memory_store::MemoryStore;

    fn entry(arguments: &str) -> Entry {
        let row = JobRow::bare("1");
        let id = row.id.clone();
        let position = Position { key: None, id };
        Entry { row, position, lineage: None, arguments: Some(arguments.to_owned()), compared: None }
    }

    #[test]
    fn what_is_masked_elsewhere_is_compared_by_its_kind_alone() {
        let config = RedactConfig { extra: vec!["order.pin".to_owned()], ..RedactConfig::default() };
        let redactor = Arc::new(Redactor::new(&config));
        let desk = StoreContext { redactor, ..MemoryStore::of(1, |_| ()).desk() };
        let (budget, filter) = (Budget::new(std::time::Duration::from_secs(1)), Filter::all());
        let reader = JobReader::new(&desk, &budget, &filter, ScanMode::Comparison);
        let mut contrast = Contrast::default();
        let arguments = |pin: u8| {
            entry(&format!(
                r#"{{"order":{{"pin":"p{pin}"}},"argv":["--password","w{pin}"],"url":"postgres://ops:hunter{pin}@db/shop","type":{pin}}}"#
            ))
        };
        for _ in 0..50 {
            reader.compare(&arguments(1), &mut |_, job| contrast.add_chosen(job));
        }
        for _ in 0..50 {
            reader.compare(&arguments(2), &mut |_, job| contrast.add_other(job));
        }
        let told: Vec<String> = contrast.differences(20).iter().map(|found| format!("{found:?}")).collect();
        assert!(told.iter().any(|line| line.contains("type")), "{told:?}");
        for secret in ["p1", "w1", "hunter1"] {
            assert!(!told.iter().any(|line| line.contains(secret)), "{told:?}");
        }
    }

    #[test]
    fn an_argument_that_jobs_were_chosen_by_is_no_difference() {
        let desk = MemoryStore::of(1, |_| ()).desk();
        let budget = Budget::new(std::time::Duration::from_secs(1));
        let filter = Filter::parse("args.currency:JPY").expect("a filter");
        let reader = JobReader::new(&desk, &budget, &filter, ScanMode::Comparison);
        let mut contrast = Contrast::chosen_by(argument_paths(&filter));
        for nth in 0..50 {
            let arguments = |currency: &str, kind| entry(&format!(r#"{{"currency":"{currency}","kind":{kind}}}"#));
            reader.compare(&arguments("JPY", 1), &mut |_, job| contrast.add_chosen(job));
            reader.compare(&arguments("EUR", nth % 2), &mut |_, job| contrast.add_other(job));
        }
        let told: Vec<String> = contrast.differences(20).iter().filter_map(Difference::terms).collect();
        assert_eq!(told, ["args.kind:1"]);
    }
}
