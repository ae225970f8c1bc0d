//! The open job: which tab, how far scrolled, what is folded and searched. Kept by job id.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::tui::app::document::{Direction, JobDocument, LineFolds, Needle, Spot, Tab, Viewport};

/// How long a job stays on screen while the next one is fetched.
const PATIENCE: Duration = Duration::from_millis(150);

/// How one tab is looked at.
#[derive(Clone, Debug, Default)]
pub struct TabView {
    /// First row on screen.
    pub top: Spot,
    /// Line of the cursor.
    pub line: usize,
    /// What is folded.
    pub folds: LineFolds,
}

/// The detail pane.
#[derive(Debug)]
pub struct DetailPane {
    /// The job that is shown or being loaded.
    pub job: Option<JobId>,
    /// The job, once it is here.
    pub document: Option<Arc<JobDocument>>,
    /// Why there is none, when the answer was no document.
    pub absent: Option<String>,
    /// The part that is shown.
    pub tab: Tab,
    /// Columns skipped on the left where lines are not wrapped.
    pub left: usize,
    /// Whether long lines are wrapped.
    pub wrap: bool,
    /// The words searched for, as typed and ready.
    pub search: Option<(String, Needle)>,
    views: [TabView; Tab::ALL.len()],
    /// The job that was shown before, while this one is fetched: an empty pane in between would only flicker.
    before: Option<Box<DetailPane>>,
    /// Until when the one before may stay: for longer it would pass for the job under the cursor.
    until: Option<Timestamp>,
}

impl Default for DetailPane {
    fn default() -> Self {
        Self {
            job: None,
            document: None,
            absent: None,
            tab: Tab::Arguments,
            left: 0,
            wrap: true,
            search: None,
            views: Default::default(),
            before: None,
            until: None,
        }
    }
}

impl DetailPane {
    fn slot(&self) -> usize {
        Tab::ALL.iter().position(|t| *t == self.tab).unwrap_or(0)
    }

    /// How the shown tab is looked at.
    pub fn view(&self) -> &TabView {
        &self.views[self.slot()]
    }

    fn view_mut(&mut self) -> &mut TabView {
        let slot = self.slot();
        &mut self.views[slot]
    }

    /// The shown tab at a width, once the job is here.
    pub fn pane(&self, width: usize) -> Option<Viewport<'_>> {
        Some(self.document.as_ref()?.pane(self.tab, &self.view().folds, width, self.wrap))
    }

    /// Begins to show another job. The tab and the search stay, since one looks at the same part of the next job.
    pub fn turn_to(&mut self, job: JobId) {
        if self.job.as_ref() == Some(&job) {
            return;
        }
        let (tab, wrap, search) = (self.tab, self.wrap, self.search.clone());
        let next = DetailPane { job: Some(job), tab, wrap, search, ..Self::default() };
        let mut last = std::mem::replace(self, next);
        if last.document.is_some() {
            last.before = None;
            self.before = Some(Box::new(last));
        } else {
            (self.before, self.until) = (last.before, last.until);
        }
    }

    /// The pane as it is to be drawn: this one, or for a moment the one before.
    pub fn drawn(&self) -> &DetailPane {
        match &self.before {
            Some(before) if self.document.is_none() && self.absent.is_none() => before,
            _ => self,
        }
    }

    /// Lets the one before go once this one is here or has been waited for long enough; until when it may stay.
    pub fn wait(&mut self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.document.is_none() && self.absent.is_none() && self.before.is_some();
        let until = waits.then(|| *self.until.get_or_insert(now.after(PATIENCE))).filter(|until| *until > now);
        if until.is_none() {
            (self.before, self.until) = (None, None);
        }
        until
    }

    /// Shows no job.
    pub fn close(&mut self) {
        let (tab, wrap) = (self.tab, self.wrap);
        *self = DetailPane { tab, wrap, ..Self::default() };
    }

    /// Moves the line cursor by `by` lines.
    pub fn step(&mut self, by: isize, width: usize, height: usize) {
        let line = self.view().line;
        if let Some(to) = self.pane(width).map(|p| p.step(line, by)) {
            self.go(to, width, height);
        }
    }

    /// Scrolls by `rows` rows; the cursor follows so that it stays on screen.
    pub fn scroll(&mut self, rows: isize, width: usize, height: usize) {
        let TabView { top, line, .. } = *self.view();
        let Some(pane) = self.pane(width) else { return };
        let top = pane.scroll(top, rows).min(pane.bottom(height));
        let last = pane.scroll(top, isize::try_from(height).unwrap_or(isize::MAX) - 1);
        let line = line.clamp(top.line, last.line.max(top.line));
        let view = self.view_mut();
        (view.top, view.line) = (top, line);
    }

    /// To the first or last line.
    pub fn end(&mut self, last: bool, width: usize, height: usize) {
        let far = if last { isize::MAX } else { isize::MIN + 1 };
        let lines = self.document.as_ref().map_or(0, |d| d.size(self.tab).lines);
        let to = if far > 0 { lines.saturating_sub(1) } else { 0 };
        self.go(to, width, height);
    }

    /// Puts the line cursor on `line` and scrolls so that it is on screen.
    pub fn go(&mut self, line: usize, width: usize, height: usize) {
        let top = self.view().top;
        let Some(pane) = self.pane(width) else { return };
        let line = pane.clamp(Spot { line, row: 0 }).line;
        let top = pane.reveal(top, line, height);
        let view = self.view_mut();
        (view.top, view.line) = (top, line);
    }

    /// Folds or unfolds the part at the cursor.
    pub fn toggle_fold(&mut self, width: usize, height: usize) {
        let Some(document) = self.document.clone() else { return };
        let tab = self.tab;
        let view = self.view_mut();
        if let Some(line) = document.toggle(tab, &mut view.folds, view.line) {
            self.go(line, width, height);
        }
    }

    /// Folds all parts one level deep, or unfolds everything when something is folded.
    pub fn toggle_all_folds(&mut self, width: usize, height: usize) {
        let Some(document) = self.document.clone() else { return };
        let tab = self.tab;
        let view = self.view_mut();
        if view.folds.is_empty() {
            document.fold_level(tab, &mut view.folds, 1);
        } else {
            view.folds.open_all();
        }
        let line = view.line;
        self.go(line, width, height);
    }

    /// Goes to the next line with a hit; false when there is none.
    pub fn find(&mut self, direction: Direction, include_here: bool, width: usize, height: usize) -> bool {
        let (Some(document), Some((_, needle))) = (self.document.clone(), self.search.clone()) else { return false };
        let lines = document.size(self.tab).lines.max(1);
        let here = self.view().line;
        let from = match (include_here, direction) {
            (true, _) => here,
            (false, Direction::Forward) => (here + 1) % lines,
            (false, Direction::Backward) => (here + lines - 1) % lines,
        };
        let Some(line) = document.search(self.tab, &needle, from, direction) else { return false };
        self.view_mut().folds.reveal(line);
        self.go(line, width, height);
        true
    }
}
