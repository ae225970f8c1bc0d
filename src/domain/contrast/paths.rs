//! Paths by number: a value is looked at without making its path.

use std::collections::HashMap;
use std::fmt;

use crate::domain::filter::Key;

/// Where a value stands: the name of a field, or `args` and the keys that lead to it. Elements of arrays are not numbered, as
/// in a filter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValuePath(pub(super) Vec<String>);

impl ValuePath {
    /// The path of a field.
    pub fn field(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The path of a value in the arguments.
    pub fn argument(keys: impl IntoIterator<Item = String>) -> Self {
        Self(std::iter::once("args".to_owned()).chain(keys).collect())
    }

    /// The keys that lead to it in the arguments; `None` for a field.
    pub fn argument_keys(&self) -> Option<&[String]> {
        self.0.split_first().filter(|(first, _)| *first == "args").map(|(_, keys)| keys)
    }

    /// Whether `other` stands below this.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        self.0.len() < other.0.len() && other.0.starts_with(&self.0)
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument_keys() {
            // As a filter writes it: a key with a dot in it is quoted.
            Some(keys) => f.write_str(&Key::Arg(keys.to_vec()).word()),
            None => f.write_str(&self.0.join(".")),
        }
    }
}

/// A path, in the order in which they were first seen.
pub(super) type PathId = u32;

/// Paths that are told apart.
const MAX_PATHS: usize = 4_096;

/// Above all fields of a job.
pub(super) const FIELDS: PathId = 0;
/// The arguments as a whole.
pub(super) const ARGUMENTS: PathId = 1;

/// Paths, each by the one above it and its last key.
#[derive(Clone, Debug)]
pub(super) struct PathTree(Vec<PathNode>);

#[derive(Clone, Debug, Default)]
struct PathNode {
    above: PathId,
    key: String,
    below: HashMap<String, PathId>,
}

impl Default for PathTree {
    fn default() -> Self {
        Self(vec![PathNode::default(), PathNode::default()])
    }
}

impl PathTree {
    /// The path with one more key.
    pub(super) fn get(&self, above: PathId, key: &str) -> Option<PathId> {
        self.0[above as usize].below.get(key).copied()
    }

    /// The same, which is added where there is none, and room for one: a payload may have a key for each of its rows.
    pub(super) fn get_or_add(&mut self, above: PathId, key: &str) -> Option<PathId> {
        let known = self.get(above, key);
        known.or_else(|| (self.0.len() < MAX_PATHS).then(|| self.add(above, key)))
    }

    /// The same, whether there is room or not.
    fn add(&mut self, above: PathId, key: &str) -> PathId {
        if let Some(path) = self.get(above, key) {
            return path;
        }
        let path = PathId::try_from(self.0.len()).unwrap_or(PathId::MAX);
        self.0[above as usize].below.insert(key.to_owned(), path);
        self.0.push(PathNode { above, key: key.to_owned(), below: HashMap::new() });
        path
    }

    /// Adds a path with all above it.
    pub(super) fn add_path(&mut self, path: &ValuePath) -> PathId {
        match path.argument_keys() {
            Some(keys) => keys.iter().fold(ARGUMENTS, |above, key| self.add(above, key)),
            None => self.add(FIELDS, &path.to_string()),
        }
    }

    /// The path of a number.
    pub(super) fn path(&self, path: PathId) -> ValuePath {
        let mut keys: Vec<&str> = Vec::new();
        let mut here = path;
        while here > ARGUMENTS {
            let node = &self.0[here as usize];
            keys.push(&node.key);
            here = node.above;
        }
        keys.reverse();
        match (here, keys.as_slice()) {
            (FIELDS, [name]) => ValuePath::field(name),
            _ => ValuePath::argument(keys.into_iter().map(str::to_owned)),
        }
    }
}
