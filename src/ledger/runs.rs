//! Runs: led from state to state, and read back.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::error::{LedgerError, Result};
use super::model::{Operator, Run, RunId, RunIntent, RunState, Tally};
use super::open::Ledger;
use super::tally;
use crate::domain::action::Action;
use crate::domain::options::Options;
use crate::domain::time::Timestamp;

impl Ledger {
    /// Marks a confirmed, stopped or crashed run as running. The caller has the [`super::Hold`] of it.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`]; [`LedgerError::WrongState`] for a run that ended or was dismissed.
    pub async fn start(&self, run: &RunId, now: Timestamp) -> Result<()> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let open = [RunState::Planned, RunState::Stopped, RunState::Running];
        let seq = self.in_state(&mut tx, run, &open, "started").await?;
        sqlx::query(
            "UPDATE runs SET state = ?2, started_at = coalesce(started_at, ?3), ended_at = NULL WHERE seq = ?1",
        )
        .bind(seq)
        .bind(RunState::Running.word())
        .bind(now.0)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.fault(e))?;
        tally::forget(&mut tx, seq).await.map_err(|e| self.fault(e))?;
        tx.commit().await.map_err(|e| self.fault(e))
    }

    /// Ends an execution: `finished` when every planned job has an outcome, otherwise `stopped`, to be resumed.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`].
    pub async fn end(&self, run: &RunId, now: Timestamp) -> Result<Run> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        let seq = self.in_state(&mut tx, run, &[RunState::Running], "ended").await?;
        let tally = tally::count(&mut tx, seq).await.map_err(|e| self.fault(e))?;
        let open = tally.not_started + tally.in_doubt > 0;
        let state = if open { RunState::Stopped } else { RunState::Finished };
        tally::keep(&mut tx, seq).await.map_err(|e| self.fault(e))?;
        sqlx::query("UPDATE runs SET state = ?2, ended_at = ?3 WHERE seq = ?1")
            .bind(seq)
            .bind(state.word())
            .bind(now.0)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        tx.commit().await.map_err(|e| self.fault(e))?;
        self.run(run).await
    }

    /// A run with its tally.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchRun`], or when the record cannot be read.
    pub async fn run(&self, run: &RunId) -> Result<Run> {
        let mut tx = self.pool.begin().await.map_err(|e| self.fault(e))?;
        let row = sqlx::query("SELECT * FROM runs WHERE id = ?")
            .bind(&run.0)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?
            .ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
        self.read(&mut tx, &row).await
    }

    /// The latest runs, newest first.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn runs(&self, limit: usize) -> Result<Vec<Run>> {
        let mut tx = self.pool.begin().await.map_err(|e| self.fault(e))?;
        let rows = sqlx::query("SELECT * FROM runs ORDER BY seq DESC LIMIT ?")
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *tx)
            .await
            .map_err(|e| self.fault(e))?;
        let mut runs = Vec::with_capacity(rows.len());
        for row in &rows {
            runs.push(self.read(&mut tx, row).await?);
        }
        Ok(runs)
    }

    /// What became of a run's jobs so far; the parts add up to what was planned.
    ///
    /// # Errors
    /// As [`Ledger::run`].
    pub async fn tally(&self, run: &RunId) -> Result<Tally> {
        Ok(self.run(run).await?.tally)
    }

    /// The run's key, if its state is one of `allowed`.
    pub(super) async fn in_state(
        &self,
        tx: &mut SqliteConnection,
        run: &RunId,
        allowed: &[RunState],
        asked: &'static str,
    ) -> Result<i64> {
        let row = sqlx::query("SELECT seq, state FROM runs WHERE id = ?")
            .bind(&run.0)
            .fetch_optional(tx)
            .await
            .map_err(|e| self.fault(e))?
            .ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
        let word: String = row.try_get("state").map_err(|e| self.fault(e))?;
        if !allowed.iter().any(|state| state.word() == word) {
            return Err(LedgerError::WrongState { run: run.0.clone(), state: word, asked });
        }
        row.try_get("seq").map_err(|e| self.fault(e))
    }

    async fn read(&self, tx: &mut SqliteConnection, row: &SqliteRow) -> Result<Run> {
        let head = Head::decode(row).map_err(|e| self.fault(e))?;
        let tally = tally::of(tx, head.seq, head.state, head.planned).await.map_err(|e| self.fault(e))?;
        Ok(Run {
            id: head.id,
            intent: head.intent,
            state: head.state,
            started_at: head.started_at,
            ended_at: head.ended_at,
            tally,
        })
    }
}

/// A row of `runs`.
struct Head {
    seq: i64,
    id: RunId,
    intent: RunIntent,
    state: RunState,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    planned: u64,
}

impl Head {
    fn decode(row: &SqliteRow) -> sqlx::Result<Self> {
        let action: String = row.try_get("action")?;
        let state: String = row.try_get("state")?;
        let unknown = |word: &str| sqlx::Error::Decode(format!("`{word}` is of a later version").into());
        Ok(Self {
            seq: row.try_get("seq")?,
            id: RunId(row.try_get("id")?),
            intent: RunIntent {
                action: Action::from_word(&action).ok_or_else(|| unknown(&action))?,
                source: row.try_get("source")?,
                store: row.try_get("store")?,
                filter: row.try_get("filter")?,
                resolved: row.try_get("resolved")?,
                reason: row.try_get("reason")?,
                operator: operator(row)?,
                options: options(row.try_get("options")?)?,
                frozen_at: Timestamp(row.try_get("frozen_at")?),
            },
            state: RunState::from_word(&state).ok_or_else(|| unknown(&state))?,
            started_at: row.try_get::<Option<i64>, _>("started_at")?.map(Timestamp),
            ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Timestamp),
            planned: u64::try_from(row.try_get::<i64, _>("planned")?).unwrap_or_default(),
        })
    }
}

/// The options of a run as they are kept; runs of earlier versions have none.
fn options(kept: Option<String>) -> sqlx::Result<Options> {
    match kept {
        Some(text) => serde_json::from_str(&text).map_err(|e| sqlx::Error::Decode(Box::new(e))),
        None => Ok(Options::default()),
    }
}

/// Who acted, out of a row that has the columns of `runs`.
pub(super) fn operator(row: &SqliteRow) -> sqlx::Result<Operator> {
    Ok(Operator {
        user: row.try_get("os_user")?,
        database_user: row.try_get("database_user")?,
        host: row.try_get("host")?,
        ssh_client: row.try_get("ssh_client")?,
    })
}
