//! One test's database, and the plain SQL with which a test prepares it and looks at it.

use std::path::PathBuf;
use std::str::FromStr;

use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

/// The three dialects of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    Sqlite,
}

impl Engine {
    /// The name by which adapters and fixtures call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Sqlite => "sqlite",
        }
    }
}

/// A database that belongs to one test. Dropping the value removes it where nothing else would.
#[derive(Debug)]
pub struct TestDb {
    /// How the console is pointed at it. On a server it holds [`super::PASSWORD`].
    pub url: String,
    /// Which dialect it speaks.
    pub engine: Engine,
    name: String,
    cleanup: Cleanup,
}

#[derive(Debug)]
enum Cleanup {
    /// The server is thrown away as a whole.
    None,
    /// The server is somebody's: drop the database through this URL.
    Drop(String),
    /// Removed with the value.
    Folder { _folder: tempfile::TempDir },
}

/// Runs `$body` with a connection `$conn` of the engine's own type.
macro_rules! on_connection {
    ($engine:expr, $url:expr, |$conn:ident| $body:expr) => {
        match $engine {
            Engine::Postgres => {
                let mut $conn = PgConnection::connect($url).await.unwrap_or_else(|e| panic!("{}: {e}", $url));
                let result = $body;
                let _ = $conn.close().await;
                result
            }
            Engine::Mysql => {
                let mut $conn = MySqlConnection::connect($url).await.unwrap_or_else(|e| panic!("{}: {e}", $url));
                let result = $body;
                let _ = $conn.close().await;
                result
            }
            Engine::Sqlite => {
                let mut $conn = SqliteConnection::connect($url).await.unwrap_or_else(|e| panic!("{}: {e}", $url));
                let result = $body;
                let _ = $conn.close().await;
                result
            }
        }
    };
}

impl TestDb {
    pub(super) async fn sqlite(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("dlq-sqlite-").tempdir().expect("a temporary folder");
        let word: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
        let file = folder.path().join(format!("{word}.sqlite3"));
        let url = format!("sqlite://{}", file.display());
        let options = SqliteConnectOptions::from_str(&url).expect("a valid path").create_if_missing(true);
        let connection = options.journal_mode(SqliteJournalMode::Wal).connect().await.expect("an SQLite database");
        connection.close().await.expect("an SQLite database");
        Self { url, engine: Engine::Sqlite, name: word, cleanup: Cleanup::Folder { _folder: folder } }
    }

    pub(super) async fn create(engine: Engine, admin_url: &str, name: &str, must_drop: bool) -> Self {
        run(engine, admin_url, &format!("create database {name}")).await;
        let cleanup = if must_drop { Cleanup::Drop(admin_url.to_owned()) } else { Cleanup::None };
        Self { url: with_database(admin_url, name), engine, name: name.to_owned(), cleanup }
    }

    /// A database that is there already, on a server that is thrown away as a whole.
    pub(super) fn existing(engine: Engine, admin_url: &str, name: &str) -> Self {
        Self { url: with_database(admin_url, name), engine, name: name.to_owned(), cleanup: Cleanup::None }
    }

    /// The database of this name, which stays.
    #[allow(dead_code, reason = "the bench finds what it made before")]
    pub(super) async fn named(engine: Engine, admin_url: &str, name: &str) -> Self {
        let known = match engine {
            Engine::Postgres => "select datname from pg_database",
            _ => "select schema_name from information_schema.schemata",
        };
        let at = |url: String| Self { url, engine, name: name.to_owned(), cleanup: Cleanup::None };
        if !at(admin_url.to_owned()).column(known).await.iter().any(|one| one == name) {
            run(engine, admin_url, &format!("create database {name}")).await;
        }
        at(with_database(admin_url, name))
    }

    /// A copy of the database as it stands, which nobody else may be using meanwhile. On MySQL it has no foreign keys.
    pub async fn twin(&self) -> Self {
        if self.engine == Engine::Sqlite {
            let copy = Self::sqlite(&self.name).await;
            let file = copy.file().expect("a file");
            std::fs::remove_file(&file).expect("an empty database");
            self.execute(&format!("vacuum into '{}'", file.display())).await;
            return copy;
        }
        let admin = if self.engine == Engine::Postgres { "postgres" } else { "mysql" };
        let (admin_url, name) = (with_database(&self.url, admin), format!("{}_twin", self.name));
        let template = if self.engine == Engine::Postgres { format!(" template {}", self.name) } else { String::new() };
        run(self.engine, &admin_url, &format!("create database {name}{template}")).await;
        let cleanup = if matches!(self.cleanup, Cleanup::None) { Cleanup::None } else { Cleanup::Drop(admin_url) };
        let copy = Self { url: with_database(&self.url, &name), engine: self.engine, name, cleanup };
        if self.engine == Engine::Mysql {
            let tables = "select table_name from information_schema.tables where table_schema = database()";
            for table in self.column(tables).await {
                let original = format!("{}.{table}", self.name);
                copy.execute(&format!(
                    "create table {table} like {original}; insert into {table} select * from {original}"
                ))
                .await;
            }
        }
        copy
    }

    /// The database's own name, as the console's header shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file of an SQLite database.
    pub fn file(&self) -> Option<PathBuf> {
        self.url.strip_prefix("sqlite://").map(PathBuf::from)
    }

    /// Runs one or more statements, separated by semicolons.
    pub async fn execute(&self, sql: &str) {
        run(self.engine, &self.url, sql).await;
    }

    /// The same, for statements that other sessions may get in the way of.
    pub async fn try_execute(&self, sql: &str) -> Result<(), sqlx::Error> {
        on_connection!(self.engine, self.url.as_str(), |connection| raw(sql).execute(&mut connection).await.map(drop))
    }

    /// Runs statements in a transaction that stays open, on a server, and keeps nobody from adding rows.
    pub async fn begin(&self, sql: &str) -> OpenTransaction {
        let level =
            if self.engine == Engine::Mysql { "set session transaction isolation level read committed; " } else { "" };
        let begin = format!("{level}begin; {sql}");
        let mut open = match self.engine {
            Engine::Postgres => {
                OpenTransaction::Postgres(PgConnection::connect(&self.url).await.expect("a connection"))
            }
            Engine::Mysql => OpenTransaction::Mysql(MySqlConnection::connect(&self.url).await.expect("a connection")),
            Engine::Sqlite => panic!("SQLite has one writer: an open transaction would stop all others"),
        };
        open.run(&begin).await;
        open
    }

    /// The first column of the first row as text; `NULL` where it is null.
    pub async fn scalar(&self, sql: &str) -> String {
        self.column(sql).await.into_iter().next().unwrap_or_else(|| panic!("no row from: {sql}"))
    }

    /// The first column of every row as text; `NULL` where it is null.
    pub async fn column(&self, sql: &str) -> Vec<String> {
        self.column_at(sql, 0).await
    }

    /// Another column of every row, counted from 0.
    pub async fn column_at(&self, sql: &str, at: usize) -> Vec<String> {
        let values = on_connection!(self.engine, self.url.as_str(), |connection| {
            let rows = raw(sql).fetch_all(&mut connection).await;
            let rows = rows.unwrap_or_else(|e| panic!("{}: {e}\n{}", self.engine.name(), shortened(sql)));
            rows.iter().map(|row| row.try_get_unchecked::<Option<String>, _>(at)).collect::<Result<Vec<_>, _>>()
        });
        let values = values.unwrap_or_else(|e| panic!("{}: {e}\n{}", self.engine.name(), shortened(sql)));
        values.into_iter().map(|value| value.unwrap_or_else(|| "NULL".to_owned())).collect()
    }

    /// How many rows a table holds.
    pub async fn count(&self, table: &str) -> u64 {
        self.scalar(&format!("select count(*) from {table}")).await.parse().expect("a number")
    }
}

/// A transaction that is open, on a connection of its own; undone when it is dropped.
pub enum OpenTransaction {
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl OpenTransaction {
    pub async fn commit(mut self) {
        self.run("commit").await;
    }

    async fn run(&mut self, sql: &str) {
        let done = match self {
            Self::Postgres(connection) => raw(sql).execute(connection).await.map(drop),
            Self::Mysql(connection) => raw(sql).execute(connection).await.map(drop),
        };
        done.unwrap_or_else(|e| panic!("{e}\n{}", shortened(sql)));
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let Cleanup::Drop(admin_url) = &self.cleanup else { return };
        let force = if self.engine == Engine::Postgres { " with (force)" } else { "" };
        let statement = format!("drop database if exists {}{force}", self.name);
        let (engine, admin_url) = (self.engine, admin_url.clone());
        // A runtime of its own, because a value cannot be dropped asynchronously.
        let worker = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run(engine, &admin_url, &statement));
        });
        let _ = worker.join();
    }
}

async fn run(engine: Engine, url: &str, sql: &str) {
    let result = on_connection!(engine, url, |connection| raw(sql).execute(&mut connection).await.map(drop));
    result.unwrap_or_else(|e| panic!("{}: {e}\n{}", engine.name(), shortened(sql)));
}

#[expect(clippy::disallowed_methods, reason = "a test's own SQL: several statements, no values from outside")]
fn raw(sql: &str) -> sqlx::RawSql {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
}

fn shortened(sql: &str) -> String {
    let mut short: String = sql.chars().take(2_000).collect();
    if short.len() < sql.len() {
        short.push('…');
    }
    short
}

/// The URL with another database as its path, its options kept.
fn with_database(url: &str, name: &str) -> String {
    let (front, options) = url.split_once('?').map_or((url, None), |(front, options)| (front, Some(options)));
    let host_at = front.find("://").map_or(0, |at| at + 3);
    let path_at = front[host_at..].find('/').map_or(front.len(), |at| host_at + at);
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{}/{name}{options}", &front[..path_at])
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn the_database_in_a_url_is_replaced_and_its_options_stay() {
        assert_eq!(
            with_database("postgres://u:p@h:1/postgres?sslmode=disable", "x"),
            "postgres://u:p@h:1/x?sslmode=disable"
        );
        assert_eq!(with_database("mysql://u@h", "x"), "mysql://u@h/x");
    }
}
