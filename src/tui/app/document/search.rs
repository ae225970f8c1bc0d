//! Looking for words in a tab.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// Where a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end, then from the start.
    Forward,
    /// Towards the start, then from the end.
    Backward,
}

/// What is looked for: words as they are, whatever the case.
#[derive(Clone, Debug)]
pub struct Needle {
    words: String,
    pattern: Regex,
}

impl Needle {
    /// Makes ready to look for `words`; `None` when they are empty or too long to be searched for.
    pub fn new(words: &str) -> Option<Self> {
        if words.is_empty() {
            return None;
        }
        let pattern = RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build().ok()?;
        Some(Self { words: words.to_owned(), pattern })
    }

    /// The words.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Where the hits stand in a line, in bytes, in order.
    pub fn hits(&self, line: &str) -> Vec<Range<usize>> {
        self.pattern.find_iter(line).map(|hit| hit.range()).collect()
    }

    pub(super) fn is_in(&self, line: &str) -> bool {
        self.pattern.is_match(line)
    }
}
