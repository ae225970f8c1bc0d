//! One batch against the store: tried until every job is answered for, the store says for certain that nothing
//! happened, or nobody wants to wait any longer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::context::RunContext;
use super::control::Wish;
use super::delivery_monitor::DeliveryMonitor;
use super::executor::Alike;
use super::reconcile::Reconciler;
use super::schedule::Schedule;
use super::stop_reason::StopReason;
use super::validate::Screening;
use crate::domain::action::{JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsEdit;
use crate::domain::run_options::Options;
use crate::domain::time::Timestamp;
use crate::ledger::{CompletedBatch, LedgerError};
use crate::store::{Applied, Batch, Deliver, Interrupted, SourceError, Standing};
use crate::triage::repair::RunEdits;
use crate::triage::single_attempts::SingleAttempts;
use crate::triage::validate::Validate;
use crate::triage::{lock_retry, undo};

/// Times that a lock or a deadline of the same jobs is tried before the run goes on without them.
const TRIES: u32 = 5;
/// A batch takes a small part of this; one that takes longer stands before something.
const LATE: Duration = Duration::from_secs(2);
/// The longest wait between two tries, in first ones.
const LONGEST: u32 = 50;

/// What became of a batch.
#[derive(Default)]
pub(super) struct BatchResult {
    /// The jobs that are settled; the others stay in doubt.
    pub(super) settled: Vec<CompletedBatch>,
    /// No job of the batch was touched.
    pub(super) untouched: bool,
    /// Why the run cannot go on.
    pub(super) halt: Option<StopReason>,
    /// What the slowest call to the store took.
    pub(super) elapsed: Duration,
}

/// Some jobs of a batch between two tries.
pub(super) struct BatchPart {
    pub(super) ids: Vec<JobId>,
    /// How they stood when they were frozen.
    pub(super) standing: Standing,
    /// An earlier try may have taken effect without our knowing.
    doubtful: bool,
    tries: u32,
}

/// What one try brought.
#[derive(Default)]
pub(super) struct Tried {
    /// Jobs that are settled.
    pub(super) settled: Vec<CompletedBatch>,
    /// The others.
    pub(super) left: Vec<JobId>,
    /// Why there are others.
    pub(super) broke: Option<Interrupted>,
}

/// Whether a part that failed again is left for what it is.
fn is_given_up(error: &SourceError, tries: u32, answer: &BatchResult) -> bool {
    match error {
        // No job is at fault for what somebody stops, unless it is this one each time and others got through.
        SourceError::Interrupted => {
            tries >= TRIES * 4 && answer.settled.iter().any(|it| it.outcome.1 == JobResult::Done)
        }
        SourceError::Unreachable(_) | SourceError::Unrecorded(_) => false,
        _ => tries >= TRIES,
    }
}

/// Applies the action of a run to batches.
pub(super) struct BatchApplier<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) screening: Screening,
    /// The destination outside the database, where there is one.
    pub(super) destination: Option<Arc<DeliveryMonitor>>,
    /// The latest death among the jobs of the run; `None` where that says nothing.
    pub(super) died_by: Option<Timestamp>,
    pub(super) schedule: Schedule,
    /// The jobs that have one attempt, whatever the others have.
    pub(super) single_attempts: SingleAttempts,
    /// What is written of the arguments of its jobs, where they change.
    pub(super) edits: Option<RunEdits>,
}

impl<'a> BatchApplier<'a> {
    pub(super) fn new(context: &'a RunContext<'a>, validator: Option<Arc<dyn Validate>>) -> Self {
        let deliver = context.options.deliver.clone().filter(|_| context.is_delivered_to_command());
        Self {
            context,
            screening: Screening::new(validator),
            destination: deliver.map(|to| Arc::new(DeliveryMonitor::new(to))),
            died_by: None,
            schedule: Schedule::default(),
            single_attempts: SingleAttempts::default(),
            edits: None,
        }
    }

    /// Finds out which jobs have one attempt, as the record has them now.
    pub(super) async fn read_single_attempts(&mut self) -> Result<(), StopReason> {
        let RunContext { ledger, run, .. } = *self.context;
        let read = || SingleAttempts::of(ledger, &run.id);
        self.single_attempts = self.context.record_until_written(false, read).await?;
        Ok(())
    }

    /// Applies the action to jobs that the ledger has named, by how they stood when they were frozen.
    pub(super) async fn answer(&self, named: Alike, doubtful: bool) -> BatchResult {
        let mut answer = BatchResult::default();
        let named = self.schedule.by_due(named);
        let part = |(standing, ids)| BatchPart { ids, standing, doubtful, tries: 0 };
        let mut parts: Vec<BatchPart> = named.into_iter().map(part).collect();
        let began = Instant::now();
        while let Some(mut part) = parts.pop() {
            let started = Instant::now();
            let tried = watched(self.attempt(&part), || self.context.tell(Some(self.late().to_owned()))).await;
            answer.elapsed = answer.elapsed.max(started.elapsed());
            part.tries += 1;
            answer.settled.extend(tried.settled);
            let Some(Interrupted { error, unsure }) = tried.broke else { continue };
            part.ids = tried.left;
            part.doubtful |= unsure;
            if error.retryable() && is_given_up(&error, part.tries, &answer) {
                answer.settled.extend(self.given_up(&part, &error).await);
                continue;
            }
            let enough = self.context.control.wish() == Wish::Stop || began.elapsed() > self.context.options.patience;
            if !error.retryable() || enough {
                parts.push(part);
                answer.untouched = answer.settled.is_empty() && parts.iter().all(|part| !part.doubtful);
                answer.halt = Some(StopReason::by(error));
                return answer;
            }
            self.context.tell(Some(format!("{error}; trying again")));
            self.context.control.rest(pause(self.context.options.retry, part.tries)).await;
            if error.took_too_long() && part.ids.len() > 1 {
                let second = part.ids.split_off(part.ids.len() / 2);
                let halves = [part.ids, second];
                parts.extend(halves.map(|ids| {
                    let standing = part.standing.clone();
                    BatchPart { ids, standing, tries: 0, ..part }
                }));
            } else {
                parts.push(part);
            }
        }
        answer
    }

    /// Servers and commands quote what a row holds.
    pub(super) fn mask(&self, answer: &mut BatchResult) {
        for CompletedBatch { outcome: (_, result), .. } in &mut answer.settled {
            match result {
                JobResult::Failed(reason) => *reason = self.context.desk.redactor.untrusted(reason.clone()),
                JobResult::Skipped(SkipReason::NotAccepted(reason)) => {
                    *reason = self.context.desk.redactor.prose(reason).into_owned();
                }
                JobResult::Done | JobResult::Skipped(_) => {}
            }
        }
        answer.halt =
            answer.halt.take().map(|halt| halt.masked(|why| self.context.desk.redactor.prose(why).into_owned()));
    }

    /// Whether a command or a validator has the jobs before the database does.
    pub(super) fn goes_through_others(&self) -> bool {
        self.context.options.deliver.is_some() || self.screening.is_on()
    }

    /// What is told of a batch that is late. What is locked is tried again a few times before that is told.
    fn late(&self) -> &'static str {
        match self.goes_through_others() {
            true => "no answer yet",
            false => "no answer yet: another session may hold a lock",
        }
    }

    async fn attempt(&self, part: &BatchPart) -> Tried {
        if part.doubtful {
            return self.reconcile(part).await;
        }
        tried(&part.ids, self.screened(&part.ids, part).await)
    }

    /// Applies the action, to jobs apart that have other options than the others.
    pub(super) async fn apply(&self, ids: &[JobId], part: &BatchPart) -> Applied {
        let mut all = Applied::default();
        for (ids, options) in self.single_attempts.parts(ids, &self.context.run.intent.options) {
            let applied = self.apply_alike(&ids, part, &options).await;
            all.outcomes.extend(applied.outcomes);
            all.broke = applied.broke;
            if all.broke.is_some() {
                break;
            }
        }
        all
    }

    /// Applies the action; where arguments change, in parts whose texts fit into memory.
    async fn apply_alike(&self, ids: &[JobId], part: &BatchPart, options: &Options) -> Applied {
        let Some(edits) = &self.edits else { return self.apply_part(ids, part, options, Arc::default()).await };
        self.apply_edits(edits, ids, part, options).await.unwrap_or_else(|error| {
            let error = SourceError::Input(format!("what is to be written cannot be read: {error}"));
            Applied { outcomes: Vec::new(), broke: Some(error.into()) }
        })
    }

    async fn apply_edits(
        &self,
        edits: &RunEdits,
        ids: &[JobId],
        part: &BatchPart,
        options: &Options,
    ) -> Result<Applied, LedgerError> {
        let mut all = Applied::default();
        for ids in edits.parts(ids).await? {
            let applied = self.apply_part(&ids, part, options, edits.get(&ids).await?).await;
            all.outcomes.extend(applied.outcomes);
            all.broke = applied.broke;
            if all.broke.is_some() {
                break;
            }
        }
        Ok(all)
    }

    async fn apply_part(
        &self,
        ids: &[JobId],
        part: &BatchPart,
        options: &Options,
        edits: Arc<[ArgumentsEdit]>,
    ) -> Applied {
        let intent = &self.context.run.intent;
        let undo = match undo::undoing(self.context.ledger, intent.action, &intent.options, ids).await {
            Ok(undo) => undo,
            Err(error) => {
                let error = SourceError::Input(format!("what was kept cannot be read: {error}"));
                return Applied { outcomes: Vec::new(), broke: Some(error.into()) };
            }
        };
        let batch = Batch {
            action: self.context.run.intent.action,
            ids: ids.to_vec(),
            standing: part.standing.clone(),
            died_by: self.died_by,
            run: self.context.run.id.0.clone(),
            options: options.clone(),
            run_after: self.schedule.instants(ids),
            deliver: self.destination.clone().map(|to| to as Arc<dyn Deliver>),
            journal: Some(Arc::clone(&self.context.journal)),
            undo,
            edits,
        };
        lock_retry::apply(self.context.desk.store.as_ref(), batch, &self.context.budget).await
    }

    /// The jobs of a part that ran into locks or deadlines too often. Those left out stay in doubt, and the run says
    /// so when it ends.
    async fn given_up(&self, part: &BatchPart, error: &SourceError) -> Vec<CompletedBatch> {
        let locked = matches!(error, SourceError::Locked(_));
        if part.doubtful {
            let looked = if locked {
                Ok(Vec::new())
            } else {
                Reconciler { context: self.context }.check_rows(part, &error.to_string()).await
            };
            return looked.unwrap_or_default();
        }
        let result = match locked {
            true => JobResult::Skipped(SkipReason::Locked),
            false => JobResult::Failed(error.to_string().as_str().into()),
        };
        part.ids.iter().map(|id| CompletedBatch::from((id.clone(), result.clone()))).collect()
    }
}

/// What `work` gives; `late` is called where that is long in coming.
async fn watched<T>(work: impl Future<Output = T>, late: impl FnOnce()) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        given = &mut work => return given,
        () = sleep(LATE) => late(),
    }
    work.await
}

/// What became of exactly these jobs, each once. Jobs that the store forgets to answer for count as refused.
pub(super) fn tried(ids: &[JobId], Applied { outcomes, broke }: Applied) -> Tried {
    let mut told: HashMap<JobId, JobResult> = outcomes.into_iter().collect();
    let mut tried = Tried { broke, ..Tried::default() };
    for id in ids {
        match told.remove(id) {
            Some(result) => tried.settled.push((id.clone(), result).into()),
            None if tried.broke.is_some() => tried.left.push(id.clone()),
            None => {
                let forgotten = JobResult::Failed("the store gave no answer for this job".into());
                tried.settled.push((id.clone(), forgotten).into());
            }
        }
    }
    tried
}

/// How long to wait before the try after `tries`.
pub(super) fn pause(first: Duration, tries: u32) -> Duration {
    first.saturating_mul((1 << tries.saturating_sub(1).min(16)).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_no_further() {
        let first = Duration::from_millis(200);
        assert_eq!(pause(first, 1), first);
        assert_eq!(pause(first, 2), first * 2);
        assert_eq!(pause(first, u32::MAX), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_late_is_told_and_it_is_awaited_all_the_same() {
        let ask = async |takes: Duration| {
            let mut told = 0;
            let given = watched(async { sleep(takes).await }, || told += 1).await;
            (given, told)
        };
        assert_eq!(ask(Duration::ZERO).await, ((), 0));
        assert_eq!(ask(LATE / 2).await, ((), 0));
        assert_eq!(ask(LATE * 9).await, ((), 1));
    }

    #[test]
    fn every_job_is_answered_for_exactly_once() {
        let ids: Vec<JobId> = ["1", "2"].map(JobId::new).into();
        let outcomes = vec![(JobId::new("2"), JobResult::Done), (JobId::new("9"), JobResult::Done)];
        let whole = tried(&ids, Applied { outcomes: outcomes.clone(), broke: None });
        assert_eq!((whole.settled.len(), whole.left.len()), (2, 0));
        assert!(matches!(whole.settled[0].outcome.1, JobResult::Failed(_)));
        assert_eq!(whole.settled[1].outcome, (JobId::new("2"), JobResult::Done));
        let broke = Some(SourceError::Denied("no".into()).into());
        let broken = tried(&ids, Applied { outcomes, broke });
        assert_eq!((broken.settled.len(), broken.left), (1, vec![JobId::new("1")]));
    }
}
