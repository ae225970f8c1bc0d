//! What values of a database are called in statements, and how they are read.

use crate::adapter::{Column, FieldKind};
use crate::store::sql::dialect::sql_builder::Sql;

/// A text expression over the dead-letter table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextExpression {
    pub(crate) raw: String,
    /// Whether it is stored in the character set that the connection speaks: then its bytes are compared as they stand.
    pub(crate) is_spoken: bool,
}

impl TextExpression {
    /// A text in a character set of its own.
    pub(crate) fn stored(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), is_spoken: false }
    }

    /// A contract column, or what is put together from some.
    pub(crate) fn spoken(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), is_spoken: true }
    }
}

/// How a database writes names, values and what is made of them.
pub(crate) trait Expressions: Sync {
    /// A quoted identifier.
    fn quote(&self, name: &str) -> String;

    /// The placeholder of the `n`-th value, from 1.
    fn placeholder(&self, n: usize) -> String;

    /// A whole-number placeholder with the type that it needs.
    fn integer_placeholder(&self, place: &str) -> String {
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

    /// As [`Expressions::contract`], where a text whose bytes are no text arrives as it is stored.
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
    fn group(&self, text: &TextExpression) -> String {
        text.raw.clone()
    }

    /// Whether what a kind of column holds sorts by the instants that it stands for.
    fn sorts_in_time(&self, _kind: FieldKind) -> bool {
        true
    }

    /// What such expressions are grouped by, once they have a name.
    fn group_key(&self, name: &str) -> String {
        name.to_owned()
    }

    /// The first `n` characters of a text expression.
    fn head(&self, raw: &str, n: usize) -> String {
        format!("left({raw}, {n})")
    }

    /// Texts, one behind the other.
    fn concat(&self, texts: &[&str]) -> String {
        texts.join(" || ")
    }

    /// The instant of a live-watch bucket, or a key's, as a whole number: `raw / width` rounded down.
    fn bucket(&self, raw: &str, kind: FieldKind, width: i64) -> String;

    /// A facet's expression over the instant of death: the hour in UTC as `2026-11-20T03`.
    fn hour(&self, raw: &str, kind: FieldKind) -> String;

    /// A column of `t` as text to be shown.
    fn shown(&self, column: &Column) -> String {
        self.whole_text(&format!("t.{}", self.quote(&column.name)), FieldKind::Text)
    }
}
