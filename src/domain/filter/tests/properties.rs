use proptest::prelude::*;

use super::super::{Filter, Key, Pattern, Test};
use super::{Job, NOW, parse};
use crate::domain::facet::Facet;
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// Text that looks like a filter, right and wrong.
fn almost() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "error:", "args.", "args.\"", "-", "\"", "/", " ", "  ", ":", "::", ">=", "<", "..", "*", "\\", "2h", "since:",
            "at:", "idle:", "2026-11-20", "T03", "attempts:", "5", "state:", "dead", "fp:", "1f", "msg:", "x", "é", "\\u{41}",
            "OR", "(", "[a-z]", "hour:", "native:", "1e5", "\n", "args:",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// A term that parses, with the key and test it must parse to.
fn term() -> impl Strategy<Value = (String, Key, Test)> {
    let quote = |text: &str| super::super::quote::text(text);
    let text_key =
        prop::sample::select(vec![Key::Error, Key::Class, Key::Queue, Key::Reason, Key::Worker, Key::Native, Key::Id])
            .boxed();
    let path = prop::collection::vec(any::<String>(), 1..4).prop_map(Key::Arg).boxed();
    let key = prop_oneof![text_key, path];
    let whole = (key.clone(), any::<String>())
        .prop_map(move |(key, text)| (format!("{}:{}", key.word(), quote(&text)), key, Pattern::Equals(text)));
    let glob = (key, prop::collection::vec("[^\"*\\\\]{1,5}", 2..4))
        .prop_map(|(key, parts)| (format!("{}:\"{}\"", key.word(), parts.join("*")), key, Pattern::Glob(parts)));
    let searched = (prop::sample::select(vec![Key::Message, Key::Word, Key::Arg(vec![])]), "\\PC{1,9}").prop_map(
        move |(key, text)| {
            let colon = if key == Key::Word { "" } else { ":" };
            (format!("{}{colon}{}", key.word(), quote(&text)), key, Pattern::Contains(text))
        },
    );
    let regex = "([a-z .]|\\\\/|\\\\d){1,9}"
        .prop_map(|source| (format!("msg:/{source}/"), Key::Message, Pattern::Regex(source)));
    let texts = prop_oneof![whole, glob, searched, regex].prop_map(|(text, key, p)| (text, key, Test::Text(p)));
    let numbers = (any::<i32>(), any::<u16>()).prop_map(|(min, more)| {
        let max = i64::from(min) + i64::from(more);
        let test = Test::Number { min: Some(min.into()), max: Some(max) };
        (format!("attempts:{min}..{max}"), Key::Attempts, test)
    });
    let states = prop::sample::select(State::ALL.to_vec())
        .prop_map(|state| (format!("state:{state}"), Key::State, Test::State(state)));
    prop_oneof![4 => texts, 1 => numbers, 1 => states]
}

fn job() -> impl Strategy<Value = Job> {
    let text = || prop::option::of("[ab*]{0,3}");
    (
        text(),
        text(),
        prop::option::of(0..9_i64),
        prop::option::of(-9_000..9_000_i64),
        prop::collection::vec("[ab5]{0,2}", 0..3),
    )
        .prop_map(|(error, queue, attempts, ago, values)| {
            let mut job = Job::default();
            for (key, text) in [(Key::Error, error), (Key::Queue, queue)] {
                job.texts.extend(text.map(|text| (key, text)));
            }
            job.numbers.extend(attempts.map(|n| (Key::Attempts, n)));
            job.times.extend(ago.map(|ago| (Key::At, Timestamp(NOW.0 - ago * 1_000_000))));
            job.values.extend(values.into_iter().map(|value| (vec!["n".to_owned()], value)));
            job
        })
}

fn small_term() -> impl Strategy<Value = String> {
    prop_oneof![
        "(error|queue|args[.]n):([ab]{1,2}|a[*]|\"\"|/a/|\"a\\\\[*]\")",
        "attempts:([0-9]|>=5|<5|\"\"|2[.][.]7)",
        "(since|until):(1h|2h|0s)",
        "args[.]n:(>=5|<55|5[.][.]60)",
        "[ab]{1,2}",
    ]
}

/// Whether a character could act on a screen: control characters and bidirectional overrides.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic_and_what_parses_reads_back(text in almost()) {
        match Filter::parse(&text) {
            Ok(filter) => {
                prop_assert_eq!(&Filter::parse(&filter.to_string()).unwrap(), &filter);
                let resolved = filter.resolve(NOW);
                prop_assert_eq!(&Filter::parse(&resolved.to_string()).unwrap(), &resolved);
                prop_assert_eq!(resolved.clauses().len(), filter.clauses().len());
            }
            Err(error) => {
                let length = text.chars().count();
                prop_assert!(error.column() + error.width() <= length, "{} in {:?}", error, text);
                prop_assert!(!error.to_string().is_empty() && error.pointer().contains('^'));
            }
        }
    }

    #[test]
    fn terms_parse_to_what_they_were_printed_from(terms in prop::collection::vec((any::<bool>(), term()), 1..6)) {
        let texts: Vec<String> =
            terms.iter().map(|(negated, (text, ..))| format!("{}{text}", if *negated { "-" } else { "" })).collect();
        let filter = parse(&texts.join("  "));
        prop_assert_eq!(filter.to_string(), texts.join(" "));
        prop_assert_eq!(&parse(&filter.to_string()), &filter);
        for (negated, (_, key, test)) in &terms {
            let holds = |clause: &&super::super::Clause| {
                clause.key == *key && clause.negated == *negated && clause.any.contains(test)
            };
            prop_assert!(filter.clauses().iter().any(|clause| holds(&clause)), "{:?} {:?}", key, test);
        }
        let tests: usize = filter.clauses().iter().map(|clause| clause.any.len()).sum();
        prop_assert_eq!(tests, terms.len());
    }

    #[test]
    fn the_term_for_any_value_means_exactly_that_value_and_shows_nothing_invisible(value: String, other: String) {
        for (facet, key) in [(Facet::Error, Key::Error), (Facet::Queue, Key::Queue), (Facet::Reason, Key::Reason)] {
            let term = Filter::term_for(facet, Some(&value));
            prop_assert!(!term.chars().any(acts), "{:?}", term);
            let filter = Filter::parse(&term).unwrap();
            prop_assert_eq!(&filter.clauses()[0].any, &[Test::Text(Pattern::Equals(value.clone()))]);
            let compiled = filter.compile(NOW);
            prop_assert!(compiled.matches(&Job::default().text(key.clone(), &value)));
            prop_assert_eq!(compiled.matches(&Job::default().text(key, &other)), value == other);
        }
    }

    #[test]
    fn a_value_of_the_arguments_means_exactly_itself(path in prop::collection::vec(any::<String>(), 1..3), value: String) {
        let key = Key::Arg(path);
        let filter = Filter::all().with(&key, Some(&value), false).unwrap();
        prop_assert_eq!(&filter.clauses()[0].key, &key);
        prop_assert_eq!(&filter.clauses()[0].any, &[Test::Text(Pattern::Equals(value))]);
    }

    #[test]
    fn a_negated_term_passes_exactly_the_jobs_that_the_term_does_not(term in small_term(), job in job()) {
        prop_assert_ne!(job.passes(&term), job.passes(&format!("-{term}")));
    }

    #[test]
    fn a_filter_passes_what_its_terms_pass_by_and_and_or(terms in prop::collection::vec(small_term(), 1..4), job in job()) {
        let Ok(filter) = Filter::parse(&terms.join(" ")) else { return Ok(()) };
        let key = |term: &str| term.split_once(':').map_or(String::new(), |(key, _)| key.to_owned());
        let expected = terms.iter().all(|term| {
            job.passes(term) || terms.iter().any(|other| term.contains(':') && key(other) == key(term) && job.passes(other))
        });
        prop_assert_eq!(filter.compile(NOW).matches(&job), expected);
        prop_assert_eq!(filter.resolve(NOW).compile(Timestamp(0)).matches(&job), expected);
    }

    #[test]
    fn each_job_passes_a_filter_or_one_part_of_its_complement(
        terms in prop::collection::vec((any::<bool>(), small_term()), 0..5),
        job in job(),
    ) {
        let texts = terms.iter().map(|(negated, term)| format!("{}{term}", if *negated { "-" } else { "" }));
        let Ok(filter) = Filter::parse(&texts.collect::<Vec<_>>().join(" ")) else { return Ok(()) };
        let complement = filter.complement();
        let passes = |filter: &Filter| usize::from(filter.compile(NOW).matches(&job));
        prop_assert_eq!(passes(&filter) + complement.iter().map(passes).sum::<usize>(), 1, "{} {:?}", filter, complement);
        for part in complement {
            prop_assert_eq!(&Filter::parse(&part.to_string()).unwrap(), &part);
        }
    }

    #[test]
    fn narrowing_to_a_value_keeps_exactly_the_jobs_that_had_it(
        terms in prop::collection::vec(small_term(), 0..4),
        shown in job(),
        other in job(),
    ) {
        let Ok(filter) = Filter::parse(&terms.join(" ")) else { return Ok(()) };
        let passes = |filter: &Filter, job: &Job| filter.compile(NOW).matches(job);
        if passes(&filter, &shown) {
            let value = |job: &Job| super::find(&job.texts, &Key::Error).unwrap_or_default();
            let narrowed = filter.narrow(Facet::Error, &[Some(&value(&shown))]).unwrap();
            prop_assert!(passes(&narrowed, &shown));
            prop_assert_eq!(passes(&narrowed, &other), passes(&filter, &other) && value(&other) == value(&shown));
        }
    }
}
