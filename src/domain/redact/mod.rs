//! Redaction: secrets in payloads and messages are replaced before anything shows, exports or copies them.

mod credential_patterns;
mod escapes;
mod free_text;
mod names;
mod row_masker;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

pub use super::json::REDACTED;
pub(crate) use names::glob;
use names::{KeyRule, WELL_KNOWN, ends_in_secret_word, folded, last_part};
pub use row_masker::Masker;

use super::job::JobDetail;
use super::json::{Cut, Document, JsonHighlights, NodeId, NodeKind, decode_double, quote, unquote};
use super::text::Untrusted;
use escapes::Escapes;

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
    secret: Vec<KeyRule>,
    /// Whether a key's last word may make it a secret.
    last_words: bool,
    allow: Vec<KeyRule>,
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
        let secret = well_known.chain(config.extra.iter().map(String::as_str)).map(KeyRule::new).collect();
        let allow = config.allow.iter().map(|rule| KeyRule::new(rule)).collect();
        Self { secret, last_words: config.well_known, allow, reveal: false }
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
    pub fn mark(&self, doc: &Document, marks: &mut JsonHighlights) {
        for (node, found) in self.find(doc) {
            let cut = match found {
                SecretMatch::Whole => Cut::Redacted,
                SecretMatch::Within(json) => Cut::Masked(json),
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
            Ok(doc) if doc.kind(0).is_container() || doc.kind(0) == NodeKind::String => doc,
            _ => return self.prose(text),
        };
        let found = self.replacements(&doc);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let values: Vec<(NodeId, &str)> = found.iter().map(|(node, json)| (*node, &**json)).collect();
        let replaced = doc.replace(&values);
        Cow::Owned(if twice { quote(&replaced) } else { replaced })
    }

    /// A job's arguments with their secrets replaced: all of them, where they cannot be decoded.
    pub fn arguments<'a>(&self, detail: &'a JobDetail) -> Option<Cow<'a, str>> {
        let text = detail.arguments.as_ref()?.exact();
        Some(if detail.undecodable && !self.reveal { Cow::Borrowed(REDACTED) } else { self.text(text) })
    }

    /// Whether a job's arguments hold secrets.
    pub fn hides_arguments(&self, detail: &JobDetail) -> bool {
        let text = detail.arguments.as_ref().map_or("", Untrusted::exact);
        (detail.undecodable && !self.reveal) || self.hides(text)
    }

    /// What is to stand in place of the secrets of `doc`, as JSON.
    fn replacements(&self, doc: &Document) -> Vec<(NodeId, String)> {
        let json = |found| match found {
            SecretMatch::Whole => quote(REDACTED),
            SecretMatch::Within(json) => json,
        };
        self.find(doc).into_iter().map(|(node, found)| (node, json(found))).collect()
    }

    /// Whether some of the text would be replaced.
    pub fn hides(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Prose with the secrets in it replaced: `key=value`, `key: value`, `"key" => "value"`, `--key value`, `Bearer …`,
    /// passwords in addresses, and what looks like a credential, such as a private key. Escaped or not.
    pub fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.reveal { Cow::Borrowed(text) } else { free_text::redact(text, |key| self.is_secret_name(key)) }
    }

    /// Whether a value with this key is a secret wherever it stands: for columns and options.
    pub fn is_secret_name(&self, key: &str) -> bool {
        let last_word = self.last_words && ends_in_secret_word(key);
        let key = folded(key);
        let one = || std::iter::once(key.as_str());
        (last_word || self.secret.iter().any(|rule| rule.is_single() && rule.matches(one())))
            && !self.allow.iter().any(|rule| rule.is_single() && rule.matches(one()))
    }

    /// The secrets of `doc`, outermost only, in ascending order.
    fn find(&self, doc: &Document) -> Vec<(NodeId, SecretMatch)> {
        let mut found = Vec::new();
        if self.reveal {
            return found;
        }
        // Most keys come again and again: whether rules could concern one is decided once.
        let mut suspects: HashMap<&str, bool> = HashMap::new();
        // In a list of words, the value of an option is the next word.
        let mut option_value = None;
        let mut node = 0;
        while node < doc.node_count() {
            let suspect = doc.raw_key(node).is_some_and(|raw| {
                *suspects.entry(raw).or_insert_with(|| doc.key(node).is_some_and(|key| self.is_suspect(&key)))
            });
            let secret =
                (suspect && self.is_secret(doc, node)) || option_value == Some(node) || self.is_named(doc, node);
            if secret && doc.kind(node) != NodeKind::Null {
                found.push((node, SecretMatch::Whole));
                node = doc.end(node);
                continue;
            }
            if doc.kind(node) == NodeKind::String {
                let raw = doc.raw(node);
                if let Some(masked) = self.string(raw) {
                    found.push((node, SecretMatch::Within(masked)));
                }
                option_value = self.option(raw).then(|| doc.end(node)).filter(|next| is_value_after(doc, node, *next));
            }
            node += 1;
        }
        found
    }

    /// The JSON string `raw` with the secrets in it replaced, and to the byte as it was in all else.
    fn string(&self, raw: &str) -> Option<String> {
        // Without its quotes: what is cut off within it ends where it does.
        let inside = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default();
        if !inside.trim_start_matches([' ', '\\', 'n', 't', 'r']).starts_with(['{', '[']) {
            return self.text_of_string(inside);
        }
        // JSON of its own has keys of its own, and rules that name several in a row.
        let text = unquote(raw);
        let Some(doc) = Document::parse(&*text).ok().filter(|doc| doc.kind(0).is_container()) else {
            return self.text_of_string(inside);
        };
        let found = self.replacements(&doc);
        if found.is_empty() {
            return None;
        }
        let mut spans: Vec<_> = found.iter().map(|(node, _)| doc.span(*node)).map(|s| (s.start, s.end)).collect();
        Escapes::Json.put_back(inside, &mut spans);
        let mut out = String::with_capacity(raw.len());
        let mut copied = 0;
        out.push('"');
        for ((_, json), (start, end)) in found.iter().zip(spans) {
            out.push_str(inside.get(copied..start).unwrap_or_default());
            let json = quote(json);
            out.push_str(&json[1..json.len() - 1]);
            copied = end;
        }
        out.push_str(&inside[copied..]);
        out.push('"');
        Some(out)
    }

    fn text_of_string(&self, inside: &str) -> Option<String> {
        free_text::redact_string(inside, |key| self.is_secret_name(key)).map(|masked| format!("\"{masked}\""))
    }

    /// Whether rules could concern a value with this key.
    fn is_suspect(&self, key: &str) -> bool {
        let (whole, last) = (folded(key), last_part(key));
        self.secret.iter().any(|rule| rule.ends_in(&whole))
            || (self.last_words && ends_in_secret_word(key))
            || (last != key && self.is_secret_name(last))
    }

    /// Whether it is the value of a pair whose name is a secret's: `{"name":"password","value":…}`.
    fn is_named(&self, doc: &Document, node: NodeId) -> bool {
        let is_value = doc.raw_key(node).is_some_and(|key| key.eq_ignore_ascii_case("\"value\""));
        let Some(pair) = doc.parent(node).filter(|_| is_value) else { return false };
        let is_name = |member: &NodeId| {
            let key = doc.raw_key(*member).unwrap_or_default();
            ["\"name\"", "\"key\""].iter().any(|name| key.eq_ignore_ascii_case(name))
                && doc.kind(*member) == NodeKind::String
        };
        // A pair has few members; an object with thousands is none.
        let names = doc.children(pair).take(16).filter(is_name).filter_map(|member| doc.scalar(member));
        let mut names = names.map(|name| self.is_secret_name(&name));
        names.any(|secret| secret)
    }

    /// Whether the JSON string is an option whose value is a secret: `"--token"`.
    fn option(&self, raw: &str) -> bool {
        let name =
            raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).map_or("", credential_patterns::option_name);
        !name.is_empty() && raw.len() == name.len() + 4 && self.is_secret_name(name)
    }

    fn is_secret(&self, doc: &Document, node: NodeId) -> bool {
        let chain = std::iter::successors(Some(node), |&inner| doc.parent(inner));
        // No rule is longer than this, and a path can have thousands of keys.
        let keys: Vec<String> = chain.filter_map(|n| doc.key(n)).take(8).map(|key| folded(&key)).collect();
        let all = || keys.iter().map(String::as_str);
        let alone =
            || doc.key(node).is_some_and(|key| self.is_secret_name(&key) || self.is_secret_name(last_part(&key)));
        (self.secret.iter().any(|rule| rule.matches(all())) || alone())
            && !self.allow.iter().any(|rule| rule.matches(all()))
    }
}

/// Whether `next` is a string in the same array as `node`, and no option itself.
fn is_value_after(doc: &Document, node: NodeId, next: NodeId) -> bool {
    let array = doc.parent(node).filter(|above| doc.kind(*above) == NodeKind::Array && next < doc.end(*above));
    array.is_some() && doc.kind(next) == NodeKind::String && !doc.raw(next).starts_with("\"-")
}

enum SecretMatch {
    /// The value is a secret.
    Whole,
    /// The string holds secrets; this is its JSON with them replaced.
    Within(String),
}

#[cfg(test)]
mod tests;
