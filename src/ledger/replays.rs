//! How often jobs were replayed, known by their lineage: a job that dies again may be another row with another id.

use std::collections::HashMap;

use super::error::Result;
use super::home::{Cells, rows, text};
use super::model::RunId;
use super::open::Ledger;
use crate::domain::job::JobId;

/// A job, with what it is known by across its deaths.
pub type Known = (JobId, Option<String>);

impl Ledger {
    /// Whether a replay of this store was ever begun: where none was, no job needs to be looked up.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn has_replays(&self, source: &str, store: &str) -> Result<bool> {
        let here = self.has_replays_here(source, store).await?;
        match self.other().filter(|_| !here) {
            Some(other) => other.has_replays_here(source, store).await,
            None => Ok(here),
        }
    }

    async fn has_replays_here(&self, source: &str, store: &str) -> Result<bool> {
        let sql = format!(
            "SELECT 1 FROM {{runs}} WHERE action = 'replay' AND {} AND store = ?2 AND started_at IS NOT NULL LIMIT 1",
            self.of_source("source", "?1")
        );
        Ok(!self.home.fetch(&sql, [text(source), text(store)]).await?.is_empty())
    }

    /// How often each of these jobs of a store was replayed; jobs that never were are left out.
    ///
    /// A job was replayed before when its row was, or one of its lineage, or one that was put back under the id by which
    /// it is known now. Each of those knows how often it had been replayed by then.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replayed_counts(&self, source: &str, store: &str, jobs: &[Known]) -> Result<HashMap<JobId, u64>> {
        let mut counts = self.replayed_counts_here(source, store, jobs).await?;
        if let Some(other) = self.other() {
            // What either record knows of a job counts the replays of both before it.
            for (id, n) in other.replayed_counts_here(source, store, jobs).await? {
                let known = counts.entry(id).or_default();
                *known = n.max(*known);
            }
        }
        Ok(counts)
    }

    async fn replayed_counts_here(&self, source: &str, store: &str, jobs: &[Known]) -> Result<HashMap<JobId, u64>> {
        let asked: Vec<(&str, Option<&str>)> =
            jobs.iter().map(|(id, lineage)| (id.as_str(), lineage.as_deref())).collect();
        let past = |column: &str, asked: &str| {
            format!(
                "SELECT told.c0 AS id, 1 + past.replays AS n, past.run FROM {{told ?3}} {{join}} {{run_jobs}} AS past \
                 ON past.{column} = told.{asked} WHERE past.{column} IS NOT NULL AND past.outcome = 'done'"
            )
        };
        // The same index serves the history of a job.
        let own = past("job_id", "c0") + " AND past.batch IS NOT NULL";
        let sql = format!(
            "SELECT found.id, max(found.n) FROM ({own} UNION ALL {} UNION ALL {}) AS found \
             {{join}} {{runs}} AS r ON r.seq = found.run WHERE r.action = 'replay' AND {} AND r.store = ?2 \
             GROUP BY found.id",
            past("lineage", "c1"),
            past("successor", "c1"),
            self.of_source("r.source", "?1")
        );
        let found = self.home.fetch(&sql, [text(source), text(store), rows(&asked)?]).await?;
        let count = |row| {
            let mut row = Cells::of(row);
            Ok((JobId::new(row.text()?), row.count()?))
        };
        found.into_iter().map(count).collect()
    }

    /// The cohort of a run by how often its jobs had been replayed before: times, and jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replays(&self, run: &RunId) -> Result<Vec<(u64, u64)>> {
        let found = self.home.fetch(
            "SELECT replays, count(*) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             GROUP BY replays ORDER BY replays",
            [text(&run.0)],
        );
        let pair = |row| {
            let mut row = Cells::of(row);
            Ok((row.count()?, row.count()?))
        };
        found.await?.into_iter().map(pair).collect()
    }
}
