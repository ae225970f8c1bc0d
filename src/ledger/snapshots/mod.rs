//! Whole rows, kept before they are deleted from their table.

mod erase;

use super::backend::{Backend, RowCells, int, rows, text, texts};
use super::batches::write_entry;
use super::error::Result;
use super::handle::Ledger;
use super::model::RunId;
use crate::db::Statement;
use crate::domain::job::JobId;

/// Bytes of rows that go into one statement.
const AT_ONCE: usize = 1 << 20;

/// The rows that runs kept.
#[derive(Clone, Copy, Debug)]
pub struct RowSnapshots<'a> {
    pub(super) ledger: &'a Ledger,
}

impl RowSnapshots<'_> {
    /// Keeps whole rows under a run; durable on return. A row that is kept already is replaced.
    ///
    /// # Errors
    /// When the record cannot be kept: then the rows must not be deleted.
    pub async fn keep(self, run: &RunId, kept: &[(JobId, String)]) -> Result<()> {
        write_entry(&self.ledger.home, run, kept, None).await
    }

    /// The rows that a run kept of these jobs, each as one JSON text.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn get(self, run: &RunId, ids: &[JobId]) -> Result<Vec<(JobId, String)>> {
        let rows = self.ledger.home.fetch(
            "SELECT job_id, {row} FROM {archive} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND job_id {among ?2}",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let pair = |row| {
            let mut row = RowCells::of(row);
            Ok((JobId::new(row.text()?), row.text()?))
        };
        rows.await?.into_iter().map(pair).collect()
    }
}

/// The statements that keep whole rows under a run.
pub(super) fn statements(home: &Backend, run: i64, kept: &[(JobId, String)]) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    let mut rest = kept;
    while !rest.is_empty() {
        let (chunk, others) = rest.split_at(at_once(rest));
        let told: Vec<_> = chunk.iter().map(|(id, row)| (id.as_str(), row)).collect();
        statements.push(home.say(
            "INSERT INTO {archive} (run, job_id, {row}) SELECT ?1, told.c0, told.c1 FROM {told ?2} WHERE 1 = 1 \
             {or_replace_row}",
            [int(run), rows(&told)?],
        ));
        rest = others;
    }
    Ok(statements)
}

/// How many of these rows go into one statement: at least one.
fn at_once(rows: &[(JobId, String)]) -> usize {
    let mut bytes = 0;
    let fits = rows.iter().take_while(|(_, row)| {
        bytes += row.len();
        bytes <= AT_ONCE
    });
    fits.count().max(1)
}
