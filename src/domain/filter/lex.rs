//! Cuts the text of a filter into terms. It accepts everything, so that completion can use it on half a filter; what
//! is unfinished is marked, and the parser objects to it.

use std::ops::Range;

use super::key::KeyInfo;

/// One term, in byte offsets into the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawTerm {
    pub span: Range<usize>,
    pub negated: bool,
    /// What stands before the colon, without it.
    pub key: Option<Range<usize>>,
    pub body: Body,
}

/// What stands after the colon, or the free word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub form: TermForm,
    /// The whole of it, delimiters included.
    pub span: Range<usize>,
    /// Between the delimiters.
    pub inner: Range<usize>,
    /// Text that follows the closing delimiter without a space; empty when all is well.
    pub rest: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermForm {
    Bare,
    Quoted { closed: bool },
    Regex { closed: bool },
}

/// The terms of `text`, in order.
pub(super) fn terms(text: &str) -> Vec<RawTerm> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = find(text, at, |c| !c.is_whitespace()) {
        let raw = term(text, start);
        at = raw.span.end;
        out.push(raw);
    }
    out
}

fn term(text: &str, start: usize) -> RawTerm {
    let negated = text[start..].starts_with('-');
    let head = start + usize::from(negated);
    let key = key(text, head);
    let body = body(text, key.as_ref().map_or(head, |key| key.end + 1));
    RawTerm { span: start..body.span.end, negated, key, body }
}

/// What stands before a colon, if that is meant as a key: known keys are, and words that look like one; but
/// `Net::ReadTimeout`, `https://host`, `10:30` and `job.rb:12` are free words.
fn key(text: &str, start: usize) -> Option<Range<usize>> {
    let colon = colon(text, start)?;
    let head = &text[start..colon];
    if KeyInfo::from_word(head).is_some() {
        return Some(start..colon);
    }
    let after = &text[colon + 1..];
    if after.starts_with(':') || after.starts_with("//") {
        return None;
    }
    let first = head.split_once('.').map_or(head, |(first, _)| first);
    let plain = first.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-');
    // With a dot only a near miss of `args` is a key; the rest are file names.
    let meant = first.len() == head.len() || (first.starts_with("arg") || first.starts_with("payl"));
    (plain && meant && first.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(start..colon)
}

/// The first colon of the term, past quoted segments of a path.
fn colon(text: &str, start: usize) -> Option<usize> {
    let mut at = start;
    let mut after_dot = false;
    while let Some(c) = text[at..].chars().next() {
        match c {
            ':' => return Some(at),
            '"' if after_dot => at = closing(text, at + 1, '"')? + 1,
            c if c == '"' || c.is_whitespace() => return None,
            c => at += c.len_utf8(),
        }
        after_dot = c == '.';
    }
    None
}

fn body(text: &str, start: usize) -> Body {
    let delimiter = match text[start..].chars().next() {
        Some(c @ ('"' | '/')) => c,
        _ => {
            let end = word_end(text, start);
            return Body { form: TermForm::Bare, span: start..end, inner: start..end, rest: end..end };
        }
    };
    let close = closing(text, start + 1, delimiter);
    let closed = close.is_some();
    let form = if delimiter == '"' { TermForm::Quoted { closed } } else { TermForm::Regex { closed } };
    let (inner_end, after) = close.map_or((text.len(), text.len()), |at| (at, at + 1));
    let end = word_end(text, after);
    Body { form, span: start..end, inner: start + 1..inner_end, rest: after..end }
}

/// The next `delimiter` that no backslash stands before.
fn closing(text: &str, from: usize, delimiter: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text[from..].char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            return Some(from + at);
        }
    }
    None
}

fn word_end(text: &str, from: usize) -> usize {
    find(text, from, char::is_whitespace).unwrap_or(text.len())
}

fn find(text: &str, from: usize, what: impl Fn(char) -> bool) -> Option<usize> {
    text[from..].find(what).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(bool, Option<&str>, &str)> {
        let term = |raw: &RawTerm| (raw.negated, raw.key.clone().map(|key| &text[key]), &text[raw.body.span.clone()]);
        terms(text).iter().map(term).collect()
    }

    #[test]
    fn terms_end_at_white_space_outside_quotes_and_slashes() {
        assert_eq!(
            cut("  error:Foo\u{3000}-msg:\"a b\\\" c\" /x y\\/z/ word "),
            [
                (false, Some("error"), "Foo"),
                (true, Some("msg"), "\"a b\\\" c\""),
                (false, None, "/x y\\/z/"),
                (false, None, "word"),
            ]
        );
        assert_eq!(cut(""), []);
    }

    #[test]
    fn colons_in_names_addresses_and_clock_times_make_no_key() {
        for word in ["Net::ReadTimeout", "https://host/x", "10:30", "job.rb:12", ":sym", "é:x"] {
            assert_eq!(cut(word), [(false, None, word)]);
        }
        assert_eq!(cut("eror:x"), [(false, Some("eror"), "x")]);
        assert_eq!(cut("arg.user:x"), [(false, Some("arg.user"), "x")]);
        assert_eq!(cut("error::x"), [(false, Some("error"), ":x")]);
    }

    #[test]
    fn a_quoted_segment_of_a_path_may_hold_anything() {
        assert_eq!(cut("args.\"a: \\\".b\".c:1"), [(false, Some("args.\"a: \\\".b\".c"), "1")]);
    }

    #[test]
    fn what_is_unfinished_is_marked_and_what_clings_is_set_apart() {
        assert_eq!(terms("msg:\"a b")[0].body.form, TermForm::Quoted { closed: false });
        assert_eq!(terms("msg:/a\\/")[0].body.form, TermForm::Regex { closed: false });
        assert_eq!(terms("msg:\"a\"b c")[0].body.rest, 7..8);
    }
}
