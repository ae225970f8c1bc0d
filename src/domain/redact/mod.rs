//! Redaction: secrets in payloads and messages are replaced before anything shows, exports or copies them.

mod names;
mod prose;
mod rows;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

pub use super::json::REDACTED;
pub(crate) use names::glob;
use names::{Rule, WELL_KNOWN, folded};
pub use rows::Masker;

use super::json::{Cut, Document, Kind, Marks, NodeId, decode_double, quote};

/// The `[redact]` table of a configuration or an adapter.
///
/// A rule is a key, or keys joined by dots that follow each other (`card.number`), with `*` for any characters; case,
/// `_` and `-` do not count. It holds at any depth, and elements of arrays are not named.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct RedactConfig {
    /// Whether the well-known keys (password, token, card number, …) are secrets.
    pub well_known: bool,
    /// More rules.
    pub extra: Vec<String>,
    /// Rules for what is shown even if another rule makes it a secret.
    pub allow: Vec<String>,
}

impl Default for RedactConfig {
    fn default() -> Self {
        Self { well_known: true, extra: Vec::new(), allow: Vec::new() }
    }
}

/// Finds secrets and replaces them. Make one and keep it: the rules are prepared once.
#[derive(Clone, Debug, PartialEq)]
pub struct Redactor {
    secret: Vec<Rule>,
    allow: Vec<Rule>,
    reveal: bool,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new(&RedactConfig::default())
    }
}

impl Redactor {
    /// Prepares the rules of `config`.
    pub fn new(config: &RedactConfig) -> Self {
        let well_known = WELL_KNOWN.iter().copied().filter(|_| config.well_known);
        let secret = well_known.chain(config.extra.iter().map(String::as_str)).map(Rule::new).collect();
        Self { secret, allow: config.allow.iter().map(|rule| Rule::new(rule)).collect(), reveal: false }
    }

    /// The same rules with the switch set: when `reveal` is on, nothing is replaced.
    #[must_use]
    pub fn revealing(mut self, reveal: bool) -> Self {
        self.reveal = reveal;
        self
    }

    /// Whether secrets are shown.
    pub fn reveals(&self) -> bool {
        self.reveal
    }

    /// Marks the secrets of `doc` in `marks`. To be called before anything else marks.
    ///
    /// A string that holds secrets in its text (a header, a query, JSON within JSON) is shown with these replaced.
    pub fn mark(&self, doc: &Document, marks: &mut Marks) {
        for (node, found) in self.find(doc) {
            let cut = match found {
                Found::Whole => Cut::Redacted,
                Found::Within(json) => Cut::Masked(json),
            };
            marks.cut(node, cut);
        }
    }

    /// `text` with its secrets replaced: JSON (encoded twice too) stays JSON, exact in all else; other text see
    /// [`Redactor::prose`].
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.reveal {
            return Cow::Borrowed(text);
        }
        let decoded = decode_double(text);
        let twice = matches!(decoded, Cow::Owned(_));
        let doc = match Document::parse(&*decoded) {
            Ok(doc) if doc.kind(0).is_container() => doc,
            _ => return self.prose(text),
        };
        let found: Vec<(NodeId, Cow<'_, str>)> = self
            .find(&doc)
            .into_iter()
            .map(|(node, found)| match found {
                Found::Whole => (node, Cow::Owned(quote(REDACTED))),
                Found::Within(json) => (node, Cow::Owned(json)),
            })
            .collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let values: Vec<(NodeId, &str)> = found.iter().map(|(node, json)| (*node, &**json)).collect();
        let replaced = doc.replace(&values);
        Cow::Owned(if twice { quote(&replaced) } else { replaced })
    }

    /// Whether some of the text would be replaced.
    pub fn hides(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Prose with the secrets in it replaced: `key=value`, `key: value`, `"key" => "value"`, `Bearer …` and passwords
    /// in addresses.
    pub fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.reveal { Cow::Borrowed(text) } else { prose::redact(text, |key| self.is_secret_name(key)) }
    }

    /// Whether a value with this key is a secret wherever it stands: for columns and options.
    pub fn is_secret_name(&self, key: &str) -> bool {
        let key = folded(key);
        let one = || std::iter::once(key.as_str());
        self.secret.iter().any(|rule| rule.is_single() && rule.matches(one()))
            && !self.allow.iter().any(|rule| rule.is_single() && rule.matches(one()))
    }

    /// The secrets of `doc`, outermost only, in ascending order.
    fn find(&self, doc: &Document) -> Vec<(NodeId, Found)> {
        let mut found = Vec::new();
        if self.reveal {
            return found;
        }
        // Most keys come again and again: whether rules could concern one is decided once.
        let mut suspects: HashMap<&str, bool> = HashMap::new();
        let mut node = 0;
        while node < doc.len() {
            let suspect = doc.raw_key(node).is_some_and(|raw| {
                *suspects.entry(raw).or_insert_with(|| {
                    let key = doc.key(node).map_or_else(String::new, |key| folded(&key));
                    self.secret.iter().any(|rule| rule.ends_in(&key))
                })
            });
            if suspect && doc.kind(node) != Kind::Null && self.is_secret(doc, node) {
                found.push((node, Found::Whole));
                node = doc.end(node);
                continue;
            }
            if doc.kind(node) == Kind::String {
                // Without its quotes: what is cut off within it ends where it does.
                let raw = doc.raw(node);
                let inside = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default();
                if let Cow::Owned(masked) = self.prose(inside) {
                    found.push((node, Found::Within(format!("\"{masked}\""))));
                }
            }
            node += 1;
        }
        found
    }

    fn is_secret(&self, doc: &Document, node: NodeId) -> bool {
        let chain = std::iter::successors(Some(node), |&inner| doc.parent(inner));
        // No rule is longer than this, and a path can have thousands of keys.
        let keys: Vec<String> = chain.filter_map(|n| doc.key(n)).take(8).map(|key| folded(&key)).collect();
        let all = || keys.iter().map(String::as_str);
        self.secret.iter().any(|rule| rule.matches(all())) && !self.allow.iter().any(|rule| rule.matches(all()))
    }
}

enum Found {
    /// The value is a secret.
    Whole,
    /// The string holds secrets; this is its JSON with them replaced.
    Within(String),
}

#[cfg(test)]
mod tests;
