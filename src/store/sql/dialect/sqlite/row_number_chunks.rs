//! SQLite's tables cut into blocks: so many rows each, by the numbers that rows stand under.
//!
//! A row keeps its number when it is changed, but where that is its key or it is replaced, and with VACUUM in a table that does
//! not name it: then it may be passed over or met twice, like a row that moves between blocks elsewhere.

use crate::db::Statement;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::sqlite::SqliteDialect;
use crate::store::sql::dialect::{Expressions, Place};

/// Numbers that make a block, as many as a block of other databases holds rows.
const ROWS: u64 = 10;
/// More rows than this have no room on a page: where numbers are larger, most of them are of no row.
const ROWS_OF_PAGE: u64 = 64;

/// How many blocks a table is stored in, as [`crate::store::sql::dialect::Plans::blocks`] wants it.
pub(super) fn blocks(place: Place<'_>) -> Statement {
    let table = SqliteDialect.quote(place.table);
    let mut sql = Sql::new(&SqliteDialect);
    // Where the table has no such column, the name is that of the one row around it, so that the statement can be read.
    sql.push(&format!(
        "SELECT CASE WHEN first >= 0 AND last / {ROWS_OF_PAGE} <= (SELECT page_count FROM pragma_page_count()) \
         THEN last / {ROWS} + 1 END FROM (SELECT (SELECT _rowid_ FROM {table} ORDER BY 1 LIMIT 1) AS first, \
         (SELECT _rowid_ FROM {table} ORDER BY 1 DESC LIMIT 1) AS last FROM (SELECT NULL AS _rowid_) \
         WHERE EXISTS (SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0 \
         AND name = "
    ));
    sql.push_text(place.table);
    sql.push(" COLLATE NOCASE) AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(");
    sql.push_text(place.table).push(") WHERE lower(name) = '_rowid_'))");
    sql.done()
}

/// Writes whether a row of `t` stands in the blocks from one up to another, which is not among them.
pub(super) fn in_blocks(sql: &mut Sql, from: u64, to: u64) {
    // The planner does not see that few numbers are in there, and any index would seem the better one.
    for (op, block) in [(">=", from), ("<", to)] {
        let number = i64::try_from(block.saturating_mul(ROWS)).unwrap_or(i64::MAX);
        sql.push(&format!("likelihood(t._rowid_ {op} ")).push_int(number).push(", 0.0001)");
        sql.push(if op == ">=" { " AND " } else { "" });
    }
}

/// Nothing where an index leads to what is asked for, or holds it; such a plan says so in its first line.
pub(super) fn cost_of(plan: &str) -> Option<u64> {
    (plan.starts_with("SEARCH") || plan.contains("COVERING INDEX")).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_cheap_that_does_not_go_through_the_table() {
        assert_eq!(cost_of("SEARCH t USING INDEX by_class (job_class=?)"), Some(0));
        assert_eq!(cost_of("SCAN t USING COVERING INDEX by_class"), Some(0));
        assert_eq!(cost_of("SCAN t USING INDEX by_class"), None);
        assert_eq!(cost_of("SCAN t"), None);
    }
}
