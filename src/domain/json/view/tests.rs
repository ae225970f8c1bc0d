use proptest::prelude::*;

use super::super::TokenKind;
use super::*;

fn view(text: &str) -> View {
    View::new(Document::parse(text).expect("valid"), JsonHighlights::default())
}

fn shown(view: &View) -> Vec<String> {
    view.lines(0..usize::MAX).map(|l| format!("{}{}", "  ".repeat(l.indent as usize), &*l.clean())).collect()
}

const SAMPLE: &str = r#"{"user":{"id":42,"tags":["a",[],{}]},"n":1.10,"ok":true,"x":null}"#;

#[test]
fn a_document_is_laid_out_as_people_write_json() {
    let lines = shown(&view(SAMPLE));
    assert_eq!(
        lines,
        [
            "{",
            "  \"user\": {",
            "    \"id\": 42,",
            "    \"tags\": [",
            "      \"a\",",
            "      [],",
            "      {}",
            "    ]",
            "  },",
            "  \"n\": 1.10,",
            "  \"ok\": true,",
            "  \"x\": null",
            "}"
        ]
    );
}

#[test]
fn each_piece_says_what_it_is() {
    let v = view("{\"a\":[1]}");
    let line = v.lines(1..2).next().expect("a line");
    let kinds: Vec<_> = line.tokens.iter().map(|t| (t.kind, t.exact())).collect();
    assert_eq!(kinds, [(TokenKind::Key, "\"a\""), (TokenKind::Punct, ": "), (TokenKind::Punct, "[")]);
}

#[test]
fn a_fold_keeps_one_line_and_says_what_it_holds() {
    let mut v = view(SAMPLE);
    assert_eq!(v.toggle(3), 3);
    assert_eq!(shown(&v)[3], "    \"tags\": [ … 3 items ]");
    assert_eq!(v.toggle(1), 1);
    assert_eq!(shown(&v)[1], "  \"user\": { … 2 keys },");
    assert_eq!(v.total_lines(), 6);
    assert_eq!((v.line_of(5), v.line_of(7)), (1, 2));
    assert_eq!(v.reveal(5), 5);
    assert_eq!(v.total_lines(), 13);
}

#[test]
fn folding_at_the_closing_line_moves_to_the_line_that_stays() {
    let mut v = view(SAMPLE);
    assert_eq!(v.toggle(8), 1);
    assert_eq!(v.toggle(2), 2);
}

#[test]
fn folds_survive_a_reload_of_a_changed_document() {
    let mut v = view(SAMPLE);
    v.toggle(3);
    let mut again = view(&SAMPLE.replace("\"user\"", "\"new\":[1,2],\"user\""));
    again.set_fold_paths(&v.fold_paths());
    assert!(shown(&again).contains(&"    \"tags\": [ … 3 items ]".to_owned()));
    again.set_fold_paths(&[vec![PathStep::Key("gone".into(), 0)]]);
    assert_eq!(again.total_lines(), 17);
}

#[test]
fn folding_by_depth_leaves_the_levels_above_open() {
    let mut v = view(SAMPLE);
    v.fold_depth(1);
    assert_eq!(v.total_lines(), 6);
    v.fold_depth(2);
    assert_eq!(shown(&v)[3], "    \"tags\": [ … 3 items ]");
    v.unfold_all();
    assert_eq!(v.total_lines(), 13);
}

#[test]
fn hidden_members_take_their_line_and_their_comma_along() {
    let mut v = view(SAMPLE);
    let mut marks = JsonHighlights::default();
    for node in [2, 8, 9] {
        marks.cut(node, Cut::Hidden);
    }
    marks.cut(3, Cut::Shown("three".into(), TokenKind::Symbol));
    v.set_marks(marks);
    assert_eq!(shown(&v), ["{", "  \"user\": {", "    \"tags\": three", "  },", "  \"n\": 1.10", "}"]);
    assert_eq!(v.total_lines(), 6);
    assert_eq!(v.path_at(4).as_deref(), Some("n"));
}

#[test]
fn copies_are_exact_and_never_hold_what_is_redacted() {
    let mut v = view("{\"a\": {\"pin\" : 1234, \"n\":1.10},\"b\":2.50}");
    assert_eq!(v.value_at(1).as_deref(), Some("{\"pin\" : 1234, \"n\":1.10}"));
    let mut marks = JsonHighlights::default();
    marks.cut(2, Cut::Redacted);
    v.set_marks(marks);
    assert_eq!(v.value_at(1).as_deref(), Some("{\"pin\" : \"[redacted]\", \"n\":1.10}"));
    assert_eq!(v.value_at(2).as_deref(), Some("[redacted]"));
    assert_eq!(v.value_at(5).as_deref(), Some("2.50"));
    assert_eq!(v.value_at(99), None);
}

#[test]
fn a_long_value_is_cut_and_named_by_its_size() {
    let mut v = view(&format!("[\"{}\"]", "é".repeat(1_000_000)));
    let line = v.lines(1..2).next().expect("a line").clean().to_string();
    assert!(line.ends_with("é… 2.0 MB"), "{}", &line[line.len() - 40..]);
    assert!(line.chars().count() < View::CAP + 20);
    v.set_cap(4);
    assert_eq!(v.lines(1..2).next().map(|l| l.clean().to_string()).as_deref(), Some("\"ééé… 2.0 MB"));
}

#[test]
fn an_escape_is_never_cut_in_two() {
    for cap in 1..20 {
        let mut v = view(r#"["ab\\\u00e9\u001b\n\\"]"#);
        v.set_cap(cap);
        let line = v.lines(1..2).next().expect("a line");
        let text = line.tokens[0].exact().trim_matches('"').to_owned();
        assert!(r"ab\\é\u001b\n\\".starts_with(&text), "{cap}: {text}");
    }
}

#[test]
fn escape_sequences_in_keys_and_values_are_shown_and_do_not_act() {
    let v = view("{\"\u{9b}31m\":\"\u{202E}x\\u001b[0m\"}");
    assert_eq!(shown(&v)[1], "  \"⟨009B⟩31m\": \"⟨202E⟩x\\u001b[0m\"");
}

#[test]
fn ten_thousand_levels_are_a_window_like_any_other() {
    let mut v = view(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)));
    assert_eq!(v.total_lines(), 20_001);
    assert_eq!(v.lines(10_000..10_001).next().map(|l| l.indent), Some(10_000));
    assert_eq!(v.lines(15_000..15_001).next().map(|l| (l.indent, l.closing)), Some((5_000, true)));
    v.fold_depth(3);
    assert_eq!(v.total_lines(), 7);
    assert!(v.path_at(3).is_some());
}

#[test]
fn ten_megabytes_of_rows_are_windowed_anywhere() {
    let rows: Vec<String> = (0..250_000).map(|i| format!("{{\"id\":{i},\"tags\":[\"x\",{{}}]}}")).collect();
    let mut v = view(&format!("[{}]", rows.join(",")));
    assert_eq!(v.total_lines(), 250_000 * 7 + 2);
    let middle = v.lines(700_001..700_003).map(|l| l.clean().to_string()).collect::<Vec<_>>();
    assert_eq!(middle, ["{", "\"id\": 100000,"]);
    v.fold_depth(1);
    assert_eq!(v.total_lines(), 250_002);
    assert_eq!(v.lines(100_001..100_002).next().map(|l| l.clean().to_string()).as_deref(), Some("{ … 2 keys },"));
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["1", "null", "\"s\"", "[]", "{}", "-1.50e3"]).prop_map(str::to_owned);
    leaf.prop_recursive(5, 60, 5, |inner| {
        let key = prop::sample::select(vec!["a", "b", "", "_c"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec((key, inner), 0..5).prop_map(|members| {
                let members: Vec<String> = members.into_iter().map(|(k, v)| format!("\"{k}\" :{v}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_window_is_the_same_as_that_part_of_the_whole(
        text in json(),
        folds in prop::collection::vec(0u32..60, 0..5),
        cuts in prop::collection::vec((1u32..60, any::<bool>()), 0..5),
    ) {
        let mut v = view(&text);
        let mut marks = JsonHighlights::default();
        for (node, hide) in cuts.into_iter().filter(|&(node, _)| node < v.doc().node_count()) {
            marks.cut(node, if hide { Cut::Hidden } else { Cut::Redacted });
        }
        v.set_marks(marks);
        let len = v.doc().node_count();
        for node in folds.into_iter().filter(|&node| node < len) {
            v.toggle(v.line_of(node));
        }
        let whole: Vec<_> = v.lines(0..usize::MAX).collect();
        prop_assert_eq!(whole.len(), v.total_lines());
        for at in 0..=whole.len() {
            let window: Vec<_> = v.lines(at..at + 3).collect();
            prop_assert_eq!(&window[..], &whole[at..whole.len().min(at + 3)]);
            if let Some(line) = whole.get(at) {
                prop_assert_eq!(v.node_at(at), Some(line.node));
                if !line.closing {
                    prop_assert_eq!(v.line_of(line.node), at);
                }
            }
        }
    }

    #[test]
    fn what_is_displayed_in_full_is_the_document_again(text in json()) {
        let v = view(&text);
        let displayed: String = v.lines(0..usize::MAX).map(|l| l.clean().to_string()).collect();
        let squeezed = |t: &str| t.replace(' ', "");
        prop_assert_eq!(squeezed(&displayed), squeezed(&text));
    }
}
