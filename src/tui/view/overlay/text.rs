//! A text to be read or copied, such as the command line that gives the same.
//!
//! ```text
//! ┌ The same, in a shell ──────────────────────────────┐
//! │ dlq-tui list --source shop -f 'error:Net::*'       │
//! └────────────────────────────────────────────────────┘
//! ```

use crate::tui::app::model::ScrollState;
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog;
use crate::tui::view::styled_text::Phrase;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, title: &str, lines: &[String], reading: ScrollState) {
    let screen = canvas.area();
    let width = usize::from(screen.width).saturating_sub(4).clamp(20, 120);
    let rows: Vec<Phrase<'_>> = lines
        .iter()
        .flat_map(|line| dialog::wrap(line, width.saturating_sub(4), canvas.theme))
        .map(|row| Phrase::of(StyleRole::Text, row))
        .collect();
    let height = (rows.len() + 2).clamp(3, usize::from(screen.height).saturating_sub(2).max(3));
    let area = dialog::centred(screen, width, height);
    let inside = dialog::frame(canvas, area, title, StyleRole::Strong);
    dialog::scroll(canvas, area, inside, &rows, reading.top);
}
