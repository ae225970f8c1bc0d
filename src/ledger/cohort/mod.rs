//! Cohorts: filled with frozen ids, and sealed. No job of an unsealed cohort is touched.

mod read;
mod stats;

pub(super) use read::{outcome, replay_outcome};
pub use stats::CohortStats;
use stats::into_class_head;

use super::backend::{Backend, LedgerTx, RowCells, int, text, texts};
use super::dialect::InsertColumn;
use super::error::Result;
use super::model::{RunId, RunState};
use super::runs::at_work;
use crate::db::Bind;
use crate::domain::job::JobId;
use crate::domain::rollout::RolloutState;
use crate::domain::text::Untrusted;
use crate::store::Frozen;

/// Jobs that came more than once whose repetitions are removed at a time.
const TWICE_CHUNK: usize = 10_000;

/// The frozen jobs of runs.
#[derive(Clone, Copy, Debug)]
pub struct Cohorts<'a> {
    pub(super) home: &'a Backend,
}

impl Cohorts<'_> {
    /// Adds jobs to a run that is being frozen; those that come twice are sorted out by [`Cohorts::seal`], which also makes them
    /// durable: a cohort that a crash took before that was never shown.
    ///
    /// # Errors
    /// As [`Runs::create`](super::Runs::create); [`super::LedgerError::WrongState`] once the run is sealed.
    pub async fn add(self, run: &RunId, jobs: Vec<Frozen>) -> Result<()> {
        self.add_behind(run, 0, jobs).await
    }

    /// As [`Cohorts::add`], and leaves the first `reserved` places of the run to its canary jobs.
    ///
    /// # Errors
    /// As [`Cohorts::add`].
    pub async fn add_behind(self, run: &RunId, reserved: i64, jobs: Vec<Frozen>) -> Result<()> {
        let mut tx = self.home.begin_unsynced().await?;
        let seq = at_work(&mut tx, run, &[RunState::Freezing], "added to").await?;
        let last =
            tx.number("SELECT coalesce(max(ord), 0) FROM {run_jobs} WHERE run = ?1", [int(seq)]).await?.max(reserved);
        tx.insert("{run_jobs}", &COLUMNS, jobs, |nth, job| frozen_row(seq, last + 1 + nth as i64, job)).await?;
        tx.commit().await
    }

    /// Closes the cohort: each job is in it once, and it is `planned` from here on. Returns how many jobs it has.
    ///
    /// # Errors
    /// As [`Cohorts::add`].
    pub async fn seal(self, run: &RunId) -> Result<u64> {
        self.seal_but(run, None, None).await
    }

    /// As [`Cohorts::seal`], of a cohort all of which was counted: the record is not searched for what cannot be there.
    ///
    /// # Errors
    /// As [`Cohorts::add`].
    pub async fn seal_counted(self, run: &RunId, census: &CohortStats) -> Result<u64> {
        self.seal_but(run, census.doubtful(), None).await
    }

    /// As [`Cohorts::seal_counted`], of a run that proves itself: the jobs at the places `canary` become the first ones, which
    /// [`Cohorts::add_behind`] left free.
    ///
    /// # Errors
    /// As [`Cohorts::add`].
    pub async fn seal_led(self, run: &RunId, census: &CohortStats, canary: &[i64]) -> Result<u64> {
        self.seal_but(run, census.doubtful(), Some(canary)).await
    }

    /// Only jobs of `doubtful`, where it is given, can be in the cohort more than once.
    async fn seal_but(self, run: &RunId, doubtful: Option<&[JobId]>, canary: Option<&[i64]>) -> Result<u64> {
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
        if let Some(places) = canary {
            lead(&mut tx, seq, places).await?;
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
}

/// Makes the jobs at these places the first ones of the run.
async fn lead(tx: &mut LedgerTx<'_>, run: i64, places: &[i64]) -> Result<()> {
    let mut moved = 0;
    for place in places {
        let sql = "UPDATE {run_jobs} SET ord = ?3 WHERE run = ?1 AND ord = ?2";
        moved += i64::from(tx.execute(sql, [int(run), int(*place), int(moved + 1)]).await? > 0);
    }
    let state = RolloutState::starting(moved).to_json();
    tx.execute("UPDATE {runs} SET rollout = ?2 WHERE seq = ?1", [int(run), text(state)]).await.map(drop)
}

/// The ids of jobs that are in a cohort more than once.
async fn twice(tx: &mut LedgerTx<'_>, run: i64, which: &str, binds: Vec<Bind>) -> Result<Vec<String>> {
    let sql = format!("SELECT job_id FROM {{run_jobs}} WHERE run = ?1 {which} GROUP BY job_id HAVING count(*) > 1");
    let rows = tx.fetch(&sql, [vec![int(run)], binds].concat()).await?;
    rows.into_iter().map(|row| RowCells::of(row).text()).collect()
}

/// What [`Cohorts::add`] writes of a job.
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
