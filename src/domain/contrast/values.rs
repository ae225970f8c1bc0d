//! Which paths the arguments of jobs have, and which values stand there: for completion.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::attribute::{ComparedJob, Test, ValuePath};
use crate::domain::filter::Key;

/// Paths that are kept, and values of each.
const MAX_PATHS: usize = 4_096;
const MAX_VALUES: usize = 4_096;

/// Paths and values with the number of jobs that have them. What must not be shown has no values here.
#[derive(Clone, Debug, Default)]
pub struct ValueCounts {
    jobs: u64,
    paths: BTreeMap<ValuePath, PathCounts>,
}

#[derive(Clone, Debug, Default)]
struct PathCounts {
    jobs: u64,
    values: HashMap<String, u64>,
}

impl ValueCounts {
    /// Counts a job.
    pub fn add(&mut self, job: &ComparedJob<'_>) {
        self.jobs += 1;
        let mut seen = BTreeSet::new();
        job.attributes(|path, test| {
            let value = match test {
                Test::HasValue => None,
                Test::Text(value) | Test::Literal(value) => Some(value),
                _ => return,
            };
            if path.argument_keys().is_some_and(|keys| !keys.is_empty()) {
                seen.insert((path.clone(), value));
            }
        });
        for (path, value) in seen {
            if self.paths.len() == MAX_PATHS && !self.paths.contains_key(&path) {
                continue;
            }
            let counts = self.paths.entry(path).or_default();
            match value {
                None => counts.jobs += 1,
                Some(value) if counts.values.len() < MAX_VALUES || counts.values.contains_key(&value) => {
                    *counts.values.entry(value).or_default() += 1;
                }
                Some(_) => {}
            }
        }
    }

    /// Jobs that were counted.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// The paths of the arguments that hold values, as filters write them, with the number of jobs; in the order of the keys.
    pub fn paths(&self) -> impl Iterator<Item = (Key, u64)> {
        self.paths.iter().filter_map(|(path, counts)| Some((Key::Arg(path.argument_keys()?.to_vec()), counts.jobs)))
    }

    /// The values at a path with the number of jobs, the most frequent first.
    pub fn values(&self, keys: &[String]) -> Vec<(&str, u64)> {
        let Some(counts) = self.paths.get(&ValuePath::argument(keys.iter().cloned())) else { return Vec::new() };
        let mut values: Vec<(&str, u64)> = counts.values.iter().map(|(value, jobs)| (value.as_str(), *jobs)).collect();
        values.sort_by_key(|(value, jobs)| (std::cmp::Reverse(*jobs), *value));
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::{Document, JsonHighlights};

    #[test]
    fn a_job_counts_once_for_each_value_that_it_has() {
        let mut counts = ValueCounts::default();
        for json in
            [r#"{"items":[{"sku":"a"},{"sku":"a"},{"sku":"b"}],"n":1}"#, r#"{"items":[{"sku":"a"}],"n":null,"a.b":1}"#]
        {
            let document = Document::parse(json.to_owned()).expect("JSON");
            let fields = [("queue", Some("low"))];
            let marks = JsonHighlights::default();
            let job = ComparedJob { fields: &fields, arguments: Some(&document), marks: &marks, chosen_by: &[] };
            counts.add(&job);
        }
        let keys = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(counts.jobs(), 2);
        assert_eq!(counts.values(&keys("items.sku")), [("a", 2), ("b", 1)]);
        assert_eq!(counts.values(&keys("none")), []);
        let paths: Vec<(String, u64)> = counts.paths().map(|(key, jobs)| (key.word().into_owned(), jobs)).collect();
        assert_eq!(paths, [("args.\"a.b\"".to_owned(), 1), ("args.items.sku".to_owned(), 2), ("args.n".to_owned(), 1)]);
    }
}
