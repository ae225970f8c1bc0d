//! What undoing a run, and erasing what it kept, needs of the record.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::batches::ids_json;
use super::error::Result;
use super::model::RunId;
use super::open::Ledger;
use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Frozen, Standing};

impl Ledger {
    /// Jobs that a run took effect on, as they were frozen for it: those after `after` (0 is the start) in the order of
    /// freezing, at most `n`. Of `ids` only, where there are any.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn done_jobs(&self, run: &RunId, ids: &[JobId], after: i64, n: usize) -> Result<Vec<(i64, Frozen)>> {
        let named = if ids.is_empty() { None } else { Some(ids_json(ids)) };
        let rows = sqlx::query(
            "SELECT ord, job_id, error_class, job_class, died_at, state, native FROM run_jobs \
             WHERE run = (SELECT seq FROM runs WHERE id = ?1) AND ord > ?2 AND batch IS NOT NULL AND outcome = 'done' \
             AND (?3 IS NULL OR job_id IN (SELECT value FROM json_each(?3))) ORDER BY ord LIMIT ?4",
        )
        .bind(&run.0)
        .bind(after)
        .bind(named)
        .bind(i64::try_from(n).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        rows.iter().map(|row| frozen(row).map_err(|e| self.fault(e))).collect()
    }

    /// Jobs of a cohort with how they stood when they were frozen, those after `after`; at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn standings(&self, run: &RunId, after: i64, n: usize) -> Result<Vec<(i64, JobId, Standing)>> {
        let rows: Vec<(i64, String, String, Option<String>)> = sqlx::query_as(
            "SELECT ord, job_id, state, native FROM run_jobs WHERE run = (SELECT seq FROM runs WHERE id = ?1) \
             AND ord > ?2 ORDER BY ord LIMIT ?3",
        )
        .bind(&run.0)
        .bind(after)
        .bind(i64::try_from(n).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        let standing = |(ord, id, state, native): (i64, String, String, Option<String>)| {
            (ord, JobId::new(id), Standing { state: State::from_word(&state), native })
        };
        Ok(rows.into_iter().map(standing).collect())
    }

    /// How many rows other runs of the same store kept of the jobs of a run.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn kept_elsewhere(&self, run: &RunId) -> Result<u64> {
        let n: i64 = sqlx::query_scalar(
            "WITH others AS MATERIALIZED (SELECT other.seq FROM runs AS this JOIN runs AS other \
             ON other.source = this.source AND other.store = this.store AND other.seq <> this.seq WHERE this.id = ?1) \
             SELECT count(*) FROM run_jobs AS planned CROSS JOIN others \
             CROSS JOIN archive ON archive.run = others.seq AND archive.job_id = planned.job_id \
             WHERE planned.run = (SELECT seq FROM runs WHERE id = ?1) AND archive.row <> ''",
        )
        .bind(&run.0)
        .fetch_one(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(u64::try_from(n).unwrap_or_default())
    }

    /// Erases what other runs of the same store kept of these jobs.
    ///
    /// # Errors
    /// When the record cannot be kept.
    pub async fn erase_kept(&self, run: &RunId, ids: &[JobId]) -> Result<u64> {
        let done = sqlx::query(
            "DELETE FROM archive WHERE job_id IN (SELECT value FROM json_each(?2)) AND run IN (SELECT other.seq \
             FROM runs AS this JOIN runs AS other ON other.source = this.source AND other.store = this.store \
             AND other.seq <> this.seq WHERE this.id = ?1)",
        )
        .bind(&run.0)
        .bind(ids_json(ids))
        .execute(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(done.rows_affected())
    }
}

fn frozen(row: &SqliteRow) -> sqlx::Result<(i64, Frozen)> {
    let text = |name: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(name)?.map(Untrusted::new));
    let state: String = row.try_get("state")?;
    let job = Frozen {
        id: JobId::new(row.try_get::<String, _>("job_id")?),
        error_class: text("error_class")?,
        job_class: text("job_class")?,
        at: row.try_get::<Option<i64>, _>("died_at")?.map(Timestamp),
        state: State::from_word(&state)
            .ok_or_else(|| sqlx::Error::Decode(format!("`{state}` is of a later version").into()))?,
        native: text("native")?,
    };
    Ok((row.try_get("ord")?, job))
}
