//! Typing a line: the filter, a command, or words to search for; with faults, completion and history.

use std::borrow::Cow;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::{colon_commands, filter};
use crate::domain::facet::Facet;
use crate::domain::filter::{self as language, Filter};
use crate::domain::histogram::Histogram;
use crate::domain::redact::{REDACTED, Redactor};
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::tui::app::document::{Direction, Needle};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{Candidate, HelpPage, InputError, InputLine, Model, Overlay, Purpose, ScrollState};

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
    complete(model);
    match facet {
        Some(facet) if known != Some(facet) => values_of(model, facet),
        _ => Vec::new(),
    }
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
    (line.span, line.candidates) = match line.purpose {
        Purpose::Filter => filter_candidates(&text, cursor, line.values.as_ref(), &model.settings.redactor),
        Purpose::Command => colon_commands::candidates(&text, cursor),
        Purpose::Search => (0..0, Vec::new()),
    };
    line.candidates.truncate(OFFERED);
}

fn filter_candidates(
    text: &str,
    cursor: usize,
    values: Option<&Histogram>,
    redactor: &Redactor,
) -> (std::ops::Range<usize>, Vec<Candidate>) {
    let completion = language::complete(text, cursor);
    let candidates = match &completion.context {
        language::CompletionContext::Key(prefix) => language::keys(prefix)
            .into_iter()
            .map(|info| Candidate {
                insert: format!("{}:", info.word),
                label: format!("{}:", info.word),
                note: format!("{}  {}", info.help, info.example),
            })
            .collect(),
        language::CompletionContext::Value { prefix, key, .. } => {
            let fixed = completion.fixed_values().into_iter().map(|word| Candidate {
                insert: format!("{word} "),
                label: word.to_owned(),
                note: String::new(),
            });
            let real = values.filter(|v| key.facet() == Some(v.facet)).map_or(&[][..], |v| &v.bars).iter();
            let needle = prefix.to_lowercase();
            let real = real.filter_map(|bar| {
                let value = bar.value.as_ref().filter(|value| value.exact().len() <= LONGEST)?;
                let shown = redactor.prose(value.exact());
                if !shown.to_lowercase().contains(&needle) {
                    return None;
                }
                let written = completion.value_text(&shown)?;
                // A star stands for what is not shown: the value is found all the same.
                let written = if let Cow::Owned(_) = shown { written.replace(REDACTED, "*") } else { written };
                Some(Candidate {
                    insert: format!("{written} "),
                    label: Clean::line(&shown).to_string(),
                    note: bar.count.to_string(),
                })
            });
            fixed.chain(real).collect()
        }
        language::CompletionContext::Nothing => Vec::new(),
    };
    (completion.span, candidates)
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
