//! Batches: named before their jobs are touched, settled after. What lies between the two is in doubt.
//!
//! The statements name their index: left to itself the planner walks the run from its first job at every batch.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::error::{LedgerError, Result};
use super::model::{BatchNo, RunId, RunJob, RunState};
use super::open::Ledger;
use super::tally::{DONE, FAILED, SKIPPED};
use crate::domain::action::{JobOutcome, JobResult};
use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::Standing;

/// Characters of a reason that the record keeps.
const REASON_HEAD: usize = 2_000;

/// The result of a job as the record takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The job with what became of it.
    pub outcome: JobOutcome,
    /// How that is known, where the store did not say so itself.
    pub note: Option<&'static str>,
}

impl From<JobOutcome> for Settled {
    fn from(outcome: JobOutcome) -> Self {
        Self { outcome, note: None }
    }
}

impl Ledger {
    /// Writes down that the next jobs of the run are about to be touched, at most `n` of them in the order of freezing;
    /// durable on return. `None` when every job was named in a batch.
    ///
    /// # Errors
    /// When the record cannot be kept or the run is not running: then nothing may be touched.
    pub async fn begin_batch(&self, run: &RunId, n: usize, now: Timestamp) -> Result<Option<(BatchNo, Vec<JobId>)>> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Running], "worked on").await?;
        let begun = self.name_next(&mut tx, seq, n, now).await?;
        if begun.is_some() {
            tx.commit().await.map_err(|e| self.fault(e))?;
        }
        Ok(begun)
    }

    /// Names the next jobs of a run in a batch of their own.
    async fn name_next(
        &self,
        tx: &mut SqliteConnection,
        run: i64,
        n: usize,
        now: Timestamp,
    ) -> Result<Option<(BatchNo, Vec<JobId>)>> {
        let ords: Vec<i64> = sqlx::query_scalar(
            "SELECT ord FROM run_jobs INDEXED BY run_jobs_not_started WHERE run = ?1 AND batch IS NULL ORDER BY ord LIMIT ?2",
        )
        .bind(run)
        .bind(i64::try_from(n).unwrap_or(i64::MAX))
        .fetch_all(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        let (Some(first), Some(last)) = (ords.first(), ords.last()) else { return Ok(None) };
        let no = self.new_batch(&mut *tx, run, now).await?;
        let ids: Vec<String> = sqlx::query_scalar(
            "UPDATE run_jobs SET batch = ?2 WHERE run = ?1 AND ord BETWEEN ?3 AND ?4 AND batch IS NULL RETURNING job_id",
        )
        .bind(run)
        .bind(no.0)
        .bind(first)
        .bind(last)
        .fetch_all(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(Some((no, ids.into_iter().map(JobId::new).collect())))
    }

    /// Writes down that jobs which were skipped are about to be tried once more; otherwise as [`Ledger::begin_batch`].
    ///
    /// # Errors
    /// As [`Ledger::begin_batch`]; also when one of the jobs was not skipped: then none is named.
    pub async fn begin_again(&self, run: &RunId, jobs: &[RunJob], now: Timestamp) -> Result<BatchNo> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Running], "worked on").await?;
        let no = self.new_batch(&mut tx, seq, now).await?;
        let ords: Vec<i64> = jobs.iter().map(|job| job.ord).collect();
        let named = sqlx::query(
            "UPDATE run_jobs SET batch = ?2, outcome = NULL, reason = NULL WHERE run = ?1 \
             AND ord IN (SELECT value FROM json_each(?3)) AND outcome = 'skipped'",
        )
        .bind(seq)
        .bind(no.0)
        .bind(serde_json::to_string(&ords).unwrap_or_default())
        .execute(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        if named.rows_affected() != jobs.len() as u64 {
            return Err(LedgerError::Refused(format!("not all of these jobs of run {run} were skipped")));
        }
        tx.commit().await.map_err(|e| self.fault(e))?;
        Ok(no)
    }

    async fn new_batch(&self, tx: &mut SqliteConnection, run: i64, now: Timestamp) -> Result<BatchNo> {
        let no = sqlx::query_scalar(
            "INSERT INTO batches (run, no, begun_at) \
             SELECT ?1, 1 + coalesce(max(no), 0), ?2 FROM batches WHERE run = ?1 RETURNING no",
        )
        .bind(run)
        .bind(now.0)
        .fetch_one(tx)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(BatchNo(no))
    }

    /// Writes down what became of a batch's jobs. Jobs that `outcomes` leaves out stay in doubt.
    ///
    /// # Errors
    /// When the record cannot be kept: the batch stays in doubt.
    pub async fn finish_batch(&self, run: &RunId, batch: BatchNo, outcomes: &[Settled], now: Timestamp) -> Result<()> {
        self.turn_batch(run, batch, outcomes, 0, now).await.map(drop)
    }

    /// As [`Ledger::finish_batch`], and in the same transaction, which waits for the disk once, as
    /// [`Ledger::begin_batch`] of the next `n` jobs. A crash leaves one of the two batches in doubt, and never both.
    ///
    /// # Errors
    /// As those two: the finished batch stays in doubt, and no further one is begun.
    pub async fn turn_batch(
        &self,
        run: &RunId,
        batch: BatchNo,
        outcomes: &[Settled],
        n: usize,
        now: Timestamp,
    ) -> Result<Option<(BatchNo, Vec<JobId>)>> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Running], "worked on").await?;
        sqlx::query(
            "UPDATE run_jobs INDEXED BY run_jobs_by_job SET outcome = told.outcome, reason = told.reason \
             FROM (SELECT value ->> 0 AS id, value ->> 1 AS outcome, value ->> 2 AS reason FROM json_each(?3)) AS told \
             WHERE run_jobs.run = ?1 AND run_jobs.batch = ?2 AND run_jobs.job_id = told.id",
        )
        .bind(seq)
        .bind(batch.0)
        .bind(outcomes_json(outcomes))
        .execute(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        sqlx::query("UPDATE batches SET ended_at = ?3 WHERE run = ?1 AND no = ?2")
            .bind(seq)
            .bind(batch.0)
            .bind(now.0)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        // Before the next ones are named, which are not settled.
        self.drop_notes(&mut tx, seq).await?;
        let begun = self.name_next(&mut tx, seq, n, now).await?;
        tx.commit().await.map_err(|e| self.fault(e))?;
        Ok(begun)
    }

    /// Takes a batch back: it is certain that none of its jobs was touched, so they are not started again.
    ///
    /// # Errors
    /// As [`Ledger::finish_batch`].
    pub async fn release_batch(&self, run: &RunId, batch: BatchNo) -> Result<()> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Running], "worked on").await?;
        for sql in [
            "UPDATE run_jobs INDEXED BY run_jobs_in_doubt SET batch = NULL WHERE run = ?1 AND batch = ?2 AND batch IS NOT NULL AND outcome IS NULL",
            "DELETE FROM batches WHERE run = ?1 AND no = ?2",
        ] {
            sqlx::query(sql).bind(seq).bind(batch.0).execute(&mut *tx).await.map_err(|e| self.fault(e))?;
        }
        self.drop_notes(&mut tx, seq).await?;
        tx.commit().await.map_err(|e| self.fault(e))
    }

    /// The batches of a run whose result is not known, with their jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn in_doubt(&self, run: &RunId) -> Result<Vec<(BatchNo, Vec<JobId>)>> {
        let rows = sqlx::query(
            "SELECT batch, job_id FROM run_jobs INDEXED BY run_jobs_in_doubt WHERE run = (SELECT seq FROM runs WHERE id = ?) \
             AND batch IS NOT NULL AND outcome IS NULL ORDER BY batch, ord",
        )
        .bind(&run.0)
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        let mut batches: Vec<(BatchNo, Vec<JobId>)> = Vec::new();
        for row in rows {
            let no = BatchNo(row.try_get("batch").map_err(|e| self.fault(e))?);
            let id = JobId::new(row.try_get::<String, _>("job_id").map_err(|e| self.fault(e))?);
            match batches.last_mut() {
                Some((last, ids)) if *last == no => ids.push(id),
                _ => batches.push((no, vec![id])),
            }
        }
        Ok(batches)
    }

    /// Jobs that a batch has named, by how they stood when they were frozen; each of `ids` once, in their order.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn frozen_standings(&self, run: &RunId, ids: &[JobId]) -> Result<Vec<(Standing, Vec<JobId>)>> {
        let rows = sqlx::query(
            "SELECT job_id, state, native FROM run_jobs INDEXED BY run_jobs_by_job WHERE batch IS NOT NULL \
             AND job_id IN (SELECT value FROM json_each(?2)) AND run = (SELECT seq FROM runs WHERE id = ?1)",
        )
        .bind(&run.0)
        .bind(ids_json(ids))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        let mut standings: HashMap<String, Standing> = HashMap::new();
        for row in rows {
            let word: String = row.try_get("state").map_err(|e| self.fault(e))?;
            let native = row.try_get("native").map_err(|e| self.fault(e))?;
            let standing = Standing { state: State::from_word(&word), native };
            standings.insert(row.try_get("job_id").map_err(|e| self.fault(e))?, standing);
        }
        let mut alike: Vec<(Standing, Vec<JobId>)> = Vec::new();
        for id in ids {
            let standing = standings.get(id.as_str()).cloned().unwrap_or_default();
            match alike.iter_mut().find(|(known, _)| *known == standing) {
                Some((_, same)) => same.push(id.clone()),
                None => alike.push((standing, vec![id.clone()])),
            }
        }
        Ok(alike)
    }
}

/// Ids as one bound value.
pub(super) fn ids_json(ids: &[JobId]) -> String {
    serde_json::to_string(&ids.iter().map(JobId::as_str).collect::<Vec<_>>()).unwrap_or_default()
}

/// Outcomes as one bound value: an array of `[id, outcome, reason]`.
fn outcomes_json(outcomes: &[Settled]) -> String {
    let rows: Vec<(&str, &str, Option<String>)> = outcomes
        .iter()
        .map(|Settled { outcome: (id, result), note }| match result {
            JobResult::Done => (id.as_str(), DONE, note.map(str::to_owned)),
            JobResult::Skipped(reason) => (id.as_str(), SKIPPED, Some(reason.word().to_owned())),
            JobResult::Failed(reason) => (id.as_str(), FAILED, Some(kept(reason))),
        })
        .collect();
    serde_json::to_string(&rows).unwrap_or_default()
}

/// The start of a reason. NUL would end the text for SQLite's string functions.
fn kept(reason: &Untrusted) -> String {
    reason.exact().chars().take(REASON_HEAD).map(|c| if c == '\0' { '\u{2400}' } else { c }).collect()
}
