//! What the program knows of each verb; adapters add to it: a new verb has its entry here, and the rest of the program
//! reads it.

use super::Action;
use crate::domain::job::State;

/// What a verb is.
#[derive(Debug)]
pub struct ActionProfile {
    /// The verb, as commands, filters and the ledger write it.
    pub word: &'static str,
    /// The participle used in receipts: `replayed`.
    pub done_word: &'static str,
    /// What a plan says of it, in one line.
    pub summary: &'static str,
    /// What the command line and the console say of the commands of that name.
    pub commands: VerbCommands,
    /// The way back.
    pub undo: UndoProfile,
    /// The action whose runs it undoes, where it is had by that alone: it acts on what the ledger kept of such a run.
    pub undoes: Option<Action>,
    /// The states of jobs that it is for, in every layout that has them; the usual one first.
    pub takes: &'static [State],
    /// The states in which a row stands that shows its effect; none where the row itself does not tell.
    pub leaves: &'static [State],
    /// What becomes of the rows.
    pub rows: RowEffect,
    /// Whether it goes to where replayed jobs go, or takes them back from there.
    pub reaches_queue: bool,
    /// Whether its statements write the present time.
    pub writes_times: bool,
}

/// The commands by which a verb is asked for, each with what it says of itself.
#[derive(Debug)]
pub struct VerbCommands {
    /// On the command line; `None` where there is none.
    pub shell: Option<&'static str>,
    /// After `:` in the console; `None` where there is none.
    pub console: Option<&'static str>,
}

impl VerbCommands {
    /// Those of a verb that is had by undoing a run alone.
    const NONE: VerbCommands = VerbCommands { shell: None, console: None };
}

/// What undoing a verb takes.
#[derive(Debug)]
pub struct UndoProfile {
    /// The action that undoes it, where there is a way back; to undo that is this one again.
    pub by: Option<Action>,
    /// Whether that needs nothing that may be missing: one such job takes no more than a key.
    pub is_sure: bool,
    /// The state in which the undo finds jobs; `None` is the one in which they were before the verb.
    pub finds: Option<State>,
    /// Whether no undo makes a job retrying that was retrying before.
    pub loses_retrying: bool,
}

/// What a verb does to the rows of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEffect {
    /// They stay as they are.
    Unchanged,
    /// They are changed; what is replayed may leave the table, as the layout has it.
    Changed,
    /// They are deleted, once the ledger has a copy of each.
    DeletedWithCopy,
    /// They are deleted without a copy.
    DeletedForGood,
    /// They are moved into the archive table.
    Moved,
    /// They are put back as they were.
    PutBack,
    /// Their arguments are changed, and nothing else.
    Edited,
}

impl RowEffect {
    /// Whether they are gone from the database.
    pub fn deletes(self) -> bool {
        matches!(self, RowEffect::DeletedWithCopy | RowEffect::DeletedForGood)
    }

    /// Whether jobs that are settled are the usual ones: retention.
    pub fn is_retention(self) -> bool {
        matches!(self, RowEffect::DeletedForGood | RowEffect::Moved)
    }
}

impl ActionProfile {
    /// The state that jobs are usually in before it.
    pub fn usual_state(&self) -> State {
        self.takes.first().copied().unwrap_or(State::Dead)
    }
}

pub(super) static REPLAY: ActionProfile = ActionProfile {
    word: "replay",
    done_word: "replayed",
    summary: "Replay: back to the live queue",
    commands: VerbCommands {
        shell: Some("Puts jobs back to the live queue"),
        console: Some("Replays what is marked, all that the filter selects, or the newest N of it."),
    },
    undo: UndoProfile { by: Some(Action::Recall), is_sure: false, finds: None, loses_retrying: true },
    undoes: None,
    takes: &[State::Dead],
    leaves: &[State::Resolved, State::Retrying],
    rows: RowEffect::Changed,
    reaches_queue: true,
    writes_times: true,
};

pub(super) static COPY: ActionProfile = ActionProfile {
    word: "copy",
    done_word: "copied",
    summary: "Copy: copies go to another queue, and the dead rows stay",
    commands: VerbCommands::NONE,
    undo: UndoProfile { by: None, is_sure: false, finds: None, loses_retrying: false },
    undoes: None,
    takes: &[State::Dead],
    leaves: &[],
    rows: RowEffect::Unchanged,
    reaches_queue: true,
    writes_times: true,
};

pub(super) static IGNORE: ActionProfile = ActionProfile {
    word: "ignore",
    done_word: "ignored",
    summary: "Ignore: out of sight, reversible",
    commands: VerbCommands {
        shell: Some("Ignores jobs: they stay in the table, hidden"),
        console: Some("Ignores what is marked, all that the filter selects, or the newest N of it."),
    },
    undo: UndoProfile { by: Some(Action::Reopen), is_sure: true, finds: Some(State::Ignored), loses_retrying: false },
    undoes: None,
    takes: &[State::Dead],
    leaves: &[State::Ignored],
    rows: RowEffect::Changed,
    reaches_queue: false,
    writes_times: true,
};

pub(super) static REOPEN: ActionProfile = ActionProfile {
    word: "reopen",
    done_word: "reopened",
    summary: "Reopen: back among the dead",
    commands: VerbCommands { shell: Some("Undoes ignore"), console: Some("Undoes an ignore.") },
    undo: UndoProfile { by: Some(Action::Ignore), is_sure: true, finds: Some(State::Dead), loses_retrying: true },
    undoes: None,
    takes: &[State::Ignored],
    leaves: &[State::Dead],
    rows: RowEffect::Changed,
    reaches_queue: false,
    writes_times: true,
};

pub(super) static DISCARD: ActionProfile = ActionProfile {
    word: "discard",
    done_word: "discarded",
    summary: "Discard: kept whole in the ledger, then deleted",
    commands: VerbCommands {
        shell: Some("Keeps jobs whole in the ledger, then deletes them"),
        console: Some("Discards: kept whole in the ledger, then deleted."),
    },
    undo: UndoProfile { by: Some(Action::Restore), is_sure: false, finds: None, loses_retrying: false },
    undoes: None,
    takes: &[State::Dead, State::Ignored],
    leaves: &[],
    rows: RowEffect::DeletedWithCopy,
    reaches_queue: false,
    writes_times: false,
};

pub(super) static ARCHIVE: ActionProfile = ActionProfile {
    word: "archive",
    done_word: "archived",
    summary: "Archive: moved whole into the archive table",
    commands: VerbCommands {
        shell: Some("Moves complete rows into an archive table, which is created if it is missing"),
        console: Some("Archives: moves the rows into an archive table."),
    },
    undo: UndoProfile { by: None, is_sure: false, finds: None, loses_retrying: false },
    undoes: None,
    takes: &[State::Dead, State::Resolved, State::Ignored],
    leaves: &[],
    rows: RowEffect::Moved,
    reaches_queue: false,
    writes_times: false,
};

pub(super) static PURGE: ActionProfile = ActionProfile {
    word: "purge",
    done_word: "purged",
    summary: "Purge: deleted for good",
    commands: VerbCommands {
        shell: Some("Deletes jobs for good that were settled long ago: retention"),
        console: None,
    },
    undo: UndoProfile { by: None, is_sure: false, finds: None, loses_retrying: false },
    undoes: None,
    takes: &[State::Dead, State::Resolved, State::Ignored],
    leaves: &[],
    rows: RowEffect::DeletedForGood,
    reaches_queue: false,
    writes_times: false,
};

pub(super) static RESTORE: ActionProfile = ActionProfile {
    word: "restore",
    done_word: "restored",
    summary: "Undo a discard: the rows come back as they were",
    commands: VerbCommands::NONE,
    undo: UndoProfile { by: Some(Action::Discard), is_sure: true, finds: None, loses_retrying: false },
    undoes: Some(Action::Discard),
    takes: &[State::Dead, State::Retrying, State::Resolved, State::Ignored],
    leaves: &[],
    rows: RowEffect::PutBack,
    reaches_queue: false,
    writes_times: false,
};

pub(super) static RECALL: ActionProfile = ActionProfile {
    word: "recall",
    done_word: "recalled",
    summary: "Undo a replay: out of the queue again, where no worker has taken them",
    commands: VerbCommands::NONE,
    undo: UndoProfile { by: Some(Action::Replay), is_sure: false, finds: Some(State::Dead), loses_retrying: false },
    undoes: Some(Action::Replay),
    takes: &[State::Dead, State::Retrying, State::Resolved, State::Ignored],
    leaves: &[],
    rows: RowEffect::PutBack,
    reaches_queue: true,
    writes_times: false,
};

pub(super) static REPAIR: ActionProfile = ActionProfile {
    word: "repair",
    done_word: "repaired",
    summary: "Repair: their arguments change, and they stay dead",
    commands: VerbCommands::NONE,
    undo: UndoProfile { by: Some(Action::Revert), is_sure: false, finds: None, loses_retrying: false },
    undoes: None,
    takes: &[State::Dead],
    leaves: &[],
    rows: RowEffect::Edited,
    reaches_queue: false,
    writes_times: false,
};

pub(super) static REVERT: ActionProfile = ActionProfile {
    word: "revert",
    done_word: "reverted",
    summary: "Undo a repair: the arguments that were there before",
    commands: VerbCommands::NONE,
    undo: UndoProfile { by: Some(Action::Repair), is_sure: false, finds: None, loses_retrying: false },
    undoes: Some(Action::Repair),
    takes: &[State::Dead],
    leaves: &[],
    rows: RowEffect::Edited,
    reaches_queue: false,
    writes_times: false,
};
