use super::*;

fn doc(text: &str) -> Document {
    Document::parse(text).expect("valid")
}

#[test]
fn numbers_of_any_size_and_repeated_keys_stay_as_written() {
    let d = doc(r#"{"a":12345678901234567890.10,"a":1.10,"b":1E400}"#);
    let all: Vec<&str> = d.children(0).map(|n| d.raw(n)).collect();
    assert_eq!(all, ["12345678901234567890.10", "1.10", "1E400"]);
    assert_eq!(d.members(0, "a").count(), 2);
}

#[test]
fn every_value_can_be_cut_out_of_the_text() {
    let d = doc(" { \"a\" : [ [ ] , { \"b\" : [ 1 , [ { } ] ] } ] , \"c,]\" : \"x]}\" } ");
    let raws: Vec<&str> = (1..d.node_count()).map(|n| d.raw(n)).collect();
    assert_eq!(
        raws,
        [
            "[ [ ] , { \"b\" : [ 1 , [ { } ] ] } ]",
            "[ ]",
            "{ \"b\" : [ 1 , [ { } ] ] }",
            "[ 1 , [ { } ] ]",
            "1",
            "[ { } ]",
            "{ }",
            "\"x]}\""
        ]
    );
    assert_eq!(d.raw(0), d.text().trim());
    assert_eq!(d.raw_key(8), Some("\"c,]\""));
}

#[test]
fn a_path_leads_back_to_its_value_even_past_repeated_keys() {
    let d = doc(r#"{"user":{"id":1,"id":2},"tags":["x",{"y\n":[null]}]}"#);
    for node in 0..d.node_count() {
        assert_eq!(d.find(&d.steps(node)), Some(node));
    }
    assert_eq!(d.path(3), "user.id");
    assert_eq!(d.path(8), "tags.1.y\n.0");
    assert_eq!(d.find(&[PathStep::Key("nope".into(), 0)]), None);
    assert_eq!(d.find(&[PathStep::Index(0)]), None);
}

#[test]
fn replacing_values_leaves_the_rest_to_the_byte() {
    let d = doc(" {\"a\": [1, 2 ],  \"b\":\t3.50}\n");
    assert_eq!(d.replace(&[(1, "null"), (2, "9"), (4, "\"x\"")]), " {\"a\": null,  \"b\":\t\"x\"}\n");
}

#[test]
fn a_number_from_another_document_is_answered_and_does_not_panic() {
    let d = doc("1");
    assert_eq!((d.raw(7), d.key(7), d.path(7).is_empty()), ("", None, false));
}
