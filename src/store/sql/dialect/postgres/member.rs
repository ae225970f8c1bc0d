//! Members of JSON in PostgreSQL's text.

use crate::domain::json::{Document, NodeKind, quote};

/// The longest number that is asked for as one: there is an end to those that the database knows.
const LONGEST: usize = 1_000;

/// A path that leads to something in documents that have, anywhere, a member of this name with this value, as text or as what
/// prints so; also in those whose member is an array, as the value may stand somewhere in it. Nothing where that cannot be asked.
///
/// In strict mode each item is come by once, while lax mode goes into each array twice, and takes a quarter longer; what is no
/// object is passed over all the same, as `.**` lets what follows it miss. What lies in the member is not gone through in turn:
/// that would take the square of a document in which members of one name stand in each other.
/// (<https://www.postgresql.org/docs/13/functions-json.html>; that of misses is from `executeAnyItem` in `jsonpath_exec.c`.)
pub fn path(name: &str, value: &str) -> Option<String> {
    // A path with a NUL is none, and not every database knows every character.
    let is_known = |text: &str| text.is_ascii() && !text.contains('\0');
    if !is_known(name) || !is_known(value) {
        return None;
    }
    let is_bare = match Document::parse(value.to_owned()).map(|document| document.kind(0)) {
        Ok(NodeKind::Number) if value.len() > LONGEST => return None,
        // They are printed without an exponent.
        Ok(NodeKind::Number) => !value.contains(['e', 'E']),
        Ok(NodeKind::Bool) => true,
        _ => false,
    };
    let or_other = if is_bare { format!(" || @ == {value}") } else { String::new() };
    Some(format!("strict $.**.{} ? (@ == {}{or_other} || @.type() == \"array\")", quote(name), quote(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_jsonb_prints_as_one() {
        for (text, number) in [
            ("0", true),
            ("-12", true),
            ("1.50", true),
            ("-0.5", true),
            ("007", false),
            ("1e5", false),
            (".5", false),
            ("5.", false),
            ("+1", false),
            ("-", false),
            ("", false),
            ("1.2.3", false),
            ("٣", false),
            ("nan", false),
        ] {
            let asked = path("k", text).is_some_and(|path| path.contains(&format!("|| @ == {text}")));
            assert_eq!(asked, number, "{text}");
        }
    }

    #[test]
    fn what_not_every_database_knows_is_not_asked_for() {
        let longest = "9".repeat(LONGEST);
        assert!(path("k", "v").is_some() && path("k", &longest).is_some());
        for (name, value) in [("é", "v"), ("k", "é"), ("k\0", "v"), ("k", "\0"), ("k", &format!("{longest}9"))] {
            assert_eq!(path(name, value), None, "{name} {value}");
        }
    }
}
