//! What an adapter file may say, for one database.

mod edit;
mod fields;
mod verb;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::adapter::Need;
use crate::domain::display_rules::Notation;
use crate::domain::encoding::Encoding;
use crate::domain::facet::Facet;
use crate::domain::job::State;
use crate::domain::outcome::GoneMeaning;
use crate::domain::time::parse_span;

pub use edit::EditSpec;
pub use fields::{Fields, Part};
pub use verb::{
    DeliverySpec, ExpectedRows, IntoTable, Keep, Live, MessageSpec, Refusal, RelatedRows, Route, Undo, Verb, VerbSpecs,
    VerbStep,
};

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
    /// The rights that reading needs, apart from the table itself; `sometimes` where lists do without.
    #[serde(default)]
    pub needs: Vec<Need>,
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
    /// Jobs that a worker holds, which no verb takes.
    #[serde(default)]
    pub held: Option<HeldJobs>,
    /// How each action is done.
    #[serde(default)]
    pub verbs: VerbSpecs,
    /// A statement that reads the outcome of replayed jobs: columns `id`, `outcome`, `error_class`, over `{ids}` or `{batch}`.
    #[serde(default)]
    pub outcome: Option<Spanned<String>>,
    /// What the statement cannot say by itself.
    #[serde(default)]
    pub replayed: ReplayedJobs,
    /// What becomes of dead jobs by themselves as they grow old.
    #[serde(default)]
    pub retention: Option<Retention>,
    /// How payloads are read by a human: a section, or the name of a notation that comes with the console.
    #[serde(default)]
    pub notation: Notation,
}

/// Jobs that a worker holds: it is said of them why a verb leaves them out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldJobs {
    /// A condition over `t`.
    pub when: Spanned<String>,
    /// When the worker began.
    #[serde(default)]
    pub since: Option<Field>,
}

/// What is known of the outcome of replayed jobs apart from their rows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayedJobs {
    /// What it means that a replayed job has no row any more.
    #[serde(default)]
    pub gone: GoneMeaning,
    /// Why the layout cannot tell the outcome, where there is no statement; a sentence.
    #[serde(default)]
    pub unknown: Option<String>,
    /// A statement that reads how long some jobs ran that succeeded: columns job class, whole milliseconds.
    #[serde(default)]
    pub run_times: Option<Spanned<String>>,
}

/// What the framework does with dead jobs that grow old.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Who deletes them and when, or that nobody does; a sentence.
    pub note: String,
    /// How long after their death they are deleted, unless the application says otherwise; absent where nothing deletes
    /// them by itself.
    #[serde(default, deserialize_with = "span")]
    pub after: Option<Duration>,
}

fn span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_span(&text).map(Some).map_err(serde::de::Error::custom)
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
    pub kind: FieldKind,
    /// By dotted path, where what the database holds is not JSON, and how it is written.
    #[serde(default)]
    pub decode: BTreeMap<String, Encoding>,
}

/// How the values of a column are read and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Text.
    Text,
    /// A whole number.
    Int,
    /// A whole number of 64 bits without a sign: what an `int` is where the database says so of its column.
    #[serde(skip)]
    Natural,
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
    /// Microseconds since 1970 as a whole number.
    EpochUs,
    /// JSON.
    Json,
    /// Text of many lines.
    Lines,
}

impl FieldKind {
    /// Whether values are instants.
    pub fn is_time(self) -> bool {
        matches!(self, FieldKind::Utc | FieldKind::Instant) || self.is_epoch()
    }

    /// Whether values are whole numbers that count time since 1970.
    pub fn is_epoch(self) -> bool {
        matches!(self, FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs)
    }
}

/// The orders of a list: columns that an index serves, not null or null last.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The column that stands for the time of death: an indexed time, or an ascending key.
    pub time: Field,
    /// Whether no two rows have the same `time`: it alone orders then, as an index on it alone serves.
    #[serde(default)]
    pub unique: bool,
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
    /// Those of the words above that jobs have which are live or have succeeded: dead ones can be compared with them.
    #[serde(default)]
    pub live_or_succeeded: Vec<String>,
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
