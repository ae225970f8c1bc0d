//! What must hold before any job is looked at: that the store can do what is asked for.

use super::{Ask, PlanError, rollout_notes};
use crate::domain::action::Action;
use crate::domain::run_options::pick::Pick;
use crate::ledger::Ledger;
use crate::store::{Availability, Budget, Identity, SourceError};
use crate::triage::plan::ActionScope;
use crate::triage::{StoreContext, undo, validate};

/// Refuses what cannot be done here; returns what is to be said of the action, and which database it is.
pub(super) async fn check_ask(
    desk: &StoreContext,
    ledger: &Ledger,
    ask: &mut Ask,
    budget: &Budget,
) -> Result<(Vec<String>, Option<Identity>), PlanError> {
    if let ActionScope::Undo(run, _) = &ask.scope {
        // Where its jobs went then counts, and not where jobs go now.
        let undone = ledger.runs().get(run).await?;
        let is_ours = undone.is_of(&desk.source, &desk.store_name());
        if let Some(reason) = undo::unreachable(desk.store.info(), &undone).filter(|_| is_ours) {
            return Err(PlanError::Disabled(reason));
        }
    }
    let notes = match desk.store.info().availability(ask.action) {
        Availability::Ready { notes } => notes,
        Availability::Disabled(reason) => return Err(PlanError::Disabled(reason)),
    };
    let database = desk.store.identity(budget).await?;
    if let ActionScope::Undo(run, _) | ActionScope::Run(run, _) = &ask.scope {
        let earlier = ledger.runs().get(run).await?;
        if matches!(ask.scope, ActionScope::Undo(..)) {
            undo::check(desk, &earlier, ask.action)?;
            ask.options.undoes = Some(run.0.clone());
            if !ask.action.edits() {
                // What a replay changed first is changed back with it.
                ask.options.repair.clone_from(&earlier.intent.options.repair);
            }
            if ask.action == Action::Recall {
                // A job that is untouched has the attempts that its replay gave it.
                ask.options.attempts = earlier.intent.options.attempts;
            }
        }
        if let Some(reason) = earlier.strays(database.as_ref()) {
            return Err(PlanError::Disabled(reason));
        }
    }
    // The changes are computed before anything is confirmed; the expression is for the record alone.
    if let Some(edit) = &ask.edit {
        ask.options.repair = Some(desk.redactor.prose(edit.source.words()).into_owned());
    }
    if let Some(reason) = ask.options.validate.as_ref().and_then(validate::unstartable) {
        return Err(PlanError::Disabled(reason));
    }
    if let Some(reason) = desk.store.info().refusal(ask.action, &ask.options) {
        return Err(PlanError::Disabled(reason));
    }
    if let Some(reason) = pick_refusal(ask).or_else(|| rollout_notes::refusal(desk, ask)) {
        return Err(PlanError::Disabled(reason));
    }
    ask.options = rollout_notes::with_one_attempt(desk, &ask.options);
    Ok((notes, database))
}

/// Why the jobs cannot be picked as it was asked for.
fn pick_refusal(ask: &Ask) -> Option<String> {
    let is_filter = matches!(ask.scope, ActionScope::Filter(_));
    let named = (ask.pick != Pick::Newest && !is_filter)
        .then(|| format!("`{}` picks among the jobs of a filter, and these jobs are named one by one", ask.pick));
    named.or_else(|| ask.pick.refusal(ask.limit))
}

/// What a store says before anything is chosen: that the action cannot be used as the tables stand, or that it failed.
pub(super) fn unusable(error: SourceError) -> PlanError {
    match error {
        SourceError::Input(reason) => PlanError::Disabled(reason),
        SourceError::Outdated(table) => PlanError::Outdated(table),
        error => error.into(),
    }
}
