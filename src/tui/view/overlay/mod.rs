//! What lies over the panes, one thing a file.

mod contrast;
mod count_confirm;
mod edit;
mod freezing;
mod help;
mod line;
mod picker;
mod plan;
mod plan_form;
mod quit_confirm;
mod receipt;
mod resume;
mod run;
mod runs;
mod text;

pub(super) use receipt::class_name;

use ratatui::layout::Rect;

use crate::domain::time::Timestamp;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Model, Overlay};
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;

/// Draws what lies over the panes, if anything does.
pub fn draw(canvas: &mut Canvas<'_>, areas: &Areas, model: &Model, now: Timestamp) {
    if !matches!(model.overlay, Overlay::None | Overlay::Line(_)) {
        // What lies behind steps back; the header stays, since it says where one is.
        let screen = canvas.area();
        let behind = Rect { y: areas.header.bottom(), height: screen.bottom() - areas.header.bottom(), ..screen };
        canvas.tint(behind, StyleRole::Dim);
    }
    match &model.overlay {
        Overlay::None => {}
        Overlay::Help(page) => help::draw(canvas, &model.settings.keys, page),
        Overlay::Line(line) => line::draw(canvas, areas, line),
        Overlay::Picker(picker) => picker::draw(canvas, picker, model),
        Overlay::Freezing(progress) => freezing::draw(canvas, model, *progress),
        Overlay::Plan(dialog) => plan::draw(canvas, model, dialog, now),
        Overlay::Run => run::draw(canvas, model),
        Overlay::Receipt(run, reading) => receipt::draw(canvas, model, run, *reading),
        Overlay::Runs(page) => match (page.receipt, page.current()) {
            (Some(reading), Some(run)) => receipt::draw(canvas, model, run, reading),
            _ => runs::draw(canvas, model, page),
        },
        Overlay::Contrast(page) => contrast::draw(canvas, model, page),
        Overlay::Edit(page) => edit::draw(canvas, model, page),
        Overlay::Text { title, lines, reading } => text::draw(canvas, title, lines, *reading),
        Overlay::Resume(dialog) => resume::draw(canvas, model, dialog),
        Overlay::Leave => quit_confirm::draw(canvas, model),
    }
}
