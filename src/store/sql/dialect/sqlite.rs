//! SQLite's text. Times are text in UTC (`2026-11-20 03:12:09.123456`, with or without `T`, zone or fraction) or
//! whole numbers.

mod row_number_chunks;

use std::time::Duration;

use super::batch::batch_json;
use super::{
    BatchColumns, BatchRow, Form, NameLimit, NewTable, Place, ServerState, TextExpression, ValueSort, WindowShape,
    epoch, literal,
};
use super::{Catalogue, Conditions, Expressions, Plans, Writes};
use crate::adapter::{Column, FieldKind, Index};
use crate::db::{Bind, CHANGES, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;

pub(super) struct SqliteDialect;

/// Microseconds of an instant that is written as text. Whole seconds and the fraction are read apart, because the
/// built-in functions round to milliseconds.
///
/// Those functions read more than dates: `now` would be another instant at each look, a time of day one of the year 2000,
/// a number a Julian day, and the 30th of February a day in March. Only a date that they write as it stands is one.
fn micros(raw: &str) -> String {
    let zone = format!(
        "CASE WHEN length({raw}) > 19 AND substr({raw}, -6, 1) IN ('+', '-') THEN substr({raw}, -6) ELSE '' END"
    );
    let fraction = format!(
        "CASE WHEN substr({raw}, 20, 1) = '.' THEN CAST(substr(CAST(CAST('1' || substr({raw}, 21, 6) AS INTEGER) AS TEXT) \
         || '000000', 2, 6) AS INTEGER) ELSE 0 END"
    );
    let instant = format!("(unixepoch(substr({raw}, 1, 19) || {zone}) * 1000000 + {fraction})");
    format!("CASE WHEN {} THEN {instant} END", is_date(raw))
}

fn is_date(raw: &str) -> String {
    format!("date(substr({raw}, 1, 10)) = substr({raw}, 1, 10)")
}

/// Writes whether a time may lie beyond an edge, by its text alone and to the second. Only what is written to the second, without
/// a zone and by the clock, is turned down: all else that is read as an instant may be another than its text looks like.
fn maybe_beyond(sql: &mut Sql, raw: &str, op: &str, edge: Timestamp) {
    let edge = literal(edge, "0001-01-01 00:00:00", "9999-12-31 99:99:99");
    let [spaced, joined] = [" ", "T"].map(|mark| edge.get(..19).unwrap_or(&edge).replacen(' ', mark, 1));
    // The first holds for nearly all that pass: what is written the one way sorts before what is written the other.
    let (surely, maybe, other) = if op == "<" { (spaced, joined, ' ') } else { (joined, spaced, 'T') };
    sql.push(&format!("({raw} {op} ")).push_text(&surely).push(&format!(" OR ({raw} {op} ")).push_text(&maybe);
    sql.push(&format!(
        " AND substr({raw}, 11, 1) <> '{other}') OR substr({raw}, -6, 1) IN ('+', '-') \
         OR {raw} NOT GLOB '????-??-??[ T]??:??:*' OR substr({raw}, 12, 2) = '24')"
    ));
}

/// A real from whole numbers and powers of two, which are exact: SQLite's reading of decimals is not, at the ends of the
/// range.
fn real(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "9e999" } else { "-9e999" }.to_owned();
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let mut text = format!("CAST({sign}{mantissa} AS REAL)");
    let power = exponent.max(1) - 1075;
    let op = if power < 0 { '/' } else { '*' };
    let mut left = power.unsigned_abs();
    while left > 0 {
        let step = left.min(62);
        text.push_str(&format!(" {op} CAST(1 << {step} AS REAL)"));
        left -= step;
    }
    text
}

fn escape_glob(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '*' | '?' | '[' => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    out
}

impl SqliteDialect {
    /// A comparison of instants: exact on the microseconds, with a bound on the text that an index serves.
    fn compare(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp, later: bool) {
        let op = if later { ">=" } else { "<" };
        match kind {
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                // Text is greater than every number.
                let (first, last) = epoch::ends(kind);
                sql.push(&format!("{raw} BETWEEN {first} AND {last} AND {raw} {op} "));
                sql.push_int(epoch::epoch(kind, at, true));
            }
            _ => {
                // Zones move what is written by less than this. Of one date all with a space sort before all with a `T`, so that
                // the bound is one that neither is wrongly beyond.
                const ZONE: Duration = Duration::from_secs(15 * 3_600);
                let bound = if later { at.before(ZONE) } else { at.after(ZONE) };
                let bound = literal(bound, "0001-01-01", "9999-12-31T99");
                let bound = if later { bound } else { bound.replacen(' ', "T", 1) };
                sql.push(&format!("({raw} {op} ")).push_text(&bound);
                sql.push(&format!(" AND {} {op} ", micros(raw))).push_int(at.0).push(")");
            }
        }
    }
}

impl Expressions for SqliteDialect {
    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn placeholder(&self, _n: usize) -> String {
        "?".to_owned()
    }

    fn holds_its_type(&self) -> bool {
        false
    }

    fn whole_type(&self) -> &'static str {
        "INTEGER"
    }

    fn contract(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Text | FieldKind::Uuid | FieldKind::Json | FieldKind::Lines => format!("CAST({raw} AS TEXT)"),
            FieldKind::Int | FieldKind::Natural => format!("CAST({raw} AS INTEGER)"),
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                epoch::countable(raw, kind, &format!("CAST({raw} AS INTEGER) * {}", epoch::unit(kind)))
            }
            FieldKind::Utc | FieldKind::Instant => micros(raw),
        }
    }

    fn json_text(&self, raw: &str) -> String {
        // JSONB is a blob, which functions of JSON read and nobody else.
        format!("CASE WHEN typeof({raw}) = 'blob' AND json_valid({raw}, 8) THEN json({raw}) ELSE {raw} END")
    }

    fn is_countable(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Utc | FieldKind::Instant => is_date(raw),
            _ => format!("{} IS NOT NULL", self.contract(raw, kind)),
        }
    }

    fn position(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            // Columns of any type take fractions, and as text these lose digits: rows would be passed over.
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                format!("CASE typeof({raw}) WHEN 'real' THEN printf('%!.17g', {raw}) ELSE CAST({raw} AS TEXT) END")
            }
            _ => format!("CAST({raw} AS TEXT)"),
        }
    }

    fn cast(&self, place: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Int | FieldKind::Natural => format!("CAST({place} AS INTEGER)"),
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => format!("CAST({place} AS NUMERIC)"),
            _ => place.to_owned(),
        }
    }

    fn head(&self, raw: &str, n: usize) -> String {
        format!("substr({raw}, 1, {n})")
    }

    fn bucket(&self, raw: &str, kind: FieldKind, width: i64) -> String {
        // Integer division rounds towards zero; instants before 1970 and negative keys only share a bucket.
        format!("({}) / {width}", self.contract(raw, kind))
    }

    fn hour(&self, raw: &str, kind: FieldKind) -> String {
        format!("strftime('%Y-%m-%dT%H', ({}) / 1000000, 'unixepoch')", self.contract(raw, kind))
    }

    fn sorts_in_time(&self, kind: FieldKind) -> bool {
        // Of one day what is written with a `T` sorts behind what is not, and zones count for nothing.
        !matches!(kind, FieldKind::Utc | FieldKind::Instant)
    }
}

impl Conditions for SqliteDialect {
    fn at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        self.compare(sql, raw, kind, at, true);
    }

    fn earlier(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        self.compare(sql, raw, kind, at, false);
    }

    fn roughly(&self, sql: &mut Sql, raw: &str, kind: FieldKind, from: Option<Timestamp>, to: Option<Timestamp>) {
        const SECOND: Duration = Duration::from_secs(1);
        if kind.is_epoch() {
            return;
        }
        // A fraction makes a time later than its second, and never earlier.
        for (op, edge) in [(">=", from), ("<", to.map(|at| at.after(SECOND)))] {
            if let Some(edge) = edge {
                maybe_beyond(sql, raw, op, edge);
                sql.push(" AND ");
            }
        }
    }

    fn one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) {
        sql.push(&format!("{} COLLATE BINARY IN (", text.raw)).join(words, ", ", |sql, w| {
            sql.push_text(w);
        });
        sql.push(")");
    }

    fn likely(&self, sql: &mut Sql, condition: &dyn Fn(&mut Sql)) {
        // Without statistics any index on what is compared counts as a good one, and all that it has would be sorted for a page.
        sql.push("likelihood(");
        condition(sql);
        sql.push(", 0.95)");
    }

    fn keys_in(&self, sql: &mut Sql, raw: &str, kind: FieldKind, ids: &[String]) {
        let place = sql.bind(Bind::Texts(ids.iter().cloned().map(Some).collect()));
        let value = self.cast("value", kind);
        sql.push(&format!("{raw} IN (SELECT {value} FROM json_each({place}))"));
    }

    fn glob(&self, sql: &mut Sql, text: &TextExpression, parts: &[String]) {
        let pattern: Vec<String> = parts.iter().map(|p| escape_glob(p)).collect();
        sql.push(&format!("{} GLOB ", text.raw)).push_text(&pattern.join("*"));
    }

    fn contains(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        sql.join(pieces, " AND ", |sql, piece| {
            sql.push(&format!("instr({}, ", text.raw)).push_text(piece).push(") > 0");
        });
    }

    fn contains_ascii_fold(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        let pieces: Vec<String> = pieces.iter().map(|piece| piece.to_ascii_lowercase()).collect();
        self.contains(sql, &TextExpression::stored(format!("lower({})", text.raw)), &pieces);
    }

    fn window(&self, sql: &mut Sql, shape: &WindowShape<'_>, within: &mut dyn FnMut(&mut Sql)) {
        let WindowShape { table, key, rows, .. } = shape;
        let order = shape.order();
        sql.push(&format!(
            "(SELECT t.{key} AS wk, row_number() OVER (ORDER BY {order}) AS rn FROM {table} AS t WHERE "
        ));
        within(sql);
        sql.push(&format!(" ORDER BY {order} LIMIT {rows}) AS w CROSS JOIN {table} AS t ON t.{key} = w.wk"));
    }
}

impl Plans for SqliteDialect {
    fn explain(&self, sql: &str) -> String {
        format!("EXPLAIN QUERY PLAN {sql}")
    }

    fn cost_of(&self, plan: &str) -> Option<u64> {
        row_number_chunks::cost_of(plan)
    }

    fn blocks(&self, place: Place<'_>) -> Option<Statement> {
        Some(row_number_chunks::blocks(place))
    }

    fn in_blocks(&self, sql: &mut Sql, from: u64, to: u64) {
        row_number_chunks::in_blocks(sql, from, to);
    }
}

impl Catalogue for SqliteDialect {
    fn columns(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        sql.push("SELECT c.name, c.type, CASE WHEN c.hidden IN (2, 3) THEN 1 ELSE 0 END FROM pragma_table_xinfo(");
        sql.push_text(place.table).push(", ").push_text(place.schema).push(") AS c");
        sql.done()
    }

    fn catalogue(&self, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        sql.push(
            "SELECT 'main', m.name, c.name, c.type, CASE WHEN c.\"notnull\" = 1 OR c.pk > 0 THEN 0 ELSE 1 END, NULL, NULL, \
             (SELECT group_concat(l.place, char(10)) FROM (\
             SELECT (p.seqno + 1) || CASE WHEN i.\"unique\" = 0 OR i.partial = 1 OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) \
             AS e WHERE e.name IS NULL) THEN '' WHEN i.origin = 'pk' THEN 'p' ELSE 'u' END || ' ' || i.name AS place \
             FROM pragma_index_list(m.name) AS i, pragma_index_info(i.name) AS p WHERE p.name = c.name \
             UNION ALL SELECT '1p ' WHERE c.pk = 1 AND NOT EXISTS \
             (SELECT 1 FROM pragma_index_list(m.name) AS i WHERE i.origin = 'pk')) AS l), NULL, NULL, m.type = 'view', NULL \
             FROM main.sqlite_master AS m, pragma_table_info(m.name) AS c \
             WHERE m.type IN ('table', 'view') AND m.name IN (SELECT value FROM json_each(",
        );
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place})) ORDER BY m.name, c.cid"));
        sql.done()
    }

    fn create_index(&self, place: Place<'_>, index: &Index, _is_partitioned: bool) -> String {
        let name = self.quote(&format!("{}_{}", place.table, index.columns.join("_")));
        let only = index.only.as_ref().map_or(String::new(), |only| format!(" WHERE {only}"));
        format!("CREATE INDEX {name} ON {} ({}){only};", self.quote(place.table), self.index_columns(index))
    }

    fn definitions(&self, _schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&SqliteDialect);
        // A column of a strict table may hold anything; elsewhere that type would turn text into numbers.
        sql.push(
            "SELECT m.name, c.name, CASE WHEN upper(c.type) = 'ANY' THEN '' ELSE c.type END \
             FROM main.sqlite_master AS m, pragma_table_info(m.name) AS c \
             WHERE m.type IN ('table', 'view') AND m.name IN (SELECT value FROM json_each(",
        );
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place})) ORDER BY m.name, c.cid"));
        sql.done()
    }

    fn redefine(&self, _table: &str, _column: &str, _definition: &str) -> Option<String> {
        None
    }

    fn name_limit(&self) -> NameLimit {
        NameLimit::None
    }

    fn new_table(&self) -> NewTable {
        NewTable { instant: "text", word: "text", after: "" }
    }
}

impl Writes for SqliteDialect {
    fn batch(
        &self,
        sql: &mut Sql,
        rows: &[BatchRow],
        kind: FieldKind,
        _collation: Option<&str>,
        columns: BatchColumns,
    ) {
        let place = sql.text(&batch_json(rows, columns));
        let id = self.cast("value->>'$[0]'", kind);
        let mut shown = format!("{id} AS id");
        if columns.new_id {
            shown += ", value->>'$[1]' AS new_id";
        }
        if columns.message {
            shown += ", value->>'$[2]' AS message";
        }
        if columns.scope {
            shown += ", value->>'$[6]' AS scope";
        }
        if columns.run_after {
            // A number where the column counts.
            shown += ", value->>'$[3]' AS run_after";
        }
        if columns.kept {
            shown += ", value->>'$[4]' AS kept";
        }
        if let Some(kind) = columns.live {
            shown += &format!(", {} AS live", self.cast("value->>'$[5]'", kind));
        }
        sql.push(&format!("(SELECT {shown} FROM json_each({place})) AS b"));
    }

    fn lock_clause(&self, _: &str) -> String {
        // The whole database is locked since BEGIN IMMEDIATE.
        String::new()
    }

    fn now(&self) -> &'static str {
        "strftime('%Y-%m-%d %H:%M:%f000', 'now')"
    }

    fn now_utc(&self) -> &'static str {
        self.now()
    }

    fn instant_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, _zoned: bool) -> String {
        match at {
            Some(at) => sql.text(&literal(at, "0001-01-01 00:00:00", "9999-12-31 23:59:59")),
            None => self.now().to_owned(),
        }
    }

    fn snapshot_value(&self, column: &Column) -> (String, Form) {
        // Types are those of the values. Text may hold anything, and a real loses digits where SQLite writes it out.
        let v = format!("t.{}", self.quote(&column.name));
        let tagged = format!(
            "CASE typeof({v}) WHEN 'text' THEN 't' || hex({v}) WHEN 'blob' THEN 'b' || hex({v}) \
             WHEN 'integer' THEN 'i' || {v} WHEN 'real' THEN {v} END"
        );
        (tagged, Form::Tagged)
    }

    fn unkept(&self, sql: &mut Sql, sort: ValueSort, text: &str, _data_type: &str) {
        match sort {
            ValueSort::Text => sql.push_text(text),
            ValueSort::OddText => sql.push("CAST(unhex(").push_text(text).push(") AS TEXT)"),
            ValueSort::Bytes => sql.push("unhex(").push_text(text).push(")"),
            ValueSort::Int => sql.push("CAST(").push_text(text).push(" AS INTEGER)"),
            ValueSort::Real => sql.push(&real(text.parse().unwrap_or_default())),
        };
    }
}

impl ServerState for SqliteDialect {
    fn clock(&self) -> &'static str {
        "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"
    }

    fn change_token(&self, _is_first: bool) -> Option<&'static str> {
        Some(CHANGES)
    }

    fn token_connection<'a>(&self, token: &'a str) -> Option<&'a str> {
        token.split_once(' ').map(|(connection, _)| connection)
    }
}
