//! The command line's words: one table for dispatch, completion and the reference.

pub mod mark;
pub mod note;
pub mod plan_form;
pub mod plan_words;

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use plan_words::PlanWords;

use super::{command, filter, runs};
use crate::domain::action::Action;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::run_options::Options;
use crate::domain::time::Timestamp;
use crate::store::{Sort, SortKey};
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{Candidate, Model};
use crate::tui::keys::KeyCommand;

pub(super) type CommandEffects = Result<Vec<Effect>, String>;

/// A word of the command line.
#[derive(Clone, Copy)]
struct Word {
    word: &'static str,
    arguments: &'static str,
    help: &'static str,
    values: fn() -> Vec<&'static str>,
    run: Run,
}

/// What a word does.
#[derive(Clone, Copy)]
enum Run {
    /// Plans this verb.
    Verb(Action),
    /// Something else.
    Other(fn(&mut Model, &str, Timestamp) -> CommandEffects),
}

impl Run {
    fn run(self, model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
        match self {
            Run::Verb(action) => verb(model, action, rest),
            Run::Other(run) => run(model, rest, now),
        }
    }
}

impl Word {
    /// What completes the words behind it.
    fn values(&self) -> Vec<&'static str> {
        match self.run {
            Run::Verb(action) => plan_words::completions(action),
            Run::Other(_) => (self.values)(),
        }
    }
}

fn no_values() -> Vec<&'static str> {
    Vec::new()
}

fn by_values() -> Vec<&'static str> {
    Facet::ALL.into_iter().map(Facet::word).chain(["args."]).collect()
}

const fn word(
    word: &'static str,
    arguments: &'static str,
    help: &'static str,
    values: fn() -> Vec<&'static str>,
    run: fn(&mut Model, &str, Timestamp) -> CommandEffects,
) -> Word {
    Word { word, arguments, help, values, run: Run::Other(run) }
}

/// The word of a verb, where the console has one.
fn verb_word(action: Action) -> Option<Word> {
    let help = action.profile().commands.console?;
    let arguments = "[all] [N] [OPTIONS] [REASON]";
    Some(Word { word: action.word(), arguments, help, values: no_values, run: Run::Verb(action) })
}

/// Every word: the verbs after what narrows and orders the list.
static WORDS: LazyLock<Vec<Word>> = LazyLock::new(|| {
    let verbs = Action::ALL.into_iter().filter_map(verb_word);
    LIST_WORDS.iter().copied().chain(verbs).chain(OTHER_WORDS.iter().copied()).collect()
});

/// The words that are about the list.
static LIST_WORDS: &[Word] = &[
    word("filter", "[FILTER]", "Puts a filter in force; without one, shows all.", no_values, |m, rest, now| {
        let parsed = Filter::parse(rest).map_err(|e| e.to_string())?;
        Ok(filter::apply(m, parsed, now))
    }),
    word("by", "FACET|args.PATH", "Counts by a facet, or by the values at a path of the arguments.", by_values, by),
    word("sort", "time|attempts [up]", "Orders the list.", || vec!["time", "attempts", "time up", "attempts up"], sort),
];

/// The words after the verbs.
static OTHER_WORDS: &[Word] = &[
    word(
        "repair",
        "[all] [--replay] EXPRESSION",
        "Changes arguments by a jq expression, of what is marked or all that the filter selects; --replay also replays them.",
        || vec!["all", "--replay"],
        repair,
    ),
    word(
        "undo",
        "",
        "Undoes the last run of this console; `U` on the page of runs undoes any.",
        no_values,
        |m, _, now| Ok(runs::undo_last(m, now)),
    ),
    word(
        "baseline",
        "",
        "Makes the present bars the baseline: later ones are marked `new`.",
        no_values,
        |m, _, now| {
            if let Some(counts) = &mut m.histogram.counts {
                counts.set_baseline(now);
            }
            m.say("baseline set: bars that were not there are marked new", now);
            Ok(Vec::new())
        },
    ),
    word("mark", "NAME [TIME]", "Sets a mark, such as a deploy, now or at a time.", no_values, mark::set),
    word(
        mark::COMPARE,
        "@MARK|off",
        "Says of each bar whether it is new, returned, growing, fading or gone since the mark.",
        no_values,
        mark::compare,
    ),
    word(
        "note",
        "[FILE]",
        "Makes a Markdown note on the last run, else on what the filter selects, and opens it or writes it into a new file.",
        no_values,
        note::make,
    ),
    word("stores", "", "Chooses among the layouts that were found.", no_values, |m, _, _| {
        // What is open stays so until another is chosen.
        m.source.wanted = None;
        Ok(vec![m.requests.ask(Slot::Open, Request::Choices)])
    }),
    word(
        "theme",
        "dark|light|16|none|auto",
        "Changes the colours.",
        || vec!["dark", "light", "16", "none", "auto"],
        |m, rest, _| {
            if !["dark", "light", "16", "none", "auto"].contains(&rest) {
                return Err("a theme is one of: dark, light, 16, none, auto".into());
            }
            m.settings.theme = rest.to_owned();
            Ok(vec![Effect::Repaint])
        },
    ),
    word(
        "ascii",
        "on|off",
        "Draws with plain characters only.",
        || vec!["on", "off"],
        |m, rest, _| {
            m.settings.ascii = switch(rest, m.settings.ascii)?;
            Ok(vec![Effect::Repaint])
        },
    ),
    word(
        "mouse",
        "on|off",
        "Takes the mouse, or leaves it to the terminal.",
        || vec!["on", "off"],
        |m, rest, now| {
            if switch(rest, m.screen.mouse)? == m.screen.mouse {
                Ok(Vec::new())
            } else {
                Ok(command::take_mouse(m, now))
            }
        },
    ),
    word("runs", "", "Shows the runs of the ledger.", no_values, |m, _, now| {
        Ok(command::run(m, KeyCommand::Runs, now))
    }),
    word("help", "", "Shows the keys.", no_values, |m, _, now| Ok(command::run(m, KeyCommand::Help, now))),
    word("quit", "", "Leaves.", no_values, |m, _, now| Ok(command::run(m, KeyCommand::Quit, now))),
];

fn switch(text: &str, now: bool) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        "" => Ok(!now),
        _ => Err("write on or off".into()),
    }
}

fn by(model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
    let opened = model.source.opened.as_ref().ok_or("no store is open")?;
    let offered = opened.info.capabilities.facets.clone();
    match (Facet::from_word(rest), Key::from_word(rest)) {
        (Some(facet), _) if offered.contains(&facet) => Ok(filter::turn_facet(model, facet, now)),
        (None, Some(Key::Arg(keys))) if keys.is_empty() => Err("name a path in the arguments: args.user.id".into()),
        (None, Some(Key::Arg(keys))) => Ok(filter::argument_bars::turn_to(model, keys, now)),
        _ => Err(Facet::unknown(rest, &offered)),
    }
}

fn sort(model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
    let offered = model.source.opened.as_ref().map_or_else(Vec::new, |o| o.info.capabilities.sorts.clone());
    let (name, up) = rest.strip_suffix(" up").map_or((rest, false), |name| (name, true));
    let key = match name.trim() {
        "time" | "" => SortKey::Time,
        "attempts" => SortKey::Attempts,
        _ => return Err("order by time or attempts, with `up` for the smallest first".into()),
    };
    if !offered.contains(&key) {
        return Err("this layout cannot be ordered by that".into());
    }
    model.list.sort = Sort { key, descending: !up };
    Ok(filter::reload_list(model, now))
}

fn repair(model: &mut Model, rest: &str, _: Timestamp) -> CommandEffects {
    let word = |text: &str, word: &str| match text.strip_prefix(word) {
        Some(behind) if behind.starts_with(' ') => Some(behind.trim_start().to_owned()),
        _ => None,
    };
    let (all, rest) = word(rest, "all").map_or((false, rest.to_owned()), |rest| (true, rest));
    let (replays, rest) = word(&rest, "--replay").map_or((false, rest.clone()), |rest| (true, rest));
    // As a shell has it; no expression begins so.
    let bare = rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let expression = bare.unwrap_or(&rest).to_owned();
    if expression.is_empty() {
        return Err("write a jq expression that has the new arguments as its value: .currency //= \"EUR\"".into());
    }
    let action = if replays { Action::Replay } else { Action::Repair };
    if let Some(sentence) = [Action::Repair, action].into_iter().find_map(|action| command::refusal_of(model, action)) {
        return Err(sentence);
    }
    let options = Options { repair: Some(expression), ..Options::default() };
    runs::begin_as(model, action, PlanWords { all, options, ..PlanWords::default() })
}

fn verb(model: &mut Model, action: Action, rest: &str) -> CommandEffects {
    let words = PlanWords::parse(action, rest)?;
    let action = if words.copies { Action::Copy } else { action };
    match command::refusal_of(model, action) {
        Some(sentence) => Err(sentence),
        None => runs::begin_as(model, action, words),
    }
}

/// Carries out a typed command.
pub fn run(model: &mut Model, text: &str, now: Timestamp) -> Vec<Effect> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if name.is_empty() {
        return Vec::new();
    }
    let exact = WORDS.iter().find(|w| w.word == name);
    let mut starts = WORDS.iter().filter(|w| w.word.starts_with(name));
    let found = exact.or_else(|| match (starts.next(), starts.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    });
    let outcome = match found {
        Some(word) if word.arguments.is_empty() && !rest.trim().is_empty() => {
            Err(format!("`{}` takes nothing behind it", word.word))
        }
        Some(word) => word.run.run(model, rest.trim(), now),
        None => {
            let help = model.key(KeyCommand::Help);
            Err(format!("there is no command `{name}`; Tab completes, {help} shows the keys"))
        }
    };
    outcome.unwrap_or_else(|sentence| {
        model.complain(sentence, now);
        Vec::new()
    })
}

/// What a command can be completed with.
pub fn candidates(text: &str, cursor: usize) -> (Range<usize>, Vec<Candidate>) {
    let typed: String = text.chars().take(cursor).collect();
    match typed.split_once(' ') {
        None => {
            let found = WORDS.iter().filter(|w| w.word.starts_with(typed.as_str()));
            let candidates = found.map(|w| Candidate {
                insert: format!("{} ", w.word),
                label: format!("{} {}", w.word, w.arguments).trim_end().to_owned(),
                note: w.help.to_owned(),
            });
            (0..cursor, candidates.collect())
        }
        Some((name, rest)) => {
            let values = WORDS.iter().find(|w| w.word == name).map_or_else(Vec::new, |w| w.values());
            // Behind words that are typed already, the last one is completed.
            let last = rest.rfind(' ').map_or(0, |at| at + 1);
            let whole = values.iter().any(|v| v.starts_with(rest));
            let typed = if whole { rest } else { &rest[last..] };
            let fitting = values.into_iter().filter(|v| v.starts_with(typed));
            let start = name.chars().count() + 1 + rest.chars().count() - typed.chars().count();
            let candidates = fitting.map(|v| Candidate { insert: v.into(), label: v.into(), note: String::new() });
            (start..cursor, candidates.collect())
        }
    }
}

/// Every command as it is typed, with what it does.
pub fn listed() -> impl Iterator<Item = (String, &'static str)> {
    WORDS.iter().map(|w| (format!(":{} {}", w.word, w.arguments).trim_end().to_owned(), w.help))
}

/// The reference of the command line's words, as Markdown.
pub fn reference() -> String {
    let mut out = String::from("\n## After `:`\n\n| command | |\n|---|---|\n");
    for w in WORDS.iter() {
        let arguments = w.arguments.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} |", format!("{} {arguments}", w.word).trim_end(), w.help);
    }
    out
}
