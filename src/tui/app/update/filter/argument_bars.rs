//! Counting the jobs of the filter by the values at a path of their arguments.

use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::store::SourceError;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{ArgumentBars, ArgumentCount, Model, list_gone};
use crate::tui::app::update::colon_commands::mark;
use crate::tui::app::update::{preview, reply};

/// Paths that are named where no job has the one that was asked for.
const NEAR: usize = 3;

/// Shows the values at a path in place of the facet.
pub fn turn_to(model: &mut Model, keys: Vec<String>, now: Timestamp) -> Vec<Effect> {
    model.histogram.show_argument(Some(ArgumentBars::new(keys)));
    let mut effects = preview::end(model);
    // Polls go on from the count of the facet: what changes behind that is seen.
    if model.histogram.counts.is_some() {
        effects.extend(count(model, now));
    }
    effects
}

/// Shows the facet again, which was counted all the time.
pub fn leave(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    model.histogram.show_argument(None);
    let mut effects = preview::end(model);
    effects.push(model.requests.cancel(Slot::ArgumentCount));
    effects.extend(mark::ask_again(model, true, now));
    effects
}

/// Counts from the beginning, where the values at a path are shown.
pub fn count(model: &mut Model, now: Timestamp) -> Option<Effect> {
    let bars = model.histogram.argument.as_mut()?;
    (bars.is_outdated, bars.is_paid_for, bars.asked_at) = (false, false, Some(now));
    let (keys, filter) = (bars.keys.clone(), model.filter.resolved.clone());
    Some(model.requests.ask(Slot::ArgumentCount, Request::ArgumentCount { keys, filter }))
}

/// Counts again what jobs came to or went from, where that is cheap.
pub fn count_again(model: &mut Model, now: Timestamp) -> Option<Effect> {
    let bars = model.histogram.argument.as_ref().filter(|bars| bars.is_outdated)?;
    let is_cheap = bars.cost.is_some_and(|cost| model.live.query_budget.is_cheap(cost));
    if !is_cheap || model.requests.is_open(Slot::ArgumentCount) || model.live.paused {
        return None;
    }
    let effect = count(model, now);
    model.histogram.argument.iter_mut().for_each(|bars| bars.is_paid_for = true);
    effect
}

/// Takes in a count that is under way.
pub fn on_progress(model: &mut Model, counted: ArgumentCount, now: Timestamp) {
    take(model, counted, false, now);
}

/// Takes in a whole count, or why there is none.
pub fn on_counted(model: &mut Model, result: Result<ArgumentCount, SourceError>, now: Timestamp) -> Vec<Effect> {
    match result {
        Ok(counted) if is_of_earlier_times(model, &counted) => {
            let first = model.histogram.argument.as_mut().is_some_and(|bars| {
                bars.outdate();
                bars.cost.is_none()
            });
            let effect = if first { count(model, now) } else { count_again(model, now) };
            effect.into_iter().collect()
        }
        Ok(counted) => {
            let near = counted.near.clone();
            if let (Some(word), Some(near)) = (take(model, counted, true, now), near) {
                let near = near.iter().take(NEAR).map(|key| key.word().into_owned()).collect::<Vec<_>>().join(", ");
                let near = if near.is_empty() { near } else { format!("; paths seen: {near}") };
                let sentence = model.shown(&format!("no job has a value at {word}{near}")).into_owned();
                model.complain(Clean::line(&sentence).to_string(), now);
            }
            // More may have come meanwhile.
            count_again(model, now).into_iter().chain(mark::ask_again(model, false, now)).collect()
        }
        Err(error) => {
            if let Some(bars) = &mut model.histogram.argument {
                bars.asked_at = None;
            }
            reply::fault(model, &error, "counting by a path of the arguments", now)
        }
    }
}

/// Whether the path is the one that is shown, and `since:20m`, say, was resolved anew while it was counted.
fn is_of_earlier_times(model: &Model, counted: &ArgumentCount) -> bool {
    model.histogram.argument.as_ref().is_some_and(|bars| bars.keys == counted.keys)
        && counted.filter != model.filter.resolved
}

/// The path, where it is the one that is shown.
fn take(model: &mut Model, counted: ArgumentCount, is_whole: bool, now: Timestamp) -> Option<String> {
    let ArgumentCount { keys, filter, counts, .. } = counted;
    let rows = model.histogram_rows();
    let is_of_filter = filter == model.filter.resolved;
    let bars = model.histogram.argument.as_mut().filter(|bars| bars.keys == keys && is_of_filter)?;
    // The last whole count stays until the next one is there.
    if is_whole || bars.cost.is_none() {
        bars.take(counts, is_whole, now);
        if let Some(cost) = bars.cost.filter(|_| is_whole && bars.is_paid_for) {
            model.live.query_budget.spend(cost, now);
        }
        list_gone(&mut model.histogram);
        model.histogram.fit(rows);
    }
    Some(Clean::line(&model.histogram.argument.as_ref()?.word()).to_string())
}
