//! The mouse, while it is taken: it moves and focuses, and never acts or confirms.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{filter, preview};
use crate::domain::time::Timestamp;
use crate::tui::app::effect::Effect;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Focus, Model, Overlay};

/// Rows a turn of the wheel moves.
const WHEEL: isize = 3;

/// A click focuses and points, the wheel moves the pane under it.
pub fn on_mouse(model: &mut Model, event: MouseEvent, now: Timestamp) -> Vec<Effect> {
    if !matches!(model.overlay, Overlay::None) {
        return Vec::new();
    }
    let Some(areas) = Areas::of(model) else { return Vec::new() };
    let at = Position { x: event.column, y: event.row };
    let panes = [(Focus::Histogram, areas.histogram), (Focus::List, areas.list), (Focus::Detail, areas.detail)];
    let hit = panes.into_iter().find_map(|(focus, area)| Some((focus, area.filter(|a| a.contains(at))?)));
    let Some((focus, area)) = hit else { return Vec::new() };
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            // By the rows that were on screen when it was clicked.
            point(model, focus, (area, areas), event.row, now);
            if focus == Focus::Detail {
                model.screen.before = Focus::List;
            }
            model.screen.focus = focus;
        }
        MouseEventKind::ScrollDown => wheel(model, focus, WHEEL, now),
        MouseEventKind::ScrollUp => wheel(model, focus, -WHEEL, now),
        _ => return Vec::new(),
    }
    filter::open_current(model)
}

fn point(model: &mut Model, focus: Focus, (area, areas): (Rect, Areas), row: u16, now: Timestamp) {
    let from_top = usize::from(row - area.y);
    match focus {
        Focus::Histogram => {
            let rows = areas.histogram_rows();
            if let Some(bar) = from_top.checked_sub(usize::from(area.height).saturating_sub(rows)) {
                model.histogram.point(bar, rows);
                preview::moved(model, now);
            }
        }
        Focus::List => {
            let rows = areas.list_rows();
            if let Some(job) = from_top.checked_sub(usize::from(area.height).saturating_sub(rows)) {
                model.list.point(job, rows);
            }
        }
        Focus::Detail => {}
    }
}

fn wheel(model: &mut Model, focus: Focus, by: isize, now: Timestamp) {
    match focus {
        Focus::Histogram => {
            let rows = model.histogram_rows();
            model.histogram.step(by, rows);
            preview::moved(model, now);
        }
        Focus::List => {
            let rows = model.list_rows();
            model.list.step(by, rows);
        }
        Focus::Detail => {
            let (width, height) = model.detail_size();
            model.detail.scroll(by, width, height);
        }
    }
}
