//! Which line shows which value, without laying out any line that is not asked for.
//!
//! Laid out in full, each value opens a line and each container that is not empty closes one. The number of a value's
//! line is known at every [`STRIDE`]th value and counted up from there. Folds and cuts take lines away; the outermost of
//! them are kept in order with the lines that are gone before them, so that both directions are a binary search.

use std::collections::BTreeSet;

use super::document::{Document, NodeId, PathStep};
use super::highlights::{Cut, JsonHighlights};

/// Values between two whose line is remembered.
const STRIDE: usize = 16;

/// The containers that are folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonFolds(BTreeSet<NodeId>);

impl JsonFolds {
    /// Folds `node`, or unfolds it.
    pub fn set(&mut self, node: NodeId, folded: bool) {
        if folded {
            self.0.insert(node);
        } else {
            self.0.remove(&node);
        }
    }

    /// Whether `node` is folded.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    /// The paths of the folded containers: what to keep of them while the job is loaded again.
    pub fn paths(&self, doc: &Document) -> Vec<Vec<PathStep>> {
        self.0.iter().map(|&node| doc.steps(node)).collect()
    }

    /// The folds at those `paths`; paths that lead nowhere any more are forgotten.
    pub fn from_paths(doc: &Document, paths: &[Vec<PathStep>]) -> Self {
        Self(paths.iter().filter_map(|steps| doc.find(steps)).filter(|&n| doc.kind(n).is_container()).collect())
    }
}

/// A line of the full layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeEdge {
    /// Where a value begins.
    Open(NodeId),
    /// Where a container that is not empty ends.
    Close(NodeId),
}

/// An outermost fold or cut.
#[derive(Clone, Copy, Debug)]
struct Gap {
    node: NodeId,
    /// The line on which it begins, gaps before it taken away.
    line: usize,
    /// Lines of it that are still shown: 1, or 0 where it is hidden.
    kept: usize,
    /// Lines taken away before it.
    before: usize,
    /// Lines that it takes away.
    lost: usize,
}

/// The lines of one document under its present folds and cuts.
#[derive(Clone, Debug)]
pub struct JsonLayout {
    strides: Vec<usize>,
    gaps: Vec<Gap>,
    total: usize,
}

impl JsonLayout {
    /// Lays out `doc`: one pass over its values.
    pub fn new(doc: &Document, marks: &JsonHighlights, folds: &JsonFolds) -> Self {
        let mut strides = Vec::with_capacity(doc.nodes.len() / STRIDE + 1);
        let mut line = 0;
        for node in 0..doc.node_count() {
            if (node as usize).is_multiple_of(STRIDE) {
                strides.push(line);
            }
            line += 1 + closed_behind(doc, node);
        }
        let mut layout = Self { strides, gaps: Vec::new(), total: line };
        layout.arrange(doc, marks, folds);
        layout
    }

    /// Takes over new folds and cuts of the same document, in time proportional to their number.
    pub fn arrange(&mut self, doc: &Document, marks: &JsonHighlights, folds: &JsonFolds) {
        let cut_nodes = marks.cuts().map(|(node, _)| node);
        let mut nodes: Vec<NodeId> =
            cut_nodes.chain(folds.0.iter().copied()).filter(|&n| n < doc.node_count()).collect();
        nodes.sort_unstable();
        self.gaps.clear();
        let (mut covered, mut before) = (0, 0);
        for node in nodes {
            if node < covered || (doc.is_leaf(node) && !marks.is_hidden(node)) {
                continue;
            }
            covered = doc.end(node);
            let first = self.open_line(doc, node);
            let kept = usize::from(!matches!(marks.at(node), Some(Cut::Hidden)));
            let lost = self.close_line(doc, node) + 1 - first - kept;
            self.gaps.push(Gap { node, line: first - before, kept, before, lost });
            before += lost;
        }
    }

    /// How many lines there are.
    pub fn total(&self) -> usize {
        self.total - self.gaps.last().map_or(0, |gap| gap.before + gap.lost)
    }

    /// The line on which `node` is seen: its own, or that of the fold or cut around it.
    pub fn line_of(&self, doc: &Document, node: NodeId) -> usize {
        let node = node.min(doc.node_count() - 1);
        let after = self.gaps.partition_point(|gap| gap.node <= node);
        match after.checked_sub(1).and_then(|i| self.gaps.get(i)) {
            Some(gap) if node < doc.end(gap.node) => gap.line.min(self.total().saturating_sub(1)),
            Some(gap) => self.open_line(doc, node) - gap.before - gap.lost,
            None => self.open_line(doc, node),
        }
    }

    /// What stands on the visible line `line`; `None` behind the last.
    pub(super) fn place(&self, doc: &Document, line: usize) -> Option<NodeEdge> {
        if line >= self.total() {
            return None;
        }
        let after = self.gaps.partition_point(|gap| gap.line + gap.kept <= line);
        let gone = after.checked_sub(1).and_then(|i| self.gaps.get(i)).map_or(0, |gap| gap.before + gap.lost);
        Some(self.full_place(doc, line + gone))
    }

    fn full_place(&self, doc: &Document, line: usize) -> NodeEdge {
        let stride = self.strides.partition_point(|&first| first <= line).saturating_sub(1);
        let mut node = u32::try_from(stride * STRIDE).unwrap_or(u32::MAX);
        let mut at = self.strides.get(stride).copied().unwrap_or(0);
        loop {
            let closed = closed_behind(doc, node);
            if line <= at + closed || node + 1 >= doc.node_count() {
                break;
            }
            at += 1 + closed;
            node += 1;
        }
        // Behind the value, the containers that end with it close from the inside outwards.
        match line - at {
            0 => NodeEdge::Open(node),
            nth => NodeEdge::Close((0..nth).fold(node, |inner, _| doc.parent(inner).unwrap_or(0))),
        }
    }

    /// The line on which `node` begins when nothing is folded.
    fn open_line(&self, doc: &Document, node: NodeId) -> usize {
        let stride = node as usize / STRIDE;
        let first = u32::try_from(stride * STRIDE).unwrap_or(u32::MAX);
        let at = self.strides.get(stride).copied().unwrap_or(0);
        (first..node).fold(at, |line, passed| line + 1 + closed_behind(doc, passed))
    }

    /// The line on which `node` ends when nothing is folded.
    fn close_line(&self, doc: &Document, node: NodeId) -> usize {
        let last = doc.end(node) - 1;
        let above = std::iter::successors(Some(last), |&inner| doc.parent(inner)).take_while(|&inner| inner != node);
        self.open_line(doc, last) + above.count()
    }
}

/// Containers that end right behind `node`, which is not counted itself.
fn closed_behind(doc: &Document, node: NodeId) -> usize {
    if !doc.is_leaf(node) {
        return 0;
    }
    std::iter::successors(doc.parent(node), |&above| doc.parent(above))
        .take_while(|&above| doc.end(above) == node + 1)
        .count()
}
