//! A document on a screen: lines on demand, folds, search.

use std::ops::Range;

use super::document::{Document, NodeId, NodeKind, PathStep};
use super::highlights::{Cut, JsonHighlights};
use super::layout::{JsonFolds, JsonLayout, NodeEdge};
use super::line::{JsonLine, Lines, REDACTED};

/// A document, what a reading changes about it, and what is folded.
///
/// Building one takes a pass over the document; drawing takes time proportional to the lines drawn.
#[derive(Clone, Debug)]
pub struct View {
    doc: Document,
    marks: JsonHighlights,
    folds: JsonFolds,
    layout: JsonLayout,
    cap: usize,
}

impl View {
    /// Characters of a single value that are shown at first.
    pub const CAP: usize = 2_000;

    /// Shows `doc` with `marks` and nothing folded.
    pub fn new(doc: Document, marks: JsonHighlights) -> Self {
        let folds = JsonFolds::default();
        let layout = JsonLayout::new(&doc, &marks, &folds);
        Self { doc, marks, folds, layout, cap: Self::CAP }
    }

    /// The document.
    pub fn doc(&self) -> &Document {
        &self.doc
    }

    /// What the present reading changes about the display.
    pub fn marks(&self) -> &JsonHighlights {
        &self.marks
    }

    /// Changes the reading: to the raw document and back, or to reveal what was redacted. Folds stay.
    pub fn set_marks(&mut self, marks: JsonHighlights) {
        self.marks = marks;
        self.arrange();
    }

    /// Shows at most `chars` characters of a single value; the rest is named by its size.
    pub fn set_cap(&mut self, chars: usize) {
        self.cap = chars;
    }

    /// How many lines there are.
    pub fn total_lines(&self) -> usize {
        self.layout.total()
    }

    /// The lines in `range`, fewer where the document ends before.
    pub fn lines(&self, range: Range<usize>) -> impl Iterator<Item = JsonLine<'_>> {
        let next = self.layout.place(&self.doc, range.start);
        let indent = match next {
            Some(NodeEdge::Open(node)) => self.doc.depth(node),
            Some(NodeEdge::Close(node)) => self.doc.depth(node) + 1,
            None => 0,
        };
        let lines = Lines { doc: &self.doc, marks: &self.marks, folds: &self.folds, cap: self.cap, next, indent };
        lines.take(range.len())
    }

    /// The value that begins or ends on `line`.
    pub fn node_at(&self, line: usize) -> Option<NodeId> {
        self.layout.place(&self.doc, line).map(|place| match place {
            NodeEdge::Open(node) | NodeEdge::Close(node) => node,
        })
    }

    /// The line on which `node` is seen: its own, or that of the fold or cut around it.
    pub fn line_of(&self, node: NodeId) -> usize {
        self.layout.line_of(&self.doc, node)
    }

    /// The path of the value on `line`, as filters write it: `user.id`. Indices are part of it.
    pub fn path_at(&self, line: usize) -> Option<String> {
        self.node_at(line).map(|node| self.doc.path(node))
    }

    /// What copying the value on `line` gives: exact JSON, or the text shown in its place.
    ///
    /// A container is copied whole, with what is redacted inside it replaced.
    pub fn value_at(&self, line: usize) -> Option<String> {
        let node = self.node_at(line)?;
        Some(match self.marks.at(node) {
            Some(Cut::Redacted | Cut::Hidden) => REDACTED.to_owned(),
            Some(Cut::Shown(text, _)) => text.to_string(),
            Some(Cut::Masked(json)) => json.clone(),
            None => self.redacted_copy(node),
        })
    }

    fn redacted_copy(&self, node: NodeId) -> String {
        let end = self.doc.end(node);
        let secret: Vec<(NodeId, &str)> =
            self.marks.cuts().filter_map(|(n, cut)| Some((n, cut.redacted_json()?))).collect();
        let inside = secret.iter().any(|&(n, _)| n >= node && n < end);
        if !inside {
            return self.doc.raw(node).to_owned();
        }
        // The offsets move with the replaced values, so the copy is indexed again.
        let copy = Document::parse(self.doc.replace(&secret)).ok();
        let found = copy.as_ref().and_then(|copy| Some(copy.raw(copy.find(&self.doc.steps(node))?)));
        found.map_or_else(|| REDACTED.to_owned(), str::to_owned)
    }

    /// Folds the container that begins or ends on `line`, or unfolds it. Returns the line to stand on afterwards.
    pub fn toggle(&mut self, line: usize) -> usize {
        let Some(node) = self.node_at(line) else {
            return line;
        };
        if self.doc.is_leaf(node) || self.marks.at(node).is_some() {
            return line;
        }
        self.folds.set(node, !self.folds.contains(node));
        self.arrange();
        self.line_of(node)
    }

    /// Folds every container at `depth` (1: those directly inside the root), and nothing else.
    pub fn fold_depth(&mut self, depth: u32) {
        self.folds = JsonFolds::default();
        let (mut node, mut above) = (0, 0);
        while node < self.doc.node_count() {
            let container = self.doc.kind(node).is_container() && !self.doc.is_leaf(node);
            if container && above >= depth {
                self.folds.set(node, true);
            }
            let behind = if container && above < depth { node + 1 } else { self.doc.end(node) };
            above = if behind < self.doc.node_count() { self.doc.depth(behind) } else { 0 };
            node = behind;
        }
        self.arrange();
    }

    /// Unfolds everything.
    pub fn unfold_all(&mut self) {
        self.folds = JsonFolds::default();
        self.arrange();
    }

    /// Unfolds what hides `node`, and returns its line.
    pub fn reveal(&mut self, node: NodeId) -> usize {
        let mut above = self.doc.parent(node);
        while let Some(container) = above {
            self.folds.set(container, false);
            above = self.doc.parent(container);
        }
        self.arrange();
        self.line_of(node)
    }

    /// The folds as paths, to be kept while the job is loaded again.
    pub fn fold_paths(&self) -> Vec<Vec<PathStep>> {
        self.folds.paths(&self.doc)
    }

    /// Takes over folds that were kept as paths.
    pub fn set_fold_paths(&mut self, paths: &[Vec<PathStep>]) {
        self.folds = JsonFolds::from_paths(&self.doc, paths);
        self.arrange();
    }

    /// Whether the root holds other values, so that there is something to fold.
    pub fn is_structured(&self) -> bool {
        matches!(self.doc.kind(0), NodeKind::Object | NodeKind::Array) && !self.doc.is_leaf(0)
    }

    fn arrange(&mut self) {
        self.layout.arrange(&self.doc, &self.marks, &self.folds);
    }
}

#[cfg(test)]
mod tests;
