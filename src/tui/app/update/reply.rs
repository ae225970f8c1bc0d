//! Answers: each goes into its pane; a fault leaves the last good data on screen.

use std::sync::Arc;
use std::time::Duration;

use super::colon_commands::{mark, note};
use super::{contrast, filter, input_line, page, polling, reopen, runs};
use crate::domain::histogram::{Count, Histogram};
use crate::domain::job::{JobId, State};
use crate::domain::time::Timestamp;
use crate::ledger::HistoryEntry;
use crate::store::{HistogramStep, SourceError, Token};
use crate::triage::live::FAILED_REST;
use crate::tui::StoreChoice;
use crate::tui::app::document::JobDocument;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{
    ArgumentBars, ConnectionState, CountedFor, Model, Overlay, Picker, Preview, ReopenReason, StateTotals,
};
use crate::tui::app::msg::{Opened, Reply};

/// How often totals by state are read when nothing else asks for them.
const TOTALS_EVERY: Duration = Duration::from_secs(30);

/// What only the store that was asked can answer.
const OF_STORE: [Slot; 13] = [
    Slot::Histogram,
    Slot::ArgumentCount,
    Slot::Totals,
    Slot::Page,
    Slot::Rows,
    Slot::Detail,
    Slot::Poll,
    Slot::Values,
    Slot::Contrast,
    Slot::Note,
    Slot::Marks,
    Slot::MarkComparison,
    Slot::Arguments,
];

/// When a count is tried again that stood before a lock.
const LOCKED_REST: Duration = Duration::from_secs(2);

/// Takes in an answer.
pub fn on_reply(model: &mut Model, reply: Reply, now: Timestamp) -> Vec<Effect> {
    match reply {
        Reply::Choices(Ok(choices)) => on_choices(model, choices, now),
        Reply::Choices(Err(e)) => polling::lost(model, &e, now),
        Reply::Opened(opened) => match *opened {
            Ok(opened) => on_opened(model, opened, now),
            Err(e) => polling::lost(model, &e, now),
        },
        Reply::Reopened(opened) => reopen::on_reopened(model, *opened, now),
        Reply::Estimate(result) => on_estimate(model, result.unwrap_or(None)),
        Reply::Histogram(step) => match *step {
            Ok(step) => on_histogram(model, step, now),
            Err(e) => on_failed_count(model, &e, now),
        },
        Reply::ArgumentCount(result) => filter::argument_bars::on_counted(model, *result, now),
        Reply::Totals(result) => on_totals(model, result, now),
        Reply::Page(result) => page::on_page(model, result, now),
        Reply::Rows(asked, Ok(found)) => page::on_rows(model, &asked, &found),
        Reply::Rows(_, Err(e)) => fault(model, &e, "looking at the rows on screen", now),
        Reply::Detail(result) => on_detail(model, result, now),
        Reply::Poll(result) => polling::on_poll(model, *result, now),
        Reply::Values(Ok(values)) => on_values(model, values),
        Reply::Values(Err(_)) => Vec::new(),
        Reply::Arguments(Ok(values)) => input_line::on_arguments(model, values),
        Reply::Arguments(Err(_)) => Vec::new(),
        Reply::Contrast(result) => contrast::on_compared(model, *result, now),
        Reply::EditableArguments(job, result) => runs::edit_arguments::on_arguments(model, job, *result, now),
        Reply::Planned(result) => runs::on_planned(model, *result, now),
        Reply::Executed(result) => runs::on_executed(model, *result, now),
        Reply::Dismissed(Ok(())) => Vec::new(),
        Reply::Dismissed(Err(sentence)) => {
            model.complain(sentence, now);
            Vec::new()
        }
        Reply::Runs(Ok(found)) => runs::on_runs(model, found, now),
        Reply::Note(result) => note::on_note(model, result, now),
        Reply::Marks(marks) => {
            mark::on_marks(model, marks.unwrap_or_default());
            Vec::new()
        }
        Reply::MarkSet(result) => {
            mark::on_set(model, result, now);
            Vec::new()
        }
        Reply::MarkComparison(result) => mark::on_compared(model, *result, now),
        Reply::RunsAgain(result) => runs::on_runs_again(model, result.ok(), now),
        Reply::Runs(Err(sentence)) => {
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

/// A count that failed: it is tried again when the next one is due, and what is shown stays, with its exactness.
fn on_failed_count(model: &mut Model, error: &SourceError, now: Timestamp) -> Vec<Effect> {
    // A lock is soon over, and its wait cost the database nothing.
    let is_locked = matches!(error, SourceError::Locked(_));
    if !is_locked && !model.histogram.is_paid_for() {
        // It was asked for once, and the database may be too ill to be counted for as long as it is open.
        model.histogram.counted_for = CountedFor::Poll;
    }
    let is_paid_for = model.histogram.is_paid_for();
    if let SourceError::Timeout(after) = error
        && is_paid_for
    {
        model.live.query_budget.spend(*after, now);
    }
    let rested = now.after(if is_locked { LOCKED_REST } else { FAILED_REST });
    let is_owed = is_paid_for && !is_locked;
    model.live.next_count = Some(if is_owed { rested.max(model.live.query_budget.paid_at()) } else { rested });
    // In doubt, where a poll had asked for it.
    let rows = model.histogram_rows();
    model.histogram.show_counts(rows);
    let mut effects = fault(model, error, "counting", now);
    effects.extend(first_totals(model, now));
    effects
}

/// Totals by state, or why there are none.
fn on_totals(model: &mut Model, result: Result<Vec<(State, Count)>, SourceError>, now: Timestamp) -> Vec<Effect> {
    let cost = model.live.totals.asked_at.take().map_or(Duration::ZERO, |since| since.age(now));
    model.live.totals.cost = Some(cost);
    if !std::mem::take(&mut model.live.totals.is_asked) || result.is_err() {
        model.live.query_budget.spend(cost, now);
    }
    model.live.totals.next = Some(now.after(TOTALS_EVERY).max(model.live.query_budget.again_at(cost, now)));
    match result {
        Ok(totals) => {
            model.live.totals.take(totals, now);
            if model.live.totals.is_changed {
                polling::outdate_totals(model, now);
            }
            source_answered(model, now)
        }
        Err(e) => {
            model.live.totals.is_changed = true;
            model.live.totals.doubt();
            fault(model, &e, "counting by state", now)
        }
    }
}

/// A fault that leaves the link as it is, or the loss of it.
pub fn fault(model: &mut Model, error: &SourceError, doing: &str, now: Timestamp) -> Vec<Effect> {
    match error {
        SourceError::Cancelled => Vec::new(),
        SourceError::Unreachable(_) => polling::lost(model, error, now),
        SourceError::Unfit { .. } => {
            model.complain(format!("{doing}: {error}"), now);
            reopen::ask(model, ReopenReason::Unfit, now)
        }
        other => {
            model.complain(format!("{doing}: {other}"), now);
            Vec::new()
        }
    }
}

/// The source answered: when it had been lost, everything is read again.
pub fn source_answered(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match answered(model, now) {
        // Where nothing was open yet there is no again: it may be the store that cannot be opened.
        ConnectionState::Down { .. } if model.source.opened.is_some() => {
            model.say("connected again", now);
            filter::refresh_unasked(model, now)
        }
        ConnectionState::Down { .. } | ConnectionState::Connecting | ConnectionState::Up => Vec::new(),
    }
}

/// The link is up; tells how it was. What was said of a lost one holds no longer.
fn answered(model: &mut Model, now: Timestamp) -> ConnectionState {
    model.live.heard_at = Some(now);
    let was = std::mem::replace(&mut model.live.link, ConnectionState::Up);
    if let ConnectionState::Down { .. } = was {
        model.screen.notice = None;
    }
    was
}

fn on_choices(model: &mut Model, choices: Vec<StoreChoice>, now: Timestamp) -> Vec<Effect> {
    // Beside an open store they come from what is known, and tell nothing of the link.
    let mut effects = if model.source.opened.is_some() { Vec::new() } else { source_answered(model, now) };
    let chosen = match (&model.source.wanted, choices.as_slice()) {
        (Some(name), _) => choices.iter().find(|c| c.name == *name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    match chosen {
        Some(choice) => effects.push(model.requests.ask(Slot::Open, Request::Open(choice.name.clone()))),
        // Whatever was opened meanwhile is what the keys are meant for.
        None if !matches!(model.overlay, Overlay::None | Overlay::Picker(_)) && model.source.opened.is_some() => {
            model.source.wanted = model.source.opened.as_ref().map(|opened| opened.name.clone());
        }
        None => {
            let open = model.source.opened.as_ref().map(|o| o.name.as_str());
            let at = choices.iter().position(|c| Some(c.name.as_str()) == open).unwrap_or(0);
            model.overlay = Overlay::Picker(Picker { choices, at });
        }
    }
    effects
}

/// A store is open: another one, or the same once more.
pub fn on_opened(model: &mut Model, opened: Opened, now: Timestamp) -> Vec<Effect> {
    let again = model.source.opened.as_ref().is_some_and(|o| o.name == opened.name);
    answered(model, now);
    model.source.wanted = Some(opened.name.clone());
    let mut effects = Vec::new();
    if !again && model.source.opened.is_some() {
        // What was asked of the other store is no answer of this one, whose jobs may have the same keys.
        effects.extend(OF_STORE.map(|slot| model.requests.cancel(slot)));
        model.detail.close();
        model.live.restart();
    }
    if !again {
        let facet = opened.info.capabilities.facets.first().copied().unwrap_or(model.histogram.facet);
        model.histogram = crate::tui::app::model::HistogramPane::new(facet);
        model.live.totals = StateTotals::default();
        model.preview = Preview::default();
        model.list.clear();
        if let Some(key) = opened.info.capabilities.sorts.first() {
            model.list.sort.key = *key;
        }
    }
    if !again && !opened.info.warnings.is_empty() {
        model.complain(opened.info.warnings.join("; "), now);
    }
    model.source.opened = Some(opened);
    effects.extend(if again { filter::refresh_unasked(model, now) } else { filter::begin(model, now) });
    effects
}

fn on_estimate(model: &mut Model, estimate: Option<Histogram>) -> Vec<Effect> {
    let facet = model.histogram.facet;
    if let Some(estimate) = estimate.filter(|e| e.facet == facet && !e.bars.is_empty()) {
        let rows = model.histogram_rows();
        model.histogram.show_estimate(estimate, rows);
    }
    vec![filter::count_from(model, None)]
}

fn on_histogram(model: &mut Model, step: HistogramStep, now: Timestamp) -> Vec<Effect> {
    if step.histogram.facet != model.histogram.facet {
        return Vec::new();
    }
    // Before a count of our own takes its place.
    if model.histogram.is_paid_for() {
        model.live.query_budget.spend(step.cost, now);
    }
    let mut effects = source_answered(model, now);
    effects.extend(first_totals(model, now));
    let rows = model.histogram_rows();
    let token = take_count(model, &step, rows);
    if model.histogram.counted_for == CountedFor::Poll
        && !model.live.query_budget.is_cheap(model.histogram.full_count.spent())
    {
        // It was cheaper before. What it is to settle is in doubt until it is complete.
        model.histogram.counted_for = CountedFor::Background;
        model.histogram.show_counts(rows);
    }
    let in_background = model.histogram.counted_for == CountedFor::Background;
    if step.resume.is_some() {
        match in_background {
            true => model.live.next_count = Some(model.live.query_budget.paid_at()),
            false => effects.push(filter::count_from(model, step.resume)),
        }
        return effects;
    }
    let was_asked = !model.histogram.is_paid_for();
    model.histogram.counted_for = CountedFor::Operator;
    let polled = std::mem::replace(&mut model.live.poll_token, token);
    let is_same = |polled: &Token| step.token.as_ref().is_some_and(|counted| counted.is_same_moment(polled));
    if polled.is_some_and(|polled| model.live.poll_token.as_ref() != Some(&polled) && !is_same(&polled)) {
        // Something may have changed between the two, which no poll tells.
        polling::outdate(model, now);
    }
    // A poll that is under way goes on from an older token.
    let is_polling = model.requests.is_open(Slot::Poll);
    effects.push(model.requests.cancel(Slot::Poll));
    if was_asked || is_polling || model.live.poll.given_up().is_some() {
        model.live.next_poll = Some(now);
    }
    model.live.put_off_poll(now);
    let is_uncounted = |bars: &ArgumentBars| bars.counts.is_none() || was_asked;
    effects.extend(match model.histogram.argument.as_ref().is_some_and(is_uncounted) {
        true => filter::argument_bars::count(model, now),
        false => filter::argument_bars::count_again(model, now),
    });
    effects.extend(mark::ask_again(model, was_asked, now));
    effects
}

/// Takes in a step of a count; what a recount finds that no poll has seen is news of it. Returns what polls go on from.
fn take_count(model: &mut Model, step: &HistogramStep, rows: usize) -> Option<Token> {
    let known = |model: &Model| {
        let total = model.histogram.shown.as_ref().map(|shown| shown.total.n);
        model.histogram.counts.as_ref().map(|counts| (counts.deaths(), total))
    };
    let before = known(model);
    let token = model.histogram.take_count(step, model.live.poll_token.as_ref(), rows);
    if let (Some((deaths, total)), Some((seen, now))) = (before, known(model)) {
        polling::arrive(model, seen.saturating_sub(deaths));
        if total != now {
            model.histogram.argument.iter_mut().for_each(ArgumentBars::outdate);
        }
        if total != now && model.histogram.is_paid_for() {
            model.list.freshness.behind = true;
            model.list.freshness.outdate();
        }
    }
    token
}

/// Asks for the totals where a refresh has left them to be asked for behind the counts.
fn first_totals(model: &mut Model, now: Timestamp) -> Option<Effect> {
    let wanted = model.live.totals.next.is_none()
        && model.live.link == ConnectionState::Up
        && !model.requests.is_open(Slot::Totals);
    wanted.then(|| polling::totals(model, now))
}

fn on_detail(model: &mut Model, result: Result<Option<Arc<JobDocument>>, SourceError>, now: Timestamp) -> Vec<Effect> {
    if model.requests.detail.take() != model.detail.job {
        return Vec::new();
    }
    match result {
        Ok(Some(document)) => {
            model.detail.absent = None;
            model.detail.document = Some(document);
            clamp_document_cursor(model);
            Vec::new()
        }
        Ok(None) => {
            model.detail.absent = Some("this job is no longer there: replayed, discarded or pruned meanwhile".into());
            Vec::new()
        }
        Err(e) => {
            // What is shown stays; the footer says that it could not be read again.
            if model.detail.document.is_none() {
                model.detail.absent = Some(e.to_string());
            }
            fault(model, &e, "opening the job", now)
        }
    }
}

/// Keeps the cursor of the open job on screen.
pub fn clamp_document_cursor(model: &mut Model) {
    let (width, height) = model.detail_size();
    let line = model.detail.view().line;
    model.detail.go(line, width, height);
}

/// What the ledger knows of the open job has come behind it.
pub fn on_past(model: &mut Model, job: &JobId, history: Vec<HistoryEntry>, replayed: u64) -> Vec<Effect> {
    let document = model.detail.document.as_mut().filter(|document| document.detail.row.id == *job);
    match document.and_then(Arc::get_mut) {
        Some(document) => document.remember(history, replayed),
        // It has not come yet, or somebody draws from it: it is asked for again, as a whole.
        None if model.detail.job.as_ref() == Some(job) => {
            model.requests.detail = Some(job.clone());
            return vec![model.requests.ask(Slot::Detail, Request::Detail(job.clone()))];
        }
        None => return Vec::new(),
    }
    clamp_document_cursor(model);
    Vec::new()
}

fn on_values(model: &mut Model, values: Histogram) -> Vec<Effect> {
    if let Overlay::Line(line) = &mut model.overlay {
        line.values = Some(values);
    }
    super::input_line::complete(model);
    Vec::new()
}
