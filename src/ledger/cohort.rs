//! Cohorts: a run is written down before anything is touched, filled with its frozen ids, and sealed or dismissed.

use std::time::Duration;

use super::error::{LedgerError, Result};
use super::id;
use super::model::{RunId, RunIntent, RunState};
use super::open::Ledger;
use crate::domain::time::Timestamp;
use crate::store::Frozen;

/// Jobs that go into one statement while freezing.
const FREEZE_CHUNK: usize = 10_000;
/// Rows of a dismissed plan that are removed in one transaction.
const FORGET_CHUNK: i64 = 20_000;
/// Age from which a run in state `freezing` that nobody holds is known to be left behind, and not just made.
const ABANDONED: Duration = Duration::from_secs(60);
/// Ids that are tried before giving up; only runs frozen within the same instant meet.
const ID_TRIES: i64 = 1_000;
/// Characters of a class that the record keeps of each job.
const CLASS_HEAD: usize = 200;

impl Ledger {
    /// Writes down what a run is to do, in state `freezing`.
    ///
    /// # Errors
    /// When the record cannot be kept: then nothing may be acted on.
    pub async fn create_run(&self, intent: &RunIntent) -> Result<RunId> {
        let operator = &intent.operator;
        let options = serde_json::to_string(&intent.options).map_err(|e| LedgerError::Refused(e.to_string()))?;
        for nth in 0..ID_TRIES {
            let id = id::candidate(intent.frozen_at, nth);
            let made = sqlx::query(
                "INSERT INTO runs (id, action, state, source, store, filter, resolved, reason, os_user, \
                 database_user, host, ssh_client, frozen_at, options) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(&id)
            .bind(intent.action.word())
            .bind(RunState::Freezing.word())
            .bind(&intent.source)
            .bind(&intent.store)
            .bind(&intent.filter)
            .bind(&intent.resolved)
            .bind(&intent.reason)
            .bind(&operator.user)
            .bind(&operator.database_user)
            .bind(&operator.host)
            .bind(&operator.ssh_client)
            .bind(intent.frozen_at.0)
            .bind(&options)
            .execute(&self.pool)
            .await
            .map_err(|e| self.fault(e))?;
            if made.rows_affected() == 1 {
                return Ok(RunId(id));
            }
        }
        Err(LedgerError::Refused("too many runs were made at the same instant".into()))
    }

    /// Adds jobs to a run that is being frozen; those that come twice are sorted out by [`Ledger::seal`].
    ///
    /// # Errors
    /// As [`Ledger::create_run`]; [`LedgerError::WrongState`] once the run is sealed.
    pub async fn freeze_jobs(&self, run: &RunId, jobs: &[Frozen]) -> Result<()> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Freezing], "added to").await?;
        for chunk in jobs.chunks(FREEZE_CHUNK) {
            sqlx::query(
                "INSERT INTO run_jobs (run, ord, job_id, error_class, job_class, died_at, state, native) \
                 SELECT ?1, key + 1 + (SELECT coalesce(max(ord), 0) FROM run_jobs WHERE run = ?1), value ->> 0, \
                 value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?2)",
            )
            .bind(seq)
            .bind(frozen_json(chunk))
            .execute(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.fault(e))
    }

    /// Closes the cohort: each job is in it once, and it is `planned` from here on. Returns how many jobs it has.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`].
    pub async fn seal(&self, run: &RunId) -> Result<u64> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Freezing], "sealed").await?;
        sqlx::query(
            "DELETE FROM run_jobs WHERE run = ?1 AND ord IN (SELECT ord FROM (SELECT ord, \
             row_number() OVER (PARTITION BY job_id ORDER BY ord) AS nth FROM run_jobs WHERE run = ?1) WHERE nth > 1)",
        )
        .bind(seq)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        let planned: i64 = sqlx::query_scalar(
            "UPDATE runs SET state = ?2, planned = (SELECT count(*) FROM run_jobs WHERE run = ?1) \
             WHERE seq = ?1 RETURNING planned",
        )
        .bind(seq)
        .bind(RunState::Planned.word())
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        tx.commit().await.map_err(|e| self.fault(e))?;
        Ok(u64::try_from(planned).unwrap_or_default())
    }

    /// Dismisses a plan that was not confirmed. The run stays on record, with its number of jobs but without their ids.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`]; [`LedgerError::WrongState`] once it was started.
    pub async fn dismiss(&self, run: &RunId, now: Timestamp) -> Result<()> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let open = [RunState::Freezing, RunState::Planned, RunState::Dismissed];
        let seq = self.in_state(&mut tx, run, &open, "dismissed").await?;
        sqlx::query("UPDATE runs SET state = ?2, ended_at = ?3 WHERE seq = ?1")
            .bind(seq)
            .bind(RunState::Dismissed.word())
            .bind(now.0)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        tx.commit().await.map_err(|e| self.fault(e))?;
        loop {
            let gone = sqlx::query(
                "DELETE FROM run_jobs WHERE run = ?1 AND ord < ?2 + (SELECT min(ord) FROM run_jobs WHERE run = ?1)",
            )
            .bind(seq)
            .bind(FORGET_CHUNK)
            .execute(&self.pool)
            .await
            .map_err(|e| self.fault(e))?;
            if gone.rows_affected() == 0 {
                return Ok(());
            }
        }
    }

    /// Dismisses what a crash left while it was being frozen: such a cohort is not whole and was never shown.
    ///
    /// # Errors
    /// When the record cannot be kept.
    pub async fn dismiss_abandoned(&self, now: Timestamp) -> Result<()> {
        let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM runs WHERE state = ? AND frozen_at < ?")
            .bind(RunState::Freezing.word())
            .bind(now.before(ABANDONED).0)
            .fetch_all(&self.pool)
            .await
            .map_err(|e| self.fault(e))?;
        for run in ids.into_iter().map(RunId) {
            if !self.is_held(&run) {
                self.dismiss(&run, now).await?;
            }
        }
        Ok(())
    }
}

/// Jobs as one bound value: an array of `[id, error class, job class, time of death, state, native word]`.
fn frozen_json(jobs: &[Frozen]) -> String {
    let head = |text: &str| text.chars().take(CLASS_HEAD).collect::<String>();
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                job.id.as_str(),
                job.error_class.as_ref().map(|c| head(c.exact())),
                job.job_class.as_ref().map(|c| head(c.exact())),
                job.at.map(|at| at.0),
                job.state.word(),
                job.native.as_ref().map(|word| word.exact()),
            )
        })
        .collect();
    serde_json::to_string(&rows).unwrap_or_default()
}
