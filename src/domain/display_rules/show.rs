//! Writing one object as a rule says.

use serde::Deserialize;

use super::{DisplayRule, Notation};
use crate::domain::json::{Cut, Document, JsonHighlights, NodeId, NodeKind, unquote};
use crate::domain::redact::{REDACTED, glob};
use crate::domain::text::head;

/// Levels of containers that are written within a line.
const MAX_DEPTH: u32 = 3;
/// Members or elements of one container that are written within a line.
const MAX_ITEMS: usize = 8;
/// Characters of one value within a line.
const MAX_CHARS: usize = 500;

/// A text with places: `{value} {zone.name}`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub struct Show {
    /// What stands before each place, and the path that fills it.
    places: Vec<(String, Vec<String>)>,
    rest: String,
}

impl TryFrom<String> for Show {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut places = Vec::new();
        let mut literal = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                literal.push('{');
                rest = after;
                continue;
            }
            let (path, after) = rest.split_once('}').ok_or_else(|| format!("`{text}`: a `{{` is never closed"))?;
            let steps = path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect();
            places.push((std::mem::take(&mut literal), steps));
            rest = after;
        }
        Ok(Self { places, rest: literal + rest })
    }
}

pub(super) struct ValuePrinter<'a> {
    pub notation: &'a Notation,
    pub doc: &'a Document,
    pub marks: &'a JsonHighlights,
    pub depth: u32,
}

impl ValuePrinter<'_> {
    /// The text for `object`; `None` where a path of the rule leads nowhere.
    pub(super) fn write(&self, rule: &DisplayRule, object: NodeId) -> Option<String> {
        let Some(each) = &rule.each else {
            return self.fill(&rule.show, object);
        };
        let path: Vec<String> = each.split('.').map(str::to_owned).collect();
        let array = self.follow(object, &path).filter(|&node| self.doc.kind(node) == NodeKind::Array)?;
        let texts: Option<Vec<String>> =
            self.doc.children(array).take(MAX_ITEMS).map(|item| self.fill(&rule.show, item)).collect();
        texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join(&rule.join))
    }

    fn fill(&self, show: &Show, from: NodeId) -> Option<String> {
        let mut out = String::new();
        for (before, path) in &show.places {
            out.push_str(before);
            out.push_str(&self.text(self.follow(from, path)?, false));
        }
        out.push_str(&show.rest);
        Some(out)
    }

    /// Follows a path; it ends early at a secret, which is then what is written.
    fn follow(&self, from: NodeId, path: &[String]) -> Option<NodeId> {
        path.iter().try_fold(from, |node, step| {
            if self.marks.is_redacted(node) {
                return Some(node);
            }
            match self.doc.kind(node) {
                NodeKind::Object => self.doc.members(node, step).next(),
                NodeKind::Array => self.doc.children(node).nth(step.parse().ok()?),
                _ => None,
            }
        })
    }

    /// A value within a line: strings bare at the top and quoted inside containers, objects by the rules.
    fn text(&self, node: NodeId, quoted: bool) -> String {
        match self.marks.at(node) {
            Some(Cut::Masked(json)) => return head(&unquote(json), MAX_CHARS).to_owned(),
            Some(Cut::Redacted) => return REDACTED.to_owned(),
            Some(Cut::Hidden | Cut::Shown(..)) | None => {}
        }
        let kind = self.doc.kind(node);
        match kind {
            NodeKind::Object | NodeKind::Array => self.container(node, kind),
            NodeKind::String if quoted => head(self.doc.raw(node), MAX_CHARS).to_owned(),
            _ => self.doc.scalar(node).map_or_else(String::new, |text| head(&text, MAX_CHARS).to_owned()),
        }
    }

    fn container(&self, node: NodeId, kind: NodeKind) -> String {
        let (open, close) = if kind == NodeKind::Object { ('{', '}') } else { ('[', ']') };
        if self.depth >= MAX_DEPTH {
            return format!("{open}…{close}");
        }
        let below = ValuePrinter { depth: self.depth + 1, ..*self };
        if kind == NodeKind::Object
            && let Some((text, _)) = self.notation.write(self.doc, self.marks, node, below.depth)
        {
            return text;
        }
        let symbols = self.notation.listed(self.doc, node);
        let hidden = |key: &str| self.notation.hide_keys.iter().any(|pattern| glob(pattern, key));
        let mut items = self.doc.children(node).filter(|&item| !self.doc.key(item).is_some_and(|key| hidden(&key)));
        let shown: Vec<String> = items
            .by_ref()
            .take(MAX_ITEMS)
            .map(|item| match self.doc.key(item) {
                Some(key) if symbols.contains(&*key) => format!("{key}: {}", below.text(item, true)),
                Some(_) => format!("{}: {}", self.doc.raw_key(item).unwrap_or(""), below.text(item, true)),
                None => below.text(item, true),
            })
            .collect();
        let more = if items.next().is_some() { ", …" } else { "" };
        format!("{open}{}{more}{close}", shown.join(", "))
    }
}
