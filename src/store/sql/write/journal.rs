//! What is kept of the rows of a batch before they are written over, and the record that the batch is done.

use crate::db::{Recorded, Tx};
use crate::domain::job::JobId;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::write::batch::{BatchWriter, Held};
use crate::store::sql::write::verb::Work;
use crate::store::{JournalEntry, Result, RowCopies, SourceError, TxMarker};

/// Why a batch was undone whose record was not its own any more.
const TAKEN_OVER: &str = "another client has taken this run over, as nothing was heard of this one for a while";

impl<'s> BatchWriter<'s> {
    /// Writes down what is to be known of a batch before it commits, outside of its transaction.
    pub(crate) async fn write_entry(self, work: &Work<'_>, held: &Held) -> Result<()> {
        let entry =
            JournalEntry { rows: rows_to_keep(work, held)?, marker: marker(held.transaction.as_ref(), &held.rows) };
        match &work.batch.journal {
            Some(journal) if entry != JournalEntry::default() => journal.write(entry).await,
            _ => Ok(()),
        }
    }
}

/// Which transaction acts on rows, where it has a name.
pub(crate) fn marker(transaction: Option<&String>, rows: &[BatchRow]) -> Option<TxMarker> {
    let ids = || rows.iter().map(|row| JobId::new(&row.id)).collect();
    transaction.map(|transaction| TxMarker { transaction: transaction.clone(), ids: ids() })
}

/// What the journal keeps of the rows that a batch holds.
fn rows_to_keep(work: &Work<'_>, held: &Held) -> Result<Vec<(JobId, String)>> {
    if !work.archives || !held.archive.is_empty() {
        return Ok(held.archive.clone());
    }
    match work.batch.journal.as_ref().map_or(RowCopies::Nothing, |journal| journal.copies()) {
        RowCopies::Nothing => Err(SourceError::Input("rows are only deleted when a journal keeps them".to_owned())),
        RowCopies::Keys | RowCopies::Whole => {
            Ok(held.rows.iter().map(|row| (JobId::new(&row.id), String::new())).collect())
        }
    }
}

/// Keeps rows in the batch's own transaction, where the record is in this database.
pub(crate) async fn record_kept(tx: &mut Tx<'_>, work: &Work<'_>, held: &Held) -> Result<()> {
    let Some(journal) = work.tx_journal else { return Ok(()) };
    let rows = rows_to_keep(work, held)?;
    let mut kept = 0;
    for statement in journal.keep(&rows) {
        kept += tx.execute(&statement).await?;
    }
    if kept < rows.len() as u64 {
        return Err(SourceError::Input("the record did not keep every row".to_owned()));
    }
    Ok(())
}

/// Records a batch as done in its own transaction, where the record is in this database.
pub(crate) async fn record_done(tx: &mut Tx<'_>, work: &Work<'_>, rows: &[BatchRow]) -> Result<()> {
    let Some(recorded) = recorded(work, rows) else { return Ok(()) };
    if tx.execute(&recorded.statement).await? == recorded.rows {
        return Ok(());
    }
    Err(SourceError::Input(TAKEN_OVER.to_owned()))
}

/// What records these rows as done, where the record is in this database.
pub(crate) fn recorded(work: &Work<'_>, rows: &[BatchRow]) -> Option<Recorded> {
    let ids: Vec<JobId> = rows.iter().map(|row| JobId::new(&row.id)).collect();
    Some(work.tx_journal?.done(&ids))
}
