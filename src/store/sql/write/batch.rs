//! One short transaction for each batch.
//!
//! A batch locks its rows (passing over those that others hold) under the verb's guard, runs the adapter's statements
//! over exactly the locked ones, and commits. When a statement is refused the batch is undone and halved until the row
//! that is to blame stands alone: it fails with the server's words and costs nobody else.

use std::collections::{HashMap, HashSet};
use std::future::ready;

use tokio::task::yield_now;

use crate::adapter::{ExpectedRows, VerbStep};
use crate::db::cells::Cells;
use crate::db::{Statement, Tx};
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::run_options::Attempts;
use crate::domain::text::Untrusted;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::template::{Fill, expand, push};
use crate::store::sql::query::where_clause::Condition;
use crate::store::sql::write::archive_table::ArchiveTable;
use crate::store::sql::write::collect::Writer;
use crate::store::sql::write::dry_run::{Asker, DryRun};
use crate::store::sql::write::edit::{ArgumentsEditor, leave_changed};
use crate::store::sql::write::journal::{record_done, record_kept};
use crate::store::sql::write::row_completeness::RowCompleteness;
use crate::store::sql::write::transaction_id::Transactions;
use crate::store::sql::write::verb::{VerbMethod, Work};
use crate::store::{Budget, Interrupted, Result, SourceError, Standing};

/// A statement of a verb, ready to run.
pub(crate) struct Filled {
    pub(crate) statement: Statement,
    /// Its place among the verb's own, counted from one.
    pub(crate) no: usize,
    /// How many rows it must touch.
    pub(crate) rows: ExpectedRows,
}

/// The statements of a verb, in their order.
pub(crate) type Statements<'a> = Box<dyn Iterator<Item = Filled> + Send + 'a>;

/// What one attempt brought: an outcome for every job, or why there is none.
pub(crate) type Attempt = std::result::Result<Vec<JobOutcome>, Interrupted>;

/// The rows that an attempt holds.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) rows: Vec<BatchRow>,
    /// What the ledger keeps of them.
    pub(crate) archive: Vec<(JobId, String)>,
    /// The transaction that holds them, where the journal is to have its name.
    pub(crate) transaction: Option<String>,
    /// What is decided already: rows that are not held, or have no message.
    pub(crate) settled: Vec<JobOutcome>,
}

/// Rows that one statement has locked.
pub(crate) struct Locked {
    pub(crate) rows: Vec<(String, Cells)>,
    /// Keys that other rows have too.
    pub(crate) shared: HashSet<String>,
    pub(crate) transaction: Option<String>,
    /// Jobs of which no row was locked.
    missing: Vec<String>,
}

/// Carries a batch out within one transaction.
#[derive(Clone, Copy)]
pub(crate) struct BatchWriter<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> BatchWriter<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// All within the database: lock, steps while the rows are archived, commit.
    pub(crate) async fn move_rows(self, work: &Work<'_>, ids: &[String], budget: &Budget) -> Attempt {
        let mut tx = self.context.begin(budget).await?;
        let held = self.lock_edited(&mut tx, work, ids).await;
        let held = match held {
            Ok(held) => held,
            Err(error) => return undo(tx, error.into()).await,
        };
        if held.rows.is_empty() {
            tx.rollback().await;
            return Ok(held.settled);
        }
        let statements: Statements<'_> = match work.way {
            VerbMethod::Steps(steps) => self.fill_steps(work, steps, &held.rows),
            VerbMethod::Edit(edit) => Box::new(self.edit_statement(work, edit, &held.rows).into_iter()),
            _ => match ArchiveTable::new(self.context).create_statements(&mut tx, work.batch, &held.rows).await {
                Ok(statements) => Box::new(statements.into_iter()),
                Err(error) => return undo(tx, error.into()).await,
            },
        };
        let rows = held.rows.len();
        let done = if work.tx_journal.is_none() {
            // Written by the time of the commit, and no batch waits for it before.
            let entry = behind(|| self.write_entry(work, &held));
            let (ran, written) = tokio::join!(biased; run_each(&mut tx, statements, rows), entry);
            ran.and(written)
        } else {
            match record_kept(&mut tx, work, &held).await {
                Ok(()) => run_each(&mut tx, statements, rows).await,
                Err(error) => Err(error),
            }
        };
        if let Err(error) = done {
            return undo(tx, error.into()).await;
        }
        if let Err(error) = record_done(&mut tx, work, &held.rows).await {
            return undo(tx, error.into()).await;
        }
        tx.commit().await.map_err(Interrupted::at_commit)?;
        Ok(with_all(held.settled, &held.rows, |_| JobResult::Done))
    }

    /// Locks the rows that the guard lets through, reads what is needed of them, and says why the others are not held.
    pub(crate) async fn lock_rows(self, tx: &mut Tx<'_>, work: &Work<'_>, ids: &[String]) -> Result<Held> {
        let mut writer = Writer::new(self.context, work);
        let mut locked = self.lock(tx, work, ids).await?;
        let missing = std::mem::take(&mut locked.missing);
        writer.write(locked)?;
        let mut held = writer.held;
        if let Some(lock) = work.lock.filter(|_| !held.rows.is_empty()) {
            self.lock_too(tx, work, lock, &mut held).await?;
        }
        self.keep_related(tx, work, &mut held).await?;
        if !held.archive.is_empty() {
            RowCompleteness::new(self.context).check_kept(tx, work.batch.action).await?;
        }
        if let VerbMethod::Edit(edit) = work.way {
            ArgumentsEditor::new(self.context).lock_rows(tx, edit, &mut held).await?;
            leave_changed(work, edit, &mut held);
        }
        if !missing.is_empty() {
            held.settled.extend(DryRun::new(self.context).explain_rest(&mut Asker::Tx(tx), work, &missing).await?);
        }
        Ok(held)
    }

    async fn lock(self, tx: &mut Tx<'_>, work: &Work<'_>, ids: &[String]) -> Result<Locked> {
        let mut found: HashMap<&str, usize> = ids.iter().map(|id| (id.as_str(), 0)).collect();
        let mut rows = Vec::with_capacity(ids.len());
        let is_named = Transactions::new(self.context).name_of(work).is_some();
        let mut transaction = None;
        for row in tx.fetch(self.lock_statement(work, ids)).await? {
            let mut cells = Cells::new(row);
            // A collation may find a key that is written otherwise than it was named: that is another key.
            let Some(id) = cells.text()? else { continue };
            if is_named {
                transaction = cells.text()?;
            }
            if let Some(times) = found.get_mut(id.as_str()) {
                *times += 1;
                rows.push((id, cells));
            }
        }
        let shared = self.shared(tx, &found).await?;
        let missing = ids.iter().filter(|id| found.get(id.as_str()) == Some(&0)).cloned().collect();
        Ok(Locked { rows, shared, transaction, missing })
    }

    /// Takes the framework's own locks on the rows that are held, and lets go of those that it was not given.
    async fn lock_too(self, tx: &mut Tx<'_>, work: &Work<'_>, lock: &str, held: &mut Held) -> Result<()> {
        let ids: Vec<String> = held.rows.iter().map(|row| row.id.clone()).collect();
        let statement = expand(lock, &Fill { ids: &ids, batch: &held.rows, ..self.fill(work) });
        let mut given = HashSet::new();
        for row in tx.fetch(&statement).await? {
            given.extend(Cells::new(row).text()?);
        }
        let Held { rows, archive, settled, .. } = held;
        archive.retain(|(id, _)| given.contains(id.as_str()));
        rows.retain(|row| {
            let had = given.contains(&row.id);
            if !had {
                settled.push((JobId::new(&row.id), JobResult::Skipped(SkipReason::Locked)));
            }
            had
        });
        Ok(())
    }

    fn lock_statement(self, work: &Work<'_>, ids: &[String]) -> Statement {
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let fill = Fill { ids, ..self.fill(work) };
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {}", layout.key.text));
        if let Some(name) = Transactions::new(self.context).name_of(work) {
            sql.push(", ").push(name);
        }
        if let Some(recipe) = &work.recipe {
            recipe.push_columns(&mut sql, layout, &fill);
        }
        if work.stamps {
            sql.push(", ").push(dialect.clock());
        }
        for expression in work.keeping.expressions() {
            sql.push(", ").push(&expression);
        }
        sql.push(&format!(" FROM {} WHERE ", layout.tables.from));
        push(&mut sql, "{ids} AND ", &fill);
        self.guard(&mut sql, work, &fill);
        sql.push(&dialect.lock_clause("t"));
        sql.done()
    }

    /// Writes whether a row may still be acted on: the verb allows it, and it has not left the state it was frozen in.
    pub(crate) fn guard(self, sql: &mut Sql, work: &Work<'_>, fill: &Fill<'_>) {
        self.still(sql, work, fill);
        for refusal in work.refuse {
            sql.push(" AND (");
            push(sql, refusal.when.get_ref(), fill);
            sql.push(") IS NOT TRUE");
        }
    }

    /// The same, whether or not the verb can be done for the job.
    pub(crate) fn still(self, sql: &mut Sql, work: &Work<'_>, fill: &Fill<'_>) {
        sql.push("(");
        push(sql, work.when.unwrap_or("1 = 1"), fill);
        sql.push(")");
        if work.batch.action == Action::Recall {
            // How it stood before the replay is what it is to be brought back to.
            return;
        }
        let Standing { state, native } = &work.batch.standing;
        let condition = Condition::new(&self.context.layout);
        if let Some(state) = state {
            sql.push(" AND ");
            condition.state(sql, *state);
        }
        if let Some(word) = native {
            sql.push(" AND ");
            condition.native(sql, word);
        }
        if let Some(at) = work.batch.options.untouched_since() {
            sql.push(" AND ");
            condition.untouched(sql, at);
        }
        if let Some(at) = work.batch.died_by {
            sql.push(" AND ");
            condition.died_by(sql, at);
        }
    }

    pub(crate) async fn run_steps(
        self,
        tx: &mut Tx<'_>,
        work: &Work<'_>,
        steps: &[VerbStep],
        rows: &[BatchRow],
    ) -> Result<()> {
        run_each(tx, self.fill_steps(work, steps, rows), rows.len()).await
    }

    /// The steps that are for this batch, each filled in when it is asked for.
    pub(crate) fn fill_steps<'a>(
        self,
        work: &'a Work<'_>,
        steps: &'a [VerbStep],
        rows: &'a [BatchRow],
    ) -> Statements<'a>
    where
        's: 'a,
    {
        let ids: Vec<String> = rows.iter().map(|r| r.id.clone()).collect();
        let elsewhere = work.batch.options.to_queue.is_some();
        let copies_only = work.batch.action == Action::Copy;
        let is_for =
            move |step: &VerbStep| step.to_queue.is_none_or(|only| only == elsewhere) && (step.copies || !copies_only);
        let steps = (1..).zip(steps).filter(move |(_, step)| is_for(step));
        let filled = move |(no, step): (usize, &'a VerbStep)| {
            let statement = self.filled(work, step, rows, &ids);
            Filled { statement, no, rows: step.rows }
        };
        Box::new(steps.map(filled))
    }

    pub(crate) fn filled(self, work: &Work<'_>, step: &VerbStep, rows: &[BatchRow], ids: &[String]) -> Statement {
        let fill = Fill { ids, batch: rows, ..self.fill(work) };
        expand(step.sql.get_ref(), &fill)
    }

    /// What the statements of an attempt name, but for its rows.
    pub(crate) fn fill<'a>(self, work: &'a Work<'_>) -> Fill<'a>
    where
        's: 'a,
    {
        let usual = self.context.info.capabilities.options.attempts.first().copied();
        let options = &work.batch.options;
        Fill {
            run: &work.batch.run,
            run_after: work.batch.run_after,
            to_queue: options.to_queue.as_deref(),
            once: options.attempts.or(usual) == Some(Attempts::Once),
            undone: work.batch.undo.as_ref().map_or("", |undo| &undo.run),
            live: work.live_kind(),
            ..Fill::names_only(&self.context.layout, self.context.destination.table())
        }
    }
}

/// Does `work` while the database is at something that was asked of it just now: the task that asks has its turn first.
async fn behind<F: Future>(work: impl FnOnce() -> F) -> F::Output {
    yield_now().await;
    work().await
}

/// Runs statements over `rows` rows; one that touches another number of them is refused. While the database is at one, the
/// next is filled in.
pub(crate) async fn run_each(tx: &mut Tx<'_>, mut statements: Statements<'_>, rows: usize) -> Result<()> {
    let mut next = statements.next();
    while let Some(Filled { statement, no, rows: must }) = next {
        let (affected, filled) = tokio::join!(biased; tx.execute(statement), behind(|| ready(statements.next())));
        let affected = affected?;
        next = filled;
        if must == ExpectedRows::Each && affected != rows as u64 {
            let word = if affected == 1 { "row" } else { "rows" };
            let message = format!("statement {no} touched {affected} {word} instead of {rows}");
            return Err(SourceError::Refused { message, code: None });
        }
    }
    Ok(())
}

pub(crate) fn failed(reason: &str) -> JobResult {
    JobResult::Failed(Untrusted::new(reason))
}

pub(crate) fn with_all(
    mut settled: Vec<JobOutcome>,
    rows: &[BatchRow],
    result: impl Fn(&JobId) -> JobResult,
) -> Vec<JobOutcome> {
    settled.extend(rows.iter().map(|row| {
        let id = JobId::new(&row.id);
        let result = result(&id);
        (id, result)
    }));
    settled
}

pub(crate) async fn undo<T, E>(tx: Tx<'_>, error: E) -> std::result::Result<T, E> {
    tx.rollback().await;
    Err(error)
}

/// Whether the database asks to try the same transaction again: a deadlock, a serialisation failure, a lock not had.
pub(crate) fn again(error: &SourceError) -> bool {
    matches!(error, SourceError::Locked(_))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn what_is_done_behind_a_question_waits_until_it_is_asked() {
        let order = Mutex::new(Vec::new());
        let note = |what| order.lock().unwrap().push(what);
        // As the engine asks: in a task of its own, which the runtime runs when this one pauses.
        let question = async {
            tokio::spawn(async {}).await.unwrap();
            note("asked");
        };
        tokio::join!(biased; question, behind(|| async { note("behind") }));
        assert_eq!(*order.lock().unwrap(), ["asked", "behind"]);
    }
}
