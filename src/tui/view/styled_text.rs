//! Short pieces of text in their roles, measured as a whole, and left out in the order of their rank.

use std::borrow::Cow;

use ratatui::layout::Rect;

use super::canvas::{Canvas, columns};
use crate::tui::theme::{StyleRole, Theme};

/// Text in one or more roles.
#[derive(Clone, Debug, Default)]
pub struct Phrase<'t> {
    parts: Vec<(StyleRole, Cow<'t, str>)>,
}

impl<'t> Phrase<'t> {
    /// A phrase in one role.
    pub fn of(role: StyleRole, text: impl Into<Cow<'t, str>>) -> Self {
        Self::default().and(role, text)
    }

    /// An empty line.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Goes on in a role.
    pub fn and(mut self, role: StyleRole, text: impl Into<Cow<'t, str>>) -> Self {
        self.parts.push((role, text.into()));
        self
    }

    /// Goes on with another phrase.
    pub fn then(mut self, other: Phrase<'t>) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// The parts, from left to right.
    pub fn parts(&self) -> &[(StyleRole, Cow<'t, str>)] {
        &self.parts
    }

    /// Columns that it takes.
    pub fn width(&self, theme: &Theme) -> usize {
        self.parts.iter().map(|(_, text)| columns(text, theme)).sum()
    }
}

/// The end of a line that a phrase stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// From the left on.
    Left,
    /// Against the right end.
    Right,
}

/// A phrase that may be left out where there is no room: the greatest rank goes first.
#[derive(Clone, Debug)]
pub struct Ranked<'t> {
    /// Place in the order of leaving; 0 stays.
    pub rank: u8,
    /// Where it stands.
    pub side: LineEnd,
    /// What is shown.
    pub phrase: Phrase<'t>,
}

impl<'t> Ranked<'t> {
    /// A phrase on the left.
    pub fn left(rank: u8, phrase: Phrase<'t>) -> Self {
        Self { rank, side: LineEnd::Left, phrase }
    }

    /// A phrase on the right.
    pub fn right(rank: u8, phrase: Phrase<'t>) -> Self {
        Self { rank, side: LineEnd::Right, phrase }
    }
}

/// Leaves out phrases, by rank, until what is left and the gaps between them fit into `width` columns.
pub fn prune(phrases: &mut Vec<Ranked<'_>>, gap: usize, width: usize, theme: &Theme) {
    let mut total: usize = phrases.iter().map(|p| p.phrase.width(theme) + gap).sum();
    while total > width + gap {
        let worst = phrases.iter().enumerate().filter(|(_, p)| p.rank > 0).max_by_key(|(_, p)| p.rank);
        let Some((at, _)) = worst else { return };
        total -= phrases.remove(at).phrase.width(theme) + gap;
    }
}

/// Draws a line of ranked phrases with a margin of one column; what must stay and does not fit is cut on the left side.
pub fn draw_line(canvas: &mut Canvas<'_>, area: Rect, row: usize, mut phrases: Vec<Ranked<'_>>, gap: usize) {
    let theme = canvas.theme;
    prune(&mut phrases, gap, usize::from(area.width).saturating_sub(2), theme);
    let right: usize = phrases.iter().filter(|p| p.side == LineEnd::Right).map(|p| p.phrase.width(theme) + gap).sum();
    let mut pen = canvas.row(area, row);
    pen.skip(1).reserve(1);
    let left = pen.left().saturating_sub(right);
    pen.reserve(right);
    for item in phrases.iter().filter(|p| p.side == LineEnd::Left) {
        pen.phrase(&item.phrase).skip(gap);
    }
    let mut pen = canvas.row(area, row);
    pen.skip(1).reserve(1).skip(left);
    for item in phrases.iter().filter(|p| p.side == LineEnd::Right) {
        pen.skip(gap).phrase(&item.phrase);
    }
}
