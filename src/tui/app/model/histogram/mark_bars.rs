//! Bars compared with a mark: a word for each, and those that are gone since.

use std::collections::HashMap;
use std::time::Duration;

use super::{BarValue, HistogramPane};
use crate::domain::histogram::{Bar, Count};
use crate::domain::mark::MarkName;
use crate::domain::mark::comparison::Change;
use crate::domain::time::Timestamp;
use crate::triage::mark_comparison::{ComparedBy, MarkComparison};

/// A mark that the bars are compared with.
#[derive(Debug)]
pub struct MarkBars {
    /// Its name.
    pub name: MarkName,
    /// When the comparison that is under way was asked for.
    pub asked_at: Option<Timestamp>,
    /// Whether the watch pays for the comparison that is under way: nobody asked for it.
    pub is_paid_for: bool,
    /// How long the last one took.
    pub cost: Option<Duration>,
    compared: Option<Compared>,
}

/// The last comparison, by value.
#[derive(Debug)]
struct Compared {
    by: ComparedBy,
    changes: HashMap<BarValue, Change>,
    gone: Vec<Bar>,
}

impl MarkBars {
    /// A mark that nothing is compared with yet.
    pub fn new(name: MarkName) -> Self {
        Self { name, asked_at: None, is_paid_for: false, cost: None, compared: None }
    }

    /// Whether there is a comparison by these bars.
    pub fn is_by(&self, by: &ComparedBy) -> bool {
        self.compared.as_ref().is_some_and(|compared| compared.by == *by)
    }

    /// Takes in a comparison.
    pub fn take(&mut self, comparison: MarkComparison, now: Timestamp) {
        self.cost = self.asked_at.take().map(|since| since.age(now));
        let gone = comparison.bars.iter().filter(|bar| bar.change == Change::Gone);
        let gone = gone.map(|bar| Bar { example: bar.example.clone(), ..Bar::new(bar.value.clone(), Count::exact(0)) });
        self.compared = Some(Compared {
            gone: gone.collect(),
            changes: comparison.bars.into_iter().map(|bar| (bar.value, bar.change)).collect(),
            by: comparison.by,
        });
    }

    /// What became of a value, where that is worth a word.
    pub fn change(&self, value: &BarValue, by: &ComparedBy) -> Option<Change> {
        let compared = self.compared.as_ref().filter(|compared| compared.by == *by)?;
        compared.changes.get(value).copied().filter(|change| *change != Change::Steady)
    }

    /// Puts the values that are gone behind the bars, those that are there no longer. A bar that was put there before has no
    /// jobs.
    fn list_gone(&self, bars: &mut Vec<Bar>, by: &ComparedBy) {
        unlist_gone(bars);
        let Some(compared) = self.compared.as_ref().filter(|compared| compared.by == *by) else { return };
        let missing = |bar: &&Bar| bars.iter().all(|shown| shown.value != bar.value);
        let missing: Vec<Bar> = compared.gone.iter().filter(missing).cloned().collect();
        bars.extend(missing);
    }
}

/// Takes the values that are gone away again.
fn unlist_gone(bars: &mut Vec<Bar>) {
    bars.retain(|bar| bar.count.n > 0);
}

/// What the bars of a pane stand for.
pub fn counted_by(pane: &HistogramPane) -> ComparedBy {
    match &pane.argument {
        Some(argument) => ComparedBy::Argument(argument.keys.clone()),
        None => ComparedBy::Facet(pane.facet),
    }
}

/// Compares the bars of a pane with another mark, or with none.
pub fn compare_with(pane: &mut HistogramPane, compared: Option<MarkBars>) {
    pane.compared = compared;
    list_gone(pane);
}

/// Lists the values that are gone since the mark behind the bars of a pane.
pub fn list_gone(pane: &mut HistogramPane) {
    let by = counted_by(pane);
    let drawn = match &mut pane.argument {
        Some(argument) => argument.counts.as_mut(),
        None => pane.shown.as_mut(),
    };
    match (drawn, &pane.compared) {
        (Some(drawn), Some(compared)) => compared.list_gone(&mut drawn.bars, &by),
        (Some(drawn), None) => unlist_gone(&mut drawn.bars),
        (None, _) => {}
    }
}
