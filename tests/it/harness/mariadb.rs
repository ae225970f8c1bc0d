//! Starts a throwaway MariaDB.

use std::ffi::OsString;
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use super::database::Engine;
use super::machine::{self, Account};
use super::mysql;
use super::process::Process;
use super::server::{Own, Plan, Server, prepare};
use super::unpacked::Unpacked;
use super::{PASSWORD, USER};

/// What tests ask of MariaDB and of MySQL alike.
pub(super) const SETTINGS: [&str; 10] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-buffer-pool-size=64M",
    "--max-allowed-packet=16M",
    "--max-connections=200",
    "--character-set-server=utf8mb4",
    // An offset that nobody expects shows whoever forgets that the server need not live in UTC.
    "--default-time-zone=+05:45",
];

/// Starts the server and waits until it answers.
pub fn start() -> Result<Server, String> {
    start_with(&[])
}

/// The same with more options, `--name=value`, which override those that tests have.
pub fn start_with(settings: &[&str]) -> Result<Server, String> {
    if let Some(root) = std::env::var_os("DLQ_TEST_MYSQL_ROOT") {
        return start_unpacked(Path::new(&root), settings);
    }
    let missing = "MariaDB is not installed (Debian: apt-get install mariadb-server)";
    let server = machine::program(&["mariadbd", "mysqld"]).ok_or(missing)?;
    let install = machine::program(&["mariadb-install-db"]).ok_or(missing)?;
    machine::with_server_folder("maria", |folder, account| {
        let mut init = account.command(install, folder);
        // Without the test database come no anonymous users, who would be matched before ours.
        init.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        init.arg(joined("--datadir=", &folder.join("data")));
        prepare(init)?;
        start_in(vec![server.into(), "--no-defaults".into()], folder, account, settings)
    })
}

/// Starts the server that `scripts/unpack-server` has unpacked in a folder, MariaDB or MySQL.
fn start_unpacked(root: &Path, settings: &[&str]) -> Result<Server, String> {
    let Some(programs) = Unpacked::find(root, "mariadbd") else {
        let programs = Unpacked::find(root, "mysqld").ok_or_else(|| format!("no server in {}", root.display()))?;
        return mysql::start_with(&programs, settings);
    };
    machine::with_server_folder("maria", |folder, account| {
        let mut command = programs.command("mariadbd");
        command.push(joined("--basedir=", &programs.path("usr")));
        command.push(joined("--lc-messages-dir=", &programs.path("usr/share/mariadb")));
        // As with MySQL: another account may have no way to where the programs lie.
        if account.is_another() {
            command.push("--user=root".into());
        }
        bootstrap(&programs, &command, folder)?;
        start_in(command, folder, Account::ours(), settings)
    })
}

/// Makes the system tables as `mariadb-install-db` does, which finds its programs on the machine only.
fn bootstrap(programs: &Unpacked, command: &[OsString], folder: &Path) -> Result<(), String> {
    let mut sql = "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket = null;\n".to_owned();
    for name in ["system_tables", "performance_tables", "system_tables_data"] {
        let file = programs.path("usr/share/mariadb").join(format!("mariadb_{name}.sql"));
        sql += &std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    let script = folder.join("bootstrap.sql");
    let input = std::fs::write(&script, sql).and_then(|()| std::fs::File::open(&script));
    let data = folder.join("data");
    std::fs::create_dir(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    let (program, arguments) = command.split_first().ok_or("no program")?;
    let mut init = Account::ours().command(program, folder);
    init.args(arguments).args(["--bootstrap", "--skip-log-bin"]).arg(joined("--datadir=", &data));
    init.stdin(input.map_err(|e| format!("{}: {e}", script.display()))?);
    prepare(init)
}

/// Runs a server whose data folder is there.
fn start_in(server: Vec<OsString>, folder: &Path, account: Account, settings: &[&str]) -> Result<Server, String> {
    let grant = format!(
        "create or replace user '{USER}'@'%' identified by '{PASSWORD}';\n\
         grant all on *.* to '{USER}'@'%' with grant option;\n"
    );
    std::fs::write(folder.join("init.sql"), grant).map_err(|e| format!("cannot write init.sql: {e}"))?;

    let (own, port) = Own::start(|port| Plan {
        folder: folder.to_path_buf(),
        account,
        command: command(&server, folder, port, settings),
        stop_signal: "TERM",
        last_signal: "KILL",
        port,
        is_ready,
    })?;
    Ok(Server::own(Engine::Mysql, format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/mysql"), own))
}

fn command(server: &[OsString], folder: &Path, port: u16, more: &[&str]) -> Vec<OsString> {
    let mut command = server.to_vec();
    command.push(joined("--datadir=", &folder.join("data")));
    command.push(joined("--socket=", &folder.join("mysql.sock")));
    command.push(joined("--pid-file=", &folder.join("mysql.pid")));
    command.push(joined("--init-file=", &folder.join("init.sql")));
    command.push(format!("--port={port}").into());
    command.extend(SETTINGS.iter().chain(more).map(OsString::from));
    command
}

/// The server greets whoever connects, and does so only when it is up.
pub(super) fn is_ready(plan: &Plan, _: &Process) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", plan.port)) else { return false };
    let mut greeting = [0u8; 5];
    let patient = stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok();
    // four bytes of packet header, then the version of the protocol
    patient && stream.read_exact(&mut greeting).is_ok() && greeting[4] == 10
}

pub(super) fn joined(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}
