//! What tells rows apart: only what a unique index says. Values that happen to differ in some rows say nothing.

use super::{Guess, Sample};
use crate::adapter::table_match::Column;

/// The key, where one was found.
pub(super) struct DraftKey<'a> {
    pub(super) key: Option<Guess<'a>>,
    /// What the key is unique within.
    pub(super) scope: Option<Guess<'a>>,
    /// Why there is none.
    pub(super) why_not: String,
}

impl<'a> DraftKey<'a> {
    pub(super) fn columns(&self) -> impl Iterator<Item = &'a Column> {
        [&self.scope, &self.key].into_iter().flatten().map(|guess| guess.column)
    }
}

impl Sample {
    /// A column with a unique index of its own, `id` by preference, else the primary key before others; else two columns
    /// of which one is a text.
    pub(super) fn key(&self) -> DraftKey<'_> {
        let there = |name: &String| self.columns.column(name).filter(|c| !c.nullable);
        let unique: Vec<Vec<&Column>> =
            self.columns.unique.values().filter_map(|names| names.iter().map(there).collect()).collect();
        let mut alone: Vec<(&Column, &'static str)> = Vec::new();
        for columns in &unique {
            if let [column] = columns.as_slice() {
                alone.extend(self.identifies(column).map(|kind| (*column, kind)));
            }
        }
        let named = alone.iter().find(|(c, _)| c.name.eq_ignore_ascii_case("id"));
        let guess = |column, kind, why: &str| Guess { column, sql: None, kind, why: why.to_owned() };
        if let Some((column, kind)) = named.or(alone.first()) {
            let why = format!("its index is unique, and it is {}", column.data_type);
            return DraftKey { key: Some(guess(column, kind, &why)), scope: None, why_not: String::new() };
        }
        let pair = unique.iter().find_map(|columns| {
            let [a, b] = columns.as_slice() else { return None };
            [(*a, *b), (*b, *a)].into_iter().find_map(|(scope, key)| {
                let kind = self.integer_kind(key).or(self.uuid(key))?;
                self.text(scope).map(|_| (scope, key, kind))
            })
        });
        if let Some((scope, key, kind)) = pair {
            let why = format!("unique together with {}", scope.name);
            let within = format!("what {} is unique within; a job's id is {}/{}", key.name, scope.name, key.name);
            let (key, scope) = (Some(guess(key, kind, &why)), Some(guess(scope, "text", &within)));
            return DraftKey { key, scope, why_not: String::new() };
        }
        let why_not = match unique.first() {
            Some(columns) => {
                let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
                format!(
                    "rows are identified by {} together; a key is one column, or a text and a number or UUID",
                    names.join(", ")
                )
            }
            None => "no column has a unique index: two rows could have the same key".to_owned(),
        };
        DraftKey { key: None, scope: None, why_not }
    }
}
