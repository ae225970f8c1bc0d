//! What lies over the panes, one thing a file.

mod digits;
mod freezing;
mod help;
mod leave;
mod line;
mod picker;
mod plan;
mod receipt;
mod run;
mod runs;
mod text;

use crate::domain::time::Timestamp;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Model, Overlay};
use crate::tui::view::canvas::Canvas;

/// Draws what lies over the panes, if anything does.
pub fn draw(canvas: &mut Canvas<'_>, areas: &Areas, model: &Model, now: Timestamp) {
    match &model.overlay {
        Overlay::None => {}
        Overlay::Help(reading) => help::draw(canvas, *reading),
        Overlay::Line(line) => line::draw(canvas, areas, line),
        Overlay::Picker(picker) => picker::draw(canvas, picker),
        Overlay::Freezing(progress) => freezing::draw(canvas, *progress),
        Overlay::Plan(dialog) => plan::draw(canvas, model, dialog, now),
        Overlay::Run => run::draw(canvas, model),
        Overlay::Receipt(run, reading) => receipt::draw(canvas, run, *reading),
        Overlay::Runs(runs, reading) => runs::draw(canvas, runs, *reading, now),
        Overlay::Text { title, lines, reading } => text::draw(canvas, title, lines, *reading),
        Overlay::Leave => leave::draw(canvas, model),
    }
}
