//! The arguments of one job as they are stored, for an editor.

use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsDocument;
use crate::store::{Availability, Budget};
use crate::triage::StoreContext;
use crate::triage::freeze::PlanError;

/// What the arguments of a job stand in; or why those of this job cannot be edited: it is gone, or they are stored in a form that
/// cannot be written back.
///
/// # Errors
/// When the source or the layout lets no arguments be changed, or the store fails.
pub async fn stored_arguments(
    desk: &StoreContext,
    id: &JobId,
    budget: &Budget,
) -> Result<Result<ArgumentsDocument, String>, PlanError> {
    if let Availability::Disabled(reason) = desk.store.info().availability(Action::Repair) {
        return Err(PlanError::Disabled(reason));
    }
    let no_editor = || PlanError::Disabled("this store cannot change arguments".to_owned());
    let editor = desk.store.arguments().ok_or_else(no_editor)?;
    let found = editor.documents(std::slice::from_ref(id), budget).await?.into_iter().next();
    Ok(match found {
        None => Err("this job is gone: there is nothing to edit".to_owned()),
        Some((_, arguments)) => arguments.map_err(|why| format!("the arguments of this job cannot be edited: {why}")),
    })
}
