//! What an adapter file may say, for one database.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::domain::action::Action;
use crate::domain::facet::Facet;
use crate::domain::job::State;
use crate::domain::notation::Notation;
use crate::domain::options::Attempts;

/// A layout as one database has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One line for pickers and lists.
    pub title: String,
    /// The dead-letter table.
    pub table: String,
    /// What is joined to the table, which is `t`: at most one row for each of its rows.
    #[serde(default)]
    pub join: Option<Spanned<String>>,
    /// What tells the layout from a table that only has the same name.
    pub detect: Detect,
    /// The primary key.
    pub key: Field,
    /// The column that the key is unique within, where the key alone is not the primary key: an id is then `scope/key`.
    #[serde(default)]
    pub scope: Option<Field>,
    /// The columns that lists are ordered by.
    pub order: Order,
    /// Where each part of a dead job stands.
    pub fields: Fields,
    /// The layout's words for the states.
    pub states: StateWords,
    /// The facets offered, in order; all that have a field when absent.
    #[serde(default)]
    pub facets: Option<Vec<FacetWord>>,
    /// What else is shown of an open job, by name.
    #[serde(default)]
    pub more: BTreeMap<String, Field>,
    /// Indexes that lists and counts need, if they are to be quick on a big table.
    #[serde(default)]
    pub indexes: Vec<Index>,
    /// How each action is done.
    #[serde(default)]
    pub verbs: Verbs,
    /// A statement that tells where replayed jobs have got to: columns `id`, `fate`, `error_class`, over `{ids}`.
    #[serde(default)]
    pub outcome: Option<Spanned<String>>,
    /// How payloads are read by a human: a section, or the name of a notation that comes with the console.
    #[serde(default)]
    pub notation: Notation,
}

/// An index that is wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// What it begins with.
    pub columns: Vec<String>,
    /// A condition that its rows meet, where the database has partial indexes.
    #[serde(default)]
    pub only: Option<String>,
    /// What it is for, in a few words.
    #[serde(rename = "for")]
    pub purpose: String,
}

/// What must be there for the layout to be recognised.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detect {
    /// Columns of the dead-letter table with the family of their type.
    pub columns: BTreeMap<String, String>,
    /// Other tables of the same schema, each with its columns.
    #[serde(default)]
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// Functions of the same schema.
    #[serde(default)]
    pub functions: Vec<String>,
}

/// A column, or an expression over the table (known as `t`), with how its values are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Name of a column.
    #[serde(default)]
    pub column: Option<Spanned<String>>,
    /// Or an SQL expression.
    #[serde(default)]
    pub sql: Option<Spanned<String>>,
    /// How the value is read.
    pub kind: Kind,
}

/// How the values of a column are read and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Int,
    /// A UUID.
    Uuid,
    /// A time without zone, which is UTC.
    Utc,
    /// A time with zone.
    Instant,
    /// Seconds since 1970 as a whole number.
    EpochS,
    /// Milliseconds since 1970 as a whole number.
    EpochMs,
    /// JSON.
    Json,
    /// Text of many lines.
    Lines,
}

impl Kind {
    /// Whether values are instants.
    pub fn is_time(self) -> bool {
        matches!(self, Kind::Utc | Kind::Instant | Kind::EpochS | Kind::EpochMs)
    }
}

/// The orders of a list: columns that an index serves, not null or null last.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The column that stands for the time of death: an indexed time, or an ascending key.
    pub time: Field,
    /// What an index must begin with to serve it; without this, the column of `time` itself or one other before it.
    #[serde(default)]
    pub needs: Option<Vec<String>>,
    /// What stands in for it where no index serves it, and where not only dead jobs are listed: those that are not dead
    /// may have no such time.
    #[serde(default)]
    pub otherwise: Option<Field>,
    /// Attempts made.
    #[serde(default)]
    pub attempts: Option<Field>,
}

/// Where each part of a dead job stands; what a layout does not have is left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// Time of death.
    pub at: Field,
    /// Time of the last change, where it is kept.
    #[serde(default)]
    pub touched: Option<Field>,
    /// The layout's own word for the state.
    #[serde(default)]
    pub state: Option<Field>,
    /// Error class.
    #[serde(default)]
    pub error_class: Option<Field>,
    /// Error message.
    #[serde(default)]
    pub message: Option<Field>,
    /// Job class, event type or worker name.
    #[serde(default)]
    pub job_class: Option<Field>,
    /// Queue.
    #[serde(default)]
    pub queue: Option<Field>,
    /// Reason beside the error class.
    #[serde(default)]
    pub reason: Option<Field>,
    /// Host or process that failed.
    #[serde(default)]
    pub worker: Option<Field>,
    /// Attempts made.
    #[serde(default)]
    pub attempts: Option<Field>,
    /// Attempts allowed.
    #[serde(default)]
    pub max_attempts: Option<Field>,
    /// Arguments or payload.
    #[serde(default)]
    pub arguments: Option<Field>,
    /// Backtrace.
    #[serde(default)]
    pub backtrace: Option<Field>,
    /// Key by which a job is known across its deaths.
    #[serde(default)]
    pub lineage: Option<Field>,
}

/// The layout's words for each state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateWords {
    /// Waits for an operator. A layout without a state column names the one word shown for all its rows.
    pub dead: Vec<String>,
    /// The framework still means to run it; also what an unknown word is taken for.
    #[serde(default)]
    pub retrying: Vec<String>,
    /// Settled.
    #[serde(default)]
    pub resolved: Vec<String>,
    /// Set aside.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// The same as conditions, where an index serves these better than the words.
    #[serde(default)]
    pub when: StateConditions,
}

/// Conditions over `t` that say the same as the words of a state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateConditions {
    /// Waits for an operator.
    #[serde(default)]
    pub dead: Option<Spanned<String>>,
    /// The framework still means to run it.
    #[serde(default)]
    pub retrying: Option<Spanned<String>>,
    /// Settled.
    #[serde(default)]
    pub resolved: Option<Spanned<String>>,
    /// Set aside.
    #[serde(default)]
    pub ignored: Option<Spanned<String>>,
}

impl StateConditions {
    /// The condition of a state, where there is one.
    pub fn get(&self, state: State) -> Option<&Spanned<String>> {
        match state {
            State::Dead => self.dead.as_ref(),
            State::Retrying => self.retrying.as_ref(),
            State::Resolved => self.resolved.as_ref(),
            State::Ignored => self.ignored.as_ref(),
        }
    }
}

/// A facet by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FacetWord(pub Facet);

impl<'de> Deserialize<'de> for FacetWord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = Facet::ALL.map(Facet::word).join(", ");
        Facet::from_word(&word)
            .map(FacetWord)
            .ok_or_else(|| serde::de::Error::custom(format!("`{word}` is no facet; known are {known}")))
    }
}

/// How each action is done; an action that is left out is not offered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verbs {
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
}

impl Verbs {
    /// How an action is done.
    pub fn get(&self, action: Action) -> Option<&Verb> {
        match action {
            Action::Replay => self.replay.as_ref(),
            Action::Ignore => self.ignore.as_ref(),
            Action::Reopen => self.reopen.as_ref(),
            Action::Discard => self.discard.as_ref(),
            Action::Archive => self.archive.as_ref(),
            Action::Purge => self.purge.as_ref(),
            // What undoes a verb is said beside it, or needs no words.
            Action::Restore | Action::Recall => None,
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
    /// Statements of a move within the layout's own tables.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Whether whole rows are archived before the steps take effect.
    #[serde(default)]
    pub archive: bool,
    /// What else of the rows the ledger keeps, so that the verb can be undone.
    #[serde(default)]
    pub keep: Keep,
    /// How it is undone.
    #[serde(default)]
    pub undo: Option<Undo>,
    /// Statements of a move into a live table that the config names.
    #[serde(default)]
    pub into_table: Option<IntoTable>,
    /// Statements around a delivery to a command that the config names.
    #[serde(default)]
    pub command: Option<Command>,
    /// How the message is made that a destination takes.
    #[serde(default)]
    pub message: Option<Message>,
}

/// Jobs for which a verb cannot be done.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// A condition over `t`.
    pub when: Spanned<String>,
    /// The reason, as a receipt shows it behind the number of jobs.
    pub because: String,
}

/// Where replayed jobs go, as the config has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the layout itself has it.
    Own,
    /// Into a live table that the config names.
    Table,
    /// To a command that the config names.
    Command,
}

impl Verb {
    /// How it is undone where it goes that way, if it can be.
    pub fn undo_by(&self, way: Way) -> Option<&Undo> {
        match (way, &self.into_table, &self.command) {
            (Way::Table, Some(table), _) => table.undo.as_ref(),
            (Way::Command, _, Some(_)) => None,
            _ if !self.steps.is_empty() => self.undo.as_ref(),
            _ => None,
        }
    }
}

/// A statement of a verb.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The statement, with placeholders.
    pub sql: Spanned<String>,
    /// How many rows it must affect.
    #[serde(default)]
    pub rows: Rows,
    /// Whether it is only for jobs that go to another queue, or only for those that do not.
    #[serde(default)]
    pub to_queue: Option<bool>,
}

/// How many rows a step must affect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
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
    /// The statements, with `{target}`.
    pub steps: Vec<Step>,
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
}

impl Default for Keep {
    fn default() -> Self {
        Keep::Whole(false)
    }
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
    /// The statements.
    pub steps: Vec<Step>,
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
    /// A statement that finds them: the dead job's key and the live row's, both as text.
    pub find: Spanned<String>,
}

/// What is written around a delivery to a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Takes the jobs out of everybody else's reach before they are handed over.
    pub claim: Vec<Step>,
    /// Settles the jobs that were accepted.
    pub accepted: Vec<Step>,
    /// Gives back the jobs that were not.
    pub refused: Vec<Step>,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How the message is made that a destination takes, or that statements find as `b.message`: a JSON template and where its
/// values stand, or stored JSON with some of its values replaced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
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
