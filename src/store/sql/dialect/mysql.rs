//! MySQL's and MariaDB's text. Collations there ignore case and trailing spaces: whatever must be exact is compared
//! as bytes, beside a comparison that an index serves.

mod batch;
mod catalogue;
mod charset;
mod conditional;
mod plan;
mod server_state;
mod types;

use super::{
    BatchColumns, BatchRow, Form, Place, TextExpression, ValueSort, WindowShape, epoch, like, literal, order_by,
};
use super::{Conditions, Expressions, Plans, Writes};
use crate::adapter::{Column, FieldKind};
use crate::db::Statement;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::window::rung;
use types::base_type;

pub(super) struct MysqlDialect;

const FIRST: &str = "0001-01-01 00:00:00";
const LAST: &str = "9999-12-31 23:59:59.999999";

/// A text expression such that comparing it with what is CAST AS BINARY compares bytes of UTF-8.
fn bytes(text: &TextExpression) -> String {
    match text.is_spoken {
        true => text.raw.clone(),
        // To convert and to copy takes longer than the comparison.
        false => format!("CAST(CONVERT({} USING utf8mb4) AS BINARY)", text.raw),
    }
}

/// Writes whether bytes hold pieces, each of them.
fn locate(sql: &mut Sql, bytes: &str, pieces: &[String]) {
    sql.join(pieces, " AND ", |sql, piece| {
        let place = sql.text(piece);
        sql.push(&format!("LOCATE(CAST({place} AS BINARY), {bytes}) > 0"));
    });
}

impl MysqlDialect {
    fn compare(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp, op: &str) {
        match kind {
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                let (first, last) = epoch::ends(kind);
                sql.push(&format!("{raw} BETWEEN {first} AND {last} AND {raw} {op} "));
                sql.push_int(epoch::epoch(kind, at, true))
            }
            _ => {
                let place = sql.text(&literal(at, FIRST, LAST));
                // A date with a zero in it is compared as any other, and is none.
                let is_instant = self.is_countable(raw, kind);
                sql.push(&format!("{raw} {op} CAST({place} AS DATETIME(6)) AND {is_instant}"))
            }
        };
    }
}

impl Expressions for MysqlDialect {
    fn quote(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn placeholder(&self, _n: usize) -> String {
        "?".to_owned()
    }

    fn whole_type(&self) -> &'static str {
        "SIGNED"
    }

    fn contract(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Text | FieldKind::Uuid | FieldKind::Json | FieldKind::Lines => {
                format!("CONVERT({raw} USING utf8mb4)")
            }
            FieldKind::Int => format!("CAST({raw} AS SIGNED)"),
            FieldKind::Natural => format!("CAST({raw} AS UNSIGNED)"),
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                epoch::countable(raw, kind, &format!("CAST({raw} AS SIGNED) * {}", epoch::unit(kind)))
            }
            FieldKind::Utc | FieldKind::Instant => format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', {raw})"),
        }
    }

    fn whole_text(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            // To convert bytes puts a question mark where they are no text.
            FieldKind::Text | FieldKind::Json | FieldKind::Lines => {
                format!(
                    "CASE WHEN CHARSET({raw}) = 'binary' THEN CAST({raw} AS BINARY) ELSE {} END",
                    self.contract(raw, kind)
                )
            }
            _ => self.contract(raw, kind),
        }
    }

    fn is_natural(&self, data_type: &str) -> bool {
        base_type(data_type) == "bigint" && data_type.to_ascii_lowercase().contains("unsigned")
    }

    fn is_padded(&self, data_type: &str) -> bool {
        data_type.to_ascii_lowercase().contains("zerofill")
    }

    fn position(&self, raw: &str, _kind: FieldKind) -> String {
        format!("CAST({raw} AS CHAR)")
    }

    fn cast(&self, place: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Natural => format!("CAST({place} AS UNSIGNED)"),
            FieldKind::Int | FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                format!("CAST({place} AS SIGNED)")
            }
            FieldKind::Utc | FieldKind::Instant => format!("CAST({place} AS DATETIME(6))"),
            _ => place.to_owned(),
        }
    }

    fn is_spoken(&self, column: &Column) -> bool {
        charset::is_spoken(column, &base_type(&column.data_type))
    }

    fn group(&self, text: &TextExpression) -> String {
        let converted = if text.is_spoken { text.raw.clone() } else { self.contract(&text.raw, FieldKind::Text) };
        // Not by its bytes: of those the server does not know how many there may be, and keeps the values in a file.
        format!("{converted} COLLATE utf8mb4_bin /*M! COLLATE utf8mb4_nopad_bin */")
    }

    fn group_key(&self, name: &str) -> String {
        // Values are the same to the collation that MySQL has where they differ in spaces at the end. MariaDB passes over what is
        // marked for the versions of MySQL that it has no part in.
        format!("{name} /*!50700 , LENGTH({name}) */")
    }

    fn concat(&self, texts: &[&str]) -> String {
        format!("CONCAT({})", texts.join(", "))
    }

    fn bucket(&self, raw: &str, kind: FieldKind, width: i64) -> String {
        if kind == FieldKind::Natural {
            return format!("CAST(FLOOR(LEAST({raw}, {}) / {width}) AS SIGNED)", i64::MAX);
        }
        format!("CAST(FLOOR(({}) / {width}) AS SIGNED)", self.contract(raw, kind))
    }

    fn hour(&self, raw: &str, kind: FieldKind) -> String {
        let utc = match kind {
            FieldKind::Utc | FieldKind::Instant => raw.to_owned(),
            kind => format!("TIMESTAMPADD(MICROSECOND, {}, '1970-01-01 00:00:00')", self.contract(raw, kind)),
        };
        format!("DATE_FORMAT({utc}, '%Y-%m-%dT%H')")
    }

    fn shown(&self, column: &Column) -> String {
        let value = format!("t.{}", self.quote(&column.name));
        // MySQL converts no vector to text, also where it is not asked to in the end.
        match base_type(&column.data_type).as_str() {
            "vector" => format!("HEX({value})"),
            _ => self.whole_text(&value, FieldKind::Text),
        }
    }
}

impl Conditions for MysqlDialect {
    fn at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        self.compare(sql, raw, kind, at, ">=");
    }

    fn earlier(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        self.compare(sql, raw, kind, at, "<");
    }

    fn one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) {
        sql.push("(");
        if text.is_spoken {
            conditional::push_words(sql, &text.raw, words);
        } else if self.may_be_one_of(sql, text, words) {
            sql.push(" AND ");
        }
        self.is_one_of(sql, text, words);
        sql.push(")");
    }

    fn is_one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) {
        sql.push(&format!("{} IN (", bytes(text))).join(words, ", ", |sql, w| {
            let place = sql.text(w);
            sql.push(&format!("CAST({place} AS BINARY)"));
        });
        sql.push(")");
    }

    fn may_be_one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) -> bool {
        // An index compares in the column's own character set: a word that has no place there, such as an emoji in latin1 or
        // utf8mb3, would be an error and not a value that no row has.
        let is_spelled = !text.is_spoken && words.iter().all(|w| w.is_ascii());
        if is_spelled {
            sql.push(&format!("{} IN (", text.raw)).join(words, ", ", |sql, w| {
                sql.push_text(w);
            });
            sql.push(")");
        }
        is_spelled
    }

    fn missing(&self, raw: &str) -> String {
        // Some characters weigh nothing in a collation: they alone would equal the empty text.
        format!("({raw} IS NULL OR LENGTH({raw}) = 0)")
    }

    fn keys_in(&self, sql: &mut Sql, raw: &str, kind: FieldKind, ids: &[String]) {
        // A list of values and not a derived table: an UPDATE with IN (SELECT …) reads the whole table. The last is
        // repeated up to a length that comes back, so that the statement is one that is prepared already.
        let padding = ids.last().into_iter().cycle().take(rung(ids.len()) - ids.len());
        let ids: Vec<&String> = ids.iter().chain(padding).collect();
        sql.push(&format!("{raw} IN (")).join(&ids, ", ", |sql, id| {
            let place = sql.text(id);
            let place = sql.dialect().cast(&place, batch::unsigned_if_large(kind, id));
            sql.push(&place);
        });
        sql.push(")");
    }

    fn glob(&self, sql: &mut Sql, text: &TextExpression, parts: &[String]) {
        let place = sql.text(&like(parts));
        sql.push(&format!("{} LIKE CAST({place} AS BINARY) ESCAPE '!'", bytes(text)));
    }

    fn contains(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        if text.is_spoken {
            // Goes through the text where it stands, which to look for a place in it copies.
            let around = [String::new()];
            return self.glob(sql, text, &[&around, pieces, &around].concat());
        }
        locate(sql, &bytes(text), pieces);
    }

    fn contains_ascii_fold(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        let raw = &text.raw;
        if text.is_spoken {
            conditional::push_pattern(sql, raw, pieces);
        }
        // Read as ASCII so that nothing else folds into it; whatever is not ASCII becomes a question mark there.
        let charset = if pieces.iter().any(|piece| piece.contains('?')) { "utf8mb4" } else { "ascii" };
        let pieces: Vec<String> = pieces.iter().map(|piece| piece.to_ascii_lowercase()).collect();
        locate(sql, &format!("CAST(LOWER(CONVERT({raw} USING {charset})) AS BINARY)"), &pieces);
    }

    fn beyond(&self, sql: &mut Sql, key: Option<(&str, String)>, id: (&str, String), descending: bool) {
        let op = if descending { "<" } else { ">" };
        match key {
            None => sql.push(&format!("{} {op} {}", id.0, id.1)),
            // A row comparison reads the whole index here; this form is a range.
            Some((key, value)) => {
                sql.push(&format!("({key} {op}= {value} AND ({key} {op} {value} OR {} {op} {}))", id.0, id.1))
            }
        };
    }

    fn beyond_repeats_key(&self) -> bool {
        true
    }

    fn window(&self, sql: &mut Sql, shape: &WindowShape<'_>, within: &mut dyn FnMut(&mut Sql)) {
        let WindowShape { table, key, by, descending, rows } = shape;
        // Numbered are only the rows that the limit left: a window function beside it would first number, in a
        // temporary table, everything that lies beyond the place.
        let names: Vec<String> = (0..by.len()).map(|i| format!("w{i}")).collect();
        let columns: Vec<String> = by.iter().zip(&names).map(|(expr, name)| format!(", {expr} AS {name}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        sql.push(&format!(
            "(SELECT wk, row_number() OVER (ORDER BY {}) AS rn FROM (SELECT t.{key} AS wk{} FROM {table} AS t WHERE ",
            order_by(&names, *descending),
            columns.concat(),
        ));
        within(sql);
        let order = shape.order();
        sql.push(&format!(" ORDER BY {order} LIMIT {rows}) AS v) AS w STRAIGHT_JOIN {table} AS t ON t.{key} = w.wk"));
    }
}

impl Plans for MysqlDialect {
    fn by_primary_key(&self) -> Option<&'static str> {
        // The planner does not see that a window is small, and any index would seem the better one.
        Some(" FORCE INDEX (PRIMARY)")
    }

    fn explain(&self, sql: &str) -> String {
        // One text. As a table, MySQL's plans have a column of fractions (`filtered`), which nothing else here reads.
        format!("EXPLAIN FORMAT=JSON {sql}")
    }

    fn rows_of(&self, plan: &str) -> Option<u64> {
        plan::rows_of(plan)
    }

    fn leads(&self, column: &Column) -> bool {
        // Bytes are told with what UTF-8 does not know left out, and in other character sets no index serves what is asked.
        let is_of = |set: &str| column.collation.as_deref().is_some_and(|collation| collation.starts_with(set));
        match base_type(&column.data_type).as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "uuid" => true,
            "char" | "varchar" => ["ascii", "utf8", "latin1"].into_iter().any(is_of),
            _ => false,
        }
    }

    fn rows(&self, place: Place<'_>) -> Option<Statement> {
        let mut sql = Sql::new(&MysqlDialect);
        sql.push("SELECT CAST(table_rows AS SIGNED) FROM information_schema.tables WHERE table_schema = ");
        sql.push_text(place.schema).push(" AND table_name = ").push_text(place.table);
        Some(sql.done())
    }
}

impl Writes for MysqlDialect {
    fn batch(&self, sql: &mut Sql, rows: &[BatchRow], kind: FieldKind, collation: Option<&str>, columns: BatchColumns) {
        batch::push(sql, rows, (kind, collation), columns);
    }

    fn lock_clause(&self, _: &str) -> String {
        " FOR UPDATE SKIP LOCKED".to_owned()
    }

    fn now(&self) -> &'static str {
        "UTC_TIMESTAMP(6)"
    }

    fn now_epoch(&self, kind: FieldKind) -> String {
        format!("({}) DIV {}", self.contract(self.now(), FieldKind::Instant), epoch::unit(kind))
    }

    fn now_utc(&self) -> &'static str {
        "UTC_TIMESTAMP(6)"
    }

    fn instant_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, _zoned: bool) -> String {
        match at {
            Some(at) => {
                let place = sql.text(&literal(at, FIRST, LAST));
                format!("CAST({place} AS DATETIME(6))")
            }
            None => self.now().to_owned(),
        }
    }

    fn snapshot_value(&self, column: &Column) -> (String, Form) {
        types::snapshot_value(column, &format!("t.{}", self.quote(&column.name)))
    }

    fn nulls(&self, columns: &[&Column]) -> Option<String> {
        // What does not fit max_allowed_packet is answered with NULL and a warning that nobody hears.
        let is_null = |column: &&Column| format!("t.{} IS NULL", self.quote(&column.name));
        Some(format!("CONCAT({})", columns.iter().map(is_null).collect::<Vec<_>>().join(", ")))
    }

    fn unkept(&self, sql: &mut Sql, sort: ValueSort, text: &str, data_type: &str) {
        match (sort, base_type(data_type).as_str()) {
            (ValueSort::Bytes | ValueSort::OddText, _) => sql.push("UNHEX(").push_text(text).push(")"),
            (_, "bit") => sql.push("CAST(").push_text(text).push(" AS UNSIGNED)"),
            _ => sql.push_text(text),
        };
    }

    fn column_value(&self, text: &str, data_type: &str) -> String {
        match base_type(data_type).as_str() {
            "json" => format!("CAST({text} AS JSON)"),
            _ => text.to_owned(),
        }
    }

    fn update_column(&self, table: &str, column: &str, value: &str, on: &str) -> String {
        // From the batch to its rows: in a small table the optimizer reads every row, and waits for those of others.
        format!("UPDATE {{batch}} STRAIGHT_JOIN {table} AS t ON {on} SET t.{column} = {value}")
    }

    fn is_grudged(&self, data_type: &str, text: &str) -> bool {
        // The value that an enumeration has in place of one that it does not know, unless the empty text is one that it does.
        let has_empty = ["('',", ",'',", ",'')", "('')"].iter().any(|word| data_type.contains(word));
        text.is_empty() && base_type(data_type) == "enum" && !has_empty
    }

    fn putting_back(&self, grudged: bool) -> &'static str {
        // Only MariaDB reads on behind this mark. The words beside ours: a date that no calendar has is as good as any.
        match grudged {
            false => {
                "/*M! SET STATEMENT sql_mode = 'PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,\
                 ALLOW_INVALID_DATES' FOR */ "
            }
            true => {
                "/*M! SET STATEMENT sql_mode = 'PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,\
                 ALLOW_INVALID_DATES' FOR */ "
            }
        }
    }

    fn delete_from(&self, table: &str) -> String {
        format!("DELETE t FROM {table} AS t")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_almost_the_same_length_are_the_same_statement() {
        let listed = |n: usize| {
            let ids: Vec<String> = (0..n).map(|id| id.to_string()).collect();
            let mut sql = Sql::new(&MysqlDialect);
            MysqlDialect.keys_in(&mut sql, "t.id", FieldKind::Int, &ids);
            sql.done()
        };
        assert_eq!(listed(33).sql, listed(40).sql);
        assert_ne!(listed(33).binds, listed(40).binds);
        assert_eq!(listed(33).binds.len(), 40);
        assert_eq!(listed(33).binds[32..], vec![listed(33).binds[32].clone(); 8]);
    }
}
