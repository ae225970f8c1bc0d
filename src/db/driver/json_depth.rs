//! MySQL's limit on nested JSON. It reads 100 levels, and JSON_VALID answers a text with more of them with an error: one
//! such job would keep every list that it stands in from being read.
//!
//! No function tells the depth without that error. Once it has come, a text with more than 100 opening brackets is taken
//! for no JSON, which at the most 100 of them cannot be too deep for.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::db::Statement;
use crate::domain::source_error::SourceError;

/// Levels that MySQL reads.
const LEVELS: u32 = 100;
/// The error behind them, ER_JSON_DOCUMENT_TOO_DEEP.
const TOO_DEEP: &str = "3157";
const FUNCTION: &str = "JSON_VALID";

/// Whether a statement failed because a text is nested too deeply.
pub(crate) fn is_too_deep(error: &SourceError) -> bool {
    matches!(error, SourceError::Refused { code: Some(code), .. } if code == TOO_DEEP)
}

/// Whether a text that is nested too deeply was met, which all connections to a server know of one another.
#[derive(Clone, Default)]
pub(crate) struct JsonDepth(Arc<AtomicBool>);

impl JsonDepth {
    /// Remembers the error, if it is that one; whether it is.
    pub(crate) fn note(&self, error: &SourceError) -> bool {
        let too_deep = is_too_deep(error);
        if too_deep {
            self.0.store(true, Ordering::Relaxed);
        }
        too_deep
    }

    /// The statement as it may be sent.
    pub(crate) fn checked<'a>(&self, statement: &'a Statement) -> Cow<'a, Statement> {
        let checked = if self.0.load(Ordering::Relaxed) { depth_checked(&statement.sql) } else { None };
        checked.map_or(Cow::Borrowed(statement), |sql| Cow::Owned(Statement { sql, binds: statement.binds.clone() }))
    }
}

/// A statement whose JSON_VALID counts brackets first; `None` where there is none that can.
fn depth_checked(sql: &str) -> Option<String> {
    let (mut out, mut rest, mut changed) = (String::with_capacity(sql.len()), sql, false);
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let call = if is_word(before) { None } else { argument(rest) };
        let taken = match (c, call) {
            ('\'' | '"' | '`', _) => quoted(rest, c),
            (_, Some((argument, taken))) => {
                let brackets = format!("LENGTH({argument}) - LENGTH(REPLACE(REPLACE({argument}, '[', ''), '{{', ''))");
                out.push_str(&format!("IF({brackets} > {LEVELS}, 0, {FUNCTION}({argument}))"));
                (changed, before, rest) = (true, ')', &rest[taken..]);
                continue;
            }
            _ => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        (before, rest) = (c, &rest[taken..]);
    }
    changed.then_some(out)
}

/// The argument of a call that text begins with, and the length of the call. What has a place for a value is left alone, as
/// the value would have to stand in several.
fn argument(text: &str) -> Option<(&str, usize)> {
    let name = text.get(..FUNCTION.len())?;
    let list = text[FUNCTION.len()..].trim_start();
    if !name.eq_ignore_ascii_case(FUNCTION) || !list.starts_with('(') {
        return None;
    }
    let (mut at, mut depth) = (0, 0);
    while let Some(c) = list[at..].chars().next() {
        match c {
            '\'' | '"' | '`' => {
                at += quoted(&list[at..], c);
                continue;
            }
            '?' => return None,
            '(' => depth += 1,
            ')' if depth == 1 => return Some((list[1..at].trim(), text.len() - list.len() + at + 1)),
            ')' => depth -= 1,
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// Bytes up to the end of a quoted text, in which a backslash and a doubled quote escape.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str) -> SourceError {
        SourceError::Refused { message: String::new(), code: Some(code.to_owned()) }
    }

    #[test]
    fn statements_are_checked_once_a_text_was_too_deep() {
        let statement = Statement { sql: "SELECT JSON_VALID(t.a)".to_owned(), binds: Vec::new() };
        let (depth, other) = (JsonDepth::default(), JsonDepth::default());
        let told = depth.clone();
        assert!(!told.note(&error("3141")));
        assert_eq!(depth.checked(&statement).sql, statement.sql);
        assert!(told.note(&error("3157")));
        assert_ne!(depth.checked(&statement).sql, statement.sql);
        assert_eq!(other.checked(&statement).sql, statement.sql);
    }

    #[test]
    fn each_call_counts_the_brackets_of_its_own_argument() {
        let of = |argument: &str| {
            format!(
                "IF(LENGTH({argument}) - LENGTH(REPLACE(REPLACE({argument}, '[', ''), '{{', '')) > 100, 0, JSON_VALID({argument}))"
            )
        };
        let sql = r"SELECT 'JSON_VALID(x)', '\'', IF(JSON_VALID(t.a), 1, 0), json_valid (JSON_UNQUOTE(JSON_EXTRACT(`b(`, '$.a)')))";
        let told = format!(
            r"SELECT 'JSON_VALID(x)', '\'', IF({}, 1, 0), {}",
            of("t.a"),
            of("JSON_UNQUOTE(JSON_EXTRACT(`b(`, '$.a)'))")
        );
        assert_eq!(depth_checked(sql), Some(told));
    }

    #[test]
    fn what_is_no_call_or_holds_a_value_stays_as_it_is() {
        for sql in
            ["SELECT 1", "MY_JSON_VALID(a)", "JSON_VALID(?)", "JSON_VALID", "JSON_VALID(a", "'JSON_VALID(a)", "ä"]
        {
            assert_eq!(depth_checked(sql), None, "{sql}");
        }
    }
}
