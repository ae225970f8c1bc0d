//! The histogram pane: bars of one facet, with cursor and marks kept by value.

mod argument_bars;
mod mark_bars;

pub use argument_bars::{ArgumentBars, ArgumentCount};
pub use mark_bars::{MarkBars, compare_with, counted_by, list_gone};

use std::collections::HashSet;

use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Exactness, Histogram};
use crate::domain::mark::comparison::Change;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{HistogramStep, Token};
use crate::triage::live::{FullCount, Growth, LiveCounts};

/// What a bar stands for; `None` for jobs without a value.
pub type BarValue = Option<Untrusted>;

/// The histogram pane.
#[derive(Debug)]
pub struct HistogramPane {
    /// The dimension.
    pub facet: Facet,
    /// Counts kept up to date by deltas, once a count has begun.
    pub counts: Option<LiveCounts>,
    /// The counts of the facet that was counted before under this filter, while there are none of this one.
    earlier: Option<LiveCounts>,
    /// What is drawn: the counts as of the last change, or the estimate before them.
    pub shown: Option<Histogram>,
    /// Marked bars.
    pub marks: HashSet<BarValue>,
    /// The full count that is under way, or the last one.
    pub full_count: FullCount,
    /// Whose that is.
    pub counted_for: CountedFor,
    /// What was known before anything was counted.
    estimate: Option<Histogram>,
    /// Index of the first bar on screen.
    pub top: usize,
    place: Option<BarValue>,
    /// Counts by a path of the arguments, which are shown in place of the facet's.
    pub argument: Option<ArgumentBars>,
    /// The mark that the bars are compared with.
    pub compared: Option<MarkBars>,
}

/// Whose a count is: who waits for it, and who pays for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFor {
    /// Somebody asked for it, also by opening the source: it is done at once.
    Operator,
    /// A poll has found a change, or the source is back: it is done at once for as long as that is cheap, and the watch pays for
    /// it afterwards.
    Poll,
    /// It takes its time: the watch pays for each step before the next.
    Background,
}

impl HistogramPane {
    /// An empty pane for `facet`.
    pub fn new(facet: Facet) -> Self {
        Self {
            facet,
            counts: None,
            earlier: None,
            shown: None,
            marks: HashSet::new(),
            full_count: FullCount::default(),
            counted_for: CountedFor::Operator,
            estimate: None,
            top: 0,
            place: None,
            argument: None,
            compared: None,
        }
    }

    /// An empty pane for another facet of the same jobs: what is known of their growth stays.
    pub fn turn_to(&mut self, facet: Facet) {
        let earlier = self.counts.take().or_else(|| self.earlier.take());
        let compared = self.compared.take().map(|compared| MarkBars::new(compared.name));
        *self = Self { earlier, compared, ..Self::new(facet) };
    }

    /// An empty pane for other jobs, by the same facet or path.
    pub fn restarted(&mut self) -> Self {
        let argument = self.argument.take().map(|argument| ArgumentBars::new(argument.keys));
        let compared = self.compared.take().map(|compared| MarkBars::new(compared.name));
        Self { argument, compared, ..Self::new(self.facet) }
    }

    /// Shows the values at a path of the arguments, or the facet again, which is counted all the time.
    pub fn show_argument(&mut self, argument: Option<ArgumentBars>) {
        (self.argument, self.place, self.top) = (argument, None, 0);
        self.marks.clear();
    }

    /// What is drawn: by the path of the arguments that was asked for, or by the facet.
    pub fn drawn(&self) -> Option<&Histogram> {
        match &self.argument {
            Some(argument) => argument.counts.as_ref(),
            None => self.shown.as_ref(),
        }
    }

    /// Deaths of late among the jobs that are counted; `None` before the first count.
    pub fn growth(&self, now: Timestamp) -> Option<Growth> {
        self.counts.as_ref().or(self.earlier.as_ref()).map(|counts| counts.growth(now))
    }

    /// A count begins: nothing is left of one that is under way.
    pub fn begin_count(&mut self, counted_for: CountedFor) {
        self.full_count.begin();
        self.counted_for = counted_for;
    }

    /// Whether the count that is under way is one that the watch pays for.
    pub fn is_paid_for(&self) -> bool {
        self.counted_for != CountedFor::Operator
    }

    /// How far a later full count has got that somebody may wait for: it was asked for, or what is shown meanwhile is an
    /// estimate.
    pub fn count_progress(&self) -> Option<f32> {
        let is_old = self.shown.as_ref().is_some_and(|shown| shown.total.exactness != Exactness::Exact);
        let is_awaited = self.counted_for != CountedFor::Background || is_old;
        self.full_count.progress().filter(|_| self.counts.is_some() && is_awaited)
    }

    /// The bars, in the order of the facet.
    pub fn bars(&self) -> &[Bar] {
        self.drawn().map_or(&[], |h| &h.bars)
    }

    /// Index of the cursor.
    pub fn index(&self) -> Option<usize> {
        let last = self.bars().len().checked_sub(1)?;
        let found = self.place.as_ref().and_then(|p| self.bars().iter().position(|b| b.value == *p));
        Some(found.unwrap_or(0).min(last))
    }

    /// The bar under the cursor.
    pub fn current(&self) -> Option<&Bar> {
        self.bars().get(self.index()?)
    }

    /// Ties the cursor to the value it stands on. Until the keys go to the bars it stays on the first one, whichever that
    /// is; from then on no new count may slip another bar under it.
    pub fn pin(&mut self) {
        if self.place.is_none() {
            self.place = self.current().map(|bar| bar.value.clone());
        }
    }

    /// Moves the cursor by `by` bars within a pane of `height` bars.
    pub fn step(&mut self, by: isize, height: usize) {
        let (Some(index), Some(last)) = (self.index(), self.bars().len().checked_sub(1)) else { return };
        self.put(index.saturating_add_signed(by).min(last), height);
    }

    /// Puts the cursor on the `row`th bar on screen.
    pub fn point(&mut self, row: usize, height: usize) {
        if let Some(last) = self.bars().len().checked_sub(1) {
            self.put((self.top + row).min(last), height);
        }
    }

    /// Keeps the cursor on screen after the height changed.
    pub fn fit(&mut self, height: usize) {
        if let Some(index) = self.index() {
            self.reveal(index, height);
        }
    }

    fn put(&mut self, index: usize, height: usize) {
        self.place = self.bars().get(index).map(|b| b.value.clone());
        self.reveal(index, height);
    }

    fn reveal(&mut self, index: usize, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(index).max((index + 1).saturating_sub(height));
        self.top = self.top.min(self.bars().len().saturating_sub(height));
    }

    /// Shows new counts. The cursor stays on its value, wherever that has moved to.
    pub fn show(&mut self, histogram: Histogram, height: usize) {
        if self.place.is_none() {
            self.place = self.current().map(|b| b.value.clone()).filter(|_| self.top > 0);
        }
        self.shown = Some(histogram);
        if self.compared.is_some() && self.argument.is_none() {
            mark_bars::list_gone(self);
        }
        if let Some(index) = self.index()
            && self.place.is_some()
        {
            self.reveal(index, height);
        }
    }

    /// Marks or unmarks the bar under the cursor.
    pub fn toggle_mark(&mut self) {
        if let Some(value) = self.current().map(|b| b.value.clone())
            && !self.marks.remove(&value)
        {
            self.marks.insert(value);
        }
    }

    /// The marked bars, or the one under the cursor; none when that one has gone and the cursor only rests elsewhere.
    pub fn chosen(&self) -> Vec<BarValue> {
        if self.marks.is_empty() {
            let is_chosen = |value: &BarValue| self.place.as_ref().is_none_or(|place| place == value);
            return self.current().map(|b| b.value.clone()).filter(is_chosen).into_iter().collect();
        }
        self.bars().iter().map(|b| &b.value).filter(|v| self.marks.contains(*v)).cloned().collect()
    }

    /// Shows what the database's statistics tell, or the first page.
    pub fn show_estimate(&mut self, estimate: Histogram, height: usize) {
        self.estimate = Some(estimate.clone());
        self.show(estimate, height);
    }

    /// Takes in a step of a count. A recount is shown only when it is complete, and a first count over the estimate that
    /// stands for what is not counted yet: numbers never shrink to grow again.
    ///
    /// Returns what polls go on from once it is complete, which may be where they are: `polled`.
    pub fn take_count(&mut self, step: &HistogramStep, polled: Option<&Token>, height: usize) -> Option<Token> {
        let is_complete = self.full_count.take(step);
        let token = match &mut self.counts {
            Some(counts) if is_complete => counts.take_full_count(step, polled),
            Some(_) => return None,
            None if is_complete => {
                let mut counts = LiveCounts::new(step);
                self.earlier.take().iter().for_each(|earlier| counts.follow(earlier));
                self.counts = Some(counts);
                step.token.clone()
            }
            None => {
                let shown = self.estimate.as_ref().map_or(step.histogram.clone(), |e| step.histogram.over(e));
                self.show(shown, height);
                return None;
            }
        };
        self.show_counts(height);
        token
    }

    /// Shows the counts as they are now.
    pub fn show_counts(&mut self, height: usize) {
        if let Some(histogram) = self.counts.as_ref().map(LiveCounts::histogram) {
            self.show(histogram, height);
        }
    }

    /// What there is to say of a bar: what became of it at the mark that it is compared with; else whether it was unknown
    /// when the console opened, or at the baseline.
    pub fn change(&self, bar: &Bar) -> Option<Change> {
        if let Some(compared) = &self.compared {
            return compared.change(&bar.value, &mark_bars::counted_by(self));
        }
        let is_new = self.argument.is_none() && self.counts.as_ref().is_some_and(|c| c.is_new(bar).is_some());
        is_new.then_some(Change::New)
    }
}
