//! What to connect to: read from a URL, the environment, a service file.
//!
//! For PostgreSQL the order is libpq's: what the URL says, then the service (`service=` or `PGSERVICE`), then the `PG*`
//! variables, then `~/.pgpass` for the password. For MySQL it is the URL, then `MYSQL_PWD` for the password. For Redis it is the
//! URL, then `REDISCLI_AUTH` for the password.

mod passfile;
pub(crate) mod redis;
mod server;
mod service;
mod session_attrs;
mod tls_files;
mod unsupported_options;
mod url;

use std::fmt;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use self::redis::RedisServer;
use self::server::Server;
pub use self::session_attrs::SessionAttrs;
use crate::db::DatabaseKind;
use crate::domain::secret::SecretString;
use crate::domain::source_error::{Result, SourceError};

/// A database to connect to. Neither `Debug` nor `Display` shows its password.
#[derive(Clone)]
pub struct Target {
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Postgres(Server),
    Mysql(Server),
    Sqlite { file: PathBuf, create: bool },
    Redis(RedisServer),
}

/// How what goes over the wire is protected, as far as we ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// There is no wire: a file, or a Unix socket.
    Local,
    /// Encrypted, and the server has proved that it is the one of that name.
    Verified,
    /// Encrypted, and the server has a certificate of an authority that is trusted; for any name.
    Issued,
    /// Encrypted; anybody in between could pose as the server.
    Unverified,
    /// Encrypted where the server offers it; anybody in between could pose as the server.
    Perhaps,
    /// Never encrypted.
    Clear,
}

/// The variables of which any names a database by itself; the first counts before the others.
pub const NAMING: [&str; 6] = ["DATABASE_URL", "PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "REDIS_URL"];

/// Reads a variable of the environment.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Target {
    /// Reads a URL, with what the environment adds to it.
    ///
    /// # Errors
    /// A sentence that says what is wrong, without the password.
    pub fn from_url(text: &str) -> Result<Self> {
        Self::read_url(text, &process_env)
    }

    /// What the environment alone says: `DATABASE_URL`, else the `PG*` variables, else `REDIS_URL`; `None` when it says nothing.
    ///
    /// # Errors
    /// As [`Target::from_url`].
    pub fn from_env() -> Result<Option<Self>> {
        Self::read_env(&process_env)
    }

    /// An SQLite file; `create` makes it where it is missing.
    pub fn sqlite(file: impl Into<PathBuf>, create: bool) -> Self {
        Self { kind: Kind::Sqlite { file: file.into(), create } }
    }

    fn read_env(env: Env<'_>) -> Result<Option<Self>> {
        let [url, parts @ .., redis] = NAMING;
        let read = |name: &str, text: &str| {
            Self::read_url(text, env).map(Some).map_err(|error| SourceError::Input(format!("{name}: {error}")))
        };
        if let Some(text) = env(url) {
            return read(url, &text);
        }
        if parts.iter().any(|name| env(name).is_some()) {
            Self::read_url("postgres://", env).map(Some)
        } else {
            env(redis).map_or(Ok(None), |text| read(redis, &text))
        }
    }

    fn read_url(text: &str, env: Env<'_>) -> Result<Self> {
        let text = text.trim();
        let (scheme, rest) = text.split_once(':').ok_or_else(|| unsupported(None))?;
        let rest_of = |rest: &str| rest.strip_prefix("//").map(str::to_owned);
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => {
                let rest = rest_of(rest).ok_or_else(|| unsupported(Some(scheme)))?;
                Kind::Postgres(Server::postgres(url::parse(&rest).map_err(SourceError::Input)?, env)?)
            }
            "mysql" | "mysql2" | "mariadb" => {
                let rest = rest_of(rest).ok_or_else(|| unsupported(Some(scheme)))?;
                Kind::Mysql(Server::mysql(url::parse(&rest).map_err(SourceError::Input)?, env)?)
            }
            "sqlite" | "sqlite3" => sqlite(rest)?,
            scheme if RedisServer::speaks(scheme) => Kind::Redis(RedisServer::read(scheme, rest, env)?),
            _ => return Err(unsupported(Some(scheme))),
        };
        Ok(Self { kind })
    }

    /// Which SQL is spoken there.
    ///
    /// # Errors
    /// When none is, as in Redis.
    pub(crate) fn sql_kind(&self) -> Result<DatabaseKind> {
        match self.kind {
            Kind::Postgres(_) => Ok(DatabaseKind::Postgres),
            Kind::Mysql(_) => Ok(DatabaseKind::Mysql),
            Kind::Sqlite { .. } => Ok(DatabaseKind::Sqlite),
            Kind::Redis(_) => {
                Err(SourceError::Input("this is for SQL databases, and the URL names a Redis server".into()))
            }
        }
    }

    /// Whether the source is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.kind, Kind::Sqlite { .. })
    }

    /// User, host, port and database as the header shows them, such as `shop@db1:5432/shop`; a file's whole path, because
    /// the record must never take two files of the same name for one.
    pub fn label(&self) -> String {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.label(),
            Kind::Redis(server) => server.label(),
            Kind::Sqlite { file, .. } => absolute(file).display().to_string(),
        }
    }

    /// The user, where one is named.
    pub fn user(&self) -> Option<&str> {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.user(),
            Kind::Redis(server) => server.user.as_deref(),
            Kind::Sqlite { .. } => None,
        }
    }

    /// The hosts that are named, or the folders of Unix sockets.
    pub fn hosts(&self) -> &[String] {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.hosts(),
            Kind::Redis(server) => server.hosts(),
            Kind::Sqlite { .. } => &[],
        }
    }

    /// The database, where one is named on a server.
    pub fn database(&self) -> Option<&str> {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.database(),
            Kind::Redis(_) | Kind::Sqlite { .. } => None,
        }
    }

    /// Host, port and database, whoever asks for them; or the file's whole path.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.place(),
            Kind::Redis(server) => server.place_text(),
            Kind::Sqlite { .. } => self.label(),
        }
    }

    /// How what goes over the wire is protected.
    pub fn transport(&self) -> Transport {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.transport(),
            Kind::Redis(server) => server.transport(),
            Kind::Sqlite { .. } => Transport::Local,
        }
    }

    /// Whether the text held a password: on a command line others could see it.
    pub fn has_password(&self) -> bool {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.password_in_url,
            Kind::Redis(server) => server.password_in_url,
            Kind::Sqlite { .. } => false,
        }
    }

    /// Whether it is on this machine, as far as its address says: a tunnel looks like that, too.
    pub fn is_here(&self) -> bool {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.is_here(),
            Kind::Redis(server) => server.is_here(),
            Kind::Sqlite { .. } => true,
        }
    }

    /// Whether it could use a password, and neither its address nor the environment has one.
    pub fn lacks_password(&self) -> bool {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.lacks_password(),
            Kind::Redis(server) => server.password.is_none(),
            Kind::Sqlite { .. } => false,
        }
    }

    /// The same with another password.
    pub fn with_password(mut self, password: SecretString) -> Self {
        match &mut self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.set_password(password),
            Kind::Redis(server) => server.password = Some(password),
            Kind::Sqlite { .. } => {}
        }
        self
    }

    /// The variable or service that named the host; `None` where the URL did, or nothing.
    pub(super) fn host_from(&self) -> Option<&str> {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => {
                server.origins.host.as_deref().filter(|from| *from != "the URL")
            }
            Kind::Redis(_) | Kind::Sqlite { .. } => None,
        }
    }

    /// Which password a server has refused, or where one was searched for: the places, never the password. `login` is host, port,
    /// database and user.
    pub(super) fn password_story(&self, login: &[String; 4]) -> Option<String> {
        match &self.kind {
            Kind::Postgres(server) => Some(server.password_story(login, true)),
            Kind::Mysql(server) => Some(server.password_story(login, false)),
            Kind::Redis(_) | Kind::Sqlite { .. } => None,
        }
    }

    /// What the operator should know of where its password is kept, as a sentence.
    pub fn password_warning(&self) -> Option<&str> {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.origins.remark.as_deref(),
            Kind::Redis(_) | Kind::Sqlite { .. } => None,
        }
    }

    /// How long connecting may take, where the URL, the service or the environment says.
    pub fn connect_timeout(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.connect_timeout,
            Kind::Redis(server) => server.connect_timeout,
            Kind::Sqlite { .. } => None,
        }
    }

    /// The servers in the order in which they are tried, and what the one has to be that we stay with.
    pub(super) fn postgres_options(&self) -> Result<(Vec<PgConnectOptions>, SessionAttrs)> {
        match &self.kind {
            Kind::Postgres(server) => Ok((server.postgres_options()?, server.wanted())),
            _ => Err(SourceError::Input("not a PostgreSQL database".into())),
        }
    }

    /// Whether it names a certificate of our own to show to the server.
    pub(super) fn has_certificate(&self) -> bool {
        match &self.kind {
            Kind::Postgres(server) | Kind::Mysql(server) => server.has_certificate(),
            Kind::Redis(_) | Kind::Sqlite { .. } => false,
        }
    }

    pub(super) fn mysql_options(&self) -> Result<MySqlConnectOptions> {
        match &self.kind {
            Kind::Mysql(server) => server.mysql_options(),
            _ => Err(SourceError::Input("not a MySQL database".into())),
        }
    }

    /// The file's options, and why it can only be read where that is so.
    pub(super) fn sqlite_options(&self, read_only: bool) -> Result<(SqliteConnectOptions, Option<String>)> {
        let Kind::Sqlite { file, create } = &self.kind else {
            return Err(SourceError::Input("not an SQLite database".into()));
        };
        let reason = if read_only {
            Some("opened read-only".to_owned())
        } else if file.exists() {
            why_read_only(file)
        } else {
            None
        };
        if !file.exists() && !create {
            return Err(SourceError::Input(format!(
                "there is no SQLite file {}; a URL that ends in ?mode=rwc makes one",
                file.display()
            )));
        }
        let create = *create && reason.is_none();
        Ok((SqliteConnectOptions::new().filename(file).create_if_missing(create), reason))
    }
}

/// The settings of a Redis server, where the target is one.
pub(crate) fn redis_of(target: &Target) -> Option<&RedisServer> {
    match &target.kind {
        Kind::Redis(server) => Some(server),
        _ => None,
    }
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn why_read_only(file: &Path) -> Option<String> {
    match OpenOptions::new().append(true).open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Some(format!("no permission to write {}", file.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::ReadOnlyFilesystem => {
            Some(format!("{} is on a read-only file system", file.display()))
        }
        Err(_) => None,
        // Beside it stand its journal, and its write-ahead log.
        Ok(_) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let may_write = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK);
            let why = may_write.err()?;
            Some(format!("no permission to write the folder {}, where the journal stands: {why}", folder.display()))
        }
    }
}

fn sqlite(rest: &str) -> Result<Kind> {
    let (path, query) = rest.split_once('?').map_or((rest, ""), |(path, query)| (path, query));
    // `sqlite:shop.db`, `sqlite://shop.db` and `sqlite:///var/shop.db` are all in use.
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = url::decode(path).map_err(SourceError::Input)?;
    if path.is_empty() || path == ":memory:" {
        return Err(SourceError::Input("an SQLite URL names a file: sqlite:path/to/file.db".into()));
    }
    let create = match query {
        "" | "mode=rw" => false,
        "mode=rwc" => true,
        _ => {
            return Err(SourceError::Input(
                "an SQLite URL knows only ?mode=rw and ?mode=rwc; --read-only never writes".into(),
            ));
        }
    };
    Ok(Kind::Sqlite { file: path.into(), create })
}

fn unsupported(scheme: Option<&str>) -> SourceError {
    let known = "expected postgres://…, mysql://…, mariadb://…, sqlite:path or redis://…";
    // A scheme is letters and digits; anything else may be the start of a password.
    match scheme.filter(|s| s.chars().all(|c| c.is_ascii_alphanumeric()) && s.len() <= 12) {
        Some(scheme) => SourceError::Input(format!("{scheme}: is no database URL that is known here: {known}")),
        None => SourceError::Input(format!("this is no database URL: {known}")),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.sql_kind().map_or("redis", DatabaseKind::word);
        write!(f, "Target({kind} {})", self.label())
    }
}

#[cfg(test)]
mod tests;
