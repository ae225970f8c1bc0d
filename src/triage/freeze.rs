//! Freezing: from a scope to a plan. The ids go into the ledger a step at a time, so that memory stays flat.

mod check_ask;
mod collect;
mod gate_wait;
mod rollout_notes;
mod spread_choice;

use thiserror::Error;

use self::check_ask::{check_ask, unusable};
pub use self::collect::Missing;
use self::collect::{CollectedCohort, Freezer, LeftOut, Tell};
use super::plan::{ActionScope, CohortBreakdown, Plan};
use super::progress::FreezeProgress;
use super::repair::{EditPlanner, EditRequest, EvaluatorError, RepairReport};
use super::replay_limit::{self, times};
use super::{StoreContext, plan_notes, undo};
use crate::config::Thresholds;
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::job::{JobId, JobRow};
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::run_options::Options;
use crate::domain::run_options::pick::Pick;
use crate::domain::time::Timestamp;
use crate::ledger::{CohortPart, CohortStats, Ledger, LedgerError, RunId, RunIntent, Split, Whose};
use crate::store::{Budget, Identity, Outdated, SourceError, StoreExt};

/// Values of a split that are listed; the rest is summed up.
const SHARES: usize = 8;
/// Jobs shown as an example.
const SAMPLE: usize = 5;

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Which jobs.
    pub scope: ActionScope,
    /// The verb.
    pub action: Action,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// What was asked for beside verb and jobs.
    pub options: Options,
    /// Jobs at the most; the rest is left out of the plan.
    pub limit: Option<u64>,
    /// Which jobs these are.
    pub pick: Pick,
    /// More jobs than this are replayed with an automatic stop, where no rule was asked for and outcomes can be told.
    pub guard_above: Option<u64>,
    /// From where on the number must be typed, and how often a job may have been replayed.
    pub thresholds: Thresholds,
    /// The present instant by our clock, for the record; a filter's times count from the source's.
    pub now: Timestamp,
    /// How arguments are changed, where they are.
    pub edit: Option<EditRequest>,
}

impl Ask {
    /// Asks for an action on all of a scope, at no special pace and without a reason.
    pub fn new(scope: ActionScope, action: Action, now: Timestamp) -> Ask {
        Ask {
            scope,
            action,
            reason: None,
            options: Options::default(),
            limit: None,
            pick: Pick::default(),
            guard_above: None,
            thresholds: Thresholds::default(),
            now,
            edit: None,
        }
    }
}

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The action cannot be used on this store.
    #[error("{0}")]
    Disabled(String),
    /// The table has changed since the store was opened; nothing was planned.
    #[error("{0}: ask again, and what it has now is read first")]
    Outdated(Outdated),
    /// No job is in the scope; the run is on record as dismissed.
    #[error("no job matches: there is nothing to {0}")]
    Empty(Action, RunId),
    /// None of the jobs that were named is there.
    #[error("nothing to {action}: {} not found{missing}", if missing.n == 1 { "this job was" } else { "these jobs were" })]
    Missing {
        /// The verb.
        action: Action,
        /// The jobs.
        missing: Missing,
    },
    /// Every job that is in the scope was replayed too often before.
    #[error(
        "nothing to replay: {} that would be meant {} replayed {} or more before and died again; fix what kills them, or \
         let them through with --max-replays",
        grouped(*.jobs), if *.jobs == 1 { "was" } else { "were" }, times(*.max)
    )]
    Barred {
        /// The jobs.
        jobs: u64,
        /// Replays that a job may have behind it.
        max: u64,
    },
    /// The action cannot be done for any job that is in the scope.
    #[error("nothing to {action}: {} left out: {because}", grouped(*.jobs))]
    Unfit {
        /// The verb.
        action: Action,
        /// The jobs.
        jobs: u64,
        /// Why, for the most of them.
        because: String,
    },
    /// The expression changes none of the jobs that are in the scope.
    #[error("the arguments of none of {} would change: there is nothing to repair", jobs(.report.jobs))]
    Unchanged {
        /// What came of them.
        report: Box<RepairReport>,
        /// The run that is on record as dismissed.
        run: RunId,
    },
    /// The expression cannot be evaluated.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// The source failed or the caller cancelled.
    #[error(transparent)]
    Store(#[from] SourceError),
    /// The record cannot be kept.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Freezes a cohort and says what must be known before it is confirmed. Nothing but the ledger is written.
///
/// Cancelling the budget ends it between two steps, and the statement that runs; the run is then dismissed.
///
/// # Errors
/// See [`PlanError`]; the run, where one was made, is dismissed.
pub async fn freeze(
    desk: &StoreContext,
    ledger: &Ledger,
    ask: Ask,
    budget: &Budget,
    mut on_progress: impl FnMut(FreezeProgress) + Send,
) -> Result<Plan, PlanError> {
    // What follows is compiled once, whoever is told.
    frozen(desk, ledger, ask, budget, &mut on_progress).await
}

async fn frozen(
    desk: &StoreContext,
    ledger: &Ledger,
    mut ask: Ask,
    budget: &Budget,
    on_progress: Tell<'_>,
) -> Result<Plan, PlanError> {
    let (mut notes, database) = check_ask(desk, ledger, &mut ask, budget).await?;
    let creates = desk.store.plan().preparation(ask.action, budget).await.map_err(unusable)?;
    // However many jobs there will be, some rows may be kept.
    let keeps = ask.options.keeps(ask.action, 1);
    let consequences = desk.store.plan().consequences(ask.action, keeps, budget).await.map_err(unusable)?;
    // One reading of the clock for the filter and for the guard that holds each job against the same age.
    let clock = desk.store.clock();
    ask.options = std::mem::take(&mut ask.options).resolve(clock);
    if ask.options.no_archive && ask.action == Action::Discard {
        // What the adapter says is that the rows are kept.
        notes.clear();
    }
    notes.extend(plan_notes::option_notes(desk, &ask));
    ledger.runs().dismiss_abandoned(ask.now).await?;
    let filter = match &ask.scope {
        ActionScope::Filter(filter) => Some(filter.resolve(clock)),
        ActionScope::Jobs(_) | ActionScope::Run(..) | ActionScope::Undo(..) => None,
    };
    let filter = match filter {
        Some(filter) => Some(desk.with_names_resolved(&filter, ledger).await?),
        None => None,
    };
    let resolved = filter.as_ref().map(ToString::to_string).unwrap_or_default();
    let run =
        ledger.runs().create(&RunIntent { database: database.clone(), ..intent(desk, &ask, filter.as_ref()) }).await?;
    let planned = async {
        let hold = ledger.locks().acquire(&run).await?;
        let planned = async {
            let planner = match &ask.edit {
                Some(request) => Some(EditPlanner::start(request).await?),
                None => None,
            };
            let freezer = Freezer::new(desk, ledger, &run, &ask, database.as_ref(), budget, on_progress);
            let gathered = freezer.editing(planner).gather(&ask.scope, filter.as_ref()).await?;
            let options = rollout_notes::completed(desk, &ask, gathered.census.jobs(), gathered.run_times);
            let ask = Ask { options: options.clone().unwrap_or_else(|| ask.options.clone()), ..ask.clone() };
            if options.is_some() {
                let intent = RunIntent { database: database.clone(), ..intent(desk, &ask, filter.as_ref()) };
                ledger.runs().set_options(&run, &intent).await?;
            }
            plan(desk, ledger, &ask, &run, database.as_ref(), budget, gathered).await
        }
        .await;
        hold.release().await;
        planned
    }
    .await;
    match planned {
        Ok(plan) => {
            notes.extend(plan.notes);
            let warnings = consequences.into_iter().chain(plan.warnings).collect();
            Ok(Plan { filter: filter.map(|_| resolved), notes, warnings, creates, ..plan })
        }
        Err(error) => {
            // What went wrong is the error that the operator must see, and not that the plan could not be dismissed.
            let _ = ledger.runs().dismiss(&run, ask.now).await;
            Err(error)
        }
    }
}

fn intent(desk: &StoreContext, ask: &Ask, resolved: Option<&Filter>) -> RunIntent {
    let info = desk.store.info();
    // The filter of an erasure may hold the very value that is to be erased.
    let kept = |filter: &Filter| match ask.options.no_archive {
        true => filter.without_values(),
        false => filter.to_string(),
    };
    RunIntent {
        action: ask.action,
        source: desk.source.clone(),
        store: desk.store_name(),
        filter: match &ask.scope {
            ActionScope::Filter(filter) => kept(filter),
            ActionScope::Jobs(_) | ActionScope::Run(..) | ActionScope::Undo(..) => String::new(),
        },
        resolved: resolved.map(kept).unwrap_or_default(),
        reason: ask.reason.clone(),
        operator: desk.operator.clone(),
        options: ask.options.clone(),
        database: None,
        destination: info.destination.clone().filter(|_| ask.action.profile().reaches_queue),
        frozen_at: ask.now,
    }
}

/// Why some jobs are left out, and since when.
fn reason(because: &str, (jobs, since): (u64, Option<Timestamp>)) -> (u64, String) {
    let since = since.map(|since| match jobs {
        1 => format!(", since {since}"),
        _ => format!(", the longest since {since}"),
    });
    (jobs, format!("{because}{}", since.unwrap_or_default()))
}

/// The first jobs of a cohort, as they are now.
async fn first_rows(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    budget: &Budget,
) -> Result<Vec<JobRow>, PlanError> {
    let first = ledger.cohorts().jobs(run, CohortPart::All, 0, SAMPLE).await?;
    let ids: Vec<JobId> = first.into_iter().map(|job| job.id).collect();
    let mut rows: Vec<JobRow> = desk.store.rows(&ids, budget).await?.into_iter().map(|entry| entry.row).collect();
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}

/// Why no job is left to be planned for.
fn why_empty(
    ask: &Ask,
    run: &RunId,
    left_out: LeftOut,
    unfit: &[(u64, String)],
    repair: Option<RepairReport>,
) -> PlanError {
    if let Some(report) = repair.filter(|report| report.jobs > 0) {
        return PlanError::Unchanged { report: Box::new(report), run: run.clone() };
    }
    if left_out.barred > 0 {
        return PlanError::Barred { jobs: left_out.barred, max: ask.thresholds.max_replays };
    }
    if let Some((_, because)) = unfit.iter().max_by_key(|(n, _)| *n) {
        let jobs = unfit.iter().map(|(n, _)| n).sum();
        return PlanError::Unfit { action: ask.action, jobs, because: because.clone() };
    }
    if left_out.missing.n > 0 && matches!(ask.scope, ActionScope::Jobs(_) | ActionScope::Undo(..)) {
        return PlanError::Missing { action: ask.action, missing: left_out.missing };
    }
    PlanError::Empty(ask.action, run.clone())
}

/// Closes the cohort, its canary jobs first where it has some; how many jobs it has.
async fn seal(
    ledger: &Ledger,
    ask: &Ask,
    run: &RunId,
    census: &CohortStats,
    canary: &[CanaryJob],
) -> Result<u64, LedgerError> {
    if ask.options.rollout.is_none() {
        return ledger.cohorts().seal_counted(run, census).await;
    }
    let places: Vec<i64> = canary.iter().map(|job| job.place).collect();
    ledger.cohorts().seal_led(run, census, &places).await
}

/// How a cohort divides, by what every cohort has.
fn breakdown(split: &Split, count: u64) -> CohortBreakdown {
    CohortBreakdown {
        by_error: plan_notes::shares(&split.by_error, count),
        by_class: plan_notes::shares(&split.by_class, count),
        span: split.span,
        ..CohortBreakdown::default()
    }
}

async fn plan(
    desk: &StoreContext,
    ledger: &Ledger,
    ask: &Ask,
    run: &RunId,
    database: Option<&Identity>,
    budget: &Budget,
    gathered: CollectedCohort,
) -> Result<Plan, PlanError> {
    let CollectedCohort { census, left_out, cautions, canary, run_times, planner, .. } = gathered;
    let repair = planner.map(EditPlanner::report);
    let count = seal(ledger, ask, run, &census, &canary).await?;
    let unfit: Vec<(u64, String)> = left_out.unfit.iter().map(|(because, left)| reason(because, *left)).collect();
    if count == 0 {
        return Err(why_empty(ask, run, left_out, &unfit, repair));
    }
    let split = match census.split(count, SHARES) {
        Some(split) => split,
        None => ledger.cohorts().split(run, SHARES).await?,
    };
    let sample = first_rows(desk, ledger, run, budget).await?;
    let replays = match census.replays(count).filter(|_| ask.action == Action::Replay) {
        Some(replays) => replays,
        None if ask.action == Action::Replay => ledger.cohorts().replays(run).await?,
        None => Vec::new(),
    };
    let mut told = replay_limit::warnings(&replays, left_out.barred, ask.thresholds.max_replays);
    told.extend(unfit.iter().map(|(n, because)| format!("{} left out: {because}", grouped(*n))));
    told.extend(cautions.iter().map(|(caution, n)| format!("{} of them: {caution}", grouped(*n))));
    told.extend(plan_notes::warnings(ask, &split, &left_out.missing, count));
    told.extend(rollout_notes::warning(desk, &ask.options, count));
    let outlook = match ask.options.undoes {
        Some(_) => undo::preview(desk, ledger, run, budget, &mut |_| {}).await?,
        None => Vec::new(),
    };
    let erasing = ask.options.no_archive && ask.action == Action::Discard;
    let whose = Whose { source: &desk.source, store: &desk.store_name(), database };
    let mut notes = match erasing {
        true => plan_notes::what_remains(ledger.snapshots().kept_elsewhere(whose, run).await?),
        false => Vec::new(),
    };
    notes.extend(rollout_notes::notes(&ask.options, &canary, run_times));
    if ask.action == Action::Replay && desk.store.info().capabilities.undo_needs_copies {
        notes.push(plan_notes::undo_note(&ask.options, count));
    }
    Ok(Plan {
        run: run.clone(),
        action: ask.action,
        filter: None,
        count,
        breakdown: CohortBreakdown { canary, by_change: repair, ..breakdown(&split, count) },
        sample,
        warnings: told,
        options: ask.options.clone(),
        creates: None,
        notes,
        outlook,
        confirm: plan_notes::confirm(
            ask.action,
            count,
            ask.thresholds.confirm_count,
            desk.production || plan_notes::purges_dead(ask.action, &split),
        ),
    })
}
