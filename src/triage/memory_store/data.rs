//! What the store in memory holds, and what is to happen to it.

use std::collections::{BTreeMap, VecDeque};

use futures_util::future::BoxFuture;

use crate::domain::action::{Action, JobResult, SkipReason};
use crate::domain::job::{JobId, JobRow, State};
use crate::domain::outcome::ReplayOutcome;
use crate::domain::run_options::Attempts;
use crate::domain::time::Timestamp;
use crate::store::*;

/// What happens to the next call of `apply`.
#[derive(Debug)]
pub(crate) enum InjectedFault {
    /// It fails and did nothing.
    Before(SourceError),
    /// It takes effect and fails.
    After(SourceError),
    /// It takes effect and never returns: the process is about to die.
    Hang,
    /// It takes effect for these first jobs, answers for them, and fails.
    Midway(usize, SourceError),
    /// It is undone at the very end, after its transaction was noted.
    Undone(SourceError),
    /// Nothing: the next one is for the call after this.
    Not,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) state: State,
    /// Calls of `apply` for which another session holds the row.
    pub(crate) locked: u32,
    pub(crate) refuses: Option<&'static str>,
}

/// Something that is yet to happen.
pub(crate) type Then = BoxFuture<'static, ()>;

/// The outcome of a replayed job.
pub(crate) type Workers = Box<dyn Fn(u64) -> ReplayOutcome + Send>;

#[derive(Default)]
pub(crate) struct Data {
    pub(crate) rows: BTreeMap<u64, Row>,
    /// Every job that was replayed, in order: twice is a fault.
    pub(crate) live: Vec<u64>,
    pub(crate) faults: VecDeque<InjectedFault>,
    pub(crate) batches: Vec<usize>,
    /// Whether a replayed row is removed, as in a table of dead jobs only.
    pub(crate) removes: bool,
    /// What happens once the next batch has taken effect, before the store answers for it.
    pub(crate) then: Option<Then>,
    /// Batches that the store was asked for.
    pub(crate) asked: usize,
    pub(crate) clock: Timestamp,
    /// When the first job died; each died a microsecond after the one before.
    pub(crate) first_death: Timestamp,
    /// The filter of the latest freeze.
    pub(crate) frozen_by: String,
    /// Replayed jobs that no live queue shows any more.
    pub(crate) forgotten: bool,
    /// The jobs that show that they were replayed by the run at hand, where rows show such a thing.
    pub(crate) traces: Option<Vec<u64>>,
    /// Transactions and whether they were committed, where the database remembers that.
    pub(crate) endings: Option<Vec<bool>>,
    /// What was archived, with the run that did it.
    pub(crate) twin: Vec<(String, u64)>,
    /// When each replayed job was told to run, in microseconds; each of a batch later than the one before.
    pub(crate) told: BTreeMap<u64, Option<Timestamp>>,
    /// What each replayed job was told of its attempts.
    pub(crate) attempts: BTreeMap<u64, Option<Attempts>>,
    /// What the database says that it is.
    pub(crate) identity: Option<Identity>,
    /// A fault of the store: it acts on jobs that are not dead any more.
    pub(crate) acts_twice: bool,
    /// What workers make of a replayed job; without them it waits.
    pub(crate) workers: Option<Workers>,
    /// Bytes that what is kept of a row has more than it needs.
    pub(crate) padding: usize,
    /// The arguments of jobs, where they are not `[id]`.
    pub(crate) arguments: BTreeMap<u64, String>,
}

impl Data {
    /// A job as lists show it, where it is there.
    pub(super) fn row(&self, id: u64) -> Option<JobRow> {
        let state = self.rows.get(&id)?.state;
        Some(JobRow {
            at: Some(Timestamp(self.first_death.0 + id as i64)),
            state,
            native_state: state.word().into(),
            error_class: Some(["Boom", "Crash"][(id % 2) as usize].into()),
            ..JobRow::bare(id.to_string())
        })
    }

    /// The arguments of a job.
    pub(super) fn arguments_of(&self, id: u64) -> String {
        self.arguments.get(&id).cloned().unwrap_or_else(|| format!("[{id}]"))
    }

    /// Does to a job what the batch asks for.
    pub(super) fn apply(&mut self, batch: &Batch, id: &JobId) -> JobResult {
        let n = number(id);
        let kept = batch.undo.iter().flat_map(|undo| &undo.kept).any(|(kept, _)| kept == id);
        if batch.action == Action::Restore && kept && !self.rows.contains_key(&n) {
            self.rows.insert(n, Row { state: State::Dead, locked: 0, refuses: None });
            return JobResult::Done;
        }
        if batch.action == Action::Recall
            && let Some(at) = self.live.iter().position(|live| *live == n)
        {
            if self.attempts.get(&n) != Some(&batch.options.attempts) {
                return JobResult::Skipped(SkipReason::Changed);
            }
            self.live.remove(at);
            self.rows.insert(n, Row { state: State::Dead, locked: 0, refuses: None });
            return JobResult::Done;
        }
        let Some(row) = self.rows.get_mut(&n) else { return JobResult::Skipped(SkipReason::Gone) };
        if row.locked > 0 {
            row.locked -= 1;
            return JobResult::Skipped(SkipReason::Locked);
        }
        let wanted = if batch.action == Action::Reopen { State::Ignored } else { State::Dead };
        if row.state != wanted && !self.acts_twice {
            return JobResult::Skipped(SkipReason::Changed);
        }
        if let Some(reason) = row.refuses {
            return JobResult::Failed(reason.into());
        }
        match batch.action {
            Action::Replay => {
                row.state = State::Resolved;
                self.live.push(n);
                self.told.insert(n, batch.run_after);
                self.attempts.insert(n, batch.options.attempts);
                if self.removes {
                    self.rows.remove(&n);
                }
            }
            Action::Copy => self.live.push(n),
            Action::Ignore => row.state = State::Ignored,
            Action::Reopen => row.state = State::Dead,
            Action::Archive => {
                self.rows.remove(&n);
                self.twin.push((batch.run.clone(), n));
            }
            Action::Discard | Action::Purge => {
                self.rows.remove(&n);
            }
            Action::Repair | Action::Revert => {
                let Some(edit) = batch.edits.iter().find(|edit| edit.id == *id) else {
                    return JobResult::Failed("nothing to write".into());
                };
                if self.arguments_of(n) != edit.original {
                    return JobResult::Skipped(SkipReason::Changed);
                }
                self.arguments.insert(n, edit.edited.clone());
            }
            // Only what was kept of a row can be put back.
            Action::Restore | Action::Recall => return JobResult::Skipped(SkipReason::AlreadyThere),
        }
        JobResult::Done
    }
}

/// The number that an id is.
pub(super) fn number(id: &JobId) -> u64 {
    id.as_str().parse().unwrap_or(u64::MAX)
}
