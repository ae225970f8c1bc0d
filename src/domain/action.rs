//! The verbs that write, and what became of each job they were applied to.

mod profile;

use std::fmt;

pub use profile::{ActionProfile, RowEffect, UndoProfile, VerbCommands};

use super::job::JobId;
use super::text::{Clean, Untrusted};

/// A verb that changes dead jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Back to the live queue.
    Replay,
    /// Stays dead, and a copy of it goes to another queue: a rehearsal.
    Copy,
    /// Stays, out of sight; reversible.
    Ignore,
    /// Undo of ignore.
    Reopen,
    /// Archived whole to the ledger, then deleted.
    Discard,
    /// Moved whole into the archive table.
    Archive,
    /// Deleted for good, without a copy: retention.
    Purge,
    /// Its arguments are changed; it stays dead.
    Repair,
    /// Undo of discard: rows that the ledger kept are put back as they were.
    Restore,
    /// Undo of replay: taken back out of the live queue, while no worker has taken them.
    Recall,
    /// Undo of repair: the arguments that were there before.
    Revert,
}

impl Action {
    /// Every action, in the order of menus; the last three are had only by undoing a run.
    pub const ALL: [Action; 11] = [
        Action::Replay,
        Action::Copy,
        Action::Ignore,
        Action::Reopen,
        Action::Discard,
        Action::Archive,
        Action::Purge,
        Action::Repair,
        Action::Restore,
        Action::Recall,
        Action::Revert,
    ];

    /// What the program knows of the action; adapters add to it.
    pub const fn profile(self) -> &'static ActionProfile {
        match self {
            Action::Replay => &profile::REPLAY,
            Action::Copy => &profile::COPY,
            Action::Ignore => &profile::IGNORE,
            Action::Reopen => &profile::REOPEN,
            Action::Discard => &profile::DISCARD,
            Action::Archive => &profile::ARCHIVE,
            Action::Purge => &profile::PURGE,
            Action::Restore => &profile::RESTORE,
            Action::Recall => &profile::RECALL,
            Action::Repair => &profile::REPAIR,
            Action::Revert => &profile::REVERT,
        }
    }

    /// The verb, as commands, filters and the ledger write it.
    pub fn word(self) -> &'static str {
        self.profile().word
    }

    /// The verb as a noun with its article: `an archive`.
    pub fn with_article(self) -> String {
        let article = if self.word().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {self}")
    }

    /// The participle used in receipts: `replayed`.
    pub fn done_word(self) -> &'static str {
        self.profile().done_word
    }

    /// The action that undoes this one, where there is a way back; to undo that is this one again.
    pub fn undone_by(self) -> Option<Action> {
        self.profile().undo.by
    }

    /// Whether it puts jobs into a queue: they have a queue and attempts to choose.
    pub fn enqueues(self) -> bool {
        matches!(self, Action::Replay | Action::Copy)
    }

    /// Whether the dead rows stay as they are.
    pub fn leaves_rows(self) -> bool {
        self.profile().rows == RowEffect::Unchanged
    }

    /// Why there is no way back, as a sentence; of an action that [`Action::undone_by`] knows no undo of.
    pub fn why_final(self) -> String {
        match self {
            Action::Copy => {
                "copies in another queue cannot be taken back: whoever owns that queue deletes them".to_owned()
            }
            _ => format!("{self} cannot be undone"),
        }
    }

    /// Whether it acts on rows that the ledger kept of an earlier run.
    pub fn needs_kept(self) -> bool {
        self.profile().undoes.is_some() && !self.edits()
    }

    /// Whether it writes arguments that the ledger has for each job.
    pub fn edits(self) -> bool {
        self.profile().rows == RowEffect::Edited
    }

    /// Whether a validator has a say in it: only in what puts arguments before workers, or changes them.
    pub fn is_validated(self) -> bool {
        matches!(self, Action::Replay | Action::Copy | Action::Repair)
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
    /// The validator did not accept it; the text is what [`SkipReason::not_accepted`] makes of its words.
    NotAccepted(String),
    /// The layout does not allow the action for this job, for the reason that the adapter gives.
    Unfit(String),
    /// It cannot be taken back out of the live queue: it is being worked on.
    Taken,
    /// It cannot be taken back out of the live queue: it is not there as it was put there.
    NotQueued,
    /// A row with its key is there.
    AlreadyThere,
    /// It was retrying before what is to be undone, and not dead or ignored: there is no way back to that.
    WasRetrying,
    /// An earlier undo of the same run had it: what became of it since is not to be undone.
    UndoneBefore,
}

/// Characters of a validator's reason that are kept; reasons with the same characters count as one.
const WORDS: usize = 100;

/// How the reasons of a validator begin in receipts.
pub const NOT_ACCEPTED: &str = "not accepted";

impl SkipReason {
    /// Not accepted, for a reason that a command gave: made fit for a screen, and shortened.
    pub fn not_accepted(reason: &str) -> Self {
        let reason: String = Clean::line(reason.trim()).chars().take(WORDS).collect();
        Self::NotAccepted(format!("{NOT_ACCEPTED}: {reason}"))
    }

    /// The word that the ledger keeps and receipts show.
    pub fn word(&self) -> &str {
        match self {
            SkipReason::NotAccepted(text) | SkipReason::Unfit(text) => text,
            SkipReason::Gone => "gone",
            SkipReason::Changed => "changed meanwhile",
            SkipReason::Locked => "locked by another session",
            SkipReason::Taken => "a worker has taken it",
            SkipReason::NotQueued => "no longer in the queue as it was put there",
            SkipReason::AlreadyThere => "already there",
            SkipReason::WasRetrying => "it was retrying before",
            SkipReason::UndoneBefore => "undone before",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_as_a_noun_has_the_article_that_it_needs() {
        let told: Vec<String> = [Action::Archive, Action::Ignore, Action::Purge].map(Action::with_article).into();
        assert_eq!(told, ["an archive", "an ignore", "a purge"]);
    }

    #[test]
    fn to_undo_an_undo_is_the_action_again() {
        for action in Action::ALL {
            if let Some(undo) = action.undone_by() {
                assert_ne!(undo, action);
                assert_eq!(undo.undone_by(), Some(action));
            }
            assert_eq!(Action::from_word(action.word()), Some(action));
            let undoes = action.profile().undoes;
            assert!(undoes.is_none_or(|undone| undone.undone_by() == Some(action)), "{action}");
        }
    }
}
