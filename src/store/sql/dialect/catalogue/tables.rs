//! Tables and columns, as the catalogue has them, and what makes new ones.

use crate::adapter::{Column, Index};
use crate::db::Statement;
use crate::store::sql::dialect::{Expressions, IndexPlace, NameLimit, NewTable, Place, catalogue};

/// What a database's catalogue says of tables, and what makes new ones.
pub(crate) trait Catalogue: Expressions {
    /// The character set of a column in which the database's own JSON functions are wrong.
    fn unreadable_charset<'a>(&self, _column: &'a Column) -> Option<&'a str> {
        None
    }

    /// The columns of a table: name, type as [`crate::store::sql::dialect::Writes::unkept`] takes it, and whether the database makes the value (0 or 1).
    fn columns(&self, place: Place<'_>) -> Statement;

    /// Whether a column of this type keeps less of an instant than its microseconds.
    fn rounds(&self, _data_type: &str) -> bool {
        false
    }

    /// Tables and columns: `schema, table, column, type, nullable (0 or 1), collation`, and the table's storage engine where
    /// that has no transactions; the column's places in indexes, for [`Catalogue::places`]; the role, where row-level security
    /// keeps rows of the table from it; whether the table is partitioned (1) or others may inherit from it (2); whether it is a view
    /// (1), stands on another server (2), or with a storage engine that has a log of its own (3); and what the role may not do, as [`crate::store::sql::dialect::catalogue::privileges`] reads it. The columns of a table in order of position.
    fn catalogue(&self, tables: &[String]) -> Statement;

    /// The places of a column in indexes, as the catalogue tells them: here lines of place (from 1), `p` for the primary key
    /// or `u` for another one that is unique over all rows, and index, which may be nameless.
    fn places(&self, told: &str) -> Vec<IndexPlace> {
        catalogue::index_columns::read(told)
    }

    /// The schema that stands before all others, where there can be several.
    fn schema_first(&self) -> Option<&'static str> {
        None
    }

    /// The tables of which a policy shows the role some rows: `schema, table`.
    fn policies(&self, _tables: &[String]) -> Option<Statement> {
        None
    }

    /// The functions of these names: `schema, name`, and whether the role may call it (0 or 1).
    fn functions(&self, _names: &[String]) -> Option<Statement> {
        None
    }

    /// Columns of tables of one schema, in order: `table, column, definition`, with all that tells what a value may be.
    fn definitions(&self, schema: &str, tables: &[String]) -> Statement;

    /// Makes a column of a table what `definition` says; `None` where a column stays what it is.
    fn redefine(&self, table: &str, column: &str, definition: &str) -> Option<String> {
        Some(format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE {definition}"))
    }

    /// The statement that creates an index, as the database's own client takes it; others can go on writing meanwhile, where
    /// the database can do that for the table.
    fn create_index(&self, place: Place<'_>, index: &Index, is_partitioned: bool) -> String;

    /// The columns of an index, quoted.
    fn index_columns(&self, index: &Index) -> String {
        index.columns.iter().map(|column| self.quote(column)).collect::<Vec<_>>().join(", ")
    }

    /// How long the name of a table may be.
    fn name_limit(&self) -> NameLimit;

    /// The types of an instant and of a short text in ASCII, and what follows the columns of a new table.
    fn new_table(&self) -> NewTable;
}
