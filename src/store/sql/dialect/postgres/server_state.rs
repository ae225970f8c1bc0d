//! What looks ask of PostgreSQL.

use super::PostgresDialect;
use crate::db::Statement;
use crate::store::sql::dialect::ServerState;
use crate::store::sql::dialect::sql_builder::Sql;

impl ServerState for PostgresDialect {
    fn clock(&self) -> &'static str {
        "round(extract(epoch from clock_timestamp()) * 1000000)::bigint"
    }

    fn identity(&self) -> Option<Statement> {
        // Replicas have both in common with their primary.
        let sql = "SELECT s.system_identifier::text || '/' || d.oid::text FROM pg_control_system() AS s, \
                   pg_catalog.pg_database AS d WHERE d.datname = current_database()";
        Some(Statement { sql: sql.to_owned(), binds: Vec::new() })
    }

    fn gate(&self) -> Option<&'static str> {
        Some(
            "CASE WHEN pg_is_in_recovery() THEN 2 \
             WHEN current_setting('default_transaction_read_only') = 'on' THEN 1 ELSE 0 END::bigint",
        )
    }

    fn change_token(&self, _is_first: bool) -> Option<&'static str> {
        Some("pg_current_snapshot()::text")
    }

    fn token_span(&self, token: &str) -> Option<(u64, u64)> {
        let mut parts = token.split(':').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    }

    fn transaction(&self) -> Option<&'static str> {
        Some("pg_current_xact_id()::text")
    }

    fn tx_status(&self, transaction: &str) -> Option<Statement> {
        let mut sql = Sql::new(&PostgresDialect);
        let place = sql.text(transaction);
        sql.push(&format!("SELECT pg_xact_status({place}::text::xid8)::text"));
        Some(sql.done())
    }
}
