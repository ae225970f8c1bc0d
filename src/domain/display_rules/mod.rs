//! Notation: payloads as a developer of the job's framework reads them, by rules that its adapter brings.
//!
//! Frameworks wrap values that JSON has no word for in objects with keys of their own. A notation says which objects
//! stand for one value and how to write it, which keys are symbols, and which keys are not worth a line. It only marks
//! a [`Document`]: the document itself stays as it was and is shown as such at the press of a key.

mod show;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::json::{Cut, Document, JsonHighlights, NodeId, NodeKind, TokenKind};
use super::redact::glob;
pub use show::Show;

/// The `[notation]` table of an adapter.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Notation {
    /// Keys whose members get no line; `*` stands for any characters.
    pub hide_keys: Words,
    /// Keys whose value lists the keys, of the same object, that are symbols: shown as `key:`.
    pub symbol_keys: Words,
    /// Keys whose value lists the keys, of the same object, that are keyword arguments: shown as `key:`.
    pub keyword_keys: Words,
    /// Objects that stand for one value. The first rule that fits is taken.
    #[serde(rename = "rule")]
    pub rules: Vec<DisplayRule>,
}

/// One word or several.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Words {
    /// `"a"`
    One(String),
    /// `["a", "b"]`
    Many(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Words::Many(Vec::new())
    }
}

impl Words {
    fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Words::One(word) => std::slice::from_ref(word),
            Words::Many(words) => words.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }
}

/// How to write objects of one sort.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DisplayRule {
    /// Which objects.
    pub when: When,
    /// What to write: text in which `{path}` stands for the value at that path inside the object, `{}` for the value
    /// itself, and `{{` for a brace. The rule does not fit where a path leads nowhere.
    pub show: Show,
    /// Path of an array: `show` is then written for each of its elements, paths starting there.
    pub each: Option<String>,
    /// What stands between the elements of `each`.
    #[serde(default = "comma")]
    pub join: String,
    /// What the text is coloured as.
    #[serde(default = "string", rename = "as")]
    pub kind: TokenKind,
}

fn comma() -> String {
    ", ".to_owned()
}

fn string() -> TokenKind {
    TokenKind::String
}

/// Which objects a rule fits.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum When {
    /// Those that have this key.
    Has(String),
    /// Those whose members have these values, as text; `*` in a string stands for any characters.
    Equals(BTreeMap<String, Literal>),
}

/// A value that a member is compared with.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(String),
}

impl Literal {
    fn fits(&self, text: &str) -> bool {
        match self {
            Literal::Bool(value) => text == if *value { "true" } else { "false" },
            Literal::Integer(value) => text == value.to_string(),
            Literal::Text(pattern) => glob(pattern, text),
        }
    }
}

impl When {
    fn keys(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            When::Has(key) => (Some(key), None),
            When::Equals(members) => (None, Some(members.keys())),
        };
        one.into_iter().chain(many.into_iter().flatten()).map(String::as_str)
    }

    fn fits(&self, doc: &Document, object: NodeId) -> bool {
        match self {
            When::Has(key) => doc.members(object, key).next().is_some(),
            When::Equals(members) => members.iter().all(|(key, value)| {
                doc.members(object, key).any(|member| doc.scalar(member).is_some_and(|text| value.fits(&text)))
            }),
        }
    }
}

impl Notation {
    /// Whether there is nothing that it would change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Marks what it reads in `doc`. Secrets are to be marked before, and stay.
    pub fn mark(&self, doc: &Document, marks: &mut JsonHighlights) {
        if self.is_empty() {
            return;
        }
        let triggers: HashSet<&str> = self.rules.iter().flat_map(|rule| rule.when.keys()).collect();
        let mut node = 0;
        while node < doc.node_count() {
            if marks.at(node).is_some() {
                node = doc.end(node);
                continue;
            }
            if doc.kind(node) == NodeKind::Object {
                let worth = doc.children(node).any(|child| doc.key(child).is_some_and(|key| triggers.contains(&*key)));
                let written = if worth { self.written(doc, marks, node) } else { None };
                if let Some((text, kind)) = written {
                    marks.cut(node, Cut::Shown(Cow::Owned(text), kind));
                    node = doc.end(node);
                    continue;
                }
                self.mark_members(doc, marks, node);
            }
            node += 1;
        }
    }

    fn mark_members(&self, doc: &Document, marks: &mut JsonHighlights, object: NodeId) {
        let symbols = self.listed(doc, object);
        let mut left = doc.is_leaf(object);
        for member in doc.children(object) {
            let Some(key) = doc.key(member) else { continue };
            if self.hide_keys.iter().any(|pattern| glob(pattern, &key)) {
                marks.cut(member, Cut::Hidden);
            } else if symbols.contains(&*key) {
                marks.symbol(member);
            }
            left |= !marks.is_hidden(member);
        }
        if !left {
            marks.cut(object, Cut::Shown(Cow::Borrowed("{}"), TokenKind::Punct));
        }
    }

    /// The keys of `object` that its own lists name.
    fn listed(&self, doc: &Document, object: NodeId) -> HashSet<String> {
        let lists = self.symbol_keys.iter().chain(self.keyword_keys.iter());
        let arrays = lists.flat_map(|list| doc.members(object, list));
        arrays.flat_map(|array| doc.children(array)).filter_map(|key| Some(doc.scalar(key)?.into_owned())).collect()
    }

    /// The text that stands for `object`, if a rule fits it.
    fn written(&self, doc: &Document, marks: &JsonHighlights, object: NodeId) -> Option<(String, TokenKind)> {
        self.write(doc, marks, object, 0)
    }

    fn write(&self, doc: &Document, marks: &JsonHighlights, object: NodeId, depth: u32) -> Option<(String, TokenKind)> {
        self.rules.iter().filter(|rule| rule.when.fits(doc, object)).find_map(|rule| {
            let reader = show::ValuePrinter { notation: self, doc, marks, depth };
            Some((reader.write(rule, object)?, rule.kind))
        })
    }
}

#[cfg(test)]
mod tests;
