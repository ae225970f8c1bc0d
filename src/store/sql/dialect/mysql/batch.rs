//! A batch of jobs as a row source, from one value of JSON.

use super::super::batch::{BatchColumns, BatchRow, batch_json};
use crate::adapter::FieldKind;
use crate::store::sql::dialect::sql_builder::Sql;

/// Characters that a key has nearly always, at the most: so long it may be in any index.
const SHORT: usize = 255;

/// How a key is compared that is said to be a number: one that has no place among those with a sign has none.
pub(super) fn unsigned_if_large(kind: FieldKind, key: &str) -> FieldKind {
    match kind {
        FieldKind::Int if key.parse::<i64>().is_err() && key.parse::<u64>().is_ok() => FieldKind::Natural,
        kind => kind,
    }
}

/// Writes it: `b(id, …)`, the ids such as the key is, in its collation where it has one.
pub(super) fn push(
    sql: &mut Sql,
    rows: &[BatchRow],
    (kind, collation): (FieldKind, Option<&str>),
    columns: BatchColumns,
) {
    let place = sql.text(&batch_json(rows, columns));
    // What is longer than its column here is cut without a word, and would be another row's key.
    let words = |of: fn(&BatchRow) -> &str| {
        let longest = rows.iter().map(|row| of(row).chars().count()).max();
        format!("VARCHAR({})", longest.unwrap_or(0).max(SHORT))
    };
    let keys = words(|row| &row.id);
    let (of, id) = match (kind, collation) {
        (FieldKind::Int, _) => ("BIGINT".to_owned(), "j.id".to_owned()),
        (FieldKind::Natural, _) => ("BIGINT UNSIGNED".to_owned(), "j.id".to_owned()),
        // The join compares in the column's own collation, so that its index serves.
        (_, Some(collation)) => {
            let charset = collation.split('_').next().unwrap_or("utf8mb4");
            (keys, format!("CONVERT(j.id USING {charset}) COLLATE {collation}"))
        }
        _ => (keys, "j.id".to_owned()),
    };
    let mut shown = format!("{id} AS id");
    let mut read = format!("id {of} PATH '$[0]'");
    if columns.new_id {
        shown += ", j.new_id";
        read += ", new_id VARCHAR(64) PATH '$[1]'";
    }
    if columns.message {
        shown += ", j.message";
        read += ", message LONGTEXT PATH '$[2]'";
    }
    if columns.scope {
        shown += ", j.scope";
        read += &format!(", scope {} PATH '$[6]'", words(|row| &row.scope));
    }
    if columns.run_after {
        let (value, of) = match columns.due {
            Some(_) => ("j.run_after", "BIGINT"),
            None => ("CAST(j.run_after AS DATETIME(6)) AS run_after", "VARCHAR(40)"),
        };
        shown += &format!(", {value}");
        read += &format!(", run_after {of} PATH '$[3]'");
    }
    if columns.kept {
        shown += ", j.kept";
        read += ", kept LONGTEXT PATH '$[4]'";
    }
    if let Some(kind) = columns.live {
        shown += ", j.live";
        let live = |row: &BatchRow| unsigned_if_large(kind, row.live.as_deref().unwrap_or_default());
        let of = match kind {
            FieldKind::Int if rows.iter().any(|row| live(row) == FieldKind::Natural) => "BIGINT UNSIGNED".to_owned(),
            FieldKind::Int => "BIGINT".to_owned(),
            _ => words(|row| row.live.as_deref().unwrap_or_default()),
        };
        read += &format!(", live {of} PATH '$[5]'");
    }
    sql.push(&format!("(SELECT {shown} FROM JSON_TABLE({place}, '$[*]' COLUMNS ({read})) AS j) AS b"));
}
