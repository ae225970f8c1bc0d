//! What a plan says of the rule by which its run proves itself.

use std::collections::HashSet;

use super::Ask;
use super::gate_wait::{self, RunTimes};
use crate::domain::action::Action;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::rollout::{Percent, Rollout};
use crate::domain::run_options::{Attempts, Options};
use crate::domain::time::exact_span;
use crate::triage::StoreContext;

/// Canary jobs whose ids are told.
const IDS: usize = 5;

/// Why the rule cannot be kept here; `None` when it can.
pub(super) fn refusal(desk: &StoreContext, ask: &Ask) -> Option<String> {
    let rule = ask.options.rollout?;
    if ask.action != Action::Replay {
        return Some(format!("{} has no outcome that could stop it", ask.action.with_article()));
    }
    let why = desk.store.info().capabilities.outcomes_unknown.as_ref()?;
    let no = || format!("the outcome of replayed jobs is unknown here, so nothing could stop the run: {why}");
    rule.canary.is_none().then(no)
}

/// The options with what only the cohort tells, where that changes them: an automatic stop, and how long the gate waits.
pub(super) fn completed(desk: &StoreContext, ask: &Ask, count: u64, times: Option<RunTimes>) -> Option<Options> {
    let rollout = ask.options.rollout.map(|rule| gate_wait::with_wait(rule, times));
    let has_changed = rollout != ask.options.rollout;
    guarded(desk, ask, count).or_else(|| has_changed.then(|| Options { rollout, ..ask.options.clone() }))
}

/// The options with an automatic stop, where so many jobs are replayed with one unasked.
fn guarded(desk: &StoreContext, ask: &Ask, count: u64) -> Option<Options> {
    let is_bulk = ask.action == Action::Replay && ask.guard_above.is_some_and(|above| count > above);
    let is_known = desk.store.info().capabilities.outcomes_unknown.is_none();
    let rollout = Some(Rollout::automatic_stop());
    (is_bulk && is_known && ask.options.rollout.is_none()).then(|| Options { rollout, ..ask.options.clone() })
}

/// The options with canary jobs that have one attempt, where the layout can do that: a job that fails once is retried for
/// minutes or hours, and no gate waits so long.
pub(super) fn with_one_attempt(desk: &StoreContext, options: &Options) -> Options {
    let offered = &desk.store.info().capabilities.options.attempts;
    let is_once = options.attempts.or(offered.first().copied()) == Some(Attempts::Once);
    let one_attempt = offered.contains(&Attempts::Once) && !is_once;
    let of_rule = |rule: Rollout| Rollout { one_attempt: one_attempt && rule.canary.is_some(), ..rule };
    Options { rollout: options.rollout.map(of_rule), ..options.clone() }
}

/// What speaks against the rule.
pub(super) fn warning(desk: &StoreContext, options: &Options, count: u64) -> Option<String> {
    options.rollout?;
    let capabilities = &desk.store.info().capabilities;
    if let Some(why) = &capabilities.outcomes_unknown {
        return Some(format!("the gate will ask you, because the outcome of replayed jobs is unknown here: {why}"));
    }
    let is_blind = capabilities.outcomes_need_copies && !options.keeps(Action::Replay, count);
    is_blind.then(|| "some outcomes are only known with --keep: without it failures may not stop the run".to_owned())
}

/// What the rule means for this cohort.
pub(super) fn notes(options: &Options, canary: &[CanaryJob], times: Option<RunTimes>) -> Vec<String> {
    let Some(rule) = options.rollout else { return Vec::new() };
    let mut notes = Vec::new();
    if rule.canary.is_some() && !canary.is_empty() {
        let fingerprints: HashSet<_> = canary.iter().map(|job| job.fingerprint).collect();
        let classes: HashSet<_> = canary.iter().map(|job| &job.job_class).collect();
        let queues: HashSet<_> = canary.iter().map(|job| &job.queue).collect();
        let kinds = [(fingerprints.len(), "fingerprint"), (classes.len(), "job class"), (queues.len(), "queue")];
        let kinds = kinds.map(|(n, word)| counted(n, word)).join(", ");
        let ids: Vec<String> = canary.iter().take(IDS).map(|job| job.id.text().line_head(40).to_string()).collect();
        let more = match canary.len().saturating_sub(IDS) {
            0 => String::new(),
            n => format!(" and {} more", grouped(n as u64)),
        };
        let wait = exact_span(rule.gate_wait());
        notes.push(format!(
            "Canary: {} go first ({kinds}): {}{more}. The others follow when at most {} of these failed; their outcomes are \
             awaited for up to {wait} ({}).",
            jobs(canary.len() as u64),
            ids.join(", "),
            Percent(rule.stop_above),
            gate_wait::origin(rule, times)
        ));
        let attempts = rule.one_attempt.then_some("Canary jobs get one attempt: their first failure counts at once.");
        notes.extend(attempts.map(str::to_owned));
    }
    if rule.ramp {
        notes.push("The rate starts low and doubles while workers keep up.".to_owned());
    }
    notes.push(format!(
        "The run stops when, with a confidence of 95%, more than {} of the jobs fail again.",
        Percent(rule.stop_above)
    ));
    notes
}

fn counted(n: usize, word: &str) -> String {
    match (n, word.ends_with('s')) {
        (1, _) => format!("1 {word}"),
        (n, true) => format!("{n} {word}es"),
        (n, false) => format!("{n} {word}s"),
    }
}
