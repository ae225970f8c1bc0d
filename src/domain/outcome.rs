//! The outcome of a replayed job.

use serde::Deserialize;

use super::text::Untrusted;

/// Where a replayed job has got to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// In the live queue, and not yet started.
    Waiting,
    /// A worker has it.
    Running,
    /// Failed at least once since the replay, with this error class where it is known, and waits for its next attempt.
    Retrying(Option<Untrusted>),
    /// Finished without an error, as far as the layout can tell.
    Succeeded,
    /// Dead again, with this error class where it is known.
    DiedAgain(Option<Untrusted>),
    /// No longer in the store, and what that means there.
    Gone(GoneMeaning),
    /// The layout cannot tell.
    Unknown,
}

/// What it means that a replayed job is no longer in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoneMeaning {
    /// Workers delete the jobs that they finish.
    Succeeded,
    /// Finished jobs stay for a while: somebody, or a cleaner, deleted it.
    #[default]
    Deleted,
}

impl ReplayOutcome {
    /// Reads what the outcome statement of an adapter returned: a word, and an error class. `gone` is what the adapter says
    /// of jobs without a row. `None` where the word is unknown.
    pub fn from_statement(word: &str, error_class: Option<Untrusted>, gone: GoneMeaning) -> Option<Self> {
        Some(match word {
            // The second word of a pair is the one of earlier versions.
            "waiting" | "queued" => Self::Waiting,
            "running" => Self::Running,
            "retrying" => Self::Retrying(error_class),
            "succeeded" => Self::Succeeded,
            "died_again" | "dead" => Self::DiedAgain(error_class),
            "gone" => Self::Gone(gone),
            "deleted" => Self::Gone(GoneMeaning::Deleted),
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_earlier_adapter_files_mean_what_they_meant() {
        let read = |word| ReplayOutcome::from_statement(word, None, GoneMeaning::Succeeded);
        assert_eq!(read("queued"), read("waiting"));
        assert_eq!(read("dead"), Some(ReplayOutcome::DiedAgain(None)));
        assert_eq!(read("gone"), Some(ReplayOutcome::Gone(GoneMeaning::Succeeded)));
        assert_eq!(read("deleted"), Some(ReplayOutcome::Gone(GoneMeaning::Deleted)));
        assert_eq!(read("finished"), None);
    }
}
