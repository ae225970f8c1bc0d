//! Batches: named before their jobs are touched, settled after. What lies between the two is in doubt.

mod journal;
mod tx_notes;

use std::collections::{HashMap, HashSet};

pub(super) use journal::write_entry;
use tx_notes::drop_notes;

use super::backend::{Backend, LedgerTx, RowCells, int, limit, rows, text, texts};
use super::error::{LedgerError, Result};
use super::model::{BatchNo, RunId, RunJob, RunState};
use super::runs::at_work;
use super::runs::tally::{DONE, FAILED, SKIPPED};
use crate::db::Bind;
use crate::domain::action::{JobOutcome, JobResult};
use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::Standing;

/// Characters of a reason that the record keeps.
const REASON_HEAD: usize = 2_000;

/// The result of a job as the record takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedBatch {
    /// The job with what became of it.
    pub outcome: JobOutcome,
    /// How that is known, where the store did not say so itself.
    pub note: Option<&'static str>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// The jobs that are settled; the others stay in doubt.
    pub settled: &'a [CompletedBatch],
    /// Whether those are all jobs of the batch.
    pub is_all: bool,
}

impl From<JobOutcome> for CompletedBatch {
    fn from(outcome: JobOutcome) -> Self {
        Self { outcome, note: None }
    }
}

/// The batches of runs, which is how a run is led.
#[derive(Clone, Copy, Debug)]
pub struct Batches<'a> {
    pub(super) home: &'a Backend,
}

impl Batches<'_> {
    /// Writes down that the next jobs of the run are about to be touched, at most `n` of them in the order of freezing;
    /// durable on return. `None` when every job was named in a batch.
    ///
    /// # Errors
    /// When the record cannot be kept or the run is not running: then nothing may be touched.
    pub async fn begin(self, run: &RunId, n: usize, now: Timestamp) -> Result<Option<(BatchNo, Vec<JobId>)>> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "worked on").await?;
        let begun = name_next(&mut tx, seq, n, now).await?;
        if begun.is_some() {
            tx.commit().await?;
        }
        Ok(begun)
    }

    /// Writes down that jobs which were skipped are about to be tried once more; otherwise as [`Batches::begin`].
    ///
    /// # Errors
    /// As [`Batches::begin`]; also when one of the jobs was not skipped: then none is named.
    pub async fn begin_again(self, run: &RunId, jobs: &[RunJob], now: Timestamp) -> Result<BatchNo> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "worked on").await?;
        let no = new_batch(&mut tx, seq, now).await?;
        let ords = texts(jobs.iter().map(|job| job.ord.to_string()));
        if tx.execute("{name_again}", [int(seq), int(no.0), ords]).await? != jobs.len() as u64 {
            return Err(LedgerError::Refused(format!("not all of these jobs of run {run} were skipped")));
        }
        tx.commit().await?;
        Ok(no)
    }

    /// Writes down what became of a batch's jobs. Jobs that `outcomes` leaves out stay in doubt.
    ///
    /// # Errors
    /// When the record cannot be kept: the batch stays in doubt.
    pub async fn finish(self, run: &RunId, batch: BatchNo, outcomes: &[CompletedBatch], now: Timestamp) -> Result<()> {
        self.finish_and_begin(run, batch, Results { settled: outcomes, is_all: false }, 0, now).await.map(drop)
    }

    /// As [`Batches::finish`], and in the same transaction, which waits for the disk once, as
    /// [`Batches::begin`] of the `next` jobs. A crash leaves one of the two batches in doubt, and never both.
    ///
    /// # Errors
    /// As those two: the finished batch stays in doubt, and no further one is begun.
    pub async fn finish_and_begin(
        self,
        run: &RunId,
        batch: BatchNo,
        results: Results<'_>,
        next: usize,
        now: Timestamp,
    ) -> Result<Option<(BatchNo, Vec<JobId>)>> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "worked on").await?;
        write_outcomes(&mut tx, seq, batch, results).await?;
        tx.execute(
            "UPDATE {batches} SET ended_at = ?3 WHERE run = ?1 AND no = ?2",
            [int(seq), int(batch.0), int(now.0)],
        )
        .await?;
        // Before the next ones are named, which are not settled.
        drop_notes(&mut tx, seq).await?;
        let begun = name_next(&mut tx, seq, next, now).await?;
        tx.commit().await?;
        Ok(begun)
    }

    /// Takes a batch back: it is certain that none of its jobs was touched, so they are not started again.
    ///
    /// # Errors
    /// As [`Batches::finish`].
    pub async fn release(self, run: &RunId, batch: BatchNo) -> Result<()> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "worked on").await?;
        tx.execute(
            "UPDATE {run_jobs} {by_in_doubt} SET batch = NULL \
             WHERE run = ?1 AND batch = ?2 AND batch IS NOT NULL AND outcome IS NULL",
            [int(seq), int(batch.0)],
        )
        .await?;
        tx.execute("DELETE FROM {batches} WHERE run = ?1 AND no = ?2", [int(seq), int(batch.0)]).await?;
        drop_notes(&mut tx, seq).await?;
        tx.commit().await
    }

    /// The batches of a run whose result is not known, with their jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn in_doubt(self, run: &RunId) -> Result<Vec<(BatchNo, Vec<JobId>)>> {
        let rows = self.home.fetch(
            "SELECT batch, job_id FROM {run_jobs} {by_in_doubt} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND batch IS NOT NULL AND outcome IS NULL ORDER BY batch, ord",
            [text(&run.0)],
        );
        let mut batches: Vec<(BatchNo, Vec<JobId>)> = Vec::new();
        for row in rows.await? {
            let mut row = RowCells::of(row);
            let (no, id) = (BatchNo(row.int()?), JobId::new(row.text()?));
            match batches.last_mut() {
                Some((last, ids)) if *last == no => ids.push(id),
                _ => batches.push((no, vec![id])),
            }
        }
        Ok(batches)
    }

    /// Jobs that a batch has named, by how they stood when they were frozen; each of `ids` once, in their order.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn frozen_standings(self, run: &RunId, ids: &[JobId]) -> Result<Vec<(Standing, Vec<JobId>)>> {
        if let Some(standing) = self.only_standing(run, ids.len()).await? {
            return Ok(vec![(standing, ids.to_vec())]);
        }
        let rows = self.home.fetch(
            "SELECT job_id, state, native FROM {run_jobs} {by_in_doubt} WHERE batch IS NOT NULL \
             AND outcome IS NULL AND job_id {among ?2} AND run = (SELECT seq FROM {runs} WHERE id = ?1)",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let mut standings: HashMap<String, Standing> = HashMap::new();
        for row in rows.await? {
            let mut row = RowCells::of(row);
            let (id, word, native) = (row.text()?, row.text()?, row.maybe_text()?);
            standings.insert(id, Standing { state: State::from_word(&word), native });
        }
        let mut alike: Vec<(Standing, Vec<JobId>)> = Vec::new();
        for id in ids {
            let standing = standings.get(id.as_str()).cloned().unwrap_or_default();
            match alike.iter_mut().find(|(known, _)| *known == standing) {
                Some((_, same)) => same.push(id.clone()),
                None => alike.push((standing, vec![id.clone()])),
            }
        }
        Ok(alike)
    }

    /// How all jobs of a run stood whose result is not known, if they are `n` and stood alike: nearly always they do, and
    /// then none has to be looked up by its id.
    async fn only_standing(self, run: &RunId, n: usize) -> Result<Option<Standing>> {
        let rows = self.home.fetch(
            "SELECT state, native, count(*) FROM {run_jobs} {by_in_doubt} WHERE run = (SELECT seq FROM {runs} \
             WHERE id = ?1) AND batch IS NOT NULL AND outcome IS NULL GROUP BY state, native LIMIT 2",
            [text(&run.0)],
        );
        let mut rows = rows.await?.into_iter().map(RowCells::of);
        let (Some(mut row), None) = (rows.next(), rows.next()) else { return Ok(None) };
        let (word, native) = (row.text()?, row.maybe_text()?);
        Ok((row.count()? == n as u64).then(|| Standing { state: State::from_word(&word), native }))
    }
}

/// Writes down what became of jobs of a batch, each of which is in `outcomes` at most once.
async fn write_outcomes(
    tx: &mut LedgerTx<'_>,
    run: i64,
    batch: BatchNo,
    Results { settled, is_all }: Results<'_>,
) -> Result<()> {
    let is_plain = |settled: &&CompletedBatch| settled.outcome.1 == JobResult::Done && settled.note.is_none();
    let (plain, others): (Vec<&CompletedBatch>, Vec<&CompletedBatch>) = settled.iter().partition(is_plain);
    if is_all && others.is_empty() {
        return all_done(tx, run, batch).await;
    }
    if !others.is_empty() {
        tx.execute("{settle}", [int(run), int(batch.0), outcome_rows(&others)?]).await?;
    }
    if plain.is_empty() {
        return Ok(());
    }
    // What is open now is all done, nearly always: then none has to be looked up by its id. Or it was recorded along with
    // the effect. That as many are open as were done says nothing: those may be the ones that nobody answered for.
    let rows = tx.fetch(
        "SELECT job_id FROM {run_jobs} {by_in_doubt} \
         WHERE run = ?1 AND batch = ?2 AND batch IS NOT NULL AND outcome IS NULL",
        [int(run), int(batch.0)],
    );
    let open: Vec<String> = rows.await?.into_iter().map(|row| RowCells::of(row).text()).collect::<Result<_>>()?;
    if open.is_empty() {
        return Ok(());
    }
    let done: HashSet<&str> = plain.iter().map(|settled| settled.outcome.0.as_str()).collect();
    if !open.iter().all(|id| done.contains(id.as_str())) {
        return tx.execute("{settle}", [int(run), int(batch.0), outcome_rows(&plain)?]).await.map(drop);
    }
    all_done(tx, run, batch).await
}

/// Writes down that what is open of a batch was done.
async fn all_done(tx: &mut LedgerTx<'_>, run: i64, batch: BatchNo) -> Result<()> {
    let all = tx.execute(
        "UPDATE {run_jobs} {by_in_doubt} SET outcome = 'done' \
         WHERE run = ?1 AND batch = ?2 AND batch IS NOT NULL AND outcome IS NULL",
        [int(run), int(batch.0)],
    );
    all.await.map(drop)
}

async fn name_between(tx: &mut LedgerTx<'_>, run: i64, no: BatchNo, (from, to): (i64, i64)) -> Result<()> {
    let named = tx.execute(
        "UPDATE {run_jobs} SET batch = ?2 WHERE run = ?1 AND ord BETWEEN ?3 AND ?4 AND batch IS NULL",
        [int(run), int(no.0), int(from), int(to)],
    );
    named.await.map(drop)
}

/// Names the next jobs of a run in a batch of their own.
async fn name_next(tx: &mut LedgerTx<'_>, run: i64, n: usize, now: Timestamp) -> Result<Option<(BatchNo, Vec<JobId>)>> {
    let found = tx.fetch(
        "SELECT ord, job_id FROM {run_jobs} {by_not_started} WHERE run = ?1 AND {not_started} ORDER BY ord LIMIT ?2",
        [int(run), limit(n)],
    );
    let mut ords = Vec::new();
    let mut ids = Vec::new();
    for row in found.await? {
        let mut row = RowCells::of(row);
        ords.push(row.int()?);
        ids.push(JobId::new(row.text()?));
    }
    let (Some(first), Some(last)) = (ords.first(), ords.last()) else { return Ok(None) };
    let no = new_batch(tx, run, now).await?;
    name_between(tx, run, no, (*first, *last)).await?;
    Ok(Some((no, ids)))
}

async fn new_batch(tx: &mut LedgerTx<'_>, run: i64, now: Timestamp) -> Result<BatchNo> {
    let no = 1 + tx.number("SELECT coalesce(max(no), 0) FROM {batches} WHERE run = ?1", [int(run)]).await?;
    tx.execute("INSERT INTO {batches} (run, no, begun_at) VALUES (?1, ?2, ?3)", [int(run), int(no), int(now.0)])
        .await?;
    Ok(BatchNo(no))
}

/// Outcomes as one value: rows of id, outcome and reason.
fn outcome_rows(outcomes: &[&CompletedBatch]) -> Result<Bind> {
    let told: Vec<(&str, &str, Option<String>)> = outcomes
        .iter()
        .map(|CompletedBatch { outcome: (id, result), note }| match result {
            JobResult::Done => (id.as_str(), DONE, note.map(str::to_owned)),
            JobResult::Skipped(reason) => (id.as_str(), SKIPPED, Some(reason.word().to_owned())),
            JobResult::Failed(reason) => (id.as_str(), FAILED, Some(stored_reason(reason))),
        })
        .collect();
    rows(&told)
}

/// The start of a reason. NUL would end the text for SQLite's string functions, and is none for PostgreSQL.
fn stored_reason(reason: &Untrusted) -> String {
    reason.exact().chars().take(REASON_HEAD).map(|c| if c == '\0' { '\u{2400}' } else { c }).collect()
}
