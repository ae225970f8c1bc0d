//! Asking before jobs are replayed: a validator says of each job whether it may go back.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::deliver::{Answered, CommandDestination};
use crate::domain::job::JobDetail;
use crate::domain::record::DetailRecord;
use crate::domain::validator::Validator;
use crate::store::Message;

/// Judges jobs before they are replayed.
pub trait Validate: Send + Sync {
    /// Judges a batch; a job that is not answered for is not accepted.
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>>;
}

/// A command that judges: as a replay command it is started once a batch, reads a job a line and answers in lines.
pub struct CommandValidator(CommandDestination);

impl From<&Validator> for CommandValidator {
    fn from(validator: &Validator) -> Self {
        Self(CommandDestination { argv: validator.command.clone(), timeout: validator.timeout() })
    }
}

impl Validate for CommandValidator {
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>> {
        self.0.ask(batch).boxed()
    }
}

/// The job as a validator reads it: everything of it, exact, on one line.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn message(detail: &JobDetail) -> Result<Message, String> {
    let json = serde_json::to_string(&DetailRecord::from(detail)).map_err(|e| e.to_string())?;
    Ok(Message { id: detail.row.id.clone(), json })
}
