//! The verbs that write, and what became of each job they were applied to.

use std::fmt;

use super::job::JobId;
use super::text::Untrusted;

/// A verb that changes dead jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Back to the live queue.
    Replay,
    /// Stays, out of sight; reversible.
    Ignore,
    /// Undo of ignore.
    Reopen,
    /// Archived whole to the ledger, then deleted.
    Discard,
    /// Undo of discard: rows that the ledger kept are put back as they were.
    Restore,
    /// Undo of replay: taken back out of the live queue, while no worker has taken them.
    Recall,
}

impl Action {
    /// Every action, in the order of menus; the last two are had only by undoing a run.
    pub const ALL: [Action; 6] =
        [Action::Replay, Action::Ignore, Action::Reopen, Action::Discard, Action::Restore, Action::Recall];

    /// The verb, as commands, filters and the ledger write it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Replay => "replay",
            Action::Ignore => "ignore",
            Action::Reopen => "reopen",
            Action::Discard => "discard",
            Action::Restore => "restore",
            Action::Recall => "recall",
        }
    }

    /// The participle used in receipts: `replayed`.
    pub fn done_word(self) -> &'static str {
        match self {
            Action::Replay => "replayed",
            Action::Ignore => "ignored",
            Action::Reopen => "reopened",
            Action::Discard => "discarded",
            Action::Restore => "restored",
            Action::Recall => "recalled",
        }
    }

    /// The action that undoes this one; to undo that is this one again.
    pub fn undone_by(self) -> Action {
        match self {
            Action::Replay => Action::Recall,
            Action::Ignore => Action::Reopen,
            Action::Reopen => Action::Ignore,
            Action::Discard => Action::Restore,
            Action::Restore => Action::Discard,
            Action::Recall => Action::Replay,
        }
    }

    /// Whether it acts on what the ledger kept of an earlier run.
    pub fn needs_kept(self) -> bool {
        matches!(self, Action::Restore | Action::Recall)
    }

    /// The action that a word names, if it names one.
    pub fn from_word(word: &str) -> Option<Action> {
        Action::ALL.into_iter().find(|a| a.word() == word)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a job of a cohort was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// No such row any more.
    Gone,
    /// Its state no longer allows the action: somebody else acted, or the framework did.
    Changed,
    /// Another session holds it.
    Locked,
    /// It cannot be taken back out of the live queue: it is being worked on.
    Taken,
    /// It cannot be taken back out of the live queue: it is not there as it was put there.
    NotQueued,
    /// A row with its key is there.
    AlreadyThere,
    /// It was retrying before what is to be undone, and not dead or ignored: there is no way back to that.
    WasRetrying,
}

impl SkipReason {
    /// The word that the ledger keeps and receipts show.
    pub fn word(&self) -> &'static str {
        match self {
            SkipReason::Gone => "gone",
            SkipReason::Changed => "changed meanwhile",
            SkipReason::Locked => "locked by another session",
            SkipReason::Taken => "a worker has taken it",
            SkipReason::NotQueued => "no longer in the queue as it was put there",
            SkipReason::AlreadyThere => "already there",
            SkipReason::WasRetrying => "it was retrying before",
        }
    }
}

/// What became of one job that an action was applied to.
#[derive(Clone, Debug, PartialEq)]
pub enum JobResult {
    /// The action took effect and is committed.
    Done,
    /// Left alone, for a reason that is no fault.
    Skipped(SkipReason),
    /// Refused by the database, the destination or the job's own content; the text says by what.
    Failed(Untrusted),
}

/// The result of one job.
pub type JobOutcome = (JobId, JobResult);

/// Where a replayed job has got to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Waits in the live queue.
    Queued,
    /// A worker has it.
    Running,
    /// Done, as far as the layout can tell.
    Succeeded,
    /// Died again, with this error class where it is known.
    DeadAgain(Option<Untrusted>),
    /// Nowhere to be found: it ran and was removed, or was deleted.
    Gone,
    /// The layout cannot tell.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_undo_an_undo_is_the_action_again() {
        for action in Action::ALL {
            assert_ne!(action.undone_by(), action);
            assert_eq!(action.undone_by().undone_by(), action);
            assert_eq!(Action::from_word(action.word()), Some(action));
        }
    }
}
