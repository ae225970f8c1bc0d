//! The plan of a replay as a form: a key for each option opens the command line with the words of the plan, from which
//! another plan is made. Nothing of a frozen plan changes in place.

use std::borrow::Cow;

use crate::domain::action::Action;
use crate::domain::rollout::{DEFAULT_LIMIT, Percent};
use crate::domain::run_options::pick::Pick;
use crate::domain::run_options::validator::VALIDATOR_OFF;
use crate::domain::time::Timestamp;
use crate::triage::plan::Plan;
use crate::tui::app::Effect;
use crate::tui::app::effect::{Request, Slot};
use crate::tui::app::model::{Model, Overlay, PlanDialog, Purpose};
use crate::tui::app::update::{colon_commands, input_line};
use crate::tui::keys::{KeyCommand, PlanOption};

/// An option with its value, where it takes one.
pub type OptionWords = (&'static str, Option<String>);

/// Whether a plan has options that can be changed.
pub fn is_form(plan: &Plan) -> bool {
    // Its words are those of a replay alone: with them, arguments would not change.
    let is_repair = plan.options.repair.is_some();
    plan.action == Action::Replay && plan.options.undoes.is_none() && !is_repair
}

/// Whether the source has a validator, whether or not it is switched off.
pub fn has_validator(dialog: &PlanDialog) -> bool {
    dialog.plan.options.validate.is_some() || dialog.words.is_unvalidated
}

/// The options of a plan but its validator and its reason, as the shell and the console take them.
pub fn options(dialog: &PlanDialog) -> Vec<OptionWords> {
    let options = &dialog.plan.options;
    let mut words: Vec<OptionWords> = Vec::new();
    let mut add = |name, value: Option<String>| words.extend(value.map(|value| (name, Some(value))));
    add("--limit", dialog.words.limit.map(|limit| limit.to_string()));
    add(
        "--pick",
        dialog
            .words
            .limit
            .and(Some(dialog.words.pick))
            .filter(|pick| *pick != Pick::default())
            .map(|pick| pick.to_string()),
    );
    add("--rate", options.pacing.rate.map(|rate| format!("{rate}/s")));
    add("--spread", options.pacing.spread.map(|span| format!("{span}s")));
    add("--batch", options.pacing.batch.map(|batch| batch.to_string()));
    add("--to-queue", options.to_queue.clone());
    add("--attempts", options.attempts.map(|kept| kept.word().to_owned()));
    if let Some(rule) = options.rollout {
        add("--canary", rule.canary.map(|n| n.to_string()));
        let wait = rule.canary.filter(|_| rule.is_wait_asked).map(|_| format!("{}s", rule.gate_wait));
        add("--settle", wait);
        add("--stop-above", Some(Percent(rule.stop_above).to_string()));
        words.extend(rule.ramp.then_some(("--ramp", None)));
    }
    words
}

/// Changes an option of the open plan, which is dismissed: the command line has its words, or for a switch another plan is
/// made at once.
pub fn change(model: &mut Model, option: PlanOption, now: Timestamp) -> Vec<Effect> {
    let Overlay::Plan(dialog) = &mut model.overlay else { return Vec::new() };
    if !is_form(&dialog.plan) {
        dialog.complaint = Some("only a replay has options to change".into());
        return Vec::new();
    }
    if option == PlanOption::Pick && dialog.words.limit.is_none() {
        let key = model.settings.keys.key(KeyCommand::Change(PlanOption::Limit));
        dialog.complaint = Some(format!("all of them are taken: set a limit first ({key})"));
        return Vec::new();
    }
    if option == PlanOption::Validator && !has_validator(dialog) {
        dialog.complaint = Some("this source has no validator: `validate` in the config names one".into());
        return Vec::new();
    }
    let (text, is_complete) = line(dialog, option);
    let run = dialog.plan.run.clone();
    let mut effects = vec![model.requests.ask(Slot::Act, Request::Dismiss(run))];
    model.overlay = Overlay::None;
    effects.extend(match is_complete {
        true => colon_commands::run(model, &text, now),
        false => input_line::open_with(model, Purpose::Command, text),
    });
    effects
}

/// The command line with which an option is changed, and whether nothing has to be typed.
fn line(dialog: &PlanDialog, option: PlanOption) -> (String, bool) {
    let mut words = options(dialog);
    let reason = dialog.words.reason.clone();
    words.extend(reason.map(|reason| (PlanOption::Reason.flag(), Some(reason))));
    if dialog.words.is_unguarded {
        words.push((PlanOption::Stop.flag(), Some("off".to_owned())));
    }
    if dialog.words.is_unvalidated {
        words.push((PlanOption::Validator.flag(), Some(VALIDATOR_OFF.to_owned())));
    }
    let before = words.iter().position(|(name, _)| *name == option.flag()).map(|at| words.remove(at));
    let rule = dialog.plan.options.rollout;
    let is_stop_alone = rule.is_none_or(|rule| rule.canary.is_none() && !rule.ramp);
    let last = match option {
        PlanOption::Stop if is_stop_alone => {
            let value = if rule.is_some() { "off".to_owned() } else { Percent(DEFAULT_LIMIT).to_string() };
            Some((option.flag(), Some(value)))
        }
        PlanOption::Pick => Some((option.flag(), Some(dialog.words.pick.next().to_string()))),
        PlanOption::Validator => before.is_none().then(|| (option.flag(), Some(VALIDATOR_OFF.to_owned()))),
        PlanOption::Ramp => {
            // A stop that was switched off is back with the ramp.
            words.retain(|(name, value)| *name != PlanOption::Stop.flag() || value.as_deref() != Some("off"));
            before.is_none().then_some((option.flag(), None))
        }
        _ => None,
    };
    let is_complete = last.is_some() || matches!(option, PlanOption::Ramp | PlanOption::Validator);
    words.extend(last);
    let all = if dialog.words.all { "all " } else { "" };
    let join = |(name, value): &OptionWords| match value {
        Some(value) => format!("{name} {} ", quoted(value)),
        None => format!("{name} "),
    };
    let mut text = format!("{} {all}{}", dialog.plan.action.word(), words.iter().map(join).collect::<String>());
    if !is_complete {
        let value = before.and_then(|(_, value)| value).map(|value| quoted(&value).into_owned()).unwrap_or_default();
        text.push_str(option.flag());
        text.push(' ');
        text.push_str(&value);
    }
    (text, is_complete)
}

/// A value in quotes, where it needs them.
fn quoted(value: &str) -> Cow<'_, str> {
    match value.strip_suffix('%') {
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => value.into(),
        _ => shell_words::quote(value),
    }
}
