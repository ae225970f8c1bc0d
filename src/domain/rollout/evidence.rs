//! What the outcomes of some jobs of a run say of the others, and when that is enough to go on or to stop.

use serde::{Deserialize, Serialize};

use crate::domain::histogram::grouped;
use crate::domain::outcome::{GoneMeaning, ReplayOutcome};
use crate::domain::text::{Clean, Untrusted};

/// The quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_964;
/// Failures below which a run is not stopped, however few jobs they are of: two may be a coincidence.
const MIN_FAILED: u64 = 3;
/// Error classes that are named.
const CLASSES_NAMED: usize = 3;

/// Jobs by what their outcome says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// They succeeded.
    pub succeeded: u64,
    /// They failed again: dead, or waiting for another attempt.
    pub failed: u64,
    /// Those of the failed ones that wait for another attempt.
    pub retrying: u64,
    /// They wait or run.
    pub open: u64,
    /// The layout cannot tell, or somebody else had a hand in it.
    pub unknown: u64,
    /// The failed ones by error class; the most frequent first.
    pub by_class: Vec<(Option<String>, u64)>,
}

impl Evidence {
    /// Counts a job.
    pub fn add(&mut self, outcome: &ReplayOutcome) {
        match outcome {
            ReplayOutcome::Waiting | ReplayOutcome::Running => self.open += 1,
            ReplayOutcome::Succeeded | ReplayOutcome::Gone(GoneMeaning::Succeeded) => self.succeeded += 1,
            ReplayOutcome::Retrying(class) => {
                self.retrying += 1;
                self.add_failure(class.as_ref());
            }
            ReplayOutcome::DiedAgain(class) => self.add_failure(class.as_ref()),
            ReplayOutcome::Gone(GoneMeaning::Deleted) | ReplayOutcome::TakenBack | ReplayOutcome::Unknown => {
                self.unknown += 1;
            }
        }
    }

    fn add_failure(&mut self, class: Option<&Untrusted>) {
        self.failed += 1;
        let class = class.map(|class| class.exact().to_owned());
        match self.by_class.iter_mut().find(|(known, _)| *known == class) {
            Some((_, n)) => *n += 1,
            None => self.by_class.push((class, 1)),
        }
        self.by_class.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }

    /// All jobs.
    pub fn total(&self) -> u64 {
        self.succeeded + self.failed + self.open + self.unknown
    }

    /// Jobs that have succeeded or failed.
    pub fn known(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// Whether so many failed that more than `limit` of all jobs would, with a confidence of 95 %.
    pub fn is_above(&self, limit: f64) -> bool {
        self.failed >= MIN_FAILED && wilson_lower_bound(self.failed, self.known()) > limit
    }

    /// What the canary jobs say when `is_time_over`, or before.
    pub fn gate(&self, limit: f64, is_time_over: bool) -> GateVerdict {
        let is_within = |n: u64| n as f64 <= limit * self.total() as f64 + 1e-9;
        if !is_within(self.failed) {
            return GateVerdict::Failed;
        }
        if self.open > 0 && !is_time_over {
            return GateVerdict::Wait;
        }
        // What is not known to be good does not open the gate.
        match self.succeeded > 0 && is_within(self.failed + self.unknown + self.open) {
            true => GateVerdict::Open,
            false => GateVerdict::Undecided,
        }
    }

    /// The failures in words: `died again 34 of 300 (KeyError 30, TypeError 4)`. `jobs` says which jobs, where that matters.
    pub fn failures(&self, of: u64, jobs: &str) -> String {
        let verb = if self.retrying > 0 { "failed again" } else { "died again" };
        let named = self.by_class.iter().take(CLASSES_NAMED);
        let name = |class: &Option<String>| match class {
            Some(class) => Clean::line(class).to_string(),
            None => "no error class".to_owned(),
        };
        let mut classes: Vec<String> = named.map(|(class, n)| format!("{} {}", name(class), grouped(*n))).collect();
        let rest: u64 = self.by_class.iter().skip(CLASSES_NAMED).map(|(_, n)| n).sum();
        classes.extend((rest > 0).then(|| format!("others {}", grouped(rest))));
        let retried = match self.retrying {
            0 => String::new(),
            n => format!(", {} of them wait for another attempt", grouped(n)),
        };
        format!("{verb} {} of {}{jobs} ({}){retried}", grouped(self.failed), grouped(of), classes.join(", "))
    }

    /// One short line: `18 ok, 2 failed again`.
    pub fn summary(&self) -> String {
        let parts = [
            (self.succeeded, "ok"),
            (self.failed, "failed again"),
            (self.open, "not finished"),
            (self.unknown, "unknown"),
        ];
        let named = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", grouped(n)));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// What the gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    /// It waits.
    Wait,
    /// The other jobs may follow.
    Open,
    /// Too many failed.
    Failed,
    /// What became of the jobs is not known well enough: the operator decides.
    Undecided,
}

/// The lower bound of the Wilson interval of 95 % for a share, with continuity correction (Newcombe 1998, method 4).
pub fn wilson_lower_bound(hits: u64, of: u64) -> f64 {
    if hits == 0 || of == 0 {
        return 0.0;
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let root = (Z * Z - 1.0 / n + 4.0 * n * p * (1.0 - p) + (4.0 * p - 2.0)).max(0.0).sqrt();
    ((2.0 * n * p + Z * Z - (Z * root + 1.0)) / (2.0 * (n + Z * Z))).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn evidence(succeeded: u64, failed: u64, open: u64, unknown: u64) -> Evidence {
        Evidence { succeeded, failed, open, unknown, ..Evidence::default() }
    }

    #[test]
    fn the_bound_is_that_of_the_paper() {
        // Newcombe 1998, table I, method 4: 81 of 263, 15 of 148, 1 of 29.
        for (hits, of, bound) in [(81, 263, 0.2535), (15, 148, 0.0598), (1, 29, 0.0018)] {
            let found = wilson_lower_bound(hits, of);
            assert!((found - bound).abs() < 5e-5, "{hits} of {of}: {found}");
        }
        assert!(wilson_lower_bound(0, 20).abs() < f64::EPSILON && wilson_lower_bound(0, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn few_failures_stop_nothing_and_many_do() {
        for (failed, of, stops) in [
            (0, 300, false),
            (1, 1, false),
            (2, 2, false),
            (1, 3, false),
            (3, 3, true),
            (9, 300, false),
            (20, 300, false),
            (30, 300, true),
            (34, 300, true),
            (300, 300, true),
        ] {
            assert_eq!(evidence(of - failed, failed, 0, 0).is_above(0.05), stops, "{failed} of {of}");
        }
        assert!(!evidence(0, 2, 998, 0).is_above(0.05), "what is open says nothing");
    }

    #[test]
    fn the_gate_opens_for_what_succeeded_only() {
        use GateVerdict::{Failed, Open, Undecided, Wait};
        for (seen, limit, is_time_over, verdict) in [
            (evidence(20, 0, 0, 0), 0.05, false, Open),
            (evidence(19, 1, 0, 0), 0.05, false, Open),
            (evidence(18, 2, 0, 0), 0.05, false, Failed),
            (evidence(0, 2, 18, 0), 0.05, false, Failed),
            (evidence(19, 0, 1, 0), 0.05, false, Wait),
            (evidence(19, 0, 1, 0), 0.05, true, Open),
            (evidence(18, 1, 1, 0), 0.05, true, Undecided),
            (evidence(0, 0, 20, 0), 0.05, true, Undecided),
            (evidence(0, 0, 0, 20), 0.05, false, Undecided),
            (evidence(0, 0, 0, 20), 0.99, true, Undecided),
            (evidence(0, 0, 0, 0), 0.05, false, Undecided),
            (evidence(19, 1, 0, 0), 0.0, false, Failed),
        ] {
            assert_eq!(seen.gate(limit, is_time_over), verdict, "{seen:?} at {limit}, over: {is_time_over}");
        }
    }

    #[test]
    fn failures_are_told_by_class_and_what_is_retried_is_no_death() {
        let mut seen = Evidence::default();
        let died = |class: &str| ReplayOutcome::DiedAgain(Some(class.into()));
        for class in ["KeyError", "KeyError", "Type\u{1b}[2J", "A", "B"] {
            seen.add(&died(class));
        }
        let told = seen.failures(300, "");
        assert!(told.starts_with("died again 5 of 300 (KeyError 2, A 1, B 1, others 1)"), "{told}");
        assert!(!told.contains('\u{1b}'));
        seen.add(&ReplayOutcome::Retrying(None));
        seen.add(&ReplayOutcome::Gone(GoneMeaning::Succeeded));
        seen.add(&ReplayOutcome::Gone(GoneMeaning::Deleted));
        assert!(
            seen.failures(8, " canary jobs").starts_with("failed again 6 of 8 canary jobs ("),
            "{}",
            seen.failures(8, " canary jobs")
        );
        assert!(
            seen.failures(8, " canary jobs").ends_with("1 of them wait for another attempt"),
            "{}",
            seen.failures(8, " canary jobs")
        );
        assert_eq!(seen.summary(), "1 ok, 6 failed again, 1 unknown");
    }

    proptest! {
        #[test]
        fn the_bound_is_a_share_below_the_observed_one_and_grows_with_the_evidence(hits in 0u64..500, misses in 0u64..500) {
            let of = hits + misses;
            let bound = wilson_lower_bound(hits, of);
            prop_assert!((0.0..=1.0).contains(&bound));
            prop_assert!(of == 0 || bound <= hits as f64 / of as f64 + 1e-12);
            prop_assert!(wilson_lower_bound(hits * 10, of * 10) + 1e-12 >= bound);
            prop_assert!(wilson_lower_bound(hits + 1, of + 1) + 1e-12 >= bound);
        }
    }
}
