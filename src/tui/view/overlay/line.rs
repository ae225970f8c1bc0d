//! A line that is being typed: over the filter line, or over the footer; with what is wrong with it and what would fit.
//!
//! ```text
//! / error:Net::* attempts:many▏
//!                         ^^^^ a number is expected, such as attempts:>=5
//!   Net::ReadTimeout      1,204
//! ▸ Net::OpenTimeout         17
//! ```

use ratatui::layout::Rect;

use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Candidate, InputError, InputLine, Purpose};
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog;

/// Candidates on screen at once.
const OFFERED: usize = 10;

/// Columns of the widest note that is never cut.
const SHORT_NOTE: usize = 12;

/// Columns before the text: the margin and the prompt.
const EDGE: usize = 3;

/// Draws the line and what belongs to it.
pub fn draw(canvas: &mut Canvas<'_>, areas: &Areas, line: &InputLine) {
    let upwards = line.purpose != Purpose::Filter;
    let area = if upwards { Rect { y: areas.footer.y.saturating_sub(1), ..areas.footer } } else { areas.filter };
    let indent = input(canvas, area, line);
    let below = if upwards {
        Rect { y: areas.header.bottom(), height: area.y.saturating_sub(areas.header.bottom()), ..area }
    } else {
        Rect { y: area.bottom(), height: areas.footer.y.saturating_sub(area.bottom()), ..area }
    };
    let used = fault(canvas, below, line, indent);
    let rest = Rect { y: below.y + used, height: below.height.saturating_sub(used), ..below };
    candidates(canvas, rest, line, upwards);
}

/// Draws the text with its cursor; returns the column at which the text's first character would stand, which lies
/// before the left edge when the line is scrolled.
fn input(canvas: &mut Canvas<'_>, area: Rect, line: &InputLine) -> isize {
    canvas.clear(area);
    let prompt = match line.purpose {
        Purpose::Filter => "/ ",
        Purpose::Command => ": ",
        Purpose::Search => "search: ",
    };
    let theme = canvas.theme;
    let text = line.input.value();
    let head: String = text.chars().take(line.input.cursor()).collect();
    let at = columns(&head, theme);
    let mut pen = canvas.row(area, 0);
    pen.skip(1).put(StyleRole::Key, prompt);
    // One column is kept for the cursor behind the last character.
    let room = pen.left().saturating_sub(1);
    let scrolled = (at + 1).saturating_sub(room);
    let left = pen.at().x;
    if scrolled == 0 {
        pen.put(StyleRole::Text, text);
    } else {
        let shown = crate::tui::view::canvas::presentable(text, theme).into_owned();
        let clean = crate::domain::text::Clean::line(&shown);
        let tail = clean.window(scrolled, usize::MAX).to_string();
        pen.put(StyleRole::Text, &tail);
    }
    let mut pen = canvas.row(area, 0);
    pen.skip(usize::from(left.saturating_sub(area.x)) + at - scrolled).caret();
    isize::try_from(left).unwrap_or(0) - isize::try_from(scrolled).unwrap_or(0)
}

/// Points at the columns that are wrong and says what was expected. Returns the rows it took.
fn fault(canvas: &mut Canvas<'_>, below: Rect, line: &InputLine, indent: isize) -> u16 {
    let text = line.input.value();
    // What is merely unfinished is no fault while something can be offered to finish it with.
    let unfinished =
        |fault: &InputError| !line.candidates.is_empty() && fault.column >= text.trim_end().chars().count();
    let Some(fault) = line.fault.as_ref().filter(|fault| !text.trim().is_empty() && !unfinished(fault)) else {
        return 0;
    };
    if below.height < 2 {
        return 0;
    }
    let theme = canvas.theme;
    let before: String = text.chars().take(fault.column).collect();
    let wrong: String = text.chars().skip(fault.column).take(fault.width).collect();
    let first = indent + isize::try_from(columns(&before, theme)).unwrap_or(0);
    let last = first + isize::try_from(columns(&wrong, theme).max(1)).unwrap_or(1);
    // Of a line that is scrolled, the part in view is pointed at.
    let within = |column: isize| usize::try_from(column).unwrap_or(0).clamp(EDGE, usize::from(below.width) - 1);
    let start = within(first);
    let carets = "^".repeat(within(last).saturating_sub(start).max(1));
    let width = usize::from(below.width).saturating_sub(2);
    let rows = dialog::wrap(&fault.sentence, width, theme);
    let height = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX).min(below.height);
    let area = Rect { height, ..below };
    canvas.clear(area);
    canvas.row(area, 0).skip(start).put(StyleRole::Danger, &carets);
    for (n, row) in rows.iter().enumerate() {
        canvas.row(area, n + 1).skip(1).put(StyleRole::Danger, row);
    }
    height
}

fn candidates(canvas: &mut Canvas<'_>, room: Rect, line: &InputLine, upwards: bool) {
    if line.candidates.is_empty() || room.height == 0 {
        return;
    }
    let theme = canvas.theme;
    let rows = line.candidates.len().min(OFFERED).min(usize::from(room.height));
    let top = line.chosen.map_or(0, |at| (at + 1).saturating_sub(rows));
    let shown: &[Candidate] = &line.candidates[top..(top + rows).min(line.candidates.len())];
    let widest = |text: fn(&Candidate) -> &str| shown.iter().map(|c| columns(text(c), theme)).max().unwrap_or(0);
    let (label, note) = (widest(|c| &c.label), widest(|c| &c.note));
    let more = line.candidates.len() > rows;
    let width = (label + note + 7).clamp(12, usize::from(room.width));
    // A count is short and says more than the end of a long value; a sentence gives way to what it explains.
    let kept = if note <= SHORT_NOTE { note } else { 0 };
    let label = label.min(width.saturating_sub(7 + kept)).max(1);
    let height = u16::try_from(rows).unwrap_or(1);
    let y = if upwards { room.bottom().saturating_sub(height) } else { room.y };
    let area = Rect { y, height, width: u16::try_from(width).unwrap_or(room.width), ..room };
    canvas.clear(area);
    for (n, candidate) in shown.iter().enumerate() {
        let here = line.chosen == Some(top + n);
        let last = more && n + 1 == rows && top + rows < line.candidates.len();
        let lead = if here {
            theme.glyphs.cursor
        } else if last {
            "+"
        } else {
            theme.glyphs.lines.wall
        };
        let mut pen = canvas.row(area, n);
        pen.cell(if here { StyleRole::Key } else { StyleRole::Rule }, lead, 1).skip(1);
        pen.reserve(2).cell(StyleRole::Text, &candidate.label, label).skip(2).put(StyleRole::Dim, &candidate.note);
        let mut pen = canvas.row(area, n);
        pen.skip(width.saturating_sub(1)).put(StyleRole::Rule, theme.glyphs.lines.wall);
        if here {
            canvas.tint(crate::tui::view::line_of(area, n), StyleRole::Cursor);
        }
    }
}
