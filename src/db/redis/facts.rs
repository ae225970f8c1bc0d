//! What a server says of itself and of us, asked once as we connect.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value};

use super::error_map::source_error;
use super::reply;
use crate::adapter::redis::RedisReply;
use crate::db::target::redis::RedisServer;
use crate::domain::source_error::Result;
use crate::domain::time::Timestamp;

/// What a server said as we connected.
#[derive(Clone, Debug, Default)]
pub struct ServerFacts {
    /// Product and version, such as `Redis 7.0.15`.
    pub server: String,
    /// Who we are there.
    pub user: String,
    /// Whether it follows another server.
    pub is_replica: bool,
    /// Why nothing can be written, where that is so.
    pub read_only: Option<String>,
    /// Its clock.
    pub clock: Timestamp,
    /// What the data set is known by, the same on a replica of it; `None` where the server does not say.
    pub identity: Option<String>,
    /// Bytes that it may use, 0 for no limit, and what it does then.
    pub memory: Option<(u64, String)>,
    /// Whether what it holds outlasts a restart; `None` where it does not say.
    pub is_persistent: Option<bool>,
}

/// Asks the server. What it does not let us know is left out; where it asks for a login first, that is an error.
///
/// # Errors
/// When it does not answer, or not before a login.
pub(super) async fn ask(
    connection: &mut MultiplexedConnection,
    server: &RedisServer,
    read_only: bool,
) -> Result<ServerFacts> {
    let mut pipeline = Pipeline::new();
    pipeline.ignore_errors();
    for words in
        [&["TIME"][..], &["INFO", "server"], &["INFO", "replication"], &["INFO", "persistence"], &["INFO", "memory"]]
    {
        let mut command = redis::Cmd::new();
        command.arg(words);
        pipeline.add_command(command);
    }
    pipeline.cmd("ACL").arg("WHOAMI");
    let values = pipeline.query_async::<Vec<redis::RedisResult<Value>>>(connection).await.map_err(source_error)?;
    let mut replies = values.into_iter().map(|value| value.map(reply).map_err(source_error));
    let mut next = || replies.next().unwrap_or(Ok(RedisReply::Nil));
    // Every role may ask for the time, unless it has yet to log in.
    let clock = time_of(&next()?).unwrap_or_else(Timestamp::now);
    let mut info = String::new();
    for _ in 0..4 {
        info.push_str(&text(next().ok()).unwrap_or_default());
    }
    let user = text(next().ok()).or_else(|| server.user.clone()).unwrap_or_else(|| "default".to_owned());
    Ok(read(&info, user, clock, read_only))
}

fn read(info: &str, user: String, clock: Timestamp, read_only: bool) -> ServerFacts {
    let of = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let server = match (of("valkey_version"), of("redis_version")) {
        (Some(version), _) => format!("Valkey {version}"),
        (None, Some(version)) => format!("Redis {version}"),
        (None, None) => "Redis".to_owned(),
    };
    let is_replica = of("role").is_some_and(|role| role == "slave");
    let reason = || match (read_only, is_replica) {
        (true, _) => Some("opened read-only".to_owned()),
        (_, true) => Some("the server is a replica".to_owned()),
        _ => None,
    };
    let limit = of("maxmemory").and_then(|text| text.parse().ok());
    let saves = |name: &str| of(name).map(|text| text == "1");
    ServerFacts {
        server,
        user,
        is_replica,
        read_only: reason(),
        clock,
        identity: of("master_replid"),
        memory: limit.zip(of("maxmemory_policy")),
        is_persistent: saves("aof_enabled"),
    }
}

fn text(reply: Option<RedisReply>) -> Option<String> {
    match reply? {
        RedisReply::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

/// What the command TIME answered; `None` where it is no time.
pub fn time_of(reply: &RedisReply) -> Option<Timestamp> {
    let RedisReply::List(parts) = reply else { return None };
    let number = |at: usize| std::str::from_utf8(parts.get(at)?.bytes()?).ok()?.parse::<i64>().ok();
    Some(Timestamp(number(0)?.saturating_mul(1_000_000).saturating_add(number(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_what_it_is() {
        let of = |info: &str| read(info, "ops".to_owned(), Timestamp(0), false);
        let redis = of("redis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
        assert_eq!((redis.server.as_str(), redis.is_replica, redis.read_only), ("Redis 7.0.15", false, None));
        assert_eq!(redis.memory, Some((0, "noeviction".to_owned())));
        let valkey = of("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\nrole:slave\r\n");
        assert!(valkey.server == "Valkey 9.1.2" && valkey.is_replica && valkey.read_only.is_some());
        assert_eq!(of("").server, "Redis");
    }
}
