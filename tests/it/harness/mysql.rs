//! Starts a throwaway MySQL, from the programs that `scripts/unpack-server` has unpacked.

use std::ffi::OsString;
use std::path::Path;

use super::database::Engine;
use super::machine::{self, Account};
use super::mariadb::{SETTINGS, is_ready, joined};
use super::server::{Own, Plan, Server, prepare};
use super::unpacked::Unpacked;
use super::{PASSWORD, USER};

/// Starts the server and waits until it answers.
pub fn start() -> Result<Server, String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().map(|target| target.join("mysql/root"));
    let programs = root.and_then(|root| Unpacked::find(&root, "mysqld"));
    start_with(&programs.ok_or("MySQL is not unpacked here (scripts/unpack-server mysql target/mysql)")?, &[])
}

/// The same from other programs, with more options, `--name=value`, which override those that tests have.
pub(super) fn start_with(programs: &Unpacked, settings: &[&str]) -> Result<Server, String> {
    machine::with_server_folder("mysql", |folder, account| start_in(programs, folder, account, settings))
}

/// The command line of the server in a data folder.
fn server(programs: &Unpacked, data: &Path, is_root: bool) -> Vec<OsString> {
    let mut command = programs.command("mysqld");
    command.push(joined("--datadir=", data));
    command.push(joined("--basedir=", &programs.path("usr")));
    command.push(joined("--lc-messages-dir=", &programs.path("usr/share/mysql")));
    command.push("--secure-file-priv=NULL".into());
    if is_root {
        command.push("--user=root".into());
    }
    command
}

fn start_in(programs: &Unpacked, folder: &Path, account: Account, settings: &[&str]) -> Result<Server, String> {
    let data = folder.join("data");
    // Another account may have no way to where the programs lie. This server lets root run it where it is asked to.
    let is_root = account.is_another();
    let account = Account::ours();
    let command = server(programs, &data, is_root);
    let (program, arguments) = command.split_first().ok_or("no program")?;
    let mut init = account.command(program, folder);
    init.args(arguments).arg("--initialize-insecure");
    prepare(init)?;
    let grant = format!(
        "create user '{USER}'@'%' identified by '{PASSWORD}';\ngrant all on *.* to '{USER}'@'%' with grant option;\n"
    );
    std::fs::write(folder.join("init.sql"), grant).map_err(|e| format!("cannot write init.sql: {e}"))?;
    let (own, port) = Own::start(|port| Plan {
        folder: folder.to_path_buf(),
        account,
        command: {
            let mut command = command.clone();
            command.push(joined("--socket=", &folder.join("mysql.sock")));
            command.push(joined("--pid-file=", &folder.join("mysql.pid")));
            command.push(joined("--init-file=", &folder.join("init.sql")));
            command.push(format!("--port={port}").into());
            command.push("--mysqlx=OFF".into());
            command.extend(SETTINGS.iter().chain(settings).map(OsString::from));
            command
        },
        stop_signal: "TERM",
        last_signal: "KILL",
        port,
        is_ready,
    })?;
    Ok(Server::own(Engine::Mysql, format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/mysql"), own))
}
