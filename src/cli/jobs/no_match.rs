//! What is said where a filter selects no job: what there is instead. A help on standard error, and no answer.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::domain::facet::Facet;
use crate::domain::filter::{Clause, Filter, Key, Pattern, Test};
use crate::domain::histogram::grouped;
use crate::domain::job::JobId;
use crate::domain::json::{Document, NodeKind, PathStep, REDACTED, decode_double};
use crate::domain::text::{Clean, Untrusted};
use crate::store::{Cursor, HistogramQuery, PageQuery, ScanMode, Sort, StoreExt};

/// Jobs whose arguments are read, the newest first.
const SAMPLE: usize = 100;

/// Bytes of arguments that are searched: more would cost more than the help is worth.
const MOST_BYTES: usize = 8 << 20;

/// Values of one job that are compared.
const MOST_VALUES: usize = 500;

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
async fn sample(opened: &OpenedStore, filter: &Filter) -> Option<SeenArguments> {
    let rest = filter.clauses().iter().filter(|clause| path_of(clause).is_some());
    let rest = rest.fold(filter.clone(), |rest, clause| rest.without(&clause.key));
    let mut seen = SeenArguments { is_part: !rest.is_all(), ..SeenArguments::default() };
    let query = PageQuery { filter: rest, sort: Sort::default(), cursor: Cursor::Start, limit: SAMPLE };
    let page = opened.desk.scan(query, ScanMode::List, &opened.budget).await.ok()?;
    let ids: Vec<JobId> = page.entries.into_iter().map(|entry| entry.row.id).collect();
    for ids in ids.chunks(SAMPLE / 4) {
        for detail in opened.desk.store.details(ids, &opened.budget).await.ok()? {
            // Masked before anything of it is shown.
            seen.add(opened.masked_detail(detail).arguments.as_ref().map_or("", Untrusted::exact));
        }
        if seen.bytes > MOST_BYTES {
            break;
        }
    }
    (seen.jobs > 0).then_some(seen)
}

/// What the arguments of some jobs hold.
#[derive(Default)]
struct SeenArguments {
    /// Whether only a part of all jobs was read, as the filter has other terms.
    is_part: bool,
    jobs: u64,
    bytes: usize,
    /// By the keys on the way, without the numbers of elements.
    paths: BTreeMap<Vec<String>, SeenValues>,
}

#[derive(Default)]
struct SeenValues {
    /// Jobs that have a value there.
    jobs: u64,
    /// The path with its element numbers, of the first that was seen.
    written: Vec<String>,
    /// Jobs by value; what is masked is not among them.
    values: BTreeMap<String, u64>,
}

impl SeenArguments {
    /// Adds the arguments of a job, in which secrets are masked.
    fn add(&mut self, arguments: &str) {
        self.jobs += 1;
        self.bytes += arguments.len();
        let Ok(document) = Document::parse(decode_double(arguments).into_owned()) else { return };
        let mut here: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        let leaves = (0..document.node_count()).filter(|node| !document.kind(*node).is_container());
        for node in leaves.take(MOST_VALUES).filter(|node| document.kind(*node) != NodeKind::Null) {
            let steps = document.steps(node);
            if steps.iter().any(|step| matches!(step, PathStep::Key(key, _) if key.contains(REDACTED))) {
                continue;
            }
            let keys = steps.iter().filter(|step| matches!(step, PathStep::Key(..))).map(word_of).collect::<Vec<_>>();
            self.paths.entry(keys.clone()).or_insert_with(|| SeenValues {
                written: steps.iter().map(word_of).collect(),
                ..SeenValues::default()
            });
            let values = here.entry(keys).or_default();
            // A value of which a part is masked is not shown either: the rest may give it away.
            let value = document.scalar(node).filter(|value| !value.contains(REDACTED));
            values.extend(value.map(|value| value.into_owned()));
        }
        for (path, found) in here {
            let Some(values) = self.paths.get_mut(&path) else { continue };
            values.jobs += 1;
            for value in found {
                *values.values.entry(value).or_default() += 1;
            }
        }
    }

    /// What is to be said of a path that a filter names.
    fn note(&self, path: &[String]) -> Option<String> {
        let rest = if self.is_part { " that the rest of the filter selects" } else { "" };
        let of = match self.jobs {
            1 => format!("the newest job{rest}"),
            n => format!("the newest {} jobs{rest}", grouped(n)),
        };
        // A number names an element of an array, and may be left out.
        let keys: Vec<String> = path.iter().filter(|step| step.parse::<u32>().is_err()).cloned().collect();
        let there = [path, &keys].into_iter().find_map(|path| Some((path, self.paths.get(path)?)));
        if let Some((path, values)) = there {
            let mut told: Vec<(&String, &u64)> = values.values.iter().collect();
            told.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            let value = |(value, n): (&String, &u64)| {
                format!("{} {}", Untrusted::from(value.as_str()).line_head(LONGEST), grouped(*n))
            };
            let told = output::listed(told.into_iter().map(value)).unwrap_or_else(|| "masked".to_owned());
            return Some(format!("values of {} in {of}: {told}", shown(path)));
        }
        let mut near: Vec<&SeenValues> = self.paths.values().collect();
        let is_near = |values: &SeenValues| values.written.starts_with(path) || values.written.last() == path.last();
        near.sort_by_key(|values| (!is_near(values), std::cmp::Reverse(values.jobs)));
        let near = near.into_iter().map(|values| shown(&values.written)).filter(|word| word.len() <= LONGEST);
        let near = output::listed(near).map_or_else(String::new, |near| format!("; paths seen: {near}"));
        Some(format!("no job has a value at {} among {of}{near}", shown(path)))
    }
}

/// A key or the number of an element, as filters write it.
fn word_of(step: &PathStep) -> String {
    match step {
        PathStep::Key(key, _) => key.clone(),
        PathStep::Index(nth) => nth.to_string(),
    }
}

/// A path as filters write it.
fn shown(path: &[String]) -> String {
    Clean::line(&Key::Arg(path.to_vec()).word()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(arguments: &[&str]) -> SeenArguments {
        let mut seen = SeenArguments::default();
        arguments.iter().for_each(|text| seen.add(text));
        seen
    }

    fn note(seen: &SeenArguments, word: &str) -> String {
        let Some(Key::Arg(path)) = Key::from_word(word) else { panic!("{word}") };
        seen.note(&path).expect("a note")
    }

    #[test]
    fn path_that_no_job_has_is_told_with_those_that_end_alike_first() {
        let seen = seen(&[r#"{"arguments":[{"amount":7,"currency":"EUR"}],"class":"A"}"#, r#"{"class":"B"}"#]);
        assert_eq!(
            note(&seen, "args.currency"),
            "no job has a value at args.currency among the newest 2 jobs; paths seen: args.arguments.0.currency, args.class, \
             args.arguments.0.amount"
        );
    }

    #[test]
    fn value_that_no_job_has_is_told_with_the_most_common_ones() {
        let job = |currency: &str| format!(r#"[{{"currency":"{currency}"}}]"#);
        let seen = seen(&[&job("EUR"), &job("USD"), &job("USD")]);
        for word in ["args.currency", "args.0.currency"] {
            assert_eq!(note(&seen, word), "values of args.currency in the newest 3 jobs: USD 2, EUR 1");
        }
    }

    #[test]
    fn what_is_masked_is_never_told() {
        let seen = seen(&[&format!(r#"{{"token":"{REDACTED}","note":"key {REDACTED} x","{REDACTED}":1}}"#)]);
        assert_eq!(note(&seen, "args.token"), "values of args.token in the newest job: masked");
        assert_eq!(note(&seen, "args.note"), "values of args.note in the newest job: masked");
        let told = note(&seen, "args.x");
        assert!(told.ends_with("paths seen: args.note, args.token"), "{told}");
    }
}
