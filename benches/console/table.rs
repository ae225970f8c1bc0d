//! The report: one table per question, each figure with what it is to reach.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

/// Headings of the columns.
const HEADINGS: [&str; 7] = ["what", "dlq-tui", "baseline", "ratio", "target", "", "evidence"];

/// What a figure is to reach, and whether it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub words: String,
    pub reached: bool,
}

impl Target {
    /// The word that a reader looks for.
    pub fn verdict(&self) -> &'static str {
        if self.reached { "reached" } else { "missed" }
    }
}

/// One line: what was measured, ours, what it is measured against, their ratio, and what it is to be.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub what: String,
    pub ours: String,
    pub baseline: String,
    pub ratio: String,
    pub target: Option<Target>,
    pub evidence: String,
}

impl Line {
    pub fn new(what: impl Into<String>, ours: impl Into<String>) -> Self {
        Self { what: what.into(), ours: ours.into(), ..Self::default() }
    }

    pub fn against(mut self, baseline: impl Into<String>, ratio: impl Into<String>) -> Self {
        (self.baseline, self.ratio) = (baseline.into(), ratio.into());
        self
    }

    /// What it is to be, and whether it is.
    pub fn aim(mut self, words: impl Into<String>, reached: bool) -> Self {
        self.target = Some(Target { words: words.into(), reached });
        self
    }

    pub fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = evidence.into();
        self
    }

    fn cells(&self) -> [&str; 7] {
        let (words, verdict) = self.target.as_ref().map_or(("", ""), |target| (&target.words, target.verdict()));
        [&self.what, &self.ours, &self.baseline, &self.ratio, words, verdict, &self.evidence]
    }
}

/// The answers to one question.
#[derive(Clone, Debug)]
pub struct Table {
    pub title: String,
    pub lines: Vec<Line>,
}

impl Table {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), lines: Vec::new() }
    }

    pub fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// For a terminal.
    pub fn plain(&self) -> String {
        let rows: Vec<[&str; 7]> = std::iter::once(HEADINGS).chain(self.lines.iter().map(Line::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        let mut text = format!("\n{}\n", self.title);
        for row in rows {
            for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
                let _ = write!(text, "  {cell}{}", " ".repeat(width - cell.width()));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// For a page of the documentation.
    pub fn markdown(&self) -> String {
        let row = |cells: [&str; 7]| format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
        let lines: String = self.lines.iter().map(|line| row(line.cells())).collect();
        format!("## {}\n\n{}|{}\n{lines}\n", self.title, row(HEADINGS), " --- |".repeat(HEADINGS.len()))
    }
}

/// How many targets were reached, and each that was missed, one a line.
pub fn summary(tables: &[Table]) -> Vec<String> {
    let lines = || tables.iter().flat_map(|table| table.lines.iter().map(move |line| (table, line)));
    let with =
        |reached: bool| lines().filter(move |(_, line)| line.target.as_ref().is_some_and(|t| t.reached == reached));
    let mut said = vec![format!("{} targets reached, {} missed", with(true).count(), with(false).count())];
    said.extend(with(false).map(|(table, line)| {
        let ratio = if line.ratio.is_empty() { String::new() } else { format!(" ({})", line.ratio) };
        let words = line.target.as_ref().map_or("", |target| &target.words);
        let title = table.title.split([',', ';']).next().unwrap_or_default();
        format!("missed: {title}: {}: {}{ratio}, to be {words}", line.what, line.ours)
    }));
    said
}
