//! Who executes a run. Of a file: a lock of the system's, which takes it back from a process however it dies. Of a record
//! that machines share: a lease in the record itself, which ends by the database's clock unless it is renewed. No lock of a
//! session, which a pooler would give to somebody else.
//!
//! A process that was suspended beyond its lease may wake up beside the one that took over. It does nothing then: what
//! records a batch in the batch's transaction demands that the hold is still its own.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::ledger::backend::{Backend, LedgerTx, RunToken, SourceBackend, int, text};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::RunId;

/// A process that only looks whether a run is held has the lock for an instant: that is waited out.
const LOOKS: u32 = 3;
const LOOK: Duration = Duration::from_millis(2);

/// How long a lease lasts, in microseconds, and how often it is renewed while nothing else does so.
const LEASE: i64 = 30_000_000;
const BEAT: Duration = Duration::from_secs(8);

/// Proof that nobody else executes the run; given back when dropped.
#[derive(Debug)]
pub struct RunLock(LockKind);

#[derive(Debug)]
enum LockKind {
    Locked { path: PathBuf, _file: File },
    Leased(RunLease),
}

#[derive(Debug)]
struct RunLease {
    home: Backend,
    source: Arc<SourceBackend>,
    run: RunId,
    token: Option<RunToken>,
    beat: AbortHandle,
}

impl RunLock {
    /// Gives the run back, and returns when others can have it.
    pub async fn release(mut self) {
        if let LockKind::Leased(lease) = &mut self.0
            && let Some(token) = lease.take()
        {
            // Where it fails, the lease ends by itself.
            drop(give_back(&lease.home, &token).await);
        }
    }
}

impl RunLease {
    fn take(&mut self) -> Option<RunToken> {
        self.beat.abort();
        let token = self.token.take()?;
        self.source.forget(&self.run);
        Some(token)
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        match &mut self.0 {
            LockKind::Locked { path, .. } => {
                // Removed while it is still locked: whoever opened the old file meanwhile finds in `lock` that it is not
                // the one.
                let _ = std::fs::remove_file(path);
            }
            LockKind::Leased(lease) => {
                let (Some(token), Ok(runtime)) = (lease.take(), tokio::runtime::Handle::try_current()) else { return };
                let home = lease.home.clone();
                runtime.spawn(async move { drop(give_back(&home, &token).await) });
            }
        }
    }
}

/// Which runs are executed, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct RunLocks<'a> {
    pub(in crate::ledger) home: &'a Backend,
}

impl RunLocks<'_> {
    /// Takes a run for this process.
    ///
    /// # Errors
    /// [`LedgerError::Held`] or [`LedgerError::HeldBy`] while another process (or another task of this one) executes it.
    pub async fn acquire(self, run: &RunId) -> Result<RunLock> {
        match self.home.shared() {
            Some(source) => self.lease(source, run).await,
            None => self.hold_file(run),
        }
    }

    /// Whether some process executes the run at this moment. A run in state `running` that nobody holds was left by a
    /// crash.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn is_held(self, run: &RunId) -> Result<bool> {
        if self.home.shared().is_some() {
            let held = "SELECT 1 FROM {runs} WHERE id = ?1 AND holder IS NOT NULL AND held_until > {now}";
            return Ok(!self.home.fetch(held, [text(&run.0)]).await?.is_empty());
        }
        let looked = self.lock_path(run).map(|path| File::open(path).map(|file| file.try_lock_shared()));
        Ok(matches!(looked, Some(Ok(Err(TryLockError::WouldBlock)))))
    }

    async fn lease(self, source: &Arc<SourceBackend>, run: &RunId) -> Result<RunLock> {
        if source.token(run).is_some() {
            return Err(LedgerError::Held(run.0.clone()));
        }
        let mut tx = self.home.begin().await?;
        let sql = "SELECT seq, holder, held_until - {now} FROM {runs} WHERE id = ?1{lock}";
        let row = tx.first(sql, [text(&run.0)]).await?;
        let mut row = row.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
        let (seq, other, left) = (row.int()?, row.maybe_text()?, row.maybe_int()?.unwrap_or_default());
        if let Some(other) = other.filter(|other| left > 0 && !is_gone(other)) {
            let (holder, _) = other.rsplit_once(' ').unwrap_or((&other, ""));
            let seconds = 1 + left / 1_000_000;
            return Err(LedgerError::HeldBy { run: run.0.clone(), holder: holder.to_owned(), seconds });
        }
        let token = RunToken { seq, holder: new_holder() };
        let sql = format!("UPDATE {{runs}} SET holder = ?2, held_until = {{now}} + {LEASE} WHERE seq = ?1");
        tx.execute(&sql, [int(seq), text(&token.holder)]).await?;
        tx.commit().await?;
        source.note(run, token.clone()).ok_or_else(|| LedgerError::Held(run.0.clone()))?;
        let beat = tokio::spawn(beat(self.home.clone(), token.clone())).abort_handle();
        let (home, source, run) = (self.home.clone(), Arc::clone(source), run.clone());
        Ok(RunLock(LockKind::Leased(RunLease { home, source, run, token: Some(token), beat })))
    }

    fn hold_file(self, run: &RunId) -> Result<RunLock> {
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
                Ok(Some(file)) => return Ok(RunLock(LockKind::Locked { path, _file: file })),
                Ok(None) => std::thread::sleep(LOOK),
                Err(e) => return Err(unusable(&path, &e)),
            }
        }
        Err(LedgerError::Held(run.0.clone()))
    }

    /// The file that is locked while a run of the operator's own file is executed.
    fn lock_path(self, run: &RunId) -> Option<PathBuf> {
        let name: String = run.0.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let path = self.home.path()?;
        let mut folder = path.file_name().unwrap_or_default().to_os_string();
        folder.push(".holds");
        Some(path.with_file_name(folder).join(name))
    }
}

/// Renews the lease on a run as part of a transaction that goes on with it; of a file, nothing has to be renewed.
///
/// An error where the lease is no longer ours: then nothing may be done.
pub(in crate::ledger) async fn renew(tx: &mut LedgerTx<'_>, run: &RunId) -> Result<()> {
    let Some(source) = tx.home().shared() else { return Ok(()) };
    let lost = || LedgerError::TakenOver(run.0.clone());
    let token = source.token(run).ok_or_else(lost)?;
    let renewed = tx.execute(&renewal(), [int(token.seq), text(&token.holder)]).await?;
    if renewed == 1 { Ok(()) } else { Err(lost()) }
}

fn renewal() -> String {
    format!("UPDATE {{runs}} SET held_until = {{now}} + {LEASE} WHERE seq = ?1 AND holder = ?2")
}

async fn give_back(home: &Backend, token: &RunToken) -> Result<u64> {
    let sql = "UPDATE {runs} SET holder = NULL, held_until = NULL WHERE seq = ?1 AND holder = ?2";
    home.execute(sql, [int(token.seq), text(&token.holder)]).await
}

/// Keeps a lease while a run waits or is paused.
async fn beat(home: Backend, token: RunToken) {
    loop {
        tokio::time::sleep(BEAT).await;
        // What cannot be renewed now may be the next time; and where it was taken over, there is nothing left to keep.
        if let Ok(0) = home.execute(&renewal(), [int(token.seq), text(&token.holder)]).await {
            return;
        }
    }
}

/// Host, process, and what no other hold has.
fn new_holder() -> String {
    format!("{} {} {}", host(), std::process::id(), uuid::Uuid::new_v4().simple())
}

fn host() -> String {
    whoami::hostname().unwrap_or_else(|_| "unknown".to_owned()).replace(' ', "-")
}

/// Whether a holder is known to be gone: a process of this host that does not exist any more. Where that is wrong (a host
/// of the same name), whoever lost the run does nothing more than when its lease had ended.
fn is_gone(holder: &str) -> bool {
    let mut words = holder.split(' ');
    let (Some(at), Some(process)) = (words.next(), words.next()) else { return false };
    at == host() && Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists()
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
