//! What runs write into the arguments of their jobs: computed before a run is confirmed, so that what was confirmed is what
//! happens, and kept with what stood there before, so that it can be undone.

use super::backend::{RowCells, int, limit, text, texts};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::RunId;
use crate::db::Bind;
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsEdit;
use crate::ledger::dialect::InsertColumn;

/// Bytes of texts that go into one statement.
const AT_ONCE: usize = 1 << 20;
/// Rows that are forgotten in one transaction.
const FORGET_CHUNK: usize = 200;

const COLUMNS: [InsertColumn; 5] = [
    InsertColumn::Int("run"),
    InsertColumn::Text("job_id"),
    InsertColumn::Text("path"),
    InsertColumn::Text("original"),
    InsertColumn::Text("edited"),
];

/// The changed arguments of runs.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentEdits<'a> {
    pub(super) ledger: &'a Ledger,
}

impl ArgumentEdits<'_> {
    /// Writes down what a run is to write. Only its seal makes it durable.
    ///
    /// # Errors
    /// When the record cannot be kept.
    pub async fn add(self, run: &RunId, edits: &[ArgumentsEdit]) -> Result<()> {
        let mut rest = edits;
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at(at_once(rest));
            let mut tx = self.ledger.home.begin_unsynced().await?;
            let seq = tx.first("SELECT seq FROM {runs} WHERE id = ?1", [text(&run.0)]).await?;
            let seq = seq.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?.int()?;
            // What is large goes in two statements: a server takes messages of a limited size.
            let is_large = chunk.iter().map(ArgumentsEdit::bytes).sum::<usize>() > AT_ONCE;
            let second = |edit: &ArgumentsEdit| if is_large { text("") } else { text(&edit.edited) };
            let row = |_, edit: &ArgumentsEdit| {
                [int(seq), text(edit.id.as_str()), text(&edit.path), text(&edit.original), second(edit)]
            };
            tx.insert("{edits}", &COLUMNS, chunk.iter().collect(), row).await?;
            for edit in chunk.iter().filter(|_| is_large) {
                let binds = [int(seq), text(edit.id.as_str()), text(&edit.edited)];
                tx.execute("UPDATE {edits} SET edited = ?3 WHERE run = ?1 AND job_id = ?2", binds).await?;
            }
            tx.commit().await?;
            rest = others;
        }
        Ok(())
    }

    /// The bytes of what a run has for each of these jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn sizes(self, run: &RunId, ids: &[JobId]) -> Result<Vec<(JobId, u64)>> {
        let rows = self.ledger.home.fetch(
            "SELECT job_id, length(original) + length(edited) FROM {edits} \
             WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND job_id {among ?2}",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let size = |row| {
            let mut row = RowCells::of(row);
            Ok((JobId::new(row.text()?), row.count()?))
        };
        rows.await?.into_iter().map(size).collect()
    }

    /// What a run has for these jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn get(self, run: &RunId, ids: &[JobId]) -> Result<Vec<ArgumentsEdit>> {
        let rows = self.ledger.home.fetch(
            "SELECT job_id, path, original, edited FROM {edits} \
             WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND job_id {among ?2}",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let edit = |row| {
            let mut row = RowCells::of(row);
            let (id, path) = (JobId::new(row.text()?), row.text()?);
            Ok(ArgumentsEdit { id, path, original: row.text()?, edited: row.text()? })
        };
        rows.await?.into_iter().map(edit).collect()
    }

    /// Erases what other runs than `run` of a store have for these jobs, in whatever record.
    ///
    /// # Errors
    /// When a record cannot be kept.
    pub async fn erase(self, store: &str, run: &RunId, ids: &[JobId]) -> Result<()> {
        for home in self.ledger.backends() {
            let runs = home.fetch(
                "SELECT r.seq FROM {runs} AS r WHERE r.store = ?1 AND r.id <> ?2 \
                 AND EXISTS (SELECT 1 FROM {edits} AS e WHERE e.run = r.seq)",
                [text(store), text(&run.0)],
            );
            for row in runs.await? {
                let seq = RowCells::of(row).int()?;
                let ids = texts(ids.iter().map(JobId::as_str));
                home.execute("DELETE FROM {edits} WHERE run = ?1 AND job_id {among ?2}", [int(seq), ids]).await?;
            }
        }
        Ok(())
    }
}

/// Forgets what a run was to write, a bounded number of jobs at a time.
pub(super) async fn forget(home: &super::backend::Backend, seq: i64) -> Result<()> {
    loop {
        let mut tx = home.begin().await?;
        let head =
            "SELECT max(job_id) FROM (SELECT job_id FROM {edits} WHERE run = ?1 ORDER BY job_id LIMIT ?2) AS head";
        let last = tx.first(head, [int(seq), limit(FORGET_CHUNK)]).await?;
        let Some(last) = last.map(|mut row| row.maybe_text()).transpose()?.flatten() else { return Ok(()) };
        let binds: [Bind; 2] = [int(seq), text(last)];
        tx.execute("DELETE FROM {edits} WHERE run = ?1 AND job_id <= ?2", binds).await?;
        tx.commit().await?;
    }
}

/// How many of these go into one transaction: at least one.
fn at_once(edits: &[ArgumentsEdit]) -> usize {
    let mut bytes = 0;
    let fits = edits.iter().take_while(|edit| {
        bytes += edit.bytes();
        bytes <= AT_ONCE
    });
    fits.count().max(1)
}
