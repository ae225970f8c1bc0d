use std::time::Duration;

use super::super::{Filter, Key};
use super::{NOW, parse};
use crate::domain::facet::Facet;
use crate::domain::mark::MarkName;
use crate::domain::time::Timestamp;

#[test]
fn a_value_is_added_quoted_so_that_it_is_meant_exactly() {
    let with = |key: Key, value, negated| parse("state:dead").with(&key, value, negated).unwrap().to_string();
    assert_eq!(with(Key::Error, Some("Net::ReadTimeout"), false), "state:dead error:Net::ReadTimeout");
    assert_eq!(with(Key::Error, Some("a * b"), true), r#"state:dead -error:"a \* b""#);
    assert_eq!(with(Key::Queue, None, false), r#"state:dead queue:"""#);
    assert_eq!(with(Key::Arg(vec!["a.b".into()]), Some(">5"), false), r#"state:dead args."a.b":">5""#);
    assert_eq!(with(Key::Word, Some("-x"), false), r#"state:dead "-x""#);
    assert_eq!(with(Key::At, Some("2026-11-20"), false), "state:dead at:2026-11-20");
    assert_eq!(Filter::all().with(&Key::Queue, Some("x"), false).unwrap().to_string(), "queue:x");
}

#[test]
fn a_value_that_the_key_cannot_take_is_an_error() {
    assert!(Filter::all().with(&Key::Attempts, Some("many"), false).is_err());
    assert!(Filter::all().with(&Key::Word, Some(""), false).is_err());
}

#[test]
fn narrowing_replaces_what_chose_among_the_values_before() {
    let filter = parse("error:Net* -error:Net::X queue:low");
    let narrowed = filter.narrow(Facet::Error, &[Some("Net::A"), None]).unwrap();
    assert_eq!(narrowed.to_string(), r#"-error:Net::X queue:low error:Net::A error:"""#);
    let hours = parse("since:2h hour:2026-11-20T01").narrow(Facet::Hour, &[Some("2026-11-20T02")]).unwrap();
    assert_eq!(hours.to_string(), "since:2h hour:2026-11-20T02");
    assert_eq!(filter.narrow(Facet::Error, &[]).unwrap(), filter);
}

#[test]
fn leaving_out_adds_a_negated_term_and_without_drops_every_spelling() {
    assert_eq!(parse("queue:a*").exclude(Facet::Queue, Some("ab")).unwrap().to_string(), "queue:a* -queue:ab");
    assert_eq!(parse("since:2h queue:x -hour:2026-11-20T01").without(&Key::At), parse("queue:x"));
    assert_eq!(parse("args.a:1 args.b:1").without(&Key::Arg(vec!["a".into()])), parse("args.b:1"));
}

#[test]
fn a_facet_has_a_term_for_each_of_its_values() {
    assert_eq!(Filter::term_for(Facet::Hour, Some("2026-11-20T03")), "hour:2026-11-20T03");
    assert_eq!(Filter::term_for(Facet::Hour, None), r#"hour:"""#);
    assert_eq!(Filter::term_for(Facet::State, Some("ignored")), "state:ignored");
    assert_eq!(Filter::term_for(Facet::State, Some("PENDING")), "native:PENDING");
    assert_eq!(Filter::term_for(Facet::Fingerprint, Some("1f3a")), "fp:1f3a");
}

#[test]
fn marks_become_their_moments_and_an_unknown_one_is_an_error() {
    let moment = |name: &MarkName| match name.as_str() {
        "v1" => Ok(Timestamp(NOW.before(Duration::from_secs(60)).0 - 500_000)),
        "v2" => Ok(Timestamp(NOW.0 - 499_999)),
        other => Err(other.to_owned()),
    };
    let resolve = |text: &str| parse(text).with_marks(moment).map(|filter| filter.to_string());
    let at = |text: &str| Ok(text.to_owned());
    assert_eq!(
        resolve("error:x -after:@v1 until:@v2"),
        at("error:x -since:2026-11-20T03:11:09Z until:2026-11-20T03:12:09.000001Z")
    );
    assert_eq!(resolve("at:@v1..@v2"), at("at:2026-11-20T03:11:09Z..2026-11-20T03:12:09.000001Z"));
    assert_eq!(resolve("since:@v1 until:2026-11-20"), at("since:2026-11-20T03:11:09Z until:2026-11-20"));
    assert_eq!(resolve("since:@v9"), Err("v9".to_owned()));
    assert_eq!(resolve("since:2h"), at("since:2h"), "what is relative is resolved elsewhere");
    let named = parse("since:@v1");
    assert!(named.names_marks() && !named.is_relative() && !parse("since:1h").names_marks());
    assert_eq!(named.resolve(NOW).to_string(), "since:@v1");
    assert_eq!(
        Filter::parse("since:@release/2026-11-29_b").map(|f| f.to_string()),
        Ok("since:@release/2026-11-29_b".into())
    );
}

#[test]
fn resolving_prints_the_instant_and_keeps_the_rest_as_written() {
    let resolve = |text: &str| parse(text).resolve(NOW).to_string();
    assert_eq!(resolve("error:x -since:2h \"a  b\""), "error:x -since:2026-11-20T01:12:09Z \"a  b\"");
    assert_eq!(resolve("after:1s"), "since:2026-11-20T03:12:08Z");
    assert_eq!(resolve("until:0s"), "until:2026-11-20T03:12:09Z");
    assert_eq!(resolve("at:2h..1h"), "at:2026-11-20T01:12:09Z..2026-11-20T02:12:09Z");
    assert_eq!(resolve("at:2h.."), "at:2026-11-20T01:12:09Z..");
    assert_eq!(resolve("idle:15m"), "idle:2026-11-20T02:57:09Z");
    assert_eq!(resolve("idle:<15m"), "idle:2026-11-20T02:57:09Z..");
    assert_eq!(resolve("idle:15m..1h"), "idle:2026-11-20T02:12:09Z..2026-11-20T02:57:09Z");
    assert_eq!(resolve("since:900w"), "since:2009-08-21T03:12:09Z");
    assert_eq!(resolve("since:52000w"), "since:1030-04-16T03:12:09Z");
    assert_eq!(resolve("hour:2026-11-20T03 since:2026-11-20"), "hour:2026-11-20T03 since:2026-11-20");
    assert!(parse("idle:1m").is_relative() && !parse("idle:1m").resolve(NOW).is_relative());
}
