//! The record as everything above sees it, wherever it is kept.

use std::iter;
use std::path::Path;
use std::sync::Arc;

use super::backend::{Backend, text};
use super::batches::Batches;
use super::cohort::Cohorts;
use super::edits::ArgumentEdits;
use super::error::{LedgerError, Result};
use super::health::LedgerHealth;
use super::history::JobHistory;
use super::marks::Marks;
use super::model::RunId;
use super::outcomes::ReplayOutcomes;
use super::reveal_log::RevealLog;
use super::runs::{RunLocks, Runs};
use super::snapshots::RowSnapshots;
use crate::db::Engine;

/// The record of runs; cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Where new runs go.
    pub(super) home: Backend,
    /// Where others are found too.
    pub(super) beside: Option<Backend>,
    remark: Option<Arc<str>>,
}

impl Ledger {
    /// Opens the file at `path`, and makes it and its folder (mode 0600 and 0700) where they are missing.
    ///
    /// # Errors
    /// [`super::LedgerError::Unusable`] when the file cannot be made, read, written, or is no ledger.
    pub async fn open(path: &Path) -> Result<Self> {
        Ok(Self::alone(Backend::file(path).await?))
    }

    /// The operator's own file for reading only, as it lies there.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is none.
    pub async fn peek(path: &Path) -> Result<Self> {
        Ok(Self::alone(Backend::peek(path).await?))
    }

    /// The record in the source that `engine` is connected to, which is known to hold one, and no other.
    pub fn shared(engine: Arc<Engine>) -> Self {
        Self::alone(Backend::source(engine))
    }

    pub(super) fn alone(home: Backend) -> Self {
        Self { home, beside: None, remark: None }
    }

    pub(super) fn both(home: Backend, beside: Backend) -> Self {
        Self { home, beside: Some(beside), remark: None }
    }

    pub(super) fn remarking(self, remark: String) -> Self {
        Self { remark: Some(remark.into()), ..self }
    }

    /// What the operator should know of where the record is kept; a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Whether new runs go into the source, where every operator of it sees them, and where an effect and its record are
    /// one transaction.
    pub fn is_shared(&self) -> bool {
        self.home.shared().is_some()
    }

    /// The record that has this run, in which it is gone on with.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchRun`], or when a record cannot be read.
    pub async fn of(&self, run: &RunId) -> Result<Ledger> {
        let Some(beside) = &self.beside else { return Ok(self.clone()) };
        for (home, other) in [(&self.home, beside), (beside, &self.home)] {
            if !home.fetch("SELECT 1 FROM {runs} WHERE id = ?1", [text(&run.0)]).await?.is_empty() {
                return Ok(Ledger::both(home.clone(), other.clone()));
            }
        }
        Err(LedgerError::NoSuchRun(run.0.clone()))
    }

    /// This record and the other one.
    pub(super) fn backends(&self) -> impl Iterator<Item = &Backend> {
        iter::once(&self.home).chain(&self.beside)
    }

    /// Where the file is, where the record is in one.
    pub fn path(&self) -> Option<&Path> {
        self.home.path()
    }

    /// Runs, in this record and the other one.
    pub fn runs(&self) -> Runs<'_> {
        Runs { ledger: self }
    }

    /// The frozen jobs of the runs of this record.
    pub fn cohorts(&self) -> Cohorts<'_> {
        Cohorts { home: &self.home }
    }

    /// The outcomes of the replayed jobs of this record.
    pub fn outcomes(&self) -> ReplayOutcomes<'_> {
        ReplayOutcomes { home: &self.home }
    }

    /// The batches of the runs of this record.
    pub fn batches(&self) -> Batches<'_> {
        Batches { home: &self.home }
    }

    /// What runs did to jobs, in this record and the other one.
    pub fn history(&self) -> JobHistory<'_> {
        JobHistory { ledger: self }
    }

    /// The rows that runs kept, to be brought back or erased.
    pub fn snapshots(&self) -> RowSnapshots<'_> {
        RowSnapshots { ledger: self }
    }

    /// What runs write into the arguments of their jobs.
    pub fn edits(&self) -> ArgumentEdits<'_> {
        ArgumentEdits { ledger: self }
    }

    /// The marks of sources, in this record and the other one.
    pub fn marks(&self) -> Marks<'_> {
        Marks { ledger: self }
    }

    /// Who executes the runs of this record.
    pub fn locks(&self) -> RunLocks<'_> {
        RunLocks { home: &self.home }
    }

    /// Who had secrets shown. Kept in the operator's own file only.
    pub fn reveals(&self) -> RevealLog<'_> {
        RevealLog { home: &self.home }
    }

    /// How the record is doing.
    pub fn health(&self) -> LedgerHealth<'_> {
        LedgerHealth { home: &self.home }
    }

    /// Whether the files are still where they were opened.
    pub(super) fn is_there(&self) -> bool {
        self.home.is_there() && self.beside.as_ref().is_none_or(Backend::is_there)
    }

    /// Closes the record once running calls have ended.
    pub async fn close(&self) {
        self.home.close().await;
        if let Some(beside) = &self.beside {
            beside.close().await;
        }
    }

    /// Lets the file grow no further than `pages`, or than it is: a disk that is full.
    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        self.home.as_file().limit_pages(pages).await;
    }

    /// The right to write to the file, for as long as it is kept: another process that writes.
    #[cfg(test)]
    pub(crate) async fn occupied(&self) -> impl Send + use<> {
        self.home.as_file().pool.begin_with("BEGIN IMMEDIATE").await.unwrap()
    }
}
