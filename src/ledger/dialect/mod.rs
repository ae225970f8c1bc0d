//! What the engines say differently, and how a statement of the record becomes one of an engine.
//!
//! A statement is written once, with holes. `{run_jobs}` is a table by its full name, `{lock}` a word of the engine's, and
//! `{asked ?2}` a word that holds the value `?2`. Values are `?1`, `?2`, …, in the order of the binds.

mod insert;
mod mysql;
mod postgres;
mod sqlite;

pub(super) use insert::InsertColumn;
use insert::InsertRows;

use crate::db::{Bind, DatabaseKind, Statement};

/// The tables of the record.
pub(super) const TABLES: [&str; 9] =
    ["ledger", "runs", "run_jobs", "batches", "run_tallies", "archive", "transactions", "edits", "marks"];

/// Tables of SQLite only: the other engines keep what jobs are known by in indexes.
pub(super) const KEYS: &str = "run_keys";

/// Tables of the operator's own file only: who had secrets shown is told to nobody else.
pub(super) const LOCAL: [&str; 1] = ["reveals"];

/// What one engine says in its own way.
pub(super) struct LedgerSql {
    /// How the n-th value is written; `None` where values have no number and stand in the order of their use.
    place: Option<char>,
    /// How many rows are written at once.
    rows: InsertRows,
    /// What stands for each hole; in it `@` is the value that the hole names, and holes are filled again.
    words: &'static [(&'static str, &'static str)],
}

impl LedgerSql {
    /// The text of an engine.
    pub(super) fn of(dialect: DatabaseKind) -> &'static LedgerSql {
        match dialect {
            DatabaseKind::Postgres => &postgres::TEXT,
            DatabaseKind::Mysql => &mysql::TEXT,
            DatabaseKind::Sqlite => &sqlite::TEXT,
        }
    }

    /// A statement with its holes filled; `prefix` leads the name of each table.
    pub(super) fn statement(&self, prefix: &str, sql: &str, binds: Vec<Bind>) -> Statement {
        let mut filled = String::with_capacity(sql.len() * 2);
        self.fill(&mut filled, prefix, sql);
        self.number(&filled, binds)
    }

    fn fill(&self, into: &mut String, prefix: &str, sql: &str) {
        let mut rest = sql;
        while let Some((before, after)) = rest.split_once('{') {
            into.push_str(before);
            let Some((hole, after)) = after.split_once('}') else { break };
            let (name, value) = hole.split_once(' ').unwrap_or((hole, ""));
            match self.words.iter().find(|(word, _)| *word == name) {
                Some((_, text)) => self.fill(into, prefix, &text.replace('@', value)),
                None => {
                    let is_table = TABLES.contains(&name) || LOCAL.contains(&name) || name == KEYS;
                    debug_assert!(is_table || name == "prefix", "nothing stands for {name}");
                    into.push_str(prefix);
                    into.push_str(if name == "prefix" { "" } else { name });
                }
            }
            rest = after;
        }
        into.push_str(rest);
    }

    /// Writes each `?1` as the engine wants it, and puts the values in the order that it takes them in.
    fn number(&self, sql: &str, binds: Vec<Bind>) -> Statement {
        let mut parts = sql.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut used = Vec::new();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let nth: usize = part[..end].parse().unwrap_or_default();
            match self.place {
                Some(sign) => {
                    text.push(sign);
                    text.push_str(&part[..end]);
                }
                None => {
                    text.push('?');
                    used.push(nth);
                }
            }
            text.push_str(&part[end..]);
        }
        let binds = match self.place {
            Some(_) => binds,
            None => used.into_iter().filter_map(|nth| binds.get(nth.checked_sub(1)?).cloned()).collect(),
        };
        Statement { sql: text, binds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = "SELECT ?2 FROM {runs} WHERE id = ?1 AND seq IN (SELECT value FROM {asked ?3}) AND id = ?1{lock}";

    fn binds() -> Vec<Bind> {
        vec![Bind::Text(Some("a".into())), Bind::Int(Some(1)), Bind::Texts(vec![Some("b".into())])]
    }

    #[test]
    fn values_keep_their_numbers_where_the_engine_has_numbers() {
        let said = LedgerSql::of(DatabaseKind::Postgres).statement("dlq_tui.", SQL, binds());
        assert!(said.sql.starts_with("SELECT $2 FROM dlq_tui.runs WHERE id = $1 AND seq IN"), "{}", said.sql);
        assert!(said.sql.ends_with("id = $1 FOR UPDATE"), "{}", said.sql);
        assert_eq!(said.binds, binds());
        let said = LedgerSql::of(DatabaseKind::Sqlite).statement("", SQL, binds());
        assert!(said.sql.contains("FROM json_each(?3) AS asked") && said.sql.ends_with("id = ?1"), "{}", said.sql);
    }

    #[test]
    fn values_come_as_often_as_they_stand_where_the_engine_has_no_numbers() {
        let said = LedgerSql::of(DatabaseKind::Mysql).statement("dlq_tui_", SQL, binds());
        let [a, one, list]: [Bind; 3] = binds().try_into().unwrap();
        assert_eq!(said.binds, vec![one, a.clone(), list, a]);
        assert!(said.sql.starts_with("SELECT ? FROM dlq_tui_runs WHERE id = ? AND"), "{}", said.sql);
    }

    #[test]
    fn every_engine_has_a_word_for_every_hole() {
        let names = |d| LedgerSql::of(d).words.iter().map(|(name, _)| *name).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names(DatabaseKind::Postgres), names(DatabaseKind::Sqlite));
        assert_eq!(names(DatabaseKind::Mysql), names(DatabaseKind::Sqlite));
    }
}
