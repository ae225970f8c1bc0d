//! What the databases say differently, as text: the only place where they differ. `raw` is always an SQL expression over the
//! dead-letter table `t`: a quoted column or what an adapter states. Comparisons use it as it stands, so that indexes serve.

mod batch;
pub(crate) mod catalogue;
mod change_token;
mod epoch;
mod literals;
mod locks;
mod mysql;
mod physical_storage;
mod postgres;
mod row_number_chunks;
pub(crate) mod sql_builder;
mod sqlite;
mod table;
mod text;
mod value_form;
pub(crate) mod window;

use crate::adapter::{Column, FieldKind, Index};
use crate::db::{Bind, Dialect, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
pub(crate) use batch::{BatchColumns, BatchRow};
pub(crate) use catalogue::index_columns::{IndexPlace, Unique};
pub(crate) use change_token::Signs;
use literals::{fraction, like, literal};
pub(crate) use locks::Locks;
pub(crate) use table::{NameLimit, NewTable, Place};
pub(crate) use text::Text;
pub(crate) use value_form::{Form, INEXACT, Sort};
pub(crate) use window::{WindowShape, order_by};

/// The speech of a database.
pub(crate) fn speech(dialect: Dialect) -> &'static dyn Speech {
    match dialect {
        Dialect::Postgres => &postgres::Postgres,
        Dialect::Mysql => &mysql::Mysql,
        Dialect::Sqlite => &sqlite::Sqlite,
    }
}

/// The text of one database.
pub(crate) trait Speech: Signs {
    /// A quoted identifier.
    fn quote(&self, name: &str) -> String;

    /// The placeholder of the `n`-th value, from 1.
    fn placeholder(&self, n: usize) -> String;

    /// A whole-number placeholder with the type that it needs.
    fn whole(&self, place: &str) -> String {
        place.to_owned()
    }

    /// The type of whole numbers in a CAST.
    fn whole_type(&self) -> &'static str {
        "bigint"
    }

    /// An expression as a contract column: text, or a whole number; instants as microseconds since 1970.
    fn contract(&self, raw: &str, kind: FieldKind) -> String;

    /// Whether a value has a number as a contract column: a time may be none that the calendar has, or infinite.
    fn is_countable(&self, raw: &str, kind: FieldKind) -> String {
        format!("{} IS NOT NULL", self.contract(raw, kind))
    }

    /// As [`Speech::contract`], where a text whose bytes are no text arrives as it is stored.
    fn whole_text(&self, raw: &str, kind: FieldKind) -> String {
        self.contract(raw, kind)
    }

    /// An expression of JSON as text, where the database may store it in another form.
    fn json_text(&self, raw: &str) -> String {
        raw.to_owned()
    }

    /// Whether a column of this type is compared with text as it stands; else it is cast first.
    fn is_text(&self, _data_type: &str) -> bool {
        true
    }

    /// Whether a column holds what its type says, and nothing else.
    fn holds_its_type(&self) -> bool {
        true
    }

    /// Whether dates in columns of text compare with times as they stand.
    fn reads_dates_in_text(&self) -> bool {
        true
    }

    /// Whether a column is text in the character set that the connection speaks.
    fn is_spoken(&self, _column: &Column) -> bool {
        false
    }

    /// Whether a column of this type holds whole numbers beyond the largest that has a sign.
    fn is_natural(&self, _data_type: &str) -> bool {
        false
    }

    /// Whether numbers of a column of this type are written with zeros before them.
    fn is_padded(&self, _data_type: &str) -> bool {
        false
    }

    /// An expression as the text by which a later statement finds its place again.
    fn position(&self, raw: &str, kind: FieldKind) -> String;

    /// What `position` printed of a row, as a value that others are compared with.
    fn placed(&self, sql: &mut Sql, position: &str, kind: FieldKind) -> String {
        let place = sql.text(position);
        self.cast(&place, kind)
    }

    /// A text placeholder cast to what `kind` is compared with.
    fn cast(&self, place: &str, kind: FieldKind) -> String;

    /// A text expression as values are told apart by in a GROUP BY: exactly.
    fn group(&self, text: &Text) -> String {
        text.raw.clone()
    }

    /// Whether what a kind of column holds sorts by the instants that it stands for.
    fn sorts_in_time(&self, _kind: FieldKind) -> bool {
        true
    }

    /// What such expressions are grouped by, once they have a name.
    fn told_apart(&self, name: &str) -> String {
        name.to_owned()
    }

    /// The first `n` characters of a text expression.
    fn head(&self, raw: &str, n: usize) -> String {
        format!("left({raw}, {n})")
    }

    /// `raw >= instant`.
    fn at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp);

    /// `raw < instant`.
    fn earlier(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp);

    /// Whether `raw >= instant` does not hold: it is earlier, or there is none.
    fn not_at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        sql.push("(");
        self.at_or_after(sql, raw, kind, at);
        sql.push(") IS NOT TRUE");
    }

    /// Writes conditions that cost little, each before an AND: they hold for every time that [`Speech::at_or_after`] and
    /// [`Speech::earlier`] let through, and for some beyond. None where telling exactly costs as little.
    fn roughly(&self, _sql: &mut Sql, _raw: &str, _kind: FieldKind, _from: Option<Timestamp>, _to: Option<Timestamp>) {}

    /// Whether a text expression is one of these words, exactly, as an index can serve it.
    fn one_of(&self, sql: &mut Sql, text: &Text, words: &[String]);

    /// Writes that a text expression may be one of these words, as an index can serve it, where to tell exactly costs more than
    /// that; whether it wrote anything.
    fn may_be_one_of(&self, _sql: &mut Sql, _text: &Text, _words: &[String]) -> bool {
        false
    }

    /// The same condition as [`Speech::one_of`], for rows that meet [`Speech::may_be_one_of`] already.
    fn is_one_of(&self, sql: &mut Sql, text: &Text, words: &[String]) {
        self.one_of(sql, text, words);
    }

    /// Writes a condition that most rows meet, so that no index is taken for it alone.
    fn likely(&self, sql: &mut Sql, condition: &dyn Fn(&mut Sql)) {
        condition(sql);
    }

    /// Whether a text expression is NULL or empty.
    fn missing(&self, raw: &str) -> String {
        format!("({raw} IS NULL OR {raw} = '')")
    }

    /// Whether the primary key is one of these.
    fn keys_in(&self, sql: &mut Sql, raw: &str, kind: FieldKind, ids: &[String]);

    /// Whether two columns, the latter the key, are one of these pairs.
    fn pairs_in(&self, sql: &mut Sql, scope: &str, (key, kind): (&str, FieldKind), pairs: &[(String, String)]) {
        sql.push("(").join(pairs, " OR ", |sql, (within, id)| {
            sql.push("(");
            self.one_of(sql, &Text::stored(scope), std::slice::from_ref(within));
            sql.push(" AND ");
            self.keys_in(sql, key, kind, std::slice::from_ref(id));
            sql.push(")");
        });
        sql.push(if pairs.is_empty() { "1 = 0)" } else { ")" });
    }

    /// Texts, one behind the other.
    fn concat(&self, texts: &[&str]) -> String {
        texts.join(" || ")
    }

    /// Whether a text expression is made of the parts with anything between them, exactly.
    fn glob(&self, sql: &mut Sql, text: &Text, parts: &[String]);

    /// Whether a text expression contains pieces, exactly: each behind the one before, where that can be asked at once.
    fn contains(&self, sql: &mut Sql, text: &Text, pieces: &[String]);

    /// The same of ASCII pieces, whatever the case of ASCII letters.
    fn contains_ascii_fold(&self, sql: &mut Sql, text: &Text, pieces: &[String]);

    /// A condition that every column of JSON meets with such a value in such a member; `None` where it cannot be asked.
    fn has_member(&self, _sql: &mut Sql, _column: (&str, &str), _member: (&str, &str)) -> Option<String> {
        None
    }

    /// Whether `(key, id)` lies beyond a place, in either direction; `key` is absent where the primary key orders.
    fn beyond(&self, sql: &mut Sql, key: Option<(&str, String)>, id: (&str, String), descending: bool) {
        let op = if descending { "<" } else { ">" };
        match key {
            None => sql.push(&format!("{} {op} {}", id.0, id.1)),
            Some(key) => sql.push(&format!("({}, {}) {op} ({}, {})", key.0, id.0, key.1, id.1)),
        };
    }

    /// What writers lock.
    fn locks(&self) -> Locks {
        Locks::All
    }

    /// Whether `beyond` names the key's placeholder twice.
    fn beyond_repeats_key(&self) -> bool {
        false
    }

    /// A window of rows, `n` in order, as a row source `t` with the column `rn` counting them.
    ///
    /// `order` orders them, `within` writes the condition under which rows count.
    fn window(&self, sql: &mut Sql, shape: &WindowShape<'_>, within: &mut dyn FnMut(&mut Sql));

    /// The instant of a live-watch bucket, or a key's, as a whole number: `raw / width` rounded down.
    fn bucket(&self, raw: &str, kind: FieldKind, width: i64) -> String;

    /// A facet's expression over the instant of death: the hour in UTC as `2026-11-20T03`.
    fn hour(&self, raw: &str, kind: FieldKind) -> String;

    /// A row source `b(id, …)` with a row for each job; `key` is the column it is joined with.
    fn batch(&self, sql: &mut Sql, rows: &[BatchRow], kind: FieldKind, collation: Option<&str>, columns: BatchColumns);

    /// The lock clause of a SELECT that picks rows of the table that it calls `alias`, and locks no row of another.
    fn lock_clause(&self, alias: &str) -> String;

    /// The present instant.
    fn now(&self) -> &'static str;

    /// The present instant for a column without zone.
    fn now_utc(&self) -> &'static str;

    /// The present instant as a count since 1970.
    fn now_epoch(&self, kind: FieldKind) -> String {
        format!("({}) / {}", self.contract(self.now(), FieldKind::Instant), epoch::unit(kind))
    }

    /// An instant that is given, or now, as a count since 1970.
    fn epoch_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, kind: FieldKind) -> String {
        match at {
            Some(at) => self.whole(&sql.bind(Bind::Int(Some(epoch::epoch(kind, at, false))))),
            None => self.now_epoch(kind),
        }
    }

    /// An instant that is given, or now.
    fn instant_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, zoned: bool) -> String;

    /// The character set of a column in which the database's own JSON functions are wrong.
    fn misread<'a>(&self, _column: &'a Column) -> Option<&'a str> {
        None
    }

    /// The value of a column of `t` as a contract column from which it can be had back exactly.
    fn kept(&self, column: &Column) -> (String, Form);

    /// A column of `t` as text to be shown.
    fn shown(&self, column: &Column) -> String {
        self.whole_text(&format!("t.{}", self.quote(&column.name)), FieldKind::Text)
    }

    /// Which of these columns of `t` are NULL, as a text of 0 and 1; `None` where a value that cannot be written out is an
    /// error, and not NULL.
    fn nulls(&self, _columns: &[&Column]) -> Option<String> {
        None
    }

    /// Binds the text of a kept value and pushes it as the value of a column of this type.
    fn unkept(&self, sql: &mut Sql, sort: Sort, text: &str, data_type: &str);

    /// Whether a column of this type can hold this text, and does not take it from anybody who is careful.
    fn is_grudged(&self, _data_type: &str, _text: &str) -> bool {
        false
    }

    /// What stands before an INSERT that puts kept rows back; some of their values are grudged, or none.
    fn putting_back(&self, _grudged: bool) -> &'static str {
        ""
    }

    /// The columns of a table: name, type as [`Speech::unkept`] takes it, and whether the database makes the value (0 or 1).
    fn columns(&self, place: Place<'_>) -> Statement;

    /// Whether a column of this type keeps less of an instant than its microseconds.
    fn rounds(&self, _data_type: &str) -> bool {
        false
    }

    /// What stands between the columns and the values of an INSERT that gives every column its value.
    fn overriding(&self) -> &'static str {
        ""
    }

    /// Whether each question takes a way to a server, so that one within another spares it.
    fn is_far(&self) -> bool {
        true
    }

    /// Tables and columns: `schema, table, column, type, nullable (0 or 1), collation`, and the table's storage engine where
    /// that has no transactions; the column's places in indexes, for [`Speech::places`]; the role, where row-level security
    /// keeps rows of the table from it; whether the table is partitioned (1) or others may inherit from it (2); whether it is a view
    /// (1), stands on another server (2), or with a storage engine that has a log of its own (3); and what the role may not do, as [`privileges`] reads it. The columns of a table in order of position.
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

    /// Deletes from a table that is known as `t`; what follows is ` WHERE …`.
    fn delete_from(&self, table: &str) -> String {
        format!("DELETE FROM {table} AS t")
    }

    /// How long the name of a table may be.
    fn longest_name(&self) -> NameLimit;

    /// The types of an instant and of a short text in ASCII, and what follows the columns of a new table.
    fn new_table(&self) -> NewTable;

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
