//! A finding, and how findings are printed.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::Format;
use crate::cli::output;
use crate::cli::table::terminal_width;
use crate::config::mask_secrets;
use crate::domain::text::Clean;
use crate::domain::time::exact_span;
use crate::store::SourceError;
use crate::tui::theme::{Depth, Theme};

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and could be better.
    Warn,
    /// It does not work.
    Fail,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        }
    }
}

/// Something that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Where it belongs: `connection`, `indexes of public.jobs_dlq`.
    pub section: String,
    /// What was looked at, in a word or two.
    pub about: String,
    /// How it stands.
    pub level: Level,
    /// What is so.
    pub fact: String,
    /// What to do about it, as a sentence.
    pub advice: Option<String>,
    /// A statement to be run by whoever may; it is never run from here.
    pub ddl: Option<String>,
    /// How many bytes that will take, about.
    pub bytes: Option<u64>,
    /// How many seconds that will take, about.
    pub seconds: Option<f64>,
    /// What is said in its place where anybody may read it: the fact has words of others.
    #[serde(skip)]
    pub public: Option<String>,
}

impl Finding {
    /// A finding without advice.
    pub fn new(section: &str, about: &str, level: Level, fact: impl Into<String>) -> Self {
        Self {
            section: section.to_owned(),
            about: about.to_owned(),
            level,
            fact: fact.into(),
            advice: None,
            ddl: None,
            bytes: None,
            seconds: None,
            public: None,
        }
    }

    /// The same, with what is said where anybody may read it.
    pub fn publicly(self, public: impl Into<String>) -> Self {
        Self { public: Some(public.into()), ..self }
    }

    /// The same as anybody may read it, each text put through `scrub`.
    pub fn in_public(&self, scrub: &mut dyn FnMut(&str) -> String) -> Self {
        Self {
            section: scrub(&self.section),
            about: scrub(&self.about),
            fact: scrub(self.public.as_deref().unwrap_or(&self.fact)),
            advice: self.advice.as_deref().map(&mut *scrub),
            ddl: self.ddl.as_deref().map(&mut *scrub),
            public: None,
            ..self.clone()
        }
    }

    /// What could not be looked at, as the database says it; its words are not for everybody.
    pub fn failed(section: &str, about: &str, error: &SourceError) -> Self {
        Self::new(section, about, Level::Fail, mask_secrets(&error.to_string())).publicly(error.kind())
    }

    /// The same, with what to do about it.
    pub fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// The same, with the statement that does it.
    pub fn by(self, ddl: impl Into<String>) -> Self {
        Self { ddl: Some(ddl.into()), ..self }
    }
}

#[derive(Serialize)]
struct Inspection<'a> {
    source: &'a str,
    findings: &'a [Finding],
}

/// Prints findings.
pub fn print(source: &str, findings: &[Finding], format: Format) -> Result<()> {
    let mut out = output::stdout();
    match format {
        Format::Json => output::json(&mut out, &output::Versioned::new(Inspection { source, findings }))?,
        Format::Jsonl => {
            for finding in findings {
                output::json_line(&mut out, &output::Versioned::new(finding))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["section", "about", "level", "fact", "advice", "ddl", "bytes", "seconds"])?;
            for finding in findings {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                let row = [
                    finding.section.clone(),
                    finding.about.clone(),
                    finding.level.word().to_owned(),
                    finding.fact.clone(),
                    text(&finding.advice),
                    text(&finding.ddl),
                    finding.bytes.map(|n| n.to_string()).unwrap_or_default(),
                    finding.seconds.map(|n| n.to_string()).unwrap_or_default(),
                ]
                .map(|cell| Clean::line(&cell).to_string());
                output::csv(&mut out, row.iter().map(String::as_str))?;
            }
        }
        Format::Table => table(&mut out, findings, TableLayout::here())?,
    }
    Ok(out.flush()?)
}

/// Prints findings as a table that nothing is cut or wrapped in.
pub fn print_to(out: &mut impl Write, findings: &[Finding]) -> Result<()> {
    table(out, findings, TableLayout::default())
}

/// How a table is laid out.
#[derive(Clone, Copy, Debug, Default)]
struct TableLayout {
    /// Columns to wrap at; lines are left whole without.
    width: Option<usize>,
    /// Whether levels have a colour.
    coloured: bool,
}

impl TableLayout {
    /// As standard output wants it.
    fn here() -> Self {
        let set = |name: &str| std::env::var(name).ok();
        let shows = Theme::of("auto", false, set).depth != Depth::None;
        Self { width: terminal_width(), coloured: std::io::stdout().is_terminal() && shows }
    }

    fn level(self, level: Level) -> String {
        let word = format!("{:<4}", level.word());
        let colour = match level {
            Level::Ok => "32",
            Level::Warn => "33",
            Level::Fail => "1;31",
        };
        if self.coloured { format!("\x1b[{colour}m{word}\x1b[0m") } else { word }
    }
}

/// The least that is left for words, however narrow the terminal is.
const LEAST: usize = 24;

/// Sections of lines; below each what to do. What does not fit into a line goes on below its own beginning.
fn table(out: &mut impl Write, findings: &[Finding], layout: TableLayout) -> Result<()> {
    for of_section in findings.chunk_by(|a, b| a.section == b.section) {
        let section = of_section.first().map_or("", |finding| &finding.section);
        writeln!(out, "{}", Clean::line(section))?;
        let widest = of_section.iter().map(|finding| Clean::line(&finding.about).width()).max().unwrap_or(0);
        let lead = widest + 10;
        let room = layout.width.map_or(usize::MAX, |width| width.saturating_sub(lead).max(LEAST));
        for finding in of_section {
            let about = Clean::line(&finding.about);
            let gap = " ".repeat(widest.saturating_sub(about.width()) + 2);
            let mut before = format!("  {}  {about}{gap}", layout.level(finding.level));
            for text in std::iter::once(&finding.fact).chain(&finding.advice) {
                for row in wrapped(&Clean::line(text), room) {
                    writeln!(out, "{before}{row}")?;
                    before = " ".repeat(lead);
                }
            }
            if let Some(ddl) = &finding.ddl {
                // In one piece, as it is copied from here: a terminal breaks it without breaking it.
                let ddl = Clean::line(ddl);
                writeln!(out, "{}{ddl}", " ".repeat(if ddl.width() > room { DDL_INDENT } else { lead }))?;
            }
        }
    }
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    writeln!(out, "{} ok, {} to look at, {} failed", count(Level::Ok), count(Level::Warn), count(Level::Fail))?;
    Ok(())
}

/// Where a statement begins that does not fit beside what was looked at.
const DDL_INDENT: usize = 8;

/// A line in rows of so many columns, broken between words where that can be.
fn wrapped(line: &Clean<'_>, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in line.split(' ') {
        let whole = Clean::line(word);
        let space = usize::from(used > 0);
        if used > 0 && used + space + whole.width() > width {
            rows.push(String::new());
            used = 0;
        }
        // A word that is longer than a row is cut where the row ends.
        for (nth, piece) in whole.wrap(width).iter().enumerate() {
            if nth > 0 {
                rows.push(String::new());
                used = 0;
            }
            if let Some(row) = rows.last_mut() {
                let space = if used > 0 { " " } else { "" };
                row.push_str(space);
                row.push_str(piece);
                used += space.len() + piece.width();
            }
        }
    }
    rows
}

/// Bytes as people read them.
pub fn bytes(n: u64) -> String {
    let units = ["bytes", "KB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 1_000.0 && unit + 1 < units.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let word = units.get(unit).copied().unwrap_or_default();
    if value < 10.0 && unit > 0 { format!("{value:.1} {word}") } else { format!("{value:.0} {word}") }
}

/// A span of time as a rough figure.
pub fn roughly(span: Duration) -> String {
    match span.as_secs() {
        0 => "a second".to_owned(),
        seconds => exact_span(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_two_figures_at_least() {
        assert_eq!(
            [0, 999, 7_400, 52_000_000, 1_240_000_000].map(bytes),
            ["0 bytes", "999 bytes", "7.4 KB", "52 MB", "1.2 GB"]
        );
    }

    #[test]
    fn what_is_found_cannot_draw_on_the_terminal() {
        let finding =
            Finding::new("stores", "adapter", Level::Warn, "a\u{1b}[2Jb").advising("do\u{7}").by("DROP\u{202e}");
        let mut out = Vec::new();
        table(&mut out, &[finding], TableLayout::default()).expect("a vector");
        let text = String::from_utf8(out).expect("text");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }

    #[test]
    fn a_statement_is_never_broken() {
        let ddl = "CREATE INDEX CONCURRENTLY ON \"public\".\"dead_letter_jobs\" (\"error_class\", \"failed_at\")";
        let mut out = Vec::new();
        let layout = TableLayout { width: Some(50), coloured: false };
        table(&mut out, &[Finding::new("a", "b", Level::Warn, "no index").by(ddl)], layout).expect("a vector");
        let text = String::from_utf8(out).expect("text");
        assert!(text.lines().any(|line| line == format!("        {ddl}")), "{text}");
    }

    #[test]
    fn long_words_go_on_below_their_beginning_and_nothing_is_lost() {
        let all = [
            Finding::new("a", "short", Level::Ok, "fine"),
            Finding::new("a", "a longer name", Level::Warn, "one two three ".repeat(12).trim().to_owned())
                .advising("x".repeat(150)),
            Finding::new("b", "c", Level::Fail, "own width"),
        ];
        let printed = |layout: TableLayout| {
            let mut out = Vec::new();
            table(&mut out, &all, layout).expect("a vector");
            String::from_utf8(out).expect("text")
        };
        let text = printed(TableLayout { width: Some(60), coloured: false });
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(text.matches("three").count(), 12);
        assert_eq!(text.matches('x').count(), 150);
        assert!(
            text.contains(&format!("\n{}two", " ".repeat(23))) || text.contains(&format!("\n{}three", " ".repeat(23)))
        );
        assert!(text.contains("  fail  c  own width"), "{text}");
        assert!(printed(TableLayout::default()).lines().any(|line| line.chars().count() > 150));
        let coloured = printed(TableLayout { width: None, coloured: true });
        assert!(coloured.contains("\u{1b}[32mok  \u{1b}[0m") && coloured.contains("\u{1b}[1;31mfail"));
    }
}
