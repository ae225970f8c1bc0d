//! The watch: polls, recounts, and getting the link back. Nothing is asked before it is due, nothing twice at once.

use std::time::Duration;

use super::reply::{fault, source_answered};
use super::runs::count_prefix;
use super::{filter, preview, reopen};
use crate::domain::job::State;
use crate::domain::time::Timestamp;
use crate::store::{Changes, SourceError};
use crate::triage::live::FAILED_REST;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{ArgumentBars, ConnectionState, CountedFor, Model, Overlay, ReopenReason};

/// Does what is due.
pub fn tick(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let mut effects = count_prefix::on_tick(model, now);
    if model.screen.notice.as_ref().is_some_and(|n| n.until <= now) {
        model.screen.notice = None;
    }
    if let Overlay::Runs(page) = &model.overlay
        && is_due(page.next, now)
        && !model.requests.is_open(Slot::Runs)
    {
        effects.push(model.requests.ask(Slot::Runs, Request::RunsAgain { followed: None }));
    }
    if is_due(outcomes_due(model), now) {
        let followed = model.runner.followed.as_mut().map(|followed| {
            followed.ask(now);
            followed.run.clone()
        });
        effects.push(model.requests.ask(Slot::Runs, Request::RunsAgain { followed }));
    }
    match model.live.link {
        ConnectionState::Down { retry_at, .. } if retry_at <= now => effects.extend(reach(model)),
        ConnectionState::Up => {
            if is_due(poll_due(model), now) {
                effects.push(poll(model));
            }
            if is_due(totals_due(model), now) {
                effects.push(totals(model, now));
            }
            if is_due(count_due(model), now) {
                effects.extend(match model.histogram.counted_for {
                    CountedFor::Background => filter::reconcile(model),
                    // What failed is tried again for whom it was.
                    counted_for => filter::start_count(model, counted_for, now),
                });
            }
        }
        _ => {}
    }
    effects
}

/// When what became of the jobs of the last replay is asked for again.
fn outcomes_due(model: &Model) -> Option<Timestamp> {
    // Who reads a receipt waits for that, also where the watch is paused.
    let is_wanted = !model.live.paused || matches!(model.overlay, Overlay::Receipt(..));
    let can_ask = model.live.link == ConnectionState::Up && !model.requests.is_open(Slot::Runs);
    model.runner.followed.as_ref()?.due.filter(|_| is_wanted && can_ask)
}

/// Whether a count is under way, or waits for its time to come.
fn is_counting(model: &Model) -> bool {
    is_count_begun(model) || model.live.next_count.is_some()
}

fn is_count_begun(model: &Model) -> bool {
    model.requests.is_open(Slot::Histogram) || model.histogram.full_count.resume().is_some()
}

fn is_due(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| at <= now)
}

/// Tries to reach the source: by a poll where a store was open, from the start otherwise.
fn reach(model: &mut Model) -> Vec<Effect> {
    if [Slot::Open, Slot::Poll].into_iter().any(|slot| model.requests.is_open(slot)) {
        return Vec::new();
    }
    match &model.source.opened {
        Some(opened) => {
            let name = opened.name.clone();
            vec![model.requests.ask(Slot::Open, Request::Open(name))]
        }
        None => vec![model.requests.ask(Slot::Open, Request::Choices)],
    }
}

/// When the totals are to be read again. They follow a count that a poll has asked for, so that no change lies between them and
/// what the next poll compares with.
fn totals_due(model: &Model) -> Option<Timestamp> {
    let is_asked = [Slot::Totals, Slot::Histogram].map(|slot| model.requests.is_open(slot));
    let waits = is_asked[0] || (is_asked[1] && model.histogram.counted_for == CountedFor::Poll);
    model.live.totals.due().filter(|_| !waits && !model.live.paused)
}

/// Asks for the totals.
pub fn totals(model: &mut Model, now: Timestamp) -> Effect {
    model.live.totals.asked_at = Some(now);
    model.live.totals.is_changed = false;
    model.requests.ask(Slot::Totals, Request::Totals(model.live.totals.is_asked))
}

/// When the next poll is due.
fn poll_due(model: &Model) -> Option<Timestamp> {
    let waits = model.requests.is_open(Slot::Poll) || model.histogram.counts.is_none();
    model.live.next_poll.filter(|_| !waits && !model.live.paused)
}

/// When a count is due that failed, or a step of one in the background, which rests while the watch is paused.
fn count_due(model: &Model) -> Option<Timestamp> {
    let rests = model.histogram.counted_for == CountedFor::Background && model.live.paused;
    model.live.next_count.filter(|_| !rests && !model.requests.is_open(Slot::Histogram))
}

fn poll(model: &mut Model) -> Effect {
    let since = model.live.poll_token.clone();
    let (facet, filter) = (model.histogram.facet, model.filter.resolved.clone());
    model.requests.ask(Slot::Poll, Request::Poll { since, facet, filter })
}

/// Takes in a poll.
pub fn on_poll(model: &mut Model, result: Result<Changes, SourceError>, now: Timestamp) -> Vec<Effect> {
    let changes = match result {
        Ok(changes) => changes,
        Err(e) => {
            let cost = if let SourceError::Timeout(after) = e { after } else { Duration::ZERO };
            model.live.query_budget.spend(cost, now);
            model.live.next_poll = Some(now.after(model.live.poll.give_up(cost)));
            if e.took_too_long() && !is_counting(model) {
                // What one poll would have to read grows with the time: polls begin again behind a count.
                model.histogram.counted_for = CountedFor::Background;
                model.live.next_count = Some(now.after(FAILED_REST).max(model.live.query_budget.paid_at()));
            }
            return fault(model, &e, "looking for changes", now);
        }
    };
    let mut effects = source_answered(model, now);
    if model.live.poll.given_up().is_some() && !is_count_begun(model) {
        // Polls get through again: no count has to take their place.
        model.live.next_count = None;
    }
    let is_paid = model.live.query_budget.is_paid(now);
    model.live.query_budget.spend(changes.cost, now);
    model.live.skew = changes.server_time.0.saturating_sub(now.0);
    model.live.next_poll = Some(now.after(model.live.poll_answered(changes.cost)));
    effects.extend(take_poll(model, &changes, is_paid));
    effects.extend(changes.changed.then(|| preview::follow(model, now)).flatten());
    if changes.changed || changes.unsettled {
        outdate(model, now);
        effects.extend(filter::argument_bars::count_again(model, now));
        model.runner.followed.iter_mut().for_each(|followed| followed.hurry(now));
    }
    model.live.poll_token = Some(changes.token);
    if changes.needs_reopen {
        effects.extend(reopen::ask(model, ReopenReason::Turned, now));
    }
    effects
}

/// Moves the counts by what a poll has found, and has everything counted again where that is cheap: then every number is
/// exact with each poll. Elsewhere what no poll can see makes estimates of them, until the next recount.
fn take_poll(model: &mut Model, changes: &Changes, is_paid: bool) -> Vec<Effect> {
    let (rows, is_counting) = (model.histogram_rows(), is_counting(model));
    let cost = model.histogram.full_count.last_cost();
    let Some(counts) = &mut model.histogram.counts else { return Vec::new() };
    let known = counts.deaths();
    let came = counts.take_poll(changes);
    let died = counts.deaths().saturating_sub(known);
    let is_due = counts.is_full_count_due(model.live.query_budget.takes(cost));
    arrive(model, died);
    model.list.freshness.behind |= came > 0;
    if changes.changed {
        model.list.freshness.outdate();
    }
    let may_differ = changes.changed || changes.unsettled || changes.uncounted;
    if may_differ && !is_counting && model.live.query_budget.is_cheap(cost) {
        // Shown is what it finds, or the estimates if it fails.
        return filter::count_again(model, CountedFor::Poll);
    }
    if changes.changed || changes.uncounted {
        model.histogram.show_counts(rows);
    }
    if is_paid && !is_counting && is_due { filter::reconcile(model) } else { Vec::new() }
}

/// Jobs were seen to die.
pub fn arrive(model: &mut Model, died: u64) {
    // Rows that come among the ignored, say, died before.
    if model.filter.resolved.reaches(State::Dead) {
        // Of the bar whose jobs are looked at, nobody knows how many of them are.
        let counts = model.preview.shown.is_none();
        model.list.freshness.arrived = model.list.freshness.arrived.saturating_add(if counts { died } else { 0 });
    }
}

/// Something may have changed that the counts do not know of.
pub fn outdate(model: &mut Model, now: Timestamp) {
    outdate_totals(model, now);
    model.histogram.argument.iter_mut().for_each(ArgumentBars::outdate);
}

/// The totals by state may be others now: they are read again at once where that is cheap, and are estimates until they are
/// elsewhere.
pub fn outdate_totals(model: &mut Model, now: Timestamp) {
    model.live.totals.is_changed = true;
    match model.live.totals.cost {
        Some(cost) if model.live.query_budget.is_cheap(cost) => model.live.totals.next = Some(now),
        _ => model.live.totals.doubt(),
    }
}

/// The link is lost: what is shown stays, marked stale, and it is tried again after a rest that doubles.
pub fn lost(model: &mut Model, error: &SourceError, now: Timestamp) -> Vec<Effect> {
    // The instant's own digits spread the tries of many consoles.
    let jitter = (now.0.rem_euclid(1_000_000)) as f64 / 1e6;
    let rest = model.live.poll.failed(jitter);
    let attempts = model.live.poll.failures();
    let reason = crate::domain::text::Clean::line(&error.to_string()).to_string();
    let loss = error.into();
    model.live.link = ConnectionState::Down { loss, reason, retry_at: now.after(rest), attempts };
    if let Overlay::Picker(_) = model.overlay {
        model.overlay = Overlay::None;
    }
    // Rows that were being read will be asked for again once the source is back.
    [Slot::Page, Slot::Histogram, Slot::ArgumentCount, Slot::Poll, Slot::Totals, Slot::Rows, Slot::MarkComparison]
        .into_iter()
        .map(|slot| model.requests.cancel(slot))
        .collect()
}

/// When the model wants to be woken: the earliest of what is due, `patience` among it, and each second while a countdown
/// is shown.
pub fn wake(model: &Model, patience: Option<Timestamp>, now: Timestamp) -> Option<Effect> {
    let count = model.screen.count.as_ref().map(|count| count.due);
    let mut due = vec![model.screen.notice.as_ref().map(|n| n.until), count, patience, outcomes_due(model)];
    match &model.live.link {
        ConnectionState::Down { retry_at, .. } => {
            due.push(Some(
                (*retry_at).min(now.after(Duration::from_secs(1))).max(now.after(Duration::from_millis(50))),
            ));
        }
        ConnectionState::Up => {
            due.push(model.preview.due);
            if !model.live.paused {
                // A poll that does not come back must not pass for a quiet night.
                let late = model.live.late_at().filter(|_| model.requests.is_open(Slot::Poll));
                due.push(late.map(|late| if late > now { late } else { now.after(Duration::from_secs(1)) }));
            }
            due.extend([poll_due(model), totals_due(model), count_due(model)]);
        }
        ConnectionState::Connecting => {}
    }
    due.into_iter().flatten().min().map(|at| Effect::WakeAt(at.max(now)))
}
