//! The index over one JSON text.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{self, JsonError};
use super::string::unquote;

/// A value of a [`Document`], numbered in the order in which values begin in the text; the root is 0.
pub type NodeId = u32;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number, of any size and precision.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl NodeKind {
    /// Whether values of this kind hold others.
    pub fn is_container(self) -> bool {
        matches!(self, NodeKind::Object | NodeKind::Array)
    }
}

/// One step of a path from the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    /// A member, by its key (unescaped), and which of the members with that key, from 0.
    Key(String, u32),
    /// An element, from 0.
    Index(u32),
}

/// Sixteen bytes a value; everything else is read from the text when it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Offset of the value's first byte.
    pub start: u32,
    /// Offset of the quote that opens the member's key; [`NO_KEY`] for elements and the root.
    pub key: u32,
    /// The node after this one and all that it holds.
    pub end: NodeId,
    /// The container that holds it; the root names itself.
    pub parent: NodeId,
}

pub(super) const NO_KEY: u32 = u32::MAX;

/// A JSON text that was checked and indexed.
///
/// Nothing here recurses, so depth is limited by memory only.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    pub(super) nodes: Vec<Node>,
}

impl Document {
    /// Checks and indexes `text`.
    ///
    /// # Errors
    /// Says where and why when `text` is not one JSON value, or is larger than 4 GiB.
    pub fn parse(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = text.into();
        let nodes = parse::index(&text)?;
        Ok(Self { text, nodes })
    }

    /// The text, exactly as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many values there are; never 0.
    pub fn node_count(&self) -> u32 {
        // The parser refuses texts that could hold more.
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// What `node` is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        match self.text.as_bytes().get(self.node(node).start as usize) {
            Some(b'{') => NodeKind::Object,
            Some(b'[') => NodeKind::Array,
            Some(b'"') => NodeKind::String,
            Some(b't' | b'f') => NodeKind::Bool,
            Some(b'n') => NodeKind::Null,
            _ => NodeKind::Number,
        }
    }

    /// The container that holds `node`; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node != 0).then(|| self.node(node).parent)
    }

    /// The node that follows `node` and everything inside it.
    pub fn end(&self, node: NodeId) -> NodeId {
        self.node(node).end
    }

    /// Whether `node` holds no other values.
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.end(node) == node + 1
    }

    /// The values directly inside `node`, in order.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (mut next, end) = (node + 1, self.end(node));
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.end(child);
            Some(child)
        })
    }

    /// The members of `node` with that key; several where the key is repeated.
    pub fn members<'a>(&'a self, node: NodeId, key: &'a str) -> impl Iterator<Item = NodeId> + 'a {
        self.children(node).filter(move |&child| self.key(child).as_deref() == Some(key))
    }

    /// The values at a dotted path: of members with the same key, each; a number names an element.
    pub fn at(&self, path: &str) -> Vec<NodeId> {
        path.split('.').fold(vec![0], |nodes, word| {
            let below = |node: NodeId| -> Vec<NodeId> {
                match (self.kind(node), word.parse::<usize>()) {
                    (NodeKind::Array, Ok(nth)) => self.children(node).nth(nth).into_iter().collect(),
                    _ => self.members(node, word).collect(),
                }
            };
            nodes.into_iter().flat_map(below).collect()
        })
    }

    /// The member's key, unescaped; `None` for elements and the root.
    pub fn key(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.raw_key(node).map(unquote)
    }

    /// The member's key as written, with its quotes.
    pub fn raw_key(&self, node: NodeId) -> Option<&str> {
        let Node { key, start, .. } = self.node(node);
        if key == NO_KEY {
            return None;
        }
        Some(self.text.get(key as usize..start as usize)?.trim_end_matches([' ', '\t', '\r', '\n', ':']))
    }

    /// The value as written.
    pub fn raw(&self, node: NodeId) -> &str {
        self.text.get(self.span(node)).unwrap_or("")
    }

    /// A scalar as text: strings unescaped, the others as written; `None` for containers.
    pub fn scalar(&self, node: NodeId) -> Option<Cow<'_, str>> {
        match self.kind(node) {
            NodeKind::Object | NodeKind::Array => None,
            NodeKind::String => Some(unquote(self.raw(node))),
            NodeKind::Number | NodeKind::Bool | NodeKind::Null => Some(Cow::Borrowed(self.raw(node))),
        }
    }

    /// How many containers hold `node`; 0 for the root.
    pub fn depth(&self, node: NodeId) -> u32 {
        std::iter::successors(self.parent(node), |&above| self.parent(above)).fold(0, |n, _| n + 1)
    }

    /// Where the value stands in the text.
    pub fn span(&self, node: NodeId) -> Range<usize> {
        let start = self.node(node).start as usize;
        if !self.kind(node).is_container() {
            return start..self.scalar_end(node);
        }
        let (last, mut open) = self.last_inside(node);
        let mut at = if last == node || self.kind(last).is_container() {
            self.node(last).start as usize + 1
        } else {
            self.scalar_end(last)
        };
        // Behind the last value only closers, commas and space can stand before the bracket looked for.
        while let Some(byte) = self.text.as_bytes().get(at) {
            at += 1;
            if matches!(byte, b']' | b'}') {
                if open == 0 {
                    break;
                }
                open -= 1;
            }
        }
        start..at
    }

    /// The last node inside `node`, and how many containers below `node` are closed behind it.
    fn last_inside(&self, node: NodeId) -> (NodeId, u32) {
        let last = self.end(node) - 1;
        let mut open = u32::from(last != node && self.kind(last).is_container());
        let mut above = self.node(last).parent;
        while last != node && above != node {
            open += 1;
            above = self.node(above).parent;
        }
        (last, open)
    }

    /// Where a scalar ends: before it, the next value begins; between the two stand only marks and space.
    fn scalar_end(&self, node: NodeId) -> usize {
        let limit = match self.nodes.get(node as usize + 1) {
            Some(next) => next.key.min(next.start) as usize,
            None => self.text.len(),
        };
        let start = self.node(node).start as usize;
        let between = self.text.get(start..limit).unwrap_or("");
        start + between.trim_end_matches([' ', '\t', '\r', '\n', ',', ']', '}']).len()
    }

    /// The path to `node`.
    pub fn steps(&self, node: NodeId) -> Vec<PathStep> {
        let mut steps: Vec<PathStep> = self.chain(node).map(|(above, child)| self.step(above, child)).collect();
        steps.reverse();
        steps
    }

    fn chain(&self, node: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        std::iter::successors(Some(node), |&child| self.parent(child))
            .filter_map(|child| self.parent(child).map(|above| (above, child)))
    }

    fn step(&self, above: NodeId, child: NodeId) -> PathStep {
        let before = self.children(above).take_while(|&sibling| sibling != child);
        match self.key(child) {
            Some(key) => {
                let nth = before.filter(|&sibling| self.key(sibling).as_deref() == Some(&*key)).count();
                PathStep::Key(key.into_owned(), u32::try_from(nth).unwrap_or(u32::MAX))
            }
            None => PathStep::Index(u32::try_from(before.count()).unwrap_or(u32::MAX)),
        }
    }

    /// The value at the end of `steps`, where there is one.
    pub fn find(&self, steps: &[PathStep]) -> Option<NodeId> {
        steps.iter().try_fold(0, |node, step| match step {
            PathStep::Key(key, nth) => self.members(node, key).nth(*nth as usize),
            PathStep::Index(nth) if self.kind(node) == NodeKind::Array => self.children(node).nth(*nth as usize),
            PathStep::Index(_) => None,
        })
    }

    /// The path to `node` as people and filters write it, `0.user.id`; empty for the root.
    pub fn path(&self, node: NodeId) -> String {
        let words: Vec<String> = self
            .steps(node)
            .into_iter()
            .map(|step| match step {
                PathStep::Key(key, _) => key,
                PathStep::Index(nth) => nth.to_string(),
            })
            .collect();
        words.join(".")
    }

    /// The text with some values replaced, everything else to the byte as it was.
    ///
    /// `values` are nodes in ascending order with the JSON to put there; one that lies inside another is left out.
    pub fn replace(&self, values: &[(NodeId, &str)]) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut copied = 0;
        for &(node, json) in values {
            let span = self.span(node);
            if span.start < copied {
                continue;
            }
            out.push_str(self.text.get(copied..span.start).unwrap_or(""));
            out.push_str(json);
            copied = span.end;
        }
        out.push_str(self.text.get(copied..).unwrap_or(""));
        out
    }

    fn node(&self, node: NodeId) -> Node {
        // A number from another document is answered by an empty root instead of a panic.
        let nowhere = Node { start: u32::MAX, key: NO_KEY, end: node.saturating_add(1), parent: 0 };
        self.nodes.get(node as usize).copied().unwrap_or(nowhere)
    }
}

#[cfg(test)]
mod tests;
