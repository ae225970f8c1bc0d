//! A filter applied to jobs that are in memory.
//!
//! The store's statements must agree with this, row for row. What a missing value does:
//!
//! | term | value present | empty text | missing (NULL) |
//! |---|---|---|---|
//! | `key:""` | fails | holds | holds |
//! | any other `key:value` | as tested | as tested | fails |
//! | `-key:""` | holds | fails | fails |
//! | any other `-key:value` | opposite of the test | opposite of the test | holds |
//!
//! An argument path has many values or none: a test holds when any of them passes, `""` when none is there or all are
//! empty. A state is never missing. A free word is looked for in error class, job class and message; those that are
//! missing do not contain it.

use std::borrow::Cow;

use super::decimal::Decimal;
use super::key::{KeyInfo, ValueKind};
use super::pattern::Matcher;
use super::{Clause, Filter, Key, Pattern, Test, TimeBound};
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// A job as filters read it.
pub trait Subject {
    /// The text of error, class, queue, reason, worker, message, native state, fingerprint or id; `None` where the job
    /// has none, and for every other key.
    fn text(&self, key: &Key) -> Option<Cow<'_, str>>;

    /// Attempts made, or how often it was replayed (a job that the ledger does not know: 0).
    fn number(&self, key: &Key) -> Option<i64>;

    /// The time of death, or for [`Key::Idle`] when the row was last touched.
    fn time(&self, key: &Key) -> Option<Timestamp>;

    /// The normalised state.
    fn state(&self) -> State;

    /// The arguments as the text that the database holds.
    fn arguments(&self) -> Option<Cow<'_, str>>;

    /// The scalars at a path of object keys, arrays on the way and at its end searched element by element: strings
    /// unescaped, numbers and booleans as written; nothing for null and for objects.
    fn argument_values(&self, path: &[String]) -> Vec<Cow<'_, str>>;
}

/// A filter made ready for many jobs: relative times resolved, regular expressions compiled.
#[derive(Clone, Debug)]
pub struct CompiledFilter {
    clauses: Vec<CompiledClause>,
}

#[derive(Clone, Debug)]
struct CompiledClause {
    key: Key,
    negated: bool,
    any: Vec<Check>,
}

#[derive(Clone, Debug)]
enum Check {
    Missing,
    Text(Matcher),
    State(State),
    Number { min: Option<i64>, max: Option<i64> },
    Decimal { min: Option<(Decimal, bool)>, max: Option<(Decimal, bool)> },
    Time { from: Option<Timestamp>, to: Option<Timestamp> },
}

impl Filter {
    /// Makes the filter ready for many jobs, with relative times counted from `now` as [`Filter::resolve`] does.
    pub fn compile(&self, now: Timestamp) -> CompiledFilter {
        self.compile_only(now, |_| true)
    }

    /// As [`Filter::compile`], with only the clauses that `keep` picks: for a caller that has tested the others already.
    pub fn compile_only(&self, now: Timestamp, keep: impl Fn(&Clause) -> bool) -> CompiledFilter {
        let clauses = self.clauses().iter().filter(|clause| keep(clause));
        CompiledFilter { clauses: clauses.map(|clause| clause.compile(now)).collect() }
    }
}

impl CompiledFilter {
    /// Whether the job passes.
    pub fn matches(&self, subject: &dyn Subject) -> bool {
        self.clauses.iter().all(|clause| clause.matches(subject))
    }
}

impl Clause {
    /// Whether the job passes this clause. Compiles each time: for many jobs use [`Filter::compile`].
    pub fn matches(&self, subject: &dyn Subject, now: Timestamp) -> bool {
        self.compile(now).matches(subject)
    }

    fn compile(&self, now: Timestamp) -> CompiledClause {
        let any = self.any.iter().map(|test| Check::new(&test.resolve(now))).collect();
        CompiledClause { key: self.key.clone(), negated: self.negated, any }
    }
}

impl CompiledClause {
    fn matches(&self, subject: &dyn Subject) -> bool {
        self.any.iter().any(|check| check.holds(&self.key, subject)) != self.negated
    }
}

impl Test {
    /// The test with relative times counted from the whole second of `now`. Marks stay: see [`Filter::with_marks`].
    pub fn resolve(&self, now: Timestamp) -> Test {
        const SECOND: i64 = 1_000_000;
        let now = Timestamp(now.0.div_euclid(SECOND).saturating_mul(SECOND));
        let resolve = |bound: TimeBound| match bound {
            TimeBound::Ago(span) => TimeBound::At(now.before(span)),
            other => other,
        };
        match self {
            Test::Time { from, to } => Test::Time { from: from.clone().map(resolve), to: to.clone().map(resolve) },
            test => test.clone(),
        }
    }
}

impl Check {
    /// From a test whose times are resolved.
    fn new(test: &Test) -> Check {
        let at = |bound: &TimeBound| match bound {
            TimeBound::At(at) => Some(*at),
            TimeBound::Ago(_) | TimeBound::Mark(_) => None,
        };
        let end = |end: &Option<(String, bool)>| {
            end.as_ref().and_then(|(number, equal)| Decimal::parse(number).map(|number| (number, *equal)))
        };
        match test {
            Test::Text(pattern) if pattern.is_none() => Check::Missing,
            Test::Text(pattern) => Check::Text(Pattern::matcher(pattern)),
            Test::State(state) => Check::State(*state),
            Test::Number { min, max } => Check::Number { min: *min, max: *max },
            Test::Decimal { min, max } => Check::Decimal { min: end(min), max: end(max) },
            Test::Time { from, to } => Check::Time { from: from.as_ref().and_then(at), to: to.as_ref().and_then(at) },
        }
    }

    fn holds(&self, key: &Key, subject: &dyn Subject) -> bool {
        match self {
            Check::Missing => missing(key, subject),
            Check::Text(matcher) => any_text(key, subject, |text| matcher.is_match(text)),
            Check::State(state) => subject.state() == *state,
            Check::Number { min, max } => {
                subject.number(key).is_some_and(|n| min.is_none_or(|min| n >= min) && max.is_none_or(|max| n <= max))
            }
            Check::Decimal { min, max } => any_text(key, subject, |text| {
                Decimal::parse(text).is_some_and(|number| {
                    min.as_ref().is_none_or(|(min, equal)| number > *min || (*equal && number == *min))
                        && max.as_ref().is_none_or(|(max, equal)| number < *max || (*equal && number == *max))
                })
            }),
            Check::Time { from, to } => {
                subject.time(key).is_some_and(|at| from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to))
            }
        }
    }
}

fn missing(key: &Key, subject: &dyn Subject) -> bool {
    match KeyInfo::of(key).kind {
        ValueKind::Number => subject.number(key).is_none(),
        ValueKind::Time | ValueKind::Since | ValueKind::Until | ValueKind::Hour | ValueKind::Idle => {
            subject.time(key).is_none()
        }
        ValueKind::State | ValueKind::Run | ValueKind::Outcome => false,
        ValueKind::Text | ValueKind::Search | ValueKind::Hex | ValueKind::Argument => {
            !any_text(key, subject, |text| !text.is_empty())
        }
    }
}

/// Whether any of the texts of a key passes.
fn any_text(key: &Key, subject: &dyn Subject, test: impl Fn(&str) -> bool) -> bool {
    match key {
        Key::Arg(path) if path.is_empty() => subject.arguments().is_some_and(|text| test(&text)),
        Key::Arg(path) => subject.argument_values(path).iter().any(|value| test(value)),
        Key::Word => {
            [Key::Error, Key::Class, Key::Message].iter().any(|key| subject.text(key).is_some_and(|text| test(&text)))
        }
        key => subject.text(key).is_some_and(|text| test(&text)),
    }
}
