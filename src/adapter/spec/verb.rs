//! What an adapter file may say of the verbs.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{EditSpec, Field};
use crate::adapter::Need;
use crate::domain::action::Action;
use crate::domain::run_options::Attempts;

/// How each action is done; an action that is left out is not offered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerbSpecs {
    /// Back to the live queue.
    #[serde(default)]
    pub replay: Option<Verb>,
    /// Set aside.
    #[serde(default)]
    pub ignore: Option<Verb>,
    /// Undo of ignore.
    #[serde(default)]
    pub reopen: Option<Verb>,
    /// Keep in the ledger and delete.
    #[serde(default)]
    pub discard: Option<Verb>,
    /// Move into the table that the store makes for it; the guard is all that an adapter says of it.
    #[serde(default)]
    pub archive: Option<Verb>,
    /// Delete for good.
    #[serde(default)]
    pub purge: Option<Verb>,
    /// Change arguments.
    #[serde(default)]
    pub repair: Option<EditSpec>,
}

impl VerbSpecs {
    /// How an action goes about the jobs it is given: a copy does so as the replay whose steps it runs.
    pub fn acting(&self, action: Action) -> Option<&Verb> {
        self.get(if action == Action::Copy { Action::Replay } else { action })
    }

    /// How an action is done.
    pub fn get(&self, action: Action) -> Option<&Verb> {
        match action {
            Action::Replay => self.replay.as_ref(),
            Action::Ignore => self.ignore.as_ref(),
            Action::Reopen => self.reopen.as_ref(),
            Action::Discard => self.discard.as_ref(),
            Action::Archive => self.archive.as_ref(),
            Action::Purge => self.purge.as_ref(),
            // Both write arguments that the ledger has.
            Action::Repair | Action::Revert => self.repair.as_ref().map(|edit| &edit.verb),
            // The undo of a verb is a part of it, or needs no statement; a copy is a part of the replay.
            Action::Restore | Action::Recall | Action::Copy => None,
        }
    }
}

/// How one action is done, or why it is not offered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verb {
    /// Why the layout has no such action; then nothing else counts.
    #[serde(default)]
    pub disabled: Option<String>,
    /// The guard: a condition over `t` that a job must still meet.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
    /// Jobs for which it cannot be done, with the reason.
    #[serde(default)]
    pub refuse: Vec<Refusal>,
    /// Jobs of which the plan says something, and which the verb takes all the same.
    #[serde(default)]
    pub warn: Vec<Refusal>,
    /// A statement over the rows that are held, which takes the framework's own locks and returns the keys of the jobs
    /// whose locks it was given; the others are skipped as locked.
    #[serde(default)]
    pub lock: Option<Spanned<String>>,
    /// A condition over `t` that holds once the verb took effect by the run that `{run}` names, where a row shows that.
    #[serde(default)]
    pub trace: Option<Spanned<String>>,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What becomes of used attempts where nothing was said; where the statements ask with `{once}`.
    #[serde(default)]
    pub attempts: Option<Attempts>,
    /// The column that takes `b.run_after`, `column` or `table.column`: where it counts time since 1970, so does that.
    #[serde(default)]
    pub due: Option<String>,
    /// Statements of a move within the layout's own tables.
    #[serde(default)]
    pub steps: Vec<VerbStep>,
    /// Whether whole rows are archived before the steps take effect.
    #[serde(default)]
    pub archive: bool,
    /// What else of the rows the ledger keeps, so that the verb can be undone.
    #[serde(default)]
    pub keep: Keep,
    /// Rows of other tables that are kept along with each row.
    #[serde(default)]
    pub along: Vec<RelatedRows>,
    /// The rights that its statements take, where they are listed.
    #[serde(default)]
    pub needs: Option<Vec<Need>>,
    /// What files from before `needs` say instead: statements that functions and triggers of the database run.
    #[serde(default)]
    pub within: Vec<Spanned<String>>,
    /// How it is undone.
    #[serde(default)]
    pub undo: Option<Undo>,
    /// Statements of a move into a live table that the config names.
    #[serde(default)]
    pub into_table: Option<IntoTable>,
    /// Statements around a delivery to a command that the config names.
    #[serde(default)]
    pub command: Option<DeliverySpec>,
    /// How the message is made that a destination takes.
    #[serde(default)]
    pub message: Option<MessageSpec>,
}

/// Jobs for which a verb cannot be done, or of which the plan warns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// A condition over `t`.
    pub when: Spanned<String>,
    /// The reason, as a receipt or a plan shows it behind the number of jobs.
    pub because: String,
}

/// Where replayed jobs go, as the config has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// As the layout itself has it.
    Own,
    /// Into a live table that the config names.
    Table,
    /// To a command that the config names.
    Command,
}

impl Verb {
    /// How it is undone where it goes that way, if it can be.
    pub fn undo_by(&self, way: Route) -> Option<&Undo> {
        match (way, &self.into_table, &self.command) {
            (Route::Table, Some(table), _) => table.undo.as_ref(),
            (Route::Command, _, Some(_)) => None,
            _ if !self.steps.is_empty() => self.undo.as_ref(),
            _ => None,
        }
    }
}

/// A statement of a verb.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerbStep {
    /// The statement, with placeholders.
    pub sql: Spanned<String>,
    /// How many rows it must affect.
    #[serde(default)]
    pub rows: ExpectedRows,
    /// Whether it is only for jobs that go to another queue, or only for those that do not.
    #[serde(default)]
    pub to_queue: Option<bool>,
    /// Whether it inserts the replayed job beside its dead row: a copy runs these steps alone.
    #[serde(default)]
    pub copies: bool,
}

/// How many rows a step must affect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedRows {
    /// One for each job of the batch: anything else undoes the batch.
    #[default]
    Each,
    /// Any number.
    Any,
}

/// A move into a live table that the config names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntoTable {
    /// Columns that the live table must have.
    pub columns: BTreeMap<String, String>,
    /// Which of them takes `{run_after}`: where it counts time since 1970, so does that.
    #[serde(default)]
    pub due: Option<String>,
    /// The statements, with `{target}`.
    pub steps: Vec<VerbStep>,
    /// The rights that its statements take, where they are listed.
    #[serde(default)]
    pub needs: Option<Vec<Need>>,
    /// How the move is undone.
    #[serde(default)]
    pub undo: Option<Undo>,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What of a row is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`true`, or a list of columns")]
pub enum Keep {
    /// All of it, or nothing.
    Whole(bool),
    /// These columns.
    Columns(Vec<String>),
}

impl Keep {
    /// Whether nothing is kept.
    pub fn is_nothing(&self) -> bool {
        match self {
            Keep::Whole(whole) => !whole,
            Keep::Columns(columns) => columns.is_empty(),
        }
    }

    /// Whether a column is kept.
    pub fn holds(&self, column: &str) -> bool {
        match self {
            Keep::Whole(whole) => *whole,
            Keep::Columns(columns) => columns.iter().any(|name| name == column),
        }
    }
}

impl Default for Keep {
    fn default() -> Self {
        Keep::Whole(false)
    }
}

/// Rows of another table of the schema that belong to a job's row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelatedRows {
    /// The table; where it is not there, there is nothing to keep.
    pub table: Spanned<String>,
    /// Its column that tells whose its rows are.
    pub column: String,
    /// The column of `t` that has the same value.
    pub of: String,
    /// Where that is not enough: its other columns, each with the column of `t` that has the same value.
    #[serde(default)]
    pub also: BTreeMap<String, String>,
    /// Whether the job's row refers to them, so that they must be put back before it.
    #[serde(default)]
    pub first: bool,
    /// Whether the verb writes over them in place, and does not delete them: they are kept for the statements of an undo
    /// then, and not put back.
    #[serde(default)]
    pub stays: bool,
}

/// How replayed jobs are taken back while no worker has taken them: all in one transaction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The guard: a condition over `t` that says that the dead row still is as the replay left it. Left out where there
    /// is no such row, or `live` finds it.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
    /// Where the replayed job stands, if not in the dead-letter row itself.
    #[serde(default)]
    pub live: Option<Live>,
    /// A condition that a worker has taken the job: over `j` where it stands elsewhere, else over `t`.
    pub taken: Spanned<String>,
    /// A statement over the jobs that were found, which takes the locks that workers go by and returns the keys of the jobs
    /// whose locks it was given; the others are skipped as locked.
    #[serde(default)]
    pub lock: Option<Spanned<String>>,
    /// The statements.
    pub steps: Vec<VerbStep>,
    /// The rights that its statements take, where they are listed.
    #[serde(default)]
    pub needs: Option<Vec<Need>>,
    /// Whether the kept rows are then put back whole.
    #[serde(default)]
    pub put_back: bool,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The table that replayed jobs stand in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The table, as statements name it.
    pub table: Spanned<String>,
    /// Its primary key.
    pub key: Field,
    /// Columns that it must have, or there is no undo.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
    /// A statement that finds them: the dead job's key and the live row's, both as text, for every row that may be the job's,
    /// with NULL for a row that is no longer as it was put there. A job with several rows is left alone. A third column may say
    /// why a job cannot be identified.
    pub find: Spanned<String>,
}

/// What is written around a delivery to a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliverySpec {
    /// Takes the jobs out of everybody else's reach before they are handed over.
    pub claim: Vec<VerbStep>,
    /// Settles the jobs that were accepted.
    pub accepted: Vec<VerbStep>,
    /// Gives back the jobs that were not.
    pub refused: Vec<VerbStep>,
    /// The rights that its statements take, where they are listed.
    #[serde(default)]
    pub needs: Option<Vec<Need>>,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How the message is made that a destination takes, or that statements find as `b.message`: a JSON template and where its
/// values stand, or stored JSON with some of its values replaced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// The template.
    #[serde(default)]
    pub template: Option<Spanned<String>>,
    /// The values that it names, read together with the lock on the row.
    #[serde(default)]
    pub values: BTreeMap<String, Field>,
    /// Or the stored JSON, which stays as it was written but for what is set.
    #[serde(default)]
    pub edit: Option<Field>,
    /// By path, the JSON values that stand there from now on; a path that the JSON does not have is passed over.
    #[serde(default)]
    pub set: BTreeMap<String, Spanned<String>>,
}
