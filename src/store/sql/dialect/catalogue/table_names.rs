//! Which tables of a database have a name that speaks of jobs or failures.

use crate::db::{Bind, DatabaseKind, Statement};
use crate::store::sql::dialect::dialect;
use crate::store::sql::dialect::sql_builder::Sql;

/// Words in the names of tables that hold dead jobs, or the queue that they came from; the telling ones come first.
pub(crate) const WORDS: [&str; 11] =
    ["dead", "dlq", "fail", "poison", "undeliver", "reject", "letter", "retr", "job", "queue", "task"];

/// Tables that are read from a catalogue at the most.
const MOST: usize = 300;

/// What asks for the tables of this database whose name has one of [`WORDS`], and that the role may read: `schema, table`.
pub(crate) fn telling(db_kind: DatabaseKind) -> Statement {
    let mut sql = Sql::new(dialect(db_kind));
    let named = |name: &str| {
        let words = WORDS.iter().map(|word| format!("lower({name}) LIKE '%{word}%'"));
        words.collect::<Vec<_>>().join(" OR ")
    };
    sql.push(&match db_kind {
        // The parts of a table are not tables that anybody means.
        DatabaseKind::Postgres => format!(
            "SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p', 'v', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema' \
             AND left(n.nspname, 3) <> 'pg_' AND ({}) AND has_schema_privilege(n.oid, 'USAGE') \
             AND has_any_column_privilege(c.oid, 'SELECT') ORDER BY 1, 2 LIMIT {MOST}",
            named("c.relname::text")
        ),
        DatabaseKind::Mysql => format!(
            "SELECT DISTINCT c.table_schema, c.table_name FROM information_schema.columns AS c \
             WHERE c.table_schema = DATABASE() AND ({}) AND FIND_IN_SET('select', c.privileges) > 0 ORDER BY 2 LIMIT {MOST}",
            named("c.table_name")
        ),
        DatabaseKind::Sqlite => format!(
            "SELECT 'main', m.name FROM main.sqlite_master AS m WHERE m.type IN ('table', 'view') AND ({}) ORDER BY 2 LIMIT {MOST}",
            named("m.name")
        ),
    });
    sql.done()
}

/// What asks for the tables of these names in other databases of the server: `schema, table`. Only their names are read, which
/// opens no table. `None` where this database is all that a connection sees.
pub(crate) fn elsewhere(db_kind: DatabaseKind, names: &[String]) -> Option<Statement> {
    if db_kind != DatabaseKind::Mysql || names.is_empty() {
        return None;
    }
    let mut sql = Sql::new(dialect(db_kind));
    sql.push(
        "SELECT t.table_schema, t.table_name FROM information_schema.tables AS t WHERE t.table_schema NOT IN \
         (DATABASE(), 'mysql', 'sys', 'information_schema', 'performance_schema') AND t.table_name IN (",
    );
    sql.join(names, ", ", |sql, name| {
        sql.push_text(name);
    });
    sql.push(&format!(") ORDER BY 1, 2 LIMIT {MOST}"));
    Some(sql.done())
}

/// What asks which of these tables, by schema and name, the role may read: `schema, table`. Each is named by itself, so that no
/// other table is opened for it.
pub(crate) fn readable(db_kind: DatabaseKind, tables: &[(String, String)]) -> Statement {
    let mut sql = Sql::new(dialect(db_kind));
    sql.join(tables, " UNION ", |sql, (schema, table)| {
        sql.push("SELECT c.table_schema, c.table_name FROM information_schema.columns AS c WHERE c.table_schema = ");
        let place = sql.bind(Bind::Text(Some(schema.clone())));
        sql.push(&place).push(" AND c.table_name = ");
        sql.push_text(table).push(" AND FIND_IN_SET('select', c.privileges) > 0");
    });
    sql.done()
}
