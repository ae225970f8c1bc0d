//! Which parts of a document are folded away.

use std::collections::BTreeMap;

/// The folded parts of one tab. Lines are counted from 0 in the unfolded document, so that folding moves no line.
///
/// A fold keeps its first line on screen and hides the rest up to its last line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineFolds {
    /// Last line by first line, of every folded part, nested ones too.
    closed: BTreeMap<usize, usize>,
    /// The outermost of them, in order.
    outer: Vec<Outer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outer {
    first: usize,
    last: usize,
    /// Lines hidden by the folds before this one.
    before: usize,
}

impl LineFolds {
    /// Folds the lines from `first` to `last`, both included. Nothing happens when there is nothing to hide.
    pub fn close(&mut self, first: usize, last: usize) {
        self.close_all([(first, last)]);
    }

    /// Folds several parts at once.
    pub fn close_all(&mut self, parts: impl IntoIterator<Item = (usize, usize)>) {
        self.closed.extend(parts.into_iter().filter(|(first, last)| last > first));
        self.rebuild_hidden_lines();
    }

    /// Unfolds the part that begins at `first`; those inside it keep their state.
    pub fn open(&mut self, first: usize) {
        if self.closed.remove(&first).is_some() {
            self.rebuild_hidden_lines();
        }
    }

    /// Unfolds everything.
    pub fn open_all(&mut self) {
        *self = Self::default();
    }

    /// Unfolds whatever hides `line`.
    pub fn reveal(&mut self, line: usize) {
        self.closed.retain(|first, last| !(*first < line && line <= *last));
        self.rebuild_hidden_lines();
    }

    /// Whether the part that begins at `line` is folded.
    pub fn is_closed(&self, line: usize) -> bool {
        self.closed.contains_key(&line)
    }

    /// Whether nothing is folded.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// The line that stands on screen for `line`: itself, or the first line of the fold that hides it.
    pub fn shown(&self, line: usize) -> usize {
        match self.around(line) {
            Some(outer) if outer.first < line && line <= outer.last => outer.first,
            _ => line,
        }
    }

    /// The shown line after a shown `line`; may lie beyond the document's end.
    pub fn next(&self, line: usize) -> usize {
        match self.around(line) {
            Some(outer) if outer.first == line => outer.last + 1,
            _ => line + 1,
        }
    }

    /// The shown line before a shown `line`; `None` at the start.
    pub fn previous(&self, line: usize) -> Option<usize> {
        line.checked_sub(1).map(|line| self.shown(line))
    }

    /// How many lines before `line` are shown.
    pub fn shown_before(&self, line: usize) -> usize {
        let line = self.shown(line);
        match self.around(line.saturating_sub(1)) {
            Some(outer) if outer.first < line => line - outer.before - (outer.last - outer.first),
            _ => line,
        }
    }

    /// The last outermost fold that begins at `line` or before.
    fn around(&self, line: usize) -> Option<Outer> {
        let after = self.outer.partition_point(|outer| outer.first <= line);
        after.checked_sub(1).map(|i| self.outer[i])
    }

    fn rebuild_hidden_lines(&mut self) {
        self.outer.clear();
        let mut before = 0;
        let mut end = None;
        for (&first, &last) in &self.closed {
            if end.is_some_and(|end| first <= end) {
                continue;
            }
            self.outer.push(Outer { first, last, before });
            before += last - first;
            end = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(parts: &[(usize, usize)]) -> LineFolds {
        let mut folds = LineFolds::default();
        folds.close_all(parts.iter().copied());
        folds
    }

    #[test]
    fn a_fold_shows_its_first_line_for_all_that_it_hides() {
        let folds = folded(&[(2, 5), (3, 4), (8, 9)]);
        let shown: Vec<usize> = (0..11).map(|line| folds.shown(line)).collect();
        assert_eq!(shown, [0, 1, 2, 2, 2, 2, 6, 7, 8, 8, 10]);
    }

    #[test]
    fn stepping_forth_and_back_visits_the_same_lines() {
        let folds = folded(&[(2, 5), (8, 9)]);
        let mut forth = vec![0];
        while *forth.last().unwrap() < 10 {
            forth.push(folds.next(*forth.last().unwrap()));
        }
        let mut back = vec![10];
        while let Some(line) = folds.previous(*back.last().unwrap()) {
            back.push(line);
        }
        back.reverse();
        assert_eq!(forth, [0, 1, 2, 6, 7, 8, 10]);
        assert_eq!(back, forth);
        let places: Vec<usize> = forth.iter().map(|&line| folds.shown_before(line)).collect();
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn revealing_a_line_opens_every_fold_around_it_and_no_other() {
        let mut folds = folded(&[(2, 9), (3, 6), (7, 8), (20, 22)]);
        folds.reveal(5);
        assert_eq!(folds.shown(5), 5);
        assert!(folds.is_closed(7) && folds.is_closed(20));
        assert!(!folds.is_closed(2) && !folds.is_closed(3));
    }

    #[test]
    fn a_fold_opened_from_outside_keeps_what_is_folded_inside() {
        let mut folds = folded(&[(2, 9), (3, 6)]);
        folds.open(2);
        assert_eq!(folds.shown(4), 3);
        assert_eq!(folds.shown(8), 8);
    }
}
