//! Installs the tables of a preset: what `init` does in a database that has no dead-letter table yet.
//!
//! A table that is there is never touched, whatever it looks like.

use std::collections::BTreeMap;

use crate::adapter::{Column, Spec, Table as Found, alternatives, built_in, fit};
use crate::db::{DatabaseKind, Engine, Statement, Value};
use crate::store::sql::dialect::dialect as dialect_of;
use crate::store::sql::schema::discovery::read_catalogue;
use crate::store::{Budget, Result, SourceError};

/// A layout that can be installed.
#[derive(Debug)]
pub struct Preset {
    /// The name of its adapter.
    pub name: &'static str,
    /// What it is, as one line.
    pub about: &'static str,
    tables: &'static [PresetTable],
}

/// A table with its indexes, in every dialect.
#[derive(Debug)]
struct PresetTable {
    name: &'static str,
    text: PresetText,
    /// It is made along with this table, and not beside one that is there: that may have other columns.
    with: Option<&'static str>,
}

/// A text in every dialect.
#[derive(Debug)]
struct PresetText {
    postgres: &'static str,
    mysql: &'static str,
    sqlite: &'static str,
}

impl PresetText {
    fn of(&self, dialect: DatabaseKind) -> &'static str {
        match dialect {
            DatabaseKind::Postgres => self.postgres,
            DatabaseKind::Mysql => self.mysql,
            DatabaseKind::Sqlite => self.sqlite,
        }
    }
}

impl PresetTable {
    /// Its statements, for the default schema or another.
    fn ddl(&self, dialect: DatabaseKind, schema: Option<&str>) -> String {
        let text = self.text.of(dialect);
        let Some(schema) = schema else { return text.to_owned() };
        let (name, place) = (self.name, format!("{}.{}", dialect_of(dialect).quote(schema), self.name));
        text.replace(&format!("CREATE TABLE {name} ("), &format!("CREATE TABLE {place} ("))
            .replace(&format!(" ON {name} ("), &format!(" ON {place} ("))
    }
}

macro_rules! text {
    ($name:literal) => {
        PresetText {
            postgres: include_str!(concat!("../../../migrations/preset/postgres/", $name, ".sql")),
            mysql: include_str!(concat!("../../../migrations/preset/mysql/", $name, ".sql")),
            sqlite: include_str!(concat!("../../../migrations/preset/sqlite/", $name, ".sql")),
        }
    };
}

macro_rules! table {
    ($name:literal) => {
        PresetTable { name: $name, text: text!($name), with: None }
    };
    ($name:literal with $other:literal) => {
        PresetTable { name: $name, text: text!($name), with: Some($other) }
    };
}

/// The query that lists the schemas in which tables can be made, and says which is the default.
const SCHEMAS: PresetText = text!("schemas");

/// What makes a schema; nothing where a schema is a database of its own, or the only one.
const NEW_SCHEMA: PresetText = PresetText { postgres: "CREATE SCHEMA {schema};\n", mysql: "", sqlite: "" };

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
        about: "events whose handling failed, with their own retries, and their archive",
        tables: &[table!("dlq_events"), table!("dlq_events_archive" with "dlq_events")],
    },
];

/// What installing a preset does in one database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installation {
    /// The schema that is made for the tables, where it is missing.
    pub schema: Option<String>,
    /// Tables that are there and stay as they are.
    pub kept: Vec<&'static str>,
    /// Tables that are missing.
    pub created: Vec<&'static str>,
    /// Why what is there cannot be part of the layout; nothing is created beside it then.
    pub misfits: Vec<String>,
    /// The statements for what is missing, as they can be given to the database's own client.
    pub ddl: String,
}

impl Preset {
    /// The preset of that name.
    ///
    /// # Errors
    /// A sentence that names the ones there are.
    pub fn named(name: &str) -> Result<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            SourceError::Input(format!("no preset {name:?}; there are {}", known.join(", ")))
        })
    }

    /// Everything that the preset consists of, for a database that has none of it.
    pub fn ddl(&self, dialect: DatabaseKind) -> String {
        let tables: Vec<_> = self.tables.iter().map(|table| table.ddl(dialect, None)).collect();
        tables.join("\n")
    }

    /// Looks what is missing in a schema, or in the default one, and changes nothing.
    ///
    /// # Errors
    /// As [`SourceError`] says; a schema is `Input` where the database has none to choose from.
    pub async fn plan(&self, engine: &Engine, schema: Option<&str>, budget: &Budget) -> Result<Installation> {
        let dialect = engine.kind();
        let (place, missing_schema) = place(engine, schema, budget).await?;
        let names: Vec<String> = self.tables.iter().map(|table| table.name.to_owned()).collect();
        let catalogue = read_catalogue(engine, &names, budget).await?;
        let there = catalogue.iter().find(|(schema, _)| *schema == place).map(|(_, tables)| tables);
        let found = |name: &str| there.and_then(|tables| tables.get(name));
        let (kept, missing): (Vec<_>, Vec<_>) = self.tables.iter().partition(|table| found(table.name).is_some());
        let missing: Vec<_> =
            missing.into_iter().filter(|t| t.with.is_none_or(|other| found(other).is_none())).collect();
        let mut parts: Vec<String> = missing.iter().map(|table| table.ddl(dialect, schema)).collect();
        if missing_schema {
            parts.insert(0, NEW_SCHEMA.of(dialect).replace("{schema}", &dialect_of(dialect).quote(&place)));
        }
        Ok(Installation {
            schema: missing_schema.then_some(place),
            kept: kept.iter().map(|table| table.name).collect(),
            created: missing.iter().map(|table| table.name).collect(),
            misfits: self.misfits(dialect, found),
            ddl: parts.join("\n"),
        })
    }

    /// Why the tables that are there do not fit this layout.
    fn misfits<'a>(&self, dialect: DatabaseKind, found: impl Fn(&str) -> Option<&'a Found>) -> Vec<String> {
        let adapters = built_in();
        let adapter = adapters.iter().find(|adapter| adapter.name == self.name);
        let Some(spec) = adapter.and_then(|adapter| adapter.spec(dialect.word())) else { return Vec::new() };
        let all: BTreeMap<&str, Found> = self
            .tables
            .iter()
            // What is yet to be made fits.
            .map(|table| (table.name, found(table.name).cloned().unwrap_or_else(|| as_asked(spec, table.name))))
            .collect();
        fit(spec, |name| all.get(name)).into_iter().map(|misfit| misfit.sentence).collect()
    }
}

impl Installation {
    /// Creates what is missing: just what was planned, all of it or nothing where the database can undo DDL.
    ///
    /// # Errors
    /// As [`SourceError`] says; a role without the right to create tables is `Denied`. A table that appeared since is an
    /// error, and left alone.
    pub async fn install(&self, engine: &Engine, budget: &Budget) -> Result<()> {
        if let Some(reason) = self.misfits.first() {
            return Err(SourceError::Input(format!("a table of that name is there already, and is another: {reason}")));
        }
        if self.ddl.is_empty() {
            return Ok(());
        }
        let mut tx = engine.begin(budget).await?;
        for sql in statements(&self.ddl) {
            tx.execute(&Statement { sql: sql.to_owned(), binds: Vec::new() }).await?;
        }
        tx.commit().await
    }
}

/// The schema that is meant, and whether it is missing.
async fn place(engine: &Engine, asked: Option<&str>, budget: &Budget) -> Result<(String, bool)> {
    let dialect = engine.kind();
    let list = Statement { sql: SCHEMAS.of(dialect).trim().to_owned(), binds: Vec::new() };
    let rows = engine.read(&[list], budget).await?.pop().unwrap_or_default();
    let mut schemas = rows.into_iter().filter_map(|row| match row.0.as_slice() {
        [Value::Text(name), default] => Some((name.clone(), *default == Value::Int(1))),
        _ => None,
    });
    let Some(asked) = asked else {
        return schemas.find(|(_, default)| *default).map(|(name, _)| (name, false)).ok_or_else(|| {
            SourceError::Input("no schema or database is chosen: name one with --schema or in the URL".to_owned())
        });
    };
    if schemas.any(|(name, _)| name == asked) {
        return Ok((asked.to_owned(), false));
    }
    if NEW_SCHEMA.of(dialect).is_empty() {
        return Err(SourceError::Input(format!(
            "there is no schema {asked:?} to choose here: the tables go into the database that the URL names"
        )));
    }
    Ok((asked.to_owned(), true))
}

/// A table that has the columns that an adapter asks for.
fn as_asked(spec: &Spec, name: &str) -> Found {
    let columns = if name == spec.table { Some(&spec.detect.columns) } else { spec.detect.tables.get(name) };
    let column = |(name, word): (&String, &String)| Column {
        name: name.clone(),
        data_type: alternatives(word).next().unwrap_or_default().to_owned(),
        nullable: true,
        collation: None,
        times: None,
    };
    Found { columns: columns.into_iter().flatten().map(column).collect(), ..Found::default() }
}

/// The statements of a preset; there a semicolon at the end of a line ends one, and nothing else does.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_creates_its_tables_in_every_dialect() {
        for preset in PRESETS {
            for dialect in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
                let ddl = preset.ddl(dialect);
                for table in preset.tables {
                    assert!(ddl.contains(&format!("CREATE TABLE {} (", table.name)), "{} {dialect:?}", table.name);
                }
            }
        }
    }

    #[test]
    fn in_another_schema_each_name_of_a_table_stands_with_that_schema() {
        for table in PRESETS.iter().flat_map(|preset| preset.tables) {
            let ddl = table.ddl(DatabaseKind::Postgres, Some("Dead \"1\""));
            let uses = |text: &str| text.matches(&format!(" {} (", table.name)).count();
            assert_eq!(uses(&ddl), 0, "{ddl}");
            let qualified = ddl.matches(&format!("\"Dead \"\"1\"\"\".{} (", table.name)).count();
            assert_eq!(qualified, uses(table.text.postgres), "{ddl}");
            assert_eq!(qualified, ddl.matches(";\n").count(), "one for each statement: {ddl}");
        }
    }

    #[test]
    fn a_column_of_json_that_may_be_null_is_checked_in_a_way_that_every_sqlite_takes() {
        // `json_valid(NULL)` is 0 in older libraries (3.40 is one), and the application may use such a one.
        for table in PRESETS.iter().flat_map(|preset| preset.tables) {
            for line in table.text.sqlite.lines().filter(|line| line.contains("json_valid")) {
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
