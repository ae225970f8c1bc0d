//! Starts a throwaway PGlite, PostgreSQL in one process of Node, behind its socket server.

use std::ffi::OsString;
use std::path::Path;

use super::database::Engine;
use super::machine::{self, Account};
use super::process::Process;
use super::server::{Own, Plan, Server};

/// Starts it for so many clients at once, who share one session, and waits until it listens.
pub fn start(clients: usize) -> Result<Server, String> {
    let missing = "PGlite is not installed here (scripts/test --versions)";
    let modules = std::env::var_os("DLQ_TEST_PGLITE").ok_or(missing)?;
    let program = Path::new(&modules).join("@electric-sql/pglite-socket/dist/scripts/server.js");
    let node = machine::program(&["node"]).ok_or("Node is not installed (Debian: apt-get install nodejs)")?;
    machine::with_server_folder("pglite", |folder, _| {
        let (own, port) = Own::start(|port| Plan {
            command: vec![
                OsString::from(&node),
                OsString::from(&program),
                format!("--port={port}").into(),
                format!("--max-connections={clients}").into(),
            ],
            folder: folder.to_path_buf(),
            // Another account may have no way to where the program lies.
            account: Account::ours(),
            stop_signal: "TERM",
            last_signal: "KILL",
            port,
            is_ready,
        })?;
        Ok(Server::own(Engine::Postgres, format!("postgres://postgres:postgres@127.0.0.1:{port}/postgres"), own))
    })
}

/// It says so. A connection would take the place of a client.
fn is_ready(plan: &Plan, _: &Process) -> bool {
    std::fs::read_to_string(plan.folder.join("server.log")).is_ok_and(|log| log.contains("listening on"))
}
