//! What tells dead rows from others, and what is left open where something may.

use std::collections::BTreeSet;

use super::names::{DEAD, DIED, FLAGS, IGNORED, LIVES, QUEUE, RESOLVED, STATE, STATE_ENDS, STATE_WORDS, has};
use super::{Guess, Sample};
use crate::adapter::table_match::Column;

/// The state.
pub(super) struct StateGuess<'a> {
    pub(super) field: Guess<'a>,
    /// The values seen, where they are few.
    pub(super) seen: Option<BTreeSet<&'a str>>,
    /// Those that mean that a job is dead; none where nobody can tell.
    pub(super) dead: Vec<&'a str>,
    /// What a dead row meets, where that is not one of its words.
    condition: Option<String>,
}

impl StateGuess<'_> {
    /// What a dead row meets, where that is known.
    pub(super) fn condition(&self, sample: &Sample) -> Option<String> {
        if self.condition.is_some() {
            return self.condition.clone();
        }
        let words: Vec<String> = self.dead.iter().map(|w| format!("'{}'", w.replace('\'', "''"))).collect();
        let state = self.field.sql.clone().unwrap_or_else(|| sample.named(self.field.column));
        (!words.is_empty()).then(|| format!("{state} IN ({})", words.join(", ")))
    }
}

impl Sample {
    /// A column for it of whatever type, a flag, or a time of death that not every row has.
    pub(super) fn state<'a>(&'a self, at: Option<&Guess<'a>>, used: &mut BTreeSet<&'a str>) -> Option<StateGuess<'a>> {
        let ends = |c: &Column| {
            let name = c.name.to_ascii_lowercase();
            STATE_ENDS.iter().any(|end| name.ends_with(end)).then_some("text")
        };
        let flag = |c: &Column| {
            let is = ["is_", "has_"].iter().any(|start| c.name.to_ascii_lowercase().starts_with(start));
            (self.is_boolean(c) || is && self.integer_kind(c).is_some()).then_some("text")
        };
        let found = self
            .find(STATE, used, |_| Some("text"))
            .or_else(|| self.only(used, ends, "the only column whose name ends like that of a state"))
            .or_else(|| self.find(FLAGS, used, flag));
        let Some(mut field) = found else {
            return self.dead_queue().or_else(|| self.alive_until(at?));
        };
        let column = field.column;
        let data_type = column.data_type.to_ascii_lowercase();
        // Words are compared with it, and a database may compare words with texts only.
        if !["char", "text", "clob"].iter().any(|text| data_type.contains(text)) || data_type == "character" {
            field.sql = Some(self.cast(column, ["text", "CHAR", "TEXT"]));
        }
        let dead = self.words(column).unwrap_or_default().into_iter().filter(|word| has(word, DEAD)).collect();
        Some(StateGuess { seen: self.few(column), dead, field, condition: None })
    }

    /// A queue of its own that failed jobs are moved to, in one table with the others.
    fn dead_queue(&self) -> Option<StateGuess<'_>> {
        let named = |c: &&Column| QUEUE.iter().any(|name| c.name.eq_ignore_ascii_case(name));
        let column = self.columns.columns.iter().filter(named).find(|c| self.text(c).is_some())?;
        let seen = self.words(column)?;
        let dead: Vec<&str> = seen.iter().copied().filter(|word| has(word, DEAD)).collect();
        let why = format!("{} distinguishes failed jobs from others", column.name);
        let field = Guess { column, sql: None, kind: "text", why };
        (!dead.is_empty()).then_some(StateGuess { field, seen: Some(seen), dead, condition: None })
    }

    /// A row without a time of death is alive.
    fn alive_until<'a>(&self, at: &Guess<'a>) -> Option<StateGuess<'a>> {
        let column = at.column;
        if !column.nullable || !(has(&column.name, DEAD) || has(&column.name, DIED)) {
            return None;
        }
        let condition = format!("{} IS NOT NULL", self.named(column));
        let sql = format!("CASE WHEN {condition} THEN 'dead' ELSE 'alive' END");
        let why = format!("a row without {} may not be dead yet", column.name);
        let field = Guess { column, sql: Some(sql), kind: "text", why };
        Some(StateGuess { field, seen: Some(["dead", "alive"].into()), dead: vec!["dead"], condition: Some(condition) })
    }

    /// Columns that nothing was made of, and that may tell live rows from dead ones.
    pub(super) fn undecided(&self, used: &BTreeSet<&str>) -> Vec<&str> {
        let is = |c: &&Column| {
            let settled = || has(&c.name, RESOLVED) || has(&c.name, IGNORED) || has(&c.name, DEAD);
            self.is_boolean(c)
                || has(&c.name, LIVES)
                || has(&c.name, STATE_WORDS)
                || self.time(c).is_some() && settled()
                || self.words(c).is_some_and(|words| words.iter().any(|word| has(word, DEAD)))
        };
        let free = self.columns.columns.iter().filter(|c| !used.contains(c.name.as_str()));
        free.filter(is).map(|c| c.name.as_str()).collect()
    }
}
