//! The view: draws the model, and nothing else. One region of the screen a file; no clock, no state, no IO.
//!
//! Every text goes through `canvas::Pen`, which sanitises, measures and cuts it: no region can put a control
//! character on the screen, cut a wide character in half, or drop the end of a text without an ellipsis.

mod canvas;
mod detail;
mod dialog;
mod empty;
mod filter_bar;
mod footer;
mod format;
mod grapheme_width;
mod header;
mod histogram;
mod list;
mod names;
mod overlay;
mod styled_text;
mod tab_strip;
mod too_small;

#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;

use self::canvas::Canvas;
use crate::domain::time::Timestamp;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::Model;
use crate::tui::theme::Theme;

/// Draws the whole screen as it stands at `now`. Tells the deepest line of what lies over the panes that can stand first
/// on it, where something there can be scrolled: only drawing shows how many lines a width makes.
pub fn draw(model: &Model, theme: &Theme, frame: &mut Frame<'_>, now: Timestamp) -> Option<usize> {
    let mut canvas = Canvas::new(frame.buffer_mut(), theme);
    // The model hears of a new size a moment after the terminal has it: never draw beyond either.
    let Some(areas) = Areas::of(model).filter(|_| fits(model, canvas.area())) else {
        too_small::draw(&mut canvas);
        return None;
    };
    panes(&mut canvas, &areas, model, now);
    if let (Some(area), Some(step)) = (areas.tour, model.screen.tour) {
        footer::tour(&mut canvas, area, model, step);
    }
    footer::draw(&mut canvas, areas.footer, model);
    overlay::draw(&mut canvas, &areas, model, now);
    let (caret, deepest) = (canvas.caret, canvas.deepest);
    grapheme_width::apart(frame.buffer_mut());
    caret.into_iter().for_each(|caret| frame.set_cursor_position(caret));
    deepest
}

fn fits(model: &Model, area: Rect) -> bool {
    model.screen.size.0 <= area.width && model.screen.size.1 <= area.height
}

fn panes(canvas: &mut Canvas<'_>, areas: &Areas, model: &Model, now: Timestamp) {
    header::draw(canvas, areas.header, model, now);
    filter_bar::draw(canvas, areas.filter, model, now);
    if let Some(area) = areas.histogram {
        histogram::draw(canvas, area, areas.histogram_rows(), model, now);
    }
    areas.wall.iter().for_each(|wall| canvas.wall(*wall));
    areas.rule.iter().for_each(|rule| canvas.rule(*rule));
    if let Some(area) = areas.list {
        list::draw(canvas, area, areas.list_rows(), model, now);
    }
    if let Some(area) = areas.detail {
        detail::draw(canvas, area, areas.detail_rows(), model, now);
    }
}

/// The `n`th line of an area.
fn line_of(area: Rect, n: usize) -> Rect {
    let n = u16::try_from(n).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + n, height: area.height.saturating_sub(n).min(1), ..area }
}
