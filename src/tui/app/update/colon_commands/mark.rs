//! Marks: set, offered for completion, and compared with.

use std::ops::Range;

use super::CommandEffects;
use crate::domain::filter::{self as language, CompletionContext, ValueKind, instant};
use crate::domain::mark::{MarkName, NamedMoment, SIGN};
use crate::domain::time::Timestamp;
use crate::store::SourceError;
use crate::triage::mark_comparison::MarkComparison;
use crate::tui::app::effect::{Effect, MarkRequest, Request, Slot};
use crate::tui::app::model::{
    Candidate, InputLine, MarkBars, Model, Overlay, Purpose, compare_with, counted_by, list_gone,
};
use crate::tui::app::update::{input_line, reply};

/// The word that compares.
pub const COMPARE: &str = "compare";
/// What ends a comparison.
const OFF: &str = "off";

/// `:mark NAME [TIME]`.
pub fn set(model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
    let (name, time) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() {
        return Err("name the mark: `:mark v2.3.1`, or `:mark v2.3.1 10m` for ten minutes ago".into());
    }
    let name = MarkName::parse(name.strip_prefix(SIGN).unwrap_or(name)).map_err(|error| error.to_string())?;
    let server_now = model.live.server_now(now);
    let at = Some(time.trim()).filter(|time| !time.is_empty()).map(|time| instant(time, server_now)).transpose()?;
    Ok(vec![model.requests.ask(Slot::Marks, Request::Marks(MarkRequest::Set { name, at }))])
}

/// A mark was set, or why not.
pub fn on_set(model: &mut Model, result: Result<NamedMoment, String>, now: Timestamp) {
    match result {
        Ok(mark) => {
            let sentence = format!("mark {} is set at {}: `:compare @{0}` compares with it", mark.name, mark.at);
            model.say(sentence, now);
        }
        Err(sentence) => model.complain(sentence, now),
    }
}

/// `:compare @NAME`, or `:compare off`.
pub fn compare(model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
    if rest == OFF {
        compare_with(&mut model.histogram, None);
        return Ok(vec![model.requests.cancel(Slot::MarkComparison)]);
    }
    if rest.is_empty() {
        return Err("name a mark: `:compare @v2.3.1`; `:compare off` ends it".into());
    }
    if model.source.opened.is_none() {
        return Err("no store is open".into());
    }
    let name = MarkName::parse(rest.strip_prefix(SIGN).unwrap_or(rest)).map_err(|error| error.to_string())?;
    compare_with(&mut model.histogram, Some(MarkBars::new(name)));
    Ok(ask(model, false, now).into_iter().collect())
}

/// Compares the bars that are shown with the mark, where there is one.
pub fn ask(model: &mut Model, is_paid_for: bool, now: Timestamp) -> Option<Effect> {
    let by = counted_by(&model.histogram);
    let bars = model.histogram.compared.as_mut()?;
    (bars.asked_at, bars.is_paid_for) = (Some(now), is_paid_for);
    let (name, filter) = (bars.name.clone(), model.filter.resolved.clone());
    Some(model.requests.ask(Slot::MarkComparison, Request::Marks(MarkRequest::Compare { name, by, filter })))
}

/// The same after a count, of which nobody asked for each: where it is cheap, or there is none by these bars.
pub fn ask_again(model: &mut Model, was_asked: bool, now: Timestamp) -> Option<Effect> {
    let by = counted_by(&model.histogram);
    let bars = model.histogram.compared.as_ref()?;
    let is_cheap = bars.cost.is_some_and(|cost| model.live.query_budget.is_cheap(cost));
    let is_wanted = was_asked || is_cheap || !bars.is_by(&by);
    if !is_wanted || model.requests.is_open(Slot::MarkComparison) {
        return None;
    }
    ask(model, !was_asked, now)
}

/// Takes in a comparison, or why there is none.
pub fn on_compared(model: &mut Model, result: Result<MarkComparison, SourceError>, now: Timestamp) -> Vec<Effect> {
    let Some(bars) = &mut model.histogram.compared else { return Vec::new() };
    match result {
        Ok(comparison) => {
            let has_none = comparison.bars.is_empty();
            let sentence = format!("nothing died since {}, nor in the same time before", comparison.mark.name);
            bars.take(comparison, now);
            if let Some(cost) = bars.cost.filter(|_| bars.is_paid_for) {
                model.live.query_budget.spend(cost, now);
            }
            let rows = model.histogram_rows();
            list_gone(&mut model.histogram);
            model.histogram.fit(rows);
            if has_none {
                model.say(sentence, now);
            }
            Vec::new()
        }
        Err(error) => {
            if let SourceError::Input(_) = error {
                compare_with(&mut model.histogram, None);
            }
            reply::fault(model, &error, "comparing with a mark", now)
        }
    }
}

/// The marks of the source have come, for the line that is being typed.
pub fn on_marks(model: &mut Model, marks: Vec<NamedMoment>) {
    if let Overlay::Line(line) = &mut model.overlay {
        line.marks = Some(marks);
        input_line::complete(model);
    }
}

/// Where the name of a mark fits at the cursor: the part of the text that it replaces, and what is typed of it.
pub fn typed(line: &InputLine) -> Option<(Range<usize>, String)> {
    let (text, cursor) = (line.input.value(), line.input.cursor());
    match line.purpose {
        Purpose::Filter => {
            let completion = language::complete(text, cursor);
            let CompletionContext::Value { info, prefix, .. } = completion.context else { return None };
            let is_time = matches!(info.kind, ValueKind::Since | ValueKind::Until);
            is_time.then_some((completion.span, prefix))
        }
        Purpose::Command => {
            let typed: String = text.chars().take(cursor).collect();
            let (word, name) = typed.split_once(' ')?;
            let start = cursor - name.chars().count();
            (word == COMPARE).then(|| (start..cursor, name.to_owned()))
        }
        Purpose::Search => None,
    }
}

/// Asks for the marks, once a line.
pub fn ask_marks(model: &mut Model) -> Option<Effect> {
    let Overlay::Line(line) = &mut model.overlay else { return None };
    if line.marks.is_some() || typed(line).is_none() || model.source.opened.is_none() {
        return None;
    }
    line.marks = Some(Vec::new());
    Some(model.requests.ask(Slot::Marks, Request::Marks(MarkRequest::List)))
}

/// The marks whose names contain what is typed, each with its moment; what ends a comparison behind them.
pub fn candidates(line: &InputLine, typed: &str) -> Vec<Candidate> {
    let needle = typed.strip_prefix(SIGN).unwrap_or(typed).to_lowercase();
    let marks = line.marks.iter().flatten().filter(|mark| mark.name.as_str().to_lowercase().contains(&needle));
    let candidate = |mark: &NamedMoment| {
        let label = format!("{SIGN}{}", mark.name);
        Candidate { insert: format!("{label} "), label, note: mark.at.to_second() }
    };
    let ends = line.purpose == Purpose::Command && OFF.starts_with(typed);
    let off = ends.then(|| Candidate { insert: OFF.into(), label: OFF.into(), note: "ends the comparison".into() });
    marks.map(candidate).chain(off).collect()
}
