//! What is looked at: filter, facet, order, and the questions that follow from a change of them.

pub mod argument_bars;

use super::preview;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::json::REDACTED;
use crate::domain::time::Timestamp;
use crate::store::{Cursor, HistogramQuery, PageQuery, Token};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{BarValue, ConnectionState, CountedFor, Focus, ListSide, Model, PAGE, Preview};

/// What is said of bars whose value must not be shown.
const MASKED: &str = "this value is masked: no filter selects it";

/// Puts a filter in force: the list starts again, the bars are counted again.
pub fn apply(model: &mut Model, filter: Filter, now: Timestamp) -> Vec<Effect> {
    let server_now = model.live.server_now(now);
    model.filter.set(filter, server_now);
    restart(model, now)
}

/// Narrows the filter; Esc goes back.
pub fn narrow(model: &mut Model, filter: Filter, now: Timestamp) -> Vec<Effect> {
    let server_now = model.live.server_now(now);
    model.filter.narrow(filter, server_now);
    restart(model, now)
}

fn restart(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    model.preview = Preview::default();
    model.list.clear();
    model.histogram = model.histogram.restarted();
    model.detail.close();
    let mut effects = vec![model.requests.cancel(Slot::Page)];
    effects.extend(start_count(model, CountedFor::Operator, now));
    effects
}

/// The filter narrowed to the jobs of these bars.
pub fn with_values(model: &Model, values: &[BarValue]) -> Result<Filter, String> {
    let values: Vec<Option<&str>> = values.iter().map(|v| v.as_ref().map(|v| v.exact())).collect();
    let narrowed = match &model.histogram.argument {
        Some(_) if values.contains(&Some(REDACTED)) => return Err(MASKED.to_owned()),
        Some(argument) => model.filter.written.narrow_argument(&argument.keys, &values),
        None => model.filter.written.narrow(model.histogram.facet, &values),
    };
    narrowed.map_err(|e| e.to_string())
}

/// Narrows to the marked bars, or the one under the cursor, and goes to the list.
pub fn narrow_to_bars(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let values = model.histogram.chosen();
    if values.is_empty() {
        return Vec::new();
    }
    match with_values(model, &values) {
        Ok(filter) => {
            model.screen.focus = Focus::List;
            let is_on_screen = model.preview.shown.as_ref().is_some_and(|shown| shown.written == filter);
            preview::adopt(model, filter, is_on_screen, now)
        }
        Err(sentence) => {
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

/// Narrows the list to the jobs that have the value on the line of the open job, or to those that have it not.
pub fn by_argument(model: &mut Model, is_negated: bool, now: Timestamp) -> Vec<Effect> {
    let Some(document) = &model.detail.document else { return Vec::new() };
    let term = document.filter_term(model.detail.tab, model.detail.view().line);
    let narrowed = term.map_err(str::to_owned).and_then(|(key, value)| {
        // Terms of one key are alternatives: a second value would widen the filter.
        let written = if is_negated { model.filter.written.clone() } else { model.filter.written.without(&key) };
        written.with(&key, value.as_deref(), is_negated).map_err(|e| e.to_string())
    });
    to_list(model, narrowed, now)
}

/// Narrows the list to the jobs of no bar that is chosen.
pub fn exclude_bars(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let (facet, argument) = (model.histogram.facet, model.histogram.argument.as_ref());
    let all = model.histogram.chosen().into_iter().try_fold(model.filter.written.clone(), |filter, value| {
        let value = value.as_ref().map(|value| value.exact());
        let excluded = match argument {
            Some(_) if value == Some(REDACTED) => return Err(MASKED.to_owned()),
            Some(argument) => filter.with(&Key::Arg(argument.keys.clone()), value, true),
            None => filter.exclude(facet, value),
        };
        excluded.map_err(|e| e.to_string())
    });
    match all {
        Ok(filter) if filter == model.filter.written => Vec::new(),
        Ok(filter) => narrow(model, filter, now),
        Err(sentence) => {
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

/// Puts a narrower filter in force and goes to the list, or says why there is none.
pub fn to_list(model: &mut Model, narrowed: Result<Filter, String>, now: Timestamp) -> Vec<Effect> {
    match narrowed {
        Ok(filter) => {
            model.screen.focus = Focus::List;
            narrow(model, filter, now)
        }
        Err(sentence) => {
            model.complain(sentence, now);
            Vec::new()
        }
    }
}

/// Counts by another facet.
pub fn turn_facet(model: &mut Model, facet: Facet, now: Timestamp) -> Vec<Effect> {
    let mut effects = match model.histogram.argument {
        Some(_) => argument_bars::leave(model, now),
        None => Vec::new(),
    };
    if model.histogram.facet == facet {
        return effects;
    }
    model.histogram.turn_to(facet);
    effects.extend(preview::end(model));
    effects.extend(start_count(model, CountedFor::Operator, now));
    effects
}

/// Counts the facet from the beginning; an estimate comes first where nothing is shown yet.
pub fn start_count(model: &mut Model, counted_for: CountedFor, now: Timestamp) -> Vec<Effect> {
    if model.source.opened.is_none() {
        return Vec::new();
    }
    (model.live.next_count, model.live.next_poll) = (None, Some(now));
    let estimate = model.filter.resolved.is_all() && model.histogram.shown.is_none();
    let mut effects = vec![model.requests.cancel(Slot::Poll)];
    effects.extend(match estimate {
        true => {
            model.histogram.begin_count(counted_for);
            vec![model.requests.ask(Slot::Histogram, Request::Estimate(model.histogram.facet))]
        }
        false => count_again(model, counted_for),
    });
    effects
}

/// Asks for a step of a count: the first one, or where it goes on.
pub fn count_from(model: &mut Model, resume: Option<Token>) -> Effect {
    let (facet, filter) = (model.histogram.facet, model.filter.resolved.clone());
    model.requests.ask(Slot::Histogram, Request::Histogram(HistogramQuery::exact(facet, filter, resume)))
}

/// Reads what the first screen shows: the first rows, and at the same time an estimate of the bars with the count behind it.
pub fn begin(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let counts = refresh(model, now);
    // The rows come first, on the connection that is there already: the job under the cursor follows them.
    let mut effects = vec![ask_page(model, ListSide::Start, Cursor::Start)];
    effects.extend(counts);
    effects
}

/// Counts the facet from the beginning, or further, in the background: polls go on meanwhile.
pub fn reconcile(model: &mut Model) -> Vec<Effect> {
    model.live.next_count = None;
    match model.histogram.full_count.resume().cloned() {
        None => count_again(model, CountedFor::Background),
        resume => vec![count_from(model, resume)],
    }
}

/// Counts the facet from the beginning while polls go on.
pub fn count_again(model: &mut Model, counted_for: CountedFor) -> Vec<Effect> {
    model.histogram.begin_count(counted_for);
    vec![count_from(model, None)]
}

/// Reads the list again in its order from the start.
pub fn reload_list(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let _ = now;
    model.list.clear();
    vec![model.requests.cancel(Slot::Page)]
}

/// Reads everything again, as the operator asks; the cursor stays on its job, relative times are resolved again.
pub fn refresh(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if model.source.opened.is_none() {
        return vec![model.requests.ask(Slot::Open, Request::Choices)];
    }
    let server_now = model.live.server_now(now);
    let written = model.filter.written.clone();
    model.filter.set(written, server_now);
    if let Some(shown) = &mut model.preview.shown {
        shown.resolved = shown.written.resolve(server_now);
    }
    model.list.halted = false;
    let mut effects = start_count(model, CountedFor::Operator, now);
    // The totals may take as long as a count: they wait until the first of it has come.
    (model.live.totals.next, model.live.totals.is_asked) = (None, true);
    if model.list.loaded {
        let cursor = model.list.anchor();
        effects.push(ask_page(model, ListSide::Around, cursor));
    }
    if let Some(job) = model.detail.job.clone().filter(|_| model.shows_detail()) {
        model.requests.detail = Some(job.clone());
        effects.push(model.requests.ask(Slot::Detail, Request::Detail(job)));
    }
    effects
}

/// As [`refresh`], of its own accord.
pub fn refresh_unasked(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let effects = refresh(model, now);
    model.histogram.counted_for = CountedFor::Poll;
    model.live.totals.is_asked = false;
    effects
}

/// Asks for a page.
pub fn ask_page(model: &mut Model, side: ListSide, cursor: Cursor) -> Effect {
    model.requests.page = Some(side);
    model.list.asked(cursor.clone());
    let (query, screen) = (page_query(model, cursor), model.list_rows());
    model.requests.ask(Slot::Page, Request::Page { query, screen })
}

fn page_query(model: &Model, cursor: Cursor) -> PageQuery {
    PageQuery { filter: model.listed().clone(), sort: model.list.sort, cursor, limit: PAGE }
}

/// Keeps the list filled around the screen, and true on it.
pub fn fill(model: &mut Model) -> Vec<Effect> {
    if model.source.opened.is_none() || model.live.link != ConnectionState::Up {
        return Vec::new();
    }
    let mut effects = Vec::new();
    let rows = model.list_rows();
    if !model.requests.is_open(Slot::Page)
        && let Some((side, cursor)) = model.list.wanted(rows.max(10))
    {
        effects.push(ask_page(model, side, cursor));
    }
    effects.extend(freshen(model, rows));
    effects
}

/// Asks how the rows on screen stand that may have changed since they were read; those that are scrolled to, also when
/// the poll that told of it is long past.
fn freshen(model: &mut Model, rows: usize) -> Option<Effect> {
    if model.live.paused || model.requests.is_open(Slot::Rows) {
        return None;
    }
    let unsure = model.list.unsure(rows);
    (!unsure.is_empty()).then(|| model.requests.ask(Slot::Rows, Request::Rows(unsure)))
}

/// Asks for the job under the cursor when the open job is on screen and is another one.
pub fn open_current(model: &mut Model) -> Vec<Effect> {
    if !model.shows_detail() {
        return Vec::new();
    }
    let Some(job) = model.list.current().map(|e| e.row.id.clone()) else { return Vec::new() };
    if model.detail.job.as_ref() == Some(&job) {
        return Vec::new();
    }
    model.detail.turn_to(job.clone());
    model.requests.detail = Some(job.clone());
    vec![model.requests.ask(Slot::Detail, Request::Detail(job))]
}
