//! Undoing a run: which jobs, why not all of them, and what each will come to.

use std::collections::HashMap;
use std::sync::Arc;

use super::StoreContext;
use super::freeze::PlanError;
use super::repair::RunEdits;
use super::single_attempts::SingleAttempts;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::histogram::grouped;
use crate::domain::job::{JobId, State};
use crate::domain::repair::ArgumentsEdit;
use crate::domain::run_options::destination::Destination;
use crate::domain::run_options::{KEPT_UNASKED, Options};
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, LedgerError, Run, RunId, RunState};
use crate::store::{Batch, Budget, Frozen, Standing, StoreInfo, Undoing};

/// Jobs looked at in one call.
const LOOK: usize = 500;
/// What is said of jobs that can be undone.
pub const CAN: &str = "can be undone";

/// Whether what a run did can be undone at all by this action.
pub(super) fn check(desk: &StoreContext, run: &Run, action: Action) -> Result<(), PlanError> {
    let no = |why: String| Err(PlanError::Disabled(why));
    let (id, intent) = (&run.id, &run.intent);
    if !run.is_of(&desk.source, &desk.store_name()) {
        let here = format!("{} ({})", desk.source, desk.store_name());
        return no(format!("run {id} is for {} ({}), and this is {here}", intent.source, intent.store));
    }
    match run.state {
        RunState::Finished | RunState::Stopped => {}
        RunState::Running => return no(format!("run {id} has not ended: stop it, or resume it, and undo it then")),
        state => return no(format!("run {id} is {}: it did nothing that could be undone", state.word())),
    }
    match intent.action.undone_by() {
        None => return no(intent.action.why_final()),
        Some(way) if way != action => {
            let [done, way, action] = [intent.action, way, action].map(Action::with_article);
            return no(format!("{done} is undone by {way}, and not by {action}"));
        }
        Some(_) => {}
    }
    if kept_nothing(desk.store.info(), run) {
        let why = match intent.options.no_archive {
            true => "--no-archive".to_owned(),
            false => format!("it replayed more than {} jobs without --keep", grouped(KEPT_UNASKED)),
        };
        return no(format!("run {id} kept nothing of its rows ({why}): there is nothing to put back"));
    }
    if run.tally.done == 0 {
        return no(format!("run {id} did nothing that could be undone"));
    }
    Ok(())
}

/// Why the jobs of a replay cannot be taken back from where they went; `None` where nothing speaks against it, and for
/// other verbs.
pub fn unreachable(info: &StoreInfo, run: &Run) -> Option<String> {
    let (id, intent) = (&run.id, &run.intent);
    let went = intent.destination.as_ref().filter(|_| intent.action == Action::Replay && run.tally.done > 0)?;
    if let Destination::Command(_) = went {
        return Some(format!("run {id} handed its jobs to {went}: nobody can take them back from there"));
    }
    let here = info.destination.as_ref().filter(|here| *here != went)?;
    Some(format!(
        "run {id} replayed into {went}, and replayed jobs go to {here} now: nothing was touched. {}, and undo it then",
        went.setting()
    ))
}

/// Whether the undo of a run would have to put rows back of which that run kept nothing.
pub fn kept_nothing(info: &StoreInfo, run: &Run) -> bool {
    let intent = &run.intent;
    let Some(undo) = intent.action.undone_by().filter(|undo| undo.needs_kept()) else { return false };
    // What is taken out of the queue may stand in the table still.
    let needs = !undo.profile().reaches_queue || info.capabilities.undo_needs_copies;
    needs && !intent.options.keeps(intent.action, run.tally.planned)
}

/// A job of the undone run as the undo must find it: as that run has left it, or, where the row is brought back, as it
/// was before.
pub(super) fn as_left(action: Action, job: Frozen) -> Frozen {
    let found = action.undone_by().and_then(|undone| undone.profile().undo.finds);
    match found.filter(|_| !is_hopeless(action, Some(job.state))) {
        Some(state) => Frozen { state, native: None, ..job },
        None => job,
    }
}

/// Sorts out the jobs of a run by which `undone` is taken back: those that can be tried, and those that are not even tried,
/// by how they stood, by what earlier undos of the same run did, and by what later runs did to them.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn sort_out(
    ledger: &Ledger,
    (run, action): (&RunId, Action),
    undone: &RunId,
    named: &[(Standing, Vec<JobId>)],
) -> Result<(Vec<(Standing, Vec<JobId>)>, Vec<JobOutcome>), LedgerError> {
    let (mut left, mut never) = (Vec::new(), Vec::new());
    for (standing, ids) in named {
        let skipped = |id, reason: SkipReason| (id, JobResult::Skipped(reason));
        if is_hopeless(action, standing.state) {
            never.extend(ids.iter().map(|id| skipped(id.clone(), SkipReason::WasRetrying)));
            continue;
        }
        let before = ledger.history().undone_before(undone, run, ids).await?;
        let mut rest: Vec<JobId> = ids.iter().filter(|id| !before.contains(*id)).cloned().collect();
        never.extend(before.into_iter().map(|id| skipped(id, SkipReason::UndoneBefore)));
        let since = ledger.history().acted_since(undone, run, &rest).await?;
        rest.retain(|id| !since.contains(id));
        never.extend(since.into_iter().map(|id| skipped(id, SkipReason::Changed)));
        if !rest.is_empty() {
            left.push((standing.clone(), rest));
        }
    }
    Ok((left, never))
}

/// Whether a job stood so before a run that undoing the run by `action` is no way back to that.
fn is_hopeless(action: Action, state: Option<State>) -> bool {
    let loses = action.undone_by().is_some_and(|undone| undone.profile().undo.loses_retrying);
    loses && state == Some(State::Retrying)
}

/// The latest death among the jobs of a run. `None` where it tells nothing: what is undone stands as the run left it.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn died_by(ledger: &Ledger, run: &RunId, options: &Options) -> Result<Option<Timestamp>, LedgerError> {
    if options.undoes.is_some() { Ok(None) } else { ledger.cohorts().latest_death(run).await }
}

/// What the undo of a run has to go on for these jobs.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn undoing(
    ledger: &Ledger,
    action: Action,
    options: &Options,
    ids: &[JobId],
) -> Result<Option<Undoing>, LedgerError> {
    let Some(run) = options.undoes.clone() else { return Ok(None) };
    let kept = match action.needs_kept() {
        // That run may be recorded elsewhere than this one.
        true => {
            let undone = RunId(run.clone());
            ledger.of(&undone).await?.snapshots().get(&undone, ids).await?
        }
        false => Vec::new(),
    };
    Ok(Some(Undoing { run, kept }))
}

/// The same jobs in parts, each with what is written of its arguments.
async fn with_edits(
    edits: Option<&RunEdits>,
    named: Vec<(Standing, Vec<JobId>)>,
) -> Result<Vec<(Standing, Vec<JobId>, Arc<[ArgumentsEdit]>)>, LedgerError> {
    let mut parts = Vec::new();
    for (standing, ids) in named {
        let Some(edits) = edits else {
            parts.push((standing, ids, Arc::default()));
            continue;
        };
        for part in edits.parts(&ids).await? {
            let edits = edits.get(&part).await?;
            parts.push((standing.clone(), part, edits));
        }
    }
    Ok(parts)
}

/// What would become of each job of a planned undo as the rows stand now, handed to `each` a few at a time; returns the
/// counts by reason, [`CAN`] first. Nothing is touched.
///
/// # Errors
/// When source or record cannot be read, or the caller cancels.
pub async fn preview(
    desk: &StoreContext,
    ledger: &Ledger,
    run: &RunId,
    budget: &Budget,
    each: &mut (dyn FnMut(&[JobOutcome]) + Send),
) -> Result<Vec<(String, u64)>, PlanError> {
    let ledger = &ledger.of(run).await?;
    let intent = ledger.runs().get(run).await?.intent;
    let undone = intent.options.undoes.clone().map(RunId);
    let died_by = died_by(ledger, run, &intent.options).await?;
    let edits = RunEdits::of(ledger, run, (intent.action, &intent.options)).await?;
    let single_attempts = SingleAttempts::of(ledger, run).await?;
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut after = 0;
    loop {
        let jobs = ledger.cohorts().standings(run, after, LOOK).await?;
        let Some((last, ..)) = jobs.last() else { break };
        after = *last;
        let mut alike: HashMap<Standing, Vec<JobId>> = HashMap::new();
        for (_, id, standing) in jobs {
            alike.entry(standing).or_default().push(id);
        }
        let alike: Vec<(Standing, Vec<JobId>)> = alike.into_iter().collect();
        let (named, mut outcomes) = match &undone {
            Some(undone) => sort_out(ledger, (run, intent.action), undone, &alike).await?,
            None => (alike, Vec::new()),
        };
        for (standing, ids, edits) in with_edits(edits.as_ref(), named).await? {
            for (ids, options) in single_attempts.parts(&ids, &intent.options) {
                let undo = undoing(ledger, intent.action, &intent.options, &ids).await?;
                let (standing, edits) = (standing.clone(), Arc::clone(&edits));
                let batch =
                    Batch { standing, died_by, options, undo, edits, ..Batch::of(intent.action, ids, run.0.clone()) };
                outcomes.extend(desk.reconcile()?.dry_run(&batch, budget).await?);
            }
        }
        for (_, result) in &outcomes {
            *counts.entry(word(result).to_owned()).or_default() += 1;
        }
        each(&outcomes);
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|(a, n), (b, m)| (b == CAN).cmp(&(a == CAN)).then(m.cmp(n)).then(a.cmp(b)));
    Ok(counts)
}

/// What is said of a job that was looked at.
pub fn word(result: &JobResult) -> &str {
    match result {
        JobResult::Done => CAN,
        JobResult::Skipped(reason) => reason.word(),
        JobResult::Failed(reason) => reason.exact(),
    }
}
