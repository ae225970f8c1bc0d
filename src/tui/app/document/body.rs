//! The text of one tab, as lines that are made when they are looked at.

use std::borrow::Cow;

use super::Tab;
use super::ink::Ink;
use super::search::Needle;
use super::styled::Styled;
use crate::domain::job::JobDetail;
use crate::domain::notation::Notation;
use crate::domain::redact::Redactor;
use crate::domain::text::{Clean, Untrusted};
use crate::ledger::HistoryEntry;

/// One tab.
#[derive(Debug, Default)]
pub(super) struct Body {
    lines: Vec<Styled>,
    stored: String,
}

impl Body {
    pub fn build(
        tab: Tab,
        detail: &JobDetail,
        _history: &[HistoryEntry],
        _notation: &Notation,
        _redaction: &Redactor,
    ) -> Self {
        let text = match tab {
            Tab::Arguments => detail.arguments.as_ref(),
            Tab::Backtrace => detail.backtrace.as_ref(),
            Tab::Error => detail.message.as_ref(),
            Tab::Metadata | Tab::History => None,
        };
        let stored = text.map(Untrusted::exact).unwrap_or_default().to_owned();
        let lines = stored.lines().map(|line| Styled::new(Ink::Plain, Clean::line(line).to_string())).collect();
        Self { lines, stored }
    }

    /// Lines, unfolded.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Bytes as stored.
    pub fn bytes(&self) -> usize {
        self.stored.len()
    }

    /// What must be said above the text.
    pub fn remark(&self) -> Option<&str> {
        None
    }

    /// One line with its roles; `folded` when it stands for the part that begins there.
    pub fn line(&self, line: usize, _folded: bool) -> Styled {
        self.lines.get(line).cloned().unwrap_or_default()
    }

    /// The same line without roles.
    pub fn plain(&self, line: usize, _folded: bool) -> Cow<'_, str> {
        self.lines.get(line).map_or(Cow::Borrowed(""), |line| Cow::Borrowed(line.text()))
    }

    /// Whether a line holds what is looked for.
    pub fn matches(&self, line: usize, needle: &Needle) -> bool {
        self.lines.get(line).is_some_and(|line| needle.is_in(line.text()))
    }

    /// First and last line of the part that begins at `line`, or else of the smallest one around it.
    pub fn part(&self, _line: usize) -> Option<(usize, usize)> {
        None
    }

    /// Whether a part begins at `line`.
    pub fn is_part(&self, line: usize) -> bool {
        self.part(line).is_some_and(|(first, _)| first == line)
    }

    /// Every part that lies `level` parts deep.
    pub fn parts(&self, _level: usize) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// For the clipboard.
    pub fn copy(&self) -> String {
        self.stored.clone()
    }

    /// For the editor.
    pub fn exact(&self, tab: Tab) -> (String, String) {
        (format!("{}.txt", tab.word().to_lowercase()), self.stored.clone())
    }
}
