//! What PostgreSQL tells of how a table is stored, and of what is in it.

use crate::db::{Bind, Statement};
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::postgres::PostgresDialect;
use crate::store::sql::dialect::sql_builder::Sql;

/// What part of its size a table may grow or shrink by until its statistics are old.
const GROWN: i64 = 5;

/// The planner's statistics of columns, as [`crate::store::sql::dialect::Plans::statistics`] wants them.
pub(super) fn statistics(place: Place<'_>, columns: &[&str]) -> Statement {
    let mut sql = Sql::new(&PostgresDialect);
    let schema = sql.text(place.schema);
    let table = sql.text(place.table);
    let columns = sql.bind(Bind::Texts(columns.iter().map(|column| Some((*column).to_owned())).collect()));
    sql.push(&format!(
        "SELECT s.attname::text, u.v, round(u.f * 1000000)::bigint FROM pg_catalog.pg_stats AS s, \
         unnest(s.most_common_vals::text::text[] || NULL::text, s.most_common_freqs || s.null_frac) AS u(v, f) \
         WHERE s.schemaname = {schema}::text AND s.tablename = {table}::text AND s.attname = ANY({columns}::text[]) \
         AND NOT s.inherited \
         UNION ALL SELECT NULL, CASE WHEN c.reltuples < 0 OR abs(b.n - c.relpages) > c.relpages / {GROWN} THEN 'old' END, \
         greatest(CASE WHEN c.relpages > 0 AND b.n > 0 THEN c.reltuples * (b.n::float8 / c.relpages) \
         ELSE c.reltuples END, 0)::bigint FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         CROSS JOIN LATERAL (SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint) AS b(n) \
         WHERE n.nspname = {schema}::text AND c.relname = {table}::text"
    ));
    sql.done()
}

/// How many blocks a table is stored in, as [`crate::store::sql::dialect::Plans::blocks`] wants it.
pub(super) fn blocks(place: Place<'_>) -> Statement {
    let mut sql = Sql::new(&PostgresDialect);
    // Before 14 every window would be looked for in the whole table. A partitioned table has no blocks of its own.
    sql.push(
        "SELECT CASE WHEN current_setting('server_version_num')::int >= 140000 \
         THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint END \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_am m ON m.oid = c.relam \
         WHERE c.relkind = 'r' AND NOT c.relhassubclass AND m.amname = 'heap' AND n.nspname = ",
    );
    sql.push_text(place.schema).push("::text AND c.relname = ").push_text(place.table).push("::text");
    sql.done()
}

/// What a plan costs by its first line: `(cost=<of its first row>..<of its end> …`.
pub(super) fn cost_of(plan: &str) -> Option<u64> {
    let (_, costs) = plan.split_once("(cost=")?;
    let (total, _) = costs.split_once("..")?.1.split_once('.')?;
    total.parse().ok()
}

/// How many rows are expected by it: `… rows=<so many> width=…`.
pub(super) fn expected_of(plan: &str) -> Option<u64> {
    plan.split_once(" rows=")?.1.split_once(' ')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_tells_how_many_rows_it_expects() {
        assert_eq!(expected_of("Seq Scan on t  (cost=0.00..941411.34 rows=9997034 width=4)"), Some(9_997_034));
        assert_eq!(expected_of("Seq Scan"), None);
    }

    #[test]
    fn the_cost_of_a_plan_is_that_of_its_end() {
        assert_eq!(cost_of("HashAggregate  (cost=967123.50..967124.00 rows=40 width=58)"), Some(967_124));
        assert_eq!(cost_of("Seq Scan"), None);
    }
}
