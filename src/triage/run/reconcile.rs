//! Jobs in doubt: their batch was interrupted, and what became of them is found out by looking at the rows, and for
//! those that changed by asking the database how our transaction ended.

use std::collections::{HashMap, HashSet};

use super::batch::{BatchApplier, BatchPart, Tried, tried};
use super::context::RunContext;
use super::tx_status::TxStatusByJob;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{ObservedOutcome, ReplayOutcome};
use crate::domain::repair::ArgumentsEdit;
use crate::ledger::{CompletedBatch, LedgerError, Run};
use crate::store::{FoundArguments, Interrupted, SourceError, StoreExt, TxStatus};
use crate::triage::repair::RunEdits;
use crate::triage::undo;

/// Why a job counts as done although the store did not say so.
const SEEN: &str = "its batch was interrupted; the row shows that it took effect";
/// The same, where the database remembers the transaction.
const COMMITTED: &str = "its batch was interrupted; the database says that it was committed";
/// Handed to a destination outside the database, perhaps; sending it again might run it twice.
const HANDED: &str = "in doubt: the run was interrupted while it was handed to the destination; look there before it \
                      is replayed again";
/// A row that a replay removes, or that somebody removed.
const VANISHED: &str = "in doubt: interrupted, and the row is gone since: replayed, or removed by somebody else";
/// A replay that leaves a job in the state that it had shows no effect.
const SAME: &str = "in doubt: interrupted, and the job is retrying now as it was before: it may have been put back, and be \
                    running";
/// A row that a purge removes, or that somebody removed.
const REMOVED: &str =
    "in doubt: interrupted, and the row is gone since: purged by this run, or removed by somebody else";
/// A copy leaves the row as it was, so that nothing there shows it.
const COPIED: &str = "in doubt: interrupted, and the dead row does not show whether it was copied; look in the other queue before \
                      it is copied again";
const STILL_HELD: &str = "the interrupted transaction has not ended";

impl BatchApplier<'_> {
    /// Settles jobs of an interrupted batch: what still is as it was is acted on, what shows the effect is done.
    pub(super) async fn reconcile(&self, part: &BatchPart) -> Tried {
        let reconciler = Reconciler { context: self.context };
        let ids = &part.ids;
        let outside = self.context.is_delivered_to_command();
        let same = part.standing.state == Some(State::Retrying) && self.context.run.intent.action == Action::Replay;
        let sorted = match (outside, same) {
            _ if self.context.is_copy() && !self.context.records_with_effect() => reconciler.not_copied(ids).await,
            _ if self.context.records_with_effect() => reconciler.not_recorded(ids).await,
            (true, _) => reconciler.undelivered(ids).await,
            (false, true) => reconciler.check_rows(part, SAME).await.map(|settled| (Vec::new(), settled)),
            (false, false) => Ok((ids.clone(), Vec::new())),
        };
        let (open, mut settled) = match sorted {
            Ok(sorted) => sorted,
            Err(error) => return Tried { settled: Vec::new(), left: ids.clone(), broke: Some(error.into()) },
        };
        if open.is_empty() {
            return Tried { settled, ..Tried::default() };
        }
        let Tried { settled: told, mut left, mut broke } = tried(&open, self.screened(&open, part).await);
        let mut doubtful = Vec::new();
        for CompletedBatch { outcome: (id, result), .. } in told {
            match result {
                // The transaction that was interrupted may still hold its rows: it has not ended one way or the other.
                JobResult::Skipped(SkipReason::Locked) => {
                    left.push(id);
                    broke.get_or_insert_with(|| SourceError::Locked(STILL_HELD.to_owned()).into());
                }
                JobResult::Skipped(_) => doubtful.push((id, result)),
                JobResult::Done | JobResult::Failed(_) => settled.push((id, result).into()),
            }
        }
        let looked_at: Vec<JobId> = doubtful.iter().map(|(id, _)| id.clone()).collect();
        match reconciler.classify_all(doubtful).await {
            Ok(judged) => settled.extend(judged),
            Err(error) => {
                left.extend(looked_at);
                broke = Some(Interrupted::from(error));
            }
        }
        Tried { settled, left, broke }
    }
}

/// Finds out what became of jobs in doubt, by looking only.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a RunContext<'a>,
}

impl Reconciler<'_> {
    /// Settles jobs of an interrupted batch by looking only; what is as it was failed for `reason`.
    pub(super) async fn check_rows(&self, part: &BatchPart, reason: &str) -> Result<Vec<CompletedBatch>, SourceError> {
        let ids = &part.ids;
        if self.context.is_copy() {
            let (open, mut settled) = self.not_copied(ids).await?;
            settled.extend(open.into_iter().map(|id| CompletedBatch::from((id, JobResult::Failed(reason.into())))));
            return Ok(settled);
        }
        let states = self.states(ids).await?;
        let untouched = part.standing.state.unwrap_or(self.context.run.intent.action.profile().usual_state());
        let mut settled = Vec::new();
        let mut doubtful = Vec::new();
        for id in ids {
            match states.get(id) {
                // Its state is the same before and after: only the arguments tell the two apart.
                Some(_) if self.context.run.intent.action.edits() => {
                    doubtful.push((id.clone(), JobResult::Failed(reason.into())));
                }
                // Brought back to the state that it was frozen with: only what was kept tells the two apart.
                _ if self.context.run.intent.action.needs_kept() => {
                    doubtful.push((id.clone(), JobResult::Failed(reason.into())));
                }
                Some(state) if *state == untouched => {
                    settled.push((id.clone(), JobResult::Failed(reason.into())).into());
                }
                Some(_) => doubtful.push((id.clone(), JobResult::Skipped(SkipReason::Changed))),
                None => doubtful.push((id.clone(), JobResult::Skipped(SkipReason::Gone))),
            }
        }
        settled.extend(self.classify_all(doubtful).await?);
        Ok(settled)
    }

    /// Sorts out the jobs that were not acted on, where the record was written along with the effect.
    async fn not_recorded(&self, ids: &[JobId]) -> Result<(Vec<JobId>, Vec<CompletedBatch>), SourceError> {
        let done: HashSet<JobId> = self.recorded(ids).await?.into_iter().collect();
        let (done, open): (Vec<JobId>, Vec<JobId>) = ids.iter().cloned().partition(|id| done.contains(id));
        let settle = |id| CompletedBatch { outcome: (id, JobResult::Done), note: Some(COMMITTED) };
        let done = done.into_iter().map(settle);
        if !self.context.is_delivered_to_command() {
            return Ok((open, done.collect()));
        }
        let (open, settled) = self.undelivered(&open).await?;
        Ok((open, settled.into_iter().chain(done).collect()))
    }

    /// Sorts out jobs of which nothing but the record or the database tells whether they were copied: only those that
    /// certainly were not are copied again.
    async fn not_copied(&self, ids: &[JobId]) -> Result<(Vec<JobId>, Vec<CompletedBatch>), SourceError> {
        let tx_status = self.tx_status(ids).await?;
        let (mut open, mut settled) = (Vec::new(), Vec::new());
        for id in ids {
            let settle = |result, note| CompletedBatch { outcome: (id.clone(), result), note };
            match tx_status.of(id) {
                TxStatus::Undone => open.push(id.clone()),
                TxStatus::Committed => settled.push(settle(JobResult::Done, Some(COMMITTED))),
                TxStatus::Unknown => settled.push(settle(JobResult::Failed(COPIED.into()), None)),
            }
        }
        Ok((open, settled))
    }

    /// Sorts out the jobs that can be handed to the destination: those that are still dead.
    async fn undelivered(&self, ids: &[JobId]) -> Result<(Vec<JobId>, Vec<CompletedBatch>), SourceError> {
        let states = self.states(ids).await?;
        let traces = self.traces(ids).await?;
        let (mut open, mut settled) = (Vec::new(), Vec::new());
        for id in ids {
            let settle = |result, note| CompletedBatch { outcome: (id.clone(), result), note };
            match states.get(id) {
                Some(State::Resolved | State::Retrying) if traces.of(id) == Some(false) => {
                    settled.push(settle(JobResult::Skipped(SkipReason::Changed), None));
                }
                Some(State::Dead) => open.push(id.clone()),
                Some(State::Resolved) => settled.push(settle(JobResult::Done, Some(SEEN))),
                Some(State::Retrying) => settled.push(settle(JobResult::Failed(HANDED.into()), None)),
                Some(State::Ignored) => settled.push(settle(JobResult::Skipped(SkipReason::Changed), None)),
                None => settled.push(settle(JobResult::Skipped(SkipReason::Gone), None)),
            }
        }
        Ok((open, settled))
    }

    /// Judges jobs that are no longer as they were: by us, or by somebody else.
    async fn classify_all(&self, outcomes: Vec<JobOutcome>) -> Result<Vec<CompletedBatch>, SourceError> {
        if outcomes.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<JobId> = outcomes.iter().map(|(id, _)| id.clone()).collect();
        let states = self.states(&ids).await?;
        let gone: Vec<JobId> = ids.iter().filter(|id| !states.contains_key(*id)).cloned().collect();
        let evidence = Evidence {
            fates: self.replay_outcomes(&gone).await?,
            archived: self.archived(&gone).await?,
            tx_status: self.tx_status(&ids).await?,
            traces: self.traces(&ids).await?,
            brought_back: self.brought_back(&ids, &states).await?,
            edited: self.edited(&ids).await?,
            states,
        };
        let action = self.context.run.intent.action;
        Ok(outcomes.into_iter().map(|outcome| evidence.classify(action, outcome)).collect())
    }

    async fn states(&self, ids: &[JobId]) -> Result<HashMap<JobId, State>, SourceError> {
        let rows = self.context.desk.store.rows(ids, &self.context.budget).await?;
        Ok(rows.into_iter().map(|entry| (entry.row.id, entry.row.state)).collect())
    }

    async fn traces(&self, ids: &[JobId]) -> Result<Traces, SourceError> {
        let Run { id, intent, .. } = self.context.run;
        let traced = self.context.desk.reconcile()?.traced(intent.action, &id.0, ids, &self.context.budget).await?;
        Ok(Traces(traced.map(HashSet::from_iter)))
    }

    async fn replay_outcomes(&self, ids: &[JobId]) -> Result<HashMap<JobId, ReplayOutcome>, SourceError> {
        if ids.is_empty() || self.context.run.intent.action != Action::Replay {
            return Ok(HashMap::new());
        }
        let kept = match self.context.desk.store.info().capabilities.outcomes_need_copies {
            true => self.context.ledger.snapshots().get(&self.context.run.id, ids).await.map_err(SourceError::from)?,
            false => Vec::new(),
        };
        let told = self.context.desk.store.outcomes(ids, &kept, &self.context.budget).await?;
        Ok(told.into_iter().map(|(id, ObservedOutcome { outcome, .. })| (id, outcome)).collect())
    }

    /// The jobs whose row stands again as it was kept; where nothing was kept, those that are dead again.
    async fn brought_back(&self, ids: &[JobId], states: &HashMap<JobId, State>) -> Result<Vec<JobId>, SourceError> {
        let intent = &self.context.run.intent;
        if !intent.action.needs_kept() {
            return Ok(Vec::new());
        }
        let undoing = undo::undoing(self.context.ledger, intent.action, &intent.options, ids).await;
        let kept = undoing.map_err(|e| SourceError::Input(e.to_string()))?.map(|undo| undo.kept).unwrap_or_default();
        let mut back = self.context.desk.reconcile()?.as_kept(&kept, &self.context.budget).await?;
        let bare = ids.iter().filter(|id| !kept.iter().any(|(known, _)| known == *id));
        back.extend(bare.filter(|id| states.get(*id) == Some(&State::Dead)).cloned());
        Ok(back)
    }

    /// The jobs that have the arguments that the run writes.
    async fn edited(&self, ids: &[JobId]) -> Result<HashSet<JobId>, SourceError> {
        let RunContext { desk, ledger, run, budget, .. } = self.context;
        if !run.intent.action.edits() {
            return Ok(HashSet::new());
        }
        let (unreadable, mut edited) = (|e: LedgerError| SourceError::Input(e.to_string()), HashSet::new());
        let edits = RunEdits::of(ledger, &run.id, (run.intent.action, &run.intent.options)).await;
        let (Some(edits), Some(editor)) = (edits.map_err(unreadable)?, desk.store.arguments()) else {
            return Ok(edited);
        };
        for part in edits.parts(ids).await.map_err(unreadable)? {
            let written = edits.get(&part).await.map_err(unreadable)?;
            let now: HashMap<JobId, FoundArguments> = editor.documents(&part, budget).await?.into_iter().collect();
            let is_written = |edit: &&ArgumentsEdit| matches!(now.get(&edit.id), Some(Ok(document)) if document.text() == edit.edited);
            edited.extend(written.iter().filter(is_written).map(|edit| edit.id.clone()));
        }
        Ok(edited)
    }

    async fn archived(&self, ids: &[JobId]) -> Result<Vec<JobId>, SourceError> {
        let RunContext { desk, ledger, run, budget, .. } = self.context;
        match run.intent.action {
            _ if ids.is_empty() => return Ok(Vec::new()),
            Action::Archive => {
                return desk.reconcile()?.archived(&run.id.0, ids, budget).await;
            }
            Action::Discard => {}
            _ => return Ok(Vec::new()),
        }
        let rows = ledger.snapshots().get(&run.id, ids).await.map_err(|e| SourceError::Input(e.to_string()))?;
        Ok(rows.into_iter().map(|(id, _)| id).collect())
    }
}

/// What can be seen of jobs that are no longer as they were.
struct Evidence {
    states: HashMap<JobId, State>,
    fates: HashMap<JobId, ReplayOutcome>,
    archived: Vec<JobId>,
    brought_back: Vec<JobId>,
    edited: HashSet<JobId>,
    tx_status: TxStatusByJob,
    traces: Traces,
}

/// The jobs that show our run's hand, where the layout keeps such a trace.
struct Traces(Option<HashSet<JobId>>);

impl Traces {
    /// Whether it was us; `None` where that cannot be seen.
    fn of(&self, id: &JobId) -> Option<bool> {
        self.0.as_ref().map(|ours| ours.contains(id))
    }
}

impl Evidence {
    fn classify(&self, action: Action, (id, result): JobOutcome) -> CompletedBatch {
        match self.tx_status.of(&id) {
            TxStatus::Committed => return CompletedBatch { outcome: (id, JobResult::Done), note: Some(COMMITTED) },
            TxStatus::Undone => return (id, result).into(),
            TxStatus::Unknown => {}
        }
        let seen = |id| CompletedBatch { outcome: (id, JobResult::Done), note: Some(SEEN) };
        match (action, self.states.get(&id)) {
            (_, Some(_)) if self.traces.of(&id) == Some(false) => (id, result).into(),
            (_, Some(_)) if self.edited.contains(&id) => seen(id),
            (_, Some(state)) if action.profile().leaves.contains(state) => seen(id),
            (Action::Restore | Action::Recall, Some(_)) if self.brought_back.contains(&id) => seen(id),
            (Action::Discard | Action::Archive, None) if self.archived.contains(&id) => seen(id),
            (Action::Purge, None) => (id, JobResult::Failed(REMOVED.into())).into(),
            (Action::Replay, None) => match self.fates.get(&id) {
                Some(
                    ReplayOutcome::Waiting
                    | ReplayOutcome::Running
                    | ReplayOutcome::Retrying(_)
                    | ReplayOutcome::Succeeded
                    | ReplayOutcome::DiedAgain(_),
                ) => seen(id),
                Some(ReplayOutcome::Gone(_) | ReplayOutcome::TakenBack | ReplayOutcome::Unknown) | None => {
                    (id, JobResult::Failed(VANISHED.into())).into()
                }
            },
            _ => (id, result).into(),
        }
    }
}
