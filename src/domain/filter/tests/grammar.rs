use std::time::Duration;

use super::super::{Clause, Filter, Key, Pattern, Test, TimeBound};
use super::parse;
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// The one test of a filter of one term.
fn test(text: &str) -> Test {
    let filter = parse(text);
    assert_eq!(filter.clauses().len(), 1, "{text}");
    filter.clauses()[0].any[0].clone()
}

fn pattern(text: &str) -> Pattern {
    match test(text) {
        Test::Text(pattern) => pattern,
        other => panic!("{text} is {other:?}"),
    }
}

fn equals(text: &str) -> Pattern {
    Pattern::Equals(text.into())
}

fn glob(parts: &[&str]) -> Pattern {
    Pattern::Glob(parts.iter().map(|part| (*part).to_owned()).collect())
}

fn contains(text: &str) -> Pattern {
    Pattern::Contains(text.into())
}

#[test]
fn the_example_of_the_design_parses_and_prints_as_written() {
    let text = r#"error:Net::ReadTimeout class:Billing* -queue:low since:2h msg:"card declined" args.user.id:42 attempts:>=5 state:ignored fp:1f3a replayed:>0 free words"#;
    let filter = parse(text);
    assert_eq!(filter.to_string(), text);
    let keys: Vec<_> = filter.clauses().iter().map(|clause| clause.key.word().into_owned()).collect();
    assert_eq!(
        keys,
        ["error", "class", "queue", "at", "msg", "args.user.id", "attempts", "state", "fp", "replayed", "", ""],
    );
    assert!(filter.clauses()[2].negated);
    assert_eq!(filter.clauses()[10].any, [Test::Text(contains("free"))]);
    assert_eq!(filter.clauses()[11].any, [Test::Text(contains("words"))]);
}

#[test]
fn blank_text_is_the_filter_that_all_pass() {
    for blank in ["", "  \t\n"] {
        assert_eq!(parse(blank), Filter::all());
        assert!(parse(blank).is_all());
    }
    assert_eq!(parse(" error:x \n  queue:y ").to_string(), "error:x queue:y");
}

#[test]
fn text_is_equality_glob_or_regular_expression() {
    assert_eq!(pattern("error:Net::ReadTimeout"), equals("Net::ReadTimeout"));
    assert_eq!(pattern("class:App\\Jobs\\Send"), equals("App\\Jobs\\Send"));
    assert_eq!(pattern("class:Billing*"), glob(&["Billing", ""]));
    assert_eq!(pattern("class:*a**b*"), glob(&["", "a", "b", ""]));
    assert_eq!(pattern("class:**"), glob(&["", ""]));
    assert_eq!(pattern(r#"class:"a b*""#), glob(&["a b", ""]));
    assert_eq!(pattern(r#"class:"a\*\"\\\n\t\u{e9}""#), equals("a*\"\\\n\té"));
    assert_eq!(pattern(r"error:/a b\/c/"), Pattern::Regex(r"a b\/c".into()));
    assert_eq!(pattern(r#"error:"/x/""#), equals("/x/"));
    assert_eq!(pattern(r#"error:"""#), equals(""));
    assert_eq!(pattern("id:10442"), equals("10442"));
}

#[test]
fn searched_text_is_contained_and_a_star_floats() {
    assert_eq!(pattern("msg:card"), contains("card"));
    assert_eq!(pattern("\"card declined\""), contains("card declined"));
    assert_eq!(pattern("msg:gl*b"), glob(&["", "gl", "b", ""]));
    assert_eq!(pattern("msg:*x"), glob(&["", "x", ""]));
    assert_eq!(pattern("msg:/re/"), Pattern::Regex("re".into()));
    assert_eq!(pattern(r#"msg:"""#), equals(""));
    assert_eq!(pattern("args:secret"), contains("secret"));
    assert_eq!(parse("args:secret").clauses()[0].key, Key::Arg(vec![]));
}

#[test]
fn numbers_take_comparisons_and_ranges_with_both_ends() {
    let number = |min, max| Test::Number { min, max };
    assert_eq!(test("attempts:5"), number(Some(5), Some(5)));
    assert_eq!(test("attempts:>5"), number(Some(6), None));
    assert_eq!(test("attempts:<=-5"), number(None, Some(-5)));
    assert_eq!(test("attempts:<5"), number(None, Some(4)));
    assert_eq!(test("attempts:5..10"), number(Some(5), Some(10)));
    assert_eq!(test("attempts:..10"), number(None, Some(10)));
    assert_eq!(test("attempts:5.."), number(Some(5), None));
    assert_eq!(test("attempts:.."), number(None, None));
    assert_eq!(test(r#"attempts:"""#), Test::Text(equals("")));
}

#[test]
fn arguments_compare_decimals_as_written_and_everything_else_as_text() {
    let end = |n: &str, equal| Some((n.to_owned(), equal));
    assert_eq!(test("args.n:>=1e30"), Test::Decimal { min: end("1e30", true), max: None });
    assert_eq!(test("args.n:<0.10"), Test::Decimal { min: None, max: end("0.10", false) });
    assert_eq!(test("args.n:-1..2.5"), Test::Decimal { min: end("-1", true), max: end("2.5", true) });
    assert_eq!(test("args.n:.."), Test::Decimal { min: None, max: None });
    assert_eq!(pattern("args.n:42"), equals("42"));
    assert_eq!(pattern("args.n:a..b"), equals("a..b"));
    assert_eq!(pattern("args.n:\">5\""), equals(">5"));
    assert_eq!(parse(r#"args.a."b.c d".e:1"#).clauses()[0].key, Key::Arg(vec!["a".into(), "b.c d".into(), "e".into()]));
}

#[test]
fn times_are_bounds_from_spans_and_moments() {
    let at = |seconds: i64| Some(TimeBound::At(Timestamp(1_795_132_800_000_000 + seconds * 1_000_000)));
    let ago = |seconds| Some(TimeBound::Ago(Duration::from_secs(seconds)));
    let time = |from, to| Test::Time { from, to };
    assert_eq!(test("since:1h30m"), time(ago(5400), None));
    assert_eq!(test("until:2026-11-20"), time(None, at(0)));
    assert_eq!(test("at:2026-11-20"), time(at(0), at(86_400)));
    assert_eq!(test("at:2026-11-20T01:00..2026-11-20T02:00"), time(at(3600), at(7200)));
    assert_eq!(test("at:2h..30m"), time(ago(7200), ago(1800)));
    assert_eq!(test("at:>2026-11-20"), time(at(86_400), None));
    assert_eq!(test("at:<=2026-11-20T00"), time(None, at(3600)));
    assert_eq!(test("hour:2026-11-20T03"), time(at(10_800), at(14_400)));
    assert_eq!(test("hour:\"2026-11-20 03:59:00Z\""), time(at(10_800), at(14_400)));
    assert_eq!(test("idle:15m"), time(None, ago(900)));
    assert_eq!(test("idle:>=15m"), time(None, ago(900)));
    assert_eq!(test("idle:<15m"), time(ago(900), None));
    assert_eq!(test("idle:15m..1h"), time(ago(3600), ago(900)));
    assert_eq!(test("idle:2026-11-20"), time(None, at(0)));
    assert_eq!(test("at:\"\""), Test::Text(equals("")));
}

#[test]
fn states_and_fingerprints_are_checked_as_they_are_read() {
    assert_eq!(test("state:ignored"), Test::State(State::Ignored));
    assert_eq!(pattern("native:\"FAILED PERMANENTLY\""), equals("FAILED PERMANENTLY"));
    assert_eq!(pattern("fp:1F3a"), glob(&["1f3a", ""]));
}

#[test]
fn a_repeated_key_is_or_and_each_negated_term_stands_alone() {
    let filter = parse("queue:a -queue:x error:e queue:b -queue:y");
    let shape: Vec<_> = filter.clauses().iter().map(|c| (c.key.clone(), c.negated, c.any.len())).collect();
    assert_eq!(shape, [(Key::Queue, false, 2), (Key::Queue, true, 1), (Key::Error, false, 1), (Key::Queue, true, 1),]);
}

#[test]
fn paths_join_only_when_they_are_equal_and_bounds_of_time_narrow_each_other() {
    let clauses = |text: &str| parse(text).clauses().iter().map(|c: &Clause| c.any.len()).collect::<Vec<_>>();
    assert_eq!(clauses("args.a:1 args.b:1 args.a:2 args.\"a\":3"), [3, 1]);
    assert_eq!(clauses("since:2h until:1h at:2026-11-20 hour:2026-11-20T03"), [1, 1, 2]);
    assert_eq!(clauses("since:2h since:1h"), [2]);
    assert_eq!(clauses("attempts:<3 attempts:>10"), [2]);
}

#[test]
fn aliases_join_with_the_word_they_stand_for() {
    assert_eq!(parse("class:a job:b").clauses().len(), 1);
    assert_eq!(parse("after:2h").clauses(), parse("since:2h").clauses());
}
