//! What happened: keys, sizes, times, and answers.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::document::JobDocument;
use super::effect::{RequestId, Slot};
use super::model::ArgumentCount;
use crate::domain::contrast::ValueCounts;
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobId, State};
use crate::domain::mark::NamedMoment;
use crate::domain::repair::EditableArguments;
use crate::ledger::{HistoryEntry, Run, RunId};
use crate::store::{Changes, Entry, HistogramStep, Outdated, Page, SourceError, StoreInfo};
use crate::triage::contrast::Comparison;
use crate::triage::mark_comparison::MarkComparison;
use crate::triage::plan::Plan;
use crate::triage::progress::{FreezeProgress, RunProgress};
use crate::triage::store_name;
use crate::tui::{Note, StoreChoice};

/// A fact that the model is told.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed or repeats.
    Key(KeyEvent),
    /// Text was pasted: never keys, never a confirmation.
    Paste(String),
    /// The mouse did something (only while it is taken).
    Mouse(MouseEvent),
    /// The terminal has this size now.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// The instant that was wished for has come.
    Tick,
    /// An answer.
    Reply {
        /// The question's identity.
        id: RequestId,
        /// Its place.
        slot: Slot,
        /// The answer.
        reply: Reply,
    },
    /// What the ledger knows of a job whose detail was answered without.
    Past {
        /// The job.
        job: JobId,
        /// Its history, latest first.
        history: Vec<HistoryEntry>,
        /// How often it was replayed before, along its lineage.
        replayed: u64,
    },
    /// How far freezing has got.
    Freezing(FreezeProgress),
    /// How far a count by a path of the arguments has got.
    CountingArgument(Box<ArgumentCount>),
    /// So many more jobs were read to be compared.
    Comparing(u64),
    /// How far the running run has got.
    Running(RunProgress),
    /// A table has changed since the store was opened, which kept a plan from being made, or stopped a run.
    Outdated(Outdated, Option<RunId>),
    /// The arguments as the editor left them, or why they were not edited.
    Edited(Result<String, String>),
    /// What became of a copy or an editor: a sentence for the status line.
    Said(Result<String, String>),
    /// The process was continued after a suspend, or the terminal's content was lost.
    Continued,
    /// Somebody asks from outside that the run pauses after its batch, or goes on.
    PauseRun(bool),
    /// The system asks the process to end (SIGTERM, SIGHUP, SIGINT from outside).
    Terminate,
}

/// What is known of an opened store.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The store.
    pub info: StoreInfo,
    /// Whether the source is marked as production.
    pub production: bool,
    /// What `--store` would take for it.
    pub name: String,
}

impl Opened {
    /// What the record calls it.
    pub fn store(&self) -> String {
        store_name(&self.info)
    }
}

/// An answer to a request.
#[derive(Debug)]
pub enum Reply {
    /// To `Choices`.
    Choices(Result<Vec<StoreChoice>, SourceError>),
    /// To `Open`.
    Opened(Box<Result<Opened, SourceError>>),
    /// To `Reopen`.
    Reopened(Box<Result<Opened, SourceError>>),
    /// To `Estimate`.
    Estimate(Result<Option<Histogram>, SourceError>),
    /// To `Histogram`.
    Histogram(Box<Result<HistogramStep, SourceError>>),
    /// To `ArgumentCount`.
    ArgumentCount(Box<Result<ArgumentCount, SourceError>>),
    /// To `Totals`.
    Totals(Result<Vec<(State, Count)>, SourceError>),
    /// To `Page`.
    Page(Result<Page, SourceError>),
    /// To `Rows`: the ids asked for, and the rows that still exist.
    Rows(Vec<JobId>, Result<Vec<Entry>, SourceError>),
    /// To `Detail`; `None` when the job is gone.
    Detail(Result<Option<Arc<JobDocument>>, SourceError>),
    /// To `Poll`.
    Poll(Box<Result<Changes, SourceError>>),
    /// To `Values`.
    Values(Result<Histogram, SourceError>),
    /// To `Arguments`.
    Arguments(Result<Arc<ValueCounts>, SourceError>),
    /// To `Contrast`.
    Contrast(Box<Result<Comparison, SourceError>>),
    /// To `EditableArguments`: the job, and its arguments, or why they cannot be edited.
    EditableArguments(JobId, Box<Result<EditableArguments, String>>),
    /// To `Plan`; the error is a sentence.
    Planned(Box<Result<Plan, String>>),
    /// To `Execute` and `Resume`: the run as the ledger has it at its end.
    Executed(Box<Result<Run, String>>),
    /// To `Dismiss`.
    Dismissed(Result<(), String>),
    /// To `Runs`.
    Runs(Result<Vec<Run>, String>),
    /// To `RunsAgain`.
    RunsAgain(Result<Vec<Run>, String>),
    /// To `Note`; the error is a sentence.
    Note(Result<Note, String>),
    /// To `Marks`.
    Marks(Result<Vec<NamedMoment>, String>),
    /// To `MarkRequest::Set`; the error is a sentence.
    MarkSet(Result<NamedMoment, String>),
    /// To `MarkRequest::Compare`.
    MarkComparison(Box<Result<MarkComparison, SourceError>>),
}
