//! What the record knows of jobs: those of a run, and the runs of a job.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::batches::ids_json;
use super::error::Result;
use super::model::{HistoryEntry, Outcome, Part, RunId, RunJob, Split};
use super::open::Ledger;
use super::runs::operator;
use super::tally::{DONE, FAILED, SKIPPED};
use crate::domain::action::{Action, SkipReason};
use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// Runs of one job that are shown.
const HISTORY: i64 = 200;

impl Ledger {
    /// Jobs of a part of a run in the order of freezing, those after `after` (0 is the start); at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn jobs(&self, run: &RunId, part: Part, after: i64, n: usize) -> Result<Vec<RunJob>> {
        let rows = sqlx::query(
            "SELECT ord, job_id, error_class, batch, outcome, reason FROM run_jobs \
             WHERE run = (SELECT seq FROM runs WHERE id = ?1) AND ord > ?2 AND CASE ?3 \
             WHEN 'all' THEN true \
             WHEN 'done' THEN outcome = 'done' \
             WHEN 'locked' THEN outcome = 'skipped' AND reason = ?5 \
             WHEN 'skipped' THEN outcome = 'skipped' \
             WHEN 'failed' THEN outcome = 'failed' \
             WHEN 'in doubt' THEN batch IS NOT NULL AND outcome IS NULL \
             WHEN 'not started' THEN batch IS NULL \
             ELSE outcome IS NULL OR outcome <> 'done' END \
             ORDER BY ord LIMIT ?4",
        )
        .bind(&run.0)
        .bind(after)
        .bind(word(part))
        .bind(i64::try_from(n).unwrap_or(i64::MAX))
        .bind(SkipReason::Locked.word())
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        rows.iter().map(|row| job(row).map_err(|e| self.fault(e))).collect()
    }

    /// What is on record of one job of a store, latest first.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn history(&self, source: &str, store: &str, id: &JobId) -> Result<Vec<HistoryEntry>> {
        let rows = sqlx::query(
            "SELECT runs.*, run_jobs.outcome, run_jobs.reason AS why, \
             coalesce(batches.ended_at, batches.begun_at) AS at \
             FROM run_jobs JOIN runs ON runs.seq = run_jobs.run \
             JOIN batches ON batches.run = run_jobs.run AND batches.no = run_jobs.batch \
             WHERE run_jobs.job_id = ?1 AND runs.source = ?2 AND runs.store = ?3 ORDER BY runs.seq DESC LIMIT ?4",
        )
        .bind(id.as_str())
        .bind(source)
        .bind(store)
        .bind(HISTORY)
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        rows.iter().map(|row| entry(row).map_err(|e| self.fault(e))).collect()
    }

    /// How often each of these jobs of a store was replayed; jobs that never were are left out.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replayed_counts(&self, source: &str, store: &str, ids: &[JobId]) -> Result<HashMap<JobId, u64>> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT run_jobs.job_id, count(*) FROM json_each(?3) AS asked \
             CROSS JOIN run_jobs ON run_jobs.job_id = asked.value CROSS JOIN runs ON runs.seq = run_jobs.run \
             WHERE run_jobs.batch IS NOT NULL AND run_jobs.outcome = 'done' AND runs.action = 'replay' AND runs.source = ?1 AND runs.store = ?2 \
             GROUP BY 1",
        )
        .bind(source)
        .bind(store)
        .bind(ids_json(ids))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(rows.into_iter().map(|(id, n)| (JobId::new(id), u64::try_from(n).unwrap_or_default())).collect())
    }

    /// How many jobs of a run were replayed by other runs of the same store.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replayed_before(&self, run: &RunId) -> Result<u64> {
        let n: i64 = sqlx::query_scalar(
            "WITH past AS MATERIALIZED (SELECT past.seq FROM runs AS this JOIN runs AS past \
             ON past.source = this.source AND past.store = this.store AND past.seq <> this.seq \
             WHERE this.id = ?1 AND past.action = 'replay' AND past.started_at IS NOT NULL) \
             SELECT count(*) FROM run_jobs AS planned WHERE planned.run = (SELECT seq FROM runs WHERE id = ?1) \
             AND EXISTS (SELECT 1 FROM past) AND EXISTS (SELECT 1 FROM run_jobs AS earlier \
             WHERE earlier.job_id = planned.job_id AND earlier.batch IS NOT NULL AND earlier.outcome = 'done' \
             AND earlier.run IN (SELECT seq FROM past))",
        )
        .bind(&run.0)
        .fetch_one(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(u64::try_from(n).unwrap_or_default())
    }

    /// How the cohort of a run divides: its `top` most frequent error and job classes, its states, and its age.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn split(&self, run: &RunId, top: usize) -> Result<Split> {
        let by_error = "SELECT error_class, count(*) FROM run_jobs WHERE run = (SELECT seq FROM runs WHERE id = ?) \
                        GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?";
        let by_class = "SELECT job_class, count(*) FROM run_jobs WHERE run = (SELECT seq FROM runs WHERE id = ?) \
                        GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?";
        let states: Vec<(String, i64)> = sqlx::query_as(
            "SELECT state, count(*) FROM run_jobs WHERE run = (SELECT seq FROM runs WHERE id = ?) GROUP BY 1 ORDER BY 2 DESC",
        )
        .bind(&run.0)
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        let (oldest, newest): (Option<i64>, Option<i64>) = sqlx::query_as(
            "SELECT min(died_at), max(died_at) FROM run_jobs WHERE run = (SELECT seq FROM runs WHERE id = ?)",
        )
        .bind(&run.0)
        .fetch_one(&self.pool)
        .await
        .map_err(|e| self.fault(e))?;
        Ok(Split {
            by_error: self.shares(by_error, run, top).await?,
            by_class: self.shares(by_class, run, top).await?,
            by_state: states
                .into_iter()
                .filter_map(|(word, n)| Some((State::from_word(&word)?, u64::try_from(n).unwrap_or_default())))
                .collect(),
            span: oldest.zip(newest).map(|(a, b)| (Timestamp(a), Timestamp(b))),
        })
    }

    async fn shares(&self, sql: &'static str, run: &RunId, top: usize) -> Result<Vec<(Option<Untrusted>, u64)>> {
        let rows: Vec<(Option<String>, i64)> = sqlx::query_as(sql)
            .bind(&run.0)
            .bind(i64::try_from(top).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await
            .map_err(|e| self.fault(e))?;
        Ok(rows
            .into_iter()
            .map(|(value, n)| (value.map(Untrusted::new), u64::try_from(n).unwrap_or_default()))
            .collect())
    }
}

fn word(part: Part) -> &'static str {
    match part {
        Part::All => "all",
        Part::Done => "done",
        Part::Locked => "locked",
        Part::Skipped => "skipped",
        Part::Failed => "failed",
        Part::InDoubt => "in doubt",
        Part::NotStarted => "not started",
        Part::Remainder => "remainder",
    }
}

fn outcome(word: Option<&str>, reason: Option<String>) -> Outcome {
    let reason = reason.map(Untrusted::new);
    match word {
        Some(DONE) => Outcome::Done(reason),
        Some(SKIPPED) => Outcome::Skipped(reason.unwrap_or_else(|| Untrusted::from(""))),
        Some(FAILED) => Outcome::Failed(reason.unwrap_or_else(|| Untrusted::from(""))),
        _ => Outcome::InDoubt,
    }
}

fn job(row: &SqliteRow) -> sqlx::Result<RunJob> {
    let begun = row.try_get::<Option<i64>, _>("batch")?.is_some();
    let word: Option<String> = row.try_get("outcome")?;
    let reason = row.try_get("reason")?;
    Ok(RunJob {
        ord: row.try_get("ord")?,
        id: JobId::new(row.try_get::<String, _>("job_id")?),
        error_class: row.try_get::<Option<String>, _>("error_class")?.map(Untrusted::new),
        outcome: begun.then(|| outcome(word.as_deref(), reason)),
    })
}

fn entry(row: &SqliteRow) -> sqlx::Result<HistoryEntry> {
    let action: String = row.try_get("action")?;
    let word: Option<String> = row.try_get("outcome")?;
    Ok(HistoryEntry {
        run: RunId(row.try_get("id")?),
        action: Action::from_word(&action)
            .ok_or_else(|| sqlx::Error::Decode(format!("`{action}` is of a later version").into()))?,
        at: Timestamp(row.try_get("at")?),
        operator: operator(row)?,
        reason: row.try_get("reason")?,
        outcome: told(&outcome(word.as_deref(), row.try_get("why")?)),
    })
}

/// An outcome in one line: `done`, `skipped: …`, `failed: …` or `in doubt`.
fn told(outcome: &Outcome) -> Untrusted {
    Untrusted::new(match outcome {
        Outcome::Done(None) => "done".to_owned(),
        Outcome::Done(Some(note)) => format!("done: {}", note.exact()),
        Outcome::Skipped(reason) => format!("skipped: {}", reason.exact()),
        Outcome::Failed(reason) => format!("failed: {}", reason.exact()),
        Outcome::InDoubt => "in doubt".to_owned(),
    })
}
