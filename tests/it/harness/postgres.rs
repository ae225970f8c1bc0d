//! Starts a throwaway PostgreSQL: the newest that the machine has, or the one that is asked for.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::database::Engine;
use super::machine::{self, Account};
use super::process::Process;
use super::server::{Own, Plan, Server, prepare};
use super::{PASSWORD, USER};

/// Starts the server and waits until it answers.
pub fn start() -> Result<Server, String> {
    start_with(&[], None)
}

/// The same with more settings, `name=value`, which override those that tests have. The data can be told to outlive the
/// server, in a folder of its own; what is there already is served again.
pub fn start_with(settings: &[&str], kept: Option<&Path>) -> Result<Server, String> {
    let binaries = programs().ok_or("PostgreSQL is not installed (Debian: apt-get install postgresql)")?;
    machine::with_server_folder("pg", |folder, account| {
        if let Some(kept) = kept {
            lend(folder, kept).map_err(|e| format!("{}: {e}", kept.display()))?;
        }
        start_in(&binaries, folder, account, settings)
    })
}

/// Puts the data elsewhere than in the server's folder, of which nothing is left in the end.
fn lend(folder: &Path, kept: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(kept)?;
    let owner = folder.metadata()?;
    std::os::unix::fs::chown(kept, Some(owner.uid()), Some(owner.gid()))?;
    std::os::unix::fs::symlink(kept.canonicalize()?, folder.join("data"))
}

fn start_in(binaries: &Path, folder: &Path, account: Account, settings: &[&str]) -> Result<Server, String> {
    let data = folder.join("data");
    if !data.join("PG_VERSION").is_file() {
        let mut initdb = account.command(binaries.join("initdb"), folder);
        initdb.args(["--no-sync", "--no-locale", "--encoding=UTF8", "--auth=trust", "--username", USER, "--pgdata"]);
        initdb.arg(&data);
        prepare(initdb)?;
    }
    run_in(binaries, folder, account, settings)
}

/// Starts a server that follows another one: its copy, as it stands, and what is streamed from then on.
pub fn standby(primary: &Server, settings: &[&str]) -> Result<Server, String> {
    let binaries = programs().ok_or("PostgreSQL is not installed (Debian: apt-get install postgresql)")?;
    machine::with_server_folder("pgs", |folder, account| {
        let data = folder.join("data");
        let mut copy = account.command(binaries.join("pg_basebackup"), folder);
        copy.args(["--no-sync", "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--dbname"]);
        copy.arg(primary.admin_url()).arg("--pgdata").arg(&data);
        prepare(copy)?;
        run_in(&binaries, folder, account, settings)
    })
}

/// Runs a server whose data folder is there.
fn run_in(binaries: &Path, folder: &Path, account: Account, settings: &[&str]) -> Result<Server, String> {
    let data = folder.join("data");
    let (own, port) = Own::start(|port| Plan {
        folder: folder.to_path_buf(),
        account,
        command: command(binaries, folder, &data, port, settings),
        stop_signal: "INT",
        last_signal: "QUIT",
        port,
        is_ready,
    })?;
    let url = format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres");
    Ok(Server::own(Engine::Postgres, url, own))
}

fn command(binaries: &Path, folder: &Path, data: &Path, port: u16, more: &[&str]) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![binaries.join("postgres").into(), "-D".into(), data.into()];
    command.extend(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"].map(OsString::from));
    command.push(folder.into());
    let settings = [
        "fsync=off",
        "full_page_writes=off",
        "synchronous_commit=off",
        "max_connections=200",
        "shared_buffers=64MB",
        // An offset that nobody expects shows whoever forgets that the server need not live in UTC.
        "timezone=Asia/Kathmandu",
    ];
    command.extend(settings.iter().chain(more).flat_map(|setting| ["-c".into(), OsString::from(setting)]));
    command
}

/// The server says `ready` in the eighth line of its pid file. The file may be one that a killed server left behind.
fn is_ready(plan: &Plan, process: &Process) -> bool {
    let Ok(text) = std::fs::read_to_string(plan.folder.join("data/postmaster.pid")) else { return false };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pid = lines.first().and_then(|pid| pid.parse().ok());
    lines.get(7) == Some(&"ready") && pid.is_some_and(|pid| process.owns(pid))
}

/// The folder with the programs: of the version that is asked for, or of the newest one installed.
pub fn programs() -> Option<PathBuf> {
    if let Some(bin) = std::env::var_os("DLQ_TEST_POSTGRES_BIN") {
        return Some(PathBuf::from(bin)).filter(|bin| has_programs(bin));
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let numbered = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let debian = numbered.map(|(version, path)| (version, path.join("bin"))).filter(|(_, bin)| has_programs(bin));
    debian.max().map(|(_, bin)| bin).or_else(|| {
        let bin = machine::program(&["initdb"])?.parent()?.to_path_buf();
        has_programs(&bin).then_some(bin)
    })
}

fn has_programs(folder: &Path) -> bool {
    folder.join("initdb").is_file() && folder.join("postgres").is_file()
}
