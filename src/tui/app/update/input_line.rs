//! Typing a line: the filter, a command, or words to search for; with faults, completion and history.

use std::borrow::Cow;
use std::sync::Arc;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::colon_commands::mark;
use super::{colon_commands, filter};
use crate::domain::contrast::ValueCounts;
use crate::domain::facet::Facet;
use crate::domain::filter::{self as language, Filter, Key};
use crate::domain::histogram::{Histogram, grouped};
use crate::domain::redact::{REDACTED, Redactor};
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::tui::app::document::{Direction, Needle};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{
    ArgumentValues, Candidate, HelpPage, InputError, InputLine, Model, Overlay, Purpose, ScrollState,
};

/// Candidates that are offered at once.
const OFFERED: usize = 50;
/// Bytes of the longest value that is offered: all are looked through with every key, and a longer one is no help on a line.
const LONGEST: usize = 4_000;

/// Opens a line to type in.
pub fn open(model: &mut Model, purpose: Purpose) -> Vec<Effect> {
    let text = match purpose {
        Purpose::Filter => {
            let written = model.filter.written.to_string();
            if written.is_empty() { written } else { format!("{written} ") }
        }
        Purpose::Search => model.detail.search.as_ref().map_or(String::new(), |(words, _)| words.clone()),
        Purpose::Command => String::new(),
    };
    open_with(model, purpose, text)
}

/// Opens a line that has a text already.
pub fn open_with(model: &mut Model, purpose: Purpose, text: String) -> Vec<Effect> {
    model.overlay = Overlay::Line(Box::new(InputLine {
        purpose,
        input: Input::new(text),
        fault: None,
        candidates: Vec::new(),
        chosen: None,
        span: 0..0,
        recalled: None,
        draft: String::new(),
        values: None,
        arguments: ArgumentValues::default(),
        marks: None,
    }));
    changed(model)
}

/// A key while a line is open.
pub fn on_key(model: &mut Model, key: &KeyEvent, now: Timestamp) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => close(model),
        KeyCode::Char('c') if control => close(model),
        KeyCode::Enter => submit(model, now),
        KeyCode::Tab => choose(model, 1),
        KeyCode::BackTab => choose(model, -1),
        KeyCode::Up => recall(model, true),
        KeyCode::Down => recall(model, false),
        _ => {
            let Overlay::Line(line) = &mut model.overlay else { return Vec::new() };
            if line.input.handle_event(&Event::Key(*key)).is_none() {
                return Vec::new();
            }
            line.recalled = None;
            changed(model)
        }
    }
}

/// Pasted text goes into the open line and nowhere else.
pub fn paste(model: &mut Model, text: &str, now: Timestamp) -> Vec<Effect> {
    let Overlay::Line(line) = &mut model.overlay else {
        model.say("pasted text goes into a line that is being typed: / or :", now);
        return Vec::new();
    };
    let pasted: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(4_000).collect();
    let (value, at) = (line.input.value().to_owned(), line.input.cursor());
    let before: String = value.chars().take(at).collect();
    let after: String = value.chars().skip(at).collect();
    let cursor = at + pasted.chars().count();
    line.input = Input::new(format!("{before}{pasted}{after}")).with_cursor(cursor);
    changed(model)
}

fn close(model: &mut Model) -> Vec<Effect> {
    model.overlay = Overlay::None;
    vec![model.requests.cancel(Slot::Values)]
}

fn submit(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let Overlay::Line(line) = std::mem::take(&mut model.overlay) else { return Vec::new() };
    let text = line.input.value().trim().to_owned();
    match line.purpose {
        Purpose::Filter => match Filter::parse(&text) {
            Ok(parsed) if parsed == model.filter.written => filter::refresh(model, now),
            Ok(parsed) => {
                model.filter.wider.clear();
                filter::apply(model, parsed, now)
            }
            Err(_) => {
                // The fault stands under the line already.
                model.overlay = Overlay::Line(line);
                changed(model)
            }
        },
        Purpose::Command => colon_commands::run(model, &text, now),
        Purpose::Search => search(model, &text, now),
    }
}

fn search(model: &mut Model, words: &str, now: Timestamp) -> Vec<Effect> {
    model.detail.search = Needle::new(words).map(|needle| (words.to_owned(), needle));
    let (width, height) = model.detail_size();
    if model.detail.search.is_some() && !model.detail.find(Direction::Forward, true, width, height) {
        model.say(format!("`{words}` is not in this part"), now);
    }
    Vec::new()
}

/// A key while words are typed that the help is searched for.
pub fn search_help(page: &mut HelpPage, key: &KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Enter => page.typing = false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => page.typing = false,
        KeyCode::Esc => {
            page.typing = false;
            page.search.reset();
        }
        _ => {
            _ = page.search.handle_event(&Event::Key(*key));
            page.reading = ScrollState::default();
        }
    }
    Vec::new()
}

/// Earlier filters, with the arrow keys.
fn recall(model: &mut Model, older: bool) -> Vec<Effect> {
    let history = &model.filter.history;
    let Overlay::Line(line) = &mut model.overlay else { return Vec::new() };
    if line.purpose != Purpose::Filter || history.is_empty() {
        return Vec::new();
    }
    let back = match (line.recalled, older) {
        (None, true) => Some(0),
        (Some(n), true) => Some((n + 1).min(history.len() - 1)),
        (Some(0) | None, false) => None,
        (Some(n), false) => Some(n - 1),
    };
    if line.recalled.is_none() {
        line.draft = line.input.value().to_owned();
    }
    line.recalled = back;
    let text = back.and_then(|n| history.iter().rev().nth(n)).unwrap_or(&line.draft);
    line.input = Input::new(text.clone());
    changed(model)
}

/// After every change: what is wrong, and what would fit.
fn changed(model: &mut Model) -> Vec<Effect> {
    let Overlay::Line(line) = &mut model.overlay else { return Vec::new() };
    line.chosen = None;
    line.fault = match line.purpose {
        Purpose::Filter => Filter::parse(line.input.value()).err().map(|e| InputError {
            column: e.column(),
            width: e.width(),
            sentence: e.to_string(),
        }),
        _ => None,
    };
    let facet = value_facet(line);
    let known = line.values.as_ref().map(|v| v.facet);
    let asks_arguments = matches!(line.arguments, ArgumentValues::Unasked) && is_argument(line);
    complete(model);
    match facet {
        Some(facet) if known != Some(facet) => values_of(model, facet),
        _ if asks_arguments => argument_values(model),
        _ => mark::ask_marks(model).into_iter().collect(),
    }
}

/// Whether a path of the arguments, or a value at one, fits at the cursor.
fn is_argument(line: &InputLine) -> bool {
    match line.purpose {
        Purpose::Filter => {}
        Purpose::Command => return counted_path(line.input.value(), line.input.cursor()).is_some(),
        Purpose::Search => return false,
    }
    match language::complete(line.input.value(), line.input.cursor()).context {
        language::CompletionContext::Key(prefix) => argument_prefix(&prefix).is_some(),
        language::CompletionContext::Value { key: Key::Arg(path), .. } => !path.is_empty(),
        _ => false,
    }
}

/// What is typed of a path behind the word for arguments: `cur` of `args.cur`.
fn argument_prefix(prefix: &str) -> Option<&str> {
    let (word, path) = prefix.split_once('.')?;
    matches!(Key::from_word(word), Some(Key::Arg(_))).then_some(path)
}

/// What is typed of the path behind `by`: where it begins, and the path without its first word.
fn counted_path(text: &str, cursor: usize) -> Option<(usize, String)> {
    let typed: String = text.chars().take(cursor).collect();
    let word = typed.strip_prefix("by ")?.trim_start();
    let start = typed.chars().count() - word.chars().count();
    Some((start, argument_prefix(word)?.to_owned()))
}

/// Asks what stands in the arguments of the newest jobs; terms on arguments themselves do not narrow it.
fn argument_values(model: &mut Model) -> Vec<Effect> {
    if model.source.opened.is_none() {
        return Vec::new();
    }
    let filter = &model.filter.resolved;
    let keys: Vec<Key> = filter.clauses().iter().map(|clause| clause.key.clone()).collect();
    let arguments = keys.iter().filter(|key| matches!(key, Key::Arg(_)));
    let filter = arguments.fold(filter.clone(), |filter, key| filter.without(key));
    if let Overlay::Line(line) = &mut model.overlay {
        line.arguments = ArgumentValues::Asked;
    }
    vec![model.requests.ask(Slot::Values, Request::Arguments(filter))]
}

/// What stands in the arguments of some jobs.
pub fn on_arguments(model: &mut Model, values: Arc<ValueCounts>) -> Vec<Effect> {
    if let Overlay::Line(line) = &mut model.overlay {
        line.arguments = ArgumentValues::Known(values);
        complete(model);
    }
    Vec::new()
}

/// The facet whose values fit at the cursor.
fn value_facet(line: &InputLine) -> Option<Facet> {
    if line.purpose != Purpose::Filter {
        return None;
    }
    match language::complete(line.input.value(), line.input.cursor()).context {
        language::CompletionContext::Value { key, .. } => {
            key.facet().filter(|f| !matches!(f, Facet::State | Facet::Hour))
        }
        _ => None,
    }
}

/// Real values with their counts: those on screen if they are of this facet, else they are asked for.
fn values_of(model: &mut Model, facet: Facet) -> Vec<Effect> {
    let offered = model.source.opened.as_ref().is_some_and(|o| o.info.capabilities.facets.contains(&facet));
    if !offered {
        return Vec::new();
    }
    let shown = model.histogram.shown.clone().filter(|h| h.facet == facet && model.filter.written.is_all());
    match (shown, &mut model.overlay) {
        (Some(shown), Overlay::Line(line)) => {
            line.values = Some(shown);
            complete(model);
            Vec::new()
        }
        _ => vec![model.requests.ask(Slot::Values, Request::Values(facet))],
    }
}

/// Works out what the text at the cursor can be completed with.
pub fn complete(model: &mut Model) {
    let Overlay::Line(line) = &mut model.overlay else { return };
    let (text, cursor) = (line.input.value().to_owned(), line.input.cursor());
    if let Some((span, typed)) = mark::typed(line) {
        line.candidates = mark::candidates(line, &typed);
        line.span = span;
        return;
    }
    let known = KnownValues {
        values: line.values.as_ref(),
        arguments: match &line.arguments {
            ArgumentValues::Known(counts) => Some(counts),
            _ => None,
        },
        redactor: &model.settings.redactor,
    };
    (line.span, line.candidates) = match (line.purpose, counted_path(&text, cursor)) {
        (Purpose::Filter, _) => filter_candidates(&text, cursor, &known),
        (Purpose::Command, Some((start, path))) => (start..cursor, path_candidates(&path, "", &known)),
        (Purpose::Command, None) => colon_commands::candidates(&text, cursor),
        (Purpose::Search, _) => (0..0, Vec::new()),
    };
    line.candidates.truncate(OFFERED);
}

/// What is known of the values that jobs have.
struct KnownValues<'a> {
    values: Option<&'a Histogram>,
    arguments: Option<&'a ValueCounts>,
    redactor: &'a Redactor,
}

fn filter_candidates(text: &str, cursor: usize, known: &KnownValues<'_>) -> (std::ops::Range<usize>, Vec<Candidate>) {
    let completion = language::complete(text, cursor);
    let candidates = match &completion.context {
        language::CompletionContext::Key(prefix) => match argument_prefix(prefix) {
            Some(path) => path_candidates(path, ":", known),
            None => language::keys(prefix).into_iter().map(key_candidate).collect(),
        },
        language::CompletionContext::Value { prefix, key, .. } => {
            let fixed = completion.fixed_values().into_iter().map(|word| Candidate {
                insert: format!("{word} "),
                label: word.to_owned(),
                note: String::new(),
            });
            let of_facet = known.values.filter(|v| key.facet() == Some(v.facet)).map_or(&[][..], |v| &v.bars);
            let of_facet = of_facet.iter().filter_map(|bar| Some((bar.value.as_ref()?.exact(), bar.count.to_string())));
            let of_path = argument_notes(key, known).into_iter();
            let needle = prefix.to_lowercase();
            let real = of_facet
                .chain(of_path)
                .filter_map(|(value, note)| value_candidate(&completion, &needle, value, note, known.redactor));
            fixed.chain(real).collect()
        }
        language::CompletionContext::Nothing => Vec::new(),
    };
    (completion.span, candidates)
}

fn key_candidate(info: &language::KeyInfo) -> Candidate {
    let note = format!("{}  {}", info.help, info.example);
    Candidate { insert: format!("{}:", info.word), label: format!("{}:", info.word), note }
}

/// Real paths that contain what was typed, those that begin with it first, with what follows a path there.
fn path_candidates(typed: &str, follows: &str, known: &KnownValues<'_>) -> Vec<Candidate> {
    let Some(counts) = known.arguments else { return Vec::new() };
    let needle = typed.to_lowercase();
    let mut found: Vec<(bool, String, u64)> = counts
        .paths()
        .filter_map(|(key, jobs)| {
            let word = key.word();
            let at = word.split_once('.')?.1.to_lowercase().find(&needle)?;
            Some((at > 0, word.into_owned(), jobs))
        })
        .collect();
    found.sort();
    let candidate = |(_, word, jobs): (bool, String, u64)| Candidate {
        label: format!("{}{follows}", Clean::line(&known.redactor.prose(&word))),
        insert: format!("{word}{follows}"),
        note: of_sample(jobs, counts),
    };
    found.into_iter().map(candidate).collect()
}

/// Real values at a path, each with how many jobs have it.
fn argument_notes<'a>(key: &Key, known: &KnownValues<'a>) -> Vec<(&'a str, String)> {
    let (Key::Arg(keys), Some(counts)) = (key, known.arguments) else { return Vec::new() };
    counts.values(keys).into_iter().map(|(value, jobs)| (value, of_sample(jobs, counts))).collect()
}

fn of_sample(jobs: u64, counts: &ValueCounts) -> String {
    format!("{} of {} read", grouped(jobs), grouped(counts.jobs()))
}

/// A real value, where it contains what was typed.
fn value_candidate(
    completion: &language::Completion,
    needle: &str,
    value: &str,
    note: String,
    redactor: &Redactor,
) -> Option<Candidate> {
    if value.len() > LONGEST {
        return None;
    }
    let shown = redactor.prose(value);
    if !shown.to_lowercase().contains(needle) {
        return None;
    }
    let written = completion.value_text(&shown)?;
    // A star stands for what is not shown: the value is found all the same.
    let written = if let Cow::Owned(_) = shown { written.replace(REDACTED, "*") } else { written };
    Some(Candidate { insert: format!("{written} "), label: Clean::line(&shown).to_string(), note })
}

/// Tab: the next candidate takes the place of what is being typed.
fn choose(model: &mut Model, by: isize) -> Vec<Effect> {
    let Overlay::Line(line) = &mut model.overlay else { return Vec::new() };
    let count = line.candidates.len();
    if count == 0 {
        return Vec::new();
    }
    let next = match line.chosen {
        None if by > 0 => 0,
        None => count - 1,
        Some(at) => at.saturating_add_signed(by.rem_euclid(isize::try_from(count).unwrap_or(1))) % count,
    };
    let insert = line.candidates[next].insert.clone();
    let value = line.input.value().to_owned();
    let before: String = value.chars().take(line.span.start).collect();
    let after: String = value.chars().skip(line.span.end).collect();
    let cursor = line.span.start + insert.chars().count();
    line.input = Input::new(format!("{before}{insert}{after}")).with_cursor(cursor);
    line.span = line.span.start..cursor;
    line.chosen = Some(next);
    if count == 1 {
        return changed(model);
    }
    if let Overlay::Line(line) = &mut model.overlay {
        line.fault = None;
    }
    Vec::new()
}
