//! Which paths the arguments of jobs have, and which values stand there: for completion.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::attribute::{AttributeSink, ComparedJob, Test};
use super::paths::{ARGUMENTS, PathId, PathTree, ValuePath};
use super::sample::MAX_VALUES;
use crate::domain::filter::{Key, nearest};
use crate::domain::json::{Document, NodeId, PathStep};

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
    /// The path with the numbers of elements, as it was first seen.
    written: Vec<String>,
}

impl ValueCounts {
    /// Counts a job.
    pub fn add(&mut self, job: &ComparedJob<'_>) {
        self.jobs += 1;
        let mut sink = ValueSink { tree: &mut self.tree, seen: BTreeSet::new(), places: HashMap::new() };
        ComparedJob { fields: &[], ..*job }.attributes(&mut sink);
        let ValueSink { seen, places, .. } = sink;
        for (path, value) in seen {
            let counts = self.paths.entry(path).or_insert_with(|| {
                let node = job.arguments.zip(places.get(&path));
                let written = node.map_or_else(Vec::new, |(document, node)| written(document, *node));
                PathCounts { written, ..PathCounts::default() }
            });
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
        let named = |(path, jobs): (ValuePath, u64)| {
            let keys = path.argument_keys().filter(|keys| !keys.is_empty())?;
            Some((Key::Arg(keys.to_vec()), jobs))
        };
        paths.into_iter().filter_map(named)
    }

    /// Whether a job has a value at a path.
    pub fn has_value(&self, keys: &[String]) -> bool {
        self.at(keys).is_some()
    }

    /// The paths beside one that no job has: those that begin or end with its keys first, then those that most jobs have. Each
    /// is written as it was first seen, with the numbers of elements.
    pub fn near(&self, keys: &[String]) -> Vec<Key> {
        let mut paths: Vec<(&PathCounts, String)> = self.paths.values().map(|counts| (counts, counts.word())).collect();
        let typed = Key::Arg(keys.to_vec()).word().into_owned();
        let meant = nearest(&typed, paths.iter().map(|(_, word)| word.as_str())).map(str::to_owned);
        let is_near = |path: &[String]| path.starts_with(keys) || path.last() == keys.last();
        paths.sort_by_key(|(counts, word)| {
            let is_meant = meant.as_ref() == Some(word);
            (!is_meant, !is_near(&counts.written), std::cmp::Reverse(counts.jobs), word.clone())
        });
        paths.into_iter().map(|(counts, _)| Key::Arg(counts.written.clone())).collect()
    }

    /// The values at a path with the number of jobs, the most frequent first.
    pub fn values(&self, keys: &[String]) -> Vec<(&str, u64)> {
        let Some(counts) = self.at(keys) else { return Vec::new() };
        let mut values: Vec<(&str, u64)> = counts.values.iter().map(|(value, jobs)| (value.as_str(), *jobs)).collect();
        values.sort_by_key(|(value, jobs)| (std::cmp::Reverse(*jobs), *value));
        values
    }

    fn at(&self, keys: &[String]) -> Option<&PathCounts> {
        let path = keys.iter().try_fold(ARGUMENTS, |above, key| self.tree.get(above, key))?;
        self.paths.get(&path)
    }
}

impl PathCounts {
    /// The path as filters write it.
    fn word(&self) -> String {
        Key::Arg(self.written.clone()).word().into_owned()
    }
}

/// Takes in the values of one job, each once.
struct ValueSink<'a> {
    tree: &'a mut PathTree,
    /// `None` for that there is a value.
    seen: BTreeSet<(PathId, Option<String>)>,
    /// The first value of each path.
    places: HashMap<PathId, NodeId>,
}

/// The way to a value, with the numbers of elements.
fn written(document: &Document, node: NodeId) -> Vec<String> {
    let word = |step: &PathStep| match step {
        PathStep::Key(key, _) => key.clone(),
        PathStep::Index(nth) => nth.to_string(),
    };
    document.steps(node).iter().map(word).collect()
}

impl AttributeSink for ValueSink<'_> {
    fn path(&mut self, above: PathId, key: &str) -> Option<PathId> {
        self.tree.get_or_add(above, key)
    }

    fn place(&mut self, path: PathId, document: &Document, node: NodeId) {
        if !document.kind(node).is_container() {
            self.places.entry(path).or_insert(node);
        }
    }

    fn test(&mut self, path: PathId, test: Test) {
        if test == Test::HasValue {
            self.seen.insert((path, None));
        }
    }

    fn value(&mut self, path: PathId, value: &str, _: bool) {
        self.seen.insert((path, Some(value.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::JsonHighlights;

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
