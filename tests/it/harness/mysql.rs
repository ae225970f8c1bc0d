//! Starts a throwaway MySQL, from the programs that `scripts/mysql` has unpacked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::database::Engine;
use super::machine::{self, Account};
use super::mariadb::{SETTINGS, is_ready, joined};
use super::server::{Own, Plan, Server, prepare};
use super::{PASSWORD, USER};

/// Starts the server and waits until it answers.
pub fn start() -> Result<Server, String> {
    let programs = Programs::find().ok_or("MySQL is not unpacked here (scripts/mysql target/mysql)")?;
    machine::with_server_folder("mysql", |folder, account| start_in(&programs, folder, account))
}

/// MySQL beside the C library that it was built for, which need not be this machine's.
struct Programs {
    root: PathBuf,
    /// Runs a program with the libraries of that folder.
    loader: PathBuf,
    libraries: PathBuf,
}

impl Programs {
    fn find() -> Option<Self> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("mysql/root");
        root.join("usr/sbin/mysqld").is_file().then_some(())?;
        let entries = |folder: &str| {
            std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path())
        };
        let named =
            |path: &PathBuf, part: &str| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part));
        let loader = ["usr/lib64", "usr/lib"].into_iter().flat_map(entries).find(|path| named(path, "ld-linux"))?;
        let libraries = entries("usr/lib").find(|path| named(path, "-linux-gnu"))?;
        Some(Self { loader, libraries, root })
    }

    /// The command line of the server in a data folder.
    fn server(&self, data: &Path, is_root: bool) -> Vec<OsString> {
        let mut paths = self.libraries.clone().into_os_string();
        paths.push(":");
        paths.push(self.root.join("usr/lib/mysql/private"));
        let mut command: Vec<OsString> = vec![self.loader.clone().into(), "--library-path".into(), paths];
        command.extend([self.root.join("usr/sbin/mysqld").into(), "--no-defaults".into(), joined("--datadir=", data)]);
        command.push(joined("--basedir=", &self.root.join("usr")));
        command.push(joined("--lc-messages-dir=", &self.root.join("usr/share/mysql")));
        command.push("--secure-file-priv=NULL".into());
        if is_root {
            command.push("--user=root".into());
        }
        command
    }
}

fn start_in(programs: &Programs, folder: &Path, account: Account) -> Result<Server, String> {
    let data = folder.join("data");
    // Another account may have no way to where the programs lie. This server lets root run it where it is asked to.
    let is_root = account.is_another();
    let account = Account::ours();
    let command = programs.server(&data, is_root);
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
            command.extend(SETTINGS.iter().map(OsString::from));
            command
        },
        stop_signal: "TERM",
        last_signal: "KILL",
        port,
        is_ready,
    })?;
    Ok(Server::own(Engine::Mysql, format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/mysql"), own))
}
