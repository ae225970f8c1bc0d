//! Whether a file is still where it was opened: what is written to one that was moved away is on record nowhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::db::lite::Inode;
use crate::ledger::error::{LedgerError, Result};

/// Where a file was when it was opened.
#[derive(Debug)]
pub(super) struct FileIdentity {
    path: PathBuf,
    inode: Option<Inode>,
    /// Whether it had a log beside it: while a connection has one open, it stays there.
    logged: bool,
    /// It was seen to be away. Connections that were made meanwhile may be to another file, so that it stays so.
    lost: AtomicBool,
}

impl FileIdentity {
    /// A file that has just been opened at `path`, where `inode` was.
    pub(super) fn of(path: &Path, inode: Option<Inode>) -> Arc<Self> {
        Arc::new(Self { path: path.to_owned(), inode, logged: log_of(path).exists(), lost: AtomicBool::new(false) })
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still leads to the file that was opened.
    pub(super) fn is_there(&self) -> bool {
        if !self.lost.load(Ordering::Relaxed) && self.inode.is_some() && Inode::at(&self.path) == self.inode {
            return true;
        }
        self.lost.store(true, Ordering::Relaxed);
        false
    }

    /// Fails where it does not.
    pub(super) fn still_there(&self) -> Result<()> {
        if self.is_there() { Ok(()) } else { Err(self.moved()) }
    }

    /// The same with its log, which is there as long as a connection that has read is open. One that was removed is
    /// noticed only until another connection makes a new one.
    pub(super) fn still_whole(&self) -> Result<()> {
        self.still_there()?;
        if !self.logged || log_of(&self.path).exists() {
            return Ok(());
        }
        self.lost.store(true, Ordering::Relaxed);
        Err(self.moved())
    }

    fn moved(&self) -> LedgerError {
        LedgerError::Moved { place: self.path.display().to_string() }
    }
}

/// The log of a file, where SQLite keeps what was not brought home yet.
pub(in crate::ledger) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
