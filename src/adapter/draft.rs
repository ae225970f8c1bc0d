//! A first draft of an adapter file for a table that nobody has described: each field is guessed by the name, the type and
//! some values of its columns, and the file says why. What cannot be guessed is left to be written.

mod error;
mod key;
mod names;
mod state;
mod toml;
mod types;

use std::collections::BTreeSet;

use self::error::ErrorGuess;
use self::toml::DraftText;
use super::table_match::{Column, Table};
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
    /// What is made of the column, where it cannot be taken as it is.
    sql: Option<String>,
    kind: &'static str,
    why: String,
}

impl<'a> Guess<'a> {
    fn by_name(column: &'a Column, kind: &'static str) -> Self {
        Self { column, sql: None, kind, why: format!("by its name, and as {}", column.data_type) }
    }
}

impl Sample {
    /// The draft. What could not be guessed stands there as `"…"`, and until it is written the file is not used.
    ///
    /// # Errors
    /// Without a column that could be a key: then no adapter can be written for the table.
    pub fn draft(&self) -> Result<String, String> {
        if !self.columns.columns.iter().any(|c| self.identifies(c).is_some()) {
            let table = &self.table;
            return Err(format!(
                "{table} has no column that can be a key: an adapter needs one of whole numbers, UUIDs or short texts that tells rows apart"
            ));
        }
        let key = self.key();
        let mut used: BTreeSet<&str> = key.columns().map(|c| c.name.as_str()).collect();
        let at = self.at(&mut used);
        let state = self.state(at.as_ref(), &mut used);
        let class = self.find(CLASS, &mut used, |c| self.text(c));
        let message = self.find(MESSAGE, &mut used, |c| {
            // A message in JSON is what a worker was given.
            let is_job = c.name.eq_ignore_ascii_case("message") && self.json(c).is_some();
            self.text(c).or(self.json(c)).filter(|_| !is_job)
        });
        let trace = self.find(TRACE, &mut used, |c| self.text(c).or(self.json(c)).map(|_| "lines"));
        let fields = [
            ("job_class", self.find(JOB, &mut used, |c| self.text(c).filter(|_| self.json(c).is_none()))),
            ("queue", self.find(QUEUE, &mut used, |c| self.text(c))),
            ("reason", self.find(REASON, &mut used, |c| self.words(c).map(|_| "text"))),
            ("worker", self.find(WORKER, &mut used, |c| self.text(c))),
            ("attempts", self.count(ATTEMPTS, &mut used)),
            ("max_attempts", self.count(MOST, &mut used)),
            ("arguments", self.find(PAYLOAD, &mut used, |c| self.json(c)).or_else(|| self.only_json(&mut used))),
            ("backtrace", trace),
            (
                "lineage",
                self.find(LINEAGE, &mut used, |c| {
                    self.text(c).or(self.uuid(c)).or(self.integer_kind(c)).map(|_| "text")
                }),
            ),
            ("touched", self.find(TOUCHED, &mut used, |c| self.time(c))),
        ];
        let error = ErrorGuess::of(self, class, message);
        Ok(DraftText { sample: self, key, at, state, error, fields: &fields, used: &used }.write())
    }

    fn find<'a>(
        &'a self,
        names: &[&str],
        used: &mut BTreeSet<&'a str>,
        fits: impl Fn(&'a Column) -> Option<&'static str>,
    ) -> Option<Guess<'a>> {
        // `stateName`, `statename` and `state_name` are one.
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let exact = names.iter().find_map(|name| {
            let column = self.columns.columns.iter().find(|c| plain(&c.name) == plain(name))?;
            Some((column, fits(column).filter(|_| !used.contains(column.name.as_str()))?))
        });
        let (column, kind) = exact?;
        used.insert(&column.name);
        Some(Guess::by_name(column, kind))
    }

    /// The only column that fits, whatever its name.
    fn only<'a>(
        &'a self,
        used: &mut BTreeSet<&'a str>,
        fits: impl Fn(&Column) -> Option<&'static str>,
        why: &str,
    ) -> Option<Guess<'a>> {
        let free = self.columns.columns.iter().filter(|c| !used.contains(c.name.as_str()));
        let mut found = free.filter_map(|c| Some((c, fits(c)?)));
        let (column, kind) = found.next().filter(|_| found.next().is_none())?;
        used.insert(&column.name);
        Some(Guess { column, sql: None, kind, why: why.to_owned() })
    }

    fn only_json<'a>(&'a self, used: &mut BTreeSet<&'a str>) -> Option<Guess<'a>> {
        let given = |c: &Column| self.json(c).filter(|_| !has(&c.name, TOLD));
        self.only(used, given, "the only column that holds JSON")
    }

    /// The time of death: by its name; else the only time whose name has a word for death, or the only one there is.
    fn at<'a>(&'a self, used: &mut BTreeSet<&'a str>) -> Option<Guess<'a>> {
        let dies = |c: &Column| names::has(&c.name, DEAD) || names::has(&c.name, DIED);
        self.find(AT, used, |c| self.time(c))
            .or_else(|| self.only(used, |c| self.time(c).filter(|_| dies(c)), "the only time whose name speaks of it"))
            .or_else(|| self.only(used, |c| self.time(c), "the only column of times"))
    }

    /// A count, which some tables keep in a column that could hold fractions.
    fn count<'a>(&'a self, names: &[&str], used: &mut BTreeSet<&'a str>) -> Option<Guess<'a>> {
        let mut guess = self.find(names, used, |c| self.integer_kind(c).or(self.number(c)).map(|_| "int"))?;
        if self.integer_kind(guess.column).is_none() {
            guess.sql = Some(self.cast(guess.column, ["bigint", "SIGNED", "INTEGER"]));
        }
        Some(guess)
    }

    /// A name for the adapter that the language allows.
    pub fn name(&self) -> String {
        self.table.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
    }
}

#[cfg(test)]
mod tests;
