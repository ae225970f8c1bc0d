use super::super::Key;
use super::{Job, NOW, parse};
use crate::domain::job::State;
use crate::domain::time::Timestamp;

fn ago(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 - seconds * 1_000_000)
}

#[test]
fn a_missing_value_fails_every_test_but_none_and_passes_every_negation_but_none() {
    let missing = Job::default();
    let empty = Job::default().text(Key::Queue, "").value("n", "");
    let present = Job::default().text(Key::Queue, "low").value("n", "low");
    for key in ["queue", "args.n"] {
        for (value, results) in [
            // missing, empty, present
            ("\"\"", [true, true, false]),
            ("low", [false, false, true]),
            ("high", [false, false, false]),
            ("*", [false, true, true]),
            ("/^$/", [false, true, false]),
        ] {
            for (job, result) in [&missing, &empty, &present].into_iter().zip(results) {
                assert_eq!(job.passes(&format!("{key}:{value}")), result, "{key}:{value} {job:?}");
                assert_eq!(job.passes(&format!("-{key}:{value}")), !result, "-{key}:{value} {job:?}");
            }
        }
    }
}

#[test]
fn missing_numbers_and_times_are_none() {
    let missing = Job::default();
    let present = Job::default().number(Key::Attempts, 5).time(Key::At, NOW).time(Key::Idle, NOW);
    for (none, any) in [("attempts:\"\"", "attempts:.."), ("at:\"\"", "at:.."), ("idle:\"\"", "idle:..")] {
        assert!(missing.passes(none) && !missing.passes(any), "{none}");
        assert!(present.passes(any) && !present.passes(none), "{none}");
    }
    assert!(missing.passes("-attempts:5") && missing.passes("-since:2h"));
}

#[test]
fn clauses_all_hold_and_alternatives_any() {
    let job = Job::default().text(Key::Queue, "low").text(Key::Error, "Net::ReadTimeout");
    assert!(job.passes(""));
    assert!(job.passes("queue:high queue:low error:Net*"));
    assert!(!job.passes("queue:low error:Stripe*"));
    assert!(!job.passes("queue:low -queue:l*"));
    assert!(job.passes("-queue:high -queue:mid"));
}

#[test]
fn case_counts_for_text_and_not_for_search() {
    let job = Job::default().text(Key::Error, "CardError").text(Key::Message, "Your CARD was declined\nby Bank");
    assert!(!job.passes("error:carderror") && !job.passes("error:card*"));
    assert!(job.passes("error:/(?i)carderror/") && !job.passes("error:/carderror/"));
    assert!(job.passes("msg:\"card was DECLINED\"") && job.passes("msg:CARD*Bank") && !job.passes("msg:card*bank"));
    assert!(job.passes("carderr") && job.passes("declined") && !job.passes("-declined"));
    assert!(job.passes("declined bank") && !job.passes("declined refund"));
    assert!(Job::default().text(Key::Class, "BillingJob").passes("billing"));
    assert!(Job::default().text(Key::Queue, "billing").passes("-billing"));
}

#[test]
fn numbers_states_and_times_are_compared() {
    let job = Job::default().number(Key::Attempts, 5).number(Key::Replayed, 0).time(Key::At, ago(3600));
    for (yes, no) in [
        ("attempts:>=5", "attempts:>5"),
        ("attempts:..5", "attempts:<5"),
        ("replayed:0", "replayed:>0"),
        ("state:dead", "-state:dead"),
        ("since:2h", "since:30m"),
        ("until:30m", "until:2h"),
        ("at:2h..30m", "at:30m..10m"),
        ("hour:2026-11-20T02", "hour:2026-11-20T03"),
        ("since:2h until:30m", "since:30m until:2h"),
    ] {
        assert!(job.passes(yes) && !job.passes(no), "{yes} {no}");
    }
    assert!(Job { state: State::Ignored, ..Job::default() }.passes("state:dead state:ignored"));
}

#[test]
fn idle_is_counted_from_the_last_touch() {
    let job = Job::default().time(Key::Idle, ago(1200)).time(Key::At, ago(5));
    for (yes, no) in [("idle:15m", "idle:30m"), ("idle:<30m", "idle:<15m"), ("idle:15m..30m", "idle:30m..1h")] {
        assert!(job.passes(yes) && !job.passes(no), "{yes} {no}");
    }
}

#[test]
fn a_range_of_time_includes_its_start_and_not_its_end() {
    let at = |text: &str, micros: i64| Job::default().time(Key::At, Timestamp(micros)).passes(text);
    assert!(at("at:1970-01-01", 0) && at("at:1970-01-01", 86_399_999_999) && !at("at:1970-01-01", 86_400_000_000));
    assert!(at("since:1970-01-01", 0) && !at("until:1970-01-01", 0));
}

#[test]
fn any_of_the_values_at_a_path_may_pass() {
    let job = Job::default().value("user.id", "42").value("user.id", "43").value("n", "9007199254740993");
    assert!(job.passes("args.user.id:43") && !job.passes("-args.user.id:43") && !job.passes("args.user:43"));
    assert!(job.passes("args.n:>9007199254740992") && !job.passes("args.n:>9007199254740993"));
    assert!(job.passes("args.user.id:42.5..1e2"));
    assert!(!Job::default().value("n", "many").passes("args.n:>=0"));
    assert!(Job::default().value("n", "many").passes("-args.n:>=0"));
}

#[test]
fn arguments_without_a_path_are_searched_as_a_whole() {
    let job = Job { arguments: Some(r#"{"user":{"email":"Ann@example.com"}}"#.into()), ..Job::default() };
    assert!(job.passes("args:ann@example") && job.passes("args:/\"email\":/") && job.passes("-args:\"\""));
    assert!(Job::default().passes("args:\"\""));
}

#[test]
fn one_clause_can_be_applied_by_itself() {
    let filter = parse("queue:low since:2h");
    let job = Job::default().text(Key::Queue, "low");
    assert!(filter.clauses()[0].matches(&job, NOW) && !filter.clauses()[1].matches(&job, NOW));
}

#[test]
fn a_filter_says_which_states_it_reaches() {
    for (text, dead, ignored) in [
        ("", true, true),
        ("error:Net::* since:2h", true, true),
        ("state:ignored", false, true),
        ("state:dead state:ignored", true, true),
        ("-state:dead", false, true),
        ("-state:ignored queue:low", true, false),
        ("state:resolved", false, false),
    ] {
        let filter = parse(text);
        assert_eq!((filter.reaches(State::Dead), filter.reaches(State::Ignored)), (dead, ignored), "{text}");
    }
}
