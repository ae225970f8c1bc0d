//! What an expression would do to a cohort: jobs grouped by the shape of their change, in bounded memory.

use std::collections::HashMap;

use super::{ArgumentChange, RepairedArguments, ShownValue};
use crate::domain::job::JobId;
use crate::domain::json::NodeKind;
use crate::domain::text::Untrusted;

/// Shapes that are told apart.
const MAX_SHAPES: usize = 100;
/// Values of one shape that are told apart.
const MAX_VALUES: usize = 8;
/// Failures that are told apart.
const MAX_FAILURES: usize = 50;
/// Changes of a group that are told.
const MAX_CHANGES: usize = 12;
/// Changes of one job that differ by more than their position: with more of them it has no shape.
const MAX_DISTINCT: usize = 64;

/// Jobs with the same change.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairGroup {
    /// How many.
    pub jobs: u64,
    /// What becomes of them.
    pub shape: ChangeShape,
    /// The first of them.
    pub example: JobId,
}

/// What jobs have in common after an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeShape {
    /// The same changes, with the same values.
    Same(Vec<ArgumentChange>),
    /// Changes at the same paths, with values that differ from job to job; here are those of the first.
    Varied(Vec<ArgumentChange>),
    /// Changes beyond those that are told apart.
    OtherChanges,
    /// No change.
    Unchanged,
    /// The same failure.
    Failed(Untrusted),
    /// Failures beyond those that are told apart.
    OtherFailures,
}

impl ChangeShape {
    /// Whether the arguments are written.
    pub fn is_change(&self) -> bool {
        matches!(self, ChangeShape::Same(_) | ChangeShape::Varied(_) | ChangeShape::OtherChanges)
    }

    /// In words, fit for a screen.
    pub fn describe(&self) -> String {
        match self {
            ChangeShape::Same(changes) => described(changes),
            ChangeShape::Varied(changes) => format!("{} (values differ)", described(changes)),
            ChangeShape::OtherChanges => "other changes".to_owned(),
            ChangeShape::Unchanged => "unchanged".to_owned(),
            ChangeShape::Failed(why) => format!("error: {}", why.line()),
            ChangeShape::OtherFailures => "other errors".to_owned(),
        }
    }
}

fn described(changes: &[ArgumentChange]) -> String {
    let mut words: Vec<String> = changes.iter().take(MAX_CHANGES).map(ArgumentChange::describe).collect();
    if let Some(more) = changes.len().checked_sub(MAX_CHANGES).filter(|more| *more > 0) {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// The paths of a change, and what stands there before and after.
type ShapeKey = Vec<(Untrusted, Option<NodeKind>, Option<NodeKind>)>;

/// How many jobs, and the first of them.
type FirstAndCount = (JobId, u64);

/// The jobs of one shape.
struct ShapeCount {
    jobs: FirstAndCount,
    first: Vec<ArgumentChange>,
    /// By their values; none where these are too many.
    by_value: Option<HashMap<Vec<ArgumentChange>, FirstAndCount>>,
}

/// Groups jobs by what an expression makes of their arguments. The counts of the groups add up to the jobs.
#[derive(Default)]
pub struct RepairPreview {
    unchanged: Option<FirstAndCount>,
    shapes: HashMap<ShapeKey, ShapeCount>,
    failures: HashMap<Untrusted, FirstAndCount>,
    other_changes: Option<FirstAndCount>,
    other_failures: Option<FirstAndCount>,
}

fn count(group: &mut Option<FirstAndCount>, id: &JobId) {
    group.get_or_insert_with(|| (id.clone(), 0)).1 += 1;
}

impl RepairPreview {
    /// Counts a job.
    pub fn add(&mut self, id: &JobId, arguments: &RepairedArguments) {
        match arguments {
            RepairedArguments::Unchanged => count(&mut self.unchanged, id),
            RepairedArguments::Failed(why) => {
                if !self.failures.contains_key(why) && self.failures.len() >= MAX_FAILURES {
                    return count(&mut self.other_failures, id);
                }
                self.failures.entry(why.clone()).or_insert_with(|| (id.clone(), 0)).1 += 1;
            }
            RepairedArguments::Changed { changes, .. } => self.add_change(id, changes),
        }
    }

    fn add_change(&mut self, id: &JobId, changes: &[ArgumentChange]) {
        let mut distinct: Vec<ArgumentChange> = Vec::new();
        for change in changes {
            if !distinct.contains(change) {
                distinct.push(change.clone());
            }
            if distinct.len() > MAX_DISTINCT {
                return count(&mut self.other_changes, id);
            }
        }
        let kind = |value: &Option<ShownValue>| value.as_ref().map(|value| value.kind);
        let mut key: ShapeKey = Vec::new();
        for change in &distinct {
            let shape = (change.path.clone(), kind(&change.before), kind(&change.after));
            if !key.contains(&shape) {
                key.push(shape);
            }
        }
        if !self.shapes.contains_key(&key) && self.shapes.len() >= MAX_SHAPES {
            return count(&mut self.other_changes, id);
        }
        let shape = self.shapes.entry(key).or_insert_with(|| ShapeCount {
            jobs: (id.clone(), 0),
            first: distinct.clone(),
            by_value: Some(HashMap::new()),
        });
        shape.jobs.1 += 1;
        let Some(by_value) = &mut shape.by_value else { return };
        by_value.entry(distinct).or_insert_with(|| (id.clone(), 0)).1 += 1;
        if by_value.len() > MAX_VALUES {
            shape.by_value = None;
        }
    }

    /// Jobs whose arguments change.
    pub fn changed(&self) -> u64 {
        let other = self.other_changes.as_ref().map_or(0, |group| group.1);
        self.shapes.values().map(|shape| shape.jobs.1).sum::<u64>() + other
    }

    /// The groups: changes, what is unchanged, failures; the largest first.
    pub fn groups(&self) -> Vec<RepairGroup> {
        let group =
            |(example, jobs): &FirstAndCount, shape| RepairGroup { jobs: *jobs, shape, example: example.clone() };
        let mut groups = Vec::new();
        for shape in self.shapes.values() {
            match &shape.by_value {
                Some(values) => {
                    groups.extend(values.iter().map(|(changes, jobs)| group(jobs, ChangeShape::Same(changes.clone()))));
                }
                None => groups.push(group(&shape.jobs, ChangeShape::Varied(shape.first.clone()))),
            }
        }
        groups.extend(self.other_changes.iter().map(|jobs| group(jobs, ChangeShape::OtherChanges)));
        groups.extend(self.unchanged.iter().map(|jobs| group(jobs, ChangeShape::Unchanged)));
        groups.extend(self.failures.iter().map(|(why, jobs)| group(jobs, ChangeShape::Failed(why.clone()))));
        groups.extend(self.other_failures.iter().map(|jobs| group(jobs, ChangeShape::OtherFailures)));
        let order = |shape: &ChangeShape| match shape {
            ChangeShape::Same(_) | ChangeShape::Varied(_) => 0,
            ChangeShape::OtherChanges => 1,
            ChangeShape::Unchanged => 2,
            ChangeShape::Failed(_) => 3,
            ChangeShape::OtherFailures => 4,
        };
        groups.sort_by_cached_key(|group| (order(&group.shape), std::cmp::Reverse(group.jobs), group.example.clone()));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Evaluation, repaired};
    use super::*;
    use crate::domain::redact::Redactor;

    /// The lines of a preview, whose counts have to add up.
    fn lines(jobs: impl IntoIterator<Item = (String, Evaluation)>) -> Vec<String> {
        let (mut preview, mut all, redactor) = (RepairPreview::default(), 0, Redactor::default());
        for (nth, (original, evaluation)) in jobs.into_iter().enumerate() {
            preview.add(&JobId::new(nth.to_string()), &repaired(&original, evaluation, &redactor));
            all += 1;
        }
        let groups = preview.groups();
        assert_eq!(groups.iter().map(|group| group.jobs).sum::<u64>(), all);
        let changed = groups.iter().filter(|group| group.shape.is_change()).map(|group| group.jobs).sum::<u64>();
        assert_eq!(preview.changed(), changed);
        groups
            .iter()
            .map(|group| format!("{} #{}: {}", group.jobs, group.example.as_str(), group.shape.describe()))
            .collect()
    }

    fn change(before: &str, after: &str) -> (String, Evaluation) {
        (before.to_owned(), Evaluation::Changed { before: before.to_owned(), after: after.to_owned() })
    }

    fn failure(why: &str) -> (String, Evaluation) {
        ("1".to_owned(), Evaluation::Failed(why.to_owned()))
    }

    #[test]
    fn jobs_are_grouped_by_the_shape_of_their_change() {
        let jobs = [
            ("1".to_owned(), Evaluation::Unchanged),
            change(r#"{"currency":null}"#, r#"{"currency":"EUR"}"#),
            failure("cannot index \"a\" with 1"),
            change(r#"{"id":7,"currency":null}"#, r#"{"id":7,"currency":"EUR"}"#),
            change(r#"{"items":[{"sku":1},{"sku":1}],"old":2}"#, r#"{"items":[{"sku":2},{"sku":2}],"new":3}"#),
            failure("cannot index \"b\" with 2"),
            change(r#"{"currency":null}"#, r#"{"currency":"USD"}"#),
        ];
        assert_eq!(
            lines(jobs),
            [
                "2 #1: .currency null -> \"EUR\"",
                "1 #4: .items[].sku 1 -> 2, .old removed 2, .new added 3",
                "1 #6: .currency null -> \"USD\"",
                "1 #0: unchanged",
                "2 #2: error: cannot index <str> with <n>",
            ]
        );
    }

    #[test]
    fn values_that_differ_from_job_to_job_are_one_group() {
        let jobs = (0..=MAX_VALUES).map(|n| change(&format!("[{n}]"), &format!("[\"{n}\"]")));
        assert_eq!(lines(jobs), [format!("{} #0: .[] 0 -> \"0\" (values differ)", MAX_VALUES + 1)]);
    }

    #[test]
    fn what_is_beyond_the_bounds_is_counted_together() {
        let key = |n: usize| format!("k{}", "x".repeat(n));
        let jobs = (0..MAX_SHAPES + 3).map(|n| change("{}", &format!("{{\"{}\":1}}", key(n))));
        let told = lines(jobs);
        assert_eq!((told.len(), told.last().map(String::as_str)), (MAX_SHAPES + 1, Some("3 #100: other changes")));
        let told = lines((0..MAX_FAILURES + 2).map(|n| failure(&format!("no {}", key(n)))));
        assert_eq!((told.len(), told.last().map(String::as_str)), (MAX_FAILURES + 1, Some("2 #50: other errors")));
        let many: Vec<String> = (0..20).map(|n| format!("\"k{n}\":1")).collect();
        let told = lines([change("{}", &format!("{{{}}}", many.join(",")))]);
        assert!(told[0].ends_with(".k11 added 1, and 8 more"), "{told:?}");
        let wide = format!("{{{}}}", (0..=MAX_DISTINCT).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(","));
        assert_eq!(lines([change("{}", &wide)]), ["1 #0: other changes"]);
    }
}
