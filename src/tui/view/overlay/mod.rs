//! What lies over the panes, one thing a file.
use crate::domain::time::Timestamp;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::Model;
use crate::tui::view::canvas::Canvas;

/// Draws what lies over the panes, if anything does.
pub fn draw(_canvas: &mut Canvas<'_>, _areas: &Areas, _model: &Model, _now: Timestamp) {}
