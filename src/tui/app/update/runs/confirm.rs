//! What an open plan takes: the number that is typed, `y` and `n`.

use crossterm::event::{Event, KeyCode};
use tui_input::backend::crossterm::EventHandler;

use super::super::colon_commands::plan_form;
use super::super::resume;
use super::{edit_arguments, stop};
use crate::domain::histogram::grouped;
use crate::domain::time::Timestamp;
use crate::ledger::{RunState, RunTally};
use crate::triage::plan::{Confirm, Plan};
use crate::triage::progress::RunProgress;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Model, Overlay, PlanDialog, READ_FIRST, SelectionMarks};
use crate::tui::keys::Chord;

/// Typing the number into a plan that asks for it; `None` lets the key go on to the table.
pub fn type_count(model: &mut Model, event: &Event, chord: Chord, now: Timestamp) -> Option<Vec<Effect>> {
    let (read, lacks_reason) = (is_read(model, now), lacks_reason(model));
    let Overlay::Plan(dialog) = &mut model.overlay else { return None };
    let Event::Key(key) = event else { return None };
    let typing = dialog.plan.confirm == Confirm::TypeCount;
    match key.code {
        KeyCode::Enter if typing && lacks_reason => dialog.complaint = Some(NO_REASON.into()),
        KeyCode::Enter if typing => {
            let digits: String = dialog.typed.value().chars().filter(char::is_ascii_digit).collect();
            if digits == dialog.plan.acts_on().to_string() && read {
                return Some(confirm(model));
            }
            let count = grouped(dialog.plan.acts_on());
            dialog.complaint = Some(format!("type {count} to confirm, or n to dismiss"));
        }
        KeyCode::Enter => dialog.complaint = Some("Enter does not confirm: y does, n dismisses".into()),
        KeyCode::Char('y') if typing => {
            let count = grouped(dialog.plan.acts_on());
            dialog.complaint = Some(format!("this many jobs ask for the number: type {count} and press Enter"));
        }
        KeyCode::Backspace | KeyCode::Char('0'..='9' | ',') if typing && !chord.to_string().starts_with("Ctrl-") => {
            if read {
                let _ = dialog.typed.handle_event(event);
            }
            dialog.complaint = None;
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Whether the operator can have read the plan: it stands on the terminal, and has for a moment.
fn is_read(model: &Model, now: Timestamp) -> bool {
    let Overlay::Plan(dialog) = &model.overlay else { return false };
    Areas::of(model).is_some() && dialog.seen.is_some_and(|seen| now >= seen.after(READ_FIRST))
}

/// What is said of a replay in production without a reason.
const NO_REASON: &str = "production: say why, w writes the reason";

/// Whether the open plan replays several jobs in production, and nobody said why.
fn lacks_reason(model: &Model) -> bool {
    let is_production = model.source.opened.as_ref().is_some_and(|opened| opened.production);
    let Overlay::Plan(dialog) = &model.overlay else { return false };
    let PlanDialog { plan, words, .. } = dialog.as_ref();
    is_production && plan.count > 1 && plan_form::is_form(plan) && words.reason.is_none()
}

/// `y`: confirms a plan that takes a `y`, or leaving.
pub fn yes(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if lacks_reason(model) {
        if let Overlay::Plan(dialog) = &mut model.overlay {
            dialog.complaint = Some(NO_REASON.into());
        }
        return Vec::new();
    }
    match &model.overlay {
        Overlay::Plan(dialog) if dialog.plan.confirm != Confirm::TypeCount && is_read(model, now) => confirm(model),
        Overlay::Resume(_) => resume::confirm(model, false, now),
        Overlay::Leave => {
            model.overlay = Overlay::Run;
            model.runner.leave_after = true;
            stop(model, now)
        }
        _ => Vec::new(),
    }
}

fn confirm(model: &mut Model) -> Vec<Effect> {
    match std::mem::take(&mut model.overlay) {
        Overlay::Plan(dialog) => execute(model, dialog.plan),
        other => {
            model.overlay = other;
            Vec::new()
        }
    }
}

/// Executes a plan.
pub(super) fn execute(model: &mut Model, plan: Plan) -> Vec<Effect> {
    let tally = RunTally { planned: plan.count, not_started: plan.count, ..RunTally::default() };
    let run = plan.run.clone();
    model.runner.going =
        Some(RunProgress { run: run.clone(), state: RunState::Running, tally, rate: 0.0, eta: None, waiting: None });
    model.runner.action = Some(plan.action);
    // They are frozen now; what is marked while the run goes on is for the next.
    model.list.marks = SelectionMarks::None;
    model.histogram.marks.clear();
    model.runner.stopping = false;
    model.runner.paused = false;
    model.runner.edit = None;
    if plan.confirm != Confirm::Key {
        model.overlay = Overlay::Run;
    }
    vec![model.requests.ask(Slot::Act, Request::Execute(run))]
}

/// `n`: dismisses a plan, drops what was edited, or stays.
pub fn no(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match std::mem::take(&mut model.overlay) {
        Overlay::Plan(dialog) => {
            edit_arguments::show_again(model);
            model.say("dismissed: nothing was touched", now);
            vec![model.requests.ask(Slot::Act, Request::Dismiss(dialog.plan.run))]
        }
        Overlay::Edit(_) => {
            model.say("dropped: the arguments stay as they were", now);
            Vec::new()
        }
        Overlay::Resume(dialog) => {
            model.overlay = Overlay::Runs(dialog.page);
            Vec::new()
        }
        _ => Vec::new(),
    }
}
