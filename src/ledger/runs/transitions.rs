//! The states of a run: frozen, planned, running, and stopped or finished; or dismissed.

use std::time::Duration;

use super::lock::renew;
use super::row::stored_intent;
use super::{Runs, id, tally};
use crate::domain::rollout::RolloutState;
use crate::domain::time::Timestamp;
use crate::ledger::backend::{Backend, LedgerTx, RowCells, int, maybe, text};
use crate::ledger::edits;
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::{Run, RunId, RunIntent, RunState};

/// Rows of a dismissed plan that are removed in one transaction.
const FORGET_CHUNK: i64 = 20_000;
/// Age from which a run in state `freezing` that nobody holds is known to be left behind, and not just made.
const ABANDONED: Duration = Duration::from_secs(60);
/// Ids that are tried before giving up; only runs frozen within the same instant meet.
const ID_TRIES: i64 = 1_000;
/// States from which a run is started, or goes on.
const STARTABLE: [RunState; 3] = [RunState::Planned, RunState::Stopped, RunState::Running];

impl Runs<'_> {
    /// Writes down what a run is to do, in state `freezing`.
    ///
    /// # Errors
    /// When the record cannot be kept: then nothing may be acted on.
    pub async fn create(self, intent: &RunIntent) -> Result<RunId> {
        let operator = &intent.operator;
        let options = stored_intent(intent)?;
        for nth in 0..ID_TRIES {
            let id = id::candidate(intent.frozen_at, nth);
            let binds = [
                text(&id),
                text(intent.action.word()),
                text(RunState::Freezing.word()),
                text(&intent.source),
                text(&intent.store),
                text(&intent.filter),
                text(&intent.resolved),
                maybe(intent.reason.as_deref()),
                text(&operator.user),
                text(&operator.database_user),
                text(&operator.host),
                maybe(operator.ssh_client.as_deref()),
                int(intent.frozen_at.0),
                text(&options),
            ];
            let made = self.ledger.home.execute(
                "{insert_new} INTO {runs} (id, action, state, source, store, filter, resolved, reason, os_user, \
                 database_user, host, ssh_client, frozen_at, options) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) {unless_known}",
                binds,
            );
            if made.await? == 1 {
                return Ok(RunId(id));
            }
        }
        Err(LedgerError::Refused("too many runs were made at the same instant".into()))
    }

    /// Marks a confirmed, stopped or crashed run as running. The caller has the [`super::RunLock`] of it.
    ///
    /// # Errors
    /// As [`Runs::create`]; [`LedgerError::WrongState`] for a run that ended or was dismissed.
    pub async fn start(self, run: &RunId, now: Timestamp) -> Result<()> {
        if let Some(n) = self.ledger.home.keys() {
            self.make_known(run, n).await?;
        }
        let mut tx = self.ledger.home.begin().await?;
        let seq = at_work(&mut tx, run, &STARTABLE, "started").await?;
        tx.execute(
            "UPDATE {runs} SET state = ?2, started_at = coalesce(started_at, ?3), ended_at = NULL WHERE seq = ?1",
            [int(seq), text(RunState::Running.word()), int(now.0)],
        )
        .await?;
        tally::forget(&mut tx, seq).await?;
        tx.commit().await
    }

    /// Writes down what the jobs of a run are known by before it is started for the first time, `n` jobs at a time.
    async fn make_known(self, run: &RunId, n: i64) -> Result<()> {
        let mut known = 0;
        loop {
            let mut tx = self.ledger.home.begin().await?;
            let seq = at_work(&mut tx, run, &STARTABLE, "started").await?;
            let rest = tx.number(
                "SELECT max(ord) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE seq = ?1 AND started_at IS NULL)",
                [int(seq)],
            );
            if rest.await? <= known {
                return Ok(());
            }
            // In order, so that each page is written once, and by one sort: a UNION would keep one in memory for each of its
            // parts.
            let sql = "INSERT OR IGNORE INTO {run_keys} (known_as, run, ord) \
                       SELECT CASE part.n WHEN 1 THEN j.job_id WHEN 2 THEN j.lineage ELSE j.successor END, j.run, j.ord \
                       FROM {run_jobs} AS j CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS part \
                       WHERE j.run = ?1 AND j.ord > ?2 AND j.ord <= ?3 \
                       AND CASE part.n WHEN 1 THEN j.job_id WHEN 2 THEN j.lineage ELSE j.successor END IS NOT NULL \
                       ORDER BY 1";
            tx.execute(sql, [int(seq), int(known), int(known + n)]).await?;
            tx.commit().await?;
            known += n;
        }
    }

    /// Ends an execution: `finished` when every planned job has an outcome, otherwise `stopped`, to be resumed.
    ///
    /// # Errors
    /// As [`Runs::create`].
    pub async fn end(self, run: &RunId, now: Timestamp) -> Result<Run> {
        let mut tx = self.ledger.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "ended").await?;
        let tally = tally::keep(&mut tx, seq).await?;
        let open = tally.not_started + tally.in_doubt > 0;
        let state = if open { RunState::Stopped } else { RunState::Finished };
        tx.execute(
            "UPDATE {runs} SET state = ?2, ended_at = ?3 WHERE seq = ?1",
            [int(seq), text(state.word()), int(now.0)],
        )
        .await?;
        tx.commit().await?;
        self.get(run).await
    }

    /// Writes down other options for a run that is being frozen.
    ///
    /// # Errors
    /// As [`Runs::create`]; [`LedgerError::WrongState`] once it is sealed.
    pub async fn set_options(self, run: &RunId, intent: &RunIntent) -> Result<()> {
        let mut tx = self.ledger.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Freezing], "changed").await?;
        tx.execute("UPDATE {runs} SET options = ?2 WHERE seq = ?1", [int(seq), text(stored_intent(intent)?)]).await?;
        tx.commit().await
    }

    /// Writes down how far a run has come that proves itself. The caller executes it.
    ///
    /// # Errors
    /// As [`Runs::create`]; [`LedgerError::WrongState`] where it is not running.
    pub async fn set_rollout(self, run: &RunId, state: &RolloutState) -> Result<()> {
        let mut tx = self.ledger.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "worked on").await?;
        tx.execute("UPDATE {runs} SET rollout = ?2 WHERE seq = ?1", [int(seq), text(state.to_json())]).await?;
        tx.commit().await
    }

    /// Dismisses a plan that was not confirmed. The run stays on record, with its number of jobs but without their ids.
    ///
    /// # Errors
    /// As [`Runs::create`]; [`LedgerError::WrongState`] once it was started.
    pub async fn dismiss(self, run: &RunId, now: Timestamp) -> Result<()> {
        dismiss_in(&self.ledger.of(run).await?.home, run, now).await
    }

    /// Dismisses what a crash left while it was being frozen: such a cohort is not whole and was never shown.
    ///
    /// # Errors
    /// When the record cannot be kept.
    pub async fn dismiss_abandoned(self, now: Timestamp) -> Result<()> {
        let rows = self.ledger.home.fetch(
            "SELECT id FROM {runs} WHERE state = ?1 AND frozen_at < ?2",
            [text(RunState::Freezing.word()), int(now.before(ABANDONED).0)],
        );
        for row in rows.await? {
            let run = RunId(RowCells::of(row).text()?);
            if !self.ledger.locks().is_held(&run).await? {
                self.dismiss(&run, now).await?;
            }
        }
        Ok(())
    }
}

async fn dismiss_in(home: &Backend, run: &RunId, now: Timestamp) -> Result<()> {
    let mut tx = home.begin().await?;
    let open = [RunState::Freezing, RunState::Planned, RunState::Dismissed];
    let seq = in_state(&mut tx, run, &open, "dismissed").await?;
    tx.execute(
        "UPDATE {runs} SET state = ?2, ended_at = ?3 WHERE seq = ?1",
        [int(seq), text(RunState::Dismissed.word()), int(now.0)],
    )
    .await?;
    tx.commit().await?;
    edits::forget(home, seq).await?;
    loop {
        let mut tx = home.begin().await?;
        let first = tx.first("SELECT min(ord) FROM {run_jobs} WHERE run = ?1", [int(seq)]).await?;
        let Some(first) = first.map(|mut row| row.maybe_int()).transpose()?.flatten() else { return Ok(()) };
        let beyond = int(first + FORGET_CHUNK);
        tx.execute("DELETE FROM {run_jobs} WHERE run = ?1 AND ord < ?2", [int(seq), beyond]).await?;
        tx.commit().await?;
    }
}

/// As [`in_state`], for whoever holds the run and goes on with it.
pub(in crate::ledger) async fn at_work(
    tx: &mut LedgerTx<'_>,
    run: &RunId,
    allowed: &[RunState],
    asked: &'static str,
) -> Result<i64> {
    let seq = in_state(tx, run, allowed, asked).await?;
    renew(tx, run).await?;
    Ok(seq)
}

/// The run's key, if its state is one of `allowed`.
pub(in crate::ledger) async fn in_state(
    tx: &mut LedgerTx<'_>,
    run: &RunId,
    allowed: &[RunState],
    asked: &'static str,
) -> Result<i64> {
    let row = tx.first("SELECT seq, state FROM {runs} WHERE id = ?1{lock}", [text(&run.0)]).await?;
    let mut row = row.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
    let (seq, word) = (row.int()?, row.text()?);
    if !allowed.iter().any(|state| state.word() == word) {
        return Err(LedgerError::WrongState { run: run.0.clone(), state: word, asked });
    }
    Ok(seq)
}
