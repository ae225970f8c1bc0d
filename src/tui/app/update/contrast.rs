//! Comparing jobs with others, and narrowing to what tells them apart.

use super::filter;
use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;
use crate::store::SourceError;
use crate::triage::contrast::{Comparison, ContrastQuery, SAMPLE};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{ContrastPage, Focus, Model, Overlay};
use crate::tui::keys::KeyCommand;

/// Compares the jobs of the bars that are chosen, or of the list.
pub fn begin(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let chosen = match model.screen.focus {
        Focus::Histogram => filter::with_values(model, &model.histogram.chosen()),
        Focus::List | Focus::Detail => Ok(model.filter.written.clone()),
    };
    match chosen {
        Ok(chosen) if chosen.is_all() => {
            let (filter, compare) = (model.key(KeyCommand::Filter), model.key(KeyCommand::Contrast));
            let sentence = format!(
                "all jobs have no others to be compared with: {filter} narrows, {compare} on a bar takes its jobs"
            );
            model.complain(sentence, now);
            Vec::new()
        }
        Ok(chosen) => {
            model.overlay = Overlay::Contrast(Box::new(ContrastPage { chosen, ..ContrastPage::default() }));
            ask(model, now)
        }
        Err(sentence) => {
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

fn ask(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let server_now = model.live.server_now(now);
    let Overlay::Contrast(page) = &mut model.overlay else { return Vec::new() };
    page.reading = Some(0);
    let chosen = page.chosen.resolve(server_now);
    let query = ContrastQuery { chosen, against: None, sample: SAMPLE, counts_all: page.counts_all };
    vec![model.requests.ask(Slot::Contrast, Request::Contrast(query))]
}

/// Counts in all jobs what a sample has shown.
pub fn count_all(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let Overlay::Contrast(page) = &mut model.overlay else { return Vec::new() };
    if page.reading.is_some() || page.found.as_ref().is_none_or(|found| !found.is_sample) {
        return Vec::new();
    }
    page.counts_all = true;
    ask(model, now)
}

/// Jobs were read.
pub fn on_progress(model: &mut Model, jobs: u64) -> Vec<Effect> {
    if let Overlay::Contrast(page) = &mut model.overlay {
        page.reading = page.reading.map(|read| read + jobs);
    }
    Vec::new()
}

/// The comparison is there, or why it is not.
pub fn on_compared(model: &mut Model, result: Result<Comparison, SourceError>, now: Timestamp) -> Vec<Effect> {
    let Overlay::Contrast(page) = &mut model.overlay else { return Vec::new() };
    match result {
        Ok(found) => {
            page.take(found);
            Vec::new()
        }
        Err(error) => {
            (page.reading, page.counts_all) = (None, false);
            super::reply::fault(model, &error, "comparing", now)
        }
    }
}

/// Enter: narrows the filter to the jobs that have what the line says.
pub fn narrow(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    apply(model, now, str::to_owned)
}

/// Leaves those jobs out.
pub fn exclude(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let Overlay::Contrast(page) = &model.overlay else { return Vec::new() };
    if page.current().is_some_and(|line| line.attributes.len() > 1) {
        model.complain("a filter cannot leave out the jobs that have both: exclude one of them", now);
        return Vec::new();
    }
    apply(model, now, |term| term.strip_prefix('-').map_or_else(|| format!("-{term}"), str::to_owned))
}

fn apply(model: &mut Model, now: Timestamp, change: impl Fn(&str) -> String) -> Vec<Effect> {
    let Overlay::Contrast(page) = &model.overlay else { return Vec::new() };
    let Some(line) = page.current() else { return Vec::new() };
    let terms = line.filter.as_deref().map(change).ok_or_else(|| "the filter language has no term for this".to_owned());
    let narrowed = terms
        .and_then(|terms| Filter::parse(format!("{} {terms}", page.chosen).trim()).map_err(|error| error.to_string()));
    let mut effects = Vec::new();
    if narrowed.is_ok() {
        model.overlay = Overlay::None;
        effects.push(model.requests.cancel(Slot::Contrast));
    }
    effects.extend(filter::to_list(model, narrowed, now));
    effects
}
