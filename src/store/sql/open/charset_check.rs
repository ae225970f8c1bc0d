//! Columns that the database's own functions misread: what an adapter takes from them would be wrong without a word.

use std::collections::BTreeSet;

use crate::adapter::{Column, Table};
use crate::store::found::Found;
use crate::store::sql::open::adapter_check::texts;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::schema::destination::CheckedDestination;

/// Why a layout is not read: one of its statements takes JSON apart that stands in such a column.
pub(crate) fn charset_refusal(layout: &Layout, found: &Found, destination: &CheckedDestination) -> Option<String> {
    let spec = &layout.spec;
    let beside = |name: &String| Some((name.clone(), found.neighbours()?.get(name)?));
    let live = match destination {
        CheckedDestination::Table(name, table) => Some((name.clone(), table.as_ref())),
        _ => None,
    };
    let tables = std::iter::once((spec.table.clone(), &found.columns));
    let tables = tables.chain(spec.detect.tables.keys().filter_map(beside)).chain(live);
    let odd = |column: &Column| layout.dialect.unreadable_charset(column).map(str::to_owned);
    let odd_of = |(name, table): (String, &Table)| -> Vec<(String, String, String)> {
        let columns = table.columns.iter();
        columns.filter_map(|column| Some((name.clone(), column.name.clone(), odd(column)?))).collect()
    };
    let columns: Vec<(String, String, String)> = tables.flat_map(odd_of).collect();
    if columns.is_empty() {
        return None;
    }
    let texts = texts(layout, found, destination.table());
    let taken: BTreeSet<&str> = texts.iter().flat_map(|text| taken_apart(text)).collect();
    let is_named = |name: &str| taken.contains(name);
    let (table, column, charset) = columns.into_iter().find(|(_, column, _)| is_named(column))?;
    Some(format!(
        "{table}.{column} holds its text in {charset}, in which the server's own JSON functions find nothing or write nothing; \
         `ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4` keeps the text and lets it be read"
    ))
}

/// The words that stand between the parentheses of JSON functions, and not in a text there.
fn taken_apart(sql: &str) -> Vec<&str> {
    let (mut words, mut depth, mut within, mut json) = (Vec::new(), 0, None, false);
    for (nth, text) in sql.split('\'').enumerate() {
        if nth % 2 == 1 {
            continue;
        }
        // Marks stay at the end of the word before them.
        for piece in text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let word = piece.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
            if within.is_some() && !word.is_empty() {
                words.push(word);
            }
            json = if word.is_empty() { json } else { is_json(word) };
            match piece.chars().next_back() {
                Some('(') => {
                    depth += 1;
                    if json && within.is_none() {
                        within = Some(depth);
                    }
                }
                Some(')') => {
                    within = within.filter(|from| *from != depth);
                    depth -= 1;
                }
                _ => {}
            }
        }
    }
    words
}

/// Whether a word is a function of JSON's. A batch of ours comes by the one that makes a table.
fn is_json(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    word.starts_with("JSON_") && word != "JSON_TABLE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_json_function_is_given_is_taken_apart() {
        let sql = "SELECT t.a, IF(JSON_TYPE (t.b) = 'OBJECT', t.c, JSON_INSERT('{}', '$.d', COALESCE(`t`.`e f`, 1))), t.g \
                   WHERE (t.h = 1) AND json_extract(x.i, '$.\"it(s\"') = t.j AND t.k IN (SELECT id FROM JSON_TABLE(?, '$[*]' \
                   COLUMNS (id INT PATH '$[0]')) AS b)";
        assert_eq!(taken_apart(sql), ["t", "b", "COALESCE", "t", "e", "f", "1", "x", "i"]);
    }
}
