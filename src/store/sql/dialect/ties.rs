//! What databases say of how tables hang together: what their columns are now, and whose rows are reached through them.

use super::super::build::Sql;
use super::super::engine::{Bind, Dialect, Statement};
use super::{mysql::Mysql, postgres::Postgres, sqlite::Sqlite};

/// How the tables of a database hang together.
pub(in crate::store::sql) fn ties(dialect: Dialect) -> &'static dyn Ties {
    match dialect {
        Dialect::Postgres => &Postgres,
        Dialect::Mysql => &Mysql,
        Dialect::Sqlite => &Sqlite,
    }
}

/// What is asked of a database about tables and what hangs on them.
pub(in crate::store::sql) trait Ties: Sync {
    /// Columns of tables of one schema, with the types that [`super::Speech::catalogue`] tells: `table, column, type`, and
    /// whether other tables inherit from the table (0 or 1).
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement;

    /// Tables of these names from which others inherit: `schema, table, other`. `None` where there is no such thing.
    fn heirs(&self, _tables: &[String]) -> Option<Statement> {
        None
    }
}

impl Ties for Postgres {
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&Postgres);
        sql.push(&format!(
            "SELECT c.relname::text, a.attname::text, {}::text, (c.relkind = 'r' AND c.relhassubclass \
             AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid))::int::bigint \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE n.nspname = ",
            super::postgres::catalogue::data_type()
        ));
        sql.push_text(schema).push("::text AND c.relname = ANY(");
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place}::text[])"));
        sql.done()
    }

    fn heirs(&self, tables: &[String]) -> Option<Statement> {
        let mut sql = Sql::new(&Postgres);
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!(
            "SELECT n.nspname::text, c.relname::text, i.inhrelid::regclass::text FROM pg_catalog.pg_inherits i \
             JOIN pg_catalog.pg_class c ON c.oid = i.inhparent JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind = 'r' AND c.relname = ANY({place}::text[]) ORDER BY 3"
        ));
        Some(sql.done())
    }
}

impl Ties for Mysql {
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&Mysql);
        sql.push(
            "SELECT c.table_name, c.column_name, c.column_type, 0 FROM information_schema.columns AS c \
             WHERE c.table_schema = ",
        );
        sql.push_text(schema).push(" AND c.table_name IN (").join(tables, ", ", |sql, t| {
            sql.push_text(t);
        });
        sql.push(")");
        sql.done()
    }
}

impl Ties for Sqlite {
    fn shapes(&self, _schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&Sqlite);
        sql.push(
            "SELECT m.name, c.name, c.type, 0 FROM main.sqlite_master AS m, pragma_table_info(m.name) AS c \
             WHERE m.type IN ('table', 'view') AND m.name IN (SELECT value FROM json_each(",
        );
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place}))"));
        sql.done()
    }
}
