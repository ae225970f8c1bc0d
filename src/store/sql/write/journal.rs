//! What is kept of the rows of a batch before they are written over, and the record that the batch is done.

use crate::db::Tx;
use crate::domain::job::JobId;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::write::batch::{BatchWriter, Held};
use crate::store::sql::write::verb::Work;
use crate::store::{Recorded, Result, SourceError};

/// Why a batch was undone whose record was not its own any more.
const TAKEN_OVER: &str = "another client has taken this run over, as nothing was heard of this one for a while";

impl<'s> BatchWriter<'s> {
    /// Keeps rows outside of the batch's transaction.
    pub(crate) async fn keep(self, work: &Work<'_>, held: &Held) -> Result<()> {
        let Some(archive) = work.batch.archive.as_ref().filter(|_| work.archives || !held.archive.is_empty()) else {
            return match work.archives {
                true => Err(SourceError::Input("rows are only deleted when an archive keeps them".to_owned())),
                false => Ok(()),
            };
        };
        let rows = match archive.wants_rows() {
            true => held.archive.clone(),
            false => held.rows.iter().map(|row| (JobId::new(&row.id), String::new())).collect(),
        };
        archive.keep(rows).await
    }
}

/// Keeps rows in the batch's own transaction, where the record is in this database.
pub(crate) async fn record_kept(tx: &mut Tx<'_>, work: &Work<'_>, held: &Held) -> Result<()> {
    let Some(record) = &work.batch.record else { return Ok(()) };
    let keys = || held.rows.iter().map(|row| (JobId::new(&row.id), String::new())).collect();
    let rows = if work.archives && held.archive.is_empty() { keys() } else { held.archive.clone() };
    let mut kept = 0;
    for statement in record.keep(&rows) {
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
    Some(work.batch.record.as_ref()?.done(&ids))
}
