//! What the planner knows and says, and how a table is stored.

use crate::adapter::Column;
use crate::db::Statement;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::sql_builder::Sql;

/// What a database's planner tells, and how rows are read as they are stored.
pub(crate) trait Plans: Sync {
    /// The planner's statistics of columns: `column, value, frequency in millionths`, and the table's rows as the third
    /// value of the row whose first is NULL; the second there is NULL unless the table has since become another one.
    /// `None` where the database keeps none that we can read.
    fn statistics(&self, _place: Place<'_>, _columns: &[&str]) -> Option<Statement> {
        None
    }

    /// How many blocks a table is stored in, in one row; NULL there, or no statement, where it cannot be read by blocks.
    fn blocks(&self, _place: Place<'_>) -> Option<Statement> {
        None
    }

    /// A table as `t`, of which only some blocks are read that chance takes, each with this probability in percent; `None`
    /// where that cannot be had.
    fn sampled(&self, _table: &str, _percent: f64) -> Option<String> {
        None
    }

    /// What stands behind a table where it is to be read as it is stored, in the order of its primary key; `None` where tables
    /// are stored in another order.
    fn by_primary_key(&self) -> Option<&'static str> {
        None
    }

    /// Whether values of a column, as the contract tells them, compare as the column does.
    fn leads(&self, _column: &Column) -> bool {
        false
    }

    /// How many rows a table has, more or less; `None` where it is read by its blocks.
    fn rows(&self, _place: Place<'_>) -> Option<Statement> {
        None
    }

    /// What a plan costs by its first line (the last column of it), in units of which reading a block in turn is one; `None`
    /// where it does not say.
    fn cost_of(&self, _plan: &str) -> Option<u64> {
        None
    }

    /// How many rows a statement is expected to have, by the first line of its plan; `None` where it does not say.
    fn expected_of(&self, _plan: &str) -> Option<u64> {
        None
    }

    /// The statement behind which the rest of a transaction finds rows by two indexes together, each of which knows a part of what
    /// is asked, and follows none; `None` where there is no such thing.
    fn together(&self) -> Option<&'static str> {
        None
    }

    /// How many rows a range of keys holds by the plan of a statement that reads it, more or less; `None` where plans tell what
    /// was noted of the table a while ago.
    fn rows_of(&self, _plan: &str) -> Option<u64> {
        None
    }

    /// Writes whether a row of `t` stands in the blocks from one up to another, which is not among them.
    fn in_blocks(&self, sql: &mut Sql, _from: u64, _to: u64) {
        sql.push("1 = 1");
    }

    /// A statement that explains another without running it.
    fn explain(&self, sql: &str) -> String {
        format!("EXPLAIN {sql}")
    }
}
