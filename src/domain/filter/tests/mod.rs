//! Tests of the language as a whole.

mod applying;
mod building;
mod errors;
mod grammar;
mod properties;

use std::borrow::Cow;

use super::{Filter, Key, Subject};
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// 2026-11-20T03:12:09.5Z.
const NOW: Timestamp = Timestamp(1_795_144_329_500_000);

fn parse(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| panic!("{error}\n{}", error.pointer()))
}

/// A job with what a test gives it and nothing else.
#[derive(Clone, Debug)]
struct Job {
    texts: Vec<(Key, String)>,
    numbers: Vec<(Key, i64)>,
    times: Vec<(Key, Timestamp)>,
    state: State,
    arguments: Option<String>,
    values: Vec<(Vec<String>, String)>,
}

impl Default for Job {
    fn default() -> Self {
        let (texts, numbers, times, values) = Default::default();
        Job { texts, numbers, times, state: State::Dead, arguments: None, values }
    }
}

impl Job {
    fn text(mut self, key: Key, text: &str) -> Self {
        self.texts.push((key, text.to_owned()));
        self
    }

    fn number(mut self, key: Key, n: i64) -> Self {
        self.numbers.push((key, n));
        self
    }

    fn time(mut self, key: Key, at: Timestamp) -> Self {
        self.times.push((key, at));
        self
    }

    fn value(mut self, path: &str, text: &str) -> Self {
        self.values.push((path.split('.').map(str::to_owned).collect(), text.to_owned()));
        self
    }

    fn passes(&self, filter: &str) -> bool {
        parse(filter).compile(NOW).matches(self)
    }
}

fn find<K: PartialEq, V: Clone>(pairs: &[(K, V)], key: &K) -> Option<V> {
    pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())
}

impl Subject for Job {
    fn text(&self, key: &Key) -> Option<Cow<'_, str>> {
        find(&self.texts, key).map(Cow::Owned)
    }

    fn number(&self, key: &Key) -> Option<i64> {
        find(&self.numbers, key)
    }

    fn time(&self, key: &Key) -> Option<Timestamp> {
        find(&self.times, key)
    }

    fn state(&self) -> State {
        self.state
    }

    fn arguments(&self) -> Option<Cow<'_, str>> {
        self.arguments.as_deref().map(Cow::Borrowed)
    }

    fn argument_values(&self, path: &[String]) -> Vec<Cow<'_, str>> {
        self.values.iter().filter(|(p, _)| p == path).map(|(_, v)| Cow::Borrowed(v.as_str())).collect()
    }
}
