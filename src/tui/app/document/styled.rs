//! A line with its roles, cut into rows of a width.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::text_roles::{StyledPiece, TextRole};

/// One line of sanitised text and the role of each part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styled {
    text: String,
    /// Where each run of one role ends, in bytes.
    runs: Vec<(usize, TextRole)>,
}

impl Styled {
    /// A line in one role.
    pub fn new(ink: TextRole, text: impl Into<String>) -> Self {
        let mut line = Self::default();
        line.push(ink, &text.into());
        line
    }

    /// Adds text at the end.
    pub fn push(&mut self, ink: TextRole, text: &str) -> &mut Self {
        if text.is_empty() {
            return self;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some((last, same)) if *same == ink => *last = end,
            _ => self.runs.push((end, ink)),
        }
        self
    }

    /// The text without roles.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where each run of one role ends, in bytes, and its role.
    pub fn runs(&self) -> impl Iterator<Item = (usize, TextRole)> {
        self.runs.iter().copied()
    }

    /// The pieces of a part of the line, with those marked that lie in `hits` (ordered, apart from each other).
    pub fn pieces(&self, part: Range<usize>, hits: &[Range<usize>]) -> Vec<StyledPiece> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for &(end, ink) in &self.runs {
            let run = start.max(part.start)..end.min(part.end);
            start = end;
            if run.start < run.end {
                self.split_at_hits(run, ink, hits, &mut pieces);
            }
        }
        pieces
    }

    fn split_at_hits(&self, run: Range<usize>, ink: TextRole, hits: &[Range<usize>], pieces: &mut Vec<StyledPiece>) {
        let mut push = |range: Range<usize>, hit| {
            if let Some(text) = self.text.get(range).filter(|text| !text.is_empty()) {
                pieces.push(StyledPiece { ink, text: text.to_owned(), hit });
            }
        };
        let mut at = run.start;
        for hit in hits.iter().filter(|hit| hit.end > run.start && hit.start < run.end) {
            let (start, end) = (hit.start.max(run.start), hit.end.min(run.end));
            push(at..start, false);
            push(start..end, true);
            at = end;
        }
        push(at..run.end, false);
    }
}

/// The parts of `text` that make rows of at most `width` columns, broken after a blank where one is near.
///
/// There is always at least one row; a character wider than `width` has a row of its own.
pub fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut rows = Vec::new();
    let (mut start, mut used) = (0, 0);
    // Where the row could be broken instead of in a word, and how wide it would be then.
    let mut blank: Option<(usize, usize)> = None;
    for (at, grapheme) in text.grapheme_indices(true) {
        let columns = grapheme.width();
        if used + columns > width && at > start {
            match blank.filter(|(_, columns)| *columns * 2 > width) {
                Some((end, columns)) => {
                    rows.push(start..end);
                    start = end;
                    used -= columns;
                }
                None => {
                    rows.push(start..at);
                    start = at;
                    used = 0;
                }
            }
            blank = None;
        }
        used += columns;
        if grapheme == " " {
            blank = Some((at + 1, used));
        }
    }
    rows.push(start..text.len());
    rows
}

/// The part of `text` that fills the columns from `left` on, at most `width` of them, and whether more follows.
pub fn crop(text: &str, left: usize, width: usize) -> (Range<usize>, bool) {
    let (mut column, mut start) = (0, None);
    for (at, grapheme) in text.grapheme_indices(true) {
        let columns = grapheme.width();
        if column + columns > left + width {
            return (start.unwrap_or(at)..at, true);
        }
        if column >= left && start.is_none() {
            start = Some(at);
        }
        column += columns;
    }
    (start.unwrap_or(text.len())..text.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<&str> {
        wrap(text, width).into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn long_lines_break_after_a_blank_when_one_is_near_and_in_the_word_otherwise() {
        assert_eq!(rows("card was declined by the bank", 12), ["card was ", "declined by ", "the bank"]);
        assert_eq!(rows("a abcdefghijkl", 6), ["a abcd", "efghij", "kl"]);
        assert_eq!(rows("", 6), [""]);
    }

    #[test]
    fn no_row_is_wider_than_asked_for_and_nothing_is_lost() {
        for text in ["日本語のテキスト", "👩‍👩‍👧 family 👩‍👩‍👧 trip", "e\u{301}e\u{301}e\u{301}", "a b c d e f"]
        {
            for width in 2..12 {
                let rows = rows(text, width);
                assert_eq!(rows.concat(), text);
                assert!(rows.iter().all(|row| row.width() <= width), "{text} at {width}: {rows:?}");
            }
        }
    }

    #[test]
    fn a_crop_shows_columns_and_says_whether_more_follows() {
        assert_eq!(crop("abcdef", 2, 3), (2..5, true));
        assert_eq!(crop("abcdef", 2, 4), (2..6, false));
        assert_eq!(crop("abc", 9, 4), (3..3, false));
        // A wide character that straddles the left edge is left out whole.
        assert_eq!(crop("日本語", 1, 4).0, 3..6);
    }

    #[test]
    fn hits_split_the_pieces_they_run_across() {
        let mut line = Styled::default();
        line.push(TextRole::Key, "\"id\"").push(TextRole::Punctuation, ": ").push(TextRole::Number, "42");
        let pieces = line.pieces(0..8, std::slice::from_ref(&(3..7)));
        let marked: String = pieces.iter().filter(|span| span.hit).map(|span| span.text.as_str()).collect();
        assert_eq!(marked, "\": 4");
        assert_eq!(pieces.iter().map(|span| span.text.as_str()).collect::<String>(), "\"id\": 42");
    }
}
