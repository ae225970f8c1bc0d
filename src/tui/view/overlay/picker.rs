//! The layouts that were found in the source, one to be chosen.
//!
//! ```text
//! ┌ 2 stores in this source ─────────────────────────┐
//! │ ▸ public.dead_letter_jobs   dead_letter_jobs     │
//! │   billing.jobs_dlq          billing.jobs_dlq     │
//! └ Enter opens, q quits ────────────────────────────┘
//! ```

use crate::tui::app::model::{Model, Picker};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog;
use crate::tui::view::footer::key_and;

/// Draws the choice, which can be left where a store is open already.
pub fn draw(canvas: &mut Canvas<'_>, picker: &Picker, model: &Model) {
    let screen = canvas.area();
    let theme = canvas.theme;
    let name = picker.choices.iter().map(|c| columns(&c.name, theme)).max().unwrap_or(0);
    let title = picker.choices.iter().map(|c| columns(&c.title, theme)).max().unwrap_or(0);
    let width = (name + title + 8).clamp(36, usize::from(screen.width));
    let rows = picker.choices.len().clamp(1, usize::from(screen.height).saturating_sub(4).max(1));
    let area = dialog::centred(screen, width, rows + 2);
    let what = match picker.choices.len() {
        1 => "one store in this source".to_owned(),
        n => format!("{n} stores in this source"),
    };
    let inside = dialog::frame(canvas, area, &what, StyleRole::Strong);
    let top = (picker.at + 1).saturating_sub(usize::from(inside.height));
    let name = name.min(usize::from(inside.width) / 2);
    for (n, choice) in picker.choices.iter().skip(top).take(usize::from(inside.height)).enumerate() {
        let here = top + n == picker.at;
        let cursor = if here { canvas.theme.glyphs.cursor } else { "" };
        let mut pen = canvas.row(inside, n);
        pen.cell(StyleRole::Key, cursor, 2)
            .cell(StyleRole::Strong, &choice.name, name)
            .skip(2)
            .put(StyleRole::Dim, &choice.title);
        if here {
            canvas.tint(crate::tui::view::line_of(inside, n), StyleRole::Cursor);
        }
    }
    if picker.choices.is_empty() {
        canvas.row(inside, 0).put(StyleRole::Text, "none of the known layouts is in it");
    }
    let quit = model.key(KeyCommand::Quit);
    let leave = if model.source.opened.is_some() { key_and("Esc", "stays") } else { key_and(&quit, "quits") };
    dialog::caption(canvas, area, &key_and("Enter", "opens").and(StyleRole::Dim, "  ").then(leave));
}
