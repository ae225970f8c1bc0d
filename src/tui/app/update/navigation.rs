//! Moving about: free of consequences, and never waiting for anything.

use super::{filter, preview};
use crate::domain::facet::Facet;
use crate::domain::time::Timestamp;
use crate::store::Cursor;
use crate::tui::app::document::Tab;
use crate::tui::app::effect::Effect;
use crate::tui::app::model::{Focus, ListSide, Model, Overlay, SelectionMarks};
use crate::tui::keys::KeyCommand;

/// Carries out a move or a mark; `None` when the command is neither.
pub fn run(model: &mut Model, command: KeyCommand, now: Timestamp) -> Option<Vec<Effect>> {
    if !matches!(model.overlay, Overlay::None) {
        return read(model, command);
    }
    match command {
        KeyCommand::NextPane => Some(turn_pane(model, true)),
        KeyCommand::PreviousPane => Some(turn_pane(model, false)),
        KeyCommand::NextTab => Some(next_tab(model, now)),
        KeyCommand::Nth(n) => Some(nth(model, n, now)),
        KeyCommand::Mark | KeyCommand::Range | KeyCommand::MarkShown | KeyCommand::MarkAll => {
            Some(mark(model, command, now))
        }
        _ => match model.screen.focus {
            Focus::Histogram => histogram(model, command, now),
            Focus::List => list(model, command),
            Focus::Detail => detail(model, command),
        },
    }
}

/// How far a command moves in a pane of `height` rows; `None` when it does not move by rows.
fn rows_of(command: KeyCommand, height: usize) -> Option<isize> {
    let page = isize::try_from(height.max(1)).unwrap_or(isize::MAX);
    let half = (page / 2).max(1);
    match command {
        KeyCommand::Up => Some(-1),
        KeyCommand::Down => Some(1),
        KeyCommand::HalfUp => Some(-half),
        KeyCommand::HalfDown => Some(half),
        KeyCommand::PageUp => Some(-page),
        KeyCommand::PageDown => Some(page),
        _ => None,
    }
}

/// Scrolls what lies over the panes.
fn read(model: &mut Model, command: KeyCommand) -> Option<Vec<Effect>> {
    let height = usize::from(model.screen.size.1).saturating_sub(6);
    let by = match command {
        KeyCommand::First => isize::MIN + 1,
        KeyCommand::Last => isize::MAX,
        other => rows_of(other, height)?,
    };
    let step = |at: usize, count: usize| at.saturating_add_signed(by).min(count.saturating_sub(1));
    match &mut model.overlay {
        Overlay::Picker(picker) => picker.at = step(picker.at, picker.choices.len()),
        Overlay::Contrast(page) => {
            page.at = step(page.at, page.found.as_ref().map_or(0, |found| found.lines.len()));
        }
        Overlay::Runs(page) if page.receipt.is_none() => page.at = step(page.at, page.shown().len()),
        other => return other.scroll(by).then(Vec::new),
    }
    Some(Vec::new())
}

fn turn_pane(model: &mut Model, forward: bool) -> Vec<Effect> {
    let ring = [Focus::Histogram, Focus::List, Focus::Detail];
    let at = ring.iter().position(|f| *f == model.screen.focus).unwrap_or(0);
    let next = ring[(at + if forward { 1 } else { 2 }) % 3];
    model.screen.focus = match next {
        Focus::Detail if model.list.current().is_none() => {
            if forward {
                Focus::Histogram
            } else {
                Focus::List
            }
        }
        other => other,
    };
    match model.screen.focus {
        Focus::Detail => model.screen.before = Focus::List,
        Focus::Histogram => model.histogram.pin(),
        Focus::List => {}
    }
    filter::open_current(model)
}

fn facets(model: &Model) -> Vec<Facet> {
    model.source.opened.as_ref().map_or_else(Vec::new, |o| o.info.capabilities.facets.clone())
}

fn next_tab(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if model.screen.focus == Focus::Detail {
        let at = Tab::ALL.iter().position(|t| *t == model.detail.tab).unwrap_or(0);
        model.detail.tab = Tab::ALL[(at + 1) % Tab::ALL.len()];
        return Vec::new();
    }
    let facets = facets(model);
    let at = facets.iter().position(|f| *f == model.histogram.facet).map_or(0, |i| i + 1);
    match facets.get(at).or_else(|| facets.first()) {
        Some(facet) => filter::turn_facet(model, *facet, now),
        None => Vec::new(),
    }
}

fn nth(model: &mut Model, n: u8, now: Timestamp) -> Vec<Effect> {
    let index = usize::from(n).saturating_sub(1);
    if model.screen.focus == Focus::Detail {
        if let Some(tab) = Tab::ALL.get(index) {
            model.detail.tab = *tab;
            model.detail.left = 0;
        }
        return Vec::new();
    }
    match facets(model).get(index) {
        Some(facet) => filter::turn_facet(model, *facet, now),
        None => Vec::new(),
    }
}

fn histogram(model: &mut Model, command: KeyCommand, now: Timestamp) -> Option<Vec<Effect>> {
    let height = model.histogram_rows();
    let by = match command {
        KeyCommand::First => isize::MIN + 1,
        KeyCommand::Last => isize::MAX,
        other => rows_of(other, height)?,
    };
    model.histogram.step(by, height);
    preview::moved(model, now);
    Some(Vec::new())
}

fn list(model: &mut Model, command: KeyCommand) -> Option<Vec<Effect>> {
    let height = model.list_rows();
    match command {
        KeyCommand::First => return Some(to_start(model)),
        KeyCommand::Last => return Some(to_end(model)),
        other => {
            let by = rows_of(other, height)?;
            model.list.halted = false;
            model.list.step(by, height);
        }
    }
    Some(filter::open_current(model))
}

/// To the first row; with what has arrived meanwhile.
fn to_start(model: &mut Model) -> Vec<Effect> {
    let height = model.list_rows();
    model.list.halted = false;
    if model.list.knows_start() && model.list.freshness.arrived == 0 && !model.list.freshness.behind {
        model.list.step(isize::MIN + 1, height);
        return filter::open_current(model);
    }
    model.list.forget_place();
    vec![filter::ask_page(model, ListSide::Start, Cursor::Start)]
}

fn to_end(model: &mut Model) -> Vec<Effect> {
    let height = model.list_rows();
    model.list.halted = false;
    if model.list.knows_end() {
        model.list.step(isize::MAX, height);
        return filter::open_current(model);
    }
    vec![filter::ask_page(model, ListSide::End, Cursor::End)]
}

fn detail(model: &mut Model, command: KeyCommand) -> Option<Vec<Effect>> {
    let (width, height) = model.detail_size();
    match command {
        KeyCommand::Up => model.detail.step(-1, width, height),
        KeyCommand::Down => model.detail.step(1, width, height),
        KeyCommand::First => model.detail.end(false, width, height),
        KeyCommand::Last => model.detail.end(true, width, height),
        KeyCommand::FoldAll => model.detail.toggle_all_folds(width, height),
        KeyCommand::Left | KeyCommand::Right if model.detail.wrap => model.detail.toggle_fold(width, height),
        KeyCommand::Left => model.detail.left = model.detail.left.saturating_sub(8),
        KeyCommand::Right => model.detail.left = (model.detail.left + 8).min(1 << 20),
        other => model.detail.scroll(rows_of(other, height)?, width, height),
    }
    Some(Vec::new())
}

fn mark(model: &mut Model, command: KeyCommand, now: Timestamp) -> Vec<Effect> {
    let rows = model.list_rows();
    match (command, model.screen.focus) {
        (KeyCommand::Mark, Focus::Histogram) => {
            let height = model.histogram_rows();
            model.histogram.toggle_mark();
            model.histogram.step(1, height);
            preview::moved(model, now);
        }
        (KeyCommand::Mark, _) => {
            if let Some(id) = model.list.current().map(|e| e.row.id.clone()) {
                model.list.marks.toggle(id);
                model.list.step(1, rows);
            }
        }
        (KeyCommand::Range, _) => model.list.toggle_range(),
        (KeyCommand::MarkShown, _) => {
            let ids: Vec<_> = model.list.visible(rows).map(|e| e.row.id.clone()).collect();
            model.list.marks.add(ids);
        }
        _ => {
            let all = model.list.marks == SelectionMarks::All;
            model.list.marks = if all { SelectionMarks::None } else { SelectionMarks::All };
            if !all {
                model.say("all jobs that the filter selects are marked, shown or not; Esc clears", now);
            }
        }
    }
    filter::open_current(model)
}
