//! Cohorts: a run is written down before anything is touched, filled with its frozen ids, and sealed or dismissed.

use std::time::Duration;

use super::backend::{LedgerTx, RowCells, int, maybe, text, texts};
use super::cohort_stats::{CohortStats, into_class_head};
use super::dialect::InsertColumn;
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::id;
use super::model::{RunId, RunIntent, RunState};
use super::runs::{at_work, in_state, stored_intent};
use crate::db::Bind;
use crate::domain::job::JobId;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::Frozen;

/// Jobs that came more than once whose repetitions are removed at a time.
const TWICE_CHUNK: usize = 10_000;
/// Rows of a dismissed plan that are removed in one transaction.
const FORGET_CHUNK: i64 = 20_000;
/// Age from which a run in state `freezing` that nobody holds is known to be left behind, and not just made.
const ABANDONED: Duration = Duration::from_secs(60);
/// Ids that are tried before giving up; only runs frozen within the same instant meet.
const ID_TRIES: i64 = 1_000;

impl Ledger {
    /// Writes down what a run is to do, in state `freezing`.
    ///
    /// # Errors
    /// When the record cannot be kept: then nothing may be acted on.
    pub async fn create_run(&self, intent: &RunIntent) -> Result<RunId> {
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
            let made = self.home.execute(
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

    /// Adds jobs to a run that is being frozen; those that come twice are sorted out by [`Ledger::seal`], which also makes them
    /// durable: a cohort that a crash took before that was never shown.
    ///
    /// # Errors
    /// As [`Ledger::create_run`]; [`LedgerError::WrongState`] once the run is sealed.
    pub async fn freeze_jobs(&self, run: &RunId, jobs: Vec<Frozen>) -> Result<()> {
        let mut tx = self.home.begin_unsynced().await?;
        let seq = at_work(&mut tx, run, &[RunState::Freezing], "added to").await?;
        let last = tx.number("SELECT coalesce(max(ord), 0) FROM {run_jobs} WHERE run = ?1", [int(seq)]).await?;
        tx.insert("{run_jobs}", &COLUMNS, jobs, |nth, job| frozen_row(seq, last + 1 + nth as i64, job)).await?;
        tx.commit().await
    }

    /// Closes the cohort: each job is in it once, and it is `planned` from here on. Returns how many jobs it has.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`].
    pub async fn seal(&self, run: &RunId) -> Result<u64> {
        self.seal_but(run, None).await
    }

    /// As [`Ledger::seal`], of a cohort all of which was counted: the record is not searched for what cannot be there.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`].
    pub async fn seal_counted(&self, run: &RunId, census: &CohortStats) -> Result<u64> {
        self.seal_but(run, census.doubtful()).await
    }

    /// Only jobs of `doubtful`, where it is given, can be in the cohort more than once.
    async fn seal_but(&self, run: &RunId, doubtful: Option<&[JobId]>) -> Result<u64> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Freezing], "sealed").await?;
        let twice = match doubtful {
            None => twice(&mut tx, seq, "", Vec::new()).await?,
            Some([]) => Vec::new(),
            Some(ids) => {
                let asked = texts(ids.iter().map(JobId::as_str));
                twice(&mut tx, seq, "AND job_id {among ?2}", vec![asked]).await?
            }
        };
        for ids in twice.chunks(TWICE_CHUNK) {
            tx.execute(
                "DELETE FROM {run_jobs} WHERE run = ?1 AND ord IN (SELECT ord FROM (SELECT ord, \
                 row_number() OVER (PARTITION BY job_id ORDER BY ord) AS nth FROM {run_jobs} WHERE run = ?1 \
                 AND job_id {among ?2}) AS counted WHERE nth > 1)",
                [int(seq), texts(ids.iter().map(String::as_str))],
            )
            .await?;
        }
        let planned = tx.number("SELECT count(*) FROM {run_jobs} WHERE run = ?1", [int(seq)]).await?;
        tx.execute(
            "UPDATE {runs} SET state = ?2, planned = ?3 WHERE seq = ?1",
            [int(seq), text(RunState::Planned.word()), int(planned)],
        )
        .await?;
        tx.commit().await?;
        Ok(u64::try_from(planned).unwrap_or_default())
    }

    /// Dismisses a plan that was not confirmed. The run stays on record, with its number of jobs but without their ids.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`]; [`LedgerError::WrongState`] once it was started.
    pub async fn dismiss(&self, run: &RunId, now: Timestamp) -> Result<()> {
        self.of(run).await?.dismiss_here(run, now).await
    }

    async fn dismiss_here(&self, run: &RunId, now: Timestamp) -> Result<()> {
        let mut tx = self.home.begin().await?;
        let open = [RunState::Freezing, RunState::Planned, RunState::Dismissed];
        let seq = in_state(&mut tx, run, &open, "dismissed").await?;
        tx.execute(
            "UPDATE {runs} SET state = ?2, ended_at = ?3 WHERE seq = ?1",
            [int(seq), text(RunState::Dismissed.word()), int(now.0)],
        )
        .await?;
        tx.commit().await?;
        loop {
            let mut tx = self.home.begin().await?;
            let first = tx.first("SELECT min(ord) FROM {run_jobs} WHERE run = ?1", [int(seq)]).await?;
            let Some(first) = first.map(|mut row| row.maybe_int()).transpose()?.flatten() else { return Ok(()) };
            let beyond = int(first + FORGET_CHUNK);
            tx.execute("DELETE FROM {run_jobs} WHERE run = ?1 AND ord < ?2", [int(seq), beyond]).await?;
            tx.commit().await?;
        }
    }

    /// Dismisses what a crash left while it was being frozen: such a cohort is not whole and was never shown.
    ///
    /// # Errors
    /// When the record cannot be kept.
    pub async fn dismiss_abandoned(&self, now: Timestamp) -> Result<()> {
        let rows = self.home.fetch(
            "SELECT id FROM {runs} WHERE state = ?1 AND frozen_at < ?2",
            [text(RunState::Freezing.word()), int(now.before(ABANDONED).0)],
        );
        for row in rows.await? {
            let run = RunId(RowCells::of(row).text()?);
            if !self.is_held(&run).await? {
                self.dismiss(&run, now).await?;
            }
        }
        Ok(())
    }
}

/// The ids of jobs that are in a cohort more than once.
async fn twice(tx: &mut LedgerTx<'_>, run: i64, which: &str, binds: Vec<Bind>) -> Result<Vec<String>> {
    let sql = format!("SELECT job_id FROM {{run_jobs}} WHERE run = ?1 {which} GROUP BY job_id HAVING count(*) > 1");
    let rows = tx.fetch(&sql, [vec![int(run)], binds].concat()).await?;
    rows.into_iter().map(|row| RowCells::of(row).text()).collect()
}

/// What [`Ledger::freeze_jobs`] writes of a job.
const COLUMNS: [InsertColumn; 11] = [
    InsertColumn::Int("run"),
    InsertColumn::Int("ord"),
    InsertColumn::Text("job_id"),
    InsertColumn::Text("error_class"),
    InsertColumn::Text("job_class"),
    InsertColumn::Int("died_at"),
    InsertColumn::Text("state"),
    InsertColumn::Text("native"),
    InsertColumn::Text("lineage"),
    InsertColumn::Text("successor"),
    InsertColumn::Int("replays"),
];

fn frozen_row(run: i64, ord: i64, job: Frozen) -> [Bind; COLUMNS.len()] {
    [
        int(run),
        int(ord),
        text(job.id),
        Bind::Text(job.error_class.map(into_class_head)),
        Bind::Text(job.job_class.map(into_class_head)),
        Bind::Int(job.at.map(|at| at.0)),
        text(job.state.word()),
        Bind::Text(job.native.map(Untrusted::into_exact)),
        Bind::Text(job.lineage),
        Bind::Text(job.successor),
        int(i64::try_from(job.replays).unwrap_or(i64::MAX)),
    ]
}
