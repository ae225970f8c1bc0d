//! The text of one tab, as lines that are made when they are looked at.

use std::borrow::Cow;

use super::json::JsonText;
use super::lines::LinesText;
use super::search::{Direction, Needle};
use super::styled::Styled;

/// The text of one tab.
#[derive(Debug)]
pub(super) enum Text {
    Json(JsonText),
    Lines(LinesText),
}

/// One tab.
#[derive(Debug)]
pub(super) struct TabText {
    /// What is shown.
    pub text: Text,
    /// Bytes as stored.
    pub bytes: usize,
    /// What must be said above the text.
    pub remark: Option<String>,
}

impl TabText {
    /// Lines, unfolded.
    pub fn len(&self) -> usize {
        match &self.text {
            Text::Json(text) => text.len(),
            Text::Lines(text) => text.len(),
        }
    }

    /// One line with its roles; `folded` when it stands for the part that begins there.
    pub fn line(&self, line: usize, folded: bool) -> Styled {
        match &self.text {
            Text::Json(text) => text.line(line, folded),
            Text::Lines(text) => text.line(line),
        }
    }

    /// The same line without roles.
    pub fn plain(&self, line: usize, folded: bool) -> Cow<'_, str> {
        match &self.text {
            Text::Json(text) => Cow::Owned(text.plain(line, folded)),
            Text::Lines(text) => text.plain(line),
        }
    }

    /// First and last line of the part that begins at `line`, or else of the smallest one around it.
    pub fn part(&self, line: usize) -> Option<(usize, usize)> {
        match &self.text {
            Text::Json(text) => text.part(line),
            Text::Lines(_) => None,
        }
    }

    /// Whether a part begins at `line`.
    pub fn is_part(&self, line: usize) -> bool {
        match &self.text {
            Text::Json(text) => text.is_part(line),
            Text::Lines(_) => false,
        }
    }

    /// Every part that lies `level` parts deep.
    pub fn parts(&self, level: usize) -> Vec<(usize, usize)> {
        match &self.text {
            Text::Json(text) => text.parts(level),
            Text::Lines(_) => Vec::new(),
        }
    }

    /// The next line with a hit from `from` on.
    pub fn find(&self, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        match &self.text {
            Text::Json(text) => text.find(needle, from, direction),
            Text::Lines(text) => text.find(needle, from, direction),
        }
    }

    /// One line for the clipboard.
    pub fn copy_line(&self, line: usize) -> String {
        match &self.text {
            Text::Json(text) => text.value(line),
            Text::Lines(text) => text.exact(line).to_owned(),
        }
    }

    /// Everything for the clipboard.
    pub fn copy(&self) -> String {
        match &self.text {
            Text::Json(text) => text.value(0),
            Text::Lines(text) => text.text().trim_end_matches('\n').to_owned(),
        }
    }
}
