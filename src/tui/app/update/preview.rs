//! The list shows the jobs of the bar that the cursor rests on, as long as the keys go to the bars.
//!
//! What is on screen is what is acted on: keys that leave the bars for the list or the open job narrow the filter to the bar,
//! as Enter does. Only Esc goes back to the jobs of the filter in force.

use super::filter;
use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;
use crate::tui::app::effect::{Effect, Slot};
use crate::tui::app::model::{ConnectionState, Focus, ListSide, Model, Preview, REST, SelectionMarks, ShownBar};

/// The cursor has moved to another bar. Marked jobs are not taken off the screen for it.
pub fn moved(model: &mut Model, now: Timestamp) {
    let is_free = model.list.marks == SelectionMarks::None && model.list.range.is_none();
    if is_free && model.list_rows() > 0 {
        model.preview.due = Some(now.after(REST));
    }
}

/// Shows the jobs of the bar under the cursor where it has come to rest, and narrows to them where the keys have gone to another
/// pane.
pub fn update_preview(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if model.screen.focus != Focus::Histogram {
        return leave(model, now);
    }
    if model.live.link != ConnectionState::Up || model.preview.due.take_if(|due| *due <= now).is_none() {
        return Vec::new();
    }
    let Some(value) = model.histogram.current().map(|bar| bar.value.clone()) else { return Vec::new() };
    if model.preview.shown.as_ref().is_some_and(|shown| shown.value == value) {
        return Vec::new();
    }
    let narrowed = filter::with_values(model, std::slice::from_ref(&value));
    let Some(written) = narrowed.ok().filter(|written| *written != model.filter.written) else { return end(model) };
    let resolved = written.resolve(model.live.server_now(now));
    let effects = clear_list(model);
    model.preview.shown = Some(ShownBar { value, written, resolved });
    effects
}

/// Empties the list, and cancels what was asked for it.
fn clear_list(model: &mut Model) -> Vec<Effect> {
    model.list.clear();
    vec![model.requests.cancel(Slot::Page), model.requests.cancel(Slot::Rows)]
}

/// Narrows to the bar that the cursor stood on: to the one whose jobs are shown, or to one that it had just come to.
fn leave(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let Preview { due, shown, .. } = std::mem::take(&mut model.preview);
    let here = model.histogram.current().map(|bar| bar.value.clone()).filter(|_| due.is_some());
    let is_on_screen = shown.as_ref().is_some_and(|shown| here.as_ref().is_none_or(|value| shown.value == *value));
    let written = match here {
        Some(value) if !is_on_screen => filter::with_values(model, &[value]).ok(),
        _ => shown.map(|shown| shown.written),
    };
    let Some(written) = written.filter(|written| *written != model.filter.written) else { return Vec::new() };
    if !is_on_screen {
        // Its jobs are still to come, and so is the one to open.
        model.screen.focus = Focus::List;
    }
    adopt(model, written, is_on_screen, now)
}

/// Narrows to a filter whose jobs may be on screen already: then they stay there, and are read again.
pub fn adopt(model: &mut Model, written: Filter, is_on_screen: bool, now: Timestamp) -> Vec<Effect> {
    let kept = is_on_screen.then(|| (std::mem::take(&mut model.list), std::mem::take(&mut model.detail)));
    let mut effects = filter::narrow(model, written, now);
    if let Some((list, detail)) = kept {
        (model.list, model.detail) = (list, detail);
        model.list.halted = false;
        if model.list.loaded {
            let cursor = model.list.anchor();
            effects.push(filter::ask_page(model, ListSide::Around, cursor));
        }
        effects.extend(filter::open_current(model));
    }
    effects
}

/// Shows the jobs of the filter in force again.
pub fn end(model: &mut Model) -> Vec<Effect> {
    match std::mem::take(&mut model.preview).shown {
        Some(_) => clear_list(model),
        None => Vec::new(),
    }
}

/// Reads the jobs of the bar anew after a change, where both that and counting are cheap: they are on screen, and nobody scrolls
/// in them.
pub fn follow(model: &mut Model, now: Timestamp) -> Option<Effect> {
    let costs = [model.histogram.full_count.last_cost(), model.preview.cost];
    let is_cheap = costs.into_iter().all(|cost| model.live.query_budget.is_cheap(cost));
    if model.preview.shown.is_none() || !is_cheap || model.list.halted || model.requests.is_open(Slot::Page) {
        return None;
    }
    model.preview.asked = Some(now);
    let cursor = model.list.anchor();
    Some(filter::ask_page(model, ListSide::Around, cursor))
}

/// The jobs that were asked for by [`follow`] have come: the watch pays for them.
pub fn followed(model: &mut Model, now: Timestamp) {
    if let Some(asked) = model.preview.asked.take() {
        model.preview.cost = asked.age(now);
        model.live.query_budget.spend(model.preview.cost, now);
    }
}
