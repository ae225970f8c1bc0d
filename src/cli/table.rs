//! Tables for people: sanitised, aligned, and cut to the terminal.

use std::io::{self, IsTerminal, Write};

use crate::domain::text::{Clean, head};

/// Between two columns.
const GAP: usize = 2;
/// No column is cut below this.
const LEAST: usize = 6;
/// No column is wider than this, also where nothing limits the table: each row is as wide as the widest of its column.
const MOST: usize = 400;
/// With less room than this a text says too little: columns that matter less give way before.
const USEFUL: usize = 10;

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableColumn {
    /// To the left, never cut: ids and times are useless in halves.
    Whole(&'static str),
    /// To the left, cut when the table is too wide, and where the text is very long.
    Text(&'static str),
    /// To the right, never cut.
    Number(&'static str),
}

impl TableColumn {
    fn title(self) -> &'static str {
        match self {
            TableColumn::Whole(title) | TableColumn::Text(title) | TableColumn::Number(title) => title,
        }
    }
}

/// A table that is being filled.
#[derive(Debug)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<Clean<'static>>>,
    yields: Vec<&'static str>,
}

impl TextTable {
    /// An empty table.
    pub fn new(columns: impl Into<Vec<TableColumn>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new(), yields: Vec::new() }
    }

    /// The columns that are left out where there is no room for all, by their titles, the first of them first.
    pub fn yielding(self, titles: impl Into<Vec<&'static str>>) -> Self {
        Self { yields: titles.into(), ..self }
    }

    /// Adds a row; every cell goes through the sanitiser.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        let kept = |(cell, column): (&'a str, &TableColumn)| match column {
            // One character more than is shown, so that the cut shows too.
            TableColumn::Text(_) => Clean::line(head(cell, MOST + 1)).into_owned(),
            TableColumn::Whole(_) | TableColumn::Number(_) => Clean::line(cell).into_owned(),
        };
        self.rows.push(cells.into_iter().zip(&self.columns).map(kept).collect());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints heading and rows; nothing is wider than `width`, where one is given, but for what must stand whole.
    pub fn print(&self, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
        let widths = self.widths(width);
        let titles: Vec<Clean<'_>> = self.columns.iter().map(|c| Clean::from_static(c.title())).collect();
        self.line(out, &titles, &widths)?;
        for row in &self.rows {
            self.line(out, row, &widths)?;
        }
        Ok(())
    }

    /// A line; columns without a width are left out.
    fn line(&self, out: &mut impl Write, cells: &[Clean<'_>], widths: &[Option<usize>]) -> io::Result<()> {
        let mut line = String::new();
        for ((cell, column), width) in cells.iter().zip(&self.columns).zip(widths) {
            let Some(width) = width else { continue };
            let cell = match column {
                TableColumn::Text(_) => cell.truncate(*width, "…"),
                TableColumn::Whole(_) | TableColumn::Number(_) => cell.clone(),
            };
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match column {
                TableColumn::Number(_) => line.extend([padding.as_str(), &cell]),
                _ => line.extend([&*cell, padding.as_str()]),
            }
            line.push_str(&" ".repeat(GAP));
        }
        writeln!(out, "{}", line.trim_end())
    }

    /// The widths that show everything, or else some columns left out and the text of others cut.
    fn widths(&self, width: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.title().len()).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(cell.width().min(MOST));
            }
        }
        let Some(width) = width else { return widths.into_iter().map(Some).collect() };
        let shown = self.shown(&widths, width);
        let columns: Vec<TableColumn> = shown.iter().map(|i| self.columns[*i]).collect();
        let kept = Self::cut(&columns, shown.iter().map(|i| widths[*i]).collect(), width);
        let mut cut = vec![None; widths.len()];
        shown.into_iter().zip(kept).for_each(|(i, width)| cut[i] = Some(width));
        cut
    }

    /// The columns that are not left out so that the text of the others has room enough.
    fn shown(&self, widths: &[usize], width: usize) -> Vec<usize> {
        let needs = |i: &usize| match self.columns[*i] {
            TableColumn::Text(_) => GAP + widths[*i].min(USEFUL),
            _ => GAP + widths[*i],
        };
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        for title in &self.yields {
            if shown.iter().map(needs).sum::<usize>() <= width + GAP {
                break;
            }
            shown.retain(|i| self.columns[*i].title() != *title);
        }
        shown
    }

    /// The text columns cut, the widest first.
    fn cut(columns: &[TableColumn], mut widths: Vec<usize>, width: usize) -> Vec<usize> {
        loop {
            let excess = (widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)).saturating_sub(width);
            let widest = (0..widths.len())
                .filter(|i| matches!(columns[*i], TableColumn::Text(_)) && widths[*i] > LEAST)
                .max_by_key(|i| widths[*i]);
            match widest {
                Some(i) if excess > 0 => {
                    // Down to the next narrower text column at once, so that a wide table takes few rounds.
                    let next = (0..widths.len())
                        .filter(|j| matches!(columns[*j], TableColumn::Text(_)) && widths[*j] < widths[i])
                        .map(|j| widths[j])
                        .max()
                        .unwrap_or(LEAST)
                        .max(LEAST);
                    widths[i] -= excess.min((widths[i] - next).max(1));
                }
                _ => return widths,
            }
        }
    }
}

/// Columns of the terminal that standard output goes to; `None` when it goes elsewhere and nothing need be cut.
pub fn terminal_width() -> Option<usize> {
    asked_columns().or_else(|| if io::stdout().is_terminal() { terminal_columns() } else { None })
}

/// Columns that the environment asks for.
pub(super) fn asked_columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c > 0)
}

/// Columns of the terminal that the program was started from, wherever its output goes.
pub fn terminal_columns() -> Option<usize> {
    if let Some(columns) = asked_columns() {
        return Some(columns);
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|c| *c > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(width: Option<usize>) -> String {
        let mut table = TextTable::new([
            TableColumn::Whole("id"),
            TableColumn::Text("error"),
            TableColumn::Text("message"),
            TableColumn::Number("n"),
        ]);
        table.row(["17", "Net::ReadTimeout", "a\u{1b}[31mred\u{7} and a rather long message that goes on", "1,204"]);
        table.row(["9", "E", "ünïcödé 漢字", "3"]);
        let mut out = Vec::new();
        table.print(&mut out, width).expect("a vector");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_table_is_never_wider_than_the_terminal_and_cuts_text_only() {
        for width in 30..90 {
            for line in printed(Some(width)).lines() {
                assert!(Clean::line(line).width() <= width, "{width}: {line}");
                assert!(line.ends_with('n') || line.ends_with("1,204") || line.ends_with('3'), "{line}");
            }
        }
    }

    #[test]
    fn columns_give_way_in_their_order_before_others_say_too_little() {
        let columns = [
            TableColumn::Whole("id"),
            TableColumn::Whole("died"),
            TableColumn::Number("n"),
            TableColumn::Text("message"),
        ];
        let mut table = TextTable::new(columns).yielding(["n", "died"]);
        table.row(["00293003-0000", "2026-11-01", "1204", "a rather long message that goes on"]);
        let titles = |width: usize| {
            let mut out = Vec::new();
            table.print(&mut out, Some(width)).expect("a vector");
            let text = String::from_utf8(out).expect("text");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            text.lines().next().expect("titles").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(90), "id died n message");
        assert_eq!(titles(43), "id died n message");
        assert_eq!(titles(42), "id died message");
        assert_eq!(titles(37), "id died message");
        assert_eq!(titles(36), "id message");
        assert_eq!(titles(21), "id messa…");
    }

    #[test]
    fn one_very_long_text_does_not_make_every_row_as_long() {
        let mut table =
            TextTable::new([TableColumn::Whole("id"), TableColumn::Text("error"), TableColumn::Number("n")]);
        table.row(["1", &"é".repeat(1_000_000), "1"]);
        table.row(["2", &"E".repeat(MOST), "2"]);
        table.row([&"9".repeat(MOST * 2), "short", "3"]);
        let mut out = Vec::new();
        table.print(&mut out, None).expect("a vector");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains(&format!("{}…  ", "é".repeat(MOST - 1))), "{}", lines[1]);
        assert!(lines[2].contains(&"E".repeat(MOST)), "{}", lines[2]);
        assert!(lines[3].starts_with(&"9".repeat(MOST * 2)), "an id is never cut: {}", lines[3]);
        assert!(lines[..3].iter().all(|line| line.chars().count() < 3 * MOST), "{text}");
    }

    #[test]
    fn nothing_in_a_cell_acts_on_the_terminal() {
        assert!(!printed(None).contains(['\u{1b}', '\u{7}']));
        assert_eq!(printed(None).lines().count(), 3);
    }
}
