//! Terms of time: the bounds that spans and moments set.

use std::time::Duration;

use super::datetime::{HOUR, Stretch, moment};
use super::error::{FilterError, shown};
use super::value::{Slice, ValueShape};
use super::{Test, TimeBound};
use crate::domain::mark::{self, MarkName};
use crate::domain::time::{Timestamp, parse_span};

/// Longest span that a filter takes, in seconds: a thousand years.
const LONGEST_SPAN: u64 = 31_557_600_000;

const MOMENT: &str = "a date or time such as 2026-11-20, 2026-11-20T03 or 2026-11-20T03:12:09Z";
const SPAN: &str = "a span such as 90s, 15m, 2h, 7d or 1h30m";

/// An end of a range of time as written.
enum RangeEnd {
    Span(Duration),
    Moment(Stretch),
    Mark(MarkName),
}

impl RangeEnd {
    /// The bound that it sets, which is the start of what it names.
    fn bound(self) -> TimeBound {
        match self {
            RangeEnd::Span(span) => TimeBound::Ago(span),
            RangeEnd::Moment(stretch) => TimeBound::At(stretch.start),
            RangeEnd::Mark(name) => TimeBound::Mark(name),
        }
    }
}

/// Reads a moment, or a span before `now`.
///
/// # Errors
/// With what was expected, where the text is neither.
pub fn instant(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Some(stretch) = moment(text) {
        return Ok(stretch.start);
    }
    match parse_span(text) {
        Ok(span) if span.as_secs() <= LONGEST_SPAN => Ok(now.before(span)),
        _ => Err(format!("{} is no time: write {MOMENT}, or {SPAN} ago", shown(text))),
    }
}

pub(super) fn since(slice: &Slice<'_>) -> Result<Test, FilterError> {
    Ok(Test::Time { from: Some(end(slice)?.bound()), to: None })
}

pub(super) fn until(slice: &Slice<'_>) -> Result<Test, FilterError> {
    Ok(Test::Time { from: None, to: Some(end(slice)?.bound()) })
}

pub(super) fn hour(slice: &Slice<'_>) -> Result<Test, FilterError> {
    let stretch = moment(&slice.text).ok_or_else(|| {
        FilterError::new(
            slice.span.clone(),
            format!("{} is no hour", shown(&slice.text)),
            "an hour such as 2026-11-20T03",
        )
    })?;
    let start = Timestamp(stretch.start.0.div_euclid(HOUR).saturating_mul(HOUR));
    Ok(closed(start..Timestamp(start.0.saturating_add(HOUR))))
}

pub(super) fn time(slice: &Slice<'_>) -> Result<Test, FilterError> {
    let moment = |slice: &Slice<'_>| match end(slice)? {
        RangeEnd::Moment(stretch) => Ok(stretch),
        RangeEnd::Span(_) => Err(FilterError::new(
            slice.span.clone(),
            format!("{} alone is no time", shown(&slice.text)),
            format!("{MOMENT}, or `since:` and `until:` for spans"),
        )),
        RangeEnd::Mark(name) => Err(FilterError::new(
            slice.span.clone(),
            "a mark alone is no range of time",
            format!("`since:@{name}`, `until:@{name}`, or a range such as `at:@{name}..@NAME`"),
        )),
    };
    let from = |at| Test::Time { from: Some(TimeBound::At(at)), to: None };
    let to = |at| Test::Time { from: None, to: Some(TimeBound::At(at)) };
    Ok(match slice.shape() {
        ValueShape::One(one) => closed(moment(&one)?),
        ValueShape::From(least, true) => from(moment(&least)?.start),
        ValueShape::From(least, false) => from(moment(&least)?.end),
        ValueShape::To(most, true) => to(moment(&most)?.end),
        ValueShape::To(most, false) => to(moment(&most)?.start),
        ValueShape::Between(a, b) => {
            let (from, to) = ends(slice, a, b)?;
            between(slice, from, to)?
        }
    })
}

/// A span is an age that the last touch has at least; a moment, what `at:` would make of it, but alone a latest end.
pub(super) fn idle(slice: &Slice<'_>) -> Result<Test, FilterError> {
    let age = |slice: &Slice<'_>| span(slice).map(TimeBound::Ago);
    Ok(match slice.shape() {
        ValueShape::One(one) => Test::Time { from: None, to: Some(end(&one)?.bound()) },
        ValueShape::From(least, _) => Test::Time { from: None, to: Some(age(&least)?) },
        ValueShape::To(most, _) => Test::Time { from: Some(age(&most)?), to: None },
        ValueShape::Between(a, b) => match ends(slice, a, b)? {
            // The longer idle, the earlier touched: spans change places.
            (least, most) if [&least, &most].into_iter().flatten().any(|end| matches!(end, TimeBound::Ago(_))) => {
                between(slice, most, least)?
            }
            (from, to) => between(slice, from, to)?,
        },
    })
}

fn closed(stretch: Stretch) -> Test {
    Test::Time { from: Some(TimeBound::At(stretch.start)), to: Some(TimeBound::At(stretch.end)) }
}

type Bounds = (Option<TimeBound>, Option<TimeBound>);

/// Both ends of a range; of one sort, so that whether it is empty does not hang on when the filter is resolved.
fn ends(whole: &Slice<'_>, a: Option<Slice<'_>>, b: Option<Slice<'_>>) -> Result<Bounds, FilterError> {
    let read = |slice: Option<Slice<'_>>| slice.map(|slice| Ok::<_, FilterError>(end(&slice)?.bound())).transpose();
    match (read(a)?, read(b)?) {
        (Some(TimeBound::Ago(_)), Some(TimeBound::At(_) | TimeBound::Mark(_)))
        | (Some(TimeBound::At(_) | TimeBound::Mark(_)), Some(TimeBound::Ago(_))) => Err(FilterError::new(
            whole.span.clone(),
            "a range mixes a span and a moment",
            "two spans or two moments, or `since:` and `until:` beside each other",
        )),
        ends => Ok(ends),
    }
}

fn between(whole: &Slice<'_>, from: Option<TimeBound>, to: Option<TimeBound>) -> Result<Test, FilterError> {
    let empty = match (&from, &to) {
        (Some(TimeBound::At(from)), Some(TimeBound::At(to))) => from >= to,
        (Some(TimeBound::Ago(from)), Some(TimeBound::Ago(to))) => from <= to,
        _ => false,
    };
    if empty {
        return Err(FilterError::new(whole.span.clone(), "the range holds no time", "its lower end first"));
    }
    Ok(Test::Time { from, to })
}

fn end(slice: &Slice<'_>) -> Result<RangeEnd, FilterError> {
    if let Some(name) = slice.text.strip_prefix(mark::SIGN) {
        let wrong = |_| {
            let problem = format!("{} names no mark", shown(&slice.text));
            FilterError::new(slice.span.clone(), problem, "`@` and the name of a mark, such as `@v2.3.1`")
        };
        return MarkName::parse(name).map(RangeEnd::Mark).map_err(wrong);
    }
    match moment(&slice.text) {
        Some(stretch) => Ok(RangeEnd::Moment(stretch)),
        // A text with a dash or a colon was meant as a date.
        None if slice.text.contains(['-', ':', 'µ', 'μ']) => {
            Err(FilterError::new(slice.span.clone(), format!("{} is no time", shown(&slice.text)), MOMENT))
        }
        None => span(slice)
            .map(RangeEnd::Span)
            .map_err(|fault| FilterError { expected: format!("{SPAN}, or {MOMENT}"), ..fault }),
    }
}

fn span(slice: &Slice<'_>) -> Result<Duration, FilterError> {
    let fault = |problem: String| FilterError::new(slice.span.clone(), problem, SPAN);
    match parse_span(&slice.text) {
        Ok(span) if span.as_secs() <= LONGEST_SPAN => Ok(span),
        Ok(_) => Err(fault(format!("{} is longer than 1000 years", shown(&slice.text)))),
        Err(_) => Err(fault(format!("{} is no span of time", shown(&slice.text)))),
    }
}
