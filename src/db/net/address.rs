//! Where we connect to, as errors name it: the address, what named it, and what became of the password.

use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::db::DatabaseKind;
use crate::db::driver::error_map::is_puzzling;
use crate::db::net::peer::{Peer, peer_at};
use crate::db::target::Target;
use crate::domain::source_error::{Result, SourceError};

/// Where we connect to.
pub(crate) struct Address {
    /// The servers, such as `db1:5432`, or the file.
    text: String,
    /// What named them, where that is known: an option, a variable, a source of the config.
    named_by: Option<String>,
    /// Host and port of the only server, where it is reached over TCP.
    tcp: Option<(String, u16)>,
    target: Target,
    /// Host, port, database and user, as a file of passwords has them.
    login: [String; 4],
}

impl Address {
    pub(crate) fn postgres(target: &Target, servers: &[PgConnectOptions]) -> Self {
        let [first, rest @ ..] = servers else { return Self::file(target) };
        let text = servers.iter().map(postgres_server).collect::<Vec<_>>().join(",");
        let is_socket = first.get_socket().is_some() || first.get_host().starts_with('/');
        let (host, port) = (first.get_host().to_owned(), first.get_port());
        let database = first.get_database().unwrap_or_default().to_owned();
        let login = [host.clone(), port.to_string(), database, first.get_username().to_owned()];
        let tcp = (rest.is_empty() && !is_socket).then_some((host, port));
        Self { text, named_by: None, tcp, target: target.clone(), login }
    }

    pub(crate) fn mysql(target: &Target, server: &MySqlConnectOptions) -> Self {
        let tcp = server.get_socket().is_none().then(|| (server.get_host().to_owned(), server.get_port()));
        let text = match (server.get_socket(), &tcp) {
            (None, Some((host, port))) => tcp_text(host, *port),
            (socket, _) => socket.map(|socket| socket.display().to_string()).unwrap_or_default(),
        };
        Self { text, named_by: None, tcp, target: target.clone(), login: Default::default() }
    }

    pub(crate) fn file(target: &Target) -> Self {
        Self { text: target.label(), named_by: None, tcp: None, target: target.clone(), login: Default::default() }
    }

    /// With what named it, unless the host came from elsewhere.
    pub(crate) fn named_by(mut self, option: &str) -> Self {
        let named_by = self.target.host_from().unwrap_or(option);
        self.named_by = Some(named_by.to_owned()).filter(|name| !name.is_empty());
        self
    }

    /// An error of connecting with the address.
    pub(crate) fn tell(&self, error: SourceError) -> SourceError {
        let named_by = self.named_by.as_ref().map(|name| format!(" (from {name})")).unwrap_or_default();
        let told = |why: String| match self.text.contains(',') && why.contains(&self.login[0]) {
            // Each of several servers is named already.
            true => format!("{why}{named_by}"),
            false => format!("{}{named_by}: {why}", self.text),
        };
        match error {
            SourceError::Unreachable(why) => SourceError::Unreachable(told(why)),
            SourceError::Unproven(why) => SourceError::Unproven(told(why)),
            SourceError::Refused { message, code: Some(code) } => {
                let password = is_login(&code).then(|| self.target.password_story(&self.login)).flatten();
                let password = password.map(|story| format!("; {story}")).unwrap_or_default();
                SourceError::Refused { message: told(format!("{message}{password}")), code: Some(code) }
            }
            SourceError::Unfit { message, code } => SourceError::Unfit { message: told(message), code },
            other => other,
        }
    }

    /// A first connection, or why there is none: where that puzzles, with what answers there instead.
    pub(crate) async fn explained<T>(&self, connected: Result<T>) -> Result<T> {
        match connected {
            Err(error) if is_puzzling(&error) => Err(self.tell(self.with_peer(error).await)),
            other => other.map_err(|error| self.tell(error)),
        }
    }

    async fn with_peer(&self, error: SourceError) -> SourceError {
        let Some((host, port)) = &self.tcp else { return error };
        let Ok(expected) = self.target.sql_kind() else { return error };
        let sentence = match peer_at(host, *port).await {
            Some(Peer::Database(dialect)) if dialect == expected => return error,
            Some(Peer::Database(dialect)) => {
                format!("what answers there is {}; the URL says {}", product(dialect), scheme(expected))
            }
            Some(Peer::Other(what)) => format!("what answers there is {what}, not {}", product(expected)),
            Some(Peer::Silent) => {
                format!("something accepts connections there and never answers: is it {}?", product(expected))
            }
            None => return error,
        };
        SourceError::Unreachable(sentence)
    }
}

fn postgres_server(server: &PgConnectOptions) -> String {
    let (host, port) = (server.get_host(), server.get_port());
    match server.get_socket().map(|folder| folder.display().to_string()) {
        Some(folder) => format!("{folder}/.s.PGSQL.{port}"),
        None if host.starts_with('/') => format!("{host}/.s.PGSQL.{port}"),
        None => tcp_text(host, port),
    }
}

fn tcp_text(host: &str, port: u16) -> String {
    match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Whether a code says that the login was refused: by PostgreSQL, or by MySQL and MariaDB.
fn is_login(code: &str) -> bool {
    matches!(code, "28P01" | "1045" | "1698")
}

fn product(dialect: DatabaseKind) -> &'static str {
    match dialect {
        DatabaseKind::Postgres => "PostgreSQL",
        DatabaseKind::Mysql => "MySQL or MariaDB",
        DatabaseKind::Sqlite => "an SQLite file",
    }
}

fn scheme(dialect: DatabaseKind) -> &'static str {
    match dialect {
        DatabaseKind::Postgres => "postgres://",
        DatabaseKind::Mysql => "mysql://",
        DatabaseKind::Sqlite => "sqlite:",
    }
}
