//! What is said where a filter selects no job: what there is instead. A help on standard error, and no answer.

use std::collections::BTreeSet;

use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::domain::contrast::ValueCounts;
use crate::domain::facet::Facet;
use crate::domain::filter::{Clause, Filter, Key, Pattern, Test};
use crate::domain::histogram::grouped;
use crate::domain::redact::Redactor;
use crate::domain::text::{Clean, Untrusted};
use crate::store::HistogramQuery;
use crate::triage::contrast::sample_values;

/// Jobs whose arguments are read, the newest first.
const SAMPLE: usize = 100;

/// The longest path and value that are shown.
const LONGEST: usize = 60;

/// Says what the keys of a filter could have matched. Each key costs a bounded step, and a database that fails here fails
/// nothing.
pub async fn explain(opened: &OpenedStore, filter: &Filter) {
    facets(opened, filter).await;
    let paths = filter.clauses().iter().filter(|clause| !clause.negated && wants_a_value(clause));
    let paths: BTreeSet<&[String]> = paths.filter_map(path_of).collect();
    if paths.is_empty() {
        return;
    }
    let Some(seen) = sample(opened, filter).await else { return };
    paths.into_iter().filter_map(|path| seen.note(path)).for_each(|note| output::say(&note));
}

/// Says what stands near a path of the arguments that no job of the filter has.
pub async fn explain_path(opened: &OpenedStore, filter: &Filter, keys: &[String]) {
    let seen = sample(opened, filter).await;
    seen.and_then(|seen| seen.note(keys)).into_iter().for_each(|note| output::say(&note));
}

/// Says which values the facets in a filter have among all dead jobs.
async fn facets(opened: &OpenedStore, filter: &Filter) {
    let offered = &opened.desk.store.info().capabilities.facets;
    let asked: BTreeSet<Facet> = filter.clauses().iter().filter_map(|clause| clause.key.facet()).collect();
    for facet in asked.into_iter().filter(|facet| offered.contains(facet)) {
        let query = HistogramQuery::exact(facet, Filter::all(), None);
        let Ok(step) = opened.desk.count(query, &opened.budget).await else { return };
        let mut histogram = opened.masked_histogram(step.histogram);
        histogram.bars.sort_by_key(|bar| std::cmp::Reverse(bar.count.n));
        let bars = histogram.bars.iter().map(|bar| {
            let value = bar.value.as_ref().map_or_else(|| "(none)".to_owned(), |v| v.line_head(LONGEST).to_string());
            format!("{value} {}", bar.count)
        });
        if let Some(named) = output::listed(bars) {
            output::say(&format!("no job matches; dead jobs by {facet}: {named}"));
        }
    }
}

fn path_of(clause: &Clause) -> Option<&[String]> {
    match &clause.key {
        Key::Arg(path) if !path.is_empty() => Some(path),
        _ => None,
    }
}

/// Whether a clause asks for a value, and not for jobs that have none.
fn wants_a_value(clause: &Clause) -> bool {
    !clause.any.iter().any(|test| matches!(test, Test::Text(Pattern::Equals(text)) if text.is_empty()))
}

/// Reads the arguments of the newest jobs that the rest of the filter selects. `None` where there are none, or the database
/// fails: then the path is not what is wrong.
async fn sample<'o>(opened: &'o OpenedStore, filter: &Filter) -> Option<SeenArguments<'o>> {
    let rest = filter.clauses().iter().filter(|clause| path_of(clause).is_some());
    let rest = rest.fold(filter.clone(), |rest, clause| rest.without(&clause.key));
    let is_part = !rest.is_all();
    let counts = sample_values(&opened.desk, &rest, SAMPLE, &opened.budget).await.ok()?;
    (counts.jobs() > 0).then_some(SeenArguments { is_part, counts, redactor: &opened.desk.redactor })
}

/// What the arguments of some jobs hold.
struct SeenArguments<'r> {
    /// Whether only a part of all jobs was read, as the filter has other terms.
    is_part: bool,
    counts: ValueCounts,
    redactor: &'r Redactor,
}

impl SeenArguments<'_> {
    /// Whether a text has no secret in it, a part of which is not shown either: the rest may give it away.
    fn is_shown(&self, text: &str) -> bool {
        self.redactor.prose(text) == text
    }

    /// What is to be said of a path that a filter names.
    fn note(&self, path: &[String]) -> Option<String> {
        let rest = if self.is_part { " that the rest of the filter selects" } else { "" };
        let of = match self.counts.jobs() {
            1 => format!("the newest job{rest}"),
            n => format!("the newest {} jobs{rest}", grouped(n)),
        };
        // A number names an element of an array, and may be left out.
        let keys: Vec<String> = path.iter().filter(|step| step.parse::<u32>().is_err()).cloned().collect();
        if let Some(path) = [path, &keys].into_iter().find(|path| self.counts.has_value(path)) {
            let told = self.counts.values(path).into_iter().filter(|(value, _)| self.is_shown(value));
            let value =
                |(value, n): (&str, u64)| format!("{} {}", Untrusted::from(value).line_head(LONGEST), grouped(n));
            let told = output::listed(told.map(value)).unwrap_or_else(|| "masked".to_owned());
            return Some(format!("values of {} in {of}: {told}", shown(path)));
        }
        let near = self.counts.near(path).into_iter().map(|key| key.word().into_owned());
        let near = near.filter(|word| self.is_shown(word)).map(|word| Clean::line(&word).to_string());
        let near = output::listed(near.filter(|word| word.len() <= LONGEST));
        let near = near.map_or_else(String::new, |near| format!("; paths seen: {near}"));
        Some(format!("no job has a value at {} among {of}{near}", shown(path)))
    }
}

/// A path as filters write it.
fn shown(path: &[String]) -> String {
    Clean::line(&Key::Arg(path.to_vec()).word()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::contrast::ComparedJob;
    use crate::domain::json::{Document, JsonHighlights};

    /// What some jobs hold, as it is read.
    fn seen<'r>(redactor: &'r Redactor, arguments: &[&str]) -> SeenArguments<'r> {
        let mut counts = ValueCounts::default();
        for text in arguments {
            let document = Document::parse((*text).to_owned()).expect("JSON");
            let mut marks = JsonHighlights::default();
            redactor.mark(&document, &mut marks);
            counts.add(&ComparedJob { fields: &[], arguments: Some(&document), marks: &marks });
        }
        SeenArguments { is_part: false, counts, redactor }
    }

    fn note(seen: &SeenArguments<'_>, word: &str) -> String {
        let Some(Key::Arg(path)) = Key::from_word(word) else { panic!("{word}") };
        seen.note(&path).expect("a note")
    }

    #[test]
    fn path_that_no_job_has_is_told_with_those_that_end_alike_first() {
        let redactor = Redactor::default();
        let seen =
            seen(&redactor, &[r#"{"arguments":[{"amount":7,"currency":"EUR"}],"class":"A"}"#, r#"{"class":"B"}"#]);
        assert_eq!(
            note(&seen, "args.currency"),
            "no job has a value at args.currency among the newest 2 jobs; paths seen: args.arguments.0.currency, args.class, \
             args.arguments.0.amount"
        );
    }

    #[test]
    fn value_that_no_job_has_is_told_with_the_most_common_ones() {
        let job = |currency: &str| format!(r#"[{{"currency":"{currency}"}}]"#);
        let redactor = Redactor::default();
        let seen = seen(&redactor, &[&job("EUR"), &job("USD"), &job("USD")]);
        for word in ["args.currency", "args.0.currency"] {
            assert_eq!(note(&seen, word), "values of args.currency in the newest 3 jobs: USD 2, EUR 1");
        }
    }

    #[test]
    fn what_is_masked_is_never_told() {
        let (redactor, secret) = (Redactor::default(), "sk_live_51H8xYzAbCdEfGh1");
        let seen = seen(&redactor, &[&format!(r#"{{"token":"abc","note":"key {secret} x","{secret}":1}}"#)]);
        assert_eq!(note(&seen, "args.token"), "values of args.token in the newest job: masked");
        assert_eq!(note(&seen, "args.note"), "values of args.note in the newest job: masked");
        let told = note(&seen, "args.x");
        assert!(told.ends_with("paths seen: args.note, args.token"), "{told}");
    }
}
