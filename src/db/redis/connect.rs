//! A connection to the server that a target names: over TCP, TLS or a Unix socket, or to the primary that Sentinels name.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    RedisConnectionInfo, TlsCertificates, cmd,
};

use super::error_map::{connecting, source_error};
use crate::db::EngineOptions;
use crate::db::target::redis::{Certificates, RedisPlace, RedisServer};
use crate::domain::secret::{ExposeSecret, SecretString};
use crate::domain::source_error::{Result, SourceError};

/// Opens a connection under the name that the server's list of clients shows.
///
/// # Errors
/// When the server cannot be reached or refuses us.
pub(super) async fn open(
    server: &RedisServer,
    options: &EngineOptions,
    timeout: Duration,
) -> Result<MultiplexedConnection> {
    let address = match &server.place {
        RedisPlace::Tcp(host, port) => tcp(server, host, *port),
        RedisPlace::Socket(path) => ConnectionAddr::Unix(path.into()),
        RedisPlace::Sentinel(all, name) => {
            let (host, port) = primary(server, all, name, timeout).await?;
            tcp(server, &host, port)
        }
    };
    let login = login(server.user.as_deref(), server.password.as_ref()).set_db(server.database);
    let mut connection = connect(server, address, login, timeout).await?;
    // A server that does not let us name ourselves is as good as any other.
    let name = options.application_name.replace(|c: char| !c.is_ascii_graphic(), "-");
    let _: redis::RedisResult<()> = cmd("CLIENT").arg("SETNAME").arg(name).query_async(&mut connection).await;
    Ok(connection)
}

fn tcp(server: &RedisServer, host: &str, port: u16) -> ConnectionAddr {
    match server.tls {
        true => ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: false, tls_params: None },
        false => ConnectionAddr::Tcp(host.to_owned(), port),
    }
}

fn login(user: Option<&str>, password: Option<&SecretString>) -> RedisConnectionInfo {
    let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let (Some(user), Some(_)) = (user, password) {
        login = login.set_username(user);
    }
    if let Some(password) = password {
        login = login.set_password(password.expose_secret());
    }
    login
}

async fn connect(
    server: &RedisServer,
    address: ConnectionAddr,
    login: RedisConnectionInfo,
    timeout: Duration,
) -> Result<MultiplexedConnection> {
    let info: ConnectionInfo = address.into_connection_info().map_err(source_error)?.set_redis_settings(login);
    let client = match server.tls {
        true => {
            let Certificates { root, own } = server.certificates()?;
            let client_tls = own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
            Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: root })
        }
        false => Client::open(info),
    };
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(timeout)).set_response_timeout(None);
    let client = client.map_err(connecting)?;
    client.get_multiplexed_async_connection_with_config(&config).await.map_err(connecting)
}

/// Asks one Sentinel after the other which server is the primary.
async fn primary(
    server: &RedisServer,
    sentinels: &[(String, u16)],
    name: &str,
    timeout: Duration,
) -> Result<(String, u16)> {
    let mut last = SourceError::Unreachable("no Sentinel answers".to_owned());
    for (host, port) in sentinels {
        let login = login(None, server.sentinel_password.as_ref());
        let asked = async {
            let mut sentinel = connect(server, tcp(server, host, *port), login, timeout).await?;
            let mut question = cmd("SENTINEL");
            question.arg("get-master-addr-by-name").arg(name);
            question.query_async::<Option<(String, u16)>>(&mut sentinel).await.map_err(source_error)
        };
        match asked.await {
            Ok(Some(primary)) => return Ok(primary),
            Ok(None) => last = SourceError::Input(format!("the Sentinel {host}:{port} knows no primary named {name}")),
            Err(error) => last = error,
        }
    }
    Err(last)
}
