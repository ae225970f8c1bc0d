//! The jobs of a cohort, read back, and how they divide.

use std::time::Duration;

use super::Cohorts;
use crate::domain::action::SkipReason;
use crate::domain::job::{JobId, State};
use crate::domain::outcome::ReplayOutcome;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::backend::{RowCells, int, limit, text, texts};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::{CohortPart, Outcome, RunId, RunJob, Split};
use crate::ledger::runs::tally::{DONE, FAILED, SKIPPED};
use crate::store::{Frozen, Standing};

impl Cohorts<'_> {
    /// Jobs of a part of a run in the order of freezing, those after `after` (0 is the start); at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn jobs(self, run: &RunId, part: CohortPart, after: i64, n: usize) -> Result<Vec<RunJob>> {
        let sql = format!(
            "SELECT ord, job_id, error_class, batch, outcome, reason, replay_outcome, replay_error FROM {{run_jobs}} \
             WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) AND ord > ?2 AND {} ORDER BY ord LIMIT ?3",
            condition(part)
        );
        let rows = self.home.fetch(&sql, [text(&run.0), int(after), limit(n)]).await?;
        rows.into_iter().map(|row| job(&mut RowCells::of(row))).collect()
    }

    /// Jobs that a run took effect on, as they were frozen for it: those after `after` (0 is the start) in the order of
    /// freezing, at most `n`. Of `ids` only, where there are any.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn done_jobs(self, run: &RunId, ids: &[JobId], after: i64, n: usize) -> Result<Vec<(i64, Frozen)>> {
        let named = if ids.is_empty() { "" } else { "AND job_id {among ?4} AND {all_known ?4}" };
        let sql = format!(
            "SELECT ord, job_id, error_class, job_class, died_at, state, native, lineage FROM {{run_jobs}} \
             WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) AND ord > ?2 AND batch IS NOT NULL \
             AND outcome = 'done' {named} ORDER BY ord LIMIT ?3"
        );
        let mut binds = vec![text(&run.0), int(after), limit(n)];
        if !ids.is_empty() {
            binds.push(texts(ids.iter().map(JobId::as_str)));
        }
        let rows = self.home.fetch(&sql, binds).await?;
        rows.into_iter().map(|row| frozen(&mut RowCells::of(row))).collect()
    }

    /// Jobs of a cohort with how they stood when they were frozen, those after `after`; at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn standings(self, run: &RunId, after: i64, n: usize) -> Result<Vec<(i64, JobId, Standing)>> {
        let rows = self.home.fetch(
            "SELECT ord, job_id, state, native FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND ord > ?2 ORDER BY ord LIMIT ?3",
            [text(&run.0), int(after), limit(n)],
        );
        let standing = |row| {
            let mut row = RowCells::of(row);
            let (ord, id) = (row.int()?, JobId::new(row.text()?));
            Ok((ord, id, Standing { state: State::from_word(&row.text()?), native: row.maybe_text()? }))
        };
        rows.await?.into_iter().map(standing).collect()
    }

    /// How the cohort of a run divides: its `top` most frequent error and job classes, its states, and its age.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn split(self, run: &RunId, top: usize) -> Result<Split> {
        let shares = |column: &str| {
            let sql = format!(
                "SELECT {column}, count(*) FROM {{run_jobs}} WHERE run = (SELECT seq FROM {{runs}} WHERE id = ?1) \
                 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?2"
            );
            self.home.say(&sql, [text(&run.0), limit(top)])
        };
        let span = self.home.say(
            "SELECT min(died_at), max(died_at) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0)],
        );
        let statements = [shares("error_class"), shares("job_class"), shares("state"), span];
        let mut results = self.home.read(&statements).await?.into_iter().map(Vec::into_iter);
        let mut next = || results.next().into_iter().flatten().map(RowCells::of);
        let share = |mut row: RowCells| Ok((row.maybe_text()?.map(Untrusted::new), row.count()?));
        let by_error = next().map(share).collect::<Result<_>>()?;
        let by_class = next().map(share).collect::<Result<_>>()?;
        let states = next().map(|mut row| Ok((State::from_word(&row.text()?), row.count()?)));
        let states = states.collect::<Result<Vec<_>>>()?;
        let span = next().next().map(|mut row| Ok((row.maybe_int()?, row.maybe_int()?))).transpose()?;
        Ok(Split {
            by_error,
            by_class,
            by_state: states.into_iter().filter_map(|(state, n)| Some((state?, n))).collect(),
            span: span.and_then(|(oldest, newest)| Some((Timestamp(oldest?), Timestamp(newest?)))),
        })
    }

    /// How many jobs of a run died in each stretch of time that is `width` long, as they were frozen: the beginning of each
    /// stretch that has some, in the order of time.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn deaths(self, run: &RunId, width: Duration) -> Result<Vec<(Timestamp, u64)>> {
        let micros = i64::try_from(width.as_micros()).unwrap_or(i64::MAX).max(1);
        let found = self.home.fetch(
            "SELECT died_at - died_at % ?2, count(*) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND died_at IS NOT NULL GROUP BY 1 ORDER BY 1",
            [text(&run.0), int(micros)],
        );
        let stretch = |row| {
            let mut row = RowCells::of(row);
            Ok((Timestamp(row.int()?), row.count()?))
        };
        found.await?.into_iter().map(stretch).collect()
    }

    /// The cohort of a run by how often its jobs had been replayed before: times, and jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn replays(self, run: &RunId) -> Result<Vec<(u64, u64)>> {
        let found = self.home.fetch(
            "SELECT replays, count(*) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             GROUP BY replays ORDER BY replays",
            [text(&run.0)],
        );
        let pair = |row| {
            let mut row = RowCells::of(row);
            Ok((row.count()?, row.count()?))
        };
        found.await?.into_iter().map(pair).collect()
    }

    /// The latest death among the jobs of a run, as they were frozen; `None` where none has such a time.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn latest_death(self, run: &RunId) -> Result<Option<Timestamp>> {
        let rows = self.home.fetch(
            "SELECT max(died_at) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0)],
        );
        let row = rows.await?.into_iter().next();
        Ok(row.map(|row| RowCells::of(row).maybe_int()).transpose()?.flatten().map(Timestamp))
    }
}

/// Which jobs of a run belong to a part of it.
fn condition(part: CohortPart) -> String {
    match part {
        CohortPart::All => "1 = 1".to_owned(),
        CohortPart::Done => "outcome = 'done'".to_owned(),
        CohortPart::Locked => format!("outcome = 'skipped' AND reason = '{}'", SkipReason::Locked.word()),
        CohortPart::Skipped => "outcome = 'skipped'".to_owned(),
        CohortPart::Failed => "outcome = 'failed'".to_owned(),
        CohortPart::InDoubt => "batch IS NOT NULL AND outcome IS NULL".to_owned(),
        CohortPart::NotStarted => "batch IS NULL".to_owned(),
        CohortPart::Remainder => "(outcome IS NULL OR outcome <> 'done')".to_owned(),
    }
}

fn job(row: &mut RowCells) -> Result<RunJob> {
    let (ord, id) = (row.int()?, JobId::new(row.text()?));
    let error_class = row.maybe_text()?.map(Untrusted::new);
    let begun = row.maybe_int()?.is_some();
    let (word, reason) = (row.maybe_text()?, row.maybe_text()?);
    let replay = replay_outcome(row)?;
    Ok(RunJob { ord, id, error_class, outcome: begun.then(|| outcome(word.as_deref(), reason)), replay })
}

/// What was last seen of a replayed job.
pub(in crate::ledger) fn replay_outcome(row: &mut RowCells) -> Result<Option<ReplayOutcome>> {
    let (word, class) = (row.maybe_text()?, row.maybe_text()?.map(Untrusted::new));
    Ok(word.map(|word| ReplayOutcome::from_word(&word, class)))
}

fn frozen(row: &mut RowCells) -> Result<(i64, Frozen)> {
    let (ord, id) = (row.int()?, JobId::new(row.text()?));
    let (error_class, job_class) = (row.maybe_text()?.map(Untrusted::new), row.maybe_text()?.map(Untrusted::new));
    let at = row.maybe_int()?.map(Timestamp);
    let word = row.text()?;
    let unknown = || LedgerError::Refused(format!("`{word}` is of a later version"));
    let state = State::from_word(&word).ok_or_else(unknown)?;
    let (native, lineage) = (row.maybe_text()?.map(Untrusted::new), row.maybe_text()?);
    Ok((ord, Frozen { id, error_class, job_class, at, state, native, lineage, successor: None, replays: 0 }))
}

/// What a job is recorded to have come to.
pub(in crate::ledger) fn outcome(word: Option<&str>, reason: Option<String>) -> Outcome {
    let reason = reason.map(Untrusted::new);
    match word {
        Some(DONE) => Outcome::Done(reason),
        Some(SKIPPED) => Outcome::Skipped(reason.unwrap_or_else(|| Untrusted::from(""))),
        Some(FAILED) => Outcome::Failed(reason.unwrap_or_else(|| Untrusted::from(""))),
        _ => Outcome::InDoubt,
    }
}
