//! How far the freezing of a cohort has got. Nothing is written to the source meanwhile.
//!
//! ```text
//! ┌ Freezing the cohort ───────────────────────────────┐
//! │ ████████████████▌                            41 %  │
//! │ 41,000 jobs so far, 98,000 rows looked at          │
//! └ s stop  nothing is touched yet ────────────────────┘
//! ```

use super::run::{bar, hints};
use crate::domain::histogram::grouped;
use crate::triage::progress::FreezeProgress;
use crate::tui::look::Role;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::panel;
use crate::tui::view::words;

const WIDTH: usize = 64;

/// Draws the gauge.
pub fn draw(canvas: &mut Canvas<'_>, progress: Option<FreezeProgress>) {
    let area = panel::centred(canvas.area(), WIDTH, 5);
    let inside = panel::frame(canvas, area, "Freezing the cohort", Role::Strong);
    let share = progress.map_or(0.0, |p| p.share);
    bar(canvas, inside, 0, share);
    let text = match progress {
        Some(p) => format!("{} so far, {} rows looked at", words::jobs(p.frozen), grouped(p.examined)),
        None => "asking the database".into(),
    };
    canvas.row(inside, 1).put(Role::Text, &text);
    canvas.row(inside, 2).put(Role::Dim, "only the jobs of this moment; nothing is touched yet");
    panel::caption(canvas, area, &hints(&["stop"]));
}
