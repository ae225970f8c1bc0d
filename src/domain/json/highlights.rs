//! What a reading changes about a document's display, without touching the document.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::document::NodeId;
use super::line::TokenKind;

/// What stands in place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing: the member's line is gone.
    Hidden,
    /// A text of one line, coloured as that kind.
    Shown(Cow<'static, str>, TokenKind),
    /// `[redacted]`.
    Redacted,
    /// The same JSON string with the secrets in it replaced.
    Masked(String),
}

impl Cut {
    /// The JSON that stands for a redacted value in copies and exports; `None` for other cuts.
    pub fn redacted_json(&self) -> Option<&str> {
        match self {
            Cut::Redacted => Some("\"[redacted]\""),
            Cut::Masked(json) => Some(json),
            Cut::Hidden | Cut::Shown(..) => None,
        }
    }
}

/// Cuts and key styles by node. What lies inside a cut value is not displayed and not searched.
///
/// Redaction comes first and stays: no other cut replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonHighlights {
    cuts: BTreeMap<NodeId, Cut>,
    symbols: BTreeSet<NodeId>,
}

impl JsonHighlights {
    /// Puts `cut` in place of `node`, unless it is redacted.
    pub fn cut(&mut self, node: NodeId, cut: Cut) {
        if !self.is_redacted(node) {
            self.cuts.insert(node, cut);
        }
    }

    /// Shows the key of `node` as a symbol, `key:`, instead of as a string.
    pub fn symbol(&mut self, node: NodeId) {
        self.symbols.insert(node);
    }

    /// What stands in place of `node`, if anything does.
    pub fn at(&self, node: NodeId) -> Option<&Cut> {
        self.cuts.get(&node)
    }

    /// Whether the key of `node` is shown as a symbol.
    pub fn is_symbol(&self, node: NodeId) -> bool {
        self.symbols.contains(&node)
    }

    /// Whether `node` itself is redacted, wholly or in part.
    pub fn is_redacted(&self, node: NodeId) -> bool {
        matches!(self.at(node), Some(Cut::Redacted | Cut::Masked(_)))
    }

    /// Whether `node` shows nothing at all.
    pub fn is_hidden(&self, node: NodeId) -> bool {
        matches!(self.at(node), Some(Cut::Hidden))
    }

    /// The nodes with a cut, in ascending order.
    pub fn cuts(&self) -> impl Iterator<Item = (NodeId, &Cut)> {
        self.cuts.iter().map(|(&node, cut)| (node, cut))
    }
}
