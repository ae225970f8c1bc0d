//! A job made ready to be drawn: parsed and folded, and read by window, so that megabytes cost what a screen shows.
//!
//! Built by the runtime away from the loop that reads keys ([`JobDocument::build`]); after that every call here is
//! cheap enough for a frame. What is shown is sanitised and masked; [`JobDocument::exact`] is what `$EDITOR` gets.
//!
//! Lines are counted from 0 as if nothing were folded, so that folding and wrapping never move a cursor.

mod build;
mod folds;
mod highlight;
mod json;
mod lines;
mod search;
mod styled;
mod tab_text;
mod text_roles;
mod viewport;

use std::fmt;
use std::sync::Arc;

pub use folds::LineFolds;
pub use search::{Direction, Needle};
pub use text_roles::{ScreenRow, StyledPiece, TextRole};
pub use viewport::{Spot, Viewport};

use build::PayloadRules;
use highlight::Grammar;
use tab_text::{TabText, Text};

use crate::domain::backtrace::{Backtrace, FrameOrigins};
use crate::domain::display_rules::Notation;
use crate::domain::filter::Key;
use crate::domain::job::JobDetail;
use crate::domain::redact::{Masker, Redactor};
use crate::domain::text::Untrusted;
use crate::ledger::HistoryEntry;

/// Makes ready what the first screen needs, patterns and a grammar, which takes milliseconds once: for a thread that can
/// wait, while nothing is there to be shown yet.
pub fn warm_up() {
    let masker = Masker::new(Arc::default());
    masker.text(Untrusted::from("RuntimeError: password=x <a>b</a> (c)=(d) at https://user:secret@host"));
    Backtrace::parse("app/models/charge.rb:12:in 'capture'", &FrameOrigins::default());
    highlight::warm_up(&[Grammar::Json]);
}

/// The same for the sides of a job that the first screen does not show.
pub fn warm_up_rest() {
    highlight::warm_up(&[Grammar::Backtrace, Grammar::Message]);
}

/// A side of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tab {
    /// Arguments or payload.
    Arguments,
    /// Where it failed; the application's own frames first.
    Backtrace,
    /// The whole error message.
    Error,
    /// All other columns.
    Metadata,
    /// What the ledger knows.
    History,
}

impl Tab {
    /// Every tab, in the order of the keys `1` to `5`.
    pub const ALL: [Tab; 5] = [Tab::Arguments, Tab::Backtrace, Tab::Error, Tab::Metadata, Tab::History];

    /// The word on the tab.
    pub fn word(self) -> &'static str {
        match self {
            Tab::Arguments => "Arguments",
            Tab::Backtrace => "Backtrace",
            Tab::Error => "Error",
            Tab::Metadata => "Metadata",
            Tab::History => "History",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// How large a tab's text is, as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes in the database's text form.
    pub bytes: usize,
    /// Lines as shown here, unfolded.
    pub lines: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, divisor) = match self.bytes {
            0..=999 => return write!(f, "{} B", self.bytes),
            1_000..=999_999 => ("kB", 1e3),
            _ => ("MB", 1e6),
        };
        // Far below 2^52 bytes: the conversion is exact.
        write!(f, "{:.1} {unit}", self.bytes as f64 / divisor)
    }
}

/// One open job.
#[derive(Debug)]
pub struct JobDocument {
    /// As the store has it, but for the row, which is masked as it is in the list.
    pub detail: JobDetail,
    /// What the ledger knows of it, latest first.
    pub history: Vec<HistoryEntry>,
    /// How often it was replayed before, along its lineage.
    pub replayed: u64,
    bodies: [TabText; Tab::ALL.len()],
    redactor: Redactor,
}

impl JobDocument {
    /// Parses and indexes a job. Takes up to a second for tens of megabytes: not for the loop that reads keys.
    pub fn build(
        detail: JobDetail,
        history: Vec<HistoryEntry>,
        notation: &Notation,
        redactor: &Redactor,
    ) -> JobDocument {
        let reading = PayloadRules { notation, redactor, origins: &FrameOrigins::default() };
        let bodies = Tab::ALL.map(|tab| match tab {
            Tab::Arguments => reading.arguments(&detail),
            Tab::Backtrace => reading.backtrace(&detail),
            Tab::Error => reading.error(&detail),
            Tab::Metadata => reading.metadata(&detail),
            Tab::History => build::history(&history, redactor),
        });
        let detail = JobDetail { row: redactor.row(detail.row), ..detail };
        JobDocument { detail, history, replayed: 0, bodies, redactor: redactor.clone() }
    }

    /// The same job, of which the ledger knows how often it was replayed before.
    pub fn with_replays(self, replayed: u64) -> JobDocument {
        JobDocument { replayed, ..self }
    }

    /// Takes in what the ledger knows of it, where that comes later than the job.
    pub fn remember(&mut self, history: Vec<HistoryEntry>, replayed: u64) {
        self.bodies[Tab::History.index()] = build::history(&history, &self.redactor);
        (self.history, self.replayed) = (history, replayed);
    }

    /// How large a tab's text is.
    pub fn size(&self, tab: Tab) -> Size {
        let body = self.body(tab);
        Size { bytes: body.bytes, lines: body.len() }
    }

    /// A sentence that must stand above a tab's text, such as why JSON is shown raw; `None` for most.
    pub fn note(&self, tab: Tab) -> Option<&str> {
        self.body(tab).remark.as_deref()
    }

    /// A tab as it lies on a screen: what scrolling and drawing ask.
    pub fn pane<'a>(&'a self, tab: Tab, folds: &'a LineFolds, width: usize, wrap: bool) -> Viewport<'a> {
        Viewport::new(self.body(tab), folds, width, wrap)
    }

    /// Folds or unfolds the part that begins at `line`, or else the smallest one around it, and returns its first
    /// line; `None` when there is nothing to fold.
    pub fn toggle(&self, tab: Tab, folds: &mut LineFolds, line: usize) -> Option<usize> {
        if folds.is_closed(line) {
            folds.open(line);
            return Some(line);
        }
        let (first, last) = self.body(tab).part(line)?;
        folds.close(first, last);
        Some(first)
    }

    /// Folds every part that lies `level` parts deep; level 0 is the whole text, so 1 is the usual wish.
    pub fn fold_level(&self, tab: Tab, folds: &mut LineFolds, level: usize) {
        folds.close_all(self.body(tab).parts(level));
    }

    /// The next line with a hit from `from` on (itself included) in a direction, around the ends; folded lines are
    /// searched too, so the caller reveals what is found.
    pub fn search(&self, tab: Tab, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        self.body(tab).find(needle, from, direction)
    }

    /// What `y` copies for a line: the value that begins there as exact JSON, or the line. Masked like the screen.
    pub fn line(&self, tab: Tab, line: usize) -> String {
        self.body(tab).copy_line(line)
    }

    /// The filter key of the argument on a line, and its value; none for `null` and what is empty.
    ///
    /// # Errors
    /// Why no filter term selects it, as a sentence.
    pub fn filter_term(&self, tab: Tab, line: usize) -> Result<(Key, Option<String>), &'static str> {
        match (tab, &self.body(tab).text) {
            (Tab::Arguments, Text::Json(text)) => text.filter_term(line),
            (Tab::Arguments, Text::Lines(_)) => Err("the arguments are no JSON"),
            _ => Err("values to filter by are among the arguments: 1"),
        }
    }

    /// What copying a whole tab gives: exact but for what is masked.
    pub fn copy(&self, tab: Tab) -> String {
        self.body(tab).copy()
    }

    /// A file name and the exact text of a tab, for `$EDITOR`. What is masked stays masked.
    pub fn exact(&self, tab: Tab) -> (String, String) {
        let exact = |text: &Option<Untrusted>| {
            text.as_ref().map(|text| self.redactor.text(text.exact()).into_owned()).unwrap_or_default()
        };
        let text = match tab {
            Tab::Arguments => self.redactor.arguments(&self.detail).unwrap_or_default().into_owned(),
            Tab::Backtrace => exact(&self.detail.backtrace),
            Tab::Error => exact(&self.detail.message),
            Tab::Metadata | Tab::History => self.copy(tab),
        };
        let ending = if matches!(self.body(tab).text, Text::Json(_)) { "json" } else { "txt" };
        (format!("{}.{ending}", tab.word().to_lowercase()), text)
    }

    fn body(&self, tab: Tab) -> &TabText {
        &self.bodies[tab.index()]
    }
}

#[cfg(test)]
mod tests;
