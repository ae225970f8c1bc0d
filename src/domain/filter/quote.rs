//! Quoting and its reverse. What is quoted here reads back as the same text, and holds no character that could act on
//! a screen, whatever the value was.

use std::ops::Range;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::error::FilterError;
use super::key::ValueKind;

/// A value as a term writes it when exactly this text is meant: bare where that reads well, quoted otherwise.
pub(super) fn value(value: &str, kind: ValueKind) -> String {
    let symbol = |c: char| "_-.:@#$/+&%=~\\()[]{}|,;!?'^<>".contains(c);
    let opens = |c: char| c == '/' || (kind == ValueKind::Argument && "<>".contains(c));
    let compares = kind == ValueKind::Argument && value.contains("..");
    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || symbol(c));
    let bare = plain && !compares && !value.is_empty() && !value.starts_with(opens);
    if bare { value.to_owned() } else { text(value) }
}

/// Text in double quotes, stars and everything invisible escaped.
pub(super) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' | '*' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if invisible(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `word.segment.segment`, with the segments quoted that need it.
pub(super) fn path(word: &str, path: &[String]) -> String {
    let mut out = word.to_owned();
    for segment in path {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-@#$/".contains(c);
        out.push('.');
        if !segment.is_empty() && segment.chars().all(plain) {
            out.push_str(segment);
        } else {
            out.push_str(&text(segment));
        }
    }
    out
}

/// Control characters, bidirectional and other format characters, odd spaces, and what Unicode has not assigned.
fn invisible(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate, Unassigned,
    };
    match c.general_category() {
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | Surrogate | Unassigned => true,
        SpaceSeparator => c != ' ',
        _ => false,
    }
}

/// The text between double quotes, cut at the stars that are not escaped.
pub(super) fn unquote(text: &str, inner: Range<usize>) -> Result<Vec<String>, FilterError> {
    let mut parts = Vec::new();
    let mut piece = String::new();
    let mut chars = text[inner.clone()].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '*' => parts.push(std::mem::take(&mut piece)),
            '\\' => {
                let start = inner.start + at;
                let (c, length) = escape(&text[start..inner.end]).ok_or_else(|| bad_escape(text, start, inner.end))?;
                piece.push(c);
                // The escape is ASCII, so its length in bytes is its length in characters.
                for _ in 1..length {
                    chars.next();
                }
            }
            c => piece.push(c),
        }
    }
    parts.push(piece);
    Ok(parts)
}

/// The character that an escape at the start of `text` stands for, and how many bytes the escape takes.
fn escape(text: &str) -> Option<(char, usize)> {
    let c = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'*' => '*',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let digits = text.strip_prefix("\\u{")?.split_once('}')?.0;
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
            return Some((char::from_u32(code)?, digits.len() + 4));
        }
        _ => return None,
    };
    Some((c, 2))
}

fn bad_escape(text: &str, start: usize, end: usize) -> FilterError {
    let next = text[start + 1..end].chars().next().map_or(0, char::len_utf8);
    FilterError::new(
        start..start + 1 + next,
        "unknown escape",
        r#"\\ for a backslash, or one of \" \* \n \r \t \u{1b}"#,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_bare_and_everything_else_is_quoted() {
        for bare in ["Net::ReadTimeout", "App\\Jobs\\Send", "a-b_c.d@e", "Foo<Bar>"] {
            assert_eq!(value(bare, ValueKind::Text), bare);
        }
        for (odd, quoted) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("a*", r#""a\*""#),
            ("/x/", r#""/x/""#),
            ("say \"hi\"", r#""say \"hi\"""#),
            ("a\nb\t\r", r#""a\nb\t\r""#),
            ("\u{1b}]8;;\u{202e}", r#""\u{1b}]8;;\u{202e}""#),
            ("日本", "\"日本\""),
        ] {
            assert_eq!(value(odd, ValueKind::Text), quoted);
        }
    }

    #[test]
    fn what_an_argument_would_read_as_a_comparison_is_quoted() {
        assert_eq!(value(">5", ValueKind::Argument), "\">5\"");
        assert_eq!(value("1..2", ValueKind::Argument), "\"1..2\"");
        assert_eq!(value("-1.5", ValueKind::Argument), "-1.5");
    }

    #[test]
    fn stars_cut_and_escaped_stars_do_not() {
        let parts = |text: &str| unquote(text, 0..text.len()).map_err(|fault| fault.span);
        assert_eq!(parts(r"a*b\*c"), Ok(vec!["a".to_owned(), "b*c".to_owned()]));
        assert_eq!(parts(""), Ok(vec![String::new()]));
        assert_eq!(parts("*"), Ok(vec![String::new(), String::new()]));
        assert_eq!(parts(r"\u{1F600}!"), Ok(vec!["😀!".to_owned()]));
        for (bad, span) in [(r"a\q", 1..3), (r"\", 0..1), (r"\u{}", 0..2), (r"\u{+41}", 0..2), (r"\u{d800}", 0..2)] {
            assert_eq!(parts(bad), Err(span), "{bad}");
        }
    }
}
