//! What an operator asked for apart from the verb and the jobs.

pub mod destination;
pub mod pick;
pub mod rate;
pub mod validator;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::text::Clean;
use super::time::{Timestamp, exact_span};
use crate::domain::rollout::Rollout;
use crate::domain::run_options::rate::Pacing;
use crate::domain::run_options::validator::Validator;

/// What becomes of the attempts that a replayed job has used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempts {
    /// It starts again with none.
    Reset,
    /// They are kept, and a job that has used up all gets one more.
    Once,
}

impl Attempts {
    /// Both, the usual one first.
    pub const ALL: [Attempts; 2] = [Attempts::Reset, Attempts::Once];

    /// The word that commands take.
    pub fn word(self) -> &'static str {
        match self {
            Attempts::Reset => "reset",
            Attempts::Once => "once",
        }
    }

    /// What it means for each job, as a sentence for the plan.
    pub fn sentence(self) -> &'static str {
        match self {
            Attempts::Reset => "Attempts are reset: a job that fails again is retried as a new one would be.",
            Attempts::Once => "Used attempts stay: a job that has none left gets one more try.",
        }
    }
}

/// Reads the word of [`Attempts`].
///
/// # Errors
/// Says what the words are.
pub fn parse_attempts(word: &str) -> Result<Attempts, String> {
    Attempts::ALL.into_iter().find(|a| a.word() == word).ok_or_else(|| "write reset or once".to_owned())
}

/// Reads the name of a queue.
///
/// # Errors
/// When there is none.
pub fn parse_queue(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a queue has a name".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Reads the number of jobs that a plan has at the most.
///
/// # Errors
/// When it is no number, or 0.
pub fn parse_limit(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "write a number from 1; without --limit all are taken".to_owned())
}

/// Reads the number of jobs that a batch has at the most.
///
/// # Errors
/// When it is no number, or none that a batch can have.
pub fn parse_batch(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or_else(|| "write a number from 1 to 10000".to_owned())
}

/// The options of a run; kept with it as JSON, so that it goes on as it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How fast.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// The queue that replayed jobs go to, in place of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_queue: Option<String>,
    /// What becomes of used attempts, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Attempts>,
    /// Seconds that a job must have been dead and untouched.
    #[serde(skip_serializing_if = "Option::is_none", rename = "older_than_s")]
    pub older_than: Option<u64>,
    /// The instant that this meant when the run was frozen, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untouched_since_us: Option<i64>,
    /// What judges jobs before they are replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<Validator>,
    /// The run that is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The expression by which arguments are changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    /// Nothing is kept of the rows, and what earlier runs kept of them is erased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_archive: bool,
    /// What the undo of a replay needs is kept however many the jobs are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// How a replay proves itself before all of it is put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// Jobs up to which a replay keeps what its undo needs without being asked: whole rows of a million jobs are gigabytes in
/// the operator's home, and take longer to write than the replay does.
pub const KEPT_UNASKED: u64 = 10_000;

impl Options {
    /// Whether a run over so many jobs keeps rows.
    pub fn keeps(&self, action: Action, jobs: u64) -> bool {
        !self.no_archive && !action.leaves_rows() && (action != Action::Replay || self.keep || jobs <= KEPT_UNASKED)
    }

    /// Whether the arguments of the jobs change in the same transaction as the action, which is not the change itself.
    pub fn edits_too(&self, action: Action) -> bool {
        self.repair.is_some() && matches!(action, Action::Replay | Action::Recall)
    }

    /// Whether nothing was asked for.
    pub fn is_plain(&self) -> bool {
        *self == Options::default()
    }

    /// The instant since which a job must have been left alone to be acted on; known once the run is frozen.
    pub fn untouched_since(&self) -> Option<Timestamp> {
        self.untouched_since_us.map(Timestamp)
    }

    /// These options with what counts from the present counted from the whole second of `now`, as a filter's times are.
    pub fn resolve(self, now: Timestamp) -> Options {
        const SECOND: i64 = 1_000_000;
        let now = Timestamp(now.0.div_euclid(SECOND) * SECOND);
        let since = self.older_than.map(|span| now.before(Duration::from_secs(span)).0);
        Options { untouched_since_us: since.or(self.untouched_since_us), ..self }
    }
}

impl From<Pacing> for Options {
    fn from(pacing: Pacing) -> Self {
        Self { pacing, ..Self::default() }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut wishes = Vec::new();
        if !self.pacing.is_free() {
            wishes.push(self.pacing.to_string());
        }
        if let Some(queue) = &self.to_queue {
            wishes.push(format!("to the queue {}", Clean::line(queue)));
        }
        // Those of what is undone are no wish.
        let attempts = self.attempts.filter(|_| self.undoes.is_none());
        wishes.extend(attempts.map(|attempts| match attempts {
            Attempts::Reset => "attempts reset".to_owned(),
            Attempts::Once => "one more try".to_owned(),
        }));
        wishes.extend(self.older_than.map(|span| format!("older than {}", exact_span(Duration::from_secs(span)))));
        wishes.extend(self.validate.as_ref().map(Validator::to_string));
        wishes.extend(self.undoes.as_ref().map(|run| format!("undoes {run}")));
        wishes.extend(self.repair.as_ref().map(|expression| format!("arguments: {}", Clean::line(expression))));
        wishes.extend(self.no_archive.then(|| "without a copy".to_owned()));
        wishes.extend(self.keep.then(|| "kept for an undo".to_owned()));
        wishes.extend(self.rollout.map(|rule| rule.to_string()));
        f.write_str(&wishes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_kept_flat_and_read_back() {
        let options = Options::from(Pacing { rate: Some(200.0), ..Pacing::default() });
        let kept = serde_json::to_string(&options).expect("JSON");
        assert_eq!(kept, r#"{"rate":200.0}"#);
        assert_eq!(serde_json::from_str::<Options>(&kept).expect("options"), options);
        assert!(Options::default().is_plain() && !options.is_plain());
        let undo = Options { undoes: Some("r-7".into()), no_archive: true, ..Options::default() };
        assert_eq!(serde_json::to_string(&undo).expect("JSON"), r#"{"undoes":"r-7","no_archive":true}"#);
        assert_eq!(undo.to_string(), "undoes r-7, without a copy");
    }

    #[test]
    fn big_replays_keep_their_rows_only_when_asked_to() {
        let (plain, asked) = (Options::default(), Options { keep: true, ..Options::default() });
        assert!(plain.keeps(Action::Replay, KEPT_UNASKED) && !plain.keeps(Action::Replay, KEPT_UNASKED + 1));
        assert!(asked.keeps(Action::Replay, u64::MAX) && plain.keeps(Action::Discard, u64::MAX));
        assert!(!Options { no_archive: true, ..asked }.keeps(Action::Replay, 1));
    }

    #[test]
    fn wishes_for_a_replay_and_for_retention_are_kept_and_told() {
        let options = Options {
            to_queue: Some("low\n".into()),
            attempts: Some(Attempts::Once),
            older_than: Some(86_400),
            ..Options::default()
        };
        assert_eq!(options.to_string(), "to the queue low\u{23ce}, one more try, older than 1d");
        let resolved = options.resolve(Timestamp(86_400_000_000 + 7_900_000));
        assert_eq!(resolved.untouched_since(), Some(Timestamp(7_000_000)));
        let kept = serde_json::to_string(&resolved).expect("JSON");
        assert_eq!(kept, r#"{"to_queue":"low\n","attempts":"once","older_than_s":86400,"untouched_since_us":7000000}"#);
        assert_eq!(serde_json::from_str::<Options>(&kept).expect("options"), resolved);
    }
}
