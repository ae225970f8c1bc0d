//! A first draft of an adapter file for a table that nobody has described: each field is guessed by the name, the type and
//! some values of its columns, and the file says why. What cannot be guessed is left to be written.

mod draft;
mod names;

use std::collections::BTreeSet;

use super::fit::{Column, Table};
use crate::domain::json::Document;
use names::*;

/// What a draft is made from.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The word of the database.
    pub dialect: String,
    /// The table's name.
    pub table: String,
    /// Its columns and indexes.
    pub columns: Table,
    /// Some rows, as texts in the order of the columns.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A field that was recognised.
struct Guess<'a> {
    column: &'a Column,
    kind: &'static str,
    why: String,
}

/// Words that a column may hold to be taken for a state.
const FEW: usize = 12;

impl Sample {
    /// The draft.
    ///
    /// # Errors
    /// Without columns, or without one that can be the key: then no adapter can be written for the table.
    pub fn draft(&self) -> Result<String, String> {
        let key = self.key().ok_or_else(|| {
            let table = &self.table;
            format!("{table} has no column that can be a key: an adapter needs one of whole numbers, UUIDs or short texts that tells rows apart")
        })?;
        let mut used: BTreeSet<&str> = BTreeSet::from([key.column.name.as_str()]);
        let at = self.find(AT, &mut used, |c| self.time(c));
        let state =
            self.find(STATE, &mut used, |c| (self.rows.is_empty() || self.words(c).is_some()).then_some("text"));
        let class = self.find(CLASS, &mut used, |c| self.text(c));
        let message = self.find(MESSAGE, &mut used, |c| self.text(c));
        let trace = self.find(TRACE, &mut used, |c| self.text(c).or(self.json(c)).map(|_| "lines"));
        let fields = [
            ("job_class", self.find(JOB, &mut used, |c| self.text(c))),
            ("queue", self.find(QUEUE, &mut used, |c| self.text(c))),
            ("reason", self.find(REASON, &mut used, |c| self.words(c).map(|_| "text"))),
            ("worker", self.find(WORKER, &mut used, |c| self.text(c))),
            ("attempts", self.find(ATTEMPTS, &mut used, |c| self.whole(c))),
            ("max_attempts", self.find(MOST, &mut used, |c| self.whole(c))),
            ("arguments", self.find(PAYLOAD, &mut used, |c| self.json(c)).or_else(|| self.only_json(&mut used))),
            ("backtrace", trace),
            (
                "lineage",
                self.find(LINEAGE, &mut used, |c| self.text(c).or(self.uuid(c)).or(self.whole(c)).map(|_| "text")),
            ),
            ("touched", self.find(TOUCHED, &mut used, |c| self.time(c))),
        ];
        Ok(self.write(&key, at.as_ref(), state.as_ref(), (class.as_ref(), message.as_ref()), &fields, &used))
    }

    fn find<'a>(
        &'a self,
        names: &[&str],
        used: &mut BTreeSet<&'a str>,
        fits: impl Fn(&'a Column) -> Option<&'static str>,
    ) -> Option<Guess<'a>> {
        let exact = names.iter().find_map(|name| {
            let column = self.columns.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name))?;
            Some((column, fits(column).filter(|_| !used.contains(column.name.as_str()))?))
        });
        let (column, kind) = exact?;
        used.insert(&column.name);
        let why = format!("by its name, and as {}", column.data_type);
        Some(Guess { column, kind, why })
    }

    /// The only column of JSON, whatever its name.
    fn only_json<'a>(&'a self, used: &mut BTreeSet<&'a str>) -> Option<Guess<'a>> {
        let mut found =
            self.columns.columns.iter().filter(|c| !used.contains(c.name.as_str()) && self.json(c).is_some());
        let column = found.next().filter(|_| found.next().is_none())?;
        used.insert(&column.name);
        Some(Guess { column, kind: "json", why: "the only column that holds JSON".to_owned() })
    }

    /// What tells rows apart: `id` by preference, else the first column whose values differ and are never NULL.
    fn key(&self) -> Option<Guess<'_>> {
        let kind = |c: &Column| self.whole(c).or(self.uuid(c)).or(self.text(c));
        let differ = |c: &Column| {
            let values: Vec<_> = self.values(c).collect();
            values.len() == self.rows.len() && values.iter().collect::<BTreeSet<_>>().len() == values.len()
        };
        let indexed = |c: &Column| self.columns.indexes.values().any(|i| i.as_slice() == [c.name.clone()]);
        let able = || self.columns.columns.iter().filter(|c| kind(c).is_some() && differ(c));
        let named = able().find(|c| c.name.eq_ignore_ascii_case("id"));
        let column =
            named.or_else(|| able().find(|c| indexed(c) && !c.nullable)).or_else(|| able().find(|c| !c.nullable))?;
        let why = if named.is_some() { "by its name" } else { "its values tell rows apart" };
        Some(Guess { column, kind: kind(column)?, why: format!("{why}, and as {}", column.data_type) })
    }

    fn values<'a>(&'a self, column: &Column) -> impl Iterator<Item = &'a str> {
        let place = self.columns.columns.iter().position(|c| c.name == column.name);
        self.rows.iter().filter_map(move |row| row.get(place?)?.as_deref())
    }

    fn time(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let first = self.values(column).next();
        if data_type.contains("with time zone") || data_type == "timestamptz" {
            return Some("instant");
        }
        if data_type.contains("timestamp") || data_type.contains("datetime") || data_type == "date" {
            return Some("utc");
        }
        if self.whole(column).is_some() {
            let n: i64 = first?.parse().ok()?;
            return match n {
                500_000_000..20_000_000_000 => Some("epoch_s"),
                500_000_000_000..20_000_000_000_000 => Some("epoch_ms"),
                _ => None,
            };
        }
        let looks = first
            .is_some_and(|v| v.len() >= 10 && v.as_bytes().get(4) == Some(&b'-') && v.as_bytes().get(7) == Some(&b'-'));
        (self.text(column).is_some() && looks).then_some("utc")
    }

    fn text(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let words = ["char", "text", "clob", "enum", "string"];
        (words.iter().any(|w| data_type.contains(w)) || data_type.is_empty()).then_some("text")
    }

    fn whole(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        (data_type.contains("int") || data_type.contains("serial")).then_some("int")
    }

    fn uuid(&self, column: &Column) -> Option<&'static str> {
        column.data_type.to_ascii_lowercase().contains("uuid").then_some("uuid")
    }

    /// JSON by its type, or text of which every value seen is a JSON object or array.
    fn json(&self, column: &Column) -> Option<&'static str> {
        let document = |v: &str| v.trim_start().starts_with(['{', '[']) && Document::parse(v).is_ok();
        let by_type = column.data_type.to_ascii_lowercase().contains("json");
        let by_value =
            || self.text(column).is_some() && self.values(column).next().is_some() && self.values(column).all(document);
        (by_type || by_value()).then_some("json")
    }

    /// The words of a column that holds few.
    fn words(&self, column: &Column) -> Option<BTreeSet<&str>> {
        let words: BTreeSet<&str> = self.values(column).collect();
        let plain = |w: &&str| !w.is_empty() && w.len() < 40 && !w.contains(char::is_whitespace);
        (self.whole(column).is_none() && !words.is_empty() && words.len() <= FEW && words.iter().all(plain))
            .then_some(words)
    }

    /// Whether most messages begin with a word and a colon, as error classes do.
    fn leads_with_class(&self, column: &Column) -> bool {
        let leads = |v: &&str| {
            let head = v.split_once(": ").map(|(head, _)| head);
            head.is_some_and(|h| {
                h.starts_with(|c: char| c.is_ascii_alphabetic())
                    && h.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c))
            })
        };
        let (all, leading) = (self.values(column).count(), self.values(column).filter(leads).count());
        leading > 0 && leading * 2 >= all
    }

    /// A name for the adapter that the language allows.
    pub fn name(&self) -> String {
        self.table.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
    }
}

#[cfg(test)]
mod tests;
