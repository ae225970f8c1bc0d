//! A tab whose text is lines: messages, backtraces, our own words.

use std::borrow::Cow;
use std::ops::Range;

use super::highlight::{self, Grammar};
use super::search::{Direction, Needle};
use super::styled::Styled;
use super::text_roles::TextRole;
use crate::domain::text::Clean;

/// Longer lines are shown in pieces of this many bytes, so that no row costs more than what is seen of it.
const LONGEST: usize = 2_000;

/// How a line is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// As its grammar sees it.
    Seen(Grammar),
    /// As its grammar sees it, on the ground of the application's own frames.
    Application,
    /// In one role.
    Flat(TextRole),
}

/// Lines over one text.
#[derive(Debug, Default)]
pub(super) struct LinesText {
    text: String,
    lines: Vec<(Range<usize>, Tone)>,
}

impl LinesText {
    /// Adds a text of any number of lines in one tone.
    pub fn push(&mut self, tone: Tone, text: &str) {
        for line in text.lines() {
            let mut rest = line;
            loop {
                let piece = head(rest);
                let start = self.text.len();
                self.text.push_str(piece);
                self.lines.push((start..self.text.len(), tone));
                rest = &rest[piece.len()..];
                if rest.is_empty() {
                    break;
                }
            }
            self.text.push('\n');
        }
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.push(Tone::Flat(TextRole::Plain), "\n");
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The whole text, masked as it was pushed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// One line as pushed.
    pub fn exact(&self, line: usize) -> &str {
        self.lines.get(line).and_then(|(range, _)| self.text.get(range.clone())).unwrap_or("")
    }

    /// One line with its roles.
    pub fn line(&self, line: usize) -> Styled {
        let clean = Clean::line(self.exact(line));
        let tone = self.lines.get(line).map_or(Tone::Flat(TextRole::Plain), |(_, tone)| *tone);
        let (grammar, ground) = match tone {
            Tone::Flat(ink) => return Styled::new(ink, &*clean),
            Tone::Seen(grammar) => (grammar, TextRole::Plain),
            Tone::Application => (Grammar::Backtrace, TextRole::AppFrame),
        };
        let mut styled = Styled::default();
        let mut start = 0;
        for (end, ink) in highlight::line(grammar, &clean) {
            styled.push(ink.unwrap_or(ground), clean.get(start..end).unwrap_or(""));
            start = end;
        }
        styled
    }

    /// The same line without colours.
    pub fn plain(&self, line: usize) -> Cow<'_, str> {
        let clean = Clean::line(self.exact(line));
        Cow::Owned(clean.to_string())
    }

    /// The next line with a hit from `from` on.
    pub fn find(&self, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        let len = self.len();
        let from = from.min(len.checked_sub(1)?);
        let matches = |&line: &usize| needle.is_in(self.exact(line));
        match direction {
            Direction::Forward => (from..len).chain(0..from).find(matches),
            Direction::Backward => (0..=from).rev().chain((from + 1..len).rev()).find(matches),
        }
    }
}

/// The start of `line` up to [`LONGEST`] bytes, ended between characters.
fn head(line: &str) -> &str {
    if line.len() <= LONGEST {
        return line;
    }
    let end = (0..=LONGEST).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_megabyte_is_shown_in_pieces_and_copied_in_one() {
        let long = "é".repeat(500_000);
        let mut text = LinesText::default();
        text.push(Tone::Seen(Grammar::Message), &long);
        assert_eq!(text.len(), 500);
        assert_eq!(text.line(499).text().chars().count(), 1_000);
        assert_eq!(text.text().trim_end(), long);
    }

    #[test]
    fn escape_sequences_are_shown_and_do_not_act() {
        let mut text = LinesText::default();
        text.push(Tone::Application, "\x1b[31mapp/a.rb:1:in `x'\n\u{202e}evil");
        let shown = format!("{}{}", text.line(0).text(), text.line(1).text());
        assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown:?}");
    }
}
