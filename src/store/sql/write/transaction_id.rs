//! Which transaction acts on a batch, and how it ended.
//!
//! A row that a verb removes leaves no trace of who removed it. Where the database remembers how transactions ended,
//! the batch notes its own before it commits, and an interrupted one is asked about later instead of guessed at.

use crate::db::Tx;
use crate::db::cells::Cells;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::lookup_parts::json_bytes;
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::{Statements, run_each};
use crate::store::sql::write::journal::marker;
use crate::store::sql::write::verb::{VerbMethod, Work};
use crate::store::{Budget, JournalEntry, Result, SourceError, TxStatus};

/// Names the transaction of a batch, and says how it ended.
#[derive(Clone, Copy)]
pub(crate) struct Transactions<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Transactions<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// What reads the name of the transaction that acts on a batch, where the journal is to have it.
    pub(crate) fn name_of(self, work: &Work<'_>) -> Option<&'static str> {
        let is_noted = work.batch.journal.is_some() && work.tx_journal.is_none();
        // What a command has had is not undone with the transaction.
        let is_alone = !matches!(work.way, VerbMethod::Command(_));
        self.context.layout.dialect.transaction().filter(|_| is_noted && is_alone)
    }

    /// Runs an undo's statements while its transaction is noted, so that the note costs the batch no time of its own.
    pub(crate) async fn run_noted(
        self,
        tx: &mut Tx<'_>,
        work: &Work<'_>,
        statements: Statements<'_>,
        rows: &[BatchRow],
    ) -> Result<()> {
        let (Some(journal), Some(name)) = (&work.batch.journal, self.name_of(work)) else {
            return run_each(tx, statements, rows.len()).await;
        };
        let mut sql = Sql::new(self.context.layout.dialect);
        sql.push(&format!("SELECT {name}"));
        let Some(row) = tx.fetch(&sql.done()).await?.pop() else {
            return Err(SourceError::Layout("the transaction has no name".to_owned()));
        };
        let name = Cells::new(row).text()?;
        let noted = journal.write(JournalEntry { rows: Vec::new(), marker: marker(name.as_ref(), rows) });
        let (done, noted) = tokio::join!(biased; run_each(tx, statements, rows.len()), noted);
        done.and(noted)
    }

    pub(crate) async fn read_traces(
        self,
        action: Action,
        run: &str,
        ids: &[JobId],
        budget: &Budget,
    ) -> Result<Option<Vec<JobId>>> {
        let layout = &self.context.layout;
        let Some(trace) = layout.spec.verbs.get(action).and_then(|verb| verb.trace.as_ref()) else { return Ok(None) };
        let valid = self.context.valid(ids);
        let mut traced = Vec::new();
        for ids in self.context.parts(&valid, |id| json_bytes(id)) {
            let fill = Fill { ids, run, ..Fill::names_only(layout, self.context.destination.table()) };
            let mut sql = Sql::new(layout.dialect);
            push(
                &mut sql,
                &format!("SELECT {{key}} FROM {{table}} AS t WHERE {{ids}} AND ({})", trace.get_ref()),
                &fill,
            );
            for row in self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default() {
                traced.extend(Cells::new(row).text()?.map(JobId::new));
            }
        }
        Ok(Some(traced))
    }

    pub(crate) async fn read_tx_status(self, transaction: &str, budget: &Budget) -> Result<TxStatus> {
        let Some(statement) = self.context.layout.dialect.tx_status(transaction) else { return Ok(TxStatus::Unknown) };
        let rows = match self.context.engine.read(&[statement], budget).await {
            Ok(mut results) => results.pop().unwrap_or_default(),
            // A transaction that this server has not come to yet: it was restored from a copy. Or it does not know the function.
            Err(SourceError::Refused { .. } | SourceError::Unfit { .. }) => return Ok(TxStatus::Unknown),
            Err(error) => return Err(error),
        };
        let word = rows.into_iter().next().map(|row| Cells::new(row).text()).transpose()?.flatten();
        Ok(match word.as_deref() {
            Some("committed") => TxStatus::Committed,
            Some("aborted") => TxStatus::Undone,
            _ => TxStatus::Unknown,
        })
    }
}
