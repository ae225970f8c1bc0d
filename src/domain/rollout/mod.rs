//! How a replay proves itself before all of it is put back: a few jobs first, a gate that waits for their outcomes, then a
//! rate that grows, and a stop when too many jobs fail again.

pub mod canary;
pub mod evidence;
pub mod ramp;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::histogram::jobs;
use crate::domain::time::exact_span;
use evidence::Evidence;

/// The most canary jobs of a run.
pub const MAX_CANARY: u64 = 500;
/// The share of failures above which a run is stopped, where it has a canary or a ramp and no share was given.
pub const DEFAULT_LIMIT: f64 = 0.05;
/// How long the gate waits for outcomes at least, where that was not said: jobs wait for a worker first.
pub const DEFAULT_GATE_WAIT: Duration = Duration::from_secs(60);

/// The rule by which a run proves itself; kept with the run, so that it goes on under it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// Jobs that are replayed first; the others follow once these succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<u64>,
    /// The share of jobs that may fail again, from 0 to 1.
    pub stop_above: f64,
    /// Whether the rate grows step by step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ramp: bool,
    /// Seconds that the gate waits for outcomes at most.
    #[serde(rename = "settle_s")]
    pub gate_wait: u64,
    /// Whether somebody said so.
    #[serde(default, rename = "settle_asked", skip_serializing_if = "std::ops::Not::not")]
    pub is_wait_asked: bool,
    /// Whether canary jobs have one attempt, whatever the others have: their first failure is final then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_attempt: bool,
}

impl Rollout {
    /// The rule that was asked for; `None` where nothing was.
    pub fn new(canary: Option<u64>, stop_above: Option<f64>, ramp: bool, gate_wait: Option<Duration>) -> Option<Self> {
        let is_asked = canary.is_some() || stop_above.is_some() || ramp;
        is_asked.then(|| Self {
            canary,
            stop_above: stop_above.unwrap_or(DEFAULT_LIMIT),
            ramp,
            gate_wait: gate_wait.unwrap_or(DEFAULT_GATE_WAIT).as_secs(),
            is_wait_asked: gate_wait.is_some(),
            one_attempt: false,
        })
    }

    /// The automatic stop alone, with its usual limit.
    pub fn automatic_stop() -> Self {
        let gate_wait = DEFAULT_GATE_WAIT.as_secs();
        Self {
            canary: None,
            stop_above: DEFAULT_LIMIT,
            ramp: false,
            gate_wait,
            is_wait_asked: false,
            one_attempt: false,
        }
    }

    /// How long the gate waits for outcomes at most.
    pub fn gate_wait(&self) -> Duration {
        Duration::from_secs(self.gate_wait)
    }
}

impl fmt::Display for Rollout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(n) = self.canary {
            let wait = exact_span(self.gate_wait());
            let attempts = if self.one_attempt { " with one attempt" } else { "" };
            write!(f, "canary of {}{attempts}, whose outcomes are awaited for up to {wait}, ", jobs(n))?;
        }
        if self.ramp {
            f.write_str("growing rate, ")?;
        }
        write!(f, "stops when more than {} fail again", Percent(self.stop_above))
    }
}

/// A share in words: `5%`, `0.5%`.
pub struct Percent(pub f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e6).round() / 1e4)
    }
}

/// Where a run with a rule stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutPhase {
    /// Its canary jobs are put back.
    #[default]
    Canary,
    /// It waits for their outcomes.
    Gate,
    /// The other jobs are put back.
    Rest,
    /// The rule has stopped it. The next execution starts again with a canary, of the jobs that are left.
    Stopped,
}

impl RolloutPhase {
    /// The word for screens.
    pub fn word(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Gate => "gate",
            Self::Rest => "rest",
            Self::Stopped => "stopped by its rule",
        }
    }
}

/// How far a run with a rule has come; kept in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolloutState {
    /// Where it stands.
    pub phase: RolloutPhase,
    /// The place of the last canary job in the run; 0 where it has none.
    pub canary_end: i64,
    /// The places of all its canary jobs, also of those that were replayed before the rule stopped the run: behind the first
    /// number, up to the second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<(i64, i64)>,
    /// The jobs behind this place tell how the phase goes.
    pub evidence_start: i64,
    /// What was known of their outcomes when that was last asked.
    pub evidence: Evidence,
}

impl RolloutState {
    /// What a run starts with: its canary jobs are the first `canary` ones.
    pub fn starting(canary: i64) -> Self {
        Self::default().starting_again(0, canary)
    }

    /// What a run goes on with that was stopped: its canary jobs are those behind the place `start`, up to `end`, where that is
    /// not 0.
    pub fn starting_again(self, start: i64, end: i64) -> Self {
        let phase = if end > 0 { RolloutPhase::Canary } else { RolloutPhase::Rest };
        let mut canaries = self.canaries;
        canaries.extend((end > start).then_some((start, end)));
        Self { phase, canary_end: end, canaries, evidence_start: start, evidence: Evidence::default() }
    }

    /// The failures that its sample has, in words: `died again 2 of 20 canary jobs (KeyError 2)`.
    pub fn failures(&self) -> String {
        // Behind the gate the jobs after the canary ones tell how it goes.
        match self.evidence_start < self.canary_end {
            true => self.evidence.failures(self.evidence.total(), " canary jobs"),
            false => self.evidence.failures(self.evidence.known(), ""),
        }
    }

    /// As the ledger keeps it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What the ledger kept.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Reads the number of canary jobs.
///
/// # Errors
/// When it is no number, or none that a canary can have.
pub fn parse_canary(text: &str) -> Result<u64, String> {
    let n = text.parse().ok().filter(|n| (1..=MAX_CANARY).contains(n));
    n.ok_or_else(|| format!("write a number from 1 to {MAX_CANARY}"))
}

/// Reads a share: `5%`, or `0.5%`.
///
/// # Errors
/// When it is no share, or none that can be passed.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.filter(|n| (0.0..100.0).contains(n)).map(|n| n / 100.0);
    share.ok_or_else(|| format!("`{text}` is no share: write 5%, less than 100%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_numbers_are_read_and_others_refused() {
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert_eq!(parse_share("0.5 %"), Ok(0.005));
        assert_eq!(parse_share("0%"), Ok(0.0));
        for bad in ["", "5", "100%", "-1%", "x%", "NaN%", "inf%"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_canary("20"), Ok(20));
        for bad in ["0", "-1", "501", "x"] {
            assert!(parse_canary(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rule_is_told_in_words_and_read_back_from_the_ledger() {
        assert_eq!(Rollout::new(None, None, false, Some(Duration::from_secs(5))), None);
        let rule = Rollout::new(Some(20), None, true, None).expect("a rule");
        assert_eq!(
            rule.to_string(),
            "canary of 20 jobs, whose outcomes are awaited for up to 1m, growing rate, stops when more than 5% fail again"
        );
        let kept = serde_json::to_string(&rule).expect("JSON");
        assert_eq!(kept, r#"{"canary":20,"stop_above":0.05,"ramp":true,"settle_s":60}"#);
        assert_eq!(serde_json::from_str::<Rollout>(&kept).expect("a rule"), rule);
        let only = Rollout::new(None, Some(0.07), false, None).expect("a rule");
        assert_eq!(only.to_string(), "stops when more than 7% fail again");
        let mut state = RolloutState::starting(20);
        state.evidence.add(&crate::domain::outcome::ReplayOutcome::DiedAgain(Some("KeyError".into())));
        assert_eq!(state.failures(), "died again 1 of 1 canary jobs (KeyError 1)");
        let behind = RolloutState { evidence_start: 20, ..state.clone() };
        assert_eq!(behind.failures(), "died again 1 of 1 (KeyError 1)", "behind the gate others tell");
        assert_eq!(RolloutState::from_json(&state.to_json()), Some(state));
        assert_eq!(RolloutState::starting(0).phase, RolloutPhase::Rest);
        let again = RolloutState::starting(20).starting_again(40, 60);
        assert_eq!((again.canaries.as_slice(), again.canary_end), (&[(0, 20), (40, 60)][..], 60));
        assert_eq!(again.starting_again(70, 0).canaries.len(), 2, "a run may go on without a canary");
    }
}
