//! How a record is doing: looked at without opening it for use, so that nothing is made, mended or brought up to date.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::backend::{Backend, RowCells, SourceBackend, log_of};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::RunState;
use super::schema::{self, InstalledSchema, MIGRATIONS};
use crate::store::Budget;
use crate::store::survey::ConnectedSource;

/// The version that this program brings the operator's own file to.
pub fn latest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |m| m.no)
}

/// How the file and its folder lie there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lying {
    /// The folder's permissions, such as `0o700`; `None` where there is none.
    pub folder_mode: Option<u32>,
    /// The file's permissions; `None` where there is none.
    pub file_mode: Option<u32>,
    /// The number of the user whom the file, or else the folder, belongs to.
    pub owner: Option<u32>,
    /// Bytes of the file and of its log.
    pub bytes: u64,
    /// Bytes that are left on its disk for this user; `None` where that cannot be told.
    pub room: Option<u64>,
}

/// Looks at a file and its folder without opening it.
///
/// # Errors
/// When the system does not let us look.
pub fn lying(path: &Path) -> io::Result<Lying> {
    let there = |path: &Path| match std::fs::metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    };
    let file = there(path)?;
    let folder = path.parent().map(there).transpose()?.flatten();
    let log = there(&log_of(path))?.map_or(0, |meta| meta.len());
    // The nearest folder that is there has the disk that a missing one would be made on.
    let disk =
        path.ancestors().skip(1).find(|folder| folder.exists()).and_then(|folder| rustix::fs::statvfs(folder).ok());
    let mode = |meta: &std::fs::Metadata| meta.mode() & 0o7777;
    Ok(Lying {
        folder_mode: folder.as_ref().map(mode),
        file_mode: file.as_ref().map(mode),
        owner: file.as_ref().or(folder.as_ref()).map(MetadataExt::uid),
        bytes: file.as_ref().map_or(0, std::fs::Metadata::len) + log,
        room: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
    })
}

/// The record in a source, where it holds one that can be used; nothing is made.
///
/// # Errors
/// When it cannot be looked for, is of another version, or was made over.
pub async fn in_source(source: &ConnectedSource, budget: &Budget) -> Result<Option<Ledger>> {
    let Some(engine) = source.sql() else { return Ok(None) };
    let version = match schema::installed_schema(engine, budget).await {
        Ok(InstalledSchema::Nothing) => return Ok(None),
        Ok(InstalledSchema::Version(version)) => version,
        Ok(InstalledSchema::Unsafe(reason)) => {
            return Err(LedgerError::Version { place: engine.database().to_owned(), reason });
        }
        Err(error) => return Err(SourceBackend::new(Arc::clone(engine)).fault(error)),
    };
    let place = || engine.database().to_owned();
    schema::fits(version).map_err(|reason| LedgerError::Version { place: place(), reason })?;
    Ok(Some(Ledger::shared(Arc::clone(engine))))
}

/// What the doctor asks of a ledger.
#[derive(Clone, Copy, Debug)]
pub struct LedgerHealth<'a> {
    pub(super) home: &'a Backend,
}

impl LedgerHealth<'_> {
    /// How far the operator's own file is brought up to date.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub async fn version(self) -> Result<i64> {
        let rows = self.home.fetch("SELECT max(version) FROM _sqlx_migrations WHERE success", []).await?;
        rows.into_iter().next().map_or(Ok(0), |row| Ok(RowCells::of(row).maybe_int()?.unwrap_or(0)))
    }

    /// What SQLite finds wrong with the operator's own file, a line for each, some at the most; nothing where it is whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn damages(self) -> Result<Vec<String>> {
        let rows = self.home.fetch("PRAGMA quick_check(3)", []).await?;
        let told: Vec<String> = rows.into_iter().map(|row| RowCells::of(row).text()).collect::<Result<_>>()?;
        Ok(told.into_iter().filter(|line| line != "ok").collect())
    }

    /// How many runs stand in each state, and how many jobs they have together.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn numbers(self) -> Result<(Vec<(RunState, u64)>, u64)> {
        let mut states = Vec::new();
        for row in self.home.fetch("SELECT state, count(*) FROM {runs} GROUP BY state ORDER BY state", []).await? {
            let mut cells = RowCells::of(row);
            let (word, n) = (cells.text()?, cells.count()?);
            states.extend(RunState::from_word(&word).map(|state| (state, n)));
        }
        let jobs = self.home.fetch("SELECT count(*) FROM {run_jobs}", []).await?;
        let jobs = jobs.into_iter().next().map_or(Ok(0), |row| RowCells::of(row).count())?;
        Ok((states, jobs))
    }
}
