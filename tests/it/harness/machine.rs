//! What the machine offers: an ordinary user to run servers as, a folder which that user can reach, a free port.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Unix socket's path may not exceed 107 bytes; this leaves room for the name of folder and socket.
const LONGEST_BASE: usize = 60;

/// Whom a command runs as: ourselves, or `nobody` when we are root, because database servers refuse root.
#[derive(Clone, Copy, Debug)]
pub struct Account(Option<(u32, u32)>);

impl Account {
    /// The account that the tests run as, root or not.
    pub fn ours() -> Self {
        Self(None)
    }

    /// Whether it is another one than ours.
    pub fn is_another(self) -> bool {
        self.0.is_some()
    }

    /// A command that will run under this account with nothing of our environment but the path.
    pub fn command(self, program: impl AsRef<OsStr>, home: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", search_path()).env("LC_ALL", "C").env("HOME", home).env("TMPDIR", home);
        command.current_dir(home);
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// Makes a private folder that belongs to the account which servers run as, and starts a server in it; the folder goes
/// when that fails.
pub fn with_server_folder<T>(name: &str, start: impl FnOnce(&Path, Account) -> Result<T, String>) -> Result<T, String> {
    let (folder, account) = server_folder(name)?;
    start(&folder, account).inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))
}

fn server_folder(name: &str) -> Result<(PathBuf, Account), String> {
    let bases = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let base = bases
        .iter()
        .find(|base| base.as_os_str().len() <= LONGEST_BASE && everyone_can_traverse(base))
        .ok_or_else(|| format!("none of the folders {bases:?} can be traversed by an ordinary user"))?;
    let make = || -> std::io::Result<(PathBuf, u32)> {
        let folder = tempfile::Builder::new().prefix(&format!("dlq-{name}-")).tempdir_in(base)?.keep();
        let owner = folder.metadata()?.uid();
        Ok((folder, owner))
    };
    let (folder, owner) = make().map_err(|e| format!("cannot make a folder in {}: {e}", base.display()))?;
    if owner != 0 {
        return Ok((folder, Account(None)));
    }
    let (uid, gid) = nobody();
    chown(&folder, Some(uid), Some(gid)).map_err(|e| format!("cannot give {} to nobody: {e}", folder.display()))?;
    Ok((folder, Account(Some((uid, gid)))))
}

/// A command that runs as an ordinary user, with nothing of our environment but the path.
pub fn ordinary(program: &Path, home: &Path) -> std::io::Result<Command> {
    // A folder that was lent to the servers is nobody's where we are root.
    let (uid, gid) = nobody();
    let account = if home.metadata()?.uid() == uid { Account(Some((uid, gid))) } else { Account(None) };
    Ok(account.command(program, home))
}

/// Gives a folder and the files in it to the account that servers run as.
pub fn lend(folder: &Path) -> std::io::Result<()> {
    let owner = folder.metadata()?.uid();
    if owner != 0 {
        return Ok(());
    }
    let (uid, gid) = nobody();
    for entry in std::fs::read_dir(folder)? {
        chown(entry?.path(), Some(uid), Some(gid))?;
    }
    chown(folder, Some(uid), Some(gid))
}

fn everyone_can_traverse(folder: &Path) -> bool {
    folder.ancestors().all(|one| one.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0))
}

/// The uid and gid of `nobody`.
fn nobody() -> (u32, u32) {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = passwd.lines().find_map(|line| {
        let mut fields = line.strip_prefix("nobody:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    ids.unwrap_or((65534, 65534))
}

/// A port that was free a moment ago; whoever uses it must be ready to ask again.
pub fn free_port() -> Result<u16, String> {
    let address = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|e| format!("no free port on 127.0.0.1: {e}"))
}

/// The first of the named programs that the machine has, system folders included.
pub fn program(names: &[&str]) -> Option<PathBuf> {
    let path = search_path();
    let folders: Vec<&str> = path.split(':').collect();
    names.iter().find_map(|name| folders.iter().map(|folder| Path::new(folder).join(name)).find(|file| file.is_file()))
}

/// `PATH`, and the folders where distributions keep servers, which an ordinary user's `PATH` lacks.
fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}
