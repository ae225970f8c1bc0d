//! A database server: where it is, who we are to it, and how far it is trusted.

use std::net::IpAddr;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::db::target::tls_files::Files;
use crate::db::target::url::{Parts, encode, port_number};
use crate::db::target::{Env, SessionAttrs, Transport, passfile, service, unsupported_options};
use crate::domain::secret::{ExposeSecret, SecretString};
use crate::domain::source_error::{Result, SourceError};

/// How the connection is to be encrypted, under PostgreSQL's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tls {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// A server's settings; what is `None` is left to the engine's default.
#[derive(Clone, Default)]
pub(super) struct Server {
    user: Option<String>,
    password: Option<SecretString>,
    pub password_in_url: bool,
    /// Tried one after the other.
    hosts: Vec<String>,
    /// One for each host, or one for all; `None` is the usual one.
    ports: Vec<Option<u16>>,
    wanted: SessionAttrs,
    database: Option<String>,
    tls: Tls,
    files: Files,
    pub connect_timeout: Option<Duration>,
    default_port: u16,
    pub origins: Origins,
}

/// Where settings came from, as errors say it.
#[derive(Clone, Default)]
pub(super) struct Origins {
    /// The variable or the service that named the host; `None` where the URL did, or nothing.
    pub host: Option<String>,
    /// What holds the password.
    password: Option<String>,
    /// The places that were searched for a password, in order.
    searched: Vec<String>,
    /// What the operator should know of where passwords are kept, as a sentence.
    pub remark: Option<String>,
}

impl Origins {
    /// Notes what set a setting.
    fn note(&mut self, key: &str, by: &str) {
        match key {
            "host" | "hostaddr" => self.host = Some(by.to_owned()),
            "password" => self.password = Some(by.to_owned()),
            _ => {}
        }
    }
}

impl Server {
    /// PostgreSQL: URL over service over environment.
    pub(super) fn postgres(parts: Parts, env: Env<'_>) -> Result<Self> {
        let mut server = Self { default_port: 5432, ..Self::default() };
        let from_env = [
            ("PGHOST", "host"),
            ("PGHOSTADDR", "hostaddr"),
            ("PGPORT", "port"),
            ("PGUSER", "user"),
            ("PGPASSWORD", "password"),
            ("PGDATABASE", "dbname"),
            ("PGSSLMODE", "sslmode"),
            ("PGSSLROOTCERT", "sslrootcert"),
            ("PGSSLCERT", "sslcert"),
            ("PGSSLKEY", "sslkey"),
            ("PGCONNECT_TIMEOUT", "connect_timeout"),
            ("PGTARGETSESSIONATTRS", "target_session_attrs"),
            ("PGCHANNELBINDING", "channel_binding"),
            ("PGGSSENCMODE", "gssencmode"),
            ("PGREQUIREAUTH", "require_auth"),
            ("PGREQUIREPEER", "requirepeer"),
            ("PGSSLCRL", "sslcrl"),
            ("PGSSLCRLDIR", "sslcrldir"),
            ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
            ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
        ];
        for (variable, key) in from_env {
            if let Some(value) = env(variable) {
                server.set(key, &value).map_err(|error| SourceError::Input(format!("{variable}: {error}")))?;
                server.origins.note(key, variable);
            }
        }
        server.origins.searched = vec!["the URL".into(), "PGPASSWORD".into()];
        let named = parts.params.iter().find(|(key, _)| key == "service").map(|(_, name)| name.clone());
        if let Some(name) = named.or_else(|| env("PGSERVICE")) {
            server.origins.searched.push(format!("service {name}"));
            for (key, value) in service::load(&name, env).map_err(SourceError::Input)? {
                // As libpq does, settings of other clients' interest are left alone.
                server.set(&key, &value).map_err(|error| SourceError::Input(format!("service {name}: {error}")))?;
                server.origins.note(&key, &format!("service {name}"));
            }
        }
        server.apply(parts)?;
        if server.ports.len() > 1 && server.ports.len() != server.hosts.len() {
            let (hosts, ports) = (server.hosts.len(), server.ports.len());
            return Err(SourceError::Input(format!(
                "{hosts} hosts and {ports} ports are named: name a port for each host, or one"
            )));
        }
        if !server.trusts_the_machine_alone() {
            server.files.or_usual(env);
        }
        server.asks_whom_it_names();
        if server.password.is_none() {
            server.origins.remark = passfile::ignored_file_warning(env);
        }
        Ok(server)
    }

    /// MySQL and MariaDB: the URL, and for the password the variable that their own clients read.
    pub(super) fn mysql(parts: Parts, env: Env<'_>) -> Result<Self> {
        let password = env("MYSQL_PWD").map(SecretString::from);
        let mut server = Self { default_port: 3306, password, ..Self::default() };
        server.origins.searched = vec!["the URL".into(), "MYSQL_PWD (~/.my.cnf is not read)".into()];
        server.origins.password = server.password.as_ref().map(|_| "MYSQL_PWD".to_owned());
        server.apply(parts)?;
        if server.hosts.len() > 1 || server.wanted != SessionAttrs::Any {
            return Err(SourceError::Input("several hosts: name one (only PostgreSQL can be given more)".into()));
        }
        server.trusts_the_machine_alone();
        server.asks_whom_it_names();
        Ok(server)
    }

    /// Reads libpq's word for the authorities that the machine trusts, of whom anybody can have a certificate: so the name counts.
    fn trusts_the_machine_alone(&mut self) -> bool {
        let is_word = self.files.root_cert.as_deref() == Some("system");
        if is_word {
            self.files.root_cert = None;
            self.tls = Tls::VerifyFull;
        }
        is_word
    }

    /// As libpq has it: an authority is named to be asked.
    fn asks_whom_it_names(&mut self) {
        if self.tls == Tls::Require && self.files.root_cert.is_some() {
            self.tls = Tls::VerifyCa;
        }
    }

    /// Whether a certificate of our own is named.
    pub(super) fn has_certificate(&self) -> bool {
        self.files.cert.is_some()
    }

    fn apply(&mut self, parts: Parts) -> Result<()> {
        self.password_in_url = parts.password.is_some();
        if parts.password.is_some() {
            self.origins.password = Some("the URL".into());
        }
        if !parts.hosts.is_empty() {
            self.origins.host = None;
        }
        self.user = parts.user.or(self.user.take());
        self.password = parts.password.or(self.password.take());
        if !parts.hosts.is_empty() {
            self.hosts = parts.hosts;
        }
        if !parts.ports.is_empty() {
            self.ports = parts.ports;
        }
        self.database = parts.path.or(self.database.take());
        for (key, value) in &parts.params {
            self.password_in_url |= key == "password";
            self.origins.note(key, "the URL");
            let known = self.set(key, value).map_err(SourceError::Input)?;
            if !known && key != "service" && key != "application_name" {
                return Err(SourceError::Input(format!("the URL's setting {key:?} is not known here")));
            }
        }
        Ok(())
    }

    /// Sets one setting by libpq's (or MySQL's) name for it; `false` when the name is unknown.
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<bool, String> {
        let text = || Some(value.to_owned());
        match key.replace('-', "_").as_str() {
            "host" | "hostaddr" | "socket" => self.hosts = listed(value).map(str::to_owned).collect(),
            "port" => {
                self.ports =
                    listed(value).map(|port| port_number(port).map(Some)).collect::<std::result::Result<_, _>>()?
            }
            "target_session_attrs" => self.wanted = SessionAttrs::read(value)?,
            "user" => self.user = text(),
            "password" => self.password = Some(SecretString::from(value)),
            "dbname" => self.database = text(),
            "sslmode" | "ssl_mode" => self.tls = tls(value)?,
            "sslrootcert" | "ssl_root_cert" | "ssl_ca" => self.files.root_cert = text(),
            "sslcert" | "ssl_cert" => self.files.cert = text(),
            "sslkey" | "ssl_key" => self.files.key = text(),
            "connect_timeout" => {
                let seconds: u64 =
                    value.trim().parse().map_err(|_| "connect_timeout is not a whole number of seconds".to_owned())?;
                self.connect_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
            }
            key => return unsupported_options::holds(key, value),
        }
        Ok(true)
    }

    /// Each server's host, or directory or file of a Unix socket, and port.
    fn addresses(&self) -> impl Iterator<Item = (Option<&str>, Option<u16>)> {
        let port = |n: usize| self.ports.get(if self.ports.len() == 1 { 0 } else { n }).copied().flatten();
        (0..self.hosts.len().max(1)).map(move |n| (self.hosts.get(n).map(String::as_str), port(n)))
    }

    /// Whether every way to it is a Unix socket.
    fn is_socket(&self) -> bool {
        self.addresses().all(|(host, _)| host.is_some_and(|host| host.starts_with('/')))
    }

    /// What the server is to be that we connect to.
    pub(super) fn wanted(&self) -> SessionAttrs {
        self.wanted
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub(super) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    pub(super) fn label(&self) -> String {
        let user = self.user.as_deref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{user}{}", self.place())
    }

    /// Hosts, ports and database.
    pub(super) fn place(&self) -> String {
        let database = self.database.as_deref().map(|name| format!("/{name}")).unwrap_or_default();
        let servers: Vec<String> = self
            .addresses()
            .map(|(host, port)| match host.unwrap_or("localhost") {
                socket if socket.starts_with('/') => format!("[{socket}]"),
                host => {
                    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
                    format!("{host}:{}", port.unwrap_or(self.default_port))
                }
            })
            .collect();
        servers.join(",") + &database
    }

    /// Whether the server is on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.addresses().all(|(host, _)| match host {
            None | Some("localhost") => true,
            Some(host) => host.starts_with('/') || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        })
    }

    pub(super) fn transport(&self) -> Transport {
        match self.tls {
            _ if self.is_socket() => Transport::Local,
            Tls::Disable => Transport::Clear,
            Tls::Prefer => Transport::Perhaps,
            Tls::Require => Transport::Unverified,
            Tls::VerifyCa => Transport::Issued,
            Tls::VerifyFull => Transport::Verified,
        }
    }

    /// Whether neither the address nor the environment has a password.
    pub(super) fn lacks_password(&self) -> bool {
        self.password.is_none()
    }

    /// Takes a password that was typed.
    pub(super) fn set_password(&mut self, password: SecretString) {
        self.password = Some(password);
        self.origins.password = None;
    }

    /// Which password was refused, or where one was searched for; never the password. `login` is host, port, database and user,
    /// as a file of passwords has them.
    pub(super) fn password_story(&self, login: &[String; 4], reads_files: bool) -> String {
        if self.password.is_some() {
            return match &self.origins.password {
                Some(place) => format!("the password is from {place}"),
                None => "the password was typed".to_owned(),
            };
        }
        let mut searched = self.origins.searched.clone();
        if reads_files {
            match passfile::find_line(&super::process_env, login) {
                Ok(file) => return format!("the password is from {file}"),
                Err(files) => searched.extend(files),
            }
        }
        format!("no password was found; looked in {}", searched.join(", "))
    }

    /// Looks at the files that this way of encryption needs.
    fn check_files(&self) -> Result<()> {
        let root = match self.tls {
            Tls::VerifyCa | Tls::VerifyFull => self.files.check_root(),
            _ => Ok(()),
        };
        let own = if self.tls == Tls::Disable { Ok(()) } else { self.files.check_own() };
        root.and(own).map_err(SourceError::Input)
    }

    /// The options of each server, in the order in which they are tried.
    pub(super) fn postgres_options(&self) -> Result<Vec<PgConnectOptions>> {
        self.check_files()?;
        self.addresses().map(|(host, port)| self.postgres_at(host, port)).collect()
    }

    fn postgres_at(&self, host: Option<&str>, port: Option<u16>) -> Result<PgConnectOptions> {
        // The driver looks a password up in ~/.pgpass only while it reads a URL; so it is given one, without password.
        let mut url = "postgres://?".to_owned();
        let port = port.map(|port| port.to_string());
        let given = [
            ("host", host),
            ("port", port.as_deref()),
            ("user", self.user.as_deref()),
            ("dbname", self.database.as_deref()),
        ];
        for (key, value) in given {
            if let Some(value) = value {
                url.push_str(&format!("{key}={}&", encode(value)));
            }
        }
        let options: PgConnectOptions = url
            .parse()
            .map_err(|_| SourceError::Input("the connection settings cannot be read by the driver".into()))?;
        let mut options = options.ssl_mode(match self.tls {
            Tls::Disable => PgSslMode::Disable,
            Tls::Prefer => PgSslMode::Prefer,
            Tls::Require => PgSslMode::Require,
            Tls::VerifyCa => PgSslMode::VerifyCa,
            Tls::VerifyFull => PgSslMode::VerifyFull,
        });
        if let Some(password) = &self.password {
            options = options.password(password.expose_secret());
        }
        if let Some(file) = &self.files.root_cert {
            options = options.ssl_root_cert(file);
        }
        if let Some(file) = &self.files.cert {
            options = options.ssl_client_cert(file);
        }
        if let Some(file) = &self.files.key {
            options = options.ssl_client_key(file);
        }
        Ok(options)
    }

    pub(super) fn mysql_options(&self) -> Result<MySqlConnectOptions> {
        self.check_files()?;
        let mut options = MySqlConnectOptions::new().ssl_mode(match self.tls {
            Tls::Disable => MySqlSslMode::Disabled,
            Tls::Prefer => MySqlSslMode::Preferred,
            Tls::Require => MySqlSslMode::Required,
            Tls::VerifyCa => MySqlSslMode::VerifyCa,
            Tls::VerifyFull => MySqlSslMode::VerifyIdentity,
        });
        let (host, port) = self.addresses().next().unwrap_or_default();
        options = match host {
            Some(socket) if socket.starts_with('/') => options.socket(socket),
            Some(host) => options.host(host),
            None => options,
        };
        if let Some(port) = port {
            options = options.port(port);
        }
        if let Some(user) = &self.user {
            options = options.username(user);
        }
        if let Some(password) = &self.password {
            options = options.password(password.expose_secret());
        }
        if let Some(database) = &self.database {
            options = options.database(database);
        }
        if let Some(file) = &self.files.root_cert {
            options = options.ssl_ca(file);
        }
        if let Some(file) = &self.files.cert {
            options = options.ssl_client_cert(file);
        }
        if let Some(file) = &self.files.key {
            options = options.ssl_client_key(file);
        }
        Ok(options)
    }
}

fn listed(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim)
}

fn tls(word: &str) -> std::result::Result<Tls, String> {
    Ok(match word.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" => Tls::Disable,
        // The driver has no "try without first": it would never encrypt.
        "allow" | "prefer" | "preferred" => Tls::Prefer,
        "require" | "required" => Tls::Require,
        "verify-ca" => Tls::VerifyCa,
        "verify-full" | "verify-identity" => Tls::VerifyFull,
        _ => return Err("sslmode is one of disable, prefer, require, verify-ca, verify-full".into()),
    })
}
