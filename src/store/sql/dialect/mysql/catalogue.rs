//! What MySQL's catalogue tells of tables: their columns, keys and engines, and what may be done with them.

use super::MysqlDialect;
use super::charset::{charset, is_wide};
use super::types::base_type;
use crate::adapter::{Column, Index};
use crate::db::Statement;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{Catalogue, Expressions, NameLimit, NewTable, Place, fraction};

/// Writes a question for the columns of some tables.
pub(super) fn statement(mut sql: Sql, tables: &[String]) -> Statement {
    let names = |sql: &mut Sql| {
        sql.join(tables, ", ", |sql, table| {
            sql.push_text(table);
        });
    };
    sql.push(
        "SELECT c.table_schema, c.table_name, c.column_name, c.column_type, \
         CASE WHEN c.is_nullable = 'YES' THEN 1 ELSE 0 END, c.collation_name, \
         CASE WHEN k.table_type LIKE '%VIEW' THEN 'VIEW' ELSE e.engine END, s.places, NULL, NULL, \
         CASE WHEN k.table_type LIKE '%VIEW' THEN 1 WHEN k.engine <> 'InnoDB' THEN 3 ELSE 0 END, \
         CONCAT(CASE WHEN FIND_IN_SET('select', c.privileges) > 0 THEN '' ELSE 'r' END, \
         CASE WHEN FIND_IN_SET('insert', c.privileges) > 0 THEN '' ELSE 'a' END, \
         CASE WHEN FIND_IN_SET('update', c.privileges) > 0 THEN '' ELSE 'w' END) \
         FROM information_schema.columns AS c LEFT JOIN (SELECT i.table_name, i.column_name, \
         GROUP_CONCAT(CONCAT(i.seq_in_index, CASE WHEN i.index_name = 'PRIMARY' THEN 'p' \
         WHEN i.non_unique = 0 AND i.named = i.parts THEN 'u' ELSE '' END, ' ', i.index_name) SEPARATOR '\n') AS places \
         FROM (SELECT x.table_name, x.column_name, x.seq_in_index, x.index_name, x.non_unique, \
         COUNT(x.column_name) OVER (PARTITION BY x.table_name, x.index_name) AS named, \
         COUNT(*) OVER (PARTITION BY x.table_name, x.index_name) AS parts \
         FROM information_schema.statistics AS x WHERE x.table_schema = DATABASE() AND x.table_name IN (",
    );
    names(&mut sql);
    sql.push(
        ")) AS i GROUP BY i.table_name, i.column_name) AS s ON s.table_name = c.table_name AND s.column_name = c.column_name \
         JOIN information_schema.tables AS k ON k.table_name = c.table_name \
         LEFT JOIN information_schema.engines AS e ON e.engine = k.engine AND e.transactions = 'NO' \
         WHERE c.table_schema = DATABASE() AND c.table_name IN (",
    );
    names(&mut sql);
    // Said by itself: MariaDB opens all tables of all databases where it is to be concluded.
    sql.push(") AND k.table_schema = DATABASE() AND k.table_name IN (");
    names(&mut sql);
    sql.push(") ORDER BY c.table_name, c.ordinal_position");
    sql.done()
}

impl Catalogue for MysqlDialect {
    fn unreadable_charset<'a>(&self, column: &'a Column) -> Option<&'a str> {
        charset(column).filter(|charset| is_wide(charset))
    }

    fn rounds(&self, data_type: &str) -> bool {
        matches!(base_type(data_type).as_str(), "datetime" | "timestamp") && fraction(data_type).unwrap_or(0) < 6
    }

    fn columns(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&MysqlDialect);
        sql.push(
            "SELECT c.column_name, c.column_type, CASE WHEN COALESCE(c.generation_expression, '') = '' THEN 0 ELSE 1 END \
             FROM information_schema.columns AS c WHERE c.table_schema = ",
        );
        sql.push_text(place.schema).push(" AND c.table_name = ").push_text(place.table);
        sql.done()
    }

    fn catalogue(&self, tables: &[String]) -> Statement {
        statement(Sql::new(&MysqlDialect), tables)
    }

    fn create_index(&self, place: Place<'_>, index: &Index, _is_partitioned: bool) -> String {
        let name = self.quote(&format!("{}_{}", place.table, index.columns.join("_")));
        format!("CREATE INDEX {name} ON {} ({});", self.quote(place.table), self.index_columns(index))
    }

    fn definitions(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&MysqlDialect);
        sql.push(
            "SELECT c.table_name, c.column_name, CONCAT(c.column_type, \
             CASE WHEN c.collation_name IS NULL THEN '' ELSE CONCAT(' COLLATE ', c.collation_name) END) \
             FROM information_schema.columns AS c WHERE c.table_schema = ",
        );
        sql.push_text(schema).push(" AND c.table_name IN (").join(tables, ", ", |sql, t| {
            sql.push_text(t);
        });
        sql.push(") ORDER BY c.table_name, c.ordinal_position");
        sql.done()
    }

    fn redefine(&self, table: &str, column: &str, definition: &str) -> Option<String> {
        Some(format!("ALTER TABLE {table} MODIFY COLUMN {column} {definition} NULL"))
    }

    fn name_limit(&self) -> NameLimit {
        NameLimit::Characters(64)
    }

    fn new_table(&self) -> NewTable {
        NewTable { instant: "datetime(6)", word: "varchar(64) CHARACTER SET ascii", after: " ENGINE = InnoDB" }
    }
}
