//! The outcome of a replayed job.

use super::text::Untrusted;

/// Where a replayed job has got to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// In the live queue, and not yet started.
    Waiting,
    /// A worker has it.
    Running,
    /// Finished without an error, as far as the layout can tell.
    Succeeded,
    /// Dead again, with this error class where it is known.
    DiedAgain(Option<Untrusted>),
    /// No longer in the store: it ran and was removed, or was deleted.
    Gone,
    /// The layout cannot tell.
    Unknown,
}
