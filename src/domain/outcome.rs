//! The outcome of a replayed job.

use serde::{Deserialize, Serialize};

use super::histogram::grouped;
use super::job::JobId;
use super::text::Untrusted;

/// Where a replayed job has got to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// In the live queue, and not yet started.
    Waiting,
    /// A worker has it.
    Running,
    /// Failed at least once since the replay, with this error class where it is known, and waits for its next attempt.
    Retrying(Option<Untrusted>),
    /// Finished without an error, as far as the layout can tell.
    Succeeded,
    /// Dead again, with this error class where it is known.
    DiedAgain(Option<Untrusted>),
    /// No longer in the store, and what that means there.
    Gone(GoneMeaning),
    /// Its replay was undone: it is dead as before.
    TakenBack,
    /// The layout cannot tell.
    Unknown,
}

/// What a store tells of a replayed job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedOutcome {
    /// Where it has got to.
    pub outcome: ReplayOutcome,
    /// Of a job that died again, the id of its dead row, where that is another one than before.
    pub dead_row: Option<JobId>,
}

impl From<ReplayOutcome> for ObservedOutcome {
    fn from(outcome: ReplayOutcome) -> Self {
        Self { outcome, dead_row: None }
    }
}

/// A group of outcomes as filters, screens and metrics name it: the one list of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// In the live queue, and not yet started.
    Waiting,
    /// A worker has it.
    Running,
    /// Failed since the replay, and waits for its next attempt.
    Retrying,
    /// Finished without an error, or gone where that means it.
    Succeeded,
    /// Dead again.
    Died,
    /// No longer in the store, whatever that means there.
    Gone,
    /// Its replay was undone.
    TakenBack,
    /// The layout cannot tell, or it was not asked about yet.
    Unknown,
}

impl OutcomeKind {
    /// All of them, in the order of a job's way.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Running,
        Self::Retrying,
        Self::Succeeded,
        Self::Died,
        Self::Gone,
        Self::TakenBack,
        Self::Unknown,
    ];

    /// The word of the filter key `outcome:`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Died => "died",
            Self::Gone => "gone",
            Self::TakenBack => "taken-back",
            Self::Unknown => "unknown",
        }
    }

    /// The word on screens.
    pub fn label(self) -> &'static str {
        match self {
            Self::Died => "died again",
            Self::Gone => "deleted",
            Self::TakenBack => "taken back",
            kind => kind.word(),
        }
    }

    /// The word in JSON, CSV and metrics.
    pub fn field(self) -> &'static str {
        match self {
            Self::Died => "died_again",
            Self::Gone => "deleted",
            Self::TakenBack => "taken_back",
            kind => kind.word(),
        }
    }

    /// The kind that a word of a filter names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The words of the ledger for it, see [`ReplayOutcome::word`].
    pub fn ledger_words(self) -> &'static [&'static str] {
        match self {
            Self::Waiting => &["waiting"],
            Self::Running => &["running"],
            Self::Retrying => &["retrying"],
            Self::Succeeded => &["succeeded", "gone_succeeded"],
            Self::Died => &["died_again"],
            Self::Gone => &["gone", "gone_succeeded"],
            Self::TakenBack => &["taken_back"],
            Self::Unknown => &["unknown"],
        }
    }
}

/// A test of the outcome of replayed jobs: it is of one of these kinds, or of none. A job that was not replayed has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeTest {
    /// The kinds.
    pub kinds: Vec<OutcomeKind>,
    /// Whether the outcome must be none of them.
    pub is_negated: bool,
}

/// What it means that a replayed job is no longer in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoneMeaning {
    /// Workers delete the jobs that they finish.
    Succeeded,
    /// Finished jobs stay for a while: somebody, or a cleaner, deleted it.
    #[default]
    Deleted,
}

impl ReplayOutcome {
    /// The word that the ledger keeps.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Retrying(_) => "retrying",
            Self::Succeeded => "succeeded",
            Self::DiedAgain(_) => "died_again",
            Self::Gone(GoneMeaning::Succeeded) => "gone_succeeded",
            Self::Gone(GoneMeaning::Deleted) => "gone",
            Self::TakenBack => "taken_back",
            Self::Unknown => "unknown",
        }
    }

    /// Its kind: what is gone where that means success has succeeded.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Waiting => OutcomeKind::Waiting,
            Self::Running => OutcomeKind::Running,
            Self::Retrying(_) => OutcomeKind::Retrying,
            Self::Succeeded | Self::Gone(GoneMeaning::Succeeded) => OutcomeKind::Succeeded,
            Self::DiedAgain(_) => OutcomeKind::Died,
            Self::Gone(GoneMeaning::Deleted) => OutcomeKind::Gone,
            Self::TakenBack => OutcomeKind::TakenBack,
            Self::Unknown => OutcomeKind::Unknown,
        }
    }

    /// In few words for a screen, with the error class of the last failure where it is known: `died again, KeyError`.
    pub fn summary(&self) -> String {
        let label = self.kind().label();
        match self.error_class() {
            Some(class) => format!("{label}, {}", class.exact()),
            None => label.to_owned(),
        }
    }

    /// The outcome that the ledger kept.
    pub fn from_word(word: &str, error_class: Option<Untrusted>) -> Self {
        match word {
            "gone_succeeded" => Self::Gone(GoneMeaning::Succeeded),
            "taken_back" => Self::TakenBack,
            // A word of a later version is not known to this one.
            word => Self::from_statement(word, error_class, GoneMeaning::Deleted).unwrap_or(Self::Unknown),
        }
    }

    /// Whether it does not change any more: what is deleted, finished or dead changes only by another action.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Retrying(_) | Self::Unknown)
    }

    /// The error class of the last failure since the replay, where there was one and it is known.
    pub fn error_class(&self) -> Option<&Untrusted> {
        match self {
            Self::Retrying(class) | Self::DiedAgain(class) => class.as_ref(),
            _ => None,
        }
    }

    /// What is known once a later answer is there. A job that failed since its replay does not go back to waiting: its next
    /// attempt is due, or was scheduled.
    pub fn followed_by(&self, later: Self) -> Self {
        match (self, later) {
            (Self::Retrying(class), Self::Waiting) => Self::Retrying(class.clone()),
            (_, later) => later,
        }
    }

    /// Reads what the outcome statement of an adapter returned: a word, and an error class. `gone` is what the adapter says
    /// of jobs without a row. `None` where the word is unknown.
    pub fn from_statement(word: &str, error_class: Option<Untrusted>, gone: GoneMeaning) -> Option<Self> {
        Some(match word {
            // The second word of a pair is the one of earlier versions.
            "waiting" | "queued" => Self::Waiting,
            "running" => Self::Running,
            "retrying" => Self::Retrying(error_class),
            "succeeded" => Self::Succeeded,
            "died_again" | "dead" => Self::DiedAgain(error_class),
            "gone" => Self::Gone(gone),
            "deleted" => Self::Gone(GoneMeaning::Deleted),
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }
}

/// Error classes of jobs that died again which are told apart; the rarest are summed up.
const CLASSES: usize = 20;

/// The replayed jobs of a run by their outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeCounts {
    /// All of them.
    pub replayed: u64,
    /// In the live queue, and not yet started.
    pub waiting: u64,
    /// A worker has them.
    pub running: u64,
    /// Failed since the replay, and wait for their next attempt.
    pub retrying: u64,
    /// Finished without an error.
    pub succeeded: u64,
    /// No longer in the store, where that means that they succeeded.
    pub gone_succeeded: u64,
    /// Died again with the class that they had died of before.
    pub died_same: u64,
    /// Died again with another class, or one that the layout does not tell.
    pub died_other: u64,
    /// No longer in the store, where that means that they were deleted.
    pub gone: u64,
    /// Their replay was undone.
    pub taken_back: u64,
    /// The layout cannot tell, or they were not asked about yet.
    pub unknown: u64,
    /// Those that died again, by error class; the most frequent first.
    pub died_by_class: Vec<(Option<String>, u64)>,
}

impl OutcomeCounts {
    /// Counts `n` jobs that had died of `before`.
    pub fn add(&mut self, before: Option<&Untrusted>, outcome: &ReplayOutcome, n: u64) {
        *match outcome {
            ReplayOutcome::Waiting => &mut self.waiting,
            ReplayOutcome::Running => &mut self.running,
            ReplayOutcome::Retrying(_) => &mut self.retrying,
            ReplayOutcome::Succeeded => &mut self.succeeded,
            ReplayOutcome::DiedAgain(Some(now)) if Some(now) == before => &mut self.died_same,
            ReplayOutcome::DiedAgain(_) => &mut self.died_other,
            ReplayOutcome::Gone(GoneMeaning::Succeeded) => &mut self.gone_succeeded,
            ReplayOutcome::Gone(GoneMeaning::Deleted) => &mut self.gone,
            ReplayOutcome::TakenBack => &mut self.taken_back,
            ReplayOutcome::Unknown => &mut self.unknown,
        } += n;
        if let ReplayOutcome::DiedAgain(class) = outcome {
            let class = class.as_ref().map(|class| class.exact().to_owned());
            match self.died_by_class.iter_mut().find(|(known, _)| *known == class) {
                Some((_, known)) => *known += n,
                None => self.died_by_class.push((class, n)),
            }
            self.died_by_class.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
    }

    /// The counts by kind, each job in one of them: what is gone where that means success has succeeded.
    pub fn by_kind(&self) -> [(OutcomeKind, u64); 8] {
        OutcomeKind::ALL.map(|kind| (kind, self.of(kind)))
    }

    fn of(&self, kind: OutcomeKind) -> u64 {
        match kind {
            OutcomeKind::Waiting => self.waiting,
            OutcomeKind::Running => self.running,
            OutcomeKind::Retrying => self.retrying,
            OutcomeKind::Succeeded => self.ok(),
            OutcomeKind::Died => self.died(),
            OutcomeKind::Gone => self.gone,
            OutcomeKind::TakenBack => self.taken_back,
            OutcomeKind::Unknown => self.unknown,
        }
    }

    /// Jobs that died again, of whatever.
    pub fn died(&self) -> u64 {
        self.died_same + self.died_other
    }

    /// Jobs that succeeded: those that were seen to, and those that are gone where that means it.
    pub fn ok(&self) -> u64 {
        self.succeeded + self.gone_succeeded
    }

    /// Jobs of which more will be known: they wait, run, or are retried.
    pub fn open(&self) -> u64 {
        self.waiting + self.running + self.retrying
    }

    /// One short line: `7 ok, 3 died again`. Empty where nothing is known.
    pub fn summary(&self) -> String {
        self.named(OutcomeKind::label)
    }

    /// The same where there is little room: `7 ok, 3 died`.
    pub fn short_summary(&self) -> String {
        self.named(|kind| match kind {
            OutcomeKind::Died => "died",
            OutcomeKind::Retrying => "retry",
            OutcomeKind::Running => "run",
            OutcomeKind::Waiting => "wait",
            OutcomeKind::Unknown => "?",
            kind => kind.label(),
        })
    }

    fn named(&self, label: impl Fn(OutcomeKind) -> &'static str) -> String {
        // What is settled and what went wrong comes first.
        let order = [
            OutcomeKind::Succeeded,
            OutcomeKind::Died,
            OutcomeKind::Retrying,
            OutcomeKind::Running,
            OutcomeKind::Waiting,
            OutcomeKind::Gone,
            OutcomeKind::TakenBack,
            OutcomeKind::Unknown,
        ];
        let word = |kind: OutcomeKind| if kind == OutcomeKind::Succeeded { "ok" } else { label(kind) };
        let counts = order.map(|kind| (self.of(kind), word(kind)));
        let named = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", grouped(n)));
        named.collect::<Vec<_>>().join(", ")
    }

    /// As the ledger keeps it.
    pub fn to_json(&self) -> String {
        let mut short = self.clone();
        short.died_by_class.truncate(CLASSES);
        serde_json::to_string(&short).unwrap_or_default()
    }

    /// What the ledger kept.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_earlier_adapter_files_mean_what_they_meant() {
        let read = |word| ReplayOutcome::from_statement(word, None, GoneMeaning::Succeeded);
        assert_eq!(read("queued"), read("waiting"));
        assert_eq!(read("dead"), Some(ReplayOutcome::DiedAgain(None)));
        assert_eq!(read("gone"), Some(ReplayOutcome::Gone(GoneMeaning::Succeeded)));
        assert_eq!(read("deleted"), Some(ReplayOutcome::Gone(GoneMeaning::Deleted)));
        assert_eq!(read("finished"), None);
    }

    #[test]
    fn what_the_ledger_kept_is_read_back() {
        let class = || Some(Untrusted::from("KeyError"));
        for outcome in [
            ReplayOutcome::Waiting,
            ReplayOutcome::Running,
            ReplayOutcome::Retrying(class()),
            ReplayOutcome::Succeeded,
            ReplayOutcome::DiedAgain(class()),
            ReplayOutcome::Gone(GoneMeaning::Succeeded),
            ReplayOutcome::Gone(GoneMeaning::Deleted),
            ReplayOutcome::TakenBack,
            ReplayOutcome::Unknown,
        ] {
            assert_eq!(ReplayOutcome::from_word(outcome.word(), outcome.error_class().cloned()), outcome);
        }
    }

    #[test]
    fn every_outcome_is_of_a_kind_that_a_filter_can_name() {
        for outcome in [
            ReplayOutcome::Waiting,
            ReplayOutcome::Running,
            ReplayOutcome::Retrying(None),
            ReplayOutcome::Succeeded,
            ReplayOutcome::DiedAgain(None),
            ReplayOutcome::Gone(GoneMeaning::Succeeded),
            ReplayOutcome::Gone(GoneMeaning::Deleted),
            ReplayOutcome::TakenBack,
            ReplayOutcome::Unknown,
        ] {
            let is_named = |kind: OutcomeKind| kind.ledger_words().contains(&outcome.word());
            assert!(OutcomeKind::ALL.into_iter().any(is_named), "{outcome:?}");
        }
        for kind in OutcomeKind::ALL {
            assert_eq!(OutcomeKind::from_word(kind.word()), Some(kind));
        }
    }

    #[test]
    fn a_job_that_failed_does_not_go_back_to_waiting() {
        let failed = ReplayOutcome::Retrying(Some("KeyError".into()));
        assert_eq!(failed.followed_by(ReplayOutcome::Waiting), failed);
        assert_eq!(failed.followed_by(ReplayOutcome::Running), ReplayOutcome::Running);
        assert_eq!(ReplayOutcome::Waiting.followed_by(failed.clone()), failed);
    }

    #[test]
    fn the_short_line_names_what_there_is_and_splits_deaths_by_class() {
        let mut counts = OutcomeCounts { replayed: 10, ..OutcomeCounts::default() };
        assert_eq!(counts.summary(), "");
        let before = Untrusted::from("KeyError");
        counts.add(Some(&before), &ReplayOutcome::Gone(GoneMeaning::Succeeded), 6);
        counts.add(Some(&before), &ReplayOutcome::Succeeded, 1);
        counts.add(Some(&before), &ReplayOutcome::DiedAgain(Some("TypeError".into())), 1);
        counts.add(Some(&before), &ReplayOutcome::DiedAgain(Some("KeyError".into())), 2);
        assert_eq!(counts.summary(), "7 ok, 3 died again");
        assert_eq!((counts.died_same, counts.died_other, counts.open()), (2, 1, 0));
        let class = |class: &str, n| (Some(class.to_owned()), n);
        assert_eq!(counts.died_by_class, [class("KeyError", 2), class("TypeError", 1)]);
        assert_eq!(OutcomeCounts::from_json(&counts.to_json()), Some(counts));
    }
}
