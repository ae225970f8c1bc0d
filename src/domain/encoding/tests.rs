use proptest::prelude::*;

use super::*;

fn whole(text: &str, encoding: Encoding) -> String {
    decode(text, &BTreeMap::from([(String::new(), encoding)])).into_owned()
}

fn yaml(text: &str) -> String {
    whole(text, Encoding::Yaml)
}

fn php(text: &str) -> String {
    whole(text, Encoding::Php)
}

#[test]
fn php_values_are_read_with_their_types_and_numbers_stay_exact() {
    for (text, json) in [
        ("N;", "null"),
        ("b:1;", "true"),
        ("b:0;", "false"),
        ("i:-9223372036854775808;", "-9223372036854775808"),
        ("d:0.10000000000000000000001;", "0.10000000000000000000001"),
        ("d:1.0E+25;", "1.0E+25"),
        ("d:-INF;", "\"-INF\""),
        ("s:10:\"caf\u{e9} \u{1f4a5}\";", "\"caf\u{e9} \u{1f4a5}\""),
        ("s:3:\"\";\"\";", "\"\\\";\\\"\""),
        ("a:0:{}", "[]"),
        ("a:2:{i:0;i:7;i:1;a:1:{s:1:\"k\";N;}}", "[7,{\"k\":null}]"),
        ("a:2:{i:1;i:7;i:0;i:8;}", "{\"1\":7,\"0\":8}"),
        ("a:2:{i:0;i:7;s:1:\"k\";i:8;}", "{\"0\":7,\"k\":8}"),
        ("E:11:\"Suit:Hearts\";", "\"Suit::Hearts\""),
        ("C:3:\"Box\":4:{a{b}}", "{\"__class\":\"Box\",\"value\":\"a{b}\"}"),
    ] {
        assert_eq!(php(text), json, "{text}");
    }
}

#[test]
fn php_objects_name_their_class_and_lose_the_marks_of_private_members() {
    let text =
        "O:8:\"App\\Card\":4:{s:1:\"a\";i:1;s:4:\"\0*\0b\";O:1:\"D\":0:{}s:11:\"\0App\\Card\0c\";r:2;s:1:\"d\";R:1;}";
    let json = r#"{"__class":"App\\Card","a":1,"b":{"__class":"D"},"c":{"__reference":2},"d":{"__reference":1}}"#;
    assert_eq!(php(text), json);
}

#[test]
fn what_is_no_php_stays_as_it_is() {
    let deep = format!("{}N;{}", "a:1:{i:0;".repeat(5_000), "}".repeat(5_000));
    for same in [
        "",
        "N",
        "N;N;",
        "i:;x",
        "s:4:\"abc\";",
        "s:1:\"\u{e9}\";",
        "s:18446744073709551616:\"a\";",
        "s:99999999999:\"a\";",
        "a:2:{i:0;N;}",
        "a:-1:{}",
        "eyJpdiI6ImFiYyJ9",
        "O:1:\"A\":1:{d:1;N;}",
        &deep,
    ] {
        assert_eq!(php(same), same, "{same:.40}");
    }
}

#[test]
fn strings_within_json_are_read_where_the_adapter_says_and_nothing_else_changes() {
    let places = BTreeMap::from([
        ("data.command".to_owned(), Encoding::Php),
        ("data.command.meta".to_owned(), Encoding::Json),
        ("data.command.text".to_owned(), Encoding::Json),
    ]);
    let text = r#"{"n": 1e400,"data":{"command":"O:1:\"A\":3:{s:4:\"\u0000*\u0000b\";i:7;s:4:\"meta\";s:7:\"{\"a\":1}\";s:4:\"text\";s:1:\"5\";}"}}"#;
    let json = r#"{"n": 1e400,"data":{"command":{"__class":"A","b":7,"meta":{"a":1},"text":"5"}}}"#;
    assert_eq!(decode(text, &places), json);
    for same in [r#"{"data":{"command":"eyJpdiI6IkFBIn0="}}"#, r#"{"data":{"command":7}}"#, r#"{"data":[]}"#, "plain"] {
        assert!(matches!(decode(same, &places), Cow::Borrowed(_)), "{same}");
    }
}

#[test]
fn yaml_tags_of_ruby_name_classes() {
    for (text, json) in [
        (
            "--- !ruby/struct:NewsletterJob\ntext: lorem\nemails:\n- a@b.example\n",
            r#"{"__class":"NewsletterJob","text":"lorem","emails":["a@b.example"]}"#,
        ),
        (
            "--- !ruby/object:Delayed::PerformableMethod\nobject: !ruby/class 'Biller'\nmethod_name: :charge!\nargs:\n- 100\n- :currency: EUR\n",
            r#"{"__class":"Delayed::PerformableMethod","object":"Biller","method_name":":charge!","args":[100,{"currency":"EUR"}]}"#,
        ),
        ("- !ruby/symbol a b\n- :\"c d\"\n- !ruby/regexp /x/\n", r#"[":a b",":\"c d\"","/x/"]"#),
        ("- !ruby/object:BigDecimal 18:0.15e1\n", r#"[{"__class":"BigDecimal","value":"18:0.15e1"}]"#),
        ("- !ruby/ActiveRecord:User\n  id: 7\n", r#"[{"__class":"User","id":7}]"#),
        (
            "- !ruby/range\n  begin: 1\n  end: 2\n  excl: false\n",
            r#"[{"__class":"range","begin":1,"end":2,"excl":false}]"#,
        ),
        ("- !ruby/array:Row [1]\n- !map:Hash {a: 1}\n", r#"[{"__class":"Row","value":[1]},{"__class":"Hash","a":1}]"#),
        (":\"a b\": 1\n!ruby/symbol c: 2\n", r#"{"a b":1,"c":2}"#),
    ] {
        assert_eq!(yaml(text), json, "{text}");
    }
}

#[test]
fn yaml_scalars_are_what_ruby_takes_them_for_and_numbers_stay_exact() {
    let text = "- 12345678901234567890.10\n- 1_000\n- '7'\n- ~\n-\n- yes\n- Off\n- 2026-01-01\n- .inf\n- 010\n- +5\n- !!str 5\n- ! 5\n";
    let json = r#"[12345678901234567890.10,"1_000","7",null,null,true,false,"2026-01-01",".inf","010","+5","5","5"]"#;
    assert_eq!(yaml(text), json);
    let blocks = "a: |\n  one\n  two\nb: >-\n  one\n  two\nc: \"x\\ny \\u00e9\"\nd: !binary |-\n  AAEC\n";
    assert_eq!(yaml(blocks), r#"{"a":"one\ntwo\n","b":"one two","c":"x\ny é","d":"AAEC"}"#);
}

#[test]
fn aliases_are_written_out_unless_they_are_part_of_themselves_or_a_bomb() {
    assert_eq!(yaml("a: &1 {x: &2 7}\nb: *1\nc: *2\n"), r#"{"a":{"x":7},"b":{"x":7},"c":7}"#);
    assert_eq!(yaml("--- &1\nself: *1\n"), r#"{"self":{"__reference":1}}"#);
    let mut bomb = "a0: &a0 [lol, lol]\n".to_owned();
    for n in 1..60 {
        let row = format!("*a{}, ", n - 1).repeat(9);
        bomb += &format!("a{n}: &a{n} [{row}]\n");
    }
    let json = yaml(&bomb);
    assert!(json.len() < 2 * (bomb.len() * 4 + (64 << 10)), "{}", json.len());
    assert!(json.contains(REFERENCE) && Document::parse(json).is_ok());
}

#[test]
fn what_is_no_yaml_stays_as_it_is() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let keys = "? ".repeat(100) + "a";
    for same in
        ["", "just words", "42", "a: b\n---\nc: d\n", "a: [", "\t- x: :", "a: *nowhere", "? ? ? a\n", &deep, &keys]
    {
        assert_eq!(yaml(same), same, "{same:.40}");
    }
    assert_eq!(yaml("? [1, 2]\n: x\n"), r#"{"[1,2]":"x"}"#);
}

#[test]
fn long_hostile_texts_are_read_or_left() {
    for piece in [
        "[",
        "- ",
        "? ",
        "a: ",
        "{a: ",
        "*a ",
        "&a ",
        "!a ",
        "a:\n",
        "\"\\n",
        "|\n ",
        "# \n",
        "- &a a\n",
        "'",
        "a:1:{i:0;",
        "s:9:",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        for encoding in [Encoding::Yaml, Encoding::Php] {
            let made = whole(&text, encoding);
            assert!(made == text || Document::parse(made).is_ok(), "{piece}");
        }
    }
}

#[test]
fn words_that_reading_makes_are_no_pieces_of_what_is_stored() {
    for (piece, survives_it) in
        [("EUR", true), ("42", true), ("ru", false), ("TRUE", false), ("class", false), ("a b", false)]
    {
        assert_eq!(survives(piece), survives_it, "{piece}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_text_becomes_json_or_stays(text in any::<String>()) {
        for encoding in [Encoding::Yaml, Encoding::Php, Encoding::Json] {
            let made = whole(&text, encoding);
            prop_assert!(made == text || Document::parse(made).is_ok());
        }
    }

    #[test]
    fn nearly_php_becomes_json_or_stays(text in "([abdisNOCEr]:?|[0-9]{1,2}:?|[{}\";:\0*é]|s:1:\"a\";|i:0;|a:1:\\{){0,14}") {
        let made = php(&text);
        prop_assert!(made == text || Document::parse(made).is_ok());
    }

    #[test]
    fn nearly_yaml_becomes_json_or_stays(text in "(- |  |\n|: |a|&a |\\*a|[\\[\\]{},?|>'\"!%#@`-]|!ruby/object:A |:b|--- |é){0,16}") {
        let made = yaml(&text);
        prop_assert!(made == text || Document::parse(&*made).is_ok(), "{}", made);
    }

    #[test]
    fn letters_and_digits_survive_every_encoding(words in prop::collection::vec("[a-zA-Z0-9]{1,6}", 1..4)) {
        let php_text = format!("a:{}:{{{}}}", words.len(), words.iter().enumerate().map(|(n, w)| format!("s:2:\"k{n}\";s:{}:\"{w}\";", w.len())).collect::<String>());
        let yaml_text: String = words.iter().map(|w| format!("- {w}\n")).collect();
        for (text, made) in [(php_text.clone(), php(&php_text)), (yaml_text.clone(), yaml(&yaml_text))] {
            let doc = Document::parse(made).expect("JSON");
            for node in 0..doc.node_count() {
                let value = doc.scalar(node).unwrap_or_default();
                for piece in value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty() && survives(p)) {
                    prop_assert!(text.contains(piece), "{} without {}", text, piece);
                }
            }
        }
    }
}
