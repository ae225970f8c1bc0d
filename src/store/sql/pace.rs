//! How much is read at a time: windows that adapt to what they cost, and what is known to take too long.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What a window is meant to take.
pub(super) const TARGET: Duration = Duration::from_millis(150);
/// Rows of the first window, and the bounds of all.
const FIRST: usize = 4_000;
pub(super) const LEAST: usize = 200;
const MOST: usize = 200_000;
/// The most that is read where each row brings its heavy columns along.
const MOST_HEAVY: usize = 2_000;

/// Blocks of the first window, and the bounds of all.
const FIRST_BLOCKS: u64 = 1_024;
pub(super) const LEAST_BLOCKS: u64 = 16;
const MOST_BLOCKS: u64 = 131_072;

/// The next number of which there are but four to each doubling. The sizes that statements name come from these, so
/// that there are few different statements, which a driver can keep prepared.
pub(super) fn rung(n: usize) -> usize {
    let step = ((1usize << (n.max(2) - 1).ilog2()) / 4).max(1);
    n.div_ceil(step).saturating_mul(step)
}

/// What is remembered from scan to scan.
pub(super) struct Pace {
    rows: AtomicUsize,
    blocks: AtomicU64,
    /// Questions for which the direct statement took too long.
    slow: Mutex<HashSet<String>>,
    /// Whether every question counts as slow, and windows stay small.
    gentle: bool,
}

impl Pace {
    pub(super) fn new(gentle: bool) -> Self {
        let (rows, blocks) = if gentle { (LEAST, LEAST_BLOCKS) } else { (FIRST, FIRST_BLOCKS) };
        let (rows, blocks) = (AtomicUsize::new(rows), AtomicU64::new(blocks));
        Self { rows, blocks, slow: Mutex::new(HashSet::new()), gentle }
    }

    /// Rows of the next window; fewer where each brings its heavy columns along.
    pub(super) fn window(&self, heavy: bool) -> usize {
        let rows = self.rows.load(Ordering::Relaxed);
        if heavy { rows.min(MOST_HEAVY) } else { rows }
    }

    /// Adapts the next window to what this one took.
    pub(super) fn learn(&self, rows: usize, took: Duration) {
        let share = (TARGET.as_secs_f64() / took.as_secs_f64().max(0.001)).clamp(0.5, 2.0);
        // Truncation is fine: the figure is a guess.
        let next = (rows as f64 * share) as usize;
        let most = if self.gentle { LEAST } else { MOST };
        self.rows.store(rung(next).clamp(LEAST, most), Ordering::Relaxed);
    }

    /// Halves the window after a step that ran into its deadline.
    pub(super) fn back_off(&self, rows: usize) {
        self.rows.store((rows / 2).max(LEAST), Ordering::Relaxed);
    }

    /// Blocks of the next window.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Adapts the next window of blocks to what this one took.
    pub(super) fn learn_blocks(&self, blocks: u64, took: Duration) {
        let share = (TARGET.as_secs_f64() / took.as_secs_f64().max(0.001)).clamp(0.5, 2.0);
        let next = (blocks as f64 * share) as u64;
        let most = if self.gentle { LEAST_BLOCKS } else { MOST_BLOCKS };
        self.blocks.store(next.clamp(LEAST_BLOCKS, most), Ordering::Relaxed);
    }

    /// Halves the window of blocks after a step that ran into its deadline.
    pub(super) fn back_off_blocks(&self, blocks: u64) {
        self.blocks.store((blocks / 2).max(LEAST_BLOCKS), Ordering::Relaxed);
    }

    /// Whether the direct statement is known to take too long for a question.
    pub(super) fn is_slow(&self, question: &str) -> bool {
        self.gentle || self.slow.lock().unwrap_or_else(|p| p.into_inner()).contains(question)
    }

    /// Remembers that it does.
    pub(super) fn mark_slow(&self, question: &str) {
        let mut slow = self.slow.lock().unwrap_or_else(|p| p.into_inner());
        if slow.len() > 100 {
            slow.clear();
        }
        slow.insert(question.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_four_rungs_to_each_doubling_and_none_is_far() {
        let rungs: std::collections::BTreeSet<usize> = (LEAST..=MOST).map(rung).collect();
        assert_eq!(rungs.len(), 41);
        assert!((0..10_000).all(|n| rung(n) >= n && rung(n) <= n + n / 4 && rung(rung(n)) == rung(n)));
        assert_eq!([0, 1, 7, 9, 16, 17, 500].map(rung), [0, 1, 7, 10, 16, 20, 512]);
    }
}
