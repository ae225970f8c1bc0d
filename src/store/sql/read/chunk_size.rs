//! How much is read at a time: windows that adapt to what they cost, and what is known to take too long.

use crate::store::sql::dialect::window::rung;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::store::SourceError;
use crate::store::sql::read::range_estimate::RangeEstimate;

/// What a window is meant to take.
pub(crate) const TARGET: Duration = Duration::from_millis(150);
/// Rows of the first window, and the bounds of all; fewer only where even that many ran into the deadline, as a row may be
/// tens of megabytes that what is listed of it is computed from.
const FIRST: usize = 4_000;
const LEAST: usize = 200;
const MOST: usize = 200_000;
/// The most that is read where each row brings its heavy columns along.
pub(crate) const MOST_HEAVY: usize = 2_000;

/// What part of a window is tried next that ran into its deadline: each try costs a whole deadline, and a window that is too
/// small doubles with each read.
const BACK_OFF: usize = 32;

/// Questions of which something is remembered.
const REMEMBERED: usize = 100;

/// Blocks of the first window, and the bounds of all.
const FIRST_BLOCKS: u64 = 1_024;
pub(crate) const LEAST_BLOCKS: u64 = 16;
const MOST_BLOCKS: u64 = 131_072;

/// Rows of a window that has so many to go, and a few more: no smaller than windows are, nor of a size of its own.
pub(crate) fn up_to(rows: usize) -> usize {
    rung(rows.max(LEAST))
}

/// What came of looking at rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Yield {
    pub(crate) rows: u64,
    pub(crate) hits: u64,
}

/// What is remembered from scan to scan.
pub(crate) struct ChunkSizes {
    rows: AtomicUsize,
    blocks: AtomicU64,
    /// How many keys the last window reached over and how many rows it was taken to hold, where the table is stored by its key.
    keys: Mutex<Option<(i128, u64)>>,
    /// Questions for which the direct statement took too long, or was asked in vain.
    slow: Mutex<HashSet<String>>,
    /// Of questions that are read by windows: rows looked at since a page was last filled, and hits among them.
    yields: Mutex<HashMap<String, Yield>>,
    /// The same of the last window alone.
    latest: Mutex<HashMap<String, Yield>>,
    /// What is expected of questions whose rows may lie far apart, and since when.
    outlooks: Mutex<HashMap<String, (Instant, Option<RangeEstimate>)>>,
    /// Whether every question counts as slow, and windows stay small.
    gentle: bool,
}

impl ChunkSizes {
    pub(crate) fn new(gentle: bool) -> Self {
        let (rows, blocks) = if gentle { (LEAST, LEAST_BLOCKS) } else { (FIRST, FIRST_BLOCKS) };
        let (rows, blocks) = (AtomicUsize::new(rows), AtomicU64::new(blocks));
        let keys = Mutex::default();
        let (slow, yields, latest, outlooks) = Default::default();
        Self { rows, blocks, keys, slow, yields, latest, outlooks, gentle }
    }

    /// Takes note of what a step found, and says what came of all since the last full page.
    pub(crate) fn note(&self, question: &str, step: Yield, is_full: bool) -> Yield {
        let mut yields = self.yields.lock().unwrap_or_else(|p| p.into_inner());
        if is_full {
            yields.remove(question);
            return Yield::default();
        }
        let so_far = entry(&mut yields, question);
        so_far.rows = so_far.rows.saturating_add(step.rows);
        so_far.hits = so_far.hits.saturating_add(step.hits);
        *so_far
    }

    /// Forgets what steps of a question found: it is asked anew.
    pub(crate) fn begin(&self, question: &str) {
        self.yields.lock().unwrap_or_else(|p| p.into_inner()).remove(question);
    }

    /// What came of all since the last full page.
    pub(crate) fn so_far(&self, question: &str) -> Yield {
        self.yields.lock().unwrap_or_else(|p| p.into_inner()).get(question).copied().unwrap_or_default()
    }

    /// Takes note of what a window found.
    pub(crate) fn found(&self, question: &str, window: Yield) {
        *entry(&mut self.latest.lock().unwrap_or_else(|p| p.into_inner()), question) = window;
    }

    /// Rows in which as many hits may be expected as are wanted, and some more; any number where there were few of late.
    pub(crate) fn rows_for(&self, question: &str, wanted: usize) -> usize {
        let latest = self.latest.lock().unwrap_or_else(|p| p.into_inner());
        let Some(Yield { rows, hits: hits @ 1.. }) = latest.get(question).copied() else { return usize::MAX };
        let rows = u128::from(rows) * wanted as u128 * 5 / 4 / u128::from(hits);
        usize::try_from(rows).map_or(usize::MAX, |rows| rung(rows.max(LEAST)))
    }

    /// Rows of the next window, no more than `most`.
    pub(crate) fn window(&self, most: usize) -> usize {
        self.rows.load(Ordering::Relaxed).min(most)
    }

    /// Adapts the next window to what this one took.
    pub(crate) fn learn(&self, rows: usize, took: Duration) {
        let share = (TARGET.as_secs_f64() / took.as_secs_f64().max(0.001)).clamp(0.5, 2.0);
        // Truncation is fine: the figure is a guess.
        let next = (rows as f64 * share) as usize;
        let most = if self.gentle { LEAST } else { MOST };
        let least = if rows < LEAST { 1 } else { LEAST };
        let next = rung(next).clamp(least, most);
        // A window that was small because little was wanted says nothing against large ones.
        let stays = if took <= TARGET { self.rows.load(Ordering::Relaxed) } else { 0 };
        self.rows.store(if rows < stays { next.max(stays) } else { next }, Ordering::Relaxed);
    }

    /// Makes the window smaller after a step that ran into its deadline; `false` where it is the smallest there is.
    pub(crate) fn back_off(&self, rows: usize) -> bool {
        self.rows.store((rows / BACK_OFF).max(1), Ordering::Relaxed);
        rows > 1
    }

    /// Blocks of the next window.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Adapts the next window of blocks to what this one took.
    pub(crate) fn learn_blocks(&self, blocks: u64, took: Duration) {
        let share = (TARGET.as_secs_f64() / took.as_secs_f64().max(0.001)).clamp(0.5, 2.0);
        let next = (blocks as f64 * share) as u64;
        let most = if self.gentle { LEAST_BLOCKS } else { MOST_BLOCKS };
        let least = if blocks < LEAST_BLOCKS { 1 } else { LEAST_BLOCKS };
        self.blocks.store(next.clamp(least, most), Ordering::Relaxed);
    }

    /// Halves the window of blocks after a step that ran into its deadline, or had too many rows.
    pub(crate) fn back_off_blocks(&self, blocks: u64) {
        self.blocks.store((blocks / 2).max(1), Ordering::Relaxed);
    }

    /// How many keys hold so many rows, going by the last window; `None` before any.
    pub(crate) fn keys_for(&self, rows: u64) -> Option<i128> {
        let (keys, held) = (*self.keys.lock().unwrap_or_else(|p| p.into_inner()))?;
        Some(keys.saturating_mul(i128::from(rows)) / i128::from(held.max(1)))
    }

    /// Takes note of how many keys a window reached over that is taken to hold so many rows.
    pub(crate) fn learn_keys(&self, keys: i128, rows: u64) {
        *self.keys.lock().unwrap_or_else(|p| p.into_inner()) = Some((keys, rows));
    }

    /// What is expected of a question, where that was asked no longer ago than this.
    pub(crate) fn estimate(&self, question: &str, age: Duration) -> Option<Option<RangeEstimate>> {
        let outlooks = self.outlooks.lock().unwrap_or_else(|p| p.into_inner());
        outlooks.get(question).filter(|(asked, _)| asked.elapsed() < age).map(|(_, outlook)| *outlook)
    }

    /// Takes note of what has come of that since.
    pub(crate) fn revise(&self, question: &str, outlook: Option<RangeEstimate>) {
        let mut outlooks = self.outlooks.lock().unwrap_or_else(|p| p.into_inner());
        if let Some(known) = outlooks.get_mut(question) {
            known.1 = outlook;
        }
    }

    /// Takes note of what is expected of a question from now on.
    pub(crate) fn expect(&self, question: &str, outlook: Option<RangeEstimate>) {
        let mut outlooks = self.outlooks.lock().unwrap_or_else(|p| p.into_inner());
        if outlooks.len() > REMEMBERED {
            outlooks.clear();
        }
        outlooks.insert(question.to_owned(), (Instant::now(), outlook));
    }

    /// Whether every question counts as slow.
    pub(crate) fn is_gentle(&self) -> bool {
        self.gentle
    }

    /// Whether the direct statement is known to take too long for a question.
    pub(crate) fn is_slow(&self, question: &str) -> bool {
        self.gentle || self.slow.lock().unwrap_or_else(|p| p.into_inner()).contains(question)
    }

    /// Remembers what ended the direct statement, unless somebody stopped it: once is no habit.
    pub(crate) fn remember(&self, error: &SourceError, question: &str) {
        if matches!(error, SourceError::Timeout(_)) {
            self.mark_slow(question);
        }
    }

    /// Remembers that it does, or that it is asked in vain.
    pub(crate) fn mark_slow(&self, question: &str) {
        let mut slow = self.slow.lock().unwrap_or_else(|p| p.into_inner());
        if slow.len() > REMEMBERED {
            slow.clear();
        }
        slow.insert(question.to_owned());
    }
}

/// What is remembered of a question, among those that anything is remembered of.
fn entry<'m>(memory: &'m mut HashMap<String, Yield>, question: &str) -> &'m mut Yield {
    if memory.len() > REMEMBERED {
        memory.clear();
    }
    memory.entry(question.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_made_for_the_hits_that_are_wanted_of_it() {
        let pace = ChunkSizes::new(false);
        assert_eq!(pace.rows_for("q", 3_000), usize::MAX, "nothing is known yet");
        pace.found("q", Yield { rows: 100_000, hits: 20_000 });
        assert_eq!(pace.rows_for("q", 3_000), rung(18_750));
        assert_eq!(pace.rows_for("q", 1), rung(LEAST));
        assert_eq!(pace.rows_for("q", usize::MAX), usize::MAX);
        pace.found("q", Yield { rows: 100_000, hits: 0 });
        assert_eq!(pace.rows_for("q", 3_000), usize::MAX, "what is rare is looked for in large windows");
    }

    #[test]
    fn a_window_shrinks_to_a_single_row_where_it_must_and_grows_again() {
        for gentle in [false, true] {
            let pace = ChunkSizes::new(gentle);
            let mut tried = vec![pace.window(MOST)];
            while pace.back_off(pace.window(MOST)) {
                tried.push(pace.window(MOST));
            }
            assert!(tried.ends_with(&[125, 3, 1]) || tried.ends_with(&[6, 1]), "{tried:?}");
            pace.learn(1, Duration::from_secs(1));
            assert_eq!(pace.window(MOST), 1);
            for _ in 0..12 {
                pace.learn(pace.window(MOST), Duration::from_millis(1));
            }
            assert!(pace.window(MOST) >= LEAST, "{}", pace.window(MOST));
            pace.learn(LEAST, Duration::from_secs(1));
            assert_eq!(pace.window(MOST), LEAST, "what is only slow is not read row by row");
        }
    }

    #[test]
    fn there_are_four_rungs_to_each_doubling_and_none_is_far() {
        let rungs: std::collections::BTreeSet<usize> = (LEAST..=MOST).map(rung).collect();
        assert_eq!(rungs.len(), 41);
        assert!((0..10_000).all(|n| rung(n) >= n && rung(n) <= n + n / 4 && rung(rung(n)) == rung(n)));
        assert_eq!([0, 1, 7, 9, 16, 17, 500].map(rung), [0, 1, 7, 10, 16, 20, 512]);
    }
}
