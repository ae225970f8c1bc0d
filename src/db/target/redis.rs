//! A Redis server: where it is, who we are to it, and how far it is trusted.

use std::time::Duration;

use super::tls_files::Files;
use super::url::{Parts, decode, parse};
use super::{Env, Transport};
use crate::domain::secret::SecretString;
use crate::domain::source_error::{Result, SourceError};

/// What was read, or a sentence that quotes nothing of the text.
type UrlResult<T> = std::result::Result<T, String>;

/// The variable from which `redis-cli` takes a password.
const PASSWORD: &str = "REDISCLI_AUTH";
/// The usual port of a server, and of a Sentinel.
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// How the server that holds the keys is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisPlace {
    /// It is the one at this host and port.
    Tcp(String, u16),
    /// It listens at a Unix socket.
    Socket(String),
    /// Sentinels, each at host and port, know which server is the primary under this name.
    Sentinel(Vec<(String, u16)>, String),
}

/// A server's settings.
#[derive(Clone)]
pub struct RedisServer {
    /// Where it is.
    pub place: RedisPlace,
    /// The number of the database.
    pub database: i64,
    /// The ACL user; `None` is the default one.
    pub user: Option<String>,
    /// The password.
    pub password: Option<SecretString>,
    /// What Sentinels ask for.
    pub sentinel_password: Option<SecretString>,
    /// Whether it is reached over TLS.
    pub tls: bool,
    /// What the framework's keys begin with, where that is not what it usually is.
    pub prefix: Option<String>,
    /// The queues that are meant, where not all are: keys are not gone through for others.
    pub queues: Vec<String>,
    pub(super) files: Files,
    pub(super) password_in_url: bool,
    pub(super) connect_timeout: Option<Duration>,
    hosts: Vec<String>,
}

impl RedisServer {
    /// Whether a scheme is one of Redis.
    pub(super) fn speaks(scheme: &str) -> bool {
        matches!(
            scheme,
            "redis"
                | "rediss"
                | "valkey"
                | "valkeys"
                | "unix"
                | "redis+unix"
                | "redis-socket"
                | "redis+socket"
                | "redis+sentinel"
                | "rediss+sentinel"
                | "redis-sentinel"
                | "redis+cluster"
                | "rediss+cluster"
        )
    }

    /// Reads what follows the scheme and its colon.
    ///
    /// # Errors
    /// A sentence that quotes nothing of the text.
    pub(super) fn read(scheme: &str, rest: &str, env: Env<'_>) -> Result<Self> {
        let input = SourceError::Input;
        let rest = rest.strip_prefix("//").ok_or_else(|| input(format!("a Redis URL begins with {scheme}://")))?;
        if scheme.ends_with("+cluster") {
            return Err(input("Redis Cluster is not supported yet: name one server with redis://host:port".to_owned()));
        }
        let mut server = match scheme {
            "unix" | "redis+unix" | "redis-socket" | "redis+socket" => Self::socket(rest).map_err(input)?,
            _ => Self::servers(scheme, rest).map_err(input)?,
        };
        server.password_in_url = server.password.is_some();
        if server.password.is_none() {
            server.password = env(PASSWORD).map(SecretString::from);
        }
        Ok(server)
    }

    fn at(place: RedisPlace) -> Self {
        Self {
            place,
            database: 0,
            user: None,
            password: None,
            sentinel_password: None,
            tls: false,
            prefix: None,
            queues: Vec::new(),
            files: Files::default(),
            password_in_url: false,
            connect_timeout: None,
            hosts: Vec::new(),
        }
    }

    fn socket(rest: &str) -> UrlResult<Self> {
        let (path, _) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, path) = path.rsplit_once('@').map_or(("", path), |(login, path)| (login, path));
        let path = decode(path)?;
        if !path.starts_with('/') {
            return Err("the URL of a socket has its whole path: unix:///run/redis/redis.sock".to_owned());
        }
        let query = rest.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
        let login = if login.is_empty() { String::new() } else { format!("{login}@") };
        let mut server = Self::at(RedisPlace::Socket(path.clone()));
        server.hosts = vec![path];
        server.take(parse(&format!("{login}localhost{query}"))?)?;
        Ok(server)
    }

    fn servers(scheme: &str, rest: &str) -> UrlResult<Self> {
        let parts = parse(rest)?;
        let is_sentinel = scheme.ends_with("sentinel");
        let usual = if is_sentinel { SENTINEL_PORT } else { PORT };
        let hosts = if parts.hosts.is_empty() { vec!["localhost".to_owned()] } else { parts.hosts.clone() };
        let port = |n: usize| parts.ports.get(n).copied().flatten().unwrap_or(usual);
        let mut all: Vec<(String, u16)> = hosts.iter().enumerate().map(|(n, host)| (host.clone(), port(n))).collect();
        let path = parts.path.clone().unwrap_or_default();
        let mut server = if is_sentinel {
            let (name, database) = path.split_once('/').unwrap_or((&path, ""));
            if name.is_empty() {
                return Err("a Sentinel URL names the primary: redis+sentinel://host:26379/mymaster".to_owned());
            }
            let mut server = Self::at(RedisPlace::Sentinel(all, name.to_owned()));
            server.database = number(database)?;
            server
        } else {
            if all.len() > 1 {
                return Err("several hosts: name one, or Sentinels with redis+sentinel://".to_owned());
            }
            let (host, port) = all.remove(0);
            let mut server = Self::at(RedisPlace::Tcp(host, port));
            server.database = number(&path)?;
            server
        };
        server.tls = scheme.starts_with("rediss") || scheme == "valkeys";
        server.hosts = hosts;
        server.take(parts)?;
        Ok(server)
    }

    /// Takes the login and the settings behind the question mark.
    fn take(&mut self, parts: Parts) -> UrlResult<()> {
        self.user = parts.user;
        self.password = parts.password;
        for (key, value) in parts.params {
            match key.as_str() {
                "db" => self.database = number(&value)?,
                "prefix" => self.prefix = Some(value),
                "queues" => self.queues = value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
                "user" | "username" => self.user = Some(value),
                "password" => self.password = Some(SecretString::from(value)),
                "sentinel_password" => self.sentinel_password = Some(SecretString::from(value)),
                "sslrootcert" | "ssl_ca_certs" => self.files.root_cert = Some(value),
                "sslcert" | "ssl_certfile" => self.files.cert = Some(value),
                "sslkey" | "ssl_keyfile" => self.files.key = Some(value),
                "ssl_cert_reqs" if value == "required" || value == "CERT_REQUIRED" => {}
                "ssl_cert_reqs" => {
                    return Err("ssl_cert_reqs: the server's certificate is always checked; name its authority with \
                                sslrootcert=FILE"
                        .to_owned());
                }
                "connect_timeout" | "socket_connect_timeout" => {
                    let seconds: u64 =
                        value.trim().parse().map_err(|_| format!("{key} is not a whole number of seconds"))?;
                    self.connect_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                "cluster" if value == "false" => {}
                "cluster" => {
                    return Err("Redis Cluster is not supported yet: name one server with redis://host:port".to_owned());
                }
                _ => return Err(format!("the URL's setting {key:?} is not known here")),
            }
        }
        Ok(())
    }

    /// The authority to trust, and our own certificate with its key, as they stand in their files.
    ///
    /// # Errors
    /// When one is missing or is none; the sentence names it.
    #[cfg(feature = "redis")]
    pub fn certificates(&self) -> Result<Certificates> {
        let checked = self.files.check_root().and_then(|()| self.files.check_own());
        checked.map_err(SourceError::Input)?;
        let read = |file: &Option<String>| file.as_ref().map(std::fs::read).transpose();
        let unread = |error: std::io::Error| SourceError::Input(format!("a file of TLS cannot be read: {error}"));
        let root = read(&self.files.root_cert).map_err(unread)?;
        let own = read(&self.files.cert).map_err(unread)?.zip(read(&self.files.key).map_err(unread)?);
        Ok(Certificates { root, own })
    }

    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The number of the database as text, and where it is.
    pub(super) fn place_text(&self) -> String {
        let tcp = |host: &str, port: u16| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        match &self.place {
            RedisPlace::Tcp(host, port) => format!("{}/{}", tcp(host, *port), self.database),
            RedisPlace::Socket(path) => format!("[{path}]/{}", self.database),
            RedisPlace::Sentinel(all, name) => {
                let all: Vec<String> = all.iter().map(|(host, port)| tcp(host, *port)).collect();
                format!("{}/{name}/{}", all.join(","), self.database)
            }
        }
    }

    pub(super) fn label(&self) -> String {
        let user = self.user.as_deref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{user}{}", self.place_text())
    }

    pub(super) fn transport(&self) -> Transport {
        match (&self.place, self.tls) {
            (RedisPlace::Socket(_), _) => Transport::Local,
            (_, true) => Transport::Verified,
            (_, false) => Transport::Clear,
        }
    }

    pub(super) fn is_here(&self) -> bool {
        let is_loopback =
            |host: &String| host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        matches!(self.place, RedisPlace::Socket(_)) || self.hosts.iter().all(is_loopback)
    }
}

/// What TLS takes, in PEM form.
#[cfg(feature = "redis")]
#[derive(Debug)]
pub struct Certificates {
    /// The authority to trust; `None` is those that the machine trusts.
    pub root: Option<Vec<u8>>,
    /// Our own certificate with its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

/// The number of a database.
fn number(text: &str) -> UrlResult<i64> {
    let text = text.trim_matches('/');
    if text.is_empty() {
        return Ok(0);
    }
    // The text is not repeated: with a @ missing it may be the password.
    let number = text.parse().ok().filter(|n: &i64| *n >= 0);
    number
        .ok_or_else(|| "the path of a Redis URL is the number of the database, such as redis://host:6379/0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<RedisServer> {
        let (scheme, rest) = url.split_once(':').expect("a scheme");
        RedisServer::read(scheme, rest, &|_| None)
    }

    #[test]
    fn urls_are_read_as_other_clients_read_them() {
        let server = read("redis://:hunter2@cache1/3").unwrap();
        assert_eq!(server.place, RedisPlace::Tcp("cache1".into(), 6379));
        assert!(server.database == 3 && server.password_in_url && server.user.is_none());
        assert_eq!(server.label(), "cache1:6379/3");
        assert_eq!(read("rediss://ops@[::1]:7000").unwrap().label(), "ops@[::1]:7000/0");
        let socket = read("unix:///run/redis/redis.sock?db=2").unwrap();
        assert_eq!((socket.label().as_str(), socket.transport()), ("[/run/redis/redis.sock]/2", Transport::Local));
        let sentinel = read("redis+sentinel://s1,s2:26380/mymaster/1").unwrap();
        assert_eq!(sentinel.label(), "s1:26379,s2:26380/mymaster/1");
        assert_eq!(read("rediss://cache1").unwrap().transport(), Transport::Verified);
        let named = read("redis://h?prefix=jobs&queues=mail,orders").unwrap();
        assert_eq!(
            (named.prefix.as_deref(), named.queues.as_slice()),
            (Some("jobs"), &["mail".into(), "orders".into()][..])
        );
        assert!(read("redis://").unwrap().is_here() && !read("redis://cache1").unwrap().is_here());
    }

    #[test]
    fn a_wrong_url_is_a_sentence_without_the_password() {
        for url in [
            "redis://:hunter2",
            "redis://u:hunter2@h/hunter2",
            "redis://h?hunter=2",
            "redis+sentinel://:hunter2@s1",
            "redis+cluster://:hunter2@h",
            "unix://:hunter2@x.sock",
            "redis://a,b",
            "rediss://:hunter2@h?ssl_cert_reqs=none",
        ] {
            let error = read(url).err().expect(url).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_password_may_stand_where_redis_cli_finds_it() {
        let env = |name: &str| (name == "REDISCLI_AUTH").then(|| "hunter2".to_owned());
        let server = RedisServer::read("redis", "//h", &env).unwrap();
        assert!(server.password.is_some() && !server.password_in_url);
    }
}
