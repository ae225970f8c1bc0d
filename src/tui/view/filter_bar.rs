//! The filter in force, and how many jobs it selects.
//!
//! ```text
//! / error:Net::* since:2h                                              1,204 match  ▲ 12 in the last 5 min  Esc widens
//! / all dead jobs: press / to narrow
//! ```

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::styled_text::{Phrase, Ranked, draw_line};
use super::{format, header};
use crate::domain::time::Timestamp;
use crate::tui::app::model::Model;
use crate::tui::keys::KeyCommand;
use crate::tui::theme::StyleRole;

fn is_narrow(area: Rect) -> bool {
    area.width < 60
}

/// Draws the filter line.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, now: Timestamp) {
    let theme = canvas.theme;
    let written = model.filter.written.to_string();
    let slash = Phrase::of(StyleRole::Key, "/ ");
    if written.is_empty() {
        let hint = slash.and(StyleRole::Dim, format!("all dead jobs: {} narrows", model.key(KeyCommand::Filter)));
        let mut items = vec![Ranked::left(0, hint)];
        // On a narrow screen the header has no line for it.
        let total = model.histogram.shown.as_ref().filter(|_| is_narrow(area));
        items.extend(total.map(|h| Ranked::right(1, Phrase::of(StyleRole::Number, format::count(h.total, theme)))));
        draw_line(canvas, area, 0, items, 2);
        return;
    }
    let mut items = vec![Ranked::left(0, slash.and(StyleRole::Strong, model.shown(&written).into_owned()))];
    let counted = model.histogram.shown.as_ref();
    if let Some(histogram) = counted {
        let n = Phrase::of(StyleRole::Number, format::count(histogram.total, theme)).and(StyleRole::Dim, " match");
        items.push(Ranked::right(1, n));
        items.extend(header::growth(model, theme, now).map(|growth| Ranked::right(3, growth)));
    }
    items.push(Ranked::right(2, Phrase::of(StyleRole::Key, "Esc").and(StyleRole::Dim, " widens")));
    draw_line(canvas, area, 0, items, 2);
}
