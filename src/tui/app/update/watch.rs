//! The watch: looks, recounts, and getting the link back. Nothing is asked before it is due, nothing twice at once.

use std::time::Duration;

use super::filter;
use super::reply::{fault, heard};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::{Changes, StoreError};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{Link, Model, Overlay};

/// Share of database time that looks may cost: a look that took 20 ms is followed by a second of rest.
const DUTY: f64 = 0.02;
/// Recounts rest at least this long.
const RECOUNT_EVERY: Duration = Duration::from_secs(30);
const RETRY_LONGEST: Duration = Duration::from_secs(30);

/// Does what is due.
pub fn tick(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let mut effects = Vec::new();
    if model.screen.notice.as_ref().is_some_and(|n| n.until <= now) {
        model.screen.notice = None;
    }
    match model.live.link {
        Link::Down { retry_at, .. } if retry_at <= now => effects.extend(reach(model)),
        Link::Up => {
            if is_due(model.live.next_look, now) && !model.live.paused && !model.asks.is_open(Slot::Look) {
                effects.extend(look(model));
            }
            if is_due(model.live.next_totals, now) && !model.live.paused && !model.asks.is_open(Slot::Totals) {
                effects.push(model.asks.ask(Slot::Totals, Request::Totals));
            }
            if is_due(model.live.next_count, now) && !model.asks.is_open(Slot::Histogram) {
                effects.extend(filter::recount(model, now));
            }
        }
        _ => {}
    }
    effects
}

fn is_due(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| at <= now)
}

/// Tries to reach the source: by a look where a store was open, from the start otherwise.
fn reach(model: &mut Model) -> Vec<Effect> {
    if [Slot::Open, Slot::Look].into_iter().any(|slot| model.asks.is_open(slot)) {
        return Vec::new();
    }
    match &model.source.opened {
        Some(opened) => {
            let name = opened.name.clone();
            vec![model.asks.ask(Slot::Open, Request::Open(name))]
        }
        None => vec![model.asks.ask(Slot::Open, Request::Choices)],
    }
}

fn look(model: &mut Model) -> Vec<Effect> {
    let Some(counts) = &model.histogram.counts else { return Vec::new() };
    let since = counts.watermark();
    let (facet, filter) = (model.histogram.facet, model.filter.resolved.clone());
    vec![model.asks.ask(Slot::Look, Request::Look { since, facet, filter })]
}

/// Takes in a look.
pub fn on_look(model: &mut Model, result: Result<Changes, StoreError>, now: Timestamp) -> Vec<Effect> {
    let changes = match result {
        Ok(changes) => changes,
        Err(e) => {
            model.live.next_look = Some(now.after(model.settings.refresh.saturating_mul(4)));
            return fault(model, &e, "looking for changes", now);
        }
    };
    let mut effects = heard(model, now);
    model.live.cost = changes.cost;
    model.live.skew = changes.server_time.0.saturating_sub(now.0);
    model.live.next_look = Some(now.after(rest_after(changes.cost, model.settings.refresh)));
    if !changes.changed {
        return effects;
    }
    let server_now = model.live.server_now(now);
    let rows = model.histogram_rows();
    if let Some(counts) = &mut model.histogram.counts {
        model.list.arrived = model.list.arrived.saturating_add(counts.apply(&changes));
        let histogram = counts.histogram(server_now);
        model.histogram.show(histogram, rows);
    }
    // What a look cannot see (old rows that changed state) is settled by a recount at leisure.
    if model.live.next_count.is_none() {
        model.live.next_count = Some(now.after(RECOUNT_EVERY));
    }
    let height = model.list_rows();
    let shown: Vec<JobId> = model.list.visible(height).map(|e| e.row.id.clone()).collect();
    if !shown.is_empty() && !model.asks.is_open(Slot::Rows) {
        effects.push(model.asks.ask(Slot::Rows, Request::Rows(shown)));
    }
    effects
}

/// How long to rest after a look that cost this much.
fn rest_after(cost: Duration, base: Duration) -> Duration {
    base.max(Duration::from_secs_f64(cost.as_secs_f64() / DUTY)).min(Duration::from_secs(60))
}

/// The link is lost: what is shown stays, marked stale, and it is tried again after a rest that doubles.
pub fn lost(model: &mut Model, error: &StoreError, now: Timestamp) -> Vec<Effect> {
    let attempts = match &model.live.link {
        Link::Down { attempts, .. } => attempts.saturating_add(1),
        Link::Connecting | Link::Up => 0,
    };
    let rest = Duration::from_secs(1).saturating_mul(1 << attempts.min(5)).min(RETRY_LONGEST);
    let reason = crate::domain::text::Clean::line(&error.to_string()).to_string();
    model.live.link = Link::Down { reason, retry_at: now.after(rest), attempts };
    if let Overlay::Picker(_) = model.overlay {
        model.overlay = Overlay::None;
    }
    // Rows that were being read will be asked for again once the source is back.
    [Slot::Page, Slot::Histogram, Slot::Look, Slot::Totals, Slot::Rows]
        .into_iter()
        .map(|slot| model.asks.cancel(slot))
        .collect()
}

/// When the model wants to be woken: the earliest of what is due, and each second while a countdown is shown.
pub fn wake(model: &Model, now: Timestamp) -> Option<Effect> {
    let mut due = vec![model.screen.notice.as_ref().map(|n| n.until)];
    match &model.live.link {
        Link::Down { retry_at, .. } => {
            due.push(Some(
                (*retry_at).min(now.after(Duration::from_secs(1))).max(now.after(Duration::from_millis(50))),
            ));
        }
        Link::Up => {
            if !model.live.paused {
                due.push(
                    model
                        .live
                        .next_look
                        .filter(|_| !model.asks.is_open(Slot::Look) && model.histogram.counts.is_some()),
                );
                due.push(model.live.next_totals.filter(|_| !model.asks.is_open(Slot::Totals)));
            }
            due.push(model.live.next_count.filter(|_| !model.asks.is_open(Slot::Histogram)));
        }
        Link::Connecting => {}
    }
    due.into_iter().flatten().min().map(|at| Effect::WakeAt(at.max(now)))
}
