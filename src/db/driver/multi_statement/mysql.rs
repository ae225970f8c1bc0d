//! The same for MySQL and MariaDB, which run several statements as one message only where none has places.
//!
//! Whether a backslash escapes is a mode of the session's: a text that holds one is written by its bytes.

use super::super::bind::json_array;
use crate::db::{Bind, Statement};

/// What leads text that one of the two runs and the other passes over.
const CONDITIONAL: [&str; 2] = ["/*M!", "/*!"];

/// The statement's text with its values; `None` where it has to be prepared.
pub(in super::super) fn inlined(statement: &Statement) -> Option<String> {
    let text = statement.sql.as_str();
    if text.contains(['\\', ';', '#', '\0']) || text.contains("--") {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut values = statement.binds.iter();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            // A quote that stands for itself is written twice: the second one begins what goes on.
            '\'' | '"' | '`' => 2 + rest[1..].find(c)?,
            '/' if rest.starts_with("/*") => CONDITIONAL.iter().find(|lead| rest.starts_with(**lead))?.len(),
            '?' => {
                push(values.next()?, &mut out);
                rest = &rest[1..];
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    values.next().is_none().then_some(out)
}

/// Writes a value.
fn push(bind: &Bind, out: &mut String) {
    match bind {
        Bind::Text(None) | Bind::Int(None) => out.push_str("NULL"),
        Bind::Text(Some(text)) => quoted(text, out),
        // A minus behind a minus would begin a comment; and a limit takes no brackets.
        Bind::Int(Some(n @ ..0)) => out.push_str(&format!("({n})")),
        Bind::Int(Some(n)) => out.push_str(&n.to_string()),
        Bind::Texts(texts) => quoted(&json_array(texts), out),
    }
}

fn quoted(text: &str, out: &mut String) {
    if text.contains(['\\', '\0']) {
        out.push_str("_utf8mb4 X'");
        text.bytes().for_each(|byte| out.push_str(&format!("{byte:02X}")));
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::driver::multi_statement::tests::{statement, text};

    fn of(sql: &str, binds: &[Bind]) -> Option<String> {
        inlined(&statement(sql, binds))
    }

    #[test]
    fn values_stand_where_their_places_were() {
        let binds = [text("a"), Bind::Int(Some(-5)), Bind::Text(None), Bind::Int(None), Bind::Int(Some(9))];
        let told = "SELECT 'a', 1-(-5), NULL, NULL LIMIT 9";
        assert_eq!(of("SELECT ?, 1-?, ?, ? LIMIT ?", &binds).as_deref(), Some(told));
        let list = Bind::Texts(vec![Some("it's".into()), None]);
        assert_eq!(of("?", &[list]).as_deref(), Some(r#"'["it''s",null]'"#));
    }

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        let one = |value: &str| of("?", &[text(value)]);
        assert_eq!(one("it's").as_deref(), Some("'it''s'"));
        assert_eq!(one("?; DROP TABLE x -- /*").as_deref(), Some("'?; DROP TABLE x -- /*'"));
        assert_eq!(one(r"\'").as_deref(), Some("_utf8mb4 X'5C27'"));
        assert_eq!(one("ä\\\0").as_deref(), Some("_utf8mb4 X'C3A45C00'"));
        assert_eq!(one("").as_deref(), Some("''"));
    }

    #[test]
    fn what_only_looks_like_a_place_is_left_alone() {
        let sql = "SELECT '?', \"?\", `?`, 'it''s ?', /*M! (SELECT ?), */ /*!80000 1 */ 'ä'";
        let told = "SELECT '?', \"?\", `?`, 'it''s ?', /*M! (SELECT 'x'), */ /*!80000 1 */ 'ä'";
        assert_eq!(of(sql, &[text("x")]).as_deref(), Some(told));
    }

    #[test]
    fn a_text_that_may_mean_something_else_is_prepared() {
        for sql in ["1; ?", "? -- x", "? # x", "/* */ ?", r"'\'' ?", "'?", "?, ?", "1", "`?"] {
            assert_eq!(of(sql, &[text("x")]), None, "{sql}");
        }
    }
}
