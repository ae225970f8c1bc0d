//! All that a server holds, to be compared with another one.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::harness::{Answer, RedisServer};

/// What each key holds, by name: for hashes a part each field, else a part each element; and whether it expires.
pub struct Keys(BTreeMap<String, BTreeMap<String, String>>);

impl Keys {
    pub fn read(server: &RedisServer) -> Self {
        let names = server.command(&["KEYS", "*"]);
        // What workers say of themselves, and the events, which have ids of their own.
        let is_own =
            |name: &str| ["worker", "events", "stalled-check", "results"].iter().any(|word| name.contains(word));
        let names = names.texts().into_iter().filter(|name| !is_own(name));
        Self(names.map(|name| (name.to_owned(), parts(server, name))).collect())
    }

    /// Where two servers differ, in a line each; apart from the keys and fields that may.
    pub fn differences(&self, other: &Self, may_differ: impl Fn(&str) -> bool) -> Vec<String> {
        let empty = BTreeMap::new();
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let mut lines = Vec::new();
        for name in names.into_iter().filter(|name| !may_differ(name)) {
            let (left, right) = (self.0.get(name).unwrap_or(&empty), other.0.get(name).unwrap_or(&empty));
            let parts: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for part in parts.into_iter().filter(|part| left.get(*part) != right.get(*part) && !may_differ(part)) {
                lines.push(format!("{name} {part}: {:?} | {:?}", left.get(part), right.get(part)));
            }
        }
        lines
    }
}

fn parts(server: &RedisServer, name: &str) -> BTreeMap<String, String> {
    let ask = |words: &[&str]| server.command(words).texts().into_iter().map(without_times).collect::<Vec<_>>();
    let pairs = |all: Vec<String>| all.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    let elements = |all: Vec<String>| all.into_iter().enumerate().map(|(n, text)| (n.to_string(), text)).collect();
    let mut parts: BTreeMap<String, String> = match server.command(&["TYPE", name]).text() {
        "hash" => pairs(ask(&["HGETALL", name])),
        "zset" => pairs(ask(&["ZRANGE", name, "0", "-1", "WITHSCORES"])),
        // In the order in which jobs were named, which is another one.
        "list" => elements(sorted(ask(&["LRANGE", name, "0", "-1"]))),
        "set" => elements(sorted(ask(&["SMEMBERS", name]))),
        "string" => elements(vec![without_times(server.command(&["GET", name]).text())]),
        other => panic!("{name} is a {other}"),
    };
    if server.command(&["TTL", name]) != Answer::Text("-1".to_owned()) {
        parts.insert("expires".to_owned(), "yes".to_owned());
    }
    parts
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

/// A text with every instant in it replaced: two servers did not do the same at the same moment.
fn without_times(text: &str) -> String {
    let instant = Regex::new(r"\b1[789]\d{11}\b|\b20\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)").expect("a regex");
    instant.replace_all(text, "<instant>").into_owned()
}
