//! Who executes a run: a file lock, which the system takes back from a process however it dies.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{LedgerError, Result};
use super::model::RunId;
use super::open::Ledger;

/// A process that only looks whether a run is held has the lock for an instant: that is waited out.
const LOOKS: u32 = 3;
const LOOK: Duration = Duration::from_millis(2);

/// Proof that no other process executes the run; given back when dropped, and by the system when the process dies.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    _locked: File,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Removed while it is still locked: whoever opened the old file meanwhile finds in `lock` that it is not the one.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Ledger {
    /// Takes a run for this process.
    ///
    /// # Errors
    /// [`LedgerError::Held`] while another process (or another task of this one) executes it.
    pub async fn hold(&self, run: &RunId) -> Result<Hold> {
        self.hold_file(run)
    }

    /// Whether some process executes the run at this moment. A run in state `running` that nobody holds was left by a
    /// crash.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn is_held(&self, run: &RunId) -> Result<bool> {
        let looked = self.lock_path(run).map(|path| File::open(path).map(|file| file.try_lock_shared()));
        Ok(matches!(looked, Some(Ok(Err(TryLockError::WouldBlock)))))
    }

    fn hold_file(&self, run: &RunId) -> Result<Hold> {
        let unusable = |path: &Path, e: &io::Error| LedgerError::Unusable {
            place: path.display().to_string(),
            reason: e.to_string(),
        };
        let nowhere = || LedgerError::Refused("this record is in no file".into());
        let path = self.lock_path(run).ok_or_else(nowhere)?;
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| unusable(folder, &e))?;
        }
        for _ in 0..LOOKS {
            match lock(&path) {
                Ok(Some(locked)) => return Ok(Hold { path, _locked: locked }),
                Ok(None) => std::thread::sleep(LOOK),
                Err(e) => return Err(unusable(&path, &e)),
            }
        }
        Err(LedgerError::Held(run.0.clone()))
    }

    fn lock_path(&self, run: &RunId) -> Option<PathBuf> {
        let name: String = run.0.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        Some(self.holds()?.join(name))
    }
}

/// The locked file, or `None` where somebody else has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        match std::fs::metadata(path) {
            Ok(now) if now.ino() == file.metadata()?.ino() => return Ok(Some(file)),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
}
