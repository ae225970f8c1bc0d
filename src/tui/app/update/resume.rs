//! Going on with a run of the ledger that was stopped or cut off.

use super::command::refusal_of;
use crate::domain::rollout::RolloutPhase;
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunState};
use crate::triage::progress::RunProgress;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{Model, Overlay, READ_FIRST, ResumeDialog};

/// Why the run at the cursor cannot be gone on with here.
pub fn refusal(model: &Model) -> Option<String> {
    let Overlay::Runs(page) = &model.overlay else { return Some("no run can be resumed".into()) };
    let Some(run) = page.current() else { return Some("the ledger has no runs yet".into()) };
    refusal_for(model, run)
}

fn refusal_for(model: &Model, run: &Run) -> Option<String> {
    if !matches!(run.state, RunState::Stopped | RunState::Running) {
        return Some(format!("run {} is {}: there is nothing to resume", run.id, run.state.word()));
    }
    let opened = model.source.opened.as_ref().filter(|opened| run.is_of(&model.source.label, &opened.store()));
    let Some(opened) = opened else {
        return Some(format!("run {} is of another store: {}", run.id, model.source.resume(run)));
    };
    if let Some(sentence) = run.diverts(opened.info.destination.as_ref()) {
        return Some(sentence);
    }
    refusal_of(model, run.intent.action)
}

/// Asks whether to go on with the run at the cursor.
pub fn ask(model: &mut Model) -> Vec<Effect> {
    match std::mem::take(&mut model.overlay) {
        Overlay::Runs(page) => model.overlay = Overlay::Resume(ResumeDialog { page, ..ResumeDialog::default() }),
        other => model.overlay = other,
    }
    Vec::new()
}

/// Goes on with it, once the operator can have read what is asked.
pub fn confirm(model: &mut Model, skip_gate: bool, now: Timestamp) -> Vec<Effect> {
    let Overlay::Resume(dialog) = &model.overlay else { return Vec::new() };
    let is_read = dialog.seen.is_some_and(|seen| now >= seen.after(READ_FIRST));
    if !is_read || Areas::of(model).is_none() {
        return Vec::new();
    }
    let Some(run) = dialog.page.current().cloned() else { return Vec::new() };
    if let Some(sentence) = refusal_for(model, &run) {
        model.complain(sentence, now);
        return Vec::new();
    }
    if skip_gate && !waits_at_gate(&run) {
        model.complain("this run does not wait at a gate: y goes on with it", now);
        return Vec::new();
    }
    let Run { id, intent, tally, .. } = run;
    let state = RunState::Running;
    model.runner.going = Some(RunProgress { run: id.clone(), state, tally, rate: 0.0, eta: None, waiting: None });
    model.runner.action = Some(intent.action);
    (model.runner.stopping, model.runner.paused) = (false, false);
    model.overlay = Overlay::Run;
    vec![model.requests.ask(Slot::Act, Request::Resume { run: id, skip_gate })]
}

/// Whether the outcomes of its canary jobs hold a run back.
pub fn waits_at_gate(run: &Run) -> bool {
    run.rollout.as_ref().is_some_and(|state| state.phase == RolloutPhase::Gate)
}
