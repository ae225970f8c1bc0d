//! Backtraces of any language: frames with place and function, the application's own marked apart from those of libraries.
//!
//! Nothing is lost: every line of the text is in one entry, and what is not a frame (messages, `Caused by`, notes
//! between frames) stays in its place.

mod app_frames;
mod frame;

use super::json::{Document, NodeKind, decode_double};
use super::text::Untrusted;
pub use app_frames::FrameOrigins;
use frame::Parsed;

/// Where a frame was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the language names it.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u32>,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A call.
    Frame,
    /// Anything else: the message, the head of a chained error, `... 12 more`.
    Note,
}

/// A frame or a note. The text of a frame may have several lines: the code that Python prints, the place in Go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BacktraceEntry {
    /// The lines as they stand in the backtrace.
    pub text: Untrusted,
    /// What it is.
    pub kind: EntryKind,
    /// Where the call was.
    pub location: Option<Location>,
    /// What was called.
    pub function: Option<Untrusted>,
    /// Whether it belongs to a library, the language or the framework, and not to the application.
    pub library: bool,
}

impl BacktraceEntry {
    /// Whether it is one of the application's own frames.
    pub fn is_application(&self) -> bool {
        self.kind == EntryKind::Frame && !self.library
    }
}

/// A parsed backtrace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backtrace {
    entries: Vec<BacktraceEntry>,
    /// Whether the innermost frame comes last.
    newest_last: bool,
    /// Whether the error that was thrown comes last of a chain.
    thrown_last: bool,
}

/// Lines that are read; what follows is kept as one note.
const MAX_LINES: usize = 20_000;

impl Backtrace {
    /// Reads plain lines, or a JSON array of lines, which may be encoded twice.
    pub fn parse(text: &str, origins: &FrameOrigins) -> Self {
        let lines = lines(text);
        let mut trace = Builder::default();
        for line in lines.iter().take(MAX_LINES) {
            trace.add(line);
        }
        if let Some(rest) = lines.get(MAX_LINES..).filter(|rest| !rest.is_empty()) {
            trace.entries.push((rest.join("\n"), None));
        }
        trace.finish(origins)
    }

    /// The entries in the order of the text.
    pub fn original(&self) -> &[BacktraceEntry] {
        &self.entries
    }

    /// The entries with the application's frames before the libraries', innermost first.
    ///
    /// Chained errors stay apart and in their order: only frames between two notes change places.
    pub fn application_first(&self) -> Vec<&BacktraceEntry> {
        let mut out = Vec::with_capacity(self.entries.len());
        for run in self.runs() {
            let mut frames: Vec<&BacktraceEntry> = run.iter().filter(|e| e.kind == EntryKind::Frame).collect();
            if self.newest_last {
                frames.reverse();
            }
            out.extend(run.iter().filter(|e| e.kind == EntryKind::Note));
            out.extend(frames.iter().filter(|e| !e.library));
            out.extend(frames.iter().filter(|e| e.library));
        }
        out
    }

    /// The innermost of the application's frames in the error that was thrown.
    pub fn top_application(&self) -> Option<&BacktraceEntry> {
        let runs = self.runs();
        let mut with_own = runs.iter().filter(|run| run.iter().any(BacktraceEntry::is_application));
        let run = if self.thrown_last { with_own.next_back() } else { with_own.next() }?;
        let mut own = run.iter().filter(|entry| entry.is_application());
        if self.newest_last { own.next_back() } else { own.next() }
    }

    /// Notes with the frames that follow them: a note behind a frame starts the next run.
    fn runs(&self) -> Vec<&[BacktraceEntry]> {
        self.entries.chunk_by(|a, b| !(a.kind == EntryKind::Frame && b.kind == EntryKind::Note)).collect()
    }
}

/// The lines of a backtrace, whichever way it was stored.
fn lines(text: &str) -> Vec<String> {
    let decoded = decode_double(text);
    let split = |text: &str| text.trim_end().lines().map(str::to_owned).collect::<Vec<_>>();
    match Document::parse(&*decoded) {
        Ok(doc) if doc.kind(0) == NodeKind::Array => doc
            .children(0)
            .flat_map(|item| match doc.scalar(item) {
                Some(line) => split(&line),
                None => vec![doc.raw(item).to_owned()],
            })
            .collect(),
        // A lone JSON string is a backtrace that was encoded once too often.
        Ok(doc) if doc.kind(0) == NodeKind::String => split(&doc.scalar(0).unwrap_or_default()),
        _ => split(&decoded),
    }
}

#[derive(Default)]
struct Builder {
    entries: Vec<(String, Option<Parsed>)>,
    newest_last: bool,
    thrown_last: bool,
}

impl Builder {
    fn add(&mut self, line: &str) {
        self.newest_last |= line.trim_start().starts_with("Traceback (most recent call last)");
        self.thrown_last |= self.newest_last || line.starts_with("Next ");
        if self.continues(line) {
            return;
        }
        self.entries.push((line.to_owned(), frame::parse(line)));
    }

    /// Adds `line` to the last entry if it belongs there.
    fn continues(&mut self, line: &str) -> bool {
        let Some((text, parsed)) = self.entries.last_mut() else {
            return false;
        };
        let code = parsed.as_ref().is_some_and(|frame| frame.has_code) && line.starts_with("    ");
        let place = if parsed.is_none() { frame::place_below(text, line) } else { None };
        if !code && place.is_none() {
            return false;
        }
        text.push('\n');
        text.push_str(line);
        if place.is_some() {
            *parsed = place;
        }
        true
    }

    fn finish(self, origins: &FrameOrigins) -> Backtrace {
        let frames: Vec<&Parsed> = self.entries.iter().filter_map(|(_, parsed)| parsed.as_ref()).collect();
        let judge = origins.classifier(&frames);
        let entry = |(text, parsed): (String, Option<Parsed>)| match parsed {
            None => BacktraceEntry {
                text: text.into(),
                kind: EntryKind::Note,
                location: None,
                function: None,
                library: false,
            },
            Some(parsed) => BacktraceEntry {
                text: text.into(),
                kind: EntryKind::Frame,
                library: judge.is_library(&parsed),
                location: parsed.file.map(|file| Location { file, line: parsed.line }),
                function: parsed.function.map(Untrusted::new),
            },
        };
        Backtrace {
            entries: self.entries.into_iter().map(entry).collect(),
            newest_last: self.newest_last,
            thrown_last: self.thrown_last,
        }
    }
}

#[cfg(test)]
mod tests;
