use super::super::{Filter, ParseError};

fn error(text: &str) -> ParseError {
    match Filter::parse(text) {
        Err(error) => error,
        Ok(filter) => panic!("{text} parses to {filter:?}"),
    }
}

/// The text that the error's place covers.
fn place(text: &str) -> String {
    let error = error(text);
    text.chars().skip(error.column()).take(error.width()).collect()
}

fn meant(text: &str) -> Option<String> {
    error(text).suggestion().map(|meant| meant.to_string())
}

#[test]
fn an_error_is_one_sentence_with_place_and_remedy() {
    let error = error("é eror:x");
    assert_eq!((error.column(), error.width()), (2, 4));
    assert!(
        error.to_string().starts_with("unknown key `eror` at column 3: did you mean `error`? Expected one of error,")
    );
    assert_eq!(error.pointer(), "é eror:x\n  ^^^^");
    assert_eq!(
        self::error("attempts:five").to_string(),
        "`five` is no whole number at column 10: expected a whole number, a comparison such as >=5, or a range such as 5..10."
    );
}

#[test]
fn the_place_is_the_part_that_is_wrong() {
    for (text, wrong) in [
        ("error:x quee:y", "quee"),
        ("attempts:>=x", "x"),
        ("attempts:1..x", "x"),
        ("attempts:9..1", "9..1"),
        ("attempts:>9223372036854775807", ">9223372036854775807"),
        ("since:2y", "2y"),
        ("since:2026-13-01", "2026-13-01"),
        ("since:1001d until:99999999w", "99999999w"),
        ("at:2026-11-21..2026-11-20", "2026-11-21..2026-11-20"),
        ("at:30m..2h", "30m..2h"),
        ("at:2026-11-20..2h", "2026-11-20..2h"),
        ("at:2h", "2h"),
        ("idle:1h..15m", "1h..15m"),
        ("state:ded", "ded"),
        ("state:\"\"", "\"\""),
        ("fp:xyz", "xyz"),
        ("queue:a\"b", "\""),
        ("msg:\"a b", "\"a b"),
        ("msg:\"a\"b", "b"),
        ("msg:\"a\\q\"", "\\q"),
        ("msg:/a/b/", "b/"),
        ("msg:/a b", "/a b"),
        ("msg://", "//"),
        ("queue:é msg:/a(b/", "("),
        ("msg:/é[z-a]/", "z-a"),
        ("attempts:/5/", "/5/"),
        ("args.n:>x", "x"),
        ("args.n:5..1", "5..1"),
        ("since:@", "@"),
        ("since:@-v1", "@-v1"),
        ("at:@v1", "@v1"),
        ("at:7d..@v1", "7d..@v1"),
        ("at:@v1..1h", "@v1..1h"),
        ("-", "-"),
        ("--x", "--x"),
        ("a OR b", "OR"),
        ("\"\"", "\"\""),
        ("args.a.\"b\\q\":1", "\\q"),
        ("args.\"a\"b:1", "b"),
    ] {
        assert_eq!(place(text), wrong, "{text}");
    }
}

#[test]
fn a_missing_part_is_pointed_at_where_it_is_missing() {
    for (text, column) in [("error:", 6), ("error: x", 6), ("args.:1", 5), ("args.a..b:1", 7), ("attempts>=5", 8)] {
        assert_eq!((error(text).column(), error(text).width()), (column, 0), "{text}");
    }
}

#[test]
fn near_misses_get_a_suggestion() {
    for (text, suggestion) in [
        ("Error:x", Some("error")),
        ("classs:x", Some("class")),
        ("arg.user.id:1", Some("args.user.id")),
        ("finger:1f", Some("fingerprint")),
        ("state:ded", Some("dead")),
        ("state:DEAD", Some("dead")),
        ("attempts>=5", Some("attempts:>=5")),
        ("queue=low", Some("queue:low")),
        ("queue!=low", Some("-queue:low")),
        ("zzz:x", None),
    ] {
        assert_eq!(meant(text).as_deref(), suggestion, "{text}");
    }
}

#[test]
fn a_word_that_only_resembles_a_comparison_is_a_word() {
    for word in ["error!", "10:30", "x=1", "a->b"] {
        assert!(Filter::parse(word).is_ok(), "{word}");
    }
}

#[test]
fn a_repetition_that_lets_every_number_pass_is_refused() {
    assert_eq!(place("queue:a attempts:>=5 attempts:<10"), "attempts:<10");
    assert_eq!(place("attempts:>4 attempts:<5"), "attempts:<5");
    assert_eq!(place("args.n:<5 args.n:>=5.0"), "args.n:>=5.0");
    for fine in ["attempts:<5 attempts:>5", "args.n:<5 args.n:>5", "-attempts:>=5 -attempts:<3", "args.a:<5 args.b:>1"]
    {
        assert!(Filter::parse(fine).is_ok(), "{fine}");
    }
}

#[test]
fn oversized_expressions_are_refused() {
    assert_eq!(error("msg:/(\\pL{200}){200}/").problem().to_string(), "the regular expression is too large");
    assert!(Filter::parse(&format!("msg:/{}/", "(".repeat(5000))).is_err());
}

#[test]
fn long_text_is_cut_in_the_message() {
    assert!(error(&format!("attempts:{}", "9".repeat(100_000))).to_string().len() < 250);
}
