//! The question before leaving while a run is going.
//!
//! ```text
//! ┌ Leave? ──────────────────────────────────────────────┐
//! │ A run is going: 512 of 1,204 are behind it.          │
//! │ It stops after its current batch, and can be resumed:│
//! │   dlq-tui resume r-7                                 │
//! │                                                      │
//! │  y  stop and leave   [ n  stay ]                     │
//! └──────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::tui::app::model::Model;
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog;
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 64;

/// Draws the question.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let mut lines = Vec::new();
    if let Some(going) = &model.runner.going {
        let behind = going.tally.behind();
        let (behind, planned) = (grouped(behind), grouped(going.tally.planned));
        let text = format!(
            "A run is going: {behind} of {planned} are behind it. It stops after its current batch and can be resumed:"
        );
        let rows = dialog::wrap(&text, width.saturating_sub(4), canvas.theme);
        lines.extend(rows.into_iter().map(|row| Phrase::of(StyleRole::Text, row)));
        let resume = model.source.shell(&["resume", &going.run.0]);
        let rows = dialog::wrap(&resume, width.saturating_sub(6), canvas.theme);
        lines.extend(rows.into_iter().map(|row| Phrase::of(StyleRole::Strong, format!("  {row}"))));
    } else {
        lines.push(Phrase::of(StyleRole::Text, "The run has ended meanwhile."));
    }
    lines.push(Phrase::empty());
    lines.push(
        Phrase::of(StyleRole::Key, " y")
            .and(StyleRole::Text, " stop and leave    ")
            .and(StyleRole::Cursor, "[ n stay ]"),
    );
    let area = dialog::centred(screen, width, lines.len() + 2);
    let inside = dialog::frame(canvas, area, "Leave?", StyleRole::Danger);
    dialog::scroll(canvas, area, inside, &lines, 0);
}
