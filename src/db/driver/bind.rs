//! Statements with their values, as the drivers take them.

use sqlx::mysql::MySqlArguments;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, MySql, Postgres, RawSql, SqlSafeStr, SqlStr, Sqlite};

use crate::db::{Bind, Statement};

/// The one place where text that the program did not write itself becomes SQL.
///
/// It comes from adapter files and dialects; values never are part of it. It is always prepared, so that it can be one
/// statement only.
fn trusted(statement: &Statement) -> SqlStr {
    AssertSqlSafe(statement.sql.as_str()).into_sql_str()
}

/// A command of this layer's own: constants and numbers, sent as a simple query that may hold several of them.
#[expect(clippy::disallowed_methods, reason = "never given text that the program did not write itself")]
pub(crate) fn command(sql: impl SqlSafeStr) -> RawSql {
    sqlx::raw_sql(sql)
}

/// Bytes of a statement with its values, as they travel.
pub(crate) fn bytes(statement: &Statement) -> usize {
    let of = |bind: &Bind| match bind {
        Bind::Text(value) => value.as_deref().map_or(0, str::len),
        Bind::Int(_) => 8,
        Bind::Texts(values) => json_array(values).len(),
    };
    // Each value is led by its type and length.
    statement.binds.iter().fold(statement.sql.len(), |sum, bind| sum + of(bind) + 16)
}

/// Bytes of the values of a statement, each as it is.
pub(crate) fn bytes_of_values(statement: &Statement) -> usize {
    let of = |bind: &Bind| match bind {
        Bind::Text(value) => value.as_deref().map_or(0, str::len),
        Bind::Int(_) => 8,
        Bind::Texts(values) => values.iter().flatten().map(|value| value.len() + 4).sum(),
    };
    statement.binds.iter().map(of).sum()
}

/// Unnamed: a named statement would outlive the transaction, and with it the server connection behind a pooler.
pub(crate) fn postgres(statement: &Statement) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(trusted(statement)).persistent(false);
    statement.binds.iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value.as_deref()),
        Bind::Int(value) => query.bind(*value),
        Bind::Texts(values) => query.bind(values.as_slice()),
    })
}

/// Kept prepared: the driver closes a statement with a message that nobody answers, and the next one then waits, as the
/// driver leaves Nagle's algorithm on, for an acknowledgement that servers delay by 40 ms.
pub(crate) fn mysql(statement: &Statement) -> Query<'static, MySql, MySqlArguments> {
    let query = sqlx::query(trusted(statement)).persistent(!remembers_failure(&statement.sql));
    statement.binds.iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value.as_deref()),
        Bind::Int(value) => query.bind(*value),
        Bind::Texts(values) => query.bind(json_array(values)),
    })
}

/// Whether a statement must not be kept: in MariaDB these functions, once one has failed (a row too large), go on to
/// answer NULL for as long as their prepared statement lives.
fn remembers_failure(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    ["JSON_OBJECT", "JSON_ARRAY"].iter().any(|function| sql.contains(function))
}

pub(crate) fn sqlite(statement: &Statement) -> Query<'static, Sqlite, SqliteArguments> {
    sqlite_all(statement.clone())
}

/// The same for a statement that nobody needs any more: its values are not copied.
pub(crate) fn sqlite_all(statement: Statement) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(trusted(&statement));
    statement.binds.into_iter().fold(query, |query, bind| match bind {
        Bind::Text(value) => query.bind(value),
        Bind::Int(value) => query.bind(value),
        Bind::Texts(values) => query.bind(json_array(&values)),
    })
}

/// A list as JSON text, for engines without arrays.
pub(crate) fn json_array(values: &[Option<String>]) -> String {
    let values: Vec<_> =
        values.iter().map(|value| value.clone().map_or(serde_json::Value::Null, serde_json::Value::String)).collect();
    serde_json::Value::Array(values).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_go_on_failing_is_prepared_anew_each_time() {
        let kept = |sql: &str| {
            let statement = Statement { sql: sql.to_owned(), binds: Vec::new() };
            sqlx::Execute::persistent(&mysql(&statement))
        };
        assert!(kept("SELECT JSON_EXTRACT(t.a, '$.b') FROM t"));
        assert!(!kept("SELECT CONVERT(json_object('a', t.a) USING utf8mb4) FROM t"));
    }

    #[test]
    fn a_list_becomes_a_json_array_with_nulls_and_escapes() {
        let values = [Some("a\"b\n".to_owned()), None, Some("ü".to_owned())];
        assert_eq!(json_array(&values), r#"["a\"b\n",null,"ü"]"#);
    }
}
