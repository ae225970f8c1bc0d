//! The report: one table per question.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

/// Headings of the columns.
const HEADINGS: [&str; 5] = ["what", "dlq-tui", "baseline", "ratio", "evidence"];

/// One line: what was measured, ours, what it is measured against, and their ratio.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub what: String,
    pub ours: String,
    pub baseline: String,
    pub ratio: String,
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

    pub fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = evidence.into();
        self
    }

    fn cells(&self) -> [&str; 5] {
        [&self.what, &self.ours, &self.baseline, &self.ratio, &self.evidence]
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
        let rows: Vec<[&str; 5]> = std::iter::once(HEADINGS).chain(self.lines.iter().map(Line::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut text = format!("\n{}\n", self.title);
        for row in rows {
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(text, "  {cell}{}", " ".repeat(width - cell.width()));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// For a page of the documentation.
    pub fn markdown(&self) -> String {
        let row = |cells: [&str; 5]| format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
        let lines: String = self.lines.iter().map(|line| row(line.cells())).collect();
        format!("## {}\n\n{}| --- | --- | --- | --- | --- |\n{lines}\n", self.title, row(HEADINGS))
    }
}
