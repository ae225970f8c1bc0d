//! Statements with their values, as the drivers take them.

use sqlx::mysql::MySqlArguments;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, MySql, Postgres, RawSql, SqlSafeStr, SqlStr, Sqlite};

use super::{Bind, Statement};

/// The one place where text that the program did not write itself becomes SQL.
///
/// It comes from adapter files and dialects; values never are part of it. It is always prepared, so that it can be one
/// statement only.
fn trusted(statement: &Statement) -> SqlStr {
    AssertSqlSafe(statement.sql.as_str()).into_sql_str()
}

/// A command of this layer's own: constants and numbers, sent as a simple query that may hold several of them.
#[expect(clippy::disallowed_methods, reason = "never given text that the program did not write itself")]
pub(super) fn command(sql: impl SqlSafeStr) -> RawSql {
    sqlx::raw_sql(sql)
}

/// Bytes of a statement with its values, as they travel.
pub(super) fn bytes(statement: &Statement) -> usize {
    let of = |bind: &Bind| match bind {
        Bind::Text(value) => value.as_deref().map_or(0, str::len),
        Bind::Int(_) => 8,
        Bind::Texts(values) => json_array(values).len(),
    };
    // Each value is led by its type and length.
    statement.binds.iter().fold(statement.sql.len(), |sum, bind| sum + of(bind) + 16)
}

/// Unnamed: a named statement would outlive the transaction, and with it the server connection behind a pooler.
pub(super) fn postgres(statement: &Statement) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(trusted(statement)).persistent(false);
    statement.binds.iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value.clone()),
        Bind::Int(value) => query.bind(*value),
        Bind::Texts(values) => query.bind(values.clone()),
    })
}

/// Prepared anew each time: in MariaDB a function that failed once (a row too large for JSON_OBJECT) goes on to answer
/// NULL for as long as its prepared statement lives.
pub(super) fn mysql(statement: &Statement) -> Query<'static, MySql, MySqlArguments> {
    let query = sqlx::query(trusted(statement)).persistent(false);
    statement.binds.iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value.clone()),
        Bind::Int(value) => query.bind(*value),
        Bind::Texts(values) => query.bind(json_array(values)),
    })
}

pub(super) fn sqlite(statement: &Statement) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(trusted(statement));
    statement.binds.iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value.clone()),
        Bind::Int(value) => query.bind(*value),
        Bind::Texts(values) => query.bind(json_array(values)),
    })
}

/// A list as JSON text, for engines without arrays.
fn json_array(values: &[Option<String>]) -> String {
    let values: Vec<_> =
        values.iter().map(|value| value.clone().map_or(serde_json::Value::Null, serde_json::Value::String)).collect();
    serde_json::Value::Array(values).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_becomes_a_json_array_with_nulls_and_escapes() {
        let values = [Some("a\"b\n".to_owned()), None, Some("ü".to_owned())];
        assert_eq!(json_array(&values), r#"["a\"b\n",null,"ü"]"#);
    }
}
