//! Values written into the text of a PostgreSQL statement, so that several statements can be one message.
//!
//! The extended protocol of the driver costs two round trips a statement, a simple query one for all of its statements;
//! but a simple query has no values. What is written in their place is quoted as the server's own client library does,
//! and is of the type that a bound value would have. A text about which there could be a doubt (whether a backslash
//! escapes is a setting of the server's) is none of ours: such a statement is prepared.

pub(crate) mod mysql;

use crate::db::{Bind, Statement};

/// The statement's text with its values; `None` where it has to be prepared.
pub(crate) fn inlined(statement: &Statement) -> Option<String> {
    let text = statement.sql.as_str();
    // A semicolon would end the statement, and what follows it would be another one.
    if text.contains(['\\', ';', '\0']) || text.contains("--") || text.contains("/*") {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            // A quote that stands for itself is written twice: the second one begins what goes on.
            '\'' | '"' => 2 + rest[1..].find(c)?,
            '$' => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                // `a$1` is a name; `$$` and `$tag$` quote.
                if digits == 0 || before.is_some_and(is_name) {
                    return None;
                }
                let place: usize = rest[1..=digits].parse().ok()?;
                literal(statement.binds.get(place.checked_sub(1)?)?, &mut out)?;
                before = Some(')');
                rest = &rest[1 + digits..];
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        before = Some(c);
        rest = &rest[taken..];
    }
    Some(out)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// A value with its type; `None` where the server has no text for it.
fn literal(bind: &Bind, out: &mut String) -> Option<()> {
    let (text, of) = match bind {
        Bind::Text(text) => (text.clone(), "text"),
        Bind::Int(n) => (n.map(|n| n.to_string()), "bigint"),
        Bind::Texts(texts) => (Some(array(texts)), "text[]"),
    };
    out.push('(');
    match text {
        None => out.push_str("NULL"),
        Some(text) if text.contains('\0') => return None,
        Some(text) => quoted(&text, out),
    }
    out.push_str("::");
    out.push_str(of);
    out.push(')');
    Some(())
}

/// As `PQescapeLiteral` does it: the same whatever `standard_conforming_strings` is.
fn quoted(text: &str, out: &mut String) {
    if text.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
}

/// The text of an array of texts.
fn array(texts: &[Option<String>]) -> String {
    let mut out = String::from("{");
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match text {
            None => out.push_str("NULL"),
            Some(text) => {
                out.push('"');
                for c in text.chars() {
                    if matches!(c, '"' | '\\') {
                        out.push('\\');
                    }
                    out.push(c);
                }
                out.push('"');
            }
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn statement(sql: &str, binds: &[Bind]) -> Statement {
        Statement { sql: sql.to_owned(), binds: binds.to_vec() }
    }

    fn of(sql: &str, binds: &[Bind]) -> Option<String> {
        inlined(&statement(sql, binds))
    }

    pub(crate) fn text(text: &str) -> Bind {
        Bind::Text(Some(text.to_owned()))
    }

    #[test]
    fn values_stand_where_their_places_were_with_their_types() {
        let binds = [text("a"), Bind::Int(Some(-5)), Bind::Text(None), Bind::Int(None)];
        assert_eq!(
            of("SELECT $1, $2::bigint, $3, $4, $1", &binds).as_deref(),
            Some("SELECT ('a'::text), ('-5'::bigint)::bigint, (NULL::text), (NULL::bigint), ('a'::text)")
        );
        let many: Vec<Bind> = (1..=12).map(|n| Bind::Int(Some(n))).collect();
        assert_eq!(of("$1$12", &many).as_deref(), Some("('1'::bigint)('12'::bigint)"));
    }

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        let one = |value: &str| of("$1", &[text(value)]);
        assert_eq!(one("it's").as_deref(), Some("('it''s'::text)"));
        assert_eq!(one(r"\' or 1=1").as_deref(), Some(r"(E'\\'' or 1=1'::text)"));
        assert_eq!(one("$2; DROP TABLE x --").as_deref(), Some("('$2; DROP TABLE x --'::text)"));
        assert_eq!(one("a\0b"), None);
    }

    #[test]
    fn a_list_is_one_value() {
        let list = |values: &[Option<&str>]| Bind::Texts(values.iter().map(|v| v.map(str::to_owned)).collect());
        let one = |values: &[Option<&str>]| of("$1", &[list(values)]).unwrap_or_default();
        assert_eq!(one(&[]), "('{}'::text[])");
        assert_eq!(one(&[Some("a,b"), None, Some("NULL"), Some("")]), r#"('{"a,b",NULL,"NULL",""}'::text[])"#);
        assert_eq!(one(&[Some(r#"a"\'"#)]), r#"(E'{"a\\"\\\\''"}'::text[])"#);
    }

    #[test]
    fn what_only_looks_like_a_place_is_left_alone() {
        let one = [text("x")];
        assert_eq!(of("SELECT '$1', \"a$1\", 'it''s $1'", &one).as_deref(), Some("SELECT '$1', \"a$1\", 'it''s $1'"));
    }

    #[test]
    fn a_text_that_may_mean_something_else_is_prepared() {
        let one = [text("x")];
        for sql in [
            "a$1",
            "ä$1",
            "$$ $1 $$",
            "$t$ $1 $t$",
            r"E'\'' $1",
            "1; $1",
            "$1 -- x",
            "/* */ $1",
            "'$1",
            "$2",
            "$0",
            "$",
        ] {
            assert_eq!(of(sql, &one), None, "{sql}");
        }
    }
}
