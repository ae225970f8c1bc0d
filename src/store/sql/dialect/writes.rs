//! What verbs write: locks, batches, instants, and kept values.

use crate::adapter::{Column, FieldKind};
use crate::db::Bind;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchColumns, BatchRow, Expressions, Form, ValueSort, epoch};

/// How a database locks and writes rows.
pub(crate) trait Writes: Expressions {
    /// A row source `b(id, …)` with a row for each job; `key` is the column it is joined with.
    fn batch(&self, sql: &mut Sql, rows: &[BatchRow], kind: FieldKind, collation: Option<&str>, columns: BatchColumns);

    /// The lock clause of a SELECT that picks rows of the table that it calls `alias`, and locks no row of another.
    fn lock_clause(&self, alias: &str) -> String;

    /// The present instant.
    fn now(&self) -> &'static str;

    /// The present instant for a column without zone.
    fn now_utc(&self) -> &'static str;

    /// The present instant as a count since 1970.
    fn now_epoch(&self, kind: FieldKind) -> String {
        format!("({}) / {}", self.contract(self.now(), FieldKind::Instant), epoch::unit(kind))
    }

    /// An instant that is given, or now, as a count since 1970.
    fn epoch_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, kind: FieldKind) -> String {
        match at {
            Some(at) => self.integer_placeholder(&sql.bind(Bind::Int(Some(epoch::epoch(kind, at, false))))),
            None => self.now_epoch(kind),
        }
    }

    /// An instant that is given, or now.
    fn instant_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, zoned: bool) -> String;

    /// The value of a column of `t` as a contract column from which it can be had back exactly.
    fn snapshot_value(&self, column: &Column) -> (String, Form);

    /// Which of these columns of `t` are NULL, as a text of 0 and 1; `None` where a value that cannot be written out is an
    /// error, and not NULL.
    fn nulls(&self, _columns: &[&Column]) -> Option<String> {
        None
    }

    /// Binds the text of a kept value and pushes it as the value of a column of this type.
    fn unkept(&self, sql: &mut Sql, sort: ValueSort, text: &str, data_type: &str);

    /// A text expression as the value of a column of this type.
    fn column_value(&self, text: &str, _data_type: &str) -> String {
        text.to_owned()
    }

    /// A statement that changes a column of the table `t` for each row of a batch with a message: `on` joins it to `b`.
    fn update_column(&self, table: &str, column: &str, value: &str, on: &str) -> String {
        format!("UPDATE {table} AS t SET {column} = {value} FROM {{batch}} WHERE {on}")
    }

    /// Whether a column of this type can hold this text, and does not take it from anybody who is careful.
    fn is_grudged(&self, _data_type: &str, _text: &str) -> bool {
        false
    }

    /// What stands before an INSERT that puts kept rows back; some of their values are grudged, or none.
    fn putting_back(&self, _grudged: bool) -> &'static str {
        ""
    }

    /// What stands between the columns and the values of an INSERT that gives every column its value.
    fn overriding(&self) -> &'static str {
        ""
    }

    /// Deletes from a table that is known as `t`; what follows is ` WHERE …`.
    fn delete_from(&self, table: &str) -> String {
        format!("DELETE FROM {table} AS t")
    }
}
