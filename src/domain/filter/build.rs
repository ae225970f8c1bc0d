//! Filters made from filters: narrowed, widened, resolved.

use super::error::ParseError;
use super::key::{KeyInfo, ValueKind};
use super::{Filter, Key, LAST_RUN, Pattern, Term, Test, TimeBound, datetime, parse, quote};
use crate::domain::facet::Facet;
use crate::domain::mark::{MarkName, SIGN};
use crate::domain::time::Timestamp;

impl Filter {
    /// This filter with one more term, quoted so that exactly `value` is meant (for searched keys: contained); `None`
    /// selects jobs without a value. A key that is there already gains an alternative: to replace it, see
    /// [`Filter::narrow`].
    ///
    /// # Errors
    /// If the value is none that the key can take, such as text for a number.
    pub fn with(&self, key: &Key, value: Option<&str>, negated: bool) -> Result<Filter, ParseError> {
        self.with_term(&term_text(KeyInfo::of(key), key, value), negated)
    }

    /// This filter narrowed to values of a facet that its histogram showed: they take the place of the terms that
    /// chose among the facet's values before; negated terms and bounds of time stay. Without values it stays as it is.
    ///
    /// # Errors
    /// If a value is none that the facet's key can take.
    pub fn narrow(&self, facet: Facet, values: &[Option<&str>]) -> Result<Filter, ParseError> {
        self.narrow_by(&Key::of_facet(facet), values, |value| Filter::term_for(facet, value))
    }

    /// The same by the values at a path of the arguments.
    ///
    /// # Errors
    /// If a value cannot be written as a term.
    pub fn narrow_argument(&self, keys: &[String], values: &[Option<&str>]) -> Result<Filter, ParseError> {
        let key = Key::Arg(keys.to_vec());
        self.narrow_by(&key, values, |value| term_text(KeyInfo::of(&key), &key, value))
    }

    fn narrow_by(
        &self,
        key: &Key,
        values: &[Option<&str>],
        term: impl Fn(Option<&str>) -> String,
    ) -> Result<Filter, ParseError> {
        if values.is_empty() {
            return Ok(self.clone());
        }
        let mut filter = self.keep(|term| term.negated || term.joins() != (key, 0));
        for value in values {
            filter = filter.with_term(&term(*value), false)?;
        }
        Ok(filter)
    }

    /// This filter with the jobs of one value of a facet left out.
    ///
    /// # Errors
    /// If the value is none that the facet's key can take.
    pub fn exclude(&self, facet: Facet, value: Option<&str>) -> Result<Filter, ParseError> {
        self.with_term(&Filter::term_for(facet, value), true)
    }

    /// This filter without the terms of a key, negated ones and every spelling of it included.
    pub fn without(&self, key: &Key) -> Filter {
        self.keep(|term| term.key != *key)
    }

    /// This filter without the terms that only the ledger can judge.
    pub fn without_ledger_terms(&self) -> Filter {
        self.keep(|term| !term.key.is_of_ledger())
    }

    /// This filter with `run` in place of `run:last`.
    pub fn with_last_run(&self, run: &str) -> Filter {
        let named = |term: &Term| match &term.test {
            Test::Text(Pattern::Equals(last)) if term.key == Key::Run && last == LAST_RUN => {
                let sign = if term.negated { "-" } else { "" };
                let text = format!("{sign}{}", term_text(term.info, &term.key, Some(run)));
                Term { test: Test::Text(Pattern::Equals(run.to_owned())), text, ..term.clone() }
            }
            _ => term.clone(),
        };
        parse::rejoin(self.terms.iter().map(named).collect())
    }

    /// The term that selects one value of a facet, `None` standing for jobs that have none.
    ///
    /// It parses for every text; for hours and fingerprints, which are no free text, if the value is one.
    pub fn term_for(facet: Facet, value: Option<&str>) -> String {
        let key = Key::of_facet(facet);
        let own = KeyInfo::of(&key);
        let info = if facet == Facet::Hour { KeyInfo::from_word(facet.word()).unwrap_or(own) } else { own };
        term_text(info, &key, value)
    }

    /// This filter with relative times counted from the whole second of `now`, and printed so: `since:2h` becomes
    /// `since:2026-11-20T01:12:09Z`. Everything else stays as it was written.
    pub fn resolve(&self, now: Timestamp) -> Filter {
        let resolve = |term: &Term| {
            let test = term.test.resolve(now);
            if test == term.test {
                return term.clone();
            }
            term.with_times(test)
        };
        parse::rejoin(self.terms.iter().map(resolve).collect())
    }

    /// Whether it names marks, whose moments only the ledger knows.
    pub fn names_marks(&self) -> bool {
        let is_mark = |bound: &Option<TimeBound>| matches!(bound, Some(TimeBound::Mark(_)));
        self.terms.iter().any(|term| matches!(&term.test, Test::Time { from, to } if is_mark(from) || is_mark(to)))
    }

    /// This filter with the moments of the marks that it names, printed so; relative times beside them must be resolved
    /// before.
    ///
    /// # Errors
    /// As `moment` has it of a mark.
    pub fn with_marks<E>(&self, moment: impl Fn(&MarkName) -> Result<Timestamp, E>) -> Result<Filter, E> {
        let instant = |bound: &Option<TimeBound>| match bound {
            Some(TimeBound::Mark(name)) => moment(name).map(|at| Some(TimeBound::At(at))),
            bound => Ok(bound.clone()),
        };
        let resolve = |term: &Term| match &term.test {
            Test::Time { from, to } => {
                let test = Test::Time { from: instant(from)?, to: instant(to)? };
                Ok(if test == term.test { term.clone() } else { term.with_times(test) })
            }
            _ => Ok(term.clone()),
        };
        Ok(parse::rejoin(self.terms.iter().map(resolve).collect::<Result<_, E>>()?))
    }

    /// Filters that together select every job which this one does not, each job by one of them only. Which states are meant
    /// stays as it is.
    pub fn complement(&self) -> Vec<Filter> {
        let groups = parse::groups(&self.terms);
        let first = |group: &Vec<usize>| group.first().map(|at| &self.terms[*at]);
        let is_state = |group: &Vec<usize>| first(group).is_some_and(|t| matches!(t.key, Key::State | Key::Native));
        let (states, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_state);
        // What is negated comes first: turned round, it must not become an alternative to a term of its key. Outcomes come last:
        // they mean nothing without their run.
        others.sort_by_key(|group| first(group).map(|term| (term.key == Key::Outcome, !term.negated)));
        let terms =
            |groups: &[Vec<usize>]| groups.concat().into_iter().map(|at| self.terms[at].clone()).collect::<Vec<_>>();
        let part = |nth: usize| {
            let failing = terms(&others[nth..=nth]).into_iter().map(Term::turned);
            parse::rejoin([terms(&states), terms(&others[..nth])].concat().into_iter().chain(failing).collect())
        };
        (0..others.len()).map(part).collect()
    }

    /// Whether any bound of time is relative.
    pub fn is_relative(&self) -> bool {
        let ago = |bound: &Option<TimeBound>| matches!(bound, Some(TimeBound::Ago(_)));
        self.terms.iter().any(|term| matches!(&term.test, Test::Time { from, to } if ago(from) || ago(to)))
    }

    /// This filter as text without the values that may be somebody's own: `args.user_id:…`. Ids, and whatever looks into
    /// arguments, messages or free words.
    pub fn without_values(&self) -> String {
        let text = |term: &Term| match &term.key {
            Key::Arg(_) | Key::Message | Key::Id => match term.text.split_once(':') {
                Some((key, _)) => format!("{key}:…"),
                None => "…".to_owned(),
            },
            Key::Word => "…".to_owned(),
            _ => term.text.clone(),
        };
        self.terms.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    fn with_term(&self, term: &str, negated: bool) -> Result<Filter, ParseError> {
        let sign = if negated { "-" } else { "" };
        let space = if self.terms.is_empty() { "" } else { " " };
        Filter::parse(&format!("{self}{space}{sign}{term}"))
    }

    fn keep(&self, which: impl Fn(&Term) -> bool) -> Filter {
        parse::rejoin(self.terms.iter().filter(|term| which(term)).cloned().collect())
    }
}

impl Term {
    /// The term with another test of time, printed as its key spells it.
    fn with_times(&self, test: Test) -> Term {
        let sign = if self.negated { "-" } else { "" };
        Term { text: format!("{sign}{}:{}", self.info.word, times(self.info.kind, &test)), test, ..self.clone() }
    }

    /// The term that passes what this one does not.
    fn turned(self) -> Term {
        let text = match self.text.strip_prefix('-').filter(|_| self.negated) {
            Some(rest) => rest.to_owned(),
            None => format!("-{}", self.text),
        };
        Term { negated: !self.negated, text, ..self }
    }
}

fn term_text(info: &KeyInfo, key: &Key, value: Option<&str>) -> String {
    let value = value.unwrap_or_default();
    match (info.kind, key) {
        _ if *key == Key::Word => quote::text(value),
        // What an adapter could not normalise can still be named by the framework's own word.
        (ValueKind::State, _) if crate::domain::job::State::from_word(value).is_none() => {
            format!("native:{}", quote::value(value, ValueKind::Text))
        }
        (ValueKind::Argument, Key::Arg(_)) => format!("{}:{}", key.word(), quote::value(value, info.kind)),
        (kind, _) => format!("{}:{}", info.word, quote::value(value, kind)),
    }
}

/// A resolved test of time as its key spells it.
fn times(kind: ValueKind, test: &Test) -> String {
    let Test::Time { from, to } = test else { return String::new() };
    let text = |bound: &Option<TimeBound>| match bound {
        Some(TimeBound::At(at)) => datetime::text(*at),
        Some(TimeBound::Mark(name)) => format!("{SIGN}{name}"),
        _ => String::new(),
    };
    match kind {
        ValueKind::Since => text(from),
        ValueKind::Until => text(to),
        ValueKind::Idle if from.is_none() => text(to),
        _ => format!("{}..{}", text(from), text(to)),
    }
}
