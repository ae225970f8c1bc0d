//! Statements of adapter files: SQL with `{placeholders}` that the store fills in.

/// The placeholders that statements may hold, with what each stands for.
pub const PLACEHOLDERS: [(&str, &str); 18] = [
    ("table", "the dead-letter table, quoted, with its schema"),
    ("from", "the dead-letter table as `t`, with what the file joins to it"),
    ("schema", "the schema that the table was found in, quoted"),
    ("target", "the live table that the config names as destination, quoted, with its schema"),
    ("key", "the primary key as text"),
    ("error_class", "the expression of the error class"),
    ("ids", "the condition that picks the jobs of the batch: `t.<key> in …`"),
    (
        "batch",
        "a row source `b(id, new_id, message)` with one row a job of the batch; beside those, where the statement names them: \
         `b.run_after`, an instant of each job's own; and in an undo `b.kept`, what was kept of the row, as JSON text, and \
         `b.live`, the live row's key",
    ),
    (
        "died_since_replay",
        "in `outcome`, a condition over `t`: whether it died since the jobs of the batch were replayed, by what the replay kept",
    ),
    ("now", "the present instant"),
    ("now_utc", "the present instant for a column without time zone, in UTC"),
    ("touched", "the present instant as the column of `fields.touched` holds it"),
    ("run_after", "when replayed jobs may run"),
    ("run_after_utc", "when replayed jobs may run, for a column without time zone, in UTC"),
    ("run", "the identity of the run, as text"),
    ("to_queue", "the queue that `--to-queue` names, as text; NULL without it"),
    ("once", "a condition: whether replayed jobs get one more try (`--attempts once`), and not all of them"),
    ("undone", "in an undo, the identity of the run that is undone, as text"),
];

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// SQL to be passed on.
    Sql(&'a str),
    /// A placeholder's name.
    Hole(&'a str),
}

/// Cuts a statement at its placeholders. A brace that does not enclose a word (`'{}'`) is SQL.
pub fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = sql;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|i| from + i) {
        let word = &rest[open + 1..];
        let end = word.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(word.len());
        if end > 0 && word[end..].starts_with('}') {
            if open > 0 {
                out.push(Piece::Sql(&rest[..open]));
            }
            out.push(Piece::Hole(&word[..end]));
            rest = &word[end + 1..];
            from = 0;
        } else {
            from = open + 1;
        }
    }
    if !rest.is_empty() {
        out.push(Piece::Sql(rest));
    }
    out
}

/// The first placeholder that nobody fills in.
pub(super) fn unknown_hole(sql: &str) -> Option<&str> {
    pieces(sql).into_iter().find_map(|piece| match piece {
        Piece::Hole(word) if !PLACEHOLDERS.iter().any(|(known, _)| *known == word) => Some(word),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_enclose_no_word_are_sql() {
        let cut = pieces("SET m = '{}' WHERE {ids} AND x = '{\"a\":1}'{run}");
        assert_eq!(
            cut,
            [
                Piece::Sql("SET m = '{}' WHERE "),
                Piece::Hole("ids"),
                Piece::Sql(" AND x = '{\"a\":1}'"),
                Piece::Hole("run")
            ]
        );
    }

    #[test]
    fn a_placeholder_that_nobody_fills_is_found() {
        assert_eq!(unknown_hole("{ids} {idz}"), Some("idz"));
        assert_eq!(unknown_hole("{ids} '{}' {"), None);
    }
}
