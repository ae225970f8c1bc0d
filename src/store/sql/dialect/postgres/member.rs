//! Members of JSON in PostgreSQL's text.

use crate::store::sql::build::Sql;

/// The longest number that is asked for as one: there is an end to those that the database knows.
const LONGEST: usize = 1_000;

/// Writes whether a column of jsonb has, anywhere, a member of this name with this value in it, as text or as whatever prints
/// so; also true of what is a text altogether, as that may hold JSON. Writes nothing where it cannot be asked.
///
/// In strict mode each item is come by once, while lax mode goes into each array twice, and takes a quarter longer; what is no
/// object is passed over all the same, as in strict mode `.**` lets what follows it miss
/// (<https://www.postgresql.org/docs/12/functions-json.html>).
pub fn has(sql: &mut Sql, column: &str, name: &str, value: &str) -> bool {
    // A path with a NUL is none, and not every database knows every character.
    let is_known = |text: &str| text.is_ascii() && !text.contains('\0');
    if !is_known(name) || !is_known(value) {
        return false;
    }
    let (name, text) = (quote(name), quote(value));
    let number = is_number(value).then_some(value);
    if number.is_some_and(|number| number.len() > LONGEST) {
        return false;
    }
    let other = number.or(["true", "false"].into_iter().find(|word| *word == value));
    let or_other = other.map_or_else(String::new, |other| format!(" || @ == {other}"));
    let place = sql.text(&format!("strict $.**.{name}.** ? (@ == {text}{or_other})"));
    sql.push(&format!("({column} @? {place}::jsonpath OR jsonb_typeof({column}) = 'string')"));
    true
}

/// A text as paths write it: as JSON does.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether this is a number as jsonb prints it: without an exponent.
fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(whole, rest)| (whole, Some(rest)));
    digits(whole) && (whole == "0" || !whole.starts_with('0')) && fraction.is_none_or(digits)
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
            assert_eq!(is_number(text), number, "{text}");
        }
    }
}
