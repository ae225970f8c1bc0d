//! What the ledger records.

use std::fmt;

use crate::domain::action::Action;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{OutcomeCounts, ReplayOutcome};
use crate::domain::rollout::RolloutState;
use crate::domain::run_options::Options;
use crate::domain::run_options::destination::Destination;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::store::Identity;

/// Identity of a run: short enough to type, unique in its ledger, in the order of creation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Its ids are being frozen.
    Freezing,
    /// Frozen and not confirmed: nothing was touched.
    Planned,
    /// Being executed, or left by a crash while it was.
    Running,
    /// Stopped by the operator; can be resumed.
    Stopped,
    /// Ended: every planned job has an outcome.
    Finished,
    /// Dismissed before it was confirmed.
    Dismissed,
}

impl RunState {
    /// Every state of a run.
    pub const ALL: [RunState; 6] = [
        RunState::Freezing,
        RunState::Planned,
        RunState::Running,
        RunState::Stopped,
        RunState::Finished,
        RunState::Dismissed,
    ];

    /// The word that the ledger keeps, and that scripts read.
    pub fn word(self) -> &'static str {
        match self {
            RunState::Freezing => "freezing",
            RunState::Planned => "planned",
            RunState::Running => "running",
            RunState::Stopped => "stopped",
            RunState::Finished => "finished",
            RunState::Dismissed => "dismissed",
        }
    }

    /// The word on screens. A run that ended has done its part; what becomes of its jobs is told apart.
    pub fn label(self) -> &'static str {
        match self {
            RunState::Finished => "ended",
            state => state.word(),
        }
    }

    /// The state that a word names, if it names one.
    pub fn from_word(word: &str) -> Option<RunState> {
        RunState::ALL.into_iter().find(|s| s.word() == word)
    }
}

/// Who acts, from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// Operating-system user.
    pub user: String,
    /// Database user, where the engine has one.
    pub database_user: String,
    /// This host.
    pub host: String,
    /// Address that the operator came from over SSH, where there is one.
    pub ssh_client: Option<String>,
}

/// What a run is to do, written before anything is touched.
#[derive(Clone, Debug, PartialEq)]
pub struct RunIntent {
    /// The verb.
    pub action: Action,
    /// Name of the source, never its password.
    pub source: String,
    /// The store: adapter and table.
    pub store: String,
    /// The filter as written; empty when jobs were named one by one.
    pub filter: String,
    /// The filter with its times resolved.
    pub resolved: String,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// Who.
    pub operator: Operator,
    /// What was asked for beside verb and jobs.
    pub options: Options,
    /// The database that its jobs were found in; `None` in the record of earlier versions.
    pub database: Option<Identity>,
    /// Where its jobs go, of a replay and of its undo; `None` in the record of earlier versions.
    pub destination: Option<Destination>,
    /// When the cohort was frozen.
    pub frozen_at: Timestamp,
}

/// Jobs of a run by what became of them. `planned` is always the sum of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTally {
    /// Frozen into the run.
    pub planned: u64,
    /// The action took effect.
    pub done: u64,
    /// Left alone, by reason.
    pub skipped: Vec<(String, u64)>,
    /// Refused, by reason (the first words of it).
    pub failed: Vec<(Untrusted, u64)>,
    /// Named in a batch whose result is not known.
    pub in_doubt: u64,
    /// Not reached.
    pub not_started: u64,
}

impl RunTally {
    /// All that were skipped.
    pub fn skipped_total(&self) -> u64 {
        self.skipped.iter().map(|(_, n)| n).sum()
    }

    /// All that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().map(|(_, n)| n).sum()
    }

    /// Jobs that are behind the run: those of the batch that runs are not.
    pub fn behind(&self) -> u64 {
        self.done + self.skipped_total() + self.failed_total()
    }

    /// Whether the parts add up to what was planned.
    pub fn adds_up(&self) -> bool {
        self.planned == self.done + self.skipped_total() + self.failed_total() + self.in_doubt + self.not_started
    }
}

/// Where a run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LedgerLocation {
    /// In the operator's own file.
    #[default]
    Local,
    /// In the source, for all its operators.
    Source,
}

impl LedgerLocation {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            LedgerLocation::Local => "local",
            LedgerLocation::Source => "source",
        }
    }
}

/// A run as the record has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Identity.
    pub id: RunId,
    /// Which record has it.
    pub place: LedgerLocation,
    /// What it was to do.
    pub intent: RunIntent,
    /// Where it stands.
    pub state: RunState,
    /// When it was confirmed.
    pub started_at: Option<Timestamp>,
    /// When it ended or stopped.
    pub ended_at: Option<Timestamp>,
    /// What became of its jobs.
    pub tally: RunTally,
    /// The outcomes of its replayed jobs, when they were last asked for; `None` where they never were.
    pub outcomes: Option<OutcomeCounts>,
    /// How far it has come, where it has to prove itself.
    pub rollout: Option<RolloutState>,
}

impl Run {
    /// Why the run is not for the database that its source leads to now; `None` where nothing speaks against it. What a
    /// source records itself is of that database.
    pub fn strays(&self, here: Option<&Identity>) -> Option<String> {
        let planned = self.intent.database.as_ref().filter(|_| self.place == LedgerLocation::Local)?;
        let here = here.filter(|here| !planned.is(here))?;
        let (id, source) = (&self.id, &self.intent.source);
        let now = match planned.place == here.place {
            true => format!("the database at {} is another one since", here.place),
            false => format!("{source} leads to {} now, which is another database", here.place),
        };
        Some(format!(
            "run {id} was planned on {}, and {now}: the ids of its jobs say nothing there; nothing was touched. Let the \
             source lead to the first again, or plan again",
            planned.place
        ))
    }

    /// Why the run is not for where replayed jobs go now; `None` where nothing speaks against it.
    pub fn diverts(&self, here: Option<&Destination>) -> Option<String> {
        let planned = self.intent.destination.as_ref()?;
        let here = here.filter(|here| *here != planned)?;
        let doubts = match self.tally.in_doubt {
            0 => String::new(),
            1 => format!("; 1 job is in doubt: {planned} may have had it, look there before it is replayed again"),
            n => {
                let n = grouped(n);
                format!(
                    "; {n} jobs are in doubt: {planned} may have had them, look there before they are replayed again"
                )
            }
        };
        Some(format!(
            "run {} was planned for {planned}, and replayed jobs go to {here} now: nothing was touched. {}, and resume it; \
             or plan what is left again{doubts}",
            self.id,
            planned.setting()
        ))
    }

    /// What it did, in few words: `replayed 9 of 10`.
    pub fn effect(&self) -> String {
        let (action, tally) = (self.intent.action, &self.tally);
        match tally.done == tally.planned {
            _ if !self.is_confirmed() => format!("{action} of {}", jobs(tally.planned)),
            true => format!("{} {}", action.done_word(), grouped(tally.done)),
            false => format!("{} {} of {}", action.done_word(), grouped(tally.done), grouped(tally.planned)),
        }
    }

    /// Whether it was confirmed; else it is a plan that was only looked at, or is at the question.
    pub fn is_confirmed(&self) -> bool {
        !matches!(self.state, RunState::Freezing | RunState::Planned | RunState::Dismissed)
    }

    /// Why the run cannot be used at a store; `None` where it is of that store. `what_for` ends the sentence: `for its jobs`.
    pub fn elsewhere(&self, source: &str, store: &str, what_for: &str) -> Option<String> {
        if self.is_of(source, store) {
            return None;
        }
        let (source, store) = (Clean::line(&self.intent.source), Clean::line(&self.intent.store));
        Some(format!("run {} is of {source} ({store}): open that source {what_for}", self.id))
    }

    /// Why the run has no jobs to list at a store; `None` where it has.
    pub fn lists_no_jobs(&self, source: &str, store: &str) -> Option<String> {
        let unstarted = || format!("run {} was not started: it has touched no job", self.id);
        self.elsewhere(source, store, "for its jobs").or_else(|| (!self.is_confirmed()).then(unstarted))
    }

    /// Whether the run is of this store. What a source records itself is of that source, whatever each of its operators
    /// calls it.
    pub fn is_of(&self, source: &str, store: &str) -> bool {
        (self.place == LedgerLocation::Source || self.intent.source == source) && self.intent.store == store
    }
}

/// One thing that the ledger knows of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The run.
    pub run: RunId,
    /// The verb.
    pub action: Action,
    /// When its batch ended, or was begun.
    pub at: Timestamp,
    /// Who.
    pub operator: Operator,
    /// Why.
    pub reason: Option<String>,
    /// `done`, `skipped: …`, `failed: …` or `in doubt`; of a replayed job `replayed: ` and what was last seen of it.
    pub outcome: Untrusted,
}

/// Number of a batch within its run, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchNo(pub i64);

/// A part of a run's cohort; each is a cohort of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CohortPart {
    /// Every planned job.
    All,
    /// Jobs that the action took effect on.
    Done,
    /// Jobs left alone because another session held them.
    Locked,
    /// All jobs left alone.
    Skipped,
    /// Jobs that were refused.
    Failed,
    /// Jobs of a batch whose result is not known.
    InDoubt,
    /// Jobs that were not reached.
    NotStarted,
    /// All but the done ones.
    Remainder,
}

/// The store whose runs are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    /// Name of its source.
    pub source: &'a str,
    /// Adapter and table.
    pub store: &'a str,
    /// The database that the source leads to; runs that are known to be of another one are left out. `None` is not known.
    pub database: Option<&'a Identity>,
}

impl<'a> Whose<'a> {
    /// A store, in whatever database its source led to.
    pub fn named(source: &'a str, store: &'a str) -> Self {
        Self { source, store, database: None }
    }

    /// The database as a value: its members as one JSON object.
    pub(super) fn here(&self) -> Option<String> {
        self.database.and_then(|here| serde_json::to_string(here).ok())
    }
}

/// A job of a run as the record has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunJob {
    /// Its place in the run, from 1; pass the last one on to read further.
    pub ord: i64,
    /// The job.
    pub id: JobId,
    /// Its error class when it was frozen.
    pub error_class: Option<Untrusted>,
    /// What became of it: `None` is not started.
    pub outcome: Option<Outcome>,
    /// Of a replayed job, what was last seen of it since.
    pub replay: Option<ReplayOutcome>,
}

/// What the record says of a job that was named in a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The action took effect. The note says so where that was found out by looking, after an interruption.
    Done(Option<Untrusted>),
    /// Left alone, with the word for why.
    Skipped(Untrusted),
    /// Refused, with the reason.
    Failed(Untrusted),
    /// Not known: its batch was interrupted.
    InDoubt,
}

/// How the jobs of a cohort divide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// Jobs by error class, the largest first.
    pub by_error: Vec<(Option<Untrusted>, u64)>,
    /// Jobs by job class, the largest first.
    pub by_class: Vec<(Option<Untrusted>, u64)>,
    /// Jobs by state when they were frozen.
    pub by_state: Vec<(State, u64)>,
    /// Oldest and newest death.
    pub span: Option<(Timestamp, Timestamp)>,
}
