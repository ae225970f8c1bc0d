//! What stands after a colon, read as text, a number, a state or a fingerprint.

use std::borrow::Cow;
use std::ops::Range;

use super::decimal::Decimal;
use super::error::{FilterError, nearest, shown};
use super::lex::{Body, TermForm};
use super::{Pattern, Test, pattern, quote};
use crate::domain::job::State;
use crate::domain::outcome::OutcomeKind;

/// The three ways in which a value is written.
pub(super) enum FilterValue<'a> {
    Bare(Slice<'a>),
    /// Unescaped, cut at the stars.
    Quoted(Vec<String>, Range<usize>),
    /// As written between the slashes.
    Regex(Slice<'a>),
}

/// A piece of text and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Slice<'a> {
    pub text: Cow<'a, str>,
    pub span: Range<usize>,
    /// Whether the text is found at the span letter for letter; unescaped text is not.
    exact: bool,
}

/// A value as a comparison or a range, before its ends are read.
pub(super) enum ValueShape<'a> {
    One(Slice<'a>),
    /// This or more; more only, when false.
    From(Slice<'a>, bool),
    /// This or less; less only, when false.
    To(Slice<'a>, bool),
    Between(Option<Slice<'a>>, Option<Slice<'a>>),
}

impl<'a> Slice<'a> {
    fn part(&self, range: Range<usize>) -> Slice<'_> {
        let span =
            if self.exact { self.span.start + range.start..self.span.start + range.end } else { self.span.clone() };
        Slice { text: Cow::Borrowed(&self.text[range]), span, exact: self.exact }
    }

    pub fn shape(&self) -> ValueShape<'_> {
        let text = &*self.text;
        let after = |operator: &str| self.part(operator.len()..text.len());
        if text.starts_with(">=") {
            ValueShape::From(after(">="), true)
        } else if text.starts_with('>') {
            ValueShape::From(after(">"), false)
        } else if text.starts_with("<=") {
            ValueShape::To(after("<="), true)
        } else if text.starts_with('<') {
            ValueShape::To(after("<"), false)
        } else if let Some(dots) = text.find("..") {
            let end = |range: Range<usize>| Some(self.part(range)).filter(|part| !part.text.is_empty());
            ValueShape::Between(end(0..dots), end(dots + 2..text.len()))
        } else {
            ValueShape::One(self.clone())
        }
    }
}

impl<'a> FilterValue<'a> {
    /// Reads the body of a term.
    pub fn read(text: &'a str, body: &Body) -> Result<FilterValue<'a>, FilterError> {
        let slice = |span: Range<usize>| Slice { text: Cow::Borrowed(&text[span.clone()]), span, exact: true };
        match body.form {
            TermForm::Bare => match text[body.inner.clone()].find('"') {
                Some(at) => {
                    let at = body.inner.start + at;
                    let remedy = r#"the whole value in quotes, with \" for a quote inside"#;
                    Err(FilterError::new(at..at + 1, "a quote in the middle of a value", remedy))
                }
                None => Ok(FilterValue::Bare(slice(body.inner.clone()))),
            },
            TermForm::Quoted { closed: false } => {
                Err(FilterError::new(body.span.clone(), "the quote is not closed", "a `\"` at the end of the text"))
            }
            TermForm::Regex { closed: false } => Err(FilterError::new(
                body.span.clone(),
                "the regular expression is not closed",
                "a `/` at its end, or quotes around text that starts with a slash",
            )),
            TermForm::Quoted { .. } if !body.rest.is_empty() => {
                Err(FilterError::new(body.rest.clone(), "text clings to the closing quote", "a space after it"))
            }
            TermForm::Regex { .. } if !body.rest.is_empty() => Err(FilterError::new(
                body.rest.clone(),
                "text clings to the closing slash",
                r"a space after it; inside a regular expression a slash is written \/, and text that starts with one is quoted",
            )),
            TermForm::Quoted { .. } => {
                Ok(FilterValue::Quoted(quote::unquote(text, body.inner.clone())?, body.span.clone()))
            }
            TermForm::Regex { .. } => Ok(FilterValue::Regex(slice(body.inner.clone()))),
        }
    }

    /// Whether this is `""`, which stands for jobs that have no value.
    pub fn is_none(&self) -> bool {
        matches!(self, FilterValue::Quoted(parts, _) if parts.len() == 1 && parts[0].is_empty())
    }

    /// The value where neither stars nor slashes have a meaning.
    pub fn plain(&self, expected: &str) -> Result<Slice<'_>, FilterError> {
        match self {
            FilterValue::Bare(slice) => Ok(slice.clone()),
            FilterValue::Quoted(parts, span) => {
                Ok(Slice { text: Cow::Owned(parts.join("*")), span: span.clone(), exact: false })
            }
            FilterValue::Regex(slice) => Err(FilterError::new(
                slice.span.start - 1..slice.span.end + 1,
                "no regular expression fits here",
                expected,
            )),
        }
    }

    /// A test of text: of the whole, or searched for in it.
    pub fn pattern(&self, searched: bool) -> Result<Pattern, FilterError> {
        let mut parts = match self {
            FilterValue::Bare(slice) => slice.text.split('*').map(str::to_owned).collect(),
            FilterValue::Quoted(parts, _) => parts.clone(),
            FilterValue::Regex(slice) => return regex(slice),
        };
        if let [only] = parts.as_mut_slice() {
            let only = std::mem::take(only);
            return Ok(if searched && !only.is_empty() { Pattern::Contains(only) } else { Pattern::Equals(only) });
        }
        if searched {
            parts.insert(0, String::new());
            parts.push(String::new());
        }
        // Stars in a row are one star.
        let last = parts.len() - 1;
        let inner = |at: usize| at != 0 && at != last;
        let parts = parts.into_iter().enumerate().filter(|(at, part)| !(part.is_empty() && inner(*at)));
        Ok(Pattern::Glob(parts.map(|(_, part)| part).collect()))
    }
}

fn regex(slice: &Slice<'_>) -> Result<Pattern, FilterError> {
    let fault = |span, problem: String| FilterError::new(span, problem, "a regular expression between the slashes");
    if slice.text.is_empty() {
        return Err(fault(slice.span.start - 1..slice.span.end + 1, "the regular expression is empty".into()));
    }
    match pattern::regex(&slice.text) {
        Ok(_) => Ok(Pattern::Regex(slice.text.clone().into_owned())),
        Err(regex::Error::CompiledTooBig(_)) => {
            Err(fault(slice.span.clone(), "the regular expression is too large".into()))
        }
        Err(error) => {
            let message = error.to_string();
            let reason = message.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it is not valid");
            let span = regex_place(&message, slice).unwrap_or(slice.span.clone());
            Err(fault(span, format!("the regular expression is wrong, {reason}")))
        }
    }
}

/// Where in a pattern of one line the carets of the regex crate's message point.
fn regex_place(message: &str, slice: &Slice<'_>) -> Option<Range<usize>> {
    const INDENT: usize = 4;
    let carets = message.lines().find(|line| line.contains('^') && line.chars().all(|c| c == ' ' || c == '^'))?;
    if slice.text.contains('\n') || !message.lines().any(|line| line.get(INDENT..) == Some(&slice.text)) {
        return None;
    }
    let first = carets.find('^')?.checked_sub(INDENT)?;
    let last = carets.rfind('^')?.checked_sub(INDENT)?;
    let byte = |n: usize| slice.text.char_indices().nth(n).map_or(slice.text.len(), |(at, _)| at);
    Some(slice.span.start + byte(first)..slice.span.start + byte(last + 1))
}

pub(super) fn state(slice: &Slice<'_>) -> Result<Test, FilterError> {
    State::from_word(&slice.text).map(Test::State).ok_or_else(|| {
        let words = State::ALL.into_iter().map(State::word);
        FilterError::new(
            slice.span.clone(),
            format!("{} is no state", shown(&slice.text)),
            "dead, retrying, resolved or ignored (`native:` takes the framework's own words)",
        )
        .meant(nearest(&slice.text, words))
    })
}

pub(super) const RUN: &str = "the id of a run, or last for the last replay";

pub(super) fn run(slice: &Slice<'_>) -> Result<Test, FilterError> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !slice.text.is_empty() && slice.text.chars().all(is_id) {
        return Ok(Test::Text(Pattern::Equals(slice.text.clone().into_owned())));
    }
    Err(FilterError::new(slice.span.clone(), format!("{} is no run", shown(&slice.text)), RUN))
}

pub(super) fn outcome(slice: &Slice<'_>) -> Result<Test, FilterError> {
    if OutcomeKind::from_word(&slice.text).is_some() {
        return Ok(Test::Text(Pattern::Equals(slice.text.clone().into_owned())));
    }
    let words = OutcomeKind::ALL.map(OutcomeKind::word);
    let expected = format!("one of {}", words.join(", "));
    let problem = format!("{} is no outcome", shown(&slice.text));
    Err(FilterError::new(slice.span.clone(), problem, expected).meant(nearest(&slice.text, words.into_iter())))
}

pub(super) fn fingerprint(slice: &Slice<'_>) -> Result<Test, FilterError> {
    if !slice.text.is_empty() && slice.text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(Test::Text(Pattern::Glob(vec![slice.text.to_ascii_lowercase(), String::new()])));
    }
    let problem = format!("{} is no fingerprint", shown(&slice.text));
    Err(FilterError::new(slice.span.clone(), problem, "the first hexadecimal digits of one, such as 1f3a"))
}

pub(super) const NUMBER: &str = "a whole number, a comparison such as >=5, or a range such as 5..10";

pub(super) fn number(whole: &Slice<'_>) -> Result<Test, FilterError> {
    let read = |slice: &Slice<'_>| {
        slice.text.parse::<i64>().ok().filter(|_| !slice.text.starts_with('+')).ok_or_else(|| {
            FilterError::new(slice.span.clone(), format!("{} is no whole number", shown(&slice.text)), NUMBER)
        })
    };
    let beyond = || FilterError::new(whole.span.clone(), "no number lies beyond this", NUMBER);
    let ends = |slice: Option<Slice<'_>>| slice.map(|slice| read(&slice)).transpose();
    let (min, max) = match whole.shape() {
        ValueShape::One(one) => read(&one).map(|n| (Some(n), Some(n)))?,
        ValueShape::From(least, true) => (Some(read(&least)?), None),
        ValueShape::From(least, false) => (Some(read(&least)?.checked_add(1).ok_or_else(beyond)?), None),
        ValueShape::To(most, true) => (None, Some(read(&most)?)),
        ValueShape::To(most, false) => (None, Some(read(&most)?.checked_sub(1).ok_or_else(beyond)?)),
        ValueShape::Between(a, b) => (ends(a)?, ends(b)?),
    };
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        return Err(FilterError::new(whole.span.clone(), "the range holds no number", "its lower end first"));
    }
    Ok(Test::Number { min, max })
}

/// A comparison of decimals, or a range where both ends are decimals; otherwise the bare value is text.
pub(super) fn decimal(whole: &Slice<'_>) -> Result<Option<Test>, FilterError> {
    let read = |slice: &Slice<'_>| {
        Decimal::parse(&slice.text).map(|_| slice.text.clone().into_owned()).ok_or_else(|| {
            let remedy = "a number such as 5, -0.5 or 1e9, or quotes around text";
            FilterError::new(slice.span.clone(), format!("{} is no number", shown(&slice.text)), remedy)
        })
    };
    Ok(match whole.shape() {
        ValueShape::One(_) => None,
        ValueShape::From(least, equal) => Some(Test::Decimal { min: Some((read(&least)?, equal)), max: None }),
        ValueShape::To(most, equal) => Some(Test::Decimal { min: None, max: Some((read(&most)?, equal)) }),
        ValueShape::Between(a, b) => {
            let ends = |slice: Option<Slice<'_>>| slice.map(|slice| read(&slice)).transpose();
            let (Ok(min), Ok(max)) = (ends(a), ends(b)) else { return Ok(None) };
            let reversed = min.as_deref().and_then(Decimal::parse) > max.as_deref().and_then(Decimal::parse);
            if reversed && max.is_some() {
                return Err(FilterError::new(whole.span.clone(), "the range holds no number", "its lower end first"));
            }
            Some(Test::Decimal { min: min.map(|min| (min, true)), max: max.map(|max| (max, true)) })
        }
    })
}
