//! The tables of a record: what they are made of. Inside a source: whether they are there, and installing them.
//!
//! There they stand apart from the application's: in a schema of their own where there are schemas, else under a prefix.

use crate::db::{Bind, DatabaseKind, Engine, Row, Statement, Value};
use crate::store::survey::ConnectedSource;
use crate::store::{Budget, Result, SourceError};

use super::dialect::{LedgerSql, TABLES};

/// A step of the schema.
pub(super) struct Migration {
    pub(super) no: i64,
    pub(super) name: &'static str,
    /// Only the operator's own file has it.
    is_local: bool,
    postgres: &'static str,
    mysql: &'static str,
    pub(super) sqlite: &'static str,
}

macro_rules! migration {
    ($no:literal, $name:literal) => {
        Migration {
            no: $no,
            name: $name,
            is_local: false,
            postgres: include_str!(concat!("../../migrations/ledger/postgres/", $name, ".sql")),
            mysql: include_str!(concat!("../../migrations/ledger/mysql/", $name, ".sql")),
            sqlite: include_str!(concat!("../../migrations/ledger/sqlite/", $name, ".sql")),
        }
    };
    ($no:literal, sqlite $name:literal) => {
        Migration {
            no: $no,
            name: $name,
            is_local: false,
            postgres: "",
            mysql: "",
            sqlite: include_str!(concat!("../../migrations/ledger/sqlite/", $name, ".sql")),
        }
    };
    ($no:literal, local $name:literal) => {
        Migration { is_local: true, ..migration!($no, sqlite $name) }
    };
}

/// The steps, in order. The operator's own file has them all; it knew the first ones before there were other homes, whose
/// first step has all of those.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_runs"),
    migration!(2, sqlite "0002_transactions"),
    migration!(3, sqlite "0003_options"),
    migration!(4, sqlite "0004_native"),
    migration!(5, sqlite "0005_holders"),
    migration!(6, "0006_lineage"),
    migration!(7, local "0007_reveals"),
    migration!(8, sqlite "0008_keys"),
    migration!(9, "0009_outcomes"),
    migration!(10, "0010_edits"),
    migration!(11, "0011_rollout"),
    migration!(13, "0013_dead_rows"),
    migration!(14, "0014_marks"),
];

/// The table of versions; the operator's own file keeps them elsewhere.
const VERSIONS: &str =
    "-- How far this record is brought up to date.\nCREATE TABLE ledger (\n    version BIGINT PRIMARY KEY\n);\n";

/// What leads the name of each table.
pub(super) fn prefix(dialect: DatabaseKind) -> &'static str {
    match dialect {
        DatabaseKind::Postgres => "dlq_tui.",
        DatabaseKind::Mysql | DatabaseKind::Sqlite => "dlq_tui_",
    }
}

impl Migration {
    fn ddl(&self, dialect: DatabaseKind) -> String {
        match dialect {
            DatabaseKind::Postgres => self.postgres.to_owned(),
            DatabaseKind::Mysql => self.mysql.to_owned(),
            DatabaseKind::Sqlite if self.no == 1 => prefixed(&format!("{VERSIONS}\n{}", self.sqlite)),
            DatabaseKind::Sqlite => prefixed(self.sqlite),
        }
    }
}

/// The file's own statements with our prefix before each name of a table or an index.
fn prefixed(ddl: &str) -> String {
    let lead = prefix(DatabaseKind::Sqlite);
    let with = |line: &str| {
        if line.starts_with("--") {
            return line.to_owned();
        }
        ["TABLE ", "INDEX ", " ON ", "INTO ", "FROM "]
            .iter()
            .fold(line.to_owned(), |l, word| l.replace(word, &format!("{word}{lead}")))
    };
    ddl.lines().map(with).collect::<Vec<_>>().join("\n") + "\n"
}

/// The steps of a record in a source.
fn shared() -> impl DoubleEndedIterator<Item = &'static Migration> {
    MIGRATIONS.iter().filter(|m| !m.is_local)
}

/// The latest version of a record in a source that this program knows.
fn latest() -> i64 {
    shared().next_back().map_or(0, |m| m.no)
}

/// Whether a source holds a record, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstalledSchema {
    /// There is none.
    Nothing,
    /// There is one of this version.
    Version(i64),
    /// There is one that must not be used, for this reason.
    Unsafe(String),
}

/// Looks for a record, without changing anything.
pub(super) async fn installed_schema(engine: &Engine, budget: &Budget) -> Result<InstalledSchema> {
    let text = LedgerSql::of(engine.kind());
    let say = |sql: &str| text.statement(prefix(engine.kind()), sql, Vec::<Bind>::new());
    let there = engine.read(&[say("{look}")], budget).await?;
    if there.into_iter().flatten().next().is_none() {
        return Ok(InstalledSchema::Nothing);
    }
    let mut rows = engine.read(&[say("SELECT max(version) FROM {ledger}"), say("{look_deeper}")], budget).await?;
    if let Some(reason) = without_transactions(&rows.pop().unwrap_or_default()) {
        return Ok(InstalledSchema::Unsafe(reason));
    }
    match rows.into_iter().flatten().next() {
        Some(Row(values)) => match values.first() {
            Some(Value::Int(version)) => Ok(InstalledSchema::Version(*version)),
            _ => Ok(InstalledSchema::Version(0)),
        },
        None => Ok(InstalledSchema::Version(0)),
    }
}

/// Why tables that somebody made over are no record any more, given each with its storage engine.
fn without_transactions(rows: &[Row]) -> Option<String> {
    let told = |Row(values): &Row| match values.as_slice() {
        [Value::Text(table), Value::Text(engine)] => Some((table.clone(), engine.clone())),
        _ => None,
    };
    let tables: Vec<(String, String)> = rows.iter().filter_map(told).collect();
    if tables.is_empty() {
        return None;
    }
    let names: Vec<String> = tables.iter().map(|(table, engine)| format!("{table} ({engine})")).collect();
    let mended: Vec<String> =
        tables.iter().map(|(table, _)| format!("`ALTER TABLE {table} ENGINE = InnoDB`")).collect();
    Some(format!(
        "it has tables without transactions, {}, so that what is done and the record of it would part when something fails; {} \
         mends it",
        names.join(" and "),
        mended.join(" and ")
    ))
}

/// Whether this program can use a record of that version, or what has to be done about it.
pub(super) fn fits(version: i64) -> std::result::Result<(), String> {
    match version.cmp(&latest()) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => {
            Err("it is of an earlier version: `dlq-tui init --ledger` brings it up to date".to_owned())
        }
        std::cmp::Ordering::Greater => Err("it is of a later version of dlq-tui".to_owned()),
    }
}

/// What an operator needs to use a record in a database, as statements for whoever may grant it; empty where rights are
/// those of the file.
pub(super) fn grants(dialect: DatabaseKind, database: &str, user: &str) -> Vec<String> {
    match dialect {
        DatabaseKind::Postgres => {
            let role =
                if user.is_empty() { "OPERATOR".to_owned() } else { format!("\"{}\"", user.replace('"', "\"\"")) };
            vec![
                format!("GRANT USAGE ON SCHEMA dlq_tui TO {role};"),
                format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dlq_tui TO {role};"),
            ]
        }
        DatabaseKind::Mysql => {
            let user = match user.rsplit_once('@') {
                Some((name, host)) => format!("'{}'@'{}'", name.replace('\'', "''"), host.replace('\'', "''")),
                None => "OPERATOR".to_owned(),
            };
            let database = database.replace('`', "``");
            let grant = |table: &&str| {
                format!("GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}`.dlq_tui_{table} TO {user};")
            };
            TABLES.iter().map(grant).collect()
        }
        DatabaseKind::Sqlite => Vec::new(),
    }
}

/// What installing a record in a source does, or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerInstallation {
    /// The statements that are missing, as they can be given to the database's own client; empty where none is.
    pub ddl: String,
    /// What other operators need, as statements; empty where the engine has no rights of its own.
    pub grants: Vec<String>,
    /// Whether there is a record already, which is only brought up to date.
    pub update: bool,
    statements: Vec<String>,
}

impl LedgerInstallation {
    /// Looks what is missing, and changes nothing.
    ///
    /// # Errors
    /// As [`SourceError`] says; also when the record there is of a later version of this program.
    pub async fn plan(source: &ConnectedSource, budget: &Budget) -> Result<Self> {
        let engine = source.need_sql()?;
        let dialect = engine.kind();
        let from = match installed_schema(engine, budget).await? {
            InstalledSchema::Nothing => 0,
            InstalledSchema::Version(version) => version,
            InstalledSchema::Unsafe(reason) => {
                return Err(SourceError::Input(format!("the ledger there cannot be used: {reason}")));
            }
        };
        if from > latest() {
            return Err(SourceError::Input("the ledger there is of a later version of dlq-tui".to_owned()));
        }
        let steps: Vec<String> = shared().filter(|m| m.no > from).map(|m| m.ddl(dialect)).collect();
        let mut ddl = steps.iter().map(|s| s.trim()).filter(|s| !s.is_empty()).collect::<Vec<_>>().join("\n\n");
        if from < latest() {
            ddl = format!("{ddl}\n\nINSERT INTO {}ledger (version) VALUES ({});\n", prefix(dialect), latest());
        }
        let statements = statements(&ddl);
        let grants = grants(dialect, engine.database(), "");
        Ok(Self { ddl, grants, update: from > 0, statements })
    }

    /// Runs the missing statements, all of them or none where the database can undo DDL.
    ///
    /// # Errors
    /// As [`SourceError`] says; a role without the right to create is `Denied`.
    pub async fn install(&self, source: &ConnectedSource, budget: &Budget) -> Result<()> {
        if self.statements.is_empty() {
            return Ok(());
        }
        let mut tx = source.need_sql()?.begin(budget).await?;
        for sql in &self.statements {
            tx.execute(&Statement { sql: sql.clone(), binds: Vec::new() }).await?;
        }
        tx.commit().await
    }
}

/// The statements of a file, without its comments: one may end like a statement, and MySQL takes no comment for a statement.
fn statements(ddl: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("--");
    let code: String = ddl.lines().filter(is_code).map(|line| format!("{line}\n")).collect();
    code.split(";\n").map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::dialect::LOCAL;

    #[test]
    fn a_comment_that_ends_like_a_statement_is_none() {
        for dialect in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
            for statement in shared().flat_map(|m| statements(&m.ddl(dialect))) {
                let word = statement.split_whitespace().next().unwrap_or_default();
                assert!(
                    ["CREATE", "ALTER", "DROP", "UPDATE", "INSERT", "DELETE"].contains(&word),
                    "{dialect:?}: {statement}"
                );
            }
        }
    }

    #[test]
    fn every_engine_gets_every_table_under_a_name_of_our_own() {
        for dialect in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
            let ddl: String = shared().map(|m| m.ddl(dialect)).collect();
            for table in TABLES {
                assert!(ddl.contains(&format!("CREATE TABLE {}{table} (", prefix(dialect))), "{dialect:?} {table}");
            }
            assert!(LOCAL.iter().all(|table| !ddl.contains(table)), "{dialect:?}");
            for line in ddl.lines().filter(|line| line.starts_with("CREATE") || line.starts_with("ALTER")) {
                assert!(line.contains("dlq_tui"), "{dialect:?}: {line}");
            }
        }
    }

    #[test]
    fn a_grant_names_who_needs_it() {
        assert!(grants(DatabaseKind::Postgres, "shop", "ada")[0].ends_with("TO \"ada\";"));
        assert!(grants(DatabaseKind::Mysql, "shop", "ada@%")[0].contains("`shop`.dlq_tui_ledger TO 'ada'@'%';"));
        assert!(grants(DatabaseKind::Sqlite, "shop.db", "").is_empty());
    }
}
