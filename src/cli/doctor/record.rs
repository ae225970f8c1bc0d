//! A finding, and how findings are printed.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::Format;
use crate::cli::out;
use crate::domain::text::Clean;
use crate::domain::time::exact_span;

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
        }
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
struct Document<'a> {
    source: &'a str,
    findings: &'a [Finding],
}

/// Prints findings.
pub fn print(source: &str, findings: &[Finding], format: Format) -> Result<()> {
    let mut out = out::stdout();
    match format {
        Format::Json => out::json(&mut out, &out::Versioned::new(Document { source, findings }))?,
        Format::Jsonl => {
            for finding in findings {
                out::json_line(&mut out, &out::Versioned::new(finding))?;
            }
        }
        Format::Csv => {
            out::csv(&mut out, ["section", "about", "level", "fact", "advice", "ddl", "bytes", "seconds"])?;
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
                out::csv(&mut out, row.iter().map(String::as_str))?;
            }
        }
        Format::Table => table(&mut out, findings)?,
    }
    Ok(out.flush()?)
}

/// Sections of lines; below each what to do.
fn table(out: &mut impl Write, findings: &[Finding]) -> Result<()> {
    let width = findings.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut section = "";
    for finding in findings {
        if finding.section != section {
            section = &finding.section;
            writeln!(out, "{}", Clean::line(section))?;
        }
        let (level, about) = (finding.level.word(), Clean::line(&finding.about).to_string());
        writeln!(out, "  {level:<4}  {about:<width$}  {}", Clean::line(&finding.fact))?;
        let lead = " ".repeat(width + 10);
        for line in finding.advice.iter().chain(&finding.ddl) {
            writeln!(out, "{lead}{}", Clean::line(line))?;
        }
    }
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    writeln!(out, "{} ok, {} to look at, {} failed", count(Level::Ok), count(Level::Warn), count(Level::Fail))?;
    Ok(())
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
        table(&mut out, &[finding]).expect("a vector");
        let text = String::from_utf8(out).expect("text");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}
