//! The lines of a plan that can be changed: a key, a name, and what it means for these jobs.

use crate::domain::histogram::jobs;
use crate::domain::rollout::Percent;
use crate::domain::run_options::Attempts;
use crate::domain::run_options::rate::Pacing;
use crate::domain::text::Clean;
use crate::domain::time::exact_span;
use crate::tui::app::model::{Model, PlanDialog};
use crate::tui::app::plan_form as form;
use crate::tui::keys::{KeyCommand, PlanOption};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::dialog::fit;
use crate::tui::view::styled_text::Phrase;

/// Columns of the names.
const NAMES: usize = 9;

/// A line for each option; on a short screen for those that differ from the usual, and the keys of all.
pub fn lines<'p>(model: &Model, dialog: &PlanDialog, width: usize, is_short: bool, theme: &Theme) -> Vec<Phrase<'p>> {
    let line = |option: PlanOption| {
        let key = model.key(KeyCommand::Change(option));
        let room = width.saturating_sub(NAMES + 4);
        Phrase::of(StyleRole::Key, format!("  {key} "))
            .and(StyleRole::Dim, format!("{:<NAMES$}", option.title()))
            .and(StyleRole::Text, fit(&meaning(model, dialog, option), room, theme))
    };
    let offered = || PlanOption::ALL.into_iter().filter(|option| is_offered(dialog, *option));
    if !is_short {
        return offered().map(line).collect();
    }
    let mut lines: Vec<Phrase<'p>> = offered().filter(|option| is_shown(dialog, *option)).map(line).collect();
    let mut keys = Phrase::empty();
    for option in offered() {
        let one = Phrase::of(StyleRole::Key, format!("  {}", model.key(KeyCommand::Change(option))))
            .and(StyleRole::Dim, format!(" {}", option.title()));
        if keys.width(theme) + one.width(theme) > width {
            lines.push(std::mem::replace(&mut keys, Phrase::empty()));
        }
        keys = keys.then(one);
    }
    lines.push(keys);
    lines
}

/// Whether an option can be changed here: only a source that has a validator can be told to leave it out.
fn is_offered(dialog: &PlanDialog, option: PlanOption) -> bool {
    option != PlanOption::Validator || form::has_validator(dialog)
}

/// Whether an option is worth a line where there are few: it is not as usual, or it is what stops the run.
fn is_shown(dialog: &PlanDialog, option: PlanOption) -> bool {
    let options = &dialog.plan.options;
    match option {
        PlanOption::Limit | PlanOption::Pick => dialog.words.limit.is_some(),
        PlanOption::Rate => options.pacing.rate.is_some(),
        PlanOption::Spread => options.pacing.spread().is_some(),
        PlanOption::Queue => options.to_queue.is_some(),
        PlanOption::Attempts => options.attempts.is_some(),
        PlanOption::Canary => options.rollout.is_some_and(|rule| rule.canary.is_some()),
        PlanOption::Ramp => options.rollout.is_some_and(|rule| rule.ramp),
        PlanOption::Stop | PlanOption::Validator => true,
        PlanOption::Reason => dialog.words.reason.is_some(),
    }
}

/// What an option means for these jobs.
fn meaning(model: &Model, dialog: &PlanDialog, option: PlanOption) -> String {
    let options = &dialog.plan.options;
    let rule = options.rollout;
    match option {
        PlanOption::Limit => match dialog.words.limit {
            None => "all that were selected".to_owned(),
            Some(limit) => jobs(limit),
        },
        PlanOption::Pick => match dialog.words.limit {
            None => "all of them".to_owned(),
            Some(_) => dialog.words.pick.phrase().to_owned(),
        },
        PlanOption::Rate => match options.pacing.rate {
            None => "as fast as the database allows".to_owned(),
            rate => Pacing { rate, ..Pacing::default() }.to_string(),
        },
        PlanOption::Spread => match options.pacing.spread() {
            None => "all at once".to_owned(),
            Some(span) => format!("spread over {}", exact_span(span)),
        },
        PlanOption::Queue => match &options.to_queue {
            None => "their own".to_owned(),
            Some(queue) => Clean::line(queue).to_string(),
        },
        PlanOption::Attempts => match options.attempts {
            None => "as the layout does it".to_owned(),
            Some(Attempts::Reset) => "start again at none".to_owned(),
            Some(Attempts::Once) => "one more try".to_owned(),
        },
        PlanOption::Canary => match rule.and_then(|rule| Some((rule.canary?, rule))) {
            None => "none: no job waits for the outcome of another".to_owned(),
            Some((n, rule)) => format!(
                "{} first; the others if at most {} of these fail within {}",
                jobs(n),
                Percent(rule.stop_above),
                exact_span(rule.gate_wait())
            ),
        },
        PlanOption::Stop => match rule {
            None => "never by itself, however many fail again".to_owned(),
            Some(rule) => format!("when more than {} fail again", Percent(rule.stop_above)),
        },
        PlanOption::Ramp => match rule.is_some_and(|rule| rule.ramp) {
            false => "off".to_owned(),
            true => "starts slowly; the rate doubles while workers keep up".to_owned(),
        },
        PlanOption::Validator => match &options.validate {
            None => "off: no job is checked before it is replayed".to_owned(),
            Some(validator) => validator.to_string(),
        },
        PlanOption::Reason => match &dialog.words.reason {
            None => "none".to_owned(),
            Some(reason) => Clean::line(&model.shown(reason)).to_string(),
        },
    }
}
