mod hostile;

use proptest::prelude::*;

use super::*;

fn marked(config: &RedactConfig, text: &str) -> Vec<String> {
    let doc = Document::parse(text).expect("valid");
    let mut marks = JsonHighlights::default();
    Redactor::new(config).mark(&doc, &mut marks);
    marks.cuts().map(|(node, _)| doc.path(node)).collect()
}

#[test]
fn well_known_secrets_are_found_in_any_spelling_and_at_any_depth() {
    let text = r#"[{"user":{"apiKey":"x","API-Key":"x","api_key":[1],"new_password":"x","keyboard":"x"}},
        {"card":{"number":4242,"exp":"12/30"},"order":{"number":7},"IBAN":"DE1","pin":null,"tokens":12,"panel":"x"}]"#;
    let paths = ["0.user.apiKey", "0.user.API-Key", "0.user.api_key", "0.user.new_password", "1.card.number", "1.IBAN"];
    assert_eq!(marked(&RedactConfig::default(), text), paths);
}

#[test]
fn configuration_adds_rules_allows_others_and_can_switch_the_list_off() {
    let text = r#"{"user":[{"name":"x"}],"name":"y","token":"z"}"#;
    let extra = RedactConfig { extra: vec!["user.na*".into()], ..RedactConfig::default() };
    assert_eq!(marked(&extra, text), ["user.0.name", "token"]);
    let allow = RedactConfig { allow: vec!["token".into()], ..RedactConfig::default() };
    assert_eq!(marked(&allow, text), [""; 0]);
    let off: RedactConfig = toml::from_str("well_known = false\nextra = ['name']").expect("a table");
    assert_eq!(marked(&off, text), ["user.0.name", "name"]);
    assert!(toml::from_str::<RedactConfig>("extras = []").is_err());
}

#[test]
fn json_stays_json_and_exact_in_all_else() {
    let redactor = Redactor::default();
    let text = r#"{"n": 1.10,  "token" : {"a": [1]}, "body":"{\"password\":\"hunter2\",\"n\":1}"}"#;
    let out = redactor.text(text);
    assert_eq!(out, r#"{"n": 1.10,  "token" : "[redacted]", "body":"{\"password\":\"[redacted]\",\"n\":1}"}"#);
    assert!(Document::parse(&*out).is_ok());
    assert_eq!(redactor.text(&quote(r#"{"token":"x"}"#)), quote(r#"{"token":"[redacted]"}"#));
    assert!(matches!(redactor.text(r#"{"a":"b"}"#), Cow::Borrowed(_)));
}

#[test]
fn secrets_in_prose_are_replaced_wherever_a_key_announces_them() {
    let redactor = Redactor::default();
    for (text, out) in [
        ("login failed: password=hunter2, user=7", "login failed: password=[redacted], user=7"),
        ("GET /a?token=abc&x=1", "GET /a?token=[redacted]&x=1"),
        ("Authorization: Bearer abc.def-1", "Authorization: [redacted]"),
        (r#"{"password" : "hun\"ter", "#, r#"{"password" : "[redacted]", "#),
        (r#"{:password=>"hunter2", "api_key" => 'x'}"#, r#"{:password=>"[redacted]", "api_key" => '[redacted]'}"#),
        (r#"body: "{\"password\":\"hunter2\"}""#, r#"body: "{\"password\":\"[redacted]\"}""#),
        ("msg: secret: abc", "msg: secret: [redacted]"),
        ("postgres://app:hunter2@db/x", "postgres://app:[redacted]@db/x"),
        ("sent Bearer abcdefghijklmnop1234 there", "sent Bearer [redacted] there"),
        ("config.api_key = abc", "config.api_key = [redacted]"),
    ] {
        assert_eq!(redactor.prose(text), out);
    }
    for same in ["undefined method `password' for nil", "token expired", "a: b, c=d", "http://a.b/c:d@e"] {
        assert!(matches!(redactor.prose(same), Cow::Borrowed(_)), "{same}");
    }
}

#[test]
fn nothing_is_replaced_while_secrets_are_revealed() {
    let redactor = Redactor::default().revealing(true);
    assert_eq!(redactor.text(r#"{"token":"x"}"#), r#"{"token":"x"}"#);
    assert_eq!(redactor.prose("token=x"), "token=x");
}

proptest! {
    #[test]
    fn a_planted_secret_never_comes_out(
        before in "[ -~]{0,12}",
        key in prop::sample::select(vec!["password", "API_KEY", "accessToken", "cvv"]),
        noise in "[a-z ,:{}\\[\\]\"\\\\=&]{0,12}",
    ) {
        let document = format!("{{{}:[{{{}:{}}}]}}", quote(&before), quote(key), quote(&format!("hunter2{noise}")));
        let redactor = Redactor::default();
        prop_assert!(!redactor.text(&document).contains("hunter2"));
        prop_assert!(!redactor.text(&quote(&document)).contains("hunter2"));
        prop_assert!(Document::parse(redactor.text(&document)).is_ok());
    }

    #[test]
    fn any_text_goes_through_without_a_panic(text in "[a-z=:\"'\\\\ @/{}éßtokenpassword]{0,40}") {
        let redactor = Redactor::default();
        let _ = (redactor.prose(&text), redactor.text(&text));
    }
}

#[test]
fn copying_a_container_never_copies_the_secrets_in_it() {
    let doc = Document::parse(r#"{"a":{"token":"hunter2","note":"password=hunter2 \u00e9"}}"#).expect("valid");
    let mut marks = JsonHighlights::default();
    Redactor::default().mark(&doc, &mut marks);
    let view = crate::domain::json::View::new(doc, marks);
    assert_eq!(view.value_at(1).as_deref(), Some(r#"{"token":"[redacted]","note":"password=[redacted] \u00e9"}"#));
    assert_eq!(view.value_at(3).as_deref(), Some(r#""password=[redacted] \u00e9""#));
    assert_eq!(view.search("hunter2", 0, 9), []);
}

#[test]
fn rules_are_taken_as_other_programs_write_them() {
    let text = r#"{"card":{"kind":"a","holder":{"n":"b"}},"x":[{"y":{"pin":"c"}},{"pin":"d"}],"pin":"e","items":[{"note":"f"}]}"#;
    for (rule, hidden) in [
        ("card.*", "ab"),
        ("card.**", "ab"),
        ("**.pin", "cde"),
        ("x[*].pin", "d"),
        ("$.items[0].note", "f"),
        ("items.0.note", "f"),
        ("customer.email", ""),
        ("", ""),
        ("[0]", ""),
    ] {
        let redactor = Redactor::new(&RedactConfig { well_known: false, extra: vec![rule.into()], allow: Vec::new() });
        let shown = redactor.text(text);
        for value in ["a", "b", "c", "d", "e", "f"] {
            let is_shown = shown.contains(&format!("\"{value}\""));
            assert_eq!(is_shown, !hidden.contains(value), "{rule}: {value} in {shown}");
        }
    }
}

#[test]
fn values_that_a_database_quotes_of_a_row_it_refuses_are_secrets_where_their_columns_are() {
    let redactor = Redactor::default();
    for (text, shown) in [
        ("Key (token)=(hunter2) already exists.", "Key (token)=([redacted]) already exists."),
        (
            "DETAIL:  Key (email, api_key)=(a@b, hunter2) already exists",
            "DETAIL:  Key (email, api_key)=([redacted]) already exists",
        ),
        ("Key (email)=(a@b) already exists.", "Key (email)=(a@b) already exists."),
        (
            "Duplicate entry 'hunter2' for key 'users.index_users_on_token'",
            "Duplicate entry '[redacted]' for key 'users.index_users_on_token'",
        ),
        ("Duplicate entry 'a@b' for key 'users.email'", "Duplicate entry 'a@b' for key 'users.email'"),
        ("Failing row contains (1, hunter2, null).", "Failing row contains ([redacted])."),
    ] {
        assert_eq!(redactor.prose(text), shown.replace("[redacted]", REDACTED));
    }
}

#[test]
fn a_secret_whose_quote_was_cut_off_is_replaced_to_the_end() {
    let redactor = Redactor::default();
    for (text, out) in [
        (r#"{"password":"SEKRET-long-secr"#, r#"{"password":"[redacted]"#),
        (r#"{\"password\":\"SEKRET-long-secr"#, r#"{\"password\":\"[redacted]"#),
        (r#"body: "{\"password\":\"SEKRET-lo", user=7"#, r#"body: "{\"password\":\"[redacted]", user=7"#),
        (r#"password="SEKRET with blanks"#, r#"password="[redacted]"#),
        ("password='SEKRET with\nlines", "password='[redacted]"),
        (r#"{"password":"SEKRET\"KRET"#, r#"{"password":"[redacted]"#),
        (r#"{"password":"SEKRET\"#, r#"{"password":"[redacted]"#),
        (r#"{\"password\":\"SEK\\\"RET\",\"n\":1}"#, r#"{\"password\":\"[redacted]\",\"n\":1}"#),
        (r#"{"password":"SEKRET\\","n":1}"#, r#"{"password":"[redacted]","n":1}"#),
        (r"{:password=>\'SEKRET\'}", r"{:password=>\'[redacted]\'}"),
        ("Key (email, token)=(a@b, SEKRET-lo", "Key (email, token)=([redacted]"),
        ("Duplicate entry 'SEKRET-lo", "Duplicate entry '[redacted]"),
        ("Failing row contains (1, SEKRET, n", "Failing row contains ([redacted]"),
    ] {
        assert_eq!(redactor.prose(text), out);
    }
    for same in [r#"{"password":""#, "password='", "password=", r#"{"user":"SEKRET-long"#, "Key (email)=(a@b, c"] {
        assert!(matches!(redactor.prose(same), Cow::Borrowed(_)), "{same}");
    }
    let within = redactor.text(r#"{"log":"body: {\"password\":\"SEKRET","n":1}"#);
    assert_eq!(within, r#"{"log":"body: {\"password\":\"[redacted]","n":1}"#);
    let within = redactor.text(r#"{"log":"password='SEKRET","n":1}"#);
    assert_eq!(within, r#"{"log":"password='[redacted]","n":1}"#);
}

#[test]
fn nothing_of_a_secret_stands_behind_its_first_letters() {
    let redactor = Redactor::default();
    for (text, out) in [
        ("password=ab(REST) next", "password=[redacted] next"),
        ("api_key=[REST], x=1", "api_key=[redacted], x=1"),
        ("credentials: {a: 1, b: [REST]} x", "credentials: [redacted] x"),
        ("token=(REST and more", "token=[redacted]"),
        ("(password=abc) x", "(password=[redacted]) x"),
        ("#<User password=ab<REST id=1>", "#<User password=[redacted] id=1>"),
        ("{:a=>{:password=>abc}}", "{:a=>{:password=>[redacted]}}"),
        ("postgres://u:ab@REST@h/x", "postgres://u:[redacted]@h/x"),
        ("postgres://u:s3/cr@REST@h/x", "postgres://u:[redacted]@h/x"),
        ("amqp://a:b@h1,amqp://c:d@h2", "amqp://a:[redacted]@h1,amqp://c:[redacted]@h2"),
        ("http://api:8080/v1\u{3000}postgres://a:s3cret@db", "http://api:8080/v1\u{3000}postgres://a:[redacted]@db"),
        ("http://api:8080/v1\u{A0}postgres://a:s3cret@db", "http://api:8080/v1\u{A0}postgres://a:[redacted]@db"),
        ("http://api:8080/v1|postgres://a:s3cret@db", "http://api:8080/v1|postgres://a:[redacted]@db"),
        ("cannot parse postgres://u:SEKRET-cut", "cannot parse postgres://u:[redacted]"),
        ("<user>ana</user><password>x &amp; y</password>", "<user>ana</user><password>[redacted]</password>"),
        (r#"<ns:apiKey type="s"><![CDATA[REST]]></ns:apiKey>"#, r#"<ns:apiKey type="s">[redacted]</ns:apiKey>"#),
        ("<password>SEKRET-cu", "<password>[redacted]"),
    ] {
        assert_eq!(redactor.prose(text), out);
    }
    for same in [
        "expected Result<Token> and got another",
        "usage: <token> is needed",
        "password=[redacted]",
        "get https://registry:4873/@scope/pkg",
        "refused: http://db:5432.",
        "<password></password>",
    ] {
        assert!(matches!(redactor.prose(same), Cow::Borrowed(_)), "{same}");
    }
}

proptest! {
    #[test]
    fn a_planted_secret_never_comes_out_of_a_text_that_is_cut_off(
        key in prop::sample::select(vec!["password", "API_KEY", "accessToken", "cvv"]),
        noise in "[a-z ,:{}()<>'\\[\\]\"\\\\=&@/]{0,12}",
        cut in 0..80_usize,
        nested in 0..3_usize,
    ) {
        let mut document = format!("{{{}:{}}}", quote(key), quote(&format!("hunter2{noise}")));
        for _ in 0..nested {
            document = format!("{{\"body\":{}}}", quote(&document));
        }
        let cut = (0..=cut.min(document.len())).rev().find(|at| document.is_char_boundary(*at)).unwrap_or(0);
        let redactor = Redactor::default();
        let shown = redactor.text(&document[..document.len() - cut]).into_owned();
        prop_assert!(!shown.contains("hunter2"), "{shown}");
        let again = redactor.text(&shown).into_owned();
        prop_assert_eq!(shown, again);
    }
}
