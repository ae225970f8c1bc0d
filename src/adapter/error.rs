//! What can be wrong with an adapter file, with the line and what was probably meant.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// A fault of an adapter file, as a sentence.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{message}", place(.file.as_deref(), *.line))]
pub struct AdapterError {
    /// The file; `None` for an adapter that is compiled in.
    pub file: Option<PathBuf>,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

fn place(file: Option<&Path>, line: Option<usize>) -> String {
    let file = file.map(|f| f.display().to_string());
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}, line {line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, Some(line)) => format!("line {line}: "),
        (None, None) => String::new(),
    }
}

/// The line, from 1, on which a byte offset lies.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

/// Rewrites the TOML reader's message about an unknown key or word so that it names the nearest known one.
pub(super) fn with_suggestion(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let (true, Some((found, known))) = (unknown, quoted.split_first()) else {
        return crate::config::plain(message);
    };
    let nearest = known.iter().map(|k| (distance(found, k), k)).min();
    let what = if message.starts_with("unknown field") { "key" } else { "word" };
    match nearest {
        Some((d, k)) if d <= 2.max(found.chars().count() / 3) => {
            format!("unknown {what} `{found}`; did you mean `{k}`?")
        }
        _ if known.is_empty() => format!("unknown {what} `{found}`"),
        _ => format!("unknown {what} `{found}`; known here: {}", known.join(", ")),
    }
}

/// Edits that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_names_the_one_that_was_meant() {
        let message = "unknown field `colum`, expected one of `column`, `sql`, `kind`";
        assert_eq!(with_suggestion(message), "unknown key `colum`; did you mean `column`?");
    }

    #[test]
    fn a_key_like_no_other_lists_what_is_known() {
        let message = "unknown field `frobnicate`, expected `sql` or `kind`";
        assert_eq!(with_suggestion(message), "unknown key `frobnicate`; known here: sql, kind");
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_of("a\nb\nc", 0), 1);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
