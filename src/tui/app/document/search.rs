//! Looking for words in a tab.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::body::Body;

/// Where a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end, then from the start.
    Forward,
    /// Towards the start, then from the end.
    Backward,
}

/// What is looked for: words as they are, capitals only counting where the operator typed one.
#[derive(Clone, Debug)]
pub struct Needle(Regex);

impl Needle {
    /// Makes ready to look for `words`; `None` when they are empty or too long to be searched for.
    pub fn new(words: &str) -> Option<Self> {
        if words.is_empty() {
            return None;
        }
        let lower = !words.chars().any(char::is_uppercase);
        RegexBuilder::new(&regex::escape(words)).case_insensitive(lower).build().ok().map(Self)
    }

    /// Where the hits stand in a line, in bytes, in order.
    pub fn hits(&self, line: &str) -> Vec<Range<usize>> {
        self.0.find_iter(line).map(|hit| hit.range()).collect()
    }

    pub(super) fn is_in(&self, line: &str) -> bool {
        self.0.is_match(line)
    }
}

/// See [`super::JobDocument::search`].
pub(super) fn find(body: &Body, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
    let len = body.len();
    let from = from.min(len.checked_sub(1)?);
    let matches = |line: &usize| body.matches(*line, needle);
    match direction {
        Direction::Forward => (from..len).chain(0..from).find(matches),
        Direction::Backward => (0..=from).rev().chain((from + 1..len).rev()).find(matches),
    }
}
