//! The transitions: a message and the time go in, effects come out. No clock, no IO, no waiting, no panic.

pub(in crate::tui::app) mod colon_commands;
mod command;
mod contrast;
mod filter;
mod input_line;
mod mouse;
mod navigation;
mod page;
mod polling;
mod preview;
mod reopen;
mod reply;
pub(in crate::tui::app) mod resume;
mod runs;
mod shell_command;

use crossterm::event::{Event, KeyEvent, KeyEventKind};

use super::effect::{Effect, Slot};
use super::model::{Model, Overlay, ReopenReason};
use super::msg::Msg;
use super::tour;
use crate::domain::time::Timestamp;
use crate::tui::keys::{Chord, KeyCommand, KeyContext};

pub use colon_commands::{listed as commands, reference as command_reference};

/// What the model asks for before anything has happened.
#[must_use]
pub fn start(model: &mut Model) -> Vec<Effect> {
    let connect = model.requests.ask(Slot::Open, super::effect::Request::Choices);
    vec![connect]
}

/// Takes in a message at `now`.
#[must_use]
pub fn update(model: &mut Model, msg: Msg, now: Timestamp) -> Vec<Effect> {
    let before = sizes(model);
    let mut effects = match msg {
        Msg::Key(key) => on_key(model, &key, now),
        Msg::Paste(text) => input_line::paste(model, &text, now),
        Msg::Mouse(event) => mouse::on_mouse(model, event, now),
        Msg::Resize { width, height } => on_resize(model, width, height),
        Msg::Tick => polling::tick(model, now),
        Msg::Reply { id, slot, reply } => {
            if model.requests.accept(slot, id) {
                reply::on_reply(model, reply, now)
            } else {
                Vec::new()
            }
        }
        Msg::Past { job, history, replayed } => reply::on_past(model, &job, history, replayed),
        Msg::Freezing(progress) => {
            if let Overlay::Freezing(shown) = &mut model.overlay {
                *shown = Some(progress);
            }
            Vec::new()
        }
        Msg::CountingArgument(counted) => {
            filter::argument_bars::on_progress(model, *counted, now);
            Vec::new()
        }
        Msg::Comparing(jobs) => contrast::on_progress(model, jobs),
        Msg::Running(progress) => {
            if model.runner.going.is_some() {
                model.runner.going = Some(progress);
            }
            Vec::new()
        }
        Msg::Outdated(table, run) => reopen::ask(model, ReopenReason::Columns(table, run), now),
        Msg::Edited(result) => runs::edit_arguments::on_edited(model, result, now),
        Msg::Said(Ok(sentence)) => {
            model.say(sentence, now);
            Vec::new()
        }
        Msg::Said(Err(sentence)) => {
            model.complain(sentence, now);
            Vec::new()
        }
        Msg::Continued => vec![Effect::Repaint],
        Msg::PauseRun(paused) => runs::set_pause(model, paused),
        Msg::Terminate => terminate(model),
    };
    tour::advance(model);
    effects.extend(preview::update_preview(model, now));
    effects.extend(filter::fill(model));
    refit(model, before);
    let patience = model.detail.wait(now);
    effects.extend(polling::wake(model, patience, now));
    effects
}

/// A key: typed text goes into the line, everything else through the table of bindings.
fn on_key(model: &mut Model, key: &KeyEvent, now: Timestamp) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    model.hush(now);
    if matches!(model.overlay, Overlay::Line(_)) {
        return input_line::on_key(model, key, now);
    }
    if let Overlay::Help(page) = &mut model.overlay
        && page.typing
    {
        return input_line::search_help(page, key);
    }
    let Some(chord) = Chord::of(key) else { return Vec::new() };
    if let Overlay::Plan(_) = &model.overlay {
        if key.kind == KeyEventKind::Repeat {
            return Vec::new();
        }
        if let Some(effects) = runs::confirm::type_count(model, &Event::Key(*key), chord, now) {
            return effects;
        }
    }
    let place = model.place();
    let command = model.settings.keys.dispatch(place, chord);
    if let Some(digit) =
        chord.digit().filter(|_| place.inherits() && (command.is_none() || model.screen.count.is_some()))
    {
        return runs::count_prefix::on_digit(model, digit, now);
    }
    let (is_done, mut effects) = runs::count_prefix::on_key(model, command, now);
    if let Some(command) = command.filter(|_| !is_done) {
        // Nobody means the next job by not letting go.
        if key.kind == KeyEventKind::Repeat && command.writes() {
            return effects;
        }
        effects.extend(command::run(model, command, now));
    }
    effects
}

fn on_resize(model: &mut Model, width: u16, height: u16) -> Vec<Effect> {
    model.screen.size = (width, height);
    filter::open_current(model)
}

/// How much of each pane is on screen: bars, jobs, columns and rows of the open job.
fn sizes(model: &Model) -> (usize, usize, (usize, usize)) {
    (model.histogram_rows(), model.list_rows(), model.detail_size())
}

/// Keeps each cursor on screen where its pane has got another size: by the terminal, the focus, or more or fewer bars.
fn refit(model: &mut Model, before: (usize, usize, (usize, usize))) {
    let (bars, jobs, _) = sizes(model);
    if bars != before.0 && bars > 0 {
        model.histogram.fit(bars);
    }
    if jobs != before.1 && jobs > 0 {
        model.list.fit(jobs);
    }
    if model.detail_size() != before.2 && model.shows_detail() {
        reply::clamp_document_cursor(model);
    }
}

/// The system wants the process to end: a run is asked to stop after its batch; it can be resumed in any case.
fn terminate(model: &mut Model) -> Vec<Effect> {
    if model.runner.going.is_some() {
        model.runner.leave_after = true;
        model.runner.stopping = true;
        return vec![Effect::StopRun];
    }
    vec![Effect::Quit]
}

/// Why a command cannot be used here and now; the footer dims it and pressing it says so.
pub fn refusal(model: &Model, place: KeyContext, command: KeyCommand) -> Option<String> {
    command::refusal(model, place, command)
}
