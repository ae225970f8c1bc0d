//! The plan of an action: a frozen cohort, and what an operator must know before it is confirmed.

use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::job::{JobId, JobRow};
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::run_options::Options;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{CohortPart, RunId};
use crate::store::Preparation;

/// Which jobs an action is for.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionScope {
    /// The jobs named, one by one: the row under the cursor, or the marked rows.
    Jobs(Vec<JobId>),
    /// All that a filter selects at the moment of freezing.
    Filter(Filter),
    /// A part of an earlier run, such as its remainder.
    Run(RunId, CohortPart),
    /// What an earlier run did, to be undone: all of it, or these jobs.
    Undo(RunId, Vec<JobId>),
}

/// What the confirm dialog shows: exact, because the ids are frozen already.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The run that holds the frozen ids, in state `planned`.
    pub run: RunId,
    /// The verb.
    pub action: Action,
    /// The filter with its times resolved, empty for all dead jobs; `None` when jobs were named one by one.
    pub filter: Option<String>,
    /// How many jobs.
    pub count: u64,
    /// How they divide.
    pub breakdown: CohortBreakdown,
    /// A few of them as an example.
    pub sample: Vec<JobRow>,
    /// What speaks against it, in sentences: replayed before, would not be accepted, near retention.
    pub warnings: Vec<String>,
    /// What the adapter says of this verb, and what remains where when nothing is kept.
    pub notes: Vec<String>,
    /// Of an undo: how many jobs can be undone as the rows stand now, and how many cannot, by reason.
    pub outlook: Vec<(String, u64)>,
    /// What was asked for beside verb and jobs.
    pub options: Options,
    /// What is made in the database before the first job is touched.
    pub creates: Option<Preparation>,
    /// What it takes to confirm.
    pub confirm: Confirm,
}

/// How a cohort divides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CohortBreakdown {
    /// By error class, the largest first; the rest summed up under `None` when there are many.
    pub by_error: Vec<CohortShare>,
    /// By job class, the largest first.
    pub by_class: Vec<CohortShare>,
    /// Oldest and newest death among them.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The jobs that are replayed first, where that was asked for.
    pub canary: Vec<CanaryJob>,
}

/// A part of a cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortShare {
    /// The value, `None` for jobs without one.
    pub value: Option<Untrusted>,
    /// Jobs.
    pub n: u64,
    /// Whether this is the sum of all values that are not listed.
    pub rest: bool,
}

/// What it takes to confirm, in proportion to the reach of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// One job whose action can be undone: the key was enough.
    Key,
    /// `y`; the focus is on No and Enter alone never confirms.
    Yes,
    /// The number of jobs must be typed.
    TypeCount,
}
