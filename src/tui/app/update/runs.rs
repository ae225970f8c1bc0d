//! Acting: scope, plan, confirmation in proportion, the run and its receipt.

pub mod confirm;
pub mod count_prefix;
pub mod edit_arguments;

use super::colon_commands::plan_words::PlanWords;
use super::command::refusal_of;
use super::filter;
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::histogram::grouped;
use crate::domain::job::State;
use crate::domain::outcome::OutcomeKind;
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunId};
use crate::store::Availability;
use crate::triage::plan::{ActionScope, Confirm, Plan};
use crate::triage::undo::{kept_nothing, unreachable};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{
    Focus, FollowedReplay, Model, Overlay, PlanDialog, RunsPage, ScrollState, SelectionMarks,
};
use crate::tui::keys::KeyCommand;

/// Freezes the cohort that the operator has in front of them.
pub fn begin(model: &mut Model, action: Action, now: Timestamp) -> Vec<Effect> {
    count_prefix::words(model).and_then(|words| begin_as(model, action, words)).unwrap_or_else(|sentence| {
        model.complain(sentence, now);
        Vec::new()
    })
}

/// Freezes as these words ask for it.
///
/// # Errors
/// When there is nothing to act on, or the words do not fit it.
pub fn begin_as(model: &mut Model, action: Action, words: PlanWords) -> Result<Vec<Effect>, String> {
    let is_list = model.screen.focus != Focus::Histogram;
    let scope = match words.limit {
        _ if words.all => ActionScope::Filter(model.filter.written.clone()),
        Some(_) if is_list && matches!(model.list.marks, SelectionMarks::Some(_)) => {
            return Err("jobs are marked, and a number is of what the filter selects: Esc clears the marks".into());
        }
        Some(_) if is_list => ActionScope::Filter(model.filter.written.clone()),
        _ => scope(model, action)?,
    };
    Ok(freeze(model, action, scope, words))
}

/// `U`: undoes the run at the cursor of the page of runs, the ignore of the jobs at hand, or the last run.
pub fn undo(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if let Overlay::Runs(page) = &model.overlay {
        let Some(run) = page.current() else { return Vec::new() };
        let (id, action) = (run.id.clone(), run.intent.action);
        let opened = model.source.opened.as_ref();
        let elsewhere = opened.and_then(|opened| run.elsewhere(&model.source.label, &opened.store(), "to undo it"));
        let sentence = elsewhere.or_else(|| opened.and_then(|opened| unreachable(&opened.info, run)));
        if let Some(sentence) = sentence {
            model.complain(sentence, now);
            return Vec::new();
        }
        return undo_run(model, id, action, now);
    }
    let marked = model.screen.focus == Focus::Histogram || model.list.marks != SelectionMarks::None;
    let ignored = model.list.current().is_some_and(|e| e.row.state == State::Ignored);
    // On a bar or on marked jobs whose ignore can be undone that is what is meant.
    if ignored || (marked && refusal_of(model, Action::Reopen).is_none()) {
        return begin(model, Action::Reopen, now);
    }
    if model.list.is_awaiting() {
        // It may be an ignored one, and the last run is not meant then.
        let key = model.key(KeyCommand::Refresh);
        model.complain(format!("the job that had the cursor has not come again yet: move to one, or {key}"), now);
        return Vec::new();
    }
    undo_last(model, now)
}

/// Undoes the last run of this console.
pub fn undo_last(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match model.runner.last.clone() {
        Some((run, action)) => undo_run(model, run, action, now),
        None => {
            let (runs, undo) = (model.key(KeyCommand::Runs), model.key(KeyCommand::Undo));
            model.complain(
                format!(
                    "nothing was done yet in this console: on the page of runs ({runs}), {undo} undoes an earlier run"
                ),
                now,
            );
            Vec::new()
        }
    }
}

fn undo_run(model: &mut Model, run: RunId, action: Action, now: Timestamp) -> Vec<Effect> {
    let Some(undo) = action.undone_by() else {
        model.complain(action.why_final(), now);
        return Vec::new();
    };
    if let Some(sentence) = refusal_of(model, undo) {
        model.complain(sentence, now);
        return Vec::new();
    }
    freeze(model, undo, ActionScope::Undo(run, Vec::new()), PlanWords::default())
}

fn freeze(model: &mut Model, action: Action, scope: ActionScope, words: PlanWords) -> Vec<Effect> {
    model.overlay = Overlay::Freezing(None);
    model.runner.edit = None;
    model.runner.words = words.clone();
    let PlanWords { limit, pick, options, reason, is_unguarded, is_unvalidated, edited, .. } = words;
    let request = Request::Plan {
        action,
        scope,
        limit,
        pick,
        options: Box::new(options),
        reason,
        is_guarded: !is_unguarded,
        is_validated: !is_unvalidated,
        edited: edited.map(Box::new),
    };
    vec![model.requests.ask(Slot::Act, request)]
}

/// The jobs that an action is for: the bars in the histogram, the marks, or the job under the cursor.
fn scope(model: &Model, action: Action) -> Result<ActionScope, String> {
    if model.screen.focus == Focus::Histogram {
        let values = model.histogram.chosen();
        if values.is_empty() {
            return Err("there is no bar to act on, or the one that was chosen is gone".into());
        }
        return filter::with_values(model, &values).map(ActionScope::Filter);
    }
    match &model.list.marks {
        SelectionMarks::All => return Ok(ActionScope::Filter(model.filter.written.clone())),
        SelectionMarks::Some(ids) => {
            let mut ids: Vec<_> = ids.iter().cloned().collect();
            ids.sort();
            return Ok(ActionScope::Jobs(ids));
        }
        SelectionMarks::None => {}
    }
    let row = model.list.current().map(|e| &e.row);
    if action == Action::Reopen && row.is_none_or(|r| r.state != State::Ignored) {
        return Err("this job is not ignored: `state:ignored` in the filter finds those that are".into());
    }
    row.map(|r| ActionScope::Jobs(vec![r.id.clone()])).ok_or_else(|| "there is no job under the cursor".into())
}

/// Takes in the plan, or why there is none.
pub fn on_planned(model: &mut Model, result: Result<Plan, String>, now: Timestamp) -> Vec<Effect> {
    let expected = matches!(model.overlay, Overlay::Freezing(_));
    match result {
        Ok(plan) if !expected => vec![model.requests.ask(Slot::Act, Request::Dismiss(plan.run))],
        Ok(plan) => {
            model.overlay = Overlay::None;
            let edit = model.runner.edit.take();
            if let Some(sentence) = plan.cannot_undo() {
                model.complain(sentence, now);
                return vec![model.requests.ask(Slot::Act, Request::Dismiss(plan.run))];
            }
            match plan.confirm {
                _ if plan.count == 0 => {
                    model.say(format!("there is nothing to {} here", plan.action), now);
                    vec![model.requests.ask(Slot::Act, Request::Dismiss(plan.run))]
                }
                Confirm::Key => {
                    model.runner.held.iter_mut().for_each(|held| held.acted = true);
                    confirm::execute(model, plan)
                }
                Confirm::Yes | Confirm::TypeCount => {
                    let typed = tui_input::Input::default();
                    let words = std::mem::take(&mut model.runner.words);
                    let (drawn, seen, complaint, shell) = (false, None, None, None);
                    let dialog = PlanDialog { plan, typed, drawn, seen, top: 0, complaint, words, shell };
                    model.overlay = Overlay::Plan(Box::new(dialog));
                    model.runner.edit = edit;
                    Vec::new()
                }
            }
        }
        Err(sentence) => {
            if expected {
                edit_arguments::show_again(model);
            }
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

/// Stops after the current batch; a freeze is cancelled at once.
pub fn stop(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if let Overlay::Freezing(_) = model.overlay {
        edit_arguments::show_again(model);
        model.say("cancelled: nothing was touched", now);
        return vec![model.requests.cancel(Slot::Act)];
    }
    if model.runner.going.is_none() {
        model.overlay = Overlay::None;
        return Vec::new();
    }
    model.runner.stopping = true;
    vec![Effect::StopRun]
}

/// Pauses or continues between two batches.
pub fn pause(model: &mut Model) -> Vec<Effect> {
    let paused = !model.runner.paused;
    set_pause(model, paused)
}

/// Pauses between two batches, or continues.
pub fn set_pause(model: &mut Model, paused: bool) -> Vec<Effect> {
    if model.runner.going.is_none() || model.runner.paused == paused {
        return Vec::new();
    }
    model.runner.paused = paused;
    vec![Effect::PauseRun(paused)]
}

/// Takes in the receipt, or why the run broke off.
pub fn on_executed(model: &mut Model, result: Result<Run, String>, now: Timestamp) -> Vec<Effect> {
    model.runner.going = None;
    let watched = matches!(model.overlay, Overlay::Run | Overlay::Leave);
    match result {
        Ok(run) => {
            if run.tally.done > 0 {
                model.runner.last = Some((run.id.clone(), run.intent.action));
            }
            let sentence = summary(model, &run);
            let small = run.tally.planned == 1 && run.tally.done == 1;
            if run.intent.action == Action::Replay && run.tally.done > 0 {
                model.runner.followed = Some(FollowedReplay::new(&run, now));
            }
            if watched && !small {
                model.overlay = Overlay::Receipt(Box::new(run), ScrollState::default());
            } else {
                if watched {
                    model.overlay = Overlay::None;
                }
                model.say(sentence, now);
            }
        }
        Err(sentence) => {
            if watched {
                model.overlay = Overlay::None;
            }
            model.complain(sentence, now);
        }
    }
    let mut effects = filter::refresh(model, now);
    if model.runner.leave_after {
        effects.push(Effect::Quit);
    }
    effects
}

/// One sentence for the footer.
fn summary(model: &Model, run: &Run) -> String {
    let done = format!("{} {}", run.intent.action.done_word(), grouped(run.tally.done));
    let mut parts = vec![done];
    for (word, n) in [("skipped", run.tally.skipped_total()), ("failed", run.tally.failed_total())] {
        if n > 0 {
            parts.push(format!("{word} {}", grouped(n)));
        }
    }
    let key = model.key(KeyCommand::Undo);
    let undo = if can_be_undone(model, run) { format!(" ({key} undoes)") } else { String::new() };
    format!("{}{undo}; the ledger has it as {}", parts.join(", "), run.id)
}

/// Whether what a run did can be undone, as far as is known without asking.
fn can_be_undone(model: &Model, run: &Run) -> bool {
    let Some(action) = run.intent.action.undone_by() else { return false };
    let Some(info) = model.source.opened.as_ref().map(|opened| &opened.info) else { return false };
    let ready = matches!(info.availability(action), Availability::Ready { .. });
    run.tally.done > 0 && ready && !kept_nothing(info, run) && unreachable(info, run).is_none()
}

/// The filter for the jobs of the run at hand: the one whose page is open, else the last replay of this console.
///
/// # Errors
/// Why there is none.
pub fn jobs_filter(model: &Model) -> Result<Filter, String> {
    let (run, has_died) = match &model.overlay {
        Overlay::Runs(page) => (page.current(), false),
        Overlay::Receipt(run, _) => (Some(&**run), false),
        Overlay::None => {
            let last = model.runner.last.as_ref().filter(|(_, action)| *action == Action::Replay).map(|(run, _)| run);
            let followed = model.runner.followed.as_ref();
            let has_died = followed.and_then(|f| f.outcomes.as_ref()).is_some_and(|counts| counts.died() > 0);
            let none = || format!("nothing was replayed in this console: {} has all runs", model.key(KeyCommand::Runs));
            let run = followed.map(|followed| &followed.run).or(last).ok_or_else(none)?;
            return run_filter(run, has_died);
        }
        _ => (None, false),
    };
    let run = run.ok_or("only a run has jobs to list")?;
    let opened = model.source.opened.as_ref().ok_or("not connected yet")?;
    match run.lists_no_jobs(&model.source.label, &opened.store()) {
        Some(because) => Err(because),
        None => run_filter(&run.id, has_died),
    }
}

fn run_filter(run: &RunId, has_died: bool) -> Result<Filter, String> {
    let outcome = if has_died { format!(" outcome:{}", OutcomeKind::Died.word()) } else { String::new() };
    Filter::parse(&format!("run:{run}{outcome}")).map_err(|error| error.to_string())
}

/// Changes the page of runs, where it is open.
pub fn on_page(model: &mut Model, change: fn(&mut RunsPage)) -> Vec<Effect> {
    if let Overlay::Runs(page) = &mut model.overlay {
        change(page);
    }
    Vec::new()
}

/// Lists the jobs of the run at hand.
pub fn list_jobs(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let narrowed = jobs_filter(model);
    model.overlay = Overlay::None;
    // What became of its jobs is on the screen.
    model.runner.followed.take_if(|followed| followed.is_final());
    filter::to_list(model, narrowed, now)
}

/// The runs that were asked for.
pub fn on_runs(model: &mut Model, runs: Vec<Run>, now: Timestamp) -> Vec<Effect> {
    match &mut model.overlay {
        Overlay::None => {
            model.overlay = Overlay::Runs(RunsPage::new(runs));
            model.runner.followed.take_if(|followed| followed.is_final());
        }
        Overlay::Runs(page) => page.refresh(runs),
        // Whatever was opened meanwhile is what the keys are meant for.
        _ => model.say(format!("the runs have come: {} shows them", model.key(KeyCommand::Runs)), now),
    }
    if let Overlay::Runs(page) = &mut model.overlay {
        // The list does not wait for what became of the jobs, which comes at once after it.
        page.next = Some(now);
    }
    Vec::new()
}

/// The runs again, while their page is open; `None` where they cannot be read now, and stay as they were.
pub fn on_runs_again(model: &mut Model, runs: Option<Vec<Run>>, now: Timestamp) -> Vec<Effect> {
    let outcomes_of = |id: &RunId| runs.iter().flatten().find(|run| run.id == *id)?.outcomes.clone();
    if let Some(followed) = &mut model.runner.followed {
        followed.take(outcomes_of(&followed.run), now);
    }
    match &mut model.overlay {
        Overlay::Receipt(run, _) => run.outcomes = outcomes_of(&run.id).or_else(|| run.outcomes.take()),
        Overlay::Runs(page) => {
            runs.into_iter().for_each(|runs| page.refresh(runs));
            page.schedule_reload(now);
        }
        _ => {}
    }
    Vec::new()
}
