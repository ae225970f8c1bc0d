//! A tab on a screen: which rows it has at a width, and how scrolling moves over them.

use std::ops::Range;

use super::folds::LineFolds;
use super::search::Needle;
use super::styled::{Styled, crop, wrap};
use super::tab_text::TabText;
use super::text_roles::ScreenRow;

/// A place in a pane: a line, and one of its rows where long lines are wrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line, counted from 0 with nothing folded.
    pub line: usize,
    /// The row of that line, from 0.
    pub row: usize,
}

/// One tab at one width. Every call costs what the rows it passes over cost, whatever the size of the text.
#[derive(Clone, Copy, Debug)]
pub struct Viewport<'a> {
    body: &'a TabText,
    folds: &'a LineFolds,
    width: usize,
    wrap: bool,
}

impl<'a> Viewport<'a> {
    pub(super) fn new(body: &'a TabText, folds: &'a LineFolds, width: usize, wrap: bool) -> Self {
        Self { body, folds, width: width.max(1), wrap }
    }

    /// How many lines are shown, folds counted as one line.
    pub fn shown(&self) -> usize {
        self.last_line().map_or(0, |last| self.folds.shown_before(last) + 1)
    }

    /// How many shown lines stand before `line`: for a position such as `120/4,000` and the scroll bar.
    pub fn shown_before(&self, line: usize) -> usize {
        self.folds.shown_before(line.min(self.body.len().saturating_sub(1)))
    }

    /// The nearest place that exists: for after a resize, a fold, or a reload of the job.
    pub fn clamp(&self, spot: Spot) -> Spot {
        let line = self.folds.shown(spot.line.min(self.body.len().saturating_sub(1)));
        let row = if line == spot.line { spot.row.min(self.rows_of(line).saturating_sub(1)) } else { 0 };
        Spot { line, row }
    }

    /// The place `rows` rows further down (up when negative), stopping at the first and last row.
    pub fn scroll(&self, from: Spot, rows: isize) -> Spot {
        let from = self.clamp(from);
        if rows < 0 { self.up(from, rows.unsigned_abs()) } else { self.down(from, rows.unsigned_abs()) }
    }

    /// The shown line `lines` lines further down (up when negative), stopping at the first and last.
    pub fn step(&self, from: usize, lines: isize) -> usize {
        let mut line = self.clamp(Spot { line: from, row: 0 }).line;
        for _ in 0..lines.unsigned_abs() {
            let next = if lines < 0 { self.folds.previous(line) } else { self.line_after(line) };
            match next {
                Some(next) => line = next,
                None => break,
            }
        }
        line
    }

    /// The top at which the last row stands at the bottom of `height` rows.
    pub fn bottom(&self, height: usize) -> Spot {
        let Some(line) = self.last_line() else { return Spot::default() };
        let end = Spot { line, row: self.rows_of(line).saturating_sub(1) };
        self.up(end, height.saturating_sub(1))
    }

    /// The top nearest to `top` at which the first row of `line` is among `height` rows.
    pub fn reveal(&self, top: Spot, line: usize, height: usize) -> Spot {
        let top = self.clamp(top);
        let wanted = self.clamp(Spot { line, row: 0 });
        if wanted < top {
            return wanted;
        }
        let highest = self.up(wanted, height.saturating_sub(1));
        top.max(highest)
    }

    /// The rows on a screen of `height` rows from `top` on. `left` skips columns, where lines are not wrapped; hits of
    /// `needle` are marked.
    pub fn window(&self, top: Spot, height: usize, left: usize, needle: Option<&Needle>) -> Vec<ScreenRow> {
        let mut rows = Vec::with_capacity(height.min(512));
        let Spot { line, row } = self.clamp(top);
        let mut next = (self.body.len() > 0).then_some((line, row));
        while let Some((line, skip)) = next.filter(|_| rows.len() < height) {
            let room = height - rows.len();
            self.rows(line, left, needle, skip..skip.saturating_add(room), &mut rows);
            next = self.line_after(line).map(|line| (line, 0));
        }
        rows
    }

    fn rows(&self, line: usize, left: usize, needle: Option<&Needle>, wanted: Range<usize>, out: &mut Vec<ScreenRow>) {
        let folded = self.folds.is_closed(line);
        let styled = self.body.line(line, folded);
        let hits = needle.map(|needle| needle.hits(styled.text())).unwrap_or_default();
        let parts = self.parts(&styled, left);
        for (row, (part, cut)) in parts.into_iter().enumerate().take(wanted.end).skip(wanted.start) {
            let fold = (row == 0 && self.body.is_part(line)).then_some(folded);
            out.push(ScreenRow { line, row, fold, pieces: styled.pieces(part, &hits), cut });
        }
    }

    fn parts(&self, line: &Styled, left: usize) -> Vec<(Range<usize>, bool)> {
        if self.wrap {
            wrap(line.text(), self.width).into_iter().map(|part| (part, false)).collect()
        } else {
            vec![crop(line.text(), left, self.width)]
        }
    }

    fn rows_of(&self, line: usize) -> usize {
        if !self.wrap {
            return 1;
        }
        wrap(self.body.plain(line, self.folds.is_closed(line)).as_ref(), self.width).len()
    }

    fn down(&self, mut at: Spot, mut rows: usize) -> Spot {
        loop {
            let below = self.rows_of(at.line).saturating_sub(at.row + 1);
            if rows <= below {
                return Spot { row: at.row + rows, ..at };
            }
            let Some(line) = self.line_after(at.line) else {
                return Spot { row: at.row + below, ..at };
            };
            rows -= below + 1;
            at = Spot { line, row: 0 };
        }
    }

    fn up(&self, mut at: Spot, mut rows: usize) -> Spot {
        loop {
            if rows <= at.row {
                return Spot { row: at.row - rows, ..at };
            }
            let Some(line) = self.folds.previous(at.line) else {
                return Spot { row: 0, ..at };
            };
            rows -= at.row + 1;
            at = Spot { line, row: self.rows_of(line).saturating_sub(1) };
        }
    }

    fn line_after(&self, line: usize) -> Option<usize> {
        let next = self.folds.next(line);
        (next < self.body.len()).then_some(next)
    }

    fn last_line(&self) -> Option<usize> {
        self.body.len().checked_sub(1).map(|last| self.folds.shown(last))
    }
}
