use super::*;
use crate::domain::json::{View, decode_double, quote};
use crate::domain::redact::Redactor;

/// The rules of one real layout, as its adapter writes them.
const RULES: &str = r#"
hide_keys = ["_aj_*"]
symbol_keys = "_aj_symbol_keys"
keyword_keys = "_aj_ruby2_keywords"

[[rule]]
when = "_aj_globalid"
show = "{_aj_globalid}"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::SymbolSerializer" }
show = ":{value}"
as = "symbol"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::DurationSerializer" }
each = "parts"
show = "{1} {0.value}"
join = " and "
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::DurationSerializer" }
show = "{value} seconds"
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::BigDecimalSerializer" }
show = "{value}"
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::RangeSerializer", exclude_end = true }
show = "{begin}...{end}"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::RangeSerializer" }
show = "{begin}..{end}"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::TimeWithZoneSerializer" }
show = "{value} {time_zone}"
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::*Time*Serializer" }
show = "{value}"
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::DateSerializer" }
show = "{value}"
as = "number"

[[rule]]
when = { _aj_serialized = "ActiveJob::Serializers::ModuleSerializer" }
show = "{value}"
as = "symbol"
"#;

fn rules() -> Notation {
    toml::from_str(RULES).expect("the rules are well formed")
}

fn read(text: &str) -> Vec<String> {
    let doc = Document::parse(decode_double(text)).expect("valid");
    let mut marks = JsonHighlights::default();
    Redactor::default().mark(&doc, &mut marks);
    rules().mark(&doc, &mut marks);
    View::new(doc, marks).lines(0..usize::MAX).map(|line| line.clean().to_string()).collect()
}

#[test]
fn a_real_payload_reads_as_its_developer_would_write_it() {
    let text = r#"[{"k": [1, 2.5, null], "sym": {"value": "value", "_aj_serialized": "ActiveJob::Serializers::SymbolSerializer"}, "nested": {"a": {"b": 1, "_aj_symbol_keys": ["b"]}, "_aj_symbol_keys": ["a"]}, "_aj_symbol_keys": ["sym", "nested"]}, {"value": "2026-01-02T03:04:05.000000000Z", "_aj_serialized": "ActiveJob::Serializers::TimeSerializer"}, {"parts": [[{"value": "days", "_aj_serialized": "ActiveJob::Serializers::SymbolSerializer"}, 3]], "value": 259200, "_aj_serialized": "ActiveJob::Serializers::DurationSerializer"}, {"value": "2026-02-03", "_aj_serialized": "ActiveJob::Serializers::DateSerializer"}, "1.5", {"_aj_globalid": "gid://shop/Cust/9"}]"#;
    let lines = read(text);
    let expected = [
        "[",
        "{",
        "\"k\": [",
        "1,",
        "2.5,",
        "null",
        "],",
        "sym: :value,",
        "nested: {",
        "a: {",
        "b: 1",
        "}",
        "}",
        "},",
        "2026-01-02T03:04:05.000000000Z,",
        "3 days,",
        "2026-02-03,",
        "\"1.5\",",
        "gid://shop/Cust/9",
        "]",
    ];
    assert_eq!(lines, expected);
    assert_eq!(read(&quote(text)), expected);
}

#[test]
fn keyword_arguments_and_empty_hashes_lose_their_markers() {
    assert_eq!(
        read(r#"[42, {"amount": 1999, "_aj_ruby2_keywords": ["amount"]}]"#),
        ["[", "42,", "{", "amount: 1999", "}", "]"]
    );
    assert_eq!(read(r#"[{"_aj_symbol_keys": []}, {}]"#), ["[", "{},", "{}", "]"]);
    assert_eq!(read(r#"{"a b": 1, "_aj_symbol_keys": ["a b"]}"#), ["{", "\"a b\": 1", "}"]);
}

#[test]
fn rules_nest_and_the_first_that_fits_is_taken() {
    let serializer = |name: &str| format!("\"_aj_serialized\":\"ActiveJob::Serializers::{name}Serializer\"");
    let date = format!("{{{},\"value\":\"2026-02-03\"}}", serializer("Date"));
    let open = format!("{{{},\"begin\":{date},\"end\":null,\"exclude_end\":true}}", serializer("Range"));
    assert_eq!(read(&open), ["2026-02-03...null"]);
    let closed = format!("{{{},\"begin\":1,\"end\":2,\"exclude_end\":false}}", serializer("Range"));
    assert_eq!(read(&closed), ["1..2"]);
    let zoned = format!("{{{},\"value\":\"2026\",\"time_zone\":\"UTC\"}}", serializer("TimeWithZone"));
    assert_eq!(read(&zoned), ["2026 UTC"]);
    let bare = format!("{{{},\"value\":90,\"parts\":[]}}", serializer("Duration"));
    assert_eq!(read(&bare), ["90 seconds"]);
}

#[test]
fn an_object_that_no_rule_fits_is_shown_with_its_members() {
    assert_eq!(read(r#"{"_aj_serialized":"MySerializer","x":1}"#), ["{", "\"x\": 1", "}"]);
    let broken = r#"{"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","v":1}"#;
    assert_eq!(read(broken), ["{", "\"v\": 1", "}"]);
}

#[test]
fn a_secret_is_not_read_out_by_a_rule() {
    let rules: Notation = toml::from_str("[[rule]]\nwhen = 'id'\nshow = '{id} {auth.token} {note}'").expect("a table");
    let doc = Document::parse(r#"{"id":1,"auth":{"token":"hunter2"},"note":"token=hunter2"}"#).expect("valid");
    let mut marks = JsonHighlights::default();
    Redactor::default().mark(&doc, &mut marks);
    rules.mark(&doc, &mut marks);
    let shown = View::new(doc, marks).lines(0..1).next().map(|line| line.clean().to_string());
    assert_eq!(shown.as_deref(), Some("1 [redacted] token=[redacted]"));
}

#[test]
fn containers_inside_a_line_are_bounded_in_depth_and_length() {
    let rules: Notation = toml::from_str("[[rule]]\nwhen = 'w'\nshow = '<{w}>'").expect("a table");
    for inner in
        ["[".repeat(9_000) + &"]".repeat(9_000), format!("[{}1]", "1,".repeat(9_000)), quote(&"x".repeat(9_000))]
    {
        let doc = Document::parse(format!("{{\"w\":{inner}}}")).expect("valid");
        let mut marks = JsonHighlights::default();
        rules.mark(&doc, &mut marks);
        assert!(matches!(marks.at(0), Some(Cut::Shown(text, _)) if text.len() < 600));
    }
    let nested = format!("{}1{}", "{\"w\":".repeat(9_000), "}".repeat(9_000));
    let mut marks = JsonHighlights::default();
    rules.mark(&Document::parse(nested).expect("valid"), &mut marks);
    assert!(matches!(marks.at(0), Some(Cut::Shown(text, _)) if text.contains('…')));
}

#[test]
fn a_mistake_in_the_rules_is_an_error_and_not_a_surprise() {
    for bad in [
        "hide = []",
        "[[rule]]\nwhen = 'a'\nshow = '{a'",
        "[[rule]]\nshow = 'a'",
        "[[rule]]\nwhen='a'\nshow=''\nas='x'",
    ] {
        assert!(toml::from_str::<Notation>(bad).is_err(), "{bad}");
    }
    let brace: Notation = toml::from_str("[[rule]]\nwhen = 'a'\nshow = '{{{a}}'").expect("a table");
    let mut marks = JsonHighlights::default();
    brace.mark(&Document::parse("{\"a\":1}").expect("valid"), &mut marks);
    assert!(matches!(marks.at(0), Some(Cut::Shown(text, _)) if text == "{1}"));
}
