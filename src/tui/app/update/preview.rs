//! The list shows the jobs of the bar that the cursor rests on, as long as the keys go to the bars.

use super::filter;
use crate::domain::time::Timestamp;
use crate::tui::app::effect::{Effect, Slot};
use crate::tui::app::model::{Focus, Link, Model, REST, Shown, Side};

/// The cursor has moved to another bar.
pub fn moved(model: &mut Model, now: Timestamp) {
    model.preview.due = Some(now.after(REST));
}

/// Shows the jobs of the bar under the cursor where it has come to rest, and those of the filter in force again where the keys
/// go to another pane.
pub fn settle(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if model.screen.focus != Focus::Histogram {
        model.preview.due = None;
        return end(model);
    }
    if model.preview.due.take_if(|due| *due <= now).is_none() || model.live.link != Link::Up {
        return Vec::new();
    }
    let Some(value) = model.histogram.current().map(|bar| bar.value.clone()) else { return Vec::new() };
    if model.preview.shown.as_ref().is_some_and(|shown| shown.value == value) {
        return Vec::new();
    }
    let Ok(written) = filter::with_values(model, model.histogram.facet, std::slice::from_ref(&value)) else {
        return end(model);
    };
    if written == model.filter.written {
        return end(model);
    }
    let mut effects = vec![model.asks.cancel(Slot::Page), model.asks.cancel(Slot::Rows)];
    let resolved = written.resolve(model.live.server_now(now));
    let sort = model.list.sort;
    let before = std::mem::take(&mut model.list);
    model.list.sort = sort;
    let whole = model.preview.shown.take().map_or(before, |shown| shown.whole);
    model.preview.shown = Some(Shown { value, written, resolved, whole });
    effects.extend(filter::fill(model));
    effects
}

/// Reads the jobs of the bar anew after a change, where that is cheap: they are on screen, and nobody scrolls in them.
pub fn follow(model: &mut Model) -> Option<Effect> {
    let is_cheap = model.live.purse.is_cheap(model.histogram.outlay.last());
    let follows = model.preview.shown.is_some() && is_cheap && !model.list.halted && !model.asks.is_open(Slot::Page);
    follows.then(|| {
        let cursor = model.list.anchor();
        filter::ask_page(model, Side::Around, cursor)
    })
}

/// Shows the jobs of the filter in force again.
pub fn end(model: &mut Model) -> Vec<Effect> {
    let Some(shown) = model.preview.shown.take() else { return Vec::new() };
    let sort = model.list.sort;
    model.list = shown.whole;
    if model.list.sort != sort {
        model.list.sort = sort;
        model.list.clear();
    }
    let rows = model.list_rows();
    model.list.fit(rows);
    let mut effects = vec![model.asks.cancel(Slot::Page), model.asks.cancel(Slot::Rows)];
    effects.extend(filter::open_current(model));
    effects
}
