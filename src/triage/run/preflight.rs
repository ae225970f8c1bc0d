//! What must hold before a run is executed here, and what it needs for that.

use std::sync::Arc;

use super::stop_reason::StopReason;
use super::{RunError, RunOptions};
use crate::domain::text::Clean;
use crate::ledger::{Ledger, Run};
use crate::store::{Availability, Budget};
use crate::triage::StoreContext;
use crate::triage::validate::{CommandValidator, Validate, unstartable};

/// Whether the run is for this store, and its action can be used here.
pub(super) fn check(desk: &StoreContext, run: &Run) -> Result<(), RunError> {
    let intent = &run.intent;
    if !run.is_of(&desk.source, &desk.store_name()) {
        return Err(RunError::OtherStore {
            run: run.id.0.clone(),
            planned: format!("{} ({})", intent.source, intent.store),
            here: format!("{} ({})", desk.source, desk.store_name()),
        });
    }
    if let Some(reason) = run.diverts(desk.store.info().destination.as_ref()) {
        return Err(RunError::Disabled(reason));
    }
    if let Some(reason) = desk.store.info().refusal(intent.action, &intent.options) {
        return Err(RunError::Disabled(reason));
    }
    match desk.store.info().availability(intent.action) {
        Availability::Ready { .. } => Ok(()),
        Availability::Disabled(reason) => Err(RunError::Disabled(reason)),
    }
}

/// Whether the source still leads to the database that the run was planned on.
pub(super) async fn same_database(desk: &StoreContext, run: &Run, options: &RunOptions) -> Result<(), RunError> {
    let here = desk.store.identity(&Budget::new(options.statement)).await;
    let here = here.map_err(|error| RunError::Disabled(error.to_string()))?;
    run.strays(here.as_ref()).map_or(Ok(()), |reason| Err(RunError::Disabled(reason)))
}

/// Makes what the action needs in the database, as its plan said.
pub(super) async fn prepare(desk: &StoreContext, run: &Run, options: &RunOptions) -> Result<(), StopReason> {
    let budget = Budget::new(options.statement);
    let prepared = desk.store.plan().prepare(run.intent.action, &budget).await;
    prepared.map_err(|error| {
        let why = desk.redactor.prose(&error.to_string()).into_owned();
        if error.retryable() { StopReason::Because(why) } else { StopReason::Denied(why) }
    })
}

/// What judges the jobs of a run before they are replayed or repaired: other verbs are not judged.
///
/// A record that others can write must not say which command runs here: where it is shared, whoever executes the run
/// names the command.
///
/// # Errors
/// When the run asks for one that nobody has named here, or that cannot be started.
pub(super) fn validator(
    options: &RunOptions,
    ledger: &Ledger,
    run: &Run,
) -> Result<Option<Arc<dyn Validate>>, RunError> {
    if !run.intent.action.is_validated() {
        return Ok(None);
    }
    if let (Some(kept), None, None) = (&run.intent.options.validate, &options.validate, ledger.path()) {
        let command = shell_words::join(&kept.command);
        return Err(RunError::Disabled(format!(
            "run {} was planned with the validator `{}`, which nobody has named here: look at it, and name it with \
             --validate or in the config",
            run.id,
            Clean::line(&command)
        )));
    }
    if let Some(reason) = run.intent.options.validate.as_ref().and_then(unstartable) {
        return Err(RunError::Disabled(reason));
    }
    let planned = || Some(Arc::new(CommandValidator::from(run.intent.options.validate.as_ref()?)) as Arc<dyn Validate>);
    Ok(options.validate.clone().or_else(planned))
}
