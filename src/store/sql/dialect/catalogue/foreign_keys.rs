//! What databases say of how tables hang together: what their columns are now, whose rows are reached through them, and
//! whose rows go when theirs do.

use crate::db::{Bind, DatabaseKind, Statement};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{mysql::MysqlDialect, postgres::PostgresDialect, sqlite::SqliteDialect};

/// How the tables of a database hang together.
pub(crate) fn foreign_key_catalogue(db_kind: DatabaseKind) -> &'static dyn ForeignKeyCatalogue {
    match db_kind {
        DatabaseKind::Postgres => &PostgresDialect,
        DatabaseKind::Mysql => &MysqlDialect,
        DatabaseKind::Sqlite => &SqliteDialect,
    }
}

/// What is asked of a database about tables and what hangs on them.
pub(crate) trait ForeignKeyCatalogue: Sync {
    /// Columns of tables of one schema, with the types that [`crate::store::sql::dialect::Catalogue::catalogue`] tells: `table, column, type`, and
    /// whether other tables inherit from the table (0 or 1).
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement;

    /// Tables of these names from which others inherit: `schema, table, other`. `None` where there is no such thing.
    fn heirs(&self, _tables: &[String]) -> Option<Statement> {
        None
    }

    /// Foreign keys by which the database deletes or changes rows as those go that they refer to: `schema, table` of these
    /// rows, `schema, table` of what they refer to, and what happens, as an ON DELETE has it. With `refusing` also those by
    /// which it does not let them go.
    fn followers(&self, refusing: bool) -> Statement;

    /// The same of all databases of the server, where [`ForeignKeyCatalogue::followers`] tells of this one alone, and of what the role may see:
    /// ways to ask, of which the role may lack the right to some, or the server not know them.
    fn elsewhere(&self) -> Vec<Statement> {
        Vec::new()
    }

    /// The same of those tables there that the role may do more with than read, which takes the server long where they are many.
    fn seen_elsewhere(&self) -> Option<Statement> {
        None
    }
}

impl ForeignKeyCatalogue for PostgresDialect {
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        sql.push(&format!(
            "SELECT c.relname::text, a.attname::text, {}::text, (c.relkind = 'r' AND c.relhassubclass \
             AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid))::int::bigint \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE n.nspname = ",
            crate::store::sql::dialect::postgres::catalogue::data_type()
        ));
        sql.push_text(schema).push("::text AND c.relname = ANY(");
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place}::text[])"));
        sql.done()
    }

    fn heirs(&self, tables: &[String]) -> Option<Statement> {
        let mut sql = Sql::new(&PostgresDialect);
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!(
            "SELECT n.nspname::text, c.relname::text, i.inhrelid::regclass::text FROM pg_catalog.pg_inherits i \
             JOIN pg_catalog.pg_class c ON c.oid = i.inhparent JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind = 'r' AND c.relname = ANY({place}::text[]) ORDER BY 3"
        ));
        Some(sql.done())
    }

    fn followers(&self, refusing: bool) -> Statement {
        let rules = if refusing { "" } else { "AND k.confdeltype IN ('c', 'n', 'd') " };
        // A key of a partitioned table stands there for each of its parts too, and names the one that it is made of; one that
        // refers to a part refers to rows of the whole.
        let sql = format!(
            "SELECT n.nspname::text, c.relname::text, m.nspname::text, p.relname::text, CASE k.confdeltype \
             WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' ELSE 'RESTRICT' END \
             FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_class p ON p.oid = COALESCE(pg_partition_root(k.confrelid)::oid, k.confrelid) \
             JOIN pg_catalog.pg_namespace m ON m.oid = p.relnamespace \
             WHERE k.contype = 'f' {rules}AND k.conparentid = 0 ORDER BY 1, 2"
        );
        Statement { sql, binds: Vec::new() }
    }
}

impl ForeignKeyCatalogue for MysqlDialect {
    fn shapes(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&MysqlDialect);
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

    fn followers(&self, refusing: bool) -> Statement {
        // Of this schema: the server opens every table of those that are asked for.
        let sql = format!("{REFERENCES} WHERE r.constraint_schema = DATABASE(){} ORDER BY 1, 2", following(refusing));
        Statement { sql, binds: Vec::new() }
    }

    fn elsewhere(&self) -> Vec<Statement> {
        // What the storage engine itself remembers takes no table to be opened, and the right to PROCESS.
        let own = |table: &str, in_utf8: fn(String) -> String| {
            let name = |column: &str, part: i8| in_utf8(format!("SUBSTRING_INDEX(f.{column}, '/', {part})"));
            format!(
                "SELECT {}, {}, {}, {}, CASE WHEN f.type & 1 THEN 'CASCADE' WHEN f.type & 2 THEN 'SET NULL' ELSE 'RESTRICT' END \
                 FROM information_schema.{table} AS f ORDER BY 1, 2",
                name("for_name", 1),
                name("for_name", -1),
                name("ref_name", 1),
                name("ref_name", -1),
            )
        };
        // MariaDB's name for it, with names as those of files are written; and MySQL's, which knows no such character set.
        let of_files =
            |name| format!("CONVERT(CAST(CAST({name} AS BINARY) AS CHAR CHARACTER SET filename) USING utf8mb4)");
        let plain = |name| format!("CONVERT({name} USING utf8mb4)");
        let both = [own("innodb_sys_foreign", of_files), own("innodb_foreign", plain)];
        both.map(|sql| Statement { sql, binds: Vec::new() }).into()
    }

    fn seen_elsewhere(&self) -> Option<Statement> {
        let sql = format!("{REFERENCES} WHERE r.constraint_schema <> DATABASE() ORDER BY 1, 2");
        Some(Statement { sql, binds: Vec::new() })
    }
}

/// Foreign keys as the server tells them of tables that the role may see.
const REFERENCES: &str = "SELECT r.constraint_schema, r.table_name, r.unique_constraint_schema, r.referenced_table_name, \
     CASE WHEN r.delete_rule = 'NO ACTION' THEN 'RESTRICT' ELSE r.delete_rule END \
     FROM information_schema.referential_constraints AS r";

fn following(refusing: bool) -> &'static str {
    if refusing { "" } else { " AND r.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')" }
}

impl ForeignKeyCatalogue for SqliteDialect {
    fn shapes(&self, _schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        sql.push(
            "SELECT m.name, c.name, c.type, 0 FROM main.sqlite_master AS m, pragma_table_info(m.name) AS c \
             WHERE m.type IN ('table', 'view') AND m.name IN (SELECT value FROM json_each(",
        );
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place}))"));
        sql.done()
    }

    fn followers(&self, refusing: bool) -> Statement {
        let rules = if refusing { "" } else { "AND upper(k.on_delete) IN ('CASCADE', 'SET NULL', 'SET DEFAULT') " };
        let sql = format!(
            "SELECT 'main', m.name, 'main', p.name, \
             CASE WHEN upper(k.on_delete) IN ('CASCADE', 'SET NULL', 'SET DEFAULT') THEN upper(k.on_delete) ELSE 'RESTRICT' END \
             FROM main.sqlite_master AS m, pragma_foreign_key_list(m.name) AS k \
             JOIN main.sqlite_master AS p ON p.type = 'table' AND p.name = k.\"table\" COLLATE NOCASE \
             WHERE m.type = 'table' AND k.seq = 0 {rules}ORDER BY 2"
        );
        Statement { sql, binds: Vec::new() }
    }
}
