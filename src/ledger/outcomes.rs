//! The outcomes of replayed jobs, kept by job with the time at which they were seen.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::backend::{Backend, RowCells, int, limit, maybe, text, texts};
use super::cohort::replay_outcome;
use super::error::Result;
use super::model::RunId;
use crate::db::Row;
use crate::domain::action::Action;
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{ObservedOutcome, OutcomeCounts, OutcomeTest, ReplayOutcome};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// Outcomes that do not change any more: these jobs are not asked about again. What is deleted, finished or dead changes only
/// by another action, which is not part of the replay.
const FINAL: &str = "('succeeded', 'died_again', 'gone', 'gone_succeeded', 'taken_back')";

/// The outcomes of the runs of a record.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOutcomes<'a> {
    pub(super) home: &'a Backend,
}

/// A replayed job whose outcome can still change.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedJob {
    /// Its place in the run, from 1; pass the last one on to read further.
    pub ord: i64,
    /// The job.
    pub id: JobId,
    /// What was seen last.
    pub last: Option<ReplayOutcome>,
}

fn replayed_job(row: Row) -> Result<ReplayedJob> {
    let mut row = RowCells::of(row);
    let (ord, id) = (row.int()?, JobId::new(row.text()?));
    Ok(ReplayedJob { ord, id, last: replay_outcome(&mut row)? })
}

impl ReplayOutcomes<'_> {
    /// Replayed jobs of a run whose outcome can still change, those after `after` (0 is the start); at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn open_jobs(self, run: &RunId, after: i64, n: usize) -> Result<Vec<ReplayedJob>> {
        let sql = format!(
            "SELECT ord, job_id, replay_outcome, replay_error FROM {{run_jobs}} \
             WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1 AND action = 'replay') AND ord > ?2 AND outcome = 'done' \
             AND coalesce(replay_outcome, '') NOT IN {FINAL} ORDER BY ord LIMIT ?3"
        );
        let rows = self.home.fetch(&sql, [text(&run.0), int(after), limit(n)]).await?;
        rows.into_iter().map(replayed_job).collect()
    }

    /// The replayed jobs at these places of a run, whatever is known of them.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn jobs_at(self, run: &RunId, places: &[i64]) -> Result<Vec<ReplayedJob>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<String> = places.iter().map(i64::to_string).collect();
        let sql = format!(
            "SELECT ord, job_id, replay_outcome, replay_error FROM {{run_jobs}} \
             WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1 AND action = 'replay') AND outcome = 'done' \
             AND ord IN ({}) ORDER BY ord",
            places.join(", ")
        );
        let rows = self.home.fetch(&sql, [text(&run.0)]).await?;
        rows.into_iter().map(replayed_job).collect()
    }

    /// What later runs of this record tell of the outcome of these jobs: a job that was dead when another run froze it had
    /// died again by then, and one whose replay was undone is taken back. Their rows tell of the later run only.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn from_later_runs(self, run: &RunId, ids: &[JobId]) -> Result<HashMap<JobId, ReplayOutcome>> {
        // What a source records itself is of that source, whatever its operators call it.
        let same_source = if self.home.shared().is_some() { "" } else { "AND r.source = own.source" };
        let sql = format!(
            "SELECT j.job_id, r.action, j.state, j.error_class FROM (SELECT run, job_id, state, error_class FROM {{run_jobs}} \
             WHERE job_id {{among ?2}} AND {{all_known ?2}} AND batch IS NOT NULL AND outcome = 'done') AS j \
             JOIN {{runs}} AS r ON r.seq = j.run JOIN {{runs}} AS own ON own.id = ?1 \
             WHERE r.seq > own.seq AND r.store = own.store {same_source} ORDER BY r.seq"
        );
        let rows = self.home.fetch(&sql, [text(&run.0), texts(ids.iter().map(JobId::as_str))]);
        let mut told = HashMap::new();
        for row in rows.await? {
            let mut row = RowCells::of(row);
            let (id, action, state) = (JobId::new(row.text()?), row.text()?, row.text()?);
            let class = row.maybe_text()?.map(Untrusted::new);
            let outcome = match (Action::from_word(&action), State::from_word(&state)) {
                (Some(Action::Recall), _) => ReplayOutcome::TakenBack,
                (Some(_), Some(State::Dead)) => ReplayOutcome::DiedAgain(class),
                _ => continue,
            };
            told.entry(id).or_insert(outcome);
        }
        Ok(told)
    }

    /// Writes down outcomes that were seen at `at`, by the job's place in the run, and the counts of the run.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub async fn record(self, run: &RunId, seen: &[(i64, ObservedOutcome)], at: Timestamp) -> Result<()> {
        let mut alike: BTreeMap<(&str, Option<&str>), Vec<String>> = BTreeMap::new();
        let mut rows = Vec::new();
        for (ord, ObservedOutcome { outcome, dead_row }) in seen {
            rows.extend(dead_row.as_ref().map(|row| (*ord, row)));
            let class = outcome.error_class().map(Untrusted::exact);
            alike.entry((outcome.word(), class)).or_default().push(ord.to_string());
        }
        let mut tx = self.home.begin().await?;
        for ((word, class), ords) in alike {
            let sql = format!(
                "UPDATE {{run_jobs}} SET replay_outcome = ?2, replay_error = ?3, outcome_at = ?4 \
                 WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) AND ord IN ({})",
                ords.join(", ")
            );
            tx.execute(&sql, [text(&run.0), text(word), maybe(class.map(str::to_owned)), int(at.0)]).await?;
        }
        for (ord, row) in rows {
            let sql =
                "UPDATE {run_jobs} SET dead_row = ?2 WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND ord = ?3";
            tx.execute(sql, [text(&run.0), text(row.as_str()), int(ord)]).await?;
        }
        tx.commit().await
    }

    /// Rows of the jobs that a run has acted on or tried, in the order of the run; at most `n`. Of a job that died again as another
    /// row it is that row. Only those whose outcome passes these tests.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn rows(self, run: &RunId, tests: &[OutcomeTest], n: usize) -> Result<Vec<JobId>> {
        let sql = format!(
            "SELECT coalesce(dead_row, job_id) FROM {{run_jobs}} WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) \
             AND batch IS NOT NULL {} ORDER BY ord LIMIT ?2",
            with_outcome(tests)
        );
        let rows = self.home.fetch(&sql, [text(&run.0), limit(n)]).await?;
        rows.into_iter().map(|row| RowCells::of(row).text().map(JobId::new)).collect()
    }

    /// Those of these rows that [`ReplayOutcomes::rows`] has.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn rows_among(self, run: &RunId, tests: &[OutcomeTest], ids: &[JobId]) -> Result<HashSet<JobId>> {
        let with = with_outcome(tests);
        let sql = format!(
            "SELECT job_id FROM {{run_jobs}} WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) AND job_id {{among ?2}} \
             AND {{all_known ?2}} AND batch IS NOT NULL AND dead_row IS NULL {with} \
             UNION ALL SELECT dead_row FROM {{run_jobs}} WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) \
             AND dead_row IS NOT NULL AND dead_row {{among ?2}} AND batch IS NOT NULL {with}"
        );
        let rows = self.home.fetch(&sql, [text(&run.0), texts(ids.iter().map(JobId::as_str))]).await?;
        rows.into_iter().map(|row| RowCells::of(row).text().map(JobId::new)).collect()
    }

    /// Counts the outcomes of a run from its jobs, and keeps the counts with the run.
    ///
    /// # Errors
    /// When the record cannot be read or written.
    pub async fn count(self, run: &RunId) -> Result<OutcomeCounts> {
        let rows = self.home.fetch(
            "SELECT replay_outcome, replay_error, CASE WHEN replay_error = error_class THEN 1 ELSE 0 END, count(*) \
             FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND outcome = 'done' GROUP BY 1, 2, 3",
            [text(&run.0)],
        );
        let mut counts = OutcomeCounts::default();
        for row in rows.await? {
            let mut row = RowCells::of(row);
            let (word, class) = (row.maybe_text()?.unwrap_or_default(), row.maybe_text()?.map(Untrusted::new));
            let (is_same, n) = (row.int()? == 1, row.count()?);
            let before = class.clone().filter(|_| is_same);
            counts.replayed += n;
            counts.add(before.as_ref(), &ReplayOutcome::from_word(&word, class), n);
        }
        let keep = [text(&run.0), text(counts.to_json())];
        // Most polls find nothing new, and a record may be on the server that is sick.
        let sql = "UPDATE {runs} SET outcomes = ?2 WHERE id = ?1 AND (outcomes IS NULL OR outcomes <> ?2)";
        self.home.execute(sql, keep).await?;
        Ok(counts)
    }
}

/// The condition that all these tests hold. A job that was not asked about yet is unknown.
fn with_outcome(tests: &[OutcomeTest]) -> String {
    let condition = |test: &OutcomeTest| {
        let words = test.kinds.iter().flat_map(|kind| kind.ledger_words()).map(|word| format!("'{word}'"));
        let words = words.collect::<Vec<_>>().join(", ");
        let holds = format!("coalesce(outcome, '') = 'done' AND coalesce(replay_outcome, 'unknown') IN ({words})");
        format!("AND {}({holds})", if test.is_negated { "NOT " } else { "" })
    };
    tests.iter().map(condition).collect::<Vec<_>>().join(" ")
}
