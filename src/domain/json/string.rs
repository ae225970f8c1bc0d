//! Strings: taking their escapes off and putting them on.

use std::borrow::Cow;
use std::fmt::Write;

/// The text that a JSON string stands for. `raw` has its quotes; text without any is returned as it is.
///
/// Half of a surrogate pair stands for no character and becomes U+FFFD.
pub fn unquote(raw: &str) -> Cow<'_, str> {
    let Some(inner) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Cow::Borrowed(raw);
    };
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (c, length) = escape(&rest[at..]);
        out.push(c);
        rest = rest.get(at + length..).unwrap_or("");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A JSON string as a screen shows it: as written, with letters that were written as `\u…` for no need put in place.
pub(super) fn readable(raw: &str) -> Cow<'_, str> {
    if !raw.contains("\\u") {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (c, length) = escape(&rest[at..]);
        let written = rest.get(at..at + length).unwrap_or("");
        if written.starts_with("\\u") && c >= ' ' && !matches!(c, '"' | '\\' | '\u{7F}' | '\u{FFFD}') {
            out.push(c);
        } else {
            out.push_str(written);
        }
        rest = rest.get(at + length..).unwrap_or("");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that the escape at the start of `text` stands for, and the bytes it takes.
fn escape(text: &str) -> (char, usize) {
    match text.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{C}', 2),
        Some(b'u') => unicode(text),
        Some(&c) if c.is_ascii() => (char::from(c), 2),
        _ => ('\\', 1),
    }
}

fn unicode(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let Some(high) = unit(2) else {
        return ('\u{FFFD}', 2);
    };
    let low = text.get(6..8).filter(|&mark| mark == "\\u").and_then(|_| unit(8));
    let mut pair = char::decode_utf16([high].into_iter().chain(low));
    match pair.next() {
        Some(Ok(c)) if c.len_utf16() == 2 => (c, 12),
        Some(Ok(c)) => (c, 6),
        _ => ('\u{FFFD}', 6),
    }
}

/// `text` as a JSON string with its quotes. Only what must be escaped is.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        // Nearly every text: as it is.
        out.push_str(text);
        out.push('"');
        return out;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1F}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_taken_off_and_half_a_pair_is_no_character() {
        assert_eq!(unquote(r#""a\n\"\\\/\u00e9\ud83d\udca5""#), "a\n\"\\/é💥");
        assert_eq!(unquote(r#""\ud83dx\udca5\u0000""#), "\u{FFFD}x\u{FFFD}\0");
        assert_eq!(unquote("12"), "12");
    }

    #[test]
    fn a_screen_shows_letters_and_keeps_the_escapes_that_matter() {
        assert_eq!(
            readable(r#""\u003cmodule\u003e \u0022 \n \u001b \\u00e9 \ud83d""#),
            r#""<module> \u0022 \n \u001b \\u00e9 \ud83d""#
        );
    }

    proptest! {
        #[test]
        fn quoting_round_trips_and_is_what_others_read(text in any::<String>()) {
            let quoted = quote(&text);
            prop_assert_eq!(unquote(&quoted), &*text);
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).ok(), Some(text));
        }

        #[test]
        fn nothing_panics_on_strings_cut_anywhere(text in "[\\\\u0-9a-f\"é]{0,14}") {
            let _ = (unquote(&text), readable(&text), unquote(&format!("\"{text}\"")));
        }
    }
}
