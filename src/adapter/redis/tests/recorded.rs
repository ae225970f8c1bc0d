//! Keys as a library left them: a file of commands, each a JSON array, where `{"hex": …}` stands for bytes that are no text.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

use crate::adapter::redis::{KeyNames, RawEntry, ReadCommand, ReadParts, RedisReply, RedisSpec, SetKind};

type Bytes = Vec<u8>;
type Pairs = Vec<(Bytes, Bytes)>;

/// What a key holds.
enum Key {
    Zset(Vec<(f64, Bytes)>),
    Hash(Pairs),
    Stream(Vec<(Bytes, Pairs)>),
    Text(Bytes),
    Others,
}

/// Keys by their names.
#[derive(Default)]
pub struct Recorded(BTreeMap<Bytes, Key>);

impl Recorded {
    pub fn read(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/redis").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut recorded = Self::default();
        for line in text.lines() {
            let words: Vec<Json> = serde_json::from_str(line).expect("an array");
            let words: Vec<Bytes> = words.iter().map(bytes).collect();
            recorded.run(&words);
        }
        recorded
    }

    fn run(&mut self, words: &[Bytes]) {
        let [command, key, rest @ ..] = words else { panic!("a command has a key") };
        let pairs = |words: &[Bytes]| -> Pairs { words.chunks(2).map(|p| (p[0].clone(), p[1].clone())).collect() };
        let empty = match command.as_slice() {
            b"ZADD" => Key::Zset(Vec::new()),
            b"HSET" => Key::Hash(Vec::new()),
            b"XADD" => Key::Stream(Vec::new()),
            b"SET" => Key::Text(rest[0].clone()),
            _ => Key::Others,
        };
        match self.0.entry(key.clone()).or_insert(empty) {
            Key::Zset(members) => members.push((text(&rest[0]).parse().expect("a score"), rest[1].clone())),
            Key::Hash(fields) => fields.extend(pairs(rest)),
            Key::Stream(entries) => entries.push((rest[0].clone(), pairs(&rest[1..]))),
            Key::Text(_) | Key::Others => {}
        }
    }

    /// Writes over a field of a hash.
    pub fn set(&mut self, key: &str, field: &str, value: &str) {
        let Some(Key::Hash(fields)) = self.0.get_mut(key.as_bytes()) else { panic!("{key} is no hash") };
        fields.retain(|(name, _)| name != field.as_bytes());
        fields.push((field.as_bytes().to_vec(), value.as_bytes().to_vec()));
    }

    /// The dead entries of a queue, each with what `wanted` reads of it, in the order of the set.
    pub fn entries(&self, spec: &RedisSpec, queue: &str, wanted: ReadParts<'_>) -> Vec<RawEntry> {
        let names = KeyNames { prefix: &spec.prefix, queue, id: b"" };
        let pattern = spec.dead.key.fill(&names);
        let mut entries: Vec<RawEntry> = Vec::new();
        if spec.dead.kind == SetKind::Strings {
            let before = pattern.strip_suffix(b"*").expect("a pattern");
            for (key, value) in self.0.iter().filter(|(key, _)| key.starts_with(before)) {
                let Key::Text(value) = value else { panic!("strings") };
                let fields = Some(vec![(Vec::new(), value.clone())]);
                entries.push(RawEntry { member: key.clone(), fields, ..RawEntry::default() });
            }
        }
        match self.0.get(&pattern) {
            Some(Key::Zset(members)) => entries.extend(members.iter().map(|(score, member)| RawEntry {
                member: member.clone(),
                score: Some(*score),
                ..RawEntry::default()
            })),
            Some(Key::Stream(stream)) => entries.extend(stream.iter().map(|(id, fields)| RawEntry {
                member: id.clone(),
                fields: Some(fields.clone()),
                ..RawEntry::default()
            })),
            _ => {}
        }
        for entry in &mut entries {
            entry.queue = spec.queues.is_some().then(|| queue.to_owned());
            let names = KeyNames { prefix: &spec.prefix, queue, id: &entry.member };
            let commands = spec.commands(wanted, &names);
            entry.replies =
                commands.into_iter().map(|(read, command)| (read.to_owned(), self.reply(&command))).collect();
        }
        entries
    }

    fn reply(&self, command: &ReadCommand) -> RedisReply {
        let flat = |fields: &Pairs| {
            let both = fields.iter().flat_map(|(name, value)| [name.clone(), value.clone()]);
            RedisReply::List(both.map(RedisReply::Bytes).collect())
        };
        let field = |fields: &Pairs, name: &Bytes| {
            let found = fields.iter().find(|(known, _)| known == name);
            found.map_or(RedisReply::Nil, |(_, value)| RedisReply::Bytes(value.clone()))
        };
        match (text(&command.args[0]), self.0.get(command.key())) {
            ("HGETALL", Some(Key::Hash(fields))) => flat(fields),
            ("HGETALL", None) => RedisReply::List(Vec::new()),
            ("HMGET", Some(Key::Hash(fields))) => {
                RedisReply::List(command.args[2..].iter().map(|name| field(fields, name)).collect())
            }
            ("HMGET", None) => RedisReply::List(vec![RedisReply::Nil; command.args.len() - 2]),
            ("HGET", Some(Key::Hash(fields))) => field(fields, &command.args[2]),
            ("GET", Some(Key::Text(value))) => RedisReply::Bytes(value.clone()),
            ("XREVRANGE", Some(Key::Stream(entries))) => {
                let newest = entries
                    .last()
                    .map(|(id, fields)| RedisReply::List(vec![RedisReply::Bytes(id.clone()), flat(fields)]));
                RedisReply::List(newest.into_iter().collect())
            }
            (_, None) => RedisReply::Nil,
            (other, _) => panic!("{other} of a key of another type"),
        }
    }
}

fn bytes(word: &Json) -> Bytes {
    match word {
        Json::String(text) => text.clone().into_bytes(),
        Json::Object(object) => {
            let hex = object["hex"].as_str().expect("hex");
            let pairs = hex.as_bytes().chunks(2);
            pairs.map(|pair| u8::from_str_radix(text(pair), 16).expect("hex")).collect()
        }
        other => panic!("neither text nor bytes: {other}"),
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}
