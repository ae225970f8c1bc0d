//! Installs the tables of a preset: what `init` does in a database that has no dead-letter table yet.
//!
//! A table that is there is never touched, whatever it looks like.

use super::sql::engine::{Dialect, Engine, Statement, Value};
use super::{Budget, Result, StoreError};

/// A layout that can be installed.
#[derive(Debug)]
pub struct Preset {
    /// The name of its adapter.
    pub name: &'static str,
    /// What it is, as one line.
    pub about: &'static str,
    tables: &'static [Table],
}

/// A table with its indexes, in every dialect.
#[derive(Debug)]
struct Table {
    name: &'static str,
    postgres: &'static str,
    mysql: &'static str,
    sqlite: &'static str,
}

impl Table {
    fn ddl(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Mysql => self.mysql,
            Dialect::Sqlite => self.sqlite,
        }
    }
}

macro_rules! table {
    ($name:literal) => {
        Table {
            name: $name,
            postgres: include_str!(concat!("../../migrations/preset/postgres/", $name, ".sql")),
            mysql: include_str!(concat!("../../migrations/preset/mysql/", $name, ".sql")),
            sqlite: include_str!(concat!("../../migrations/preset/sqlite/", $name, ".sql")),
        }
    };
}

/// The query that lists the tables of the current schema; it has the form of a table to be chosen by dialect.
const LIST: Table = table!("tables");

/// What can be installed; the first is the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "dead_letter_jobs",
        about: "one table that keeps dead jobs, for queues that would drop them",
        tables: &[table!("dead_letter_jobs")],
    },
    Preset {
        name: "jobs_dlq",
        about: "a live queue, and the table that its dead jobs are moved to",
        tables: &[table!("jobs"), table!("jobs_dlq")],
    },
    Preset {
        name: "dlq_events",
        about: "events whose handling failed, with their own retries",
        tables: &[table!("dlq_events")],
    },
];

/// What installing a preset does, or did, in one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Tables that were there before and stay as they are.
    pub kept: Vec<&'static str>,
    /// Tables that are missing, or were created.
    pub created: Vec<&'static str>,
    /// The statements for the missing ones, as they can be given to the database's own client.
    pub ddl: String,
    statements: Vec<&'static str>,
}

impl Preset {
    /// The preset of that name.
    ///
    /// # Errors
    /// A sentence that names the ones there are.
    pub fn named(name: &str) -> Result<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            StoreError::Input(format!("no preset {name:?}; there are {}", known.join(", ")))
        })
    }

    /// Everything that the preset consists of, for a database that has none of it.
    pub fn ddl(&self, dialect: Dialect) -> String {
        let tables: Vec<_> = self.tables.iter().map(|table| table.ddl(dialect)).collect();
        tables.join("\n")
    }

    /// Looks what is missing, and changes nothing.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn plan(&self, engine: &Engine, budget: &Budget) -> Result<Installation> {
        let dialect = engine.dialect();
        let list = Statement { sql: LIST.ddl(dialect).trim().to_owned(), binds: Vec::new() };
        let found = engine.read(&[list], budget).await?;
        let there = |name: &str| {
            found.iter().flatten().any(|row| matches!(row.0.first(), Some(Value::Text(found)) if found == name))
        };
        let (kept, missing): (Vec<_>, Vec<_>) = self.tables.iter().partition(|table| there(table.name));
        let texts: Vec<_> = missing.iter().map(|table| table.ddl(dialect)).collect();
        Ok(Installation {
            kept: kept.iter().map(|table| table.name).collect(),
            created: missing.iter().map(|table| table.name).collect(),
            ddl: texts.join("\n"),
            statements: texts.into_iter().flat_map(statements).collect(),
        })
    }

    /// Creates what is missing, all of it or nothing where the database can undo DDL.
    ///
    /// # Errors
    /// As [`StoreError`] says; a role without the right to create tables is `Denied`.
    pub async fn install(&self, engine: &Engine, budget: &Budget) -> Result<Installation> {
        let installation = self.plan(engine, budget).await?;
        if installation.statements.is_empty() {
            return Ok(installation);
        }
        let mut tx = engine.begin(budget).await?;
        for sql in &installation.statements {
            tx.execute(&Statement { sql: (*sql).to_owned(), binds: Vec::new() }).await?;
        }
        tx.commit().await?;
        Ok(installation)
    }
}

/// The statements of a preset's file; there a semicolon at the end of a line ends one, and nothing else does.
fn statements(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_creates_its_tables_in_every_dialect() {
        for preset in PRESETS {
            for dialect in [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite] {
                let ddl = preset.ddl(dialect);
                for table in preset.tables {
                    assert!(ddl.contains(&format!("CREATE TABLE {} (", table.name)), "{} {dialect:?}", table.name);
                }
            }
        }
    }

    #[test]
    fn a_column_of_json_that_may_be_null_is_checked_in_a_way_that_every_sqlite_takes() {
        // `json_valid(NULL)` is 0 in older libraries (3.40 is one), and the application may use such a one.
        for table in PRESETS.iter().flat_map(|preset| preset.tables) {
            for line in table.sqlite.lines().filter(|line| line.contains("json_valid")) {
                assert!(line.contains("NOT NULL") || line.contains(" IS NULL OR json_valid"), "{}: {line}", table.name);
            }
        }
    }

    #[test]
    fn an_unknown_preset_is_told_which_there_are() {
        let error = Preset::named("nope").unwrap_err().to_string();
        assert_eq!(error, "no preset \"nope\"; there are dead_letter_jobs, jobs_dlq, dlq_events");
    }
}
