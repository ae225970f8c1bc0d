//! Opening the open store again: its tables are no longer what they were, or its server is not.

use std::time::Duration;

use super::{filter, polling, preview, reply};
use crate::domain::time::Timestamp;
use crate::store::SourceError;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{HistogramPane, Model, ReopenReason};
use crate::tui::app::msg::Opened;
use crate::tui::keys::KeyCommand;

/// Two connections that lead to different servers, or a table that does not fit whatever is read of it, must not have a
/// store opened with every poll.
const REST: Duration = Duration::from_secs(10);

/// Has the open store opened again. An operator's own act that was stopped for want of it never waits.
pub fn ask(model: &mut Model, why: ReopenReason, now: Timestamp) -> Vec<Effect> {
    let Some(name) = model.source.opened.as_ref().map(|opened| opened.name.clone()) else { return Vec::new() };
    let rests = |(before, asked): &(ReopenReason, Timestamp)| *before == why && now < asked.after(REST);
    let (is_act, is_open) = (matches!(why, ReopenReason::Columns(..)), model.requests.is_open(Slot::Open));
    if !is_act && (is_open || model.source.reopening.as_ref().is_some_and(rests)) {
        return Vec::new();
    }
    model.source.reopening = Some((why, now));
    if is_open {
        return Vec::new();
    }
    vec![model.requests.ask(Slot::Open, Request::Reopen(name))]
}

/// Takes in the store as it is now, and says what has become another.
pub fn on_reopened(model: &mut Model, result: Result<Opened, SourceError>, now: Timestamp) -> Vec<Effect> {
    let Some(before) = model.source.opened.as_ref() else { return Vec::new() };
    let title = before.info.title.clone();
    let opened = match result {
        Ok(opened) => opened,
        Err(SourceError::Cancelled) => return Vec::new(),
        Err(error @ SourceError::Unreachable(_)) => return polling::lost(model, &error, now),
        Err(error) => {
            model.complain(format!("{title} has changed, and cannot be reopened: {error}"), now);
            return Vec::new();
        }
    };
    let why = model.source.reopening.as_ref().map(|(why, _)| why.clone());
    let (info, was_closed) = (&opened.info, before.info.read_only.is_some());
    let sentence = match (why, &info.read_only) {
        (Some(ReopenReason::Columns(table, run)), _) => {
            let (runs, resume) = (model.key(KeyCommand::Runs), model.key(KeyCommand::Resume));
            let stands = run.map_or_else(String::new, |_| format!("; {runs} {resume} resumes the run"));
            Some(format!("{} has other columns now ({}): reloaded{stands}", table.table, table.columns.join(", ")))
        }
        (Some(ReopenReason::Turned), Some(reason)) => Some(format!("{reason}: nothing can be changed there any more")),
        (Some(ReopenReason::Turned), None) if was_closed => Some("the server takes changes now".to_owned()),
        (Some(ReopenReason::Unfit), _) => Some(format!("{title} has changed: reloaded")),
        (Some(ReopenReason::Turned) | None, _) => None,
    };
    let mut effects = Vec::new();
    // What it no longer offers is not asked for again.
    if let Some(first) =
        info.capabilities.facets.first().filter(|_| !info.capabilities.facets.contains(&model.histogram.facet))
    {
        model.histogram = HistogramPane::new(*first);
        effects.extend(preview::end(model));
    }
    if let Some(first) =
        info.capabilities.sorts.first().filter(|_| !info.capabilities.sorts.contains(&model.list.sort.key))
    {
        model.list.sort.key = *first;
        effects.extend(filter::reload_list(model, now));
    }
    effects.extend(reply::on_opened(model, opened, now));
    if let Some(sentence) = sentence {
        model.say(sentence, now);
    }
    effects
}
