//! Gathering: the jobs of a scope go into the ledger a step at a time, so that memory stays flat.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

use super::gate_wait::RunTimes;
use super::spread_choice::{JobLimit, SpreadChoice};
use super::{Ask, PlanError};
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::histogram::grouped;
use crate::domain::job::JobId;
use crate::domain::redact::Masker;
use crate::domain::repair::ArgumentsEdit;
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::time::Timestamp;
use crate::ledger::{CohortPart, CohortStats, Ledger, RunId};
use crate::store::{
    Budget, Cursor, Frozen, Identity, Ineligible, Page, PageQuery, ScanMode, Scanned, SourceError, Store, StoreExt,
};
use crate::triage::ledger_filter::{RunRows, RunTerms};
use crate::triage::plan::ActionScope;
use crate::triage::progress::FreezeProgress;
use crate::triage::repair::{EditPlanner, PlanEditError};
use crate::triage::replay_limit::ReplayLimit;
use crate::triage::{StoreContext, undo};

/// Jobs gathered before they are written: a transaction costs what some hundreds of them do.
const GATHER: usize = 2_000;
/// Jobs looked up by id at a time.
const LOOKUP: usize = 500;

/// Steps that wait, read, for those before them to be written.
const AHEAD: usize = 1;

const NOTHING: FreezeProgress = FreezeProgress { frozen: 0, examined: 0, share: 0.0 };

/// Who is told how far a freeze has got.
pub(super) type Tell<'a> = &'a mut (dyn FnMut(FreezeProgress) + Send + 'a);

/// The cohort of a plan, while it grows.
pub(super) struct Freezer<'a> {
    desk: &'a StoreContext,
    ledger: &'a Ledger,
    run: &'a RunId,
    action: Action,
    budget: &'a Budget,
    limit: JobLimit,
    /// Whether the operator says how long the gate waits.
    is_wait_asked: bool,
    gathered: Vec<Frozen>,
    collected: CollectedCohort,
    told: ProgressReporter<'a>,
    guard: ReplayLimit<'a>,
    masker: Masker,
}

/// How far a freeze has got, and who is told.
struct ProgressReporter<'a> {
    progress: FreezeProgress,
    tell: Tell<'a>,
}

/// Reasons why the action cannot be done for some jobs, each with the number of these, and since when for the first of them.
pub(super) type LeftOutBy = BTreeMap<String, (u64, Option<Timestamp>)>;

/// What came of a scope.
#[derive(Default)]
pub(super) struct CollectedCohort {
    /// The cohort, in numbers.
    pub census: CohortStats,
    /// The rest.
    pub left_out: LeftOut,
    /// What is to be said of some jobs of the cohort, each with their number.
    pub cautions: BTreeMap<String, u64>,
    /// The jobs that are replayed first, where that was asked for.
    pub canary: Vec<CanaryJob>,
    /// How long jobs of their classes ran, where the store shows that.
    pub run_times: Option<RunTimes>,
    /// Their choice, while the cohort grows.
    choice: Option<SpreadChoice>,
    /// What computes the changed arguments, where some change.
    pub planner: Option<EditPlanner>,
}

/// Jobs of a scope that are not in the cohort.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Named, and not there.
    pub missing: Missing,
    /// Replayed too often before.
    pub barred: u64,
    /// The action cannot be done for them.
    pub unfit: LeftOutBy,
}

/// Jobs that were named and not found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// How many.
    pub n: u64,
    /// The first of them.
    first: Vec<JobId>,
}

impl Missing {
    /// Ids that are told.
    const TOLD: usize = 5;

    /// These jobs.
    pub fn of<'i>(ids: impl IntoIterator<Item = &'i JobId>) -> Self {
        let mut missing = Self::default();
        for id in ids {
            missing.n += 1;
            if missing.first.len() < Self::TOLD {
                missing.first.push(id.clone());
            }
        }
        missing
    }

    fn add(&mut self, more: Missing) {
        self.n += more.n;
        self.first.extend(more.first);
        self.first.truncate(Self::TOLD);
    }
}

impl fmt::Display for Missing {
    /// `: 7, 8 and 12 more`, to stand behind a sentence; nothing where it is not known which.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first: Vec<String> = self.first.iter().map(|id| id.text().line_head(60).to_string()).collect();
        if first.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", first.join(", "))?;
        match self.n.saturating_sub(first.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {} more", grouped(more)),
        }
    }
}

impl<'a> Freezer<'a> {
    /// Nothing is in the cohort yet.
    pub fn new(
        desk: &'a StoreContext,
        ledger: &'a Ledger,
        run: &'a RunId,
        ask: &Ask,
        database: Option<&'a Identity>,
        budget: &'a Budget,
        on_progress: Tell<'a>,
    ) -> Self {
        Freezer {
            desk,
            ledger,
            run,
            action: ask.action,
            budget,
            limit: JobLimit::of(ask),
            is_wait_asked: ask.options.rollout.is_some_and(|rule| rule.is_wait_asked),
            gathered: Vec::new(),
            collected: CollectedCohort { choice: SpreadChoice::of_canary(ask), ..CollectedCohort::default() },
            told: ProgressReporter { progress: NOTHING, tell: on_progress },
            guard: ReplayLimit::new(desk, ledger, run, ask.action, database, ask.thresholds.max_replays),
            masker: Masker::new(Arc::clone(&desk.redactor)),
        }
    }

    /// With changed arguments: only jobs whose arguments change are in the cohort then.
    pub fn editing(mut self, planner: Option<EditPlanner>) -> Self {
        self.collected.planner = planner;
        self
    }

    /// Writes the whole scope down and says what was left out of it. What a filter selects is read in a task of its own, which
    /// ends with this.
    ///
    /// # Errors
    /// When the source or the ledger fails, and when the budget is cancelled.
    pub async fn gather(mut self, scope: &ActionScope, filter: Option<&Filter>) -> Result<CollectedCohort, PlanError> {
        let missing = match (scope, filter) {
            (ActionScope::Jobs(ids), _) => {
                // A job that is named twice is one job, and not one that is missing.
                let mut seen = HashSet::new();
                let once: Vec<JobId> = ids.iter().filter(|id| seen.insert(*id)).cloned().collect();
                self.named(&once, once.len() as u64).await?
            }
            (ActionScope::Run(from, part), _) => self.of_run(from, *part).await?,
            (ActionScope::Undo(from, ids), _) => self.undone(from, ids).await?,
            (ActionScope::Filter(_), Some(filter)) => self.filtered(filter).await?,
            (ActionScope::Filter(_), None) => Missing::default(),
        };
        self.write(0).await?;
        self.collected.left_out.missing = missing;
        self.collected.left_out.barred = self.guard.barred;
        self.collected.canary = self.collected.choice.take().map(|canary| canary.choose()).unwrap_or_default();
        // Where the operator says how long the gate waits, nobody needs to know how long such jobs run.
        if !self.collected.canary.is_empty() && !self.is_wait_asked {
            self.collected.run_times = RunTimes::read(self.desk, &self.collected.canary, self.budget).await?;
        }
        Ok(self.collected)
    }

    async fn filtered(&mut self, filter: &Filter) -> Result<Missing, PlanError> {
        let (asked, terms) = match self.desk.run_rows_now(filter, self.ledger, self.budget).await? {
            None => (filter.clone(), None),
            Some(RunRows::Named(asked)) => (asked, None),
            Some(RunRows::Paged(asked, terms)) => (asked, Some(terms)),
            Some(RunRows::Nothing) => return Ok(Missing::default()),
        };
        // What only the ledger knows it judges; the store is asked for the rest.
        let asked = asked.without_ledger_terms();
        let mut next = Some(Cursor::Start);
        while let Some(cursor) = next.filter(|_| self.limit.left > 0) {
            // The source reads on while what it read is looked at and written down, which takes a processor as much as reading.
            let (into, steps) = mpsc::channel(AHEAD);
            let mut reading = JoinSet::new();
            let store = Arc::clone(&self.desk.store);
            let needs_rows = self.collected.choice.is_some() || self.limit.sample.is_some();
            let mode = if needs_rows { ScanMode::CohortRows } else { ScanMode::Cohort };
            let most = if self.limit.sample.is_some() { u64::MAX } else { self.limit.left };
            let query = PageQuery { sort: self.limit.sort(), ..PageQuery::cohort(&asked, cursor) };
            reading.spawn(read_on(store, (query, mode), most, self.budget.clone(), into));
            (next, ()) = tokio::try_join!(ended(reading), self.write_down(filter, terms.as_ref(), steps))?;
        }
        match self.limit.sample.take() {
            // What was chosen may have left its place since it was read.
            Some(sample) => self.named(&sample.choose_in_order(), 0).await,
            None => Ok(Missing::default()),
        }
    }

    async fn write_down(
        &mut self,
        filter: &Filter,
        terms: Option<&RunTerms>,
        mut steps: Receiver<Page>,
    ) -> Result<(), PlanError> {
        while let Some(Page { entries, scanned, .. }) = steps.recv().await {
            self.check()?;
            if let Some(choice) = self.limit.sample.as_mut().or(self.collected.choice.as_mut()) {
                choice.read(&entries);
            }
            let jobs: Vec<Frozen> = entries.into_iter().map(Frozen::of).collect();
            let Scanned { rows, share } = scanned.unwrap_or(Scanned { rows: jobs.len() as u64, share: 0.0 });
            let jobs = match terms {
                Some(terms) => terms.retain_passing(self.ledger, jobs, |job: &Frozen| &job.id).await?,
                None => jobs,
            };
            let mut jobs = self.guard.pass(Some(filter), jobs).await?;
            // What a verb is for it takes; whole cohorts of that are not looked at again.
            let is_usual = |job: &Frozen| self.action.profile().takes.contains(&job.state);
            let by_state = !jobs.iter().all(is_usual);
            self.leave_unfit(&mut jobs, by_state).await?;
            self.told.progress.examined += rows;
            self.told.progress.share = share;
            match &mut self.limit.sample {
                Some(sample) => {
                    sample.take(&jobs);
                    (self.told.tell)(self.told.progress);
                }
                None => {
                    self.take(jobs).await?;
                    self.write(GATHER).await?;
                }
            }
        }
        Ok(())
    }

    async fn named(&mut self, ids: &[JobId], of: u64) -> Result<Missing, PlanError> {
        let mut missing = Missing::default();
        for chunk in ids.chunks(LOOKUP) {
            self.check()?;
            let found = self.desk.store.rows(chunk, self.budget).await?;
            if found.len() < chunk.len() {
                let there: HashSet<&JobId> = found.iter().map(|entry| &entry.row.id).collect();
                let named = Missing::of(chunk.iter().filter(|id| !there.contains(id)));
                let n = chunk.len().saturating_sub(found.len()) as u64;
                // A row may spell its key otherwise than it was typed: then which are not there cannot be told.
                missing.add(if named.n == n { named } else { Missing { n, first: Vec::new() } });
            }
            if let Some(canary) = &mut self.collected.choice {
                canary.read(&found);
            }
            self.told.progress.examined += chunk.len() as u64;
            if of > 0 {
                self.told.progress.share = (self.told.progress.examined as f32 / of as f32).min(1.0);
            }
            let jobs = self.guard.pass(None, found.into_iter().map(Frozen::of).collect()).await?;
            self.add(jobs, true).await?;
        }
        Ok(missing)
    }

    async fn of_run(&mut self, from: &RunId, part: CohortPart) -> Result<Missing, PlanError> {
        let (mut missing, mut after) = (Missing::default(), 0);
        let ledger = self.ledger.of(from).await?;
        let of = ledger.runs().tally(from).await?.planned;
        loop {
            let jobs = ledger.cohorts().jobs(from, part, after, LOOKUP).await?;
            let Some(last) = jobs.last() else { return Ok(missing) };
            after = last.ord;
            let ids: Vec<JobId> = jobs.into_iter().map(|job| job.id).collect();
            missing.add(self.named(&ids, of).await?);
        }
    }

    /// What a run did, as its own record has it: the rows may be gone. Returns those named that it did not do.
    async fn undone(&mut self, from: &RunId, ids: &[JobId]) -> Result<Missing, PlanError> {
        let (mut left, mut after) = (ids.iter().collect::<HashSet<_>>(), 0);
        let ledger = self.ledger.of(from).await?;
        loop {
            self.check()?;
            let jobs = ledger.cohorts().done_jobs(from, ids, after, GATHER).await?;
            let Some((last, _)) = jobs.last() else { break };
            after = *last;
            for (_, job) in &jobs {
                left.remove(&job.id);
            }
            let action = self.action;
            let jobs = jobs.into_iter().map(|(_, job)| undo::as_left(action, job)).collect();
            // What is put back again is known by its replays, and bound by their number, as any other replay.
            let jobs = if action == Action::Replay { self.guard.pass(None, jobs).await? } else { jobs };
            // What an undo leaves alone, and why, its outlook says.
            self.add(jobs, false).await?;
        }
        // In the order in which they were named, each once.
        Ok(Missing::of(ids.iter().filter(|id| left.remove(id))))
    }

    /// Leaves out the jobs for which the layout does not allow the action, with `by_state` also as they stand.
    async fn leave_unfit(&mut self, jobs: &mut Vec<Frozen>, by_state: bool) -> Result<(), PlanError> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
        let unfit: HashMap<JobId, Ineligible> =
            self.desk.store.plan().unfit(self.action, &ids, by_state, self.budget).await?.into_iter().collect();
        jobs.retain(|job| !unfit.contains_key(&job.id));
        for Ineligible { because, since } in unfit.into_values() {
            let (jobs, first) = self.collected.left_out.unfit.entry(because).or_insert((0, since));
            *jobs += 1;
            *first = (*first).into_iter().chain(since).min();
        }
        Ok(())
    }

    async fn add(&mut self, mut jobs: Vec<Frozen>, by_state: bool) -> Result<(), PlanError> {
        self.leave_unfit(&mut jobs, by_state).await?;
        self.take(jobs).await?;
        self.write(GATHER).await
    }

    /// Those of these jobs whose arguments change, where some are to; what is written of them goes into the ledger.
    async fn edit(&mut self, jobs: Vec<Frozen>) -> Result<Vec<Frozen>, PlanError> {
        let Some(planner) = &mut self.collected.planner else { return Ok(jobs) };
        let planned =
            planner.plan(self.desk, jobs, self.limit.left, self.budget).await.map_err(|error| match error {
                PlanEditError::Store(error) => PlanError::Store(error),
                PlanEditError::Evaluator(error) => PlanError::Evaluator(error),
            })?;
        let (jobs, edits): (Vec<Frozen>, Vec<ArgumentsEdit>) = planned.into_iter().unzip();
        self.ledger.edits().add(self.run, &edits).await?;
        Ok(jobs)
    }

    async fn take(&mut self, jobs: Vec<Frozen>) -> Result<(), PlanError> {
        let mut jobs = self.edit(jobs).await?;
        jobs.truncate(usize::try_from(self.limit.left).unwrap_or(usize::MAX));
        if let Some(canary) = &mut self.collected.choice {
            canary.take(&jobs);
        }
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
        for (caution, jobs) in self.desk.store.plan().cautions(self.action, &ids, self.budget).await? {
            *self.collected.cautions.entry(caution).or_default() += jobs;
        }
        // What a job was frozen with is told by receipts and splits too, and by others than its database.
        for class in jobs.iter_mut().flat_map(|job| [&mut job.error_class, &mut job.job_class]) {
            *class = class.take().map(|class| self.masker.text(class));
        }
        self.limit.left -= jobs.len() as u64;
        self.told.progress.frozen += jobs.len() as u64;
        self.collected.census.add(&jobs);
        self.gathered.extend(jobs);
        (self.told.tell)(self.told.progress);
        Ok(())
    }

    /// Writes what was gathered where it is `enough`.
    async fn write(&mut self, enough: usize) -> Result<(), PlanError> {
        if self.gathered.len() >= enough.max(1) {
            let reserved = self.collected.choice.as_ref().map_or(0, SpreadChoice::reserved);
            self.ledger.cohorts().add_behind(self.run, reserved, take(&mut self.gathered)).await?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.budget.cancel.is_cancelled() { Err(SourceError::Cancelled.into()) } else { Ok(()) }
    }
}

/// What came of the only task; it is stopped where nobody waits for this any more.
async fn ended(mut reading: JoinSet<Result<Option<Cursor>, PlanError>>) -> Result<Option<Cursor>, PlanError> {
    match reading.join_next().await {
        Some(Ok(read)) => read,
        Some(Err(ended)) if ended.is_panic() => resume_unwind(ended.into_panic()),
        // Nobody stops it but by letting go of this. All the same: what was not read to its end is no whole cohort.
        Some(Err(_)) | None => Err(SourceError::Cancelled.into()),
    }
}

/// Reads jobs from a cursor on, a step at a time, until there are so many or no more; from where they go on.
async fn read_on(
    store: Arc<dyn Store>,
    (mut query, mode): (PageQuery, ScanMode),
    most: u64,
    budget: Budget,
    into: Sender<Page>,
) -> Result<Option<Cursor>, PlanError> {
    let mut jobs = 0;
    loop {
        let step = store.scan(query.clone(), mode, &budget).await?;
        jobs += step.entries.len() as u64;
        let next = step.next.clone();
        if into.send(step).await.is_err() {
            // Whoever takes them has failed, and says so.
            return Ok(None);
        }
        match next {
            Some(next) if jobs < most => query.cursor = next,
            next => return Ok(next),
        }
    }
}
