//! What the values of a column are, by its type and by those that were seen.

use std::collections::BTreeSet;

use super::Sample;
use crate::adapter::table_match::Column;
use crate::adapter::{FieldKind, Times};
use crate::domain::json::Document;

/// Words that a column may hold to be taken for one of a few.
const FEW: usize = 12;

impl Sample {
    pub(super) fn values<'a>(&'a self, column: &Column) -> impl Iterator<Item = &'a str> {
        let place = self.columns.columns.iter().position(|c| c.name == column.name);
        self.rows.iter().filter_map(move |row| row.get(place?)?.as_deref())
    }

    pub(super) fn time(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let first = self.values(column).next();
        if let Times::Epoch(kind) = Times::of(column, self.values(column)) {
            return match kind {
                FieldKind::EpochS => Some("epoch_s"),
                FieldKind::EpochMs => Some("epoch_ms"),
                FieldKind::EpochUs => Some("epoch_us"),
                _ => None,
            };
        }
        if data_type.contains("with time zone") || data_type == "timestamptz" {
            return Some("instant");
        }
        if data_type.contains("timestamp") || data_type.contains("datetime") || data_type == "date" {
            return Some("utc");
        }
        let looks = first
            .is_some_and(|v| v.len() >= 10 && v.as_bytes().get(4) == Some(&b'-') && v.as_bytes().get(7) == Some(&b'-'));
        let called =
            || ["_at", "_on", "_time", "timestamp"].iter().any(|end| column.name.to_ascii_lowercase().ends_with(end));
        (self.text(column).is_some() && (looks || first.is_none() && called())).then_some("utc")
    }

    pub(super) fn text(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let words = ["char", "text", "clob", "enum", "string"];
        (words.iter().any(|w| data_type.contains(w)) || data_type.is_empty()).then_some("text")
    }

    pub(super) fn integer_kind(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        (data_type.contains("int") || data_type.contains("serial")).then_some("int")
    }

    pub(super) fn uuid(&self, column: &Column) -> Option<&'static str> {
        column.data_type.to_ascii_lowercase().contains("uuid").then_some("uuid")
    }

    /// JSON by its type, or text of which every value seen is a JSON object or array.
    pub(super) fn json(&self, column: &Column) -> Option<&'static str> {
        let document = |v: &str| v.trim_start().starts_with(['{', '[']) && Document::parse(v).is_ok();
        let by_type = column.data_type.to_ascii_lowercase().contains("json");
        let by_value =
            || self.text(column).is_some() && self.values(column).next().is_some() && self.values(column).all(document);
        (by_type || by_value()).then_some("json")
    }

    /// A number that need not be whole.
    pub(super) fn number(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let words = ["numeric", "decimal", "real", "double", "float", "number"];
        (self.integer_kind(column).is_some() || words.iter().any(|w| data_type.contains(w))).then_some("int")
    }

    /// Yes or no, as the database spells it.
    pub(super) fn is_boolean(&self, column: &Column) -> bool {
        let data_type = column.data_type.to_ascii_lowercase();
        data_type.starts_with("bool") || data_type.starts_with("tinyint(1)") || data_type.starts_with("bit")
    }

    /// What can tell rows apart.
    pub(super) fn identifies(&self, column: &Column) -> Option<&'static str> {
        self.integer_kind(column).or(self.uuid(column)).or(self.text(column))
    }

    /// The few values of a column, whatever its type.
    pub(super) fn few(&self, column: &Column) -> Option<BTreeSet<&str>> {
        let words: BTreeSet<&str> = self.values(column).collect();
        let plain = |w: &&str| !w.is_empty() && w.len() < 40 && !w.contains(char::is_whitespace);
        (!words.is_empty() && words.len() <= FEW && words.iter().all(plain)).then_some(words)
    }

    /// The words of a column that holds few.
    pub(super) fn words(&self, column: &Column) -> Option<BTreeSet<&str>> {
        self.few(column).filter(|_| self.integer_kind(column).is_none() && !self.is_boolean(column))
    }

    /// A column as SQL names it.
    pub(super) fn named(&self, column: &Column) -> String {
        let name = &column.name;
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        let plain = starts && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        match self.dialect.as_str() {
            _ if plain => format!("t.{name}"),
            "mysql" => format!("t.`{}`", name.replace('`', "``")),
            _ => format!("t.\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A column as another type: its names in PostgreSQL, MySQL and SQLite.
    pub(super) fn cast(&self, column: &Column, [postgres, mysql, sqlite]: [&str; 3]) -> String {
        let t = self.named(column);
        match self.dialect.as_str() {
            "postgres" => format!("{t}::{postgres}"),
            "mysql" => format!("CAST({t} AS {mysql})"),
            _ => format!("CAST({t} AS {sqlite})"),
        }
    }
}
