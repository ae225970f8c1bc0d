//! The command line that does what is on screen, for a shell or a script.

use super::colon_commands::plan_form;
use super::command;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::run_options::validator::VALIDATOR_OFF;
use crate::domain::time::Timestamp;
use crate::ledger::LedgerLocation;
use crate::triage::plan::Plan;
use crate::tui::app::Effect;
use crate::tui::app::model::{
    ArgumentBars, Focus, HistogramPane, Model, Overlay, PlanDialog, ScrollState, SelectionMarks,
};

/// Ids that a command line names; more are told by their number.
const IDS: usize = 20;

/// Shows it: on a page of its own, or in the footer where a page would take the place of a question.
pub fn show(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let line = line(model);
    if let Overlay::Plan(dialog) = &mut model.overlay {
        // The dialog may lie over the footer, and a page would take its place.
        (dialog.shell, dialog.top) = (line.filter(|_| dialog.shell.is_none()), 0);
        return Vec::new();
    }
    match line {
        None => model.say("there is no command line for this", now),
        Some(line) if matches!(model.overlay, Overlay::Run | Overlay::Freezing(_)) => {
            model.say(format!("the same: {line}"), now);
        }
        Some(line) => {
            let (lines, reading) = (vec![line], ScrollState::default());
            return command::show(
                model,
                Overlay::Text { title: "The same, in a shell: y copies".into(), lines, reading },
            );
        }
    }
    Vec::new()
}

/// The command line for what has the focus.
fn line(model: &Model) -> Option<String> {
    match &model.overlay {
        Overlay::Plan(dialog) => Some(shell(model, &words_of(model, dialog))),
        Overlay::Run => {
            let going = model.runner.going.as_ref()?;
            // Where its record is is told when it has ended; with the way to the source it is found in either place.
            Some(model.source.shell(&["runs", &going.run.0]))
        }
        Overlay::Receipt(run, _) => Some(model.source.record(run)),
        Overlay::Runs(page) => match &page.receipt {
            None if page.shown().iter().any(|run| run.place == LedgerLocation::Source) => {
                Some(model.source.shell(&["runs"]))
            }
            None => Some("dlq-tui runs".to_owned()),
            Some(_) => page.current().map(|run| model.source.record(run)),
        },
        Overlay::Contrast(page) => {
            let words = ["contrast".to_owned(), "-f".to_owned(), page.chosen.to_string()];
            let all = page.counts_all.then(|| "--all".to_owned());
            Some(shell(model, &words.into_iter().chain(all).collect::<Vec<_>>()))
        }
        Overlay::None => Some(shell(model, &of_pane(model))),
        _ => None,
    }
}

fn of_pane(model: &Model) -> Vec<String> {
    let open_job = model.detail.job.as_ref().filter(|_| model.screen.focus == Focus::Detail);
    let mut words: Vec<String> = match (model.screen.focus, open_job) {
        (Focus::Detail, Some(id)) => vec!["show".into(), id.as_str().into()],
        (Focus::Histogram, _) => {
            let against =
                model.histogram.compared.iter().flat_map(|bars| ["--against".to_owned(), format!("@{}", bars.name)]);
            ["stats".into(), "--by".into(), counted_by(model)].into_iter().chain(against).collect()
        }
        _ => vec!["list".into()],
    };
    let filter = model.filter.written.to_string();
    if !filter.is_empty() && open_job.is_none() {
        words.extend(["-f".to_owned(), filter]);
    }
    words
}

/// The word that `--by` takes for the bars.
fn counted_by(model: &Model) -> String {
    let HistogramPane { facet, argument, .. } = &model.histogram;
    argument.as_ref().map_or_else(|| facet.word().to_owned(), ArgumentBars::word)
}

/// What plans and acts the same: the filter with its times resolved, or the jobs one by one.
fn words_of(model: &Model, dialog: &PlanDialog) -> Vec<String> {
    let plan = &dialog.plan;
    let why = dialog.words.reason.iter().flat_map(|reason| ["--reason".to_owned(), reason.clone()]);
    if let Some(run) = &plan.options.undoes {
        return ["undo".to_owned(), run.clone()].into_iter().chain(why).collect();
    }
    let expression = dialog.words.options.repair.clone();
    let is_edited = dialog.words.edited.is_some();
    let mut words = match &expression {
        None if is_edited => vec![Action::Repair.word().to_owned(), "--edit".to_owned()],
        // As it was typed: the plan has it masked.
        Some(expression) => vec![Action::Repair.word().to_owned(), expression.clone()],
        None if plan.action == Action::Copy => vec![Action::Replay.word().to_owned(), "--copy".to_owned()],
        None => vec![plan.action.word().to_owned()],
    };
    let is_repair = expression.is_some() || is_edited;
    words.extend((is_repair && plan.action == Action::Replay).then(|| "--replay".to_owned()));
    match plan.filter.as_deref() {
        Some("") => words.push("--all".into()),
        Some(filter) => words.extend(["-f".to_owned(), filter.to_owned()]),
        None => words.extend(ids(model, plan)),
    }
    // A repair takes the options of every verb only.
    let is_taken = |name: &str| !is_repair || ["--limit", "--pick", "--rate", "--batch"].contains(&name);
    let options = plan_form::options(dialog).into_iter().filter(|(name, _)| is_taken(name));
    words.extend(options.flat_map(|(name, value)| [Some(name.to_owned()), value]).flatten());
    if let Some(validate) = plan.options.validate.as_ref().filter(|_| !is_repair) {
        words.extend(["--validate".to_owned(), shell_words::join(&validate.command)]);
    }
    words.extend(
        dialog.words.is_unvalidated.then(|| ["--validate".to_owned(), VALIDATOR_OFF.to_owned()]).into_iter().flatten(),
    );
    words.extend(why);
    words
}

fn ids(model: &Model, plan: &Plan) -> Vec<String> {
    let all = |ids: Vec<&JobId>| ids.into_iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
    let known = match &model.list.marks {
        SelectionMarks::Some(marked) if marked.len() as u64 == plan.count => all(marked.iter().collect()),
        _ => all(plan.sample.iter().map(|row| &row.id).collect()),
    };
    let mut known = known;
    known.truncate(IDS);
    let named = known.len() as u64;
    if named < plan.count {
        known.push(format!("(and {} more ids)", plan.count - named));
    }
    known
}

/// The words as a command line, with the options that reach this source and store.
fn shell(model: &Model, words: &[String]) -> String {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(opened) = &model.source.opened {
        words.extend(["--store", &opened.name]);
    }
    model.source.shell(&words)
}
