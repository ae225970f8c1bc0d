//! What an adapter file says of a layout in Redis.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::field::{Chains, PathTest};
use super::{KeyTemplate, ReadSpec, RedisField, RedisFields, RedisVerbs};
use crate::adapter::spec::{FacetWord, Retention};
use crate::domain::display_rules::Notation;
use crate::domain::encoding::binary::Chain;
use crate::domain::outcome::GoneMeaning;

/// A layout in Redis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSpec {
    /// One line for pickers and lists.
    pub title: String,
    /// What `{prefix}` stands for unless the config says otherwise.
    #[serde(default)]
    pub prefix: String,
    /// How queues are found, where each has keys of its own.
    #[serde(default)]
    pub queues: Option<QueueSpec>,
    /// What tells the layout from another one with keys of the same names.
    #[serde(default)]
    pub detect: RedisDetect,
    /// Where dead jobs stand.
    pub dead: DeadSet,
    /// What else is read for a job, by name.
    #[serde(default)]
    pub reads: BTreeMap<String, ReadSpec>,
    /// Where each part of a dead job stands.
    #[serde(default)]
    pub fields: RedisFields,
    /// What else is shown of an open job, by name.
    #[serde(default)]
    pub more: BTreeMap<String, RedisField>,
    /// The facets offered, in order; all that have a field when absent.
    #[serde(default)]
    pub facets: Option<Vec<FacetWord>>,
    /// How each action is done.
    #[serde(default)]
    pub verbs: RedisVerbs,
    /// How the outcome of replayed jobs is read.
    #[serde(default)]
    pub outcome: OutcomeSpec,
    /// How payloads are read by a human: a section, or the name of a notation that comes with the console.
    #[serde(default)]
    pub notation: Notation,
}

/// How the queues of a layout are found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// A set that names them. It is read first.
    #[serde(default)]
    pub known: Option<KeyTemplate>,
    /// What each member of the set begins with that is not the queue's name.
    #[serde(default)]
    pub strip: String,
    /// The pattern of a key that each queue has; its `*` is the queue's name. Keys are scanned for it where there is no set,
    /// or the set names none.
    #[serde(default)]
    pub scan: Option<Spanned<KeyTemplate>>,
    /// The type of that key.
    #[serde(rename = "type", default)]
    pub key_type: Option<KeyType>,
}

impl QueueSpec {
    /// The queue that a key found by [`QueueSpec::scan`] belongs to; `None` where the key only looks alike.
    pub fn name_in<'k>(&self, key: &'k str, prefix: &str) -> Option<&'k str> {
        let pattern = self.scan.as_ref()?.get_ref().fill(&super::KeyNames { prefix, ..Default::default() });
        let pattern = String::from_utf8(pattern).ok()?;
        let (before, after) = pattern.split_once('*')?;
        key.strip_prefix(before)?.strip_suffix(after).filter(|name| !name.is_empty())
    }
}

/// The types of keys, by the words of the command TYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyType {
    /// A string.
    String,
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    Zset,
    /// A hash.
    Hash,
    /// A stream.
    Stream,
}

impl KeyType {
    /// The word of the command TYPE.
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::List => "list",
            Self::Set => "set",
            Self::Zset => "zset",
            Self::Hash => "hash",
            Self::Stream => "stream",
        }
    }
}

/// What must be there for the layout to be recognised.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisDetect {
    /// Keys with their types, of which one must be there. Without this the dead set itself, or a queue.
    #[serde(default)]
    pub any: BTreeMap<KeyTemplate, KeyType>,
    /// Paths that a dead entry must have, where there is one: what stands under the key of another layout has not.
    #[serde(default)]
    pub entry: Vec<String>,
}

/// Where dead jobs stand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadSet {
    /// What the key holds.
    pub kind: SetKind,
    /// The key; a pattern with one `*` for [`SetKind::Strings`], whose `*` is the id.
    pub key: KeyTemplate,
    /// What the score says, in a sorted set.
    #[serde(default)]
    pub score: ScoreTime,
    /// How an entry is decoded: the first chain that works. The fields of a stream entry are read by name as they are.
    #[serde(default)]
    pub decode: DecodeChains,
    /// The job's id where it is not the entry's own.
    #[serde(default)]
    pub id: Option<RedisField>,
    /// Only the entries where a path has this value are dead jobs.
    #[serde(rename = "where", default)]
    pub only: Option<PathTest>,
    /// The framework's word for their state.
    #[serde(default = "dead")]
    pub word: String,
    /// Keys of each job's own. They are copied before a job is deleted or replayed, and put back by an undo.
    #[serde(default)]
    pub keeps: Vec<KeyTemplate>,
    /// Fields of hashes that are each job's own: key and field.
    #[serde(default)]
    pub keeps_fields: Vec<[KeyTemplate; 2]>,
    /// What becomes of dead jobs by themselves as they grow old.
    #[serde(default)]
    pub retention: Option<Retention>,
}

fn dead() -> String {
    "dead".to_owned()
}

/// The chains of [`DeadSet::decode`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Chains")]
pub struct DecodeChains(pub Vec<Chain>);

impl From<Chains> for DecodeChains {
    fn from(chains: Chains) -> Self {
        Self(chains.0)
    }
}

/// What a key holds dead jobs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetKind {
    /// A sorted set: a job a member.
    Zset,
    /// A stream: a job an entry.
    Stream,
    /// A list: a job an element. The newest is the last.
    List,
    /// A list whose newest element is the first.
    ListNewestFirst,
    /// A hash: a job a field.
    Hash,
    /// Strings: a job a key.
    Strings,
}

/// What the score of an entry says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreTime {
    /// The time of death, in milliseconds since 1970.
    Ms,
    /// The time of death, in seconds since 1970; may have decimals.
    S,
    /// Something else: `fields.at` has the time of death.
    #[default]
    Other,
}

/// How the outcome of replayed jobs is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeSpec {
    /// A Lua body for one job that answers with the word of the outcome, and where it is known with the error class.
    #[serde(default)]
    pub lua: Option<Spanned<String>>,
    /// What it means that a replayed job is no longer there.
    #[serde(default)]
    pub gone: GoneMeaning,
    /// Why the layout cannot tell the outcome, where there is no body; a sentence.
    #[serde(default)]
    pub unknown: Option<String>,
}
