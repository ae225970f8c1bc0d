//! One line of a document as a screen shows it: pieces with the kind that decides their colour.

use std::borrow::Cow;

use serde::Deserialize;

use super::document::{Document, NodeId, NodeKind};
use super::highlights::{Cut, JsonHighlights};
use super::layout::{JsonFolds, NodeEdge};
use super::string::readable;
use crate::domain::text::{Clean, head};

/// What a piece of a line is. Adapter files write these words in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// A member's key.
    Key,
    /// A string, or what is read as one.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`.
    Null,
    /// A symbol of the job's language.
    Symbol,
    /// Brackets, colons and commas.
    Punct,
    /// The program's own word: what is folded, cut off or redacted.
    Marker,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonToken<'a> {
    /// What it is.
    pub kind: TokenKind,
    text: Cow<'a, str>,
}

impl JsonToken<'_> {
    /// The text for a screen.
    pub fn clean(&self) -> Clean<'_> {
        Clean::line(&self.text)
    }

    /// The text as it stands in the document; never for a terminal.
    pub fn exact(&self) -> &str {
        &self.text
    }
}

/// One line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonLine<'a> {
    /// The value that begins or ends here.
    pub node: NodeId,
    /// Whether it is where a container ends.
    pub closing: bool,
    /// Levels of indentation; there may be thousands.
    pub indent: u32,
    /// Whether the line can be folded, and is.
    pub fold: Option<bool>,
    /// The pieces, in order, spaces included.
    pub tokens: Vec<JsonToken<'a>>,
}

impl JsonLine<'_> {
    /// The whole line without indentation, for a screen.
    pub fn clean(&self) -> Clean<'static> {
        let text: String = self.tokens.iter().map(JsonToken::exact).collect();
        Clean::line(&text).into_owned()
    }
}

/// What stands in place of a secret, on screens and in text.
pub const REDACTED: &str = "[redacted]";

/// Members that a folded container counts before it says "more than".
const COUNTED: usize = 1_000;

/// Walks over the lines of a document from one place on.
pub(super) struct Lines<'a> {
    pub doc: &'a Document,
    pub marks: &'a JsonHighlights,
    pub folds: &'a JsonFolds,
    /// Characters of a value that are shown.
    pub cap: usize,
    pub next: Option<NodeEdge>,
    pub indent: u32,
}

impl<'a> Iterator for Lines<'a> {
    type Item = JsonLine<'a>;

    fn next(&mut self) -> Option<JsonLine<'a>> {
        loop {
            match self.next? {
                NodeEdge::Open(node) if self.marks.is_hidden(node) => self.advance_behind(node),
                NodeEdge::Open(node) => return Some(self.opening(node)),
                NodeEdge::Close(node) => return Some(self.closing(node)),
            }
        }
    }
}

impl<'a> Lines<'a> {
    fn opening(&mut self, node: NodeId) -> JsonLine<'a> {
        let indent = self.indent;
        let mut tokens = self.key(node);
        let mut fold = None;
        let cut = self.marks.at(node);
        let open = cut.is_none() && !self.doc.is_leaf(node);
        if let Some(cut) = cut {
            tokens.push(cut_token(cut, self.cap));
        } else if open {
            let folded = self.folds.contains(node);
            fold = Some(folded);
            self.bracket(node, folded, &mut tokens);
        } else {
            self.value(node, &mut tokens);
        }
        if open && fold == Some(false) {
            self.indent += 1;
            self.next = Some(NodeEdge::Open(node + 1));
        } else {
            self.comma(node, &mut tokens);
            self.advance_behind(node);
        }
        JsonLine { node, closing: false, indent, fold, tokens }
    }

    fn closing(&mut self, node: NodeId) -> JsonLine<'a> {
        self.indent = self.indent.saturating_sub(1);
        let indent = self.indent;
        let mut tokens = vec![punct(brackets(self.doc.kind(node)).1)];
        self.comma(node, &mut tokens);
        self.advance_behind(node);
        JsonLine { node, closing: true, indent, fold: Some(false), tokens }
    }

    fn advance_behind(&mut self, node: NodeId) {
        let end = self.doc.end(node);
        self.next = self
            .doc
            .parent(node)
            .map(|above| if self.doc.end(above) == end { NodeEdge::Close(above) } else { NodeEdge::Open(end) });
    }

    fn key(&self, node: NodeId) -> Vec<JsonToken<'a>> {
        let Some(raw) = self.doc.raw_key(node) else {
            return Vec::new();
        };
        let bare = raw.trim_matches('"');
        let plain = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b"_?!".contains(&b));
        let shown = if self.marks.is_symbol(node) && plain { bare } else { raw };
        let (shown, _) = capped(shown, self.cap);
        vec![JsonToken { kind: TokenKind::Key, text: shown }, punct(": ")]
    }

    fn bracket(&self, node: NodeId, folded: bool, tokens: &mut Vec<JsonToken<'a>>) {
        let kind = self.doc.kind(node);
        let (open, close) = brackets(kind);
        tokens.push(punct(open));
        if folded {
            let n = self.doc.children(node).filter(|&n| !self.marks.is_hidden(n)).take(COUNTED + 1).count();
            let noun = if kind == NodeKind::Object { "key" } else { "item" };
            let (n, more) = (n.min(COUNTED), if n > COUNTED { "+" } else { "" });
            let plural = if n == 1 { "" } else { "s" };
            let text = Cow::Owned(format!(" … {n}{more} {noun}{plural} "));
            tokens.push(JsonToken { kind: TokenKind::Marker, text });
            tokens.push(punct(close));
        }
    }

    fn value(&self, node: NodeId, tokens: &mut Vec<JsonToken<'a>>) {
        let kind = match self.doc.kind(node) {
            NodeKind::Object => return tokens.push(punct("{}")),
            NodeKind::Array => return tokens.push(punct("[]")),
            NodeKind::String => TokenKind::String,
            NodeKind::Number => TokenKind::Number,
            NodeKind::Bool => TokenKind::Bool,
            NodeKind::Null => TokenKind::Null,
        };
        let raw = self.doc.raw(node);
        let (text, whole) = capped(raw, self.cap);
        tokens.push(JsonToken { kind, text });
        if !whole {
            let text = Cow::Owned(format!("… {}", size(raw.len())));
            tokens.push(JsonToken { kind: TokenKind::Marker, text });
        }
    }

    fn comma(&self, node: NodeId, tokens: &mut Vec<JsonToken<'a>>) {
        let Some(above) = self.doc.parent(node) else {
            return;
        };
        let mut sibling = self.doc.end(node);
        while sibling < self.doc.end(above) {
            if !self.marks.is_hidden(sibling) {
                return tokens.push(punct(","));
            }
            sibling = self.doc.end(sibling);
        }
    }
}

fn cut_token(cut: &Cut, cap: usize) -> JsonToken<'_> {
    match cut {
        Cut::Shown(text, kind) => JsonToken { kind: *kind, text: Cow::Borrowed(head(text, cap)) },
        Cut::Masked(json) => JsonToken { kind: TokenKind::String, text: capped(json, cap).0 },
        Cut::Redacted | Cut::Hidden => JsonToken { kind: TokenKind::Marker, text: Cow::Borrowed(REDACTED) },
    }
}

/// The start of a value as a screen shows it, and whether that is the whole.
fn capped(raw: &str, cap: usize) -> (Cow<'_, str>, bool) {
    let mut shown = head(raw, cap);
    if shown.len() == raw.len() {
        return (readable(raw), true);
    }
    // An escape that was cut in two is left out.
    let tail = shown.len() - head_of_tail(shown).len();
    if let Some(at) = shown[tail..].find("\\u").filter(|at| shown.len() - tail - at < 6) {
        shown = &shown[..tail + at];
    } else if (shown.len() - shown.trim_end_matches('\\').len()) % 2 == 1 {
        shown = &shown[..shown.len() - 1];
    }
    (readable(shown), false)
}

/// The last few characters, in which an escape may have been cut.
fn head_of_tail(text: &str) -> &str {
    let at = text.char_indices().rev().nth(5).map_or(0, |(at, _)| at);
    &text[at..]
}

fn brackets(kind: NodeKind) -> (&'static str, &'static str) {
    if kind == NodeKind::Object { ("{", "}") } else { ("[", "]") }
}

fn punct(text: &'static str) -> JsonToken<'static> {
    JsonToken { kind: TokenKind::Punct, text: Cow::Borrowed(text) }
}

/// A size as people read it: `912 B`, `4.1 KB`, `10.0 MB`.
fn size(bytes: usize) -> String {
    let (kb, mb) = (1_000, 1_000_000);
    match bytes {
        n if n >= mb => format!("{}.{} MB", n / mb, n % mb / 100_000),
        n if n >= kb => format!("{}.{} KB", n / kb, n % kb / 100),
        n => format!("{n} B"),
    }
}
