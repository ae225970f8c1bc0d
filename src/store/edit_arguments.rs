//! Arguments as they are kept, for whoever is to change them.

use futures_util::future::BoxFuture;

use super::{Budget, Result};
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsDocument;

/// What a job has, or why its arguments cannot be changed.
pub type FoundArguments = std::result::Result<ArgumentsDocument, String>;

/// Reads arguments so that they can be changed. [`super::Batch::edits`] writes them.
pub trait EditArguments: Send + Sync {
    /// What the arguments of these jobs stand in, exactly; a job that is not there is left out.
    fn documents<'a>(
        &'a self,
        ids: &'a [JobId],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, FoundArguments)>>>;

    /// What each of these texts will be once it is kept: some databases write JSON in their own way. Or why it cannot be kept.
    fn stored_forms<'a>(
        &'a self,
        texts: &'a [String],
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<std::result::Result<String, String>>>>;
}
