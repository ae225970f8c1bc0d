//! From terms to clauses.

use std::collections::HashMap;

use super::decimal::Decimal;
use super::error::{FilterError, nearest, shown};
use super::key::{KEYS, KeyInfo, ValueKind};
use super::lex::{self, RawTerm, TermForm};
use super::value::{self, FilterValue, NUMBER};
use super::{Clause, Filter, Key, Pattern, Term, Test, quote, time_range};

pub(super) fn filter(text: &str) -> Result<Filter, FilterError> {
    let mut terms = Vec::new();
    let mut spans = Vec::new();
    for raw in lex::terms(text) {
        terms.push(term(text, &raw)?);
        spans.push(raw.span);
    }
    let groups = groups(&terms);
    if let Some((first, second)) = groups.iter().find_map(|group| covering(&terms, group)) {
        return Err(FilterError::new(
            spans[second].clone(),
            format!("{} and {} together let every number pass", shown(&terms[first].text), shown(&terms[second].text)),
            "one range such as 5..10, because a repeated key means or",
        ));
    }
    Ok(Filter { clauses: clauses(&terms, &groups), terms })
}

/// A filter of terms that some filter had already.
pub(super) fn rejoin(terms: Vec<Term>) -> Filter {
    Filter { clauses: clauses(&terms, &groups(&terms)), terms }
}

fn term(text: &str, raw: &RawTerm) -> Result<Term, FilterError> {
    let (info, key) = match &raw.key {
        Some(span) => {
            let word = &text[span.clone()];
            let info = KeyInfo::from_word(word).ok_or_else(|| unknown_key(text, raw))?;
            let key = match info.key() {
                Key::Arg(_) => Key::Arg(path(word, span.start)?),
                key => key.clone(),
            };
            if raw.body.span.is_empty() {
                let end = raw.body.span.end;
                let problem = format!("nothing follows `{word}:`");
                return Err(FilterError::new(end..end, problem, format!("a value, as in `{}`", info.example)));
            }
            (info, key)
        }
        None => (KeyInfo::words(), Key::Word),
    };
    if key == Key::Word {
        check_word(text, raw)?;
    }
    let value = FilterValue::read(text, &raw.body)?;
    let test = test(info.kind, &key, &value)?;
    if key == Key::Word && value.is_none() {
        return Err(FilterError::new(raw.body.span.clone(), "the quotes are empty", "text between them"));
    }
    Ok(Term { info, key, negated: raw.negated, test, text: text[raw.span.clone()].to_owned() })
}

fn test(kind: ValueKind, key: &Key, value: &FilterValue<'_>) -> Result<Test, FilterError> {
    if value.is_none() && !matches!(kind, ValueKind::State | ValueKind::Run | ValueKind::Outcome) {
        return Ok(Test::Text(Pattern::Equals(String::new())));
    }
    match (kind, value) {
        (ValueKind::Argument, FilterValue::Bare(slice)) if *key != Key::Arg(Vec::new()) => {
            value::decimal(slice)?.map_or_else(|| value.pattern(false).map(Test::Text), Ok)
        }
        (ValueKind::Text | ValueKind::Search | ValueKind::Argument, _) => {
            let searched = kind == ValueKind::Search || *key == Key::Arg(Vec::new());
            value.pattern(searched).map(Test::Text)
        }
        (ValueKind::State, _) => value::state(&value.plain("dead, retrying, resolved or ignored")?),
        (ValueKind::Run, _) => value::run(&value.plain(value::RUN)?),
        (ValueKind::Outcome, _) => value::outcome(&value.plain("an outcome such as died")?),
        (ValueKind::Hex, _) => value::fingerprint(&value.plain("hexadecimal digits")?),
        (ValueKind::Number, _) => value::number(&value.plain(NUMBER)?),
        (ValueKind::Since, _) => time_range::since(&value.plain("a span or a moment")?),
        (ValueKind::Until, _) => time_range::until(&value.plain("a span or a moment")?),
        (ValueKind::Time, _) => time_range::time(&value.plain("a moment, a comparison or a range")?),
        (ValueKind::Hour, _) => time_range::hour(&value.plain("an hour such as 2026-11-20T03")?),
        (ValueKind::Idle, _) => time_range::idle(&value.plain("a span such as 15m")?),
    }
}

fn unknown_key(text: &str, raw: &RawTerm) -> FilterError {
    let span = raw.key.clone().unwrap_or(raw.span.clone());
    let word = &text[span.clone()];
    let (first, path) = word.split_once('.').map_or((word, None), |(first, path)| (first, Some(path)));
    let names = KEYS.iter().filter(|info| path.is_none() || info.kind == ValueKind::Argument).flat_map(KeyInfo::names);
    let meant = nearest(first, names).map(|name| match path {
        Some(path) => format!("{name}.{path}"),
        None => name.to_owned(),
    });
    let words: Vec<&str> = KEYS.iter().map(|info| info.word).collect();
    let expected = format!("one of {}, or quotes around text that is searched for", words.join(", "));
    FilterError::new(span, format!("unknown key {}", shown(word)), expected).meant(meant)
}

/// Objects to free words that were meant as something else.
fn check_word(text: &str, raw: &RawTerm) -> Result<(), FilterError> {
    let word = &text[raw.body.span.clone()];
    if raw.body.form != TermForm::Bare {
        return Ok(());
    }
    if raw.negated && (word.is_empty() || word.starts_with('-')) {
        return Err(FilterError::new(
            raw.span.clone(),
            "a lone dash",
            "a term right after `-`, or quotes around the text",
        ));
    }
    if ["AND", "OR", "NOT"].contains(&word) {
        let remedy = "terms side by side (all must hold; a repeated key means or; `-` negates), or the word in quotes";
        return Err(FilterError::new(raw.body.span.clone(), format!("`{word}` is no operator here"), remedy));
    }
    let Some(at) = word.find(['=', '<', '>', '!']) else { return Ok(()) };
    let (key, rest) = word.split_at(at);
    if KeyInfo::from_word(key).is_none() || (rest.starts_with('!') && !rest.starts_with("!=")) {
        return Ok(());
    }
    let value = rest.trim_start_matches(['=', '!']);
    let sign = if rest.starts_with('!') { "-" } else { "" };
    let end = raw.body.span.start + at;
    Err(FilterError::new(
        end..end,
        format!("no colon follows `{key}`"),
        "`key:value`, or quotes around text that is searched for",
    )
    .meant(Some(format!("{sign}{key}:{value}"))))
}

/// The path in a key that starts with `args`; `base` is where the key stands in the text.
pub(super) fn path(word: &str, base: usize) -> Result<Vec<String>, FilterError> {
    let mut path = Vec::new();
    let Some(dot) = word.find('.') else { return Ok(path) };
    let mut at = dot + 1;
    loop {
        let rest = &word[at..];
        let taken = match rest.strip_prefix('"') {
            Some(inner) => {
                let mut escaped = false;
                let close = inner.find(|c| {
                    let closes = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    closes
                });
                let close = close.ok_or_else(|| {
                    FilterError::new(
                        base + at..base + word.len(),
                        "the quote is not closed",
                        "a `\"` at the end of the name",
                    )
                })?;
                // Stars have no meaning in a path.
                let span = at + 1..at + 1 + close;
                let parts = quote::unquote(word, span)
                    .map_err(|fault| FilterError { span: base + fault.span.start..base + fault.span.end, ..fault })?;
                path.push(parts.join("*"));
                close + 2
            }
            None => {
                let taken = rest.find('.').unwrap_or(rest.len());
                if taken == 0 || rest[..taken].contains('"') {
                    let expected = "a name, in quotes if it is empty or holds a dot, a colon, a quote or a space";
                    return Err(FilterError::new(
                        base + at..base + at + taken,
                        "a name of the path is missing",
                        expected,
                    ));
                }
                path.push(rest[..taken].to_owned());
                taken
            }
        };
        at += taken;
        match word[at..].chars().next() {
            None => return Ok(path),
            Some('.') => at += 1,
            Some(_) => {
                let place = base + at..base + word.len();
                return Err(FilterError::new(place, "text clings to the closing quote", "a dot or a colon after it"));
            }
        }
    }
}

/// The terms, by place, that are alternatives to each other. Negated terms stay alone, and so do free
/// words: they repeat no key.
pub(super) fn groups(terms: &[Term]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        let new = groups.len();
        let alone = term.negated || term.key == Key::Word;
        let place = if alone { new } else { *places.entry(term.joins()).or_insert(new) };
        match groups.get_mut(place) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

fn clauses(terms: &[Term], groups: &[Vec<usize>]) -> Vec<Clause> {
    let clause = |group: &Vec<usize>| {
        let first = &terms[*group.first()?];
        let any = group.iter().map(|at| terms[*at].test.clone()).collect();
        Some(Clause { key: first.key.clone(), negated: first.negated, any })
    };
    groups.iter().filter_map(clause).collect()
}

/// Two terms of a group that together let every number pass.
fn covering(terms: &[Term], group: &[usize]) -> Option<(usize, usize)> {
    let open = |at: &&usize| matches!(terms[**at].test, Test::Number { .. } | Test::Decimal { .. });
    let numbers: Vec<usize> = group.iter().filter(open).copied().collect();
    let pairs = numbers.iter().enumerate().flat_map(|(i, second)| numbers[..i].iter().map(|first| (*first, *second)));
    pairs.into_iter().find(|(first, second)| covers(&terms[*first].test, &terms[*second].test))
}

impl Term {
    /// What a term shares with those that it is an alternative to: `since` and `until` narrow each other and `at`.
    pub(super) fn joins(&self) -> (&Key, u8) {
        let edge = match self.info.kind {
            ValueKind::Since => 1,
            ValueKind::Until => 2,
            _ => 0,
        };
        (&self.key, edge)
    }
}

/// Whether one test is open below and the other above, with nothing between them.
fn covers(a: &Test, b: &Test) -> bool {
    let meet = |low: &Test, high: &Test| match (low, high) {
        (Test::Number { min: None, max: Some(max) }, Test::Number { min: Some(min), max: None }) => {
            *min <= max.saturating_add(1)
        }
        (Test::Decimal { min: None, max: Some((max, to)) }, Test::Decimal { min: Some((min, from)), max: None }) => {
            match (Decimal::parse(min), Decimal::parse(max)) {
                (Some(min), Some(max)) => min < max || (min == max && (*to || *from)),
                _ => false,
            }
        }
        _ => false,
    };
    meet(a, b) || meet(b, a)
}
