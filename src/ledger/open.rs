//! The record as everything above sees it, wherever it is kept.

use std::path::{Path, PathBuf};

use super::error::Result;
use super::home::Home;

/// The record of runs; cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(super) home: Home,
}

impl Ledger {
    /// Opens the file at `path`, and makes it and its folder (mode 0600 and 0700) where they are missing.
    ///
    /// # Errors
    /// [`super::LedgerError::Unusable`] when the file cannot be made, read, written, or is no ledger.
    pub async fn open(path: &Path) -> Result<Self> {
        Ok(Self { home: Home::file(path).await? })
    }

    /// Where the file is, where the record is in one.
    pub fn path(&self) -> Option<&Path> {
        self.home.path()
    }

    /// Closes the record once running calls have ended.
    pub async fn close(&self) {
        self.home.close().await;
    }

    /// Lets the file grow no further than `pages`, or than it is: a disk that is full.
    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        self.home.as_file().limit_pages(pages).await;
    }

    /// The folder in which processes hold the runs of a file that they execute.
    pub(super) fn holds(&self) -> Option<PathBuf> {
        let path = self.path()?;
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".holds");
        Some(path.with_file_name(name))
    }
}
