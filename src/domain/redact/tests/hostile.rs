//! Texts that were made to get a secret out.

use proptest::prelude::*;

use super::*;

/// In a document, in prose, encoded again, and in an array: none of it may show `SEKRET`.
fn hidden_everywhere(redactor: &Redactor, json: &str) {
    let value = unquote(json);
    let within = quote(&format!("{{\"a\":{json}}}"));
    for text in [
        format!("{{\"raw\":{json},\"n\":1.10}}"),
        format!("[{json},\"b.rb:2\"]"),
        format!("{{\"inner\":{within}}}"),
        format!("{{\"outer\":{}}}", quote(&format!("{{\"inner\":{within}}}"))),
        format!("cut off: {{\"raw\":{json}"),
        format!("cut off: {{\"inner\":{within}"),
        value.into_owned(),
    ] {
        let shown = redactor.text(&text);
        assert!(!shown.contains("SEKRET"), "{text} is shown as {shown}");
        assert_eq!(Document::parse(&*text).is_ok(), Document::parse(&*shown).is_ok(), "{shown}");
        assert_eq!(redactor.text(&shown), shown, "{text}");
    }
}

#[test]
fn no_escape_of_a_json_string_hides_a_key() {
    let extra = RedactConfig { extra: vec!["birthday".into()], ..RedactConfig::default() };
    let redactor = Redactor::new(&extra);
    for json in [
        r#""x\ntoken=SEKRET""#,
        r#""x\ttoken=SEKRET""#,
        r#""x\u0026token=SEKRET""#,
        r#""x\nbirthday: SEKRET""#,
        r#""a\npin=SEKRET\notp=SEKRET\r\ncookie: SEKRET\fssn=SEKRET\bpan=SEKRET\tpwd=SEKRET""#,
        r#""mysql:\/\/root:SEKRET@host\/db""#,
        r#""\u003cpassword\u003eSEKRET\u003c/password\u003e""#,
        r#""\u0022token\u0022:\u0022SEKRET\u0022""#,
        r#""password\u003dSEKRET""#,
        r#""passw\u006frd=SEKRET""#,
        r#""password=\u00e9SEKRET""#,
        r#""password=ab\u00e9SEKRET""#,
        r#""password=ab\ud83d\udca5SEKRET""#,
        r#""x\nSet-Cookie: SEKRET""#,
        r#""{\"raw\":\"x\\ntoken=SEKRET\"}""#,
        r#""{\"inner\":\"{\\\"raw\\\":\\\"x\\\\ntoken=SEKRET\\\"}\"}""#,
        r#""sent {\"a\":1,\"token\":\"SEKRET\"}""#,
        r#""password%3DSEKRET%26a%3D1""#,
        r#""GET /a?b=%2Fc%3Ftoken%3DSEKRET""#,
        r#""a\npassword%253DSEKRET""#,
        r#""user[token]=SEKRET&x=1""#,
        r#""user%5Btoken%5D=SEKRET""#,
    ] {
        hidden_everywhere(&redactor, json);
    }
}

#[test]
fn what_is_not_masked_stays_to_the_byte() {
    let redactor = Redactor::default();
    let text = r#"{"n":1.10,"n":2,"a":"\u00e9\/\ud83d","b":"\ud83d \u00e9\ntoken=abc\u0026x\/y","c":"{\"n\":1.0,\"n\":2,\"token\":7,\"x\":\"\\u00e9\\/\\ntoken=abc\"}"}"#;
    assert_eq!(
        redactor.text(text),
        r#"{"n":1.10,"n":2,"a":"\u00e9\/\ud83d","b":"\ud83d \u00e9\ntoken=[redacted]\u0026x\/y","c":"{\"n\":1.0,\"n\":2,\"token\":\"[redacted]\",\"x\":\"\\u00e9\\/\\ntoken=[redacted]\"}"}"#
    );
    for same in [r#"{"a":"App\\Jobs\\Kernel: x\ny","b":"{\"a\":\"\\n\",\"token\":null}"}"#, r#"["a.rb:1\n\tb.rb:2"]"#] {
        assert!(matches!(redactor.text(same), Cow::Borrowed(_)), "{same}");
    }
}

#[test]
fn rules_that_name_several_keys_hold_in_json_within_json() {
    let config = RedactConfig { extra: vec!["customer.email".into()], ..RedactConfig::default() };
    let redactor = Redactor::new(&config);
    for json in [r#""{\"card\":{\"number\":\"SEKRET\"}}""#, r#"" {\"customer\":[{\"email\":[\"SEKRET\"]}]}""#] {
        let text = format!("{{\"raw\":{json},\"twice\":{}}}", quote(&format!("[{json}]")));
        let shown = redactor.text(&text);
        assert!(!shown.contains("SEKRET"), "{shown}");
        assert!(Document::parse(&*shown).is_ok(), "{shown}");
    }
}

#[test]
fn more_names_are_secret_and_counts_of_tokens_are_not() {
    let redactor = Redactor::default();
    for name in [
        "pass",
        "passcode",
        "Passwort",
        "mot_de_passe",
        "contraseña",
        "contrasena",
        "nuevaContraseña",
        "stripe_token",
        "device-token",
        "pushToken",
        "db_pass",
        "smtpPass",
        "user.token",
        "user[pin]",
    ] {
        let shown = redactor.text(&format!("{{\"{name}\":\"SEKRET\"}}")).into_owned();
        assert!(!shown.contains("SEKRET"), "{shown}");
        let shown = redactor.prose(&format!("failed {name}=SEKRET")).into_owned();
        assert!(!shown.contains("SEKRET"), "{shown}");
    }
    for same in [
        r#"{"token_count":1,"token_type":"bearer","max_tokens":9,"tokens":[1],"compass":"n","bypass":true}"#,
        "JWT::InvalidToken: Signature has expired",
        "total_tokens=12, max_tokens: 9",
    ] {
        assert!(matches!(redactor.text(same), Cow::Borrowed(_)), "{same}");
    }
    let allow = RedactConfig { allow: vec!["page_token".into()], ..RedactConfig::default() };
    assert_eq!(marked_by(&allow, r#"{"page_token":1,"stripe_token":2}"#), ["stripe_token"]);
    let off = RedactConfig { well_known: false, ..RedactConfig::default() };
    assert_eq!(marked_by(&off, r#"{"page_token":1,"pass":2}"#), [""; 0]);
}

fn marked_by(config: &RedactConfig, text: &str) -> Vec<String> {
    let doc = Document::parse(text).expect("valid");
    let mut marks = JsonHighlights::default();
    Redactor::new(config).mark(&doc, &mut marks);
    marks.cuts().map(|(node, _)| doc.path(node)).collect()
}

#[test]
fn a_pair_names_its_value_and_a_list_of_words_its_options() {
    let text = r#"[{"name":"password","value":"x"},{"value":[1],"Key":"X-Api-Key"},{"name":"ann","value":"x"},
        {"key":"token","value":null},["curl","--token","x","--verbose","--api-key","--token-file","x"],{"argv":"--token","b":"c"}]"#;
    assert_eq!(marked_by(&RedactConfig::default(), text), ["0.value", "1.value", "4.2"]);
}

#[test]
fn credentials_are_known_by_how_they_look() {
    let redactor = Redactor::default();
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    let hash = "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW";
    for secret in [
        token,
        &token[..60],
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "rk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
        "xoxb-123456789012-abcdefghijkl",
        "glpat-abcdefghij0123456789",
        hash,
        &hash.replace("2b", "2y"),
    ] {
        for text in [format!("sent {secret}, then"), format!("{{\"a\":[\"x\\n{secret}\"]}}"), secret.to_owned()] {
            let shown = redactor.text(&text);
            assert!(shown.contains(REDACTED) && !shown.contains(secret), "{shown}");
            assert_eq!(shown, text.replace(secret, REDACTED));
        }
    }
    for (text, shown) in [
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- x",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY----- x",
        ),
        (r#"{"k":"-----BEGIN PRIVATE KEY-----\nMIIE"#, r#"{"k":"-----BEGIN PRIVATE KEY-----[redacted]"#),
        (
            r#"{"k":"-----BEGIN PRIVATE KEY-----\nMIIE\n","n":1}"#,
            r#"{"k":"-----BEGIN PRIVATE KEY-----[redacted]","n":1}"#,
        ),
    ] {
        assert_eq!(redactor.text(text), shown);
    }
}

#[test]
fn options_of_a_command_line_are_masked() {
    let redactor = Redactor::default();
    for (text, shown) in [
        ("curl --token SEKRET -v", "curl --token [redacted] -v"),
        ("x --password=SEKRET --api-key 'a b' y", "x --password=[redacted] --api-key '[redacted]' y"),
        (r#"["x", "--api-key", "a,b", "c"]x"#, r#"["x", "--api-key", "[redacted]", "c"]x"#),
        ("x --token a,b;c", "x --token [redacted]"),
    ] {
        assert_eq!(redactor.prose(text), shown);
    }
    for same in
        ["--token", "--token --verbose", "--token <TOKEN>", "--password-file /run/a", "a--token b", "--user ann"]
    {
        assert!(matches!(redactor.prose(same), Cow::Borrowed(_)), "{same}");
    }
}

#[test]
fn ordinary_text_is_shown() {
    let redactor = Redactor::default();
    for same in [
        "0d5bd2f4-8f5c-4b5e-9c5a-1f2e3d4c5b6a",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "app/models/user.rb:12:in `eyJ'",
        "cursor eyJpZCI6NDJ9",
        "eyJpZCI6NDJ9. And more",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "AKIA is short, ASIAN MARKETS CLOSED TODAY",
        "risk_live_0123456789 task_test_0123456789",
        "costs $2a$ and $2b$12",
        "100% of %s, 50%25",
        "at Object.<anonymous> (/app/a.js:1:2)",
        "git log --oneline -- path",
    ] {
        assert!(matches!(redactor.prose(same), Cow::Borrowed(_)), "{same}");
        assert!(matches!(redactor.text(&format!("[{}]", quote(same))), Cow::Borrowed(_)), "{same}");
    }
}

proptest! {
    #[test]
    fn no_noise_of_escapes_gets_a_secret_out_or_breaks_json(
        before in "[a-z\\n\\t&?,;{\" é/]{0,6}",
        key in prop::sample::select(vec!["token", "pin", "password"]),
        after in "([\\n\\t&,;\" ][a-zé\\n]{0,5})?",
        levels in 0..4_usize,
    ) {
        let text = format!("{before}\n{key}=hunter2{after}");
        let mut json = format!("{{\"a\":{}}}", quote(&text));
        for _ in 0..levels {
            json = format!("{{\"b\":{}}}", quote(&json));
        }
        let redactor = Redactor::default();
        let shown = redactor.text(&json);
        prop_assert!(!shown.contains("hunter2"), "{}", shown);
        prop_assert!(Document::parse(&*shown).is_ok(), "{}", shown);
        prop_assert_eq!(redactor.text(&shown), &*shown);
    }
}
