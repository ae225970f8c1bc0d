//! What databases say of room that their tables take and do not use, and of who keeps it from being used again.

use crate::db::{DatabaseKind, Statement};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{
    Place, dialect, mysql::MysqlDialect, postgres::PostgresDialect, sqlite::SqliteDialect,
};

/// What a database says of bloat.
pub(crate) fn bloat(db_kind: DatabaseKind) -> &'static dyn BloatQueries {
    match db_kind {
        DatabaseKind::Postgres => &PostgresDialect,
        DatabaseKind::Mysql => &MysqlDialect,
        DatabaseKind::Sqlite => &SqliteDialect,
    }
}

/// What is asked of a database about room that is not used.
pub(crate) trait BloatQueries: Sync {
    /// One row: living row versions, dead ones, seconds since the last vacuum, whether autovacuum is on (0 or 1), bytes in
    /// all, bytes that are free; NULL for what there is no such thing of.
    fn unused(&self, place: Place<'_>) -> Statement;

    /// The oldest transaction of somebody else's that keeps dead versions from being removed, in one row: what it is
    /// (`session` or `prepared`), by what it is known, how many seconds old it is, and how many sessions are hidden from us.
    /// `None` where there is no such thing.
    fn oldest(&self) -> Option<&'static str> {
        None
    }

    /// What makes room.
    fn vacuum(&self, place: Place<'_>) -> String;

    /// What turns automatic vacuuming on again for a table.
    fn autovacuum(&self, _place: Place<'_>) -> Option<String> {
        None
    }

    /// What shows a session that is in the way.
    fn show(&self, known_as: &str) -> String;
}

fn qualified(place: Place<'_>) -> String {
    let quote = |name: &str| dialect(DatabaseKind::Postgres).quote(name);
    format!("{}.{}", quote(place.schema), quote(place.table))
}

impl BloatQueries for PostgresDialect {
    fn unused(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        sql.push(
            "SELECT sum(s.n_live_tup)::bigint, sum(s.n_dead_tup)::bigint, \
             EXTRACT(epoch FROM now() - min(GREATEST(s.last_vacuum, s.last_autovacuum)))::bigint, \
             (current_setting('autovacuum')::bool AND NOT COALESCE(bool_or((SELECT NOT o.option_value::bool \
             FROM pg_options_to_table(p.reloptions) AS o WHERE o.option_name = 'autovacuum_enabled')), false))::int::bigint, \
             sum(pg_relation_size(p.oid))::bigint, NULL::bigint \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN LATERAL pg_partition_tree(c.oid) AS tree ON tree.isleaf \
             JOIN pg_catalog.pg_class p ON p.oid = COALESCE(tree.relid, c.oid) \
             LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = p.oid WHERE c.relname = ",
        );
        sql.push_text(place.table).push(" AND n.nspname = ").push_text(place.schema);
        sql.done()
    }

    /// A role sees nothing of the sessions of others unless it may read all statistics: those are counted.
    fn oldest(&self) -> Option<&'static str> {
        Some(
            "SELECT o.kind, o.known_as, o.age, h.hidden FROM (SELECT count(*)::bigint AS hidden FROM pg_catalog.pg_stat_activity \
             WHERE query = '<insufficient privilege>') AS h LEFT JOIN LATERAL (\
             SELECT 'session' AS kind, a.pid::text AS known_as, EXTRACT(epoch FROM now() - a.xact_start)::bigint AS age \
             FROM pg_catalog.pg_stat_activity a WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() \
             AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.xact_start IS NOT NULL \
             AND a.datname = current_database() \
             UNION ALL SELECT 'prepared', p.gid, EXTRACT(epoch FROM now() - p.prepared)::bigint \
             FROM pg_catalog.pg_prepared_xacts p WHERE p.database = current_database() \
             ORDER BY age DESC LIMIT 1) AS o ON true",
        )
    }

    fn vacuum(&self, place: Place<'_>) -> String {
        format!("VACUUM (ANALYZE) {};", qualified(place))
    }

    fn autovacuum(&self, place: Place<'_>) -> Option<String> {
        Some(format!("ALTER TABLE {} RESET (autovacuum_enabled);", qualified(place)))
    }

    fn show(&self, known_as: &str) -> String {
        match known_as.parse::<u64>() {
            Ok(pid) => format!(
                "SELECT pid, usename, application_name, state, xact_start FROM pg_stat_activity WHERE pid = {pid};"
            ),
            Err(_) => "SELECT gid, owner, prepared FROM pg_prepared_xacts;".to_owned(),
        }
    }
}

impl BloatQueries for MysqlDialect {
    fn unused(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&MysqlDialect);
        sql.push(
            "SELECT NULL, NULL, NULL, NULL, CAST(data_length + index_length + data_free AS SIGNED), \
             CAST(data_free AS SIGNED) FROM information_schema.tables WHERE table_schema = ",
        );
        sql.push_text(place.schema).push(" AND table_name = ").push_text(place.table);
        sql.done()
    }

    /// The server writes these times in its own zone, which is not our session's.
    fn oldest(&self) -> Option<&'static str> {
        Some(
            "SELECT 'session', CAST(trx_mysql_thread_id AS CHAR), \
             CAST(TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) AS SIGNED), 0 \
             FROM information_schema.innodb_trx WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID()) \
             ORDER BY trx_started LIMIT 1",
        )
    }

    fn vacuum(&self, place: Place<'_>) -> String {
        let quote = |name: &str| dialect(DatabaseKind::Mysql).quote(name);
        format!("OPTIMIZE TABLE {}.{};", quote(place.schema), quote(place.table))
    }

    fn show(&self, known_as: &str) -> String {
        let id: u64 = known_as.parse().unwrap_or_default();
        format!("SELECT id, user, host, command, time FROM information_schema.processlist WHERE id = {id};")
    }
}

impl BloatQueries for SqliteDialect {
    /// The room is the file's, whichever table it was of.
    fn unused(&self, _place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        sql.push(
            "SELECT NULL, NULL, NULL, NULL, p.page_count * s.page_size, f.freelist_count * s.page_size \
             FROM pragma_page_count() AS p, pragma_page_size() AS s, pragma_freelist_count() AS f",
        );
        sql.done()
    }

    fn vacuum(&self, _place: Place<'_>) -> String {
        "VACUUM;".to_owned()
    }

    fn show(&self, _known_as: &str) -> String {
        String::new()
    }
}
