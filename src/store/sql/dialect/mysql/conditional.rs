//! Conditions that only one of MySQL and MariaDB reads, each before an AND. A bound value has no place in what the other passes
//! over: they are spelled.

use crate::store::sql::dialect::sql_builder::Sql;

/// Writes for MariaDB that a text in UTF-8 holds the longest of some pieces of ASCII, whatever the case of their letters: a
/// pattern goes through bytes quicker than a text is folded and copied. MySQL takes no pattern for bytes.
pub(super) fn push_pattern(sql: &mut Sql, raw: &str, pieces: &[String]) {
    // One alone: what may stand between two would be tried at every place where the first one is found.
    let Some(longest) = pieces.iter().max_by_key(|piece| piece.len()).filter(|_| fits(raw)) else { return };
    // Cast, or the column's character set would have its way: a pattern that goes by characters fails where some are none.
    sql.push(&format!("/*M! {raw} RLIKE CAST({} AS BINARY) AND */ ", spelled(&pattern(longest))));
}

/// Writes for MySQL that a text in UTF-8 may be one of some words, as its collation has it: an index serves that. MariaDB finds
/// by an index what is compared with bytes.
pub(super) fn push_words(sql: &mut Sql, raw: &str, words: &[String]) {
    let words: Vec<String> = words.iter().map(|word| format!("_utf8mb4 {}", spelled(word))).collect();
    if fits(raw) {
        sql.push(&format!("/*!50700 {raw} IN ({}) AND */ ", words.join(", ")));
    }
}

/// Whether an expression may stand in what is a comment to the other.
fn fits(raw: &str) -> bool {
    !raw.contains("/*") && !raw.contains("*/")
}

/// What finds a piece. Whatever is no letter and no digit stands for itself behind a backslash, whichever flags the server gives
/// to each pattern (`default_regex_flags`).
fn pattern(piece: &str) -> String {
    let mut pattern = "(?i)".to_owned();
    for c in piece.chars() {
        if !c.is_ascii_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A text by its bytes.
fn spelled(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("X'{digits}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_stands_for_itself() {
        assert_eq!(pattern("Time out"), r"(?i)Time\ out");
        assert_eq!(pattern(r"a.b(1)\"), r"(?i)a\.b\(1\)\\");
    }

    #[test]
    fn no_column_ends_a_comment() {
        let mut sql = Sql::new(&super::super::MysqlDialect);
        push_pattern(&mut sql, "t.`a */ b`", &["x".to_owned()]);
        push_words(&mut sql, "t.`a /* b`", &["x".to_owned()]);
        assert_eq!(sql.done().sql, "");
    }
}
