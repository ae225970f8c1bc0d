//! Which paths the arguments of jobs have, and which values stand there: for completion.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::attribute::{AttributeSink, ComparedJob, Test};
use super::paths::{ARGUMENTS, PathId, PathTree, ValuePath};
use super::sample::MAX_VALUES;
use crate::domain::filter::{Key, nearest};

/// Paths and values with the number of jobs that have them. What must not be shown has no values here.
#[derive(Clone, Debug, Default)]
pub struct ValueCounts {
    jobs: u64,
    tree: PathTree,
    /// By the number of the path.
    paths: BTreeMap<PathId, PathCounts>,
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
        let mut sink = ValueSink { tree: &mut self.tree, seen: BTreeSet::new() };
        ComparedJob { fields: &[], ..*job }.attributes(&mut sink);
        for (path, value) in sink.seen {
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

    /// The paths of the arguments that hold values, as filters write them, with the number of jobs; by name.
    pub fn paths(&self) -> impl Iterator<Item = (Key, u64)> {
        let path = |(path, counts): (&PathId, &PathCounts)| (self.tree.path(*path), counts.jobs);
        let paths: BTreeMap<ValuePath, u64> = self.paths.iter().map(path).collect();
        paths.into_iter().filter_map(|(path, jobs)| Some((Key::Arg(path.argument_keys()?.to_vec()), jobs)))
    }

    /// The paths beside one that no job has: those that begin or end with its keys first, then those that most jobs have.
    pub fn near(&self, keys: &[String]) -> Vec<Key> {
        let is_near = |key: &Key| match key {
            Key::Arg(path) => path.starts_with(keys) || path.last() == keys.last(),
            _ => false,
        };
        let mut paths: Vec<(Key, u64)> = self.paths().collect();
        let words: Vec<String> = paths.iter().map(|(key, _)| key.word().into_owned()).collect();
        let typed = Key::Arg(keys.to_vec()).word().into_owned();
        let meant = nearest(&typed, words.iter().map(String::as_str)).map(str::to_owned);
        let is_nearest = |key: &Key| meant.as_deref() == Some(&*key.word());
        paths.sort_by_key(|(key, jobs)| (!is_nearest(key), !is_near(key), std::cmp::Reverse(*jobs)));
        paths.into_iter().map(|(key, _)| key).collect()
    }

    /// The values at a path with the number of jobs, the most frequent first.
    pub fn values(&self, keys: &[String]) -> Vec<(&str, u64)> {
        let path = keys.iter().try_fold(ARGUMENTS, |above, key| self.tree.get(above, key));
        let Some(counts) = path.and_then(|path| self.paths.get(&path)) else { return Vec::new() };
        let mut values: Vec<(&str, u64)> = counts.values.iter().map(|(value, jobs)| (value.as_str(), *jobs)).collect();
        values.sort_by_key(|(value, jobs)| (std::cmp::Reverse(*jobs), *value));
        values
    }
}

/// Takes in the values of one job, each once.
struct ValueSink<'a> {
    tree: &'a mut PathTree,
    /// `None` for that there is a value.
    seen: BTreeSet<(PathId, Option<String>)>,
}

impl AttributeSink for ValueSink<'_> {
    fn path(&mut self, above: PathId, key: &str) -> Option<PathId> {
        self.tree.get_or_add(above, key)
    }

    fn test(&mut self, path: PathId, test: Test) {
        if test == Test::HasValue && path != ARGUMENTS {
            self.seen.insert((path, None));
        }
    }

    fn value(&mut self, path: PathId, value: &str, _: bool) {
        if path != ARGUMENTS {
            self.seen.insert((path, Some(value.to_owned())));
        }
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
            let job = ComparedJob { fields: &fields, arguments: Some(&document), marks: &marks };
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
