//! Rows as the drivers bring them, decoded by what the value is, not by what was asked for.

use std::pin::pin;

use futures_util::{Stream, StreamExt};
use sqlx::mysql::MySqlRow;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgRow, PgValueFormat, PgValueRef};
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Decode, Postgres, Row as _, TypeInfo, ValueRef};
use tokio::task::consume_budget;

use crate::db::driver::error_map::store_error;
use crate::db::{Row, Value};
use crate::domain::source_error::{Result, SourceError};

/// Bytes as text: a value may have been written by a program that knew nothing of UTF-8, and must still be shown.
fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Odd(bytes.to_vec()),
    }
}

fn unfit(column: &impl Column, type_name: &str) -> SourceError {
    SourceError::Layout(format!(
        "column {} has the type {}: the statement must cast it to text or to a whole number",
        column.name(),
        type_name.to_lowercase()
    ))
}

/// The driver's words name types of its own, which say nothing to whoever wrote the adapter.
fn unreadable(column: &impl Column) -> SourceError {
    let name = column.name();
    SourceError::Layout(format!(
        "column {name} cannot be read: the statement must cast it to text or to a whole number"
    ))
}

/// PostgreSQL's own types have the same numbers in every database.
mod oid {
    pub(crate) const BOOL: u32 = 16;
    pub(crate) const CHAR: u32 = 18;
    pub(crate) const NAME: u32 = 19;
    pub(crate) const INT8: u32 = 20;
    pub(crate) const INT2: u32 = 21;
    pub(crate) const INT4: u32 = 23;
    pub(crate) const TEXT: u32 = 25;
    pub(crate) const OID: u32 = 26;
    pub(crate) const JSON: u32 = 114;
    pub(crate) const UNKNOWN: u32 = 705;
    pub(crate) const BPCHAR: u32 = 1042;
    pub(crate) const VARCHAR: u32 = 1043;
    pub(crate) const UUID: u32 = 2950;
    pub(crate) const JSONB: u32 = 3802;
}

pub(crate) fn postgres(row: &PgRow) -> Result<Row> {
    values(row.columns(), |_, column| {
        let value = row.try_get_raw(column.ordinal()).map_err(|_| unreadable(column))?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        // A number is compared faster than a name is, for each value of each row.
        let Oid(of) = column.type_info().oid().unwrap_or_default();
        postgres_value(value, of)
            .map_err(|_| unreadable(column))?
            .ok_or_else(|| unfit(column, column.type_info().name()))
    })
}

/// The rows of a statement, each decoded as it comes: two forms of ten thousand rows at a time are memory for nothing. One
/// that cannot be decoded fails when the last has come, so that the connection is left as after any other statement.
pub(crate) async fn all<R>(
    rows: impl Stream<Item = sqlx::Result<R>>,
    decode: impl Fn(&R) -> Result<Row>,
) -> Result<Vec<Row>> {
    let mut rows = pin!(rows);
    let mut answers = Answers::default();
    while let Some(row) = rows.next().await {
        // A driver that is always ahead would let nobody see that the statement is to be stopped.
        consume_budget().await;
        answers.take(decode(&row.map_err(store_error)?));
    }
    answers.odd.map_or(Ok(answers.rows), Err)
}

/// The rows of statements that are one message, as they come.
#[derive(Default)]
pub(crate) struct Answers {
    /// Those of statements that have ended.
    ended: Vec<Vec<Row>>,
    /// Those of the next one so far.
    rows: Vec<Row>,
    odd: Option<SourceError>,
}

impl Answers {
    /// A row has come.
    pub(crate) fn take(&mut self, row: Result<Row>) {
        match row {
            Ok(row) if self.odd.is_none() => self.rows.push(row),
            Ok(_) => {}
            Err(error) => drop(self.odd.get_or_insert(error)),
        }
    }

    /// A statement has ended.
    pub(crate) fn end(&mut self) {
        self.ended.push(std::mem::take(&mut self.rows));
    }

    /// The rows of the last `asked` statements before the end of the transaction, which has none.
    ///
    /// # Errors
    /// The first row that could not be decoded.
    pub(crate) fn asked(self, asked: usize) -> Result<Vec<Vec<Row>>> {
        let mut ended = self.ended;
        ended.pop();
        let before = ended.len().saturating_sub(asked);
        self.odd.map_or_else(|| Ok(ended.split_off(before)), Err)
    }
}

/// A value for each column. Rows are read by the million: this one takes its memory at once.
fn values<C: Column>(columns: &[C], value: impl Fn(usize, &C) -> Result<Value>) -> Result<Row> {
    let mut values = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        values.push(value(at, column)?);
    }
    Ok(Row(values))
}

/// `None` for a type that is neither text nor a whole number.
///
/// Types of the database's own (enums, citext) are not among them, though their bytes could be read: to look such a
/// type up, the driver interrupts the statement that it was asked for, see [`crate::db::driver::error_map`].
fn postgres_value(value: PgValueRef<'_>, of: u32) -> std::result::Result<Option<Value>, sqlx::error::BoxDynError> {
    Ok(Some(match of {
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN | oid::JSON | oid::CHAR => {
            text(value.as_bytes()?)
        }
        // The first byte is the version of the format.
        oid::JSONB if value.format() == PgValueFormat::Binary => text(value.as_bytes()?.get(1..).unwrap_or_default()),
        oid::JSONB => text(value.as_bytes()?),
        oid::INT2 => Value::Int(i64::from(<i16 as Decode<Postgres>>::decode(value)?)),
        oid::INT4 => Value::Int(i64::from(<i32 as Decode<Postgres>>::decode(value)?)),
        oid::INT8 => Value::Int(<i64 as Decode<Postgres>>::decode(value)?),
        oid::OID => Value::Int(i64::from(<Oid as Decode<Postgres>>::decode(value)?.0)),
        oid::BOOL => Value::Int(i64::from(<bool as Decode<Postgres>>::decode(value)?)),
        oid::UUID if value.format() == PgValueFormat::Text => text(value.as_bytes()?),
        oid::UUID => match <[u8; 16]>::try_from(value.as_bytes()?) {
            Ok(bytes) => Value::Text(uuid::Uuid::from_bytes(bytes).to_string()),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

pub(crate) fn mysql(row: &MySqlRow) -> Result<Row> {
    values(row.columns(), |at, column| {
        let value = row.try_get_raw(at).map_err(|_| unreadable(column))?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let info = value.type_info().into_owned();
        let name = info.name();
        let int = |read: sqlx::Result<i64>| read.map(Value::Int).map_err(|_| unreadable(column));
        match name {
            "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => int(row.try_get_unchecked(at)),
            "YEAR" | "BIT" | "TINYINT UNSIGNED" | "SMALLINT UNSIGNED" | "MEDIUMINT UNSIGNED" | "INT UNSIGNED"
            | "BIGINT UNSIGNED" => {
                let n: u64 = row.try_get_unchecked(at).map_err(|_| unreadable(column))?;
                Ok(i64::try_from(n).map_or_else(|_| Value::Text(n.to_string()), Value::Int))
            }
            "FLOAT" | "DOUBLE" | "DATE" | "TIME" | "DATETIME" | "TIMESTAMP" | "GEOMETRY" => Err(unfit(column, name)),
            // Everything else arrives as bytes of text, JSON (which MariaDB calls a BLOB) and DECIMAL too.
            _ => {
                let bytes: Vec<u8> = row.try_get_unchecked(at).map_err(|_| unreadable(column))?;
                Ok(if name == "DECIMAL" { decimal(&bytes) } else { text(&bytes) })
            }
        }
    })
}

/// A DECIMAL, such as every `SUM` is: a whole number where it is one.
fn decimal(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()) {
        Some(n) => Value::Int(n),
        None => text(bytes),
    }
}

pub(crate) fn sqlite(row: &SqliteRow) -> Result<Row> {
    values(row.columns(), |at, column| {
        let value = row.try_get_raw(at).map_err(|_| unreadable(column))?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        // The type is the value's own: an INTEGER column may hold text.
        let info = value.type_info().into_owned();
        match info.name() {
            "INTEGER" | "BOOLEAN" => row.try_get_unchecked(at).map(Value::Int).map_err(|_| unreadable(column)),
            "REAL" => {
                let n: f64 = row.try_get_unchecked(at).map_err(|_| unreadable(column))?;
                Ok(Value::Text(n.to_string()))
            }
            _ => {
                let bytes: Vec<u8> = row.try_get_unchecked(at).map_err(|_| unreadable(column))?;
                Ok(text(&bytes))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_a_number_only_where_it_is_whole_and_fits() {
        assert_eq!(decimal(b"42"), Value::Int(42));
        assert_eq!(decimal(b"42.50"), Value::Text("42.50".into()));
        assert_eq!(decimal(b"99999999999999999999"), Value::Text("99999999999999999999".into()));
    }

    #[tokio::test]
    async fn rows_that_are_all_there_let_a_stop_be_seen_between_them() {
        let rows = futures_util::stream::iter((0..10_000).map(|_| Ok(())));
        let was_stopped = tokio::select! {
            biased;
            _ = all(rows, |()| Ok(Row(Vec::new()))) => false,
            () = std::future::ready(()) => true,
        };
        assert!(was_stopped);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_still_text() {
        assert_eq!(text(b"caf\xe9"), Value::Odd(b"caf\xe9".to_vec()));
        assert_eq!(Value::shown(b"caf\xe9".to_vec()), "caf⟨xE9⟩");
        // The mark itself is text as any other.
        assert_eq!(text("caf⟨xE9⟩".as_bytes()), Value::Text("caf⟨xE9⟩".into()));
    }
}
