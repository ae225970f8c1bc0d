//! Acting: cohorts on their way into the ledger, and batches on their way through a verb.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Entry, Journal, Result, SourceError};
use crate::domain::action::{Action, JobOutcome};
use crate::domain::job::{JobId, JobRow, State};
use crate::domain::repair::ArgumentsEdit;
use crate::domain::run_options::Options;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// What the frozen record keeps of each job of a cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// Identity.
    pub id: JobId,
    /// For the plan's split.
    pub error_class: Option<Untrusted>,
    /// For the plan's split.
    pub job_class: Option<Untrusted>,
    /// For the plan's age range.
    pub at: Option<Timestamp>,
    /// State at the moment of freezing.
    pub state: State,
    /// The layout's own word for it, where that tells more: of two jobs that are retrying one may wait and one may run.
    pub native: Option<Untrusted>,
    /// By what the job is known across its deaths, as [`crate::domain::job::lineage::stored_form`].
    pub lineage: Option<String>,
    /// The new id under which a replay will put it back, where the layout gives one.
    pub successor: Option<String>,
    /// How often it was replayed before, as far as is on record.
    pub replays: u64,
}

impl Frozen {
    /// What is kept of a light row.
    pub fn of(entry: Entry) -> Self {
        let Entry { row: JobRow { id, error_class, job_class, at, state, native_state, .. }, lineage, .. } = entry;
        let native = (state == State::Retrying).then_some(native_state);
        Self { id, error_class, job_class, at, state, native, lineage, successor: None, replays: 0 }
    }
}

/// How a job stood when it was chosen: one that has left this is skipped as changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Its state; `None` is any that the verb allows.
    pub state: Option<State>,
    /// The layout's own word for it, where that tells more.
    pub native: Option<String>,
}

/// Why an action cannot be done for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineligible {
    /// The reason, as it stands behind a number of jobs.
    pub because: String,
    /// Since when that is so, where it is known.
    pub since: Option<Timestamp>,
}

/// A job on its way to a destination outside the database.
#[derive(Clone, Debug)]
pub struct Message {
    /// The dead job.
    pub id: JobId,
    /// The job as the destination takes it: one JSON text without line breaks, numbers exact.
    pub json: String,
}

/// Hands jobs to a destination outside the database (a command of the operator's).
pub trait Deliver: Send + Sync {
    /// Delivers a batch and answers for each job: accepted, or refused with a reason.
    ///
    /// A job that is not answered for counts as refused.
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, std::result::Result<(), String>)>>;
}

/// What an undo knows of the run that it undoes.
#[derive(Clone, Debug, Default)]
pub struct Undoing {
    /// The run.
    pub run: String,
    /// What it kept of the jobs of the batch, as its [`Journal`] was given it.
    pub kept: Vec<(JobId, String)>,
}

/// How a transaction ended, as far as the database remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// All of it took effect.
    Committed,
    /// None of it did.
    Undone,
    /// It has not ended, nobody remembers it, or the database keeps no such record.
    Unknown,
}

/// What an action makes in the database before it can be used there for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// The table that is created, with its schema, as people read it.
    pub creates: String,
    /// The statement that creates it, as it can be given to the database's own client.
    pub ddl: String,
}

/// One batch of an action.
#[derive(Clone)]
pub struct Batch {
    /// The verb.
    pub action: Action,
    /// The jobs: at most a few thousand.
    pub ids: Vec<JobId>,
    /// How they stood when they were chosen.
    pub standing: Standing,
    /// The latest death among the jobs that were chosen. A row whose job died later is another one under the same id, or has
    /// died again: it is skipped as changed. `None` is any.
    pub died_by: Option<Timestamp>,
    /// Identity of the run, kept with the rows where the layout has a place for it.
    pub run: String,
    /// What was asked for with the run, its pace aside.
    pub options: Options,
    /// When replayed jobs may run: `None` is at once.
    pub run_after: Option<Timestamp>,
    /// Where replayed jobs go when the destination is outside the database.
    pub deliver: Option<Arc<dyn Deliver>>,
    /// Keeps the record of the run; `None` where there is none.
    pub journal: Option<Arc<dyn Journal>>,
    /// The run that is undone, where one is.
    pub undo: Option<Undoing>,
    /// What is written of each job, where arguments are changed.
    pub edits: Arc<[ArgumentsEdit]>,
}

impl Batch {
    /// A batch without anything that a run may add: jobs in any state, no options, no record.
    pub fn of(action: Action, ids: Vec<JobId>, run: impl Into<String>) -> Self {
        Self {
            action,
            ids,
            standing: Standing::default(),
            died_by: None,
            run: run.into(),
            options: Options::default(),
            run_after: None,
            deliver: None,
            journal: None,
            undo: None,
            edits: Arc::default(),
        }
    }
}

/// How far a batch has got.
#[derive(Debug, Default)]
pub struct Applied {
    /// The jobs that are answered for.
    pub outcomes: Vec<JobOutcome>,
    /// Why there are others that are not.
    pub broke: Option<Interrupted>,
}

impl Applied {
    /// The outcome of every job, or why the batch broke off.
    ///
    /// # Errors
    /// When not every job is answered for.
    pub fn into_outcomes(self) -> Result<Vec<JobOutcome>> {
        match self.broke {
            None => Ok(self.outcomes),
            Some(Interrupted { error, .. }) => Err(error),
        }
    }
}

/// Why a batch broke off before every job was answered for.
#[derive(Debug)]
pub struct Interrupted {
    /// What went wrong.
    pub error: SourceError,
    /// Whether jobs without an answer may have been acted on all the same; else nothing happened to them.
    pub unsure: bool,
}

impl Interrupted {
    /// An error of a COMMIT: without an answer to it nobody knows whether it took effect.
    pub fn at_commit(error: SourceError) -> Self {
        let unsure = error.retryable() && !matches!(error, SourceError::Locked(_));
        Self { error, unsure }
    }
}

impl From<SourceError> for Interrupted {
    fn from(error: SourceError) -> Self {
        Self { error, unsure: false }
    }
}
