//! What a database knows of its own tables that bears on how quick we are: extent, widths of columns, housekeeping.

use crate::adapter::Column;
use crate::db::{Bind, DatabaseKind, Statement};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{
    Place, dialect, mysql::MysqlDialect, postgres::PostgresDialect, sqlite::SqliteDialect,
};

/// Rows that widths are taken from where the database keeps no statistics of them.
const SAMPLE: usize = 1_000;

/// The vitals of a database.
pub(crate) fn table_stats(db_kind: DatabaseKind) -> &'static dyn TableStats {
    match db_kind {
        DatabaseKind::Postgres => &PostgresDialect,
        DatabaseKind::Mysql => &MysqlDialect,
        DatabaseKind::Sqlite => &SqliteDialect,
    }
}

/// What an index would hold of a column.
pub(crate) struct Width<'a> {
    pub(crate) column: &'a Column,
    /// Mean bytes of a value.
    pub(crate) bytes: f64,
}

/// What is asked of a database about itself, and how it keeps its indexes.
pub(crate) trait TableStats: Sync {
    /// Which version of TLS this session has, in one row, empty or NULL where it has none; `None` where nothing is sent.
    fn encryption(&self) -> Option<&'static str> {
        None
    }

    /// The port that the server itself listens on, in one row; `None` where there is none.
    fn own_port(&self) -> Option<&'static str> {
        None
    }

    /// Rows of a table as far as is known without counting, and its bytes; one row.
    fn extent(&self, place: Place<'_>) -> Statement;

    /// Of these columns: name, mean bytes, and how many values differ (NULL where nobody knows).
    fn widths(&self, place: Place<'_>, columns: &[&str], key: &str) -> Statement;

    /// Whether an index can hold a part of the rows, and serve statements that name that part by values bound to them.
    fn has_partial_indexes(&self) -> bool {
        true
    }

    /// Bytes of an index over so many rows, with the columns of the primary key that are not among its own, of which `distinct` differ in its columns where that is known.
    fn index_bytes(&self, rows: f64, columns: &[Width<'_>], key: &[Width<'_>], distinct: Option<f64>) -> f64;

    /// Seconds that it takes to build one over a table of so many bytes, on a machine that does nothing else: a scan of the
    /// table, and what it costs to put each row of the index into its place.
    fn build_seconds(&self, table_bytes: f64, rows: f64, columns: &[Width<'_>]) -> f64;

    /// Housekeeping of a table, in one row: whole numbers as `store::sql::health` reads them; `None` where there is none.
    fn housekeeping(&self, _place: Place<'_>) -> Option<Statement> {
        None
    }

    /// Whether the planner has statistics at all, 0 or 1 in one row; `None` where it always has.
    fn is_analyzed(&self) -> Option<&'static str> {
        None
    }

    /// The setting, as `name = value` in one row, by which the server may lose in a crash what it has committed; no row or NULL
    /// where there is none. What we ask it otherwise for ourselves does not count.
    fn forgets(&self) -> Option<&'static str> {
        None
    }

    /// What has the database tidy up often enough for counts that an index answers alone.
    fn tidy(&self, _place: Place<'_>) -> Option<String> {
        None
    }

    /// What gives it statistics.
    fn analyze(&self, place: Place<'_>) -> String {
        format!("ANALYZE {};", dialect(DatabaseKind::Postgres).quote(place.table))
    }
}

impl TableStats for PostgresDialect {
    fn encryption(&self) -> Option<&'static str> {
        Some("SELECT (SELECT version FROM pg_catalog.pg_stat_ssl WHERE ssl AND pid = pg_backend_pid())")
    }

    fn own_port(&self) -> Option<&'static str> {
        Some("SELECT inet_server_port()::bigint")
    }

    fn forgets(&self) -> Option<&'static str> {
        Some("SELECT CASE WHEN current_setting('fsync') = 'off' THEN 'fsync = off' END")
    }

    fn extent(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        // A table without parts is its only part, and stands in no tree. One that was never looked at has no number of rows.
        sql.push(
            "SELECT CASE WHEN bool_or(p.reltuples >= 0) THEN sum(GREATEST(p.reltuples, 0))::bigint END, \
             sum(pg_relation_size(p.oid))::bigint FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN LATERAL pg_partition_tree(c.oid) AS tree ON tree.isleaf \
             JOIN pg_catalog.pg_class p ON p.oid = COALESCE(tree.relid, c.oid) WHERE ",
        );
        named(&mut sql, place);
        sql.done()
    }

    fn widths(&self, place: Place<'_>, columns: &[&str], _key: &str) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        let (schema, table) = (sql.text(place.schema), sql.text(place.table));
        let columns = sql.bind(Bind::Texts(columns.iter().map(|column| Some((*column).to_owned())).collect()));
        sql.push(&format!(
            "SELECT s.attname::text, s.avg_width::bigint, \
             (CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * GREATEST(c.reltuples, 0) ELSE s.n_distinct END)::bigint \
             FROM pg_catalog.pg_stats s JOIN pg_catalog.pg_namespace n ON n.nspname = s.schemaname \
             JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = s.tablename \
             WHERE s.schemaname = {schema}::text AND s.tablename = {table}::text \
             AND s.attname = ANY({columns}::text[]) AND s.inherited = (c.relkind = 'p')"
        ));
        sql.done()
    }

    /// A B-tree: each entry is a header, the values (aligned), and a pointer to it; leaf pages are filled to nine tenths.
    /// Entries that are alike share one, which costs six bytes for each row more, up to a tenth of a page.
    fn index_bytes(&self, rows: f64, columns: &[Width<'_>], _key: &[Width<'_>], distinct: Option<f64>) -> f64 {
        const PAGE: f64 = 8_192.0 - 24.0 - 16.0;
        let mut end = 0.0;
        for width in columns {
            let align = alignment(&width.column.data_type);
            end = (end / align).ceil() * align + width.bytes;
        }
        let entry = 8.0 + (end / 8.0).ceil() * 8.0;
        let alike = distinct.map_or(1.0, |distinct| (rows / distinct.max(1.0)).max(1.0));
        let in_one = alike.min(((PAGE / 10.0 - entry) / 6.0).max(1.0));
        let shared = ((entry + 6.0 * in_one) / 8.0).ceil() * 8.0 + 4.0;
        let each = if in_one < 2.0 { entry + 4.0 } else { shared / in_one };
        // The pages above the leaves, and the high key of each leaf.
        rows * each / (PAGE * 0.9) * 8_192.0 * 1.01
    }

    /// Twice over the table: whoever builds without locking writers looks again for what they wrote meanwhile.
    fn build_seconds(&self, table_bytes: f64, rows: f64, columns: &[Width<'_>]) -> f64 {
        // Texts are compared by a collation.
        let has_text = columns.iter().any(|width| is_text(&width.column.data_type));
        table_bytes * 2.0 / 1.6e9 + rows * if has_text { 1.7e-6 } else { 0.3e-6 }
    }

    fn housekeeping(&self, place: Place<'_>) -> Option<Statement> {
        let mut sql = Sql::new(&PostgresDialect);
        let option = |name: &str| {
            format!(
                "COALESCE((SELECT o.option_value FROM pg_options_to_table(c.reloptions) AS o WHERE o.option_name = '{name}'), \
                 current_setting('{name}', true))"
            )
        };
        let (threshold, share) =
            (option("autovacuum_vacuum_insert_threshold"), option("autovacuum_vacuum_insert_scale_factor"));
        sql.push(&format!(
            "SELECT c.relpages::bigint, c.relallvisible::bigint, {threshold}::bigint, \
             round({share}::numeric * 1000000)::bigint, \
             (COALESCE(s.last_analyze, s.last_autoanalyze) IS NOT NULL OR c.reltuples >= 0)::int::bigint, \
             (c.relkind = 'r')::int::bigint \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid WHERE "
        ));
        named(&mut sql, place);
        Some(sql.done())
    }

    fn tidy(&self, place: Place<'_>) -> Option<String> {
        let quote = |name: &str| dialect(DatabaseKind::Postgres).quote(name);
        Some(format!(
            "ALTER TABLE {}.{} SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000);",
            quote(place.schema),
            quote(place.table)
        ))
    }

    fn analyze(&self, place: Place<'_>) -> String {
        let quote = |name: &str| dialect(DatabaseKind::Postgres).quote(name);
        format!("ANALYZE {}.{};", quote(place.schema), quote(place.table))
    }
}

/// Whether values of a type are texts.
fn is_text(data_type: &str) -> bool {
    let data_type = data_type.to_ascii_lowercase();
    data_type.contains("char") || data_type.contains("text")
}

/// Where the values of a type begin in an entry. Short texts have no place of their own.
fn alignment(data_type: &str) -> f64 {
    let data_type = data_type.to_ascii_lowercase();
    match data_type.as_str() {
        "bigint" | "int8" => 8.0,
        t if t.contains("timestamp") || t.contains("double") => 8.0,
        "integer" | "int4" | "date" | "real" => 4.0,
        "smallint" => 2.0,
        _ => 1.0,
    }
}

/// Writes whether `c` in the namespace `n` is a table.
fn named(sql: &mut Sql, place: Place<'_>) {
    let (schema, table) = (sql.text(place.schema), sql.text(place.table));
    sql.push(&format!("n.nspname = {schema}::text AND c.relname = {table}::text"));
}

impl TableStats for MysqlDialect {
    fn forgets(&self) -> Option<&'static str> {
        Some(
            "SELECT IF(@@innodb_flush_log_at_trx_commit = 1, NULL, \
             CONCAT('innodb_flush_log_at_trx_commit = ', @@innodb_flush_log_at_trx_commit))",
        )
    }

    fn encryption(&self) -> Option<&'static str> {
        Some("SHOW SESSION STATUS LIKE 'Ssl_version'")
    }

    fn own_port(&self) -> Option<&'static str> {
        Some("SELECT CAST(@@port AS SIGNED)")
    }

    fn extent(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&MysqlDialect);
        sql.push(
            "SELECT CAST(table_rows AS SIGNED), CAST(data_length AS SIGNED) FROM information_schema.tables \
             WHERE table_schema = ",
        );
        sql.push_text(place.schema).push(" AND table_name = ").push_text(place.table);
        sql.done()
    }

    fn widths(&self, place: Place<'_>, columns: &[&str], key: &str) -> Statement {
        sampled(DatabaseKind::Mysql, place, columns, key)
    }

    fn has_partial_indexes(&self) -> bool {
        false
    }

    /// A clustered table's secondary index: a header, the values with their lengths, and the primary key; pages are filled
    /// to fifteen sixteenths.
    fn index_bytes(&self, rows: f64, columns: &[Width<'_>], key: &[Width<'_>], _distinct: Option<f64>) -> f64 {
        let value = |width: &Width<'_>| stored(&width.column.data_type).unwrap_or(width.bytes + 1.0);
        let entry = 6.0 + columns.iter().chain(key).map(value).sum::<f64>();
        rows * entry / ((16_384.0 - 132.0) * 15.0 / 16.0) * 16_384.0
    }

    fn build_seconds(&self, table_bytes: f64, rows: f64, _columns: &[Width<'_>]) -> f64 {
        table_bytes / 8e8 + rows * 3e-6
    }
}

/// Bytes that a value of a type takes, where they are always the same.
fn stored(data_type: &str) -> Option<f64> {
    let data_type = data_type.to_ascii_lowercase();
    let fraction = if data_type.contains("(6)") { 3.0 } else { 0.0 };
    match data_type.split(['(', ' ']).next().unwrap_or_default() {
        "bigint" | "double" => Some(8.0),
        "int" | "integer" | "float" => Some(4.0),
        "smallint" => Some(2.0),
        "tinyint" => Some(1.0),
        "datetime" => Some(5.0 + fraction),
        "timestamp" => Some(4.0 + fraction),
        "uuid" => Some(16.0),
        _ => None,
    }
}

impl TableStats for SqliteDialect {
    /// Keys count on, so the last is about how many rows there are; the bytes are those of the whole file.
    fn extent(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        sql.push(&format!(
            "SELECT (SELECT max(rowid) FROM {}), (SELECT p.page_count * s.page_size FROM pragma_page_count() AS p, \
             pragma_page_size() AS s)",
            dialect(DatabaseKind::Sqlite).quote(place.table)
        ));
        sql.done()
    }

    fn widths(&self, place: Place<'_>, columns: &[&str], key: &str) -> Statement {
        sampled(DatabaseKind::Sqlite, place, columns, key)
    }

    fn has_partial_indexes(&self) -> bool {
        false
    }

    /// A record of values with their types in front, and the row's own number.
    fn index_bytes(&self, rows: f64, columns: &[Width<'_>], _key: &[Width<'_>], _distinct: Option<f64>) -> f64 {
        let value = |width: &Width<'_>| match width.column.data_type.to_ascii_lowercase() {
            t if t.contains("int") => 4.0 + 1.0,
            _ => width.bytes + 1.0,
        };
        let entry = 8.0 + columns.iter().map(value).sum::<f64>();
        rows * entry * 1.03
    }

    fn build_seconds(&self, table_bytes: f64, rows: f64, _columns: &[Width<'_>]) -> f64 {
        table_bytes / 1.5e9 + rows * 1.2e-6
    }

    fn is_analyzed(&self) -> Option<&'static str> {
        Some("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")
    }
}

/// The widths of the columns of the newest rows.
fn sampled(db_kind: DatabaseKind, place: Place<'_>, columns: &[&str], key: &str) -> Statement {
    let dialect = dialect(db_kind);
    let quoted: Vec<String> = columns.iter().map(|column| dialect.quote(column)).collect();
    let mut sql = Sql::new(dialect);
    let whole = dialect.whole_type();
    sql.push(&format!(
        "WITH s AS (SELECT {} FROM {} ORDER BY {} DESC LIMIT {SAMPLE}) ",
        quoted.join(", "),
        dialect.quote(place.table),
        dialect.quote(key),
    ));
    for (i, (name, column)) in columns.iter().zip(&quoted).enumerate() {
        sql.push(if i > 0 { " UNION ALL SELECT " } else { "SELECT " }).push_text(name);
        sql.push(&format!(", CAST(round(avg(length({column}))) AS {whole}), NULL FROM s"));
    }
    sql.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(data_type: &str) -> Column {
        Column { name: "c".to_owned(), data_type: data_type.to_owned(), nullable: false, collation: None, times: None }
    }

    /// What `pg_relation_size` said of indexes over a million dead jobs, of which 970,000 are dead, and how long
    /// `CREATE INDEX CONCURRENTLY` took on a quiet machine: each within half of it, up or down.
    #[test]
    fn sizes_and_times_are_those_of_real_indexes() {
        let (text, time, uuid) = (column("character varying"), column("timestamp without time zone"), column("uuid"));
        let width = |column, bytes| Width { column, bytes };
        let error = [width(&text, 16.0), width(&time, 8.0), width(&uuid, 16.0)];
        let queue = [width(&text, 7.0), width(&time, 8.0), width(&uuid, 16.0)];
        let state = [width(&text, 7.0), width(&text, 16.0)];
        let near = |told: f64, real: f64| (1.0 / 1.5..1.5).contains(&(told / real));
        let holds = |columns: &[Width<'_>], rows: f64, distinct: f64, bytes: f64, seconds: f64| {
            let (size, time) = (
                PostgresDialect.index_bytes(rows, columns, &[], Some(distinct)),
                PostgresDialect.build_seconds(667e6, rows, columns),
            );
            assert!(near(size, bytes) && near(time, seconds), "{size} bytes of {bytes}, {time} s of {seconds}");
        };
        holds(&error, 970_000.0, 1e9, 61_661_184.0, 2.9);
        holds(&queue, 970_000.0, 1e9, 48_463_872.0, 2.2);
        holds(&[width(&time, 8.0)], 1_000_000.0, 333_333.0, 16_441_344.0, 1.1);
        holds(&state, 1_000_000.0, 120.0, 7_168_000.0, 2.5);
    }
}
