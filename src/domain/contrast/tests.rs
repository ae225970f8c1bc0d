use std::fmt::Write as _;

use super::{ComparedJob, Contrast, Counts, Difference, FullPass};
use crate::domain::json::{Document, JsonHighlights};

/// Numbers that a seed decides (xorshift).
struct Dice(u64);

impl Dice {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What sets the chosen jobs apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    Value,
    Null,
    Absent,
    TrailingSpace,
    OtherType,
    Pair,
    /// A column that is no argument.
    Column,
    /// Null in some jobs, and absent in others.
    Lack,
    None,
}

const CAUSES: [Cause; 7] =
    [Cause::Value, Cause::Null, Cause::Absent, Cause::TrailingSpace, Cause::OtherType, Cause::Pair, Cause::Column];

/// Arguments with thirty paths of noise: few values, many, identifiers, numbers, texts, nulls, absent keys, arrays and objects.
fn arguments(dice: &mut Dice, planted: &str) -> String {
    let mut json = String::from("{");
    for nth in 0..30 {
        let value = match nth % 6 {
            0 => format!("\"v{}\"", dice.below(3 + nth)),
            1 => format!("{}", dice.below(1_000_000_000)),
            2 => format!("\"{:x}-{}\"", dice.below(1 << 40), nth),
            3 if dice.chance(20) => "null".to_owned(),
            3 => format!("{}.5", dice.below(20)),
            4 if dice.chance(30) => continue,
            4 => format!("[{},{}]", dice.below(4), dice.below(4)),
            _ => format!("{{\"inner\":{}}}", dice.chance(50)),
        };
        write!(json, "\"noise{nth}\":{value},").expect("a text");
    }
    json.push_str(planted);
    let json = json.trim_end_matches(',');
    format!("{json}}}")
}

/// The members that carry the cause.
fn planted(dice: &mut Dice, cause: Cause, is_chosen: bool) -> String {
    let currency = ["EUR", "USD", "GBP", "CHF"][dice.below(4) as usize];
    let amount = dice.below(100_000);
    match (cause, is_chosen) {
        (Cause::Value, true) => "\"currency\":\"JPY\"".to_owned(),
        (Cause::Null, true) => "\"currency\":null".to_owned(),
        (Cause::Absent, true) => String::new(),
        (Cause::Lack, true) => if amount.is_multiple_of(2) { "\"currency\":null" } else { "" }.to_owned(),
        (Cause::TrailingSpace, true) => format!("\"currency\":\"{currency}{amount} \""),
        (Cause::TrailingSpace, false) => format!("\"currency\":\"{currency}{amount}\""),
        (Cause::OtherType, true) => format!("\"amount\":\"{amount}\""),
        (Cause::OtherType, false) => format!("\"amount\":{amount}"),
        (Cause::Pair, true) => "\"currency\":\"EUR\",\"country\":\"DE\"".to_owned(),
        (Cause::Pair, false) => {
            // Each of the two is as usual as the other; both together are what kills.
            let (currency, country) = [("EUR", "FR"), ("USD", "DE"), ("USD", "FR")][dice.below(3) as usize];
            format!("\"currency\":\"{currency}\",\"country\":\"{country}\"")
        }
        (Cause::Value | Cause::Null | Cause::Absent | Cause::Column | Cause::Lack | Cause::None, _) => {
            format!("\"currency\":\"{currency}\"")
        }
    }
}

/// Hands out a cohort with one cause and then others, of which one job in fifty is free on the one side and has it on the other.
fn cohort(seed: u64, cause: Cause, mut each: impl FnMut(bool, &ComparedJob<'_>)) {
    let mut dice = Dice::of(seed);
    let (chosen, others) = (30 + dice.below(40), 40 + dice.below(60));
    let mut priorities = Dice::of(seed + 1_000_000);
    let mut job = |is_chosen: bool| {
        let has_cause = is_chosen != dice.chance(2);
        let planted = planted(&mut dice, cause, has_cause);
        let document = Document::parse(arguments(&mut dice, &planted)).expect("JSON");
        let queue = ["high", "low"][dice.below(2) as usize];
        let priority = match cause {
            Cause::Column if has_cause => "7",
            _ => ["1", "2", "3"][priorities.below(3) as usize],
        };
        let fields = [("queue", Some(queue)), ("worker", None), ("priority", Some(priority))];
        let compared = ComparedJob { fields: &fields, arguments: Some(&document), marks: &JsonHighlights::default() };
        each(is_chosen, &compared);
    };
    (0..chosen).for_each(|_| job(true));
    (0..others).for_each(|_| job(false));
}

/// What is told of it.
fn contrast(seed: u64, cause: Cause) -> (Vec<Difference>, Counts) {
    let mut contrast = Contrast::default();
    cohort(seed, cause, |is_chosen, job| if is_chosen { contrast.add_chosen(job) } else { contrast.add_other(job) });
    (contrast.differences(20), contrast.jobs())
}

fn line(difference: &Difference) -> String {
    let attributes: Vec<String> = difference.attributes.iter().map(ToString::to_string).collect();
    attributes.join(" and ")
}

#[test]
fn a_lack_is_a_filter_term_where_the_same_jobs_lack_any_value() {
    let told = |chosen: &[&str], other: &str| {
        let mut contrast = Contrast::default();
        for nth in 0..60 {
            let (mine, theirs) = (chosen[nth % chosen.len()], other);
            for (json, is_chosen) in [(mine, true), (theirs, false)] {
                let document = Document::parse(json.to_owned()).expect("JSON");
                let job = ComparedJob { fields: &[], arguments: Some(&document), marks: &JsonHighlights::default() };
                if is_chosen { contrast.add_chosen(&job) } else { contrast.add_other(&job) }
            }
        }
        let first = contrast.differences(1).remove(0);
        (line(&first), first.terms().unwrap_or_default())
    };
    let said = |line: &str, terms: &str| (line.to_owned(), terms.to_owned());
    let other = r#"{"amount":7}"#;
    assert_eq!(told(&[r#"{"amount":null}"#], other), said("args.amount = null", r#"args.amount:"""#));
    assert_eq!(told(&["{}"], other), said("args.amount is absent", r#"args.amount:"""#));
    assert_eq!(told(&["{}", r#"{"amount":null}"#], other), said("args.amount has no value", r#"args.amount:"""#));
    assert_eq!(told(&[other], "{}"), said("args.amount = 7", "args.amount:7"));
    assert_eq!(told(&[r#"{"note":"a"}"#, r#"{"note":9}"#], "{}"), said("args.note has a value", r#"-args.note:"""#));
    assert_eq!(told(&[r#"{"a.b":1}"#], "{}"), said(r#"args."a.b" = 1"#, r#"args."a.b":1"#));
    // The term would select more than what is said: those without a value as well.
    assert_eq!(told(&[r#"{"amount":null}"#], "{}"), said("args.amount = null", ""));
}

#[test]
fn the_planted_cause_is_the_first_line_on_a_thousand_seeds() {
    for seed in 1..=1_000 {
        let cause = CAUSES[seed as usize % CAUSES.len()];
        let (differences, all) = contrast(seed, cause);
        let first = differences.first().map(line).unwrap_or_default();
        let expected = match cause {
            Cause::Value => "args.currency = \"JPY\"",
            Cause::Null => "args.currency = null",
            Cause::Absent => "args.currency is absent",
            Cause::TrailingSpace => "args.currency begins or ends with white space",
            Cause::OtherType => "args.amount is a text",
            Cause::Pair => "args.country = \"DE\" and args.currency = \"EUR\"",
            Cause::Column => "priority = 7",
            Cause::Lack | Cause::None => "",
        };
        assert!(first == expected, "seed {seed}, {cause:?}, {all:?}: {differences:#?}");
    }
}

#[test]
fn the_pass_over_all_jobs_counts_what_the_sample_counted() {
    for seed in 1..=100 {
        for cause in CAUSES.into_iter().chain([Cause::Lack]) {
            let (differences, all) = contrast(seed, cause);
            if cause == Cause::Lack {
                assert_eq!(differences.first().map(line).as_deref(), Some("args.currency has no value"), "seed {seed}");
            }
            let mut pass = FullPass::of(differences.clone());
            cohort(seed, cause, |is_chosen, job| if is_chosen { pass.add_chosen(job) } else { pass.add_other(job) });
            assert_eq!(pass.done(), (differences, all), "seed {seed}, {cause:?}");
        }
    }
}

#[test]
fn where_nothing_differs_nothing_is_told_on_a_thousand_seeds() {
    for seed in 1..=1_000 {
        let (differences, _) = contrast(seed, Cause::None);
        assert!(differences.is_empty(), "seed {seed}: {differences:#?}");
    }
}
