//! Starts a throwaway PgBouncer in transaction mode in front of one database.

use std::ffi::OsString;
use std::net::TcpStream;

use super::database::TestDb;
use super::machine;
use super::process::Process;
use super::server::{Own, Plan};
use super::{PASSWORD, USER};

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
    let (folder, account) = machine::server_folder("pgb")?;
    let server = db.url.rsplit_once('@').and_then(|(_, place)| place.split_once('/')).ok_or("a URL with a host")?;
    let (host, port) = server.0.split_once(':').ok_or("a URL with a port")?;
    let write = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))
    };
    write("users.txt", format!("\"{USER}\" \"{PASSWORD}\"\n"))?;
    let (own, port) = Own::start(|listen| {
        let config = format!(
            "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {listen}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {users}\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 500\n",
            users = folder.join("users.txt").display(),
        );
        // A file that could not be written keeps the pooler from starting, which is reported with its log.
        let _ = write("pgbouncer.ini", config);
        Plan {
            command: vec![program.clone().into(), OsString::from(folder.join("pgbouncer.ini"))],
            folder: folder.clone(),
            account,
            stop_signal: "INT",
            last_signal: "KILL",
            port: listen,
            is_ready,
        }
    })?;
    Ok(Pooler { url: format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/{}", db.name()), _own: own })
}

fn is_ready(plan: &Plan, _: &Process) -> bool {
    TcpStream::connect(("127.0.0.1", plan.port)).is_ok()
}
