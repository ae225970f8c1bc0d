use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn line(text: &str) -> String {
    sanitise(text, Breaks::Shown).into_owned()
}

#[test]
fn controls_become_pictures_and_line_breaks_a_mark() {
    assert_eq!(line("\u{1b}]52;c;eA==\u{7}"), "␛]52;c;eA==␇");
    assert_eq!(line("a\0b\u{7f}\u{9b}31m"), "a␀b␡⟨009B⟩31m");
    assert_eq!(line("a\nb\r\nc\rd"), "a⏎b⏎c␍d");
    assert_eq!(sanitise("a\r\nb\nc\r", Breaks::Kept), "a\nb\nc␍");
}

#[test]
fn bidi_zero_width_private_and_blank_letters_are_named_by_code() {
    assert_eq!(line("a\u{202E}b\u{2066}"), "a⟨202E⟩b⟨2066⟩");
    assert_eq!(line("x\u{200B}\u{FEFF}\u{AD}"), "x⟨200B⟩⟨FEFF⟩⟨00AD⟩");
    assert_eq!(line("\u{E000}\u{E0041}\u{3164}\u{2028}\u{378}"), "⟨E000⟩⟨E0041⟩⟨3164⟩⟨2028⟩⟨0378⟩");
}

#[test]
fn emoji_of_several_parts_are_taken_apart() {
    assert_eq!(line("👩‍👧"), "👩⟨200D⟩👧");
    assert_eq!(line("❤️"), "❤⟨FE0F⟩");
    assert_eq!(line("👍🏽"), "👍⟨1F3FD⟩");
    assert_eq!(line("🇩🇪"), "⟨1F1E9⟩⟨1F1EA⟩");
    assert_eq!(line("1️⃣"), "1⟨FE0F⟩\u{20E3}");
    assert_eq!(line("a\u{200D}b"), "a⟨200D⟩b");
    assert_eq!(line("👩 🚀 ❤ ☎"), "👩 🚀 ❤ ☎", "whole ones stay");
}

#[test]
fn a_tower_of_marks_ends_at_the_fourth() {
    let tower = format!("e{}x\u{301}", "\u{301}".repeat(6));
    assert_eq!(line(&tower), "e\u{301}\u{301}\u{301}\u{301}⟨0301⟩⟨0301⟩x\u{301}");
    assert_eq!(line("\u{301}a"), "⟨0301⟩a");
    assert_eq!(sanitise("a\n\u{301}", Breaks::Kept), "a\n⟨0301⟩");
    assert_eq!(line("\u{E01}\u{E34}\u{E48}"), "\u{E01}\u{E34}\u{E48}");
}

#[test]
fn tabs_reach_the_next_stop_whatever_stands_before_them() {
    assert_eq!(line("\tx"), "    x");
    assert_eq!(line("ab\tx\ty"), "ab  x   y");
    assert_eq!(line("日本\tx"), "日本    x");
    assert_eq!(sanitise("abc\nd\te", Breaks::Kept), "abc\nd   e");
}

#[test]
fn what_needs_no_change_is_borrowed() {
    for same in ["", "plain", "café 日本語 Привет", "👩🚀"] {
        assert!(matches!(sanitise(same, Breaks::Shown), Cow::Borrowed(_)), "{same}");
    }
    assert!(matches!(sanitise("a\nb", Breaks::Kept), Cow::Borrowed(_)));
}

#[test]
fn ten_megabytes_of_anything_are_done_in_one_pass() {
    // Quadratic work would take minutes here, and be noticed without a clock.
    for unit in ["\t", "\u{202E}a", "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", "日\t", "👩\u{200D}"] {
        let text = unit.repeat(10_000_000 / unit.len() / 4);
        assert!(sanitise(&text, Breaks::Kept).len() >= text.len());
    }
}

fn nasty() -> impl Strategy<Value = String> {
    let sharp = prop::sample::select(vec![
        '\u{1b}',
        '\t',
        '\n',
        '\r',
        '\u{9b}',
        '\u{202E}',
        '\u{200D}',
        '\u{FE0F}',
        '\u{301}',
        '\u{20E3}',
        '👩',
        '❤',
        '🏽',
        '1',
        '\u{1160}',
        '\u{11A8}',
        '\u{3164}',
        'a',
        '日',
        '🇩',
        '\u{2028}',
        '\u{E0061}',
        '\u{600}',
    ]);
    prop::collection::vec(prop_oneof![3 => sharp, 1 => any::<char>()], 0..40).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_that_acts_or_hides_is_ever_left(text in nasty()) {
        for breaks in [Breaks::Kept, Breaks::Shown] {
            let clean = sanitise(&text, breaks);
            let mut marks = 0;
            for c in clean.chars() {
                prop_assert!(c == '\n' && breaks == Breaks::Kept || !is_invisible(c), "{c:?} in {clean:?}");
                prop_assert!(!is_part_of_emoji(c), "{c:?} in {clean:?}");
                marks = if extends(c) { marks + 1 } else { 0 };
                prop_assert!(marks <= usize::from(MAX_MARKS) + 1, "{clean:?}");
            }
        }
        prop_assert!(!sanitise(&text, Breaks::Shown).contains('\n'));
    }

    #[test]
    fn what_is_left_is_as_wide_as_its_characters(text in nasty()) {
        let clean = line(&text);
        let each: usize = clean.chars().map(|c| c.width().unwrap_or(0)).sum();
        prop_assert_eq!(UnicodeWidthStr::width(&*clean), each, "{:?}", clean);
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in nasty()) {
        for breaks in [Breaks::Kept, Breaks::Shown] {
            let once = sanitise(&text, breaks).into_owned();
            prop_assert_eq!(sanitise(&once, breaks), &*once);
        }
    }
}
