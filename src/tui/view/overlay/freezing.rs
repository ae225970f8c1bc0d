//! How far the freezing of a cohort has got. Nothing is written to the source meanwhile.
//!
//! ```text
//! ┌ Freezing the cohort ───────────────────────────────┐
//! │ ████████████████▌                            41 %  │
//! │ 41,000 jobs so far, 98,000 rows looked at          │
//! └ s stop  nothing is touched yet ────────────────────┘
//! ```

use super::run::{bar, hints};
use crate::domain::histogram::{grouped, jobs};
use crate::triage::progress::FreezeProgress;
use crate::tui::app::model::Model;
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog;
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 64;

/// Draws the gauge.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, progress: Option<FreezeProgress>) {
    let text = match progress {
        Some(p) => format!("{} so far, {} rows looked at", jobs(p.frozen), grouped(p.examined)),
        None => "asking the database".into(),
    };
    let width = WIDTH.min(usize::from(canvas.area().width));
    let wrap = |role, text: &str| {
        let rows = dialog::wrap(text, width.saturating_sub(4), canvas.theme);
        rows.into_iter().map(move |row| Phrase::of(role, row))
    };
    let mut lines: Vec<Phrase<'_>> = wrap(StyleRole::Text, &text).collect();
    lines.extend(wrap(StyleRole::Dim, "only the jobs of this moment; nothing is touched yet"));
    let area = dialog::centred(canvas.area(), width, lines.len() + 3);
    let inside = dialog::frame(canvas, area, "Freezing the cohort", StyleRole::Strong);
    bar(canvas, inside, 0, progress.map_or(0.0, |p| p.share));
    for (n, line) in lines.iter().enumerate() {
        canvas.row(inside, n + 1).phrase(line);
    }
    dialog::caption(canvas, area, &hints(model, &["stop"]));
}
