//! The arguments of one job as they are stored, for an editor.

use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsDocument;
use crate::store::{Availability, Budget};
use crate::triage::StoreContext;

/// What the arguments of a job stand in.
///
/// # Errors
/// Says why they cannot be changed: the source or the layout does not allow it, the job is gone, or its arguments are stored in
/// a form that cannot be written back.
pub async fn stored_arguments(desk: &StoreContext, id: &JobId, budget: &Budget) -> Result<ArgumentsDocument, String> {
    if let Availability::Disabled(reason) = desk.store.info().availability(Action::Repair) {
        return Err(reason);
    }
    let editor = desk.store.arguments().ok_or("this store cannot change arguments")?;
    let found = editor.documents(std::slice::from_ref(id), budget).await.map_err(|error| error.to_string())?;
    let (_, arguments) = found.into_iter().next().ok_or("this job is gone: there is nothing to edit")?;
    arguments.map_err(|why| format!("the arguments of this job cannot be edited: {why}"))
}
