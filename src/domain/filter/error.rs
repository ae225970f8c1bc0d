//! What is wrong with a filter, where, and what was expected instead.

use std::fmt;
use std::ops::Range;

use crate::domain::text::Clean;

/// A place in a filter's text that cannot be read. Its `Display` is one sentence, safe for a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    column: usize,
    width: usize,
    problem: String,
    expected: String,
    suggestion: Option<String>,
}

impl ParseError {
    /// Where it starts, in characters from 0.
    pub fn column(&self) -> usize {
        self.column
    }

    /// How many characters it spans; 0 at the end of the text.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What is wrong, without place or remedy.
    pub fn problem(&self) -> Clean<'_> {
        Clean::line(&self.problem)
    }

    /// What may stand there.
    pub fn expected(&self) -> Clean<'_> {
        Clean::line(&self.expected)
    }

    /// What was probably meant, where something known comes close.
    pub fn suggestion(&self) -> Option<Clean<'_>> {
        self.suggestion.as_deref().map(Clean::line)
    }

    /// The filter on one line with carets under the place, for a terminal.
    pub fn pointer(&self) -> String {
        let split = |n: usize| self.text.char_indices().nth(n).map_or(self.text.len(), |(at, _)| at);
        let (from, to) = (split(self.column), split(self.column.saturating_add(self.width)));
        let columns = |text: &str| Clean::line(text).width();
        let before = columns(self.text.get(..from).unwrap_or_default());
        let under = columns(self.text.get(from..to).unwrap_or_default()).max(1);
        format!("{}\n{}{}", &*Clean::line(&self.text), " ".repeat(before), "^".repeat(under))
    }
}

impl fmt::Display for ParseError {
    /// Counts columns from 1, as people do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at column {}", self.problem(), self.column + 1)?;
        match self.suggestion() {
            Some(meant) => write!(f, ": did you mean `{meant}`? Expected {}.", self.expected()),
            None => write!(f, ": expected {}.", self.expected()),
        }
    }
}

impl std::error::Error for ParseError {}

/// A parse error that still counts in bytes and does not yet own the text.
#[derive(Clone, Debug)]
pub(super) struct FilterError {
    pub span: Range<usize>,
    pub problem: String,
    pub expected: String,
    pub suggestion: Option<String>,
}

impl FilterError {
    pub fn new(span: Range<usize>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { span, problem: problem.into(), expected: expected.into(), suggestion: None }
    }

    pub fn meant(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    /// The error as callers see it, with its place counted in characters of `text`.
    pub fn within(self, text: &str) -> ParseError {
        let chars = |range: &str| range.chars().count();
        ParseError {
            column: text.get(..self.span.start).map_or(0, chars),
            width: text.get(self.span).map_or(0, chars),
            text: text.to_owned(),
            problem: self.problem,
            expected: self.expected,
            suggestion: self.suggestion,
        }
    }
}

/// A piece of the user's text for a message, cut where it grows long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// The word of `known` that `typed` probably stands for: one it abbreviates, or one within two slips of the finger.
pub(in crate::domain) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    const LONGEST: usize = 32;
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_ascii_lowercase();
    let slips = |word: &str| distance(&typed, word);
    let close = known.clone().map(|word| (slips(word), word)).min_by_key(|(slips, _)| *slips);
    match close {
        Some((slips, word)) if slips <= 2 && slips * 2 < word.chars().count().max(typed.chars().count()) => Some(word),
        _ => known.into_iter().find(|word| typed.len() >= 2 && word.starts_with(&typed)),
    }
}

/// Insertions, deletions, substitutions and swaps of neighbours between two short words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_forgives_slips_and_completes_beginnings() {
        let known = ["error", "class", "queue", "attempts"];
        let nearest = |typed| nearest(typed, known.into_iter());
        assert_eq!(nearest("eror"), Some("error"));
        assert_eq!(nearest("erorr"), Some("error"));
        assert_eq!(nearest("Error"), Some("error"));
        assert_eq!(nearest("att"), Some("attempts"));
        assert_eq!(nearest("zebra"), None);
        assert_eq!(nearest(""), None);
    }

    #[test]
    fn the_pointer_stands_under_the_place_and_counts_wide_characters() {
        let error = FilterError::new(7..11, "unknown key `eror`", "a key").meant(Some("error")).within("日本 eror:x");
        assert_eq!((error.column(), error.width()), (3, 4));
        assert_eq!(error.pointer(), "日本 eror:x\n     ^^^^");
        assert_eq!(error.to_string(), "unknown key `eror` at column 4: did you mean `error`? Expected a key.");
    }

    #[test]
    fn the_pointer_has_one_caret_at_the_end_of_the_text() {
        let error = FilterError::new(6..6, "nothing follows `error:`", "a value").within("error:");
        assert_eq!((error.column(), error.width()), (6, 0));
        assert_eq!(error.pointer(), "error:\n      ^");
    }
}
