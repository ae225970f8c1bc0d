//! How often jobs were replayed, known by their lineage: a job that dies again may be another row with another id.

use std::collections::HashMap;

use super::scope::of_source;
use super::{JobHistory, of_database};
use crate::domain::job::{JobDetail, JobId};
use crate::ledger::backend::{Backend, RowCells, maybe, rows, text};
use crate::ledger::error::Result;
use crate::ledger::handle::Ledger;
use crate::ledger::model::Whose;
use crate::ledger::runs::options;

/// A job, with what it is known by across its deaths.
pub type KnownJob = (JobId, Option<String>);

/// What a job is known by.
pub fn known(job: &JobDetail) -> KnownJob {
    (job.row.id.clone(), job.lineage.as_ref().map(|lineage| lineage.exact().to_owned()))
}

impl JobHistory<'_> {
    /// Whether a replay of this store was ever begun: where none was, no job needs to be looked up.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn has_replays(self, source: &str, store: &str) -> Result<bool> {
        for home in self.ledger.backends() {
            if has_replays_in(home, source, store).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How often each of these jobs of a store was replayed; jobs that never were are left out.
    ///
    /// A job was replayed before when its row was, or one of its lineage, or one that was put back under the id by which
    /// it is known now. A row of the same id and another lineage is none of its own: tables give the ids of rows that left
    /// them to others. Each of those knows how often it had been replayed by then. A replay that was taken back is none:
    /// no worker has had the job.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replayed_counts(self, whose: Whose<'_>, jobs: &[KnownJob]) -> Result<HashMap<JobId, u64>> {
        let mut counts = HashMap::new();
        let Ledger { home, beside, .. } = self.ledger;
        for (home, other) in [(Some(home), beside.as_ref()), (beside.as_ref(), Some(home))] {
            let Some(home) = home else { continue };
            // What either record knows of a job counts the replays of both before it.
            for (id, n) in replayed_counts_in(home, other, whose, jobs).await? {
                let known = counts.entry(id).or_default();
                *known = n.max(*known);
            }
        }
        Ok(counts)
    }
}

async fn has_replays_in(home: &Backend, source: &str, store: &str) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM {{runs}} WHERE action = 'replay' AND {} AND store = ?2 AND started_at IS NOT NULL LIMIT 1",
        of_source(home, "source", "?1")
    );
    Ok(!home.fetch(&sql, [text(source), text(store)]).await?.is_empty())
}

async fn replayed_counts_in(
    home: &Backend,
    other: Option<&Backend>,
    whose: Whose<'_>,
    jobs: &[KnownJob],
) -> Result<HashMap<JobId, u64>> {
    let Whose { source, store, .. } = whose;
    let asked: Vec<(&str, Option<&str>)> = jobs.iter().map(|(id, lineage)| (id.as_str(), lineage.as_deref())).collect();
    let past = |column: &str, asked: &str| {
        format!(
            "SELECT told.c0 AS id, 1 + past.replays AS n, past.run, past.job_id AS job FROM {{told ?3}} \
             {{past told.{asked}}} AND past.{column} = told.{asked} \
             WHERE past.{column} IS NOT NULL AND past.outcome = 'done'"
        )
    };
    // The same index serves the history of a job.
    let own = past("job_id", "c0") + " AND past.batch IS NOT NULL AND coalesce(past.lineage = told.c1, 1 = 1)";
    let mut sql = format!(
        "SELECT found.id, max(found.n) FROM ({own} UNION ALL {} UNION ALL {}) AS found \
         {{join}} {{runs}} AS r ON r.seq = found.run WHERE r.action = 'replay' AND {} AND r.store = ?2",
        past("lineage", "c1"),
        past("successor", "c1"),
        of_database(home, "r.", "?1", "?4")
    );
    let mut binds = vec![text(source), text(store), rows(&asked)?, maybe(whose.here())];
    let recalls = recalls_in(home, source, store).await?;
    if !recalls.is_empty() {
        binds.push(rows(&recalls)?);
        sql.push_str(&format!(
            " AND NOT EXISTS (SELECT 1 FROM {{told ?{}}} {{join}} {{runs}} AS back ON back.id = told.c0 \
             {{had found.job}} AND had.job_id = found.job \
             WHERE told.c1 = r.id AND had.batch IS NOT NULL AND had.outcome = 'done')",
            binds.len()
        ));
    }
    let recalled = match other {
        Some(other) => recalled_in(other, home, source, store).await?,
        None => Vec::new(),
    };
    if !recalled.is_empty() {
        binds.push(rows(&recalled)?);
        sql.push_str(&format!(
            " AND NOT EXISTS (SELECT 1 FROM {{told ?{}}} WHERE told.c0 = r.id AND told.c1 = found.job)",
            binds.len()
        ));
    }
    let found = home.fetch(&(sql + " GROUP BY found.id"), binds).await?;
    let count = |row| {
        let mut row = RowCells::of(row);
        Ok((JobId::new(row.text()?), row.count()?))
    };
    found.into_iter().map(count).collect()
}

/// The runs of a store that took back replays, each with the run that it undid.
async fn recalls_in(home: &Backend, source: &str, store: &str) -> Result<Vec<(String, String)>> {
    let sql = format!(
        "SELECT id, options FROM {{runs}} WHERE action = 'recall' AND {} AND store = ?2 AND started_at IS NOT NULL",
        of_source(home, "source", "?1")
    );
    let mut recalls = Vec::new();
    for row in home.fetch(&sql, [text(source), text(store)]).await? {
        let mut row = RowCells::of(row);
        let (id, options) = (row.text()?, options(row.maybe_text()?)?);
        recalls.extend(options.undoes.map(|undone| (id, undone)));
    }
    Ok(recalls)
}

/// The jobs that runs of this record took back from runs of `there`: run, and job.
async fn recalled_in(home: &Backend, there: &Backend, source: &str, store: &str) -> Result<Vec<(String, String)>> {
    let mut recalled = Vec::new();
    for (id, undone) in recalls_in(home, source, store).await? {
        if there.fetch("SELECT 1 FROM {runs} WHERE id = ?1", [text(&undone)]).await?.is_empty() {
            continue;
        }
        let done = home.fetch(
            "SELECT job_id FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND outcome = 'done'",
            [text(&id)],
        );
        for row in done.await? {
            recalled.push((undone.clone(), RowCells::of(row).text()?));
        }
    }
    Ok(recalled)
}
