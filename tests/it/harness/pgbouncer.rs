//! Starts a throwaway PgBouncer in transaction mode in front of one database.

use std::ffi::OsString;
use std::net::TcpStream;
use std::path::Path;

use super::database::TestDb;
use super::machine;
use super::process::Process;
use super::server::{Own, Plan};

/// A pooler in front of a database.
#[derive(Debug)]
pub struct Pooler {
    /// The database through the pooler.
    pub url: String,
    _own: Own,
}

/// Starts a pooler that shares `connections` server connections among all its clients.
pub fn start(db: &TestDb, connections: usize) -> Result<Pooler, String> {
    let program = machine::program(&["pgbouncer"])
        .ok_or("PgBouncer is not installed (Debian: apt-get install --no-install-recommends pgbouncer)")?;
    let (front, place) = db.url.rsplit_once('@').ok_or("a URL with a user")?;
    let login = front.split_once("://").map_or(front, |(_, login)| login);
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (host, port) = place.split_once('/').and_then(|(server, _)| server.split_once(':')).ok_or("a host and port")?;
    let (own, listen) = machine::with_server_folder("pgb", |folder, account| {
        write(folder, "users.txt", &format!("\"{user}\" \"{password}\"\n"))?;
        Own::start(|listen| {
            let config = format!(
                "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {listen}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\n\
                 pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 500\n",
                users = folder.join("users.txt").display(),
            );
            // A file that could not be written keeps the pooler from starting, which is reported with its log.
            let _ = write(folder, "pgbouncer.ini", &config);
            Plan {
                command: vec![program.clone().into(), OsString::from(folder.join("pgbouncer.ini"))],
                folder: folder.to_path_buf(),
                account,
                stop_signal: "INT",
                last_signal: "KILL",
                port: listen,
                is_ready,
            }
        })
    })?;
    Ok(Pooler { url: format!("postgres://{login}@127.0.0.1:{listen}/{}", db.name()), _own: own })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))
}

fn is_ready(plan: &Plan, _: &Process) -> bool {
    TcpStream::connect(("127.0.0.1", plan.port)).is_ok()
}
