//! What is read for a job apart from its entry, and with which commands.

use serde::Deserialize;

use super::field::FieldSource;
use super::{KeyNames, KeyTemplate, RedisSpec};
use crate::adapter::Part;
use crate::domain::encoding::binary::Chain;

/// A read, by its name in `[reads]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ReadWords")]
pub struct ReadSpec {
    /// Where it stands.
    pub kind: ReadKind,
    /// How what was read is decoded: the first chain that works.
    pub decode: Vec<Chain>,
}

/// Where a read stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// A hash: its fields by name.
    Hash(KeyTemplate),
    /// One field of a hash.
    HashField(KeyTemplate, KeyTemplate),
    /// A string.
    Text(KeyTemplate),
    /// The newest entry of a stream: its fields by name, and its id under `stream_id`.
    NewestOfStream(KeyTemplate),
    /// The last element of a list.
    LastOfList(KeyTemplate),
    /// A part of another read, so that it is decoded once: the name of that read and a path into it.
    Within(String, Option<String>),
}

/// As the file says it: exactly one of the places.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadWords {
    #[serde(default)]
    hash: Option<KeyTemplate>,
    #[serde(default)]
    hash_field: Option<[KeyTemplate; 2]>,
    #[serde(default)]
    string: Option<KeyTemplate>,
    #[serde(default)]
    newest_of_stream: Option<KeyTemplate>,
    #[serde(default)]
    last_of_list: Option<KeyTemplate>,
    #[serde(default)]
    of: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    decode: super::field::Chains,
}

impl TryFrom<ReadWords> for ReadSpec {
    type Error = String;

    fn try_from(words: ReadWords) -> Result<Self, String> {
        let path = words.path;
        if path.is_some() && words.of.is_none() {
            return Err("`path` stands beside `of`; a field has the path of its own".to_owned());
        }
        let kinds = [
            words.hash.map(ReadKind::Hash),
            words.hash_field.map(|[key, field]| ReadKind::HashField(key, field)),
            words.string.map(ReadKind::Text),
            words.newest_of_stream.map(ReadKind::NewestOfStream),
            words.last_of_list.map(ReadKind::LastOfList),
            words.of.map(|of| ReadKind::Within(of, path)),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Ok(Self { kind, decode: words.decode.0 }),
            _ => {
                Err("a read has one of `hash`, `hash_field`, `string`, `newest_of_stream`, `last_of_list` and `of`"
                    .into())
            }
        }
    }
}

/// How much of a job is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadParts<'a> {
    /// These parts.
    Parts(&'a [Part]),
    /// Everything.
    Full,
}

impl ReadParts<'_> {
    /// The parts that a light row shows.
    pub const ROW: ReadParts<'static> = ReadParts::Parts(&[
        Part::At,
        Part::State,
        Part::Error,
        Part::Message,
        Part::Class,
        Part::Queue,
        Part::Reason,
        Part::Worker,
        Part::Attempts,
        Part::MaxAttempts,
    ]);

    fn part(self, part: Part) -> bool {
        match self {
            ReadParts::Parts(parts) => parts.contains(&part),
            ReadParts::Full => true,
        }
    }
}

/// A command that reads one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCommand {
    /// Its words, as they are sent.
    pub args: Vec<Vec<u8>>,
}

impl ReadCommand {
    fn new(name: &str, key: Vec<u8>, rest: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { args: [name.as_bytes().to_vec(), key].into_iter().chain(rest).collect() }
    }

    /// The one key that it reads.
    pub fn key(&self) -> &[u8] {
        self.args.get(1).map_or(&[], Vec::as_slice)
    }
}

/// What is wanted of a hash.
#[derive(Default)]
struct HashParts {
    is_whole: bool,
    fields: Vec<String>,
}

impl RedisSpec {
    /// The commands that read what is wanted of a job, with the name of each read. A read that nothing wanted needs is left
    /// out; of a hash only the fields that are needed are read.
    pub fn commands(&self, wanted: ReadParts<'_>, names: &KeyNames<'_>) -> Vec<(&str, ReadCommand)> {
        let mut commands = Vec::new();
        for (name, read) in &self.reads {
            let Some(parts) = self.wanted_of(name, wanted) else { continue };
            let command = match &read.kind {
                ReadKind::Hash(key) if parts.is_whole => ReadCommand::new("HGETALL", key.fill(names), []),
                ReadKind::Hash(key) => {
                    ReadCommand::new("HMGET", key.fill(names), parts.fields.into_iter().map(String::into_bytes))
                }
                ReadKind::HashField(key, field) => ReadCommand::new("HGET", key.fill(names), [field.fill(names)]),
                ReadKind::Text(key) => ReadCommand::new("GET", key.fill(names), []),
                ReadKind::NewestOfStream(key) => {
                    let rest = ["+", "-", "COUNT", "1"].map(|word| word.as_bytes().to_vec());
                    ReadCommand::new("XREVRANGE", key.fill(names), rest)
                }
                ReadKind::LastOfList(key) => ReadCommand::new("LINDEX", key.fill(names), [b"-1".to_vec()]),
                ReadKind::Within(..) => continue,
            };
            commands.push((name.as_str(), command));
        }
        commands
    }

    /// The fields that [`RedisSpec::commands`] read of a hash, in their order; `None` where it read all of it.
    pub(super) fn hash_fields(&self, read: &str, wanted: ReadParts<'_>) -> Option<Vec<String>> {
        self.wanted_of(read, wanted).filter(|parts| !parts.is_whole).map(|parts| parts.fields)
    }

    /// What is wanted of a read; `None` where nothing is.
    fn wanted_of(&self, read: &str, wanted: ReadParts<'_>) -> Option<HashParts> {
        let mut parts: Option<HashParts> = None;
        let mut add = |path: Option<&str>| {
            let parts = parts.get_or_insert_default();
            match path {
                Some(path) if !parts.fields.iter().any(|known| known == path) => parts.fields.push(path.to_owned()),
                Some(_) => {}
                None => parts.is_whole = true,
            }
        };
        let fields = self.fields.iter().filter(|(part, _)| wanted.part(*part)).flat_map(|(_, field)| &field.sources);
        let more = self.more.values().filter(|_| wanted == ReadParts::Full).flat_map(|field| &field.sources);
        for source in fields.chain(more) {
            for path in source.paths() {
                if let Some(path) = self.path_in(read, &source.from, path) {
                    add(path);
                }
            }
        }
        // Of the open job everything is shown that its hash has.
        if wanted == ReadParts::Full && matches!(self.reads.get(read).map(|read| &read.kind), Some(ReadKind::Hash(_))) {
            add(None);
        }
        parts
    }

    /// The path by which `from` and a path into it lead into a read: none where they lead elsewhere.
    fn path_in<'a>(&'a self, read: &str, from: &'a str, path: Option<&'a str>) -> Option<Option<&'a str>> {
        let (mut from, mut path) = (from, path);
        // As many steps as there are reads, as none leads back to itself.
        for _ in 0..=self.reads.len() {
            if from == read {
                return Some(path);
            }
            match self.reads.get(from).map(|read| &read.kind) {
                Some(ReadKind::Within(of, within)) => (from, path) = (of, within.as_deref()),
                _ => return None,
            }
        }
        None
    }
}

impl FieldSource {
    /// The paths into its read that it needs.
    fn paths(&self) -> impl Iterator<Item = Option<&str>> {
        let own = (self.object.is_empty() && self.value.is_none()).then_some(self.path.as_deref());
        let object = self.object.values().map(|path| Some(path.as_str()));
        let when = self.when.as_ref().map(|when| Some(when.path.as_str()));
        own.into_iter().chain(object).chain(when)
    }
}
