//! Payloads that are not JSON, made readable as JSON without running anything that they name.
//!
//! What is made is for reading and filtering; whatever is acted with stays as it was stored. A text that cannot be read
//! stays as it is, and so does one that is too big or nested too deeply.

#[cfg(feature = "redis")]
pub mod binary;
mod php;
mod yaml;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::json::{Document, NodeId, NodeKind, quote, unquote};

/// How a stored text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// YAML, with Ruby's tags too.
    Yaml,
    /// What PHP's `serialize` writes.
    Php,
    /// JSON, as text within JSON.
    Json,
}

/// The member that names the class of an object.
const CLASS: &str = "__class";
/// The member that stands for what was written out before.
const REFERENCE: &str = "__reference";
/// The member that holds what has a class, and no members of its own.
const VALUE: &str = "value";

/// Words that stand in what is made, and not in what is stored.
const MADE: [&str; 6] = [CLASS, REFERENCE, VALUE, "true", "false", "null"];

/// Bytes of a text that is read at most.
const SIZE: usize = 4 << 20;
/// Levels that are read at most.
const DEPTH: usize = 200;

/// The text with what stands at these dotted paths (`""` is all of it) as JSON; what cannot be read there stays.
pub fn decode<'a>(text: &'a str, places: &BTreeMap<String, Encoding>) -> Cow<'a, str> {
    let mut decoded = Cow::Borrowed(text);
    // In this order what holds something comes before what it holds.
    for (path, encoding) in places {
        let next = match path.as_str() {
            "" => read(&decoded, *encoding),
            path => within(&decoded, path, *encoding),
        };
        if let Some(next) = next {
            decoded = Cow::Owned(next);
        }
    }
    decoded
}

/// Whether text that has this piece after decoding had it before, in whatever encoding.
pub fn survives(piece: &str) -> bool {
    let lower = piece.to_ascii_lowercase();
    piece.chars().all(|c| c.is_ascii_alphanumeric()) && !MADE.iter().any(|made| made.contains(&lower))
}

fn read(text: &str, encoding: Encoding) -> Option<String> {
    if text.len() > SIZE {
        return None;
    }
    match encoding {
        Encoding::Yaml => yaml::read(text),
        Encoding::Php => php::read(text),
        Encoding::Json => container(text).then(|| text.to_owned()),
    }
}

fn container(text: &str) -> bool {
    Document::parse(text).is_ok_and(|doc| doc.kind(0).is_container())
}

/// JSON with the strings at a path read.
fn within(text: &str, path: &str, encoding: Encoding) -> Option<String> {
    let doc = Document::parse(text).ok()?;
    let mut found: Vec<(NodeId, String)> = Vec::new();
    for node in doc.at(path) {
        if doc.kind(node) == NodeKind::String {
            found.extend(read(&unquote(doc.raw(node)), encoding).map(|json| (node, json)));
        }
    }
    let values: Vec<(NodeId, &str)> = found.iter().map(|(node, json)| (*node, json.as_str())).collect();
    (!values.is_empty()).then(|| doc.replace(&values))
}

/// Writes JSON from the left.
struct JsonWriter {
    out: String,
    /// Whether a comma is due before the next value of the container at hand.
    due: bool,
}

impl JsonWriter {
    fn new() -> Self {
        Self { out: String::new(), due: false }
    }

    fn comma(&mut self) {
        if std::mem::replace(&mut self.due, true) {
            self.out.push(',');
        }
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.due = false;
    }

    fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.due = true;
    }

    /// A key; its value follows.
    fn key(&mut self, key: &str) {
        self.comma();
        self.out.push_str(&quote(key));
        self.out.push(':');
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&quote(text));
        self.due = true;
    }

    /// A number as it was written, where JSON writes it so; else as text.
    fn number(&mut self, text: &str) {
        match Document::parse(text) {
            Ok(doc) if doc.kind(0) == NodeKind::Number && doc.text().trim() == doc.text() => self.bare(text),
            _ => self.text(text),
        }
    }

    fn bare(&mut self, json: &str) {
        self.out.push_str(json);
        self.due = true;
    }
}

#[cfg(test)]
mod tests;
