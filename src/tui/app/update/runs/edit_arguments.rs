//! `E`: the arguments of one job in the editor, what changed in them, and what becomes of that.

use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::repair::EditableArguments;
use crate::domain::time::Timestamp;
use crate::triage::plan::ActionScope;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::layout::Areas;
use crate::tui::app::model::{EditPage, Model, Overlay, READ_FIRST};
use crate::tui::app::update::colon_commands::plan_words::PlanWords;
use crate::tui::app::update::command::refusal_of;
use crate::tui::keys::KeyCommand;

/// Reads the arguments of the job at the cursor, or opens the editor again on what was typed.
pub fn begin(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if let Overlay::Edit(page) = &model.overlay {
        return vec![Effect::EditArguments(page.typed.clone())];
    }
    let Some(job) = model.list.current().map(|entry| entry.row.id.clone()) else {
        model.complain("there is no job under the cursor", now);
        return Vec::new();
    };
    vec![model.requests.ask(Slot::Arguments, Request::EditableArguments(job))]
}

/// The arguments that were asked for: the editor opens.
pub fn on_arguments(
    model: &mut Model,
    job: JobId,
    arguments: Result<EditableArguments, String>,
    now: Timestamp,
) -> Vec<Effect> {
    match arguments {
        Err(sentence) => {
            model.complain(sentence, now);
            Vec::new()
        }
        // Whatever was opened meanwhile is what the keys are meant for.
        Ok(_) if !matches!(model.overlay, Overlay::None) => Vec::new(),
        Ok(arguments) => {
            let page = EditPage::new(job, arguments);
            let text = page.typed.clone();
            model.overlay = Overlay::Edit(Box::new(page));
            vec![Effect::EditArguments(text)]
        }
    }
}

/// The editor was closed.
pub fn on_edited(model: &mut Model, result: Result<String, String>, now: Timestamp) -> Vec<Effect> {
    let Overlay::Edit(page) = &mut model.overlay else { return Vec::new() };
    match result {
        Ok(typed) => page.take(typed),
        Err(sentence) => {
            // What was typed before stays.
            if page.edited.is_none() {
                model.overlay = Overlay::None;
            }
            model.complain(sentence, now);
            return Vec::new();
        }
    }
    if page.edited.as_ref().is_some_and(|edited| edited.as_ref().is_ok_and(|edited| edited.changes.is_empty())) {
        model.overlay = Overlay::None;
        model.say("the arguments are as they were: nothing to write", now);
    }
    Vec::new()
}

/// Why the arguments cannot be edited here and now.
pub fn refusal(model: &Model) -> Option<String> {
    refusal_of(model, Action::Repair)
}

/// Why a verb cannot take what was edited.
pub fn refusal_to_write(model: &Model, action: Action) -> Option<String> {
    let Overlay::Edit(page) = &model.overlay else { return Some("nothing was edited".into()) };
    match &page.edited {
        Some(Ok(_)) => [Action::Repair, action].into_iter().find_map(|action| refusal_of(model, action)),
        Some(Err(error)) => Some(format!("{error}; {} edits again", model.key(KeyCommand::EditAgain))),
        None => Some("the editor is open".into()),
    }
}

/// Plans to write what was edited, and to replay the job with it where that is the verb.
pub fn write(model: &mut Model, action: Action, now: Timestamp) -> Vec<Effect> {
    let is_read = |page: &EditPage| page.seen.is_some_and(|seen| now >= seen.after(READ_FIRST));
    let is_shown = Areas::of(model).is_some();
    match std::mem::take(&mut model.overlay) {
        Overlay::Edit(page) if is_read(&page) && is_shown => {
            let edited = page.edited.as_ref().and_then(|edited| edited.as_ref().ok()).cloned();
            let scope = ActionScope::Jobs(vec![page.job.clone()]);
            let effects = super::freeze(model, action, scope, PlanWords { edited, ..PlanWords::default() });
            model.runner.edit = Some(page);
            effects
        }
        other => {
            model.overlay = other;
            Vec::new()
        }
    }
}

/// Shows what was edited again, where nothing came of it; else the panes.
pub fn show_again(model: &mut Model) {
    model.overlay = model.runner.edit.take().map_or(Overlay::None, Overlay::Edit);
}
