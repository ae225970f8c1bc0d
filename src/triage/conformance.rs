//! The story that a store has to live up to, told on the dead jobs that are there: listed, counted, found, and acted on by
//! each verb. Whoever asks opens stores of which nothing lasts.

mod repair;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::domain::action::{Action, JobOutcome, JobResult, RowEffect, SkipReason};
use crate::domain::filter::Filter;
use crate::domain::histogram::{Exactness, dead_jobs, grouped};
use crate::domain::job::{JobDetail, JobId, State};
use crate::domain::json::Document;
use crate::domain::outcome::ReplayOutcome;
use crate::domain::text::{Clean, Untrusted};
use crate::store::{
    Availability, Batch, Budget, Cursor, Entry, HistogramQuery, Journal, JournalEntry, PageQuery, Result, ScanMode,
    Sort, SourceError, Store, StoreExt, Undoing,
};
use crate::triage::lock_retry;

/// Jobs that are listed at the most, and at a time.
const LISTED: usize = 500;
const PAGE: usize = 100;
/// Jobs that each verb is tried on.
const TRIED: usize = 3;
/// Steps that a count may take.
const STEPS: usize = 200;
/// The run in whose name verbs are tried.
const RUN: &str = "01900000-0000-7000-8000-000000000000";

/// One part of the story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// What it is about: `list`, `verbs.replay`.
    pub about: String,
    /// What was found right, or wrong.
    pub verdict: std::result::Result<String, String>,
}

type CheckResult = std::result::Result<String, String>;

/// Tells the whole story. `open` opens a store of which nothing lasts, each time a new one.
///
/// # Errors
/// When the database cannot be reached; what is wrong with the store is a verdict.
pub async fn story(open: impl AsyncFn() -> Result<Arc<dyn Store>>, budget: &Budget) -> Result<Vec<Chapter>> {
    let store = open().await?;
    let dead = match list(&*store, budget).await {
        Err(SourceError::Unreachable(reason)) => return Err(SourceError::Unreachable(reason)),
        Err(error) => return Ok(vec![Chapter { about: "list".to_owned(), verdict: Err(error.to_string()) }]),
        Ok(dead) => dead,
    };
    let mut told = vec![Chapter { about: "list".to_owned(), verdict: listed(&*store, &dead, budget).await }];
    let mut tell = |about: String, verdict| told.push(Chapter { about, verdict });
    tell("counts".to_owned(), counts(&*store, dead.len(), budget).await);
    if dead.is_empty() {
        tell("verbs".to_owned(), Err("there is no dead job to try them on".to_owned()));
        return Ok(told);
    }
    tell("filters".to_owned(), filters(&*store, &dead, budget).await);
    tell("details".to_owned(), details(&*store, &dead, budget).await);
    let actions = store.info().capabilities.actions.clone();
    drop(store);
    for (action, availability) in actions {
        let profile = action.profile();
        // What moves rows makes a table, which not every database can roll back; what is for no dead job, or is had by undoing
        // alone, undoes what is tried.
        let is_tried =
            profile.rows != RowEffect::Moved && profile.undoes.is_none() && profile.takes.contains(&State::Dead);
        if !is_tried {
            continue;
        }
        let verdict = match availability {
            Availability::Disabled(why) => Ok(format!("disabled: {why}")),
            Availability::Ready { .. } if action.edits() => repair::repair(&*open().await?, &dead, budget).await,
            Availability::Ready { .. } => verb(&*open().await?, action, &dead, budget).await,
        };
        tell(format!("verbs.{action}"), verdict);
    }
    Ok(told)
}

async fn list(store: &dyn Store, budget: &Budget) -> Result<Vec<Entry>> {
    pages(store, &Filter::all(), Cursor::Start, budget).await
}

async fn pages(store: &dyn Store, filter: &Filter, from: Cursor, budget: &Budget) -> Result<Vec<Entry>> {
    let (mut all, mut cursor) = (Vec::new(), Some(from));
    while let Some(at) = cursor.filter(|_| all.len() < LISTED) {
        let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: at, limit: PAGE };
        let page = store.scan(query, ScanMode::List, budget).await?;
        all.extend(page.entries);
        cursor = page.next;
    }
    Ok(all)
}

/// No job twice, none that is not dead, and the same ones from the other end.
async fn listed(store: &dyn Store, dead: &[Entry], budget: &Budget) -> CheckResult {
    let ids: BTreeSet<&JobId> = dead.iter().map(|e| &e.row.id).collect();
    if ids.len() < dead.len() {
        return Err(format!(
            "listed twice: {}; does `join` find more than one row for some?",
            jobs(dead.len() - ids.len())
        ));
    }
    if let Some(odd) = dead.iter().find(|e| e.row.state != State::Dead) {
        let (job, word) = (named(&odd.row.id), odd.row.native_state.line());
        return Err(format!(
            "{job} is listed as dead and its state is `{word}`, which `states` has as {}",
            odd.row.state
        ));
    }
    if dead.len() < LISTED {
        let back = pages(store, &Filter::all(), Cursor::End, budget).await.map_err(|e| e.to_string())?;
        let back: BTreeSet<&JobId> = back.iter().map(|e| &e.row.id).collect();
        if back != ids {
            return Err("from the end, other jobs are listed than from the beginning: is `order.time` NULL for some?"
                .to_owned());
        }
    }
    let told = format!("{}, each once, from both ends", dead_jobs(dead.len() as u64));
    Ok(match dead.iter().filter(|e| e.row.at.is_none()).count() {
        0 => told,
        n => format!("{told}; {n} without a time of death (`fields.at` is NULL), which no filter by time finds"),
    })
}

/// Every facet counts as many.
async fn counts(store: &dyn Store, listed: usize, budget: &Budget) -> CheckResult {
    let mut totals = BTreeMap::new();
    for facet in store.info().capabilities.facets.clone() {
        let mut resume = None;
        for _ in 0..STEPS {
            let query = HistogramQuery::exact(facet, Filter::all(), resume);
            let step = store.count(query, budget).await.map_err(|e| format!("by {}: {e}", facet.word()))?;
            resume = step.resume;
            if resume.is_none() {
                if step.histogram.total.exactness == Exactness::Exact {
                    totals.insert(facet.word(), step.histogram.total.n);
                }
                break;
            }
        }
    }
    let whole = (listed < LISTED).then_some(listed as u64);
    let expected = whole.or_else(|| totals.values().next().copied());
    match totals.iter().find(|(_, n)| Some(**n) != expected) {
        Some((facet, n)) => {
            let expected = expected.map_or("others".to_owned(), grouped);
            Err(format!(
                "by {facet} there are {}, and {expected} otherwise: do the words and the conditions of `states` agree?",
                grouped(*n)
            ))
        }
        None => Ok(format!(
            "by {}: {} each",
            totals.keys().copied().collect::<Vec<_>>().join(", "),
            grouped(expected.unwrap_or(0))
        )),
    }
}

/// A job is found by its id and by its error class.
async fn filters(store: &dyn Store, dead: &[Entry], budget: &Budget) -> CheckResult {
    let Some(first) = dead.first() else { return Ok(String::new()) };
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut tried = vec![format!("id:{}", quoted(first.row.id.as_str()))];
    for (key, value) in
        [("error", &first.row.error_class), ("class", &first.row.job_class), ("queue", &first.row.queue)]
    {
        let value = value.as_ref().map(|v| v.exact()).filter(|v| !v.contains(['*', '\n']));
        tried.extend(value.map(|v| format!("{key}:{}", quoted(v))));
    }
    for text in &tried {
        let filter = Filter::parse(text).map_err(|e| format!("{text}: {}", e.problem()))?;
        let found = pages(store, &filter, Cursor::Start, budget).await.map_err(|e| format!("{text}: {e}"))?;
        if !found.iter().any(|e| e.row.id == first.row.id) {
            return Err(format!("{} is not found by {text}, which is what it shows", named(&first.row.id)));
        }
    }
    Ok(format!("a job is found by {}", tried.join(", ")))
}

/// An open job shows what the list shows.
async fn details(store: &dyn Store, dead: &[Entry], budget: &Budget) -> CheckResult {
    let mut unreadable = 0;
    for entry in dead.iter().take(TRIED) {
        let id = &entry.row.id;
        let detail = store.detail(id, budget).await.map_err(|e| e.to_string())?;
        let detail =
            detail.ok_or_else(|| format!("{} is listed and cannot be opened: does `join` lose it?", named(id)))?;
        if detail.row.error_class != entry.row.error_class {
            return Err(format!("{} has another error class when it is open than in the list", named(id)));
        }
        unreadable += usize::from(detail.arguments.as_ref().is_some_and(|a| Document::parse(a.exact()).is_err()));
    }
    Ok(match unreadable {
        0 => "open as they are listed".to_owned(),
        n => format!("open as they are listed; the arguments of {n} are no JSON and are shown as text"),
    })
}

/// How often jobs are tried that are locked, and how long it waits in between.
const LOCK_TRIES: u32 = 20;
const LOCK_REST: Duration = Duration::from_millis(100);

/// Keeps rows in memory.
#[derive(Default)]
struct Shelf(Mutex<Vec<(JobId, String)>>);

impl Journal for Shelf {
    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, Result<()>> {
        self.0.lock().unwrap_or_else(|p| p.into_inner()).extend(entry.rows);
        Box::pin(async { Ok(()) })
    }
}

/// Acts on some jobs: each once, and not again; and undoes it, where that can be had.
async fn verb(store: &dyn Store, action: Action, dead: &[Entry], budget: &Budget) -> CheckResult {
    let all: Vec<JobId> = dead.iter().map(|e| e.row.id.clone()).collect();
    let unfit = store.plan().unfit(action, &all, false, budget).await.map_err(|e| e.to_string())?;
    let ids: Vec<JobId> =
        all.into_iter().filter(|id| !unfit.iter().any(|(other, _)| other == id)).take(TRIED).collect();
    if ids.is_empty() {
        return Ok(format!(
            "cannot be done for any of these jobs: {}",
            unfit.first().map_or("", |(_, why)| &why.because)
        ));
    }
    let before = rows(store, &ids, budget).await?;
    let shelf = Arc::new(Shelf::default());
    let journal = Some(Arc::clone(&shelf) as Arc<dyn Journal>);
    let first = first_act(store, &Batch { journal, ..Batch::of(action, ids.clone(), RUN) }, budget).await?;
    if let Some((id, result)) = first.iter().find(|(_, result)| *result != JobResult::Done) {
        return Err(format!("{}: {}", named(id), outcome_word(result)));
    }
    let left = rows(store, &ids, budget).await?;
    let is_purge = action.profile().rows == RowEffect::DeletedForGood;
    if let Some(id) = left.iter().find(|(_, d)| !is_purge && d.row.state == State::Dead).map(|(id, _)| id) {
        return Err(format!("{} is dead as before", named(id)));
    }
    let again = act(store, action, &ids, None, budget).await?;
    if let Some((id, _)) = again.iter().find(|(_, result)| *result == JobResult::Done) {
        return Err(format!("{} was acted on twice: `when` still holds after the first time", named(id)));
    }
    let mut told = format!("{} acted on once, and not again", jobs(ids.len()));
    if action.profile().reaches_queue {
        let fates = store.outcomes(&ids, &[], budget).await.map_err(|e| format!("outcome: {e}"))?;
        if let Some((id, _)) = fates.iter().find(|(_, fate)| matches!(fate.outcome, ReplayOutcome::DiedAgain(_))) {
            return Err(format!("outcome: {} was replayed and is told to be dead", named(id)));
        }
        let unknown = fates.iter().filter(|(_, fate)| fate.outcome == ReplayOutcome::Unknown).count();
        told += if unknown > 0 { "; nothing tells where they have got to" } else { "; `outcome` knows where they are" };
    }
    let kept = std::mem::take(&mut *shelf.0.lock().unwrap_or_else(|p| p.into_inner()));
    let Some(way) = action.undone_by().filter(|w| matches!(store.info().availability(*w), Availability::Ready { .. }))
    else {
        return Ok(told);
    };
    let back = act(store, way, &ids, Some(kept), budget).await?;
    if let Some((id, result)) = back.iter().find(|(_, result)| *result != JobResult::Done) {
        return Err(format!("undo of {}: {}", named(id), outcome_word(result)));
    }
    let after = rows(store, &ids, budget).await?;
    let is_same = |id: &JobId| {
        // Where nothing is kept, the undo writes too what the verb wrote beside the state, such as the time of the last change.
        let wrote = if way.needs_kept() { Vec::new() } else { changed(before.get(id), left.get(id)) };
        let differs = changed(before.get(id), after.get(id));
        after.contains_key(id) && differs.iter().all(|name| name != "state" && wrote.contains(name))
    };
    match ids.iter().find(|id| !is_same(id)) {
        Some(id) => Err(format!("undo of {}: {}", named(id), difference(before.get(id), after.get(id)))),
        None => Ok(told + "; undone, they are as they were"),
    }
}

/// The first act on rows, which the connection of the verb before may hold for a moment: a server notices that it has gone when
/// it gets to it.
async fn first_act(store: &dyn Store, batch: &Batch, budget: &Budget) -> std::result::Result<Vec<JobOutcome>, String> {
    let mut tries = 1;
    loop {
        let told = lock_retry::apply(store, batch.clone(), budget).await;
        let told = told.into_outcomes().map_err(|e| e.to_string())?;
        let is_locked = |(_, result): &JobOutcome| *result == JobResult::Skipped(SkipReason::Locked);
        if !told.iter().all(is_locked) || tries == LOCK_TRIES {
            return Ok(told);
        }
        tries += 1;
        tokio::time::sleep(LOCK_REST).await;
    }
}

async fn act(
    store: &dyn Store,
    action: Action,
    ids: &[JobId],
    kept: Option<Vec<(JobId, String)>>,
    budget: &Budget,
) -> std::result::Result<Vec<JobOutcome>, String> {
    let batch =
        Batch { undo: kept.map(|kept| Undoing { run: RUN.to_owned(), kept }), ..Batch::of(action, ids.to_vec(), RUN) };
    lock_retry::apply(store, batch, budget).await.into_outcomes().map_err(|e| e.to_string())
}

async fn rows(
    store: &dyn Store,
    ids: &[JobId],
    budget: &Budget,
) -> std::result::Result<BTreeMap<JobId, JobDetail>, String> {
    let details = store.details(ids, budget).await.map_err(|e| e.to_string())?;
    Ok(details.into_iter().map(|detail| (detail.row.id.clone(), detail)).collect())
}

/// Everything that is shown of a job, by name.
fn seen(detail: &JobDetail) -> Vec<(String, Option<String>)> {
    let text = |t: &Option<Untrusted>| t.as_ref().map(|t| t.exact().to_owned());
    let mut seen: Vec<(String, Option<String>)> = detail.metadata.iter().map(|(n, v)| (n.clone(), text(v))).collect();
    seen.push(("state".to_owned(), Some(detail.row.native_state.exact().to_owned())));
    seen.push(("message".to_owned(), text(&detail.message)));
    seen.push(("arguments".to_owned(), text(&detail.arguments)));
    seen.push(("backtrace".to_owned(), text(&detail.backtrace)));
    seen
}

/// The names of what differs.
fn changed(before: Option<&JobDetail>, after: Option<&JobDetail>) -> Vec<String> {
    let (Some(before), Some(after)) = (before.map(seen), after.map(seen)) else { return Vec::new() };
    before.into_iter().zip(after).filter(|(a, b)| a != b).map(|((name, _), _)| name).collect()
}

fn difference(before: Option<&JobDetail>, after: Option<&JobDetail>) -> String {
    let (Some(before), Some(after)) = (before.map(seen), after.map(seen)) else {
        return "its row is not there again".to_owned();
    };
    let differs = before.iter().zip(&after).find(|(a, b)| a != b);
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".to_owned());
    differs.map_or("it differs".to_owned(), |((name, was), (_, is))| {
        format!("{name} was {} and is {}", shown(was), shown(is))
    })
}

fn outcome_word(result: &JobResult) -> String {
    match result {
        JobResult::Done => "done".to_owned(),
        JobResult::Skipped(SkipReason::Locked) => "locked by another session, or `lock` did not give it".to_owned(),
        JobResult::Skipped(reason) => reason.word().to_owned(),
        JobResult::Failed(why) => why.line().to_string(),
    }
}

fn named(id: &JobId) -> String {
    format!("job {}", Clean::line(id.as_str()))
}

fn jobs(n: usize) -> String {
    if n == 1 { "1 job".to_owned() } else { format!("{n} jobs") }
}
