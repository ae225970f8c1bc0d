//! What undoing a run, and erasing what it kept, needs of the record.

use super::error::{LedgerError, Result};
use super::home::{Cells, int, limit, maybe, text, texts};
use super::model::{RunId, Whose};
use super::open::Ledger;
use crate::domain::job::{JobId, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::sql::engine::Bind;
use crate::store::{Frozen, Standing};

/// Jobs of a cohort that are looked for in a record at a time.
const LOOK: usize = 5_000;

impl Ledger {
    /// Jobs that a run took effect on, as they were frozen for it: those after `after` (0 is the start) in the order of
    /// freezing, at most `n`. Of `ids` only, where there are any.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn done_jobs(&self, run: &RunId, ids: &[JobId], after: i64, n: usize) -> Result<Vec<(i64, Frozen)>> {
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
        rows.into_iter().map(|row| frozen(&mut Cells::of(row))).collect()
    }

    /// Jobs of a cohort with how they stood when they were frozen, those after `after`; at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn standings(&self, run: &RunId, after: i64, n: usize) -> Result<Vec<(i64, JobId, Standing)>> {
        let rows = self.home.fetch(
            "SELECT ord, job_id, state, native FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND ord > ?2 ORDER BY ord LIMIT ?3",
            [text(&run.0), int(after), limit(n)],
        );
        let standing = |row| {
            let mut row = Cells::of(row);
            let (ord, id) = (row.int()?, JobId::new(row.text()?));
            Ok((ord, id, Standing { state: State::from_word(&row.text()?), native: row.maybe_text()? }))
        };
        rows.await?.into_iter().map(standing).collect()
    }

    /// How many rows other runs of a store kept under the ids of the jobs of a run, in whatever record.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub async fn kept_elsewhere(&self, whose: Whose<'_>, run: &RunId) -> Result<u64> {
        let (mut kept, mut after) = (0, 0);
        loop {
            let jobs = self.standings(run, after, LOOK).await?;
            let Some((last, ..)) = jobs.last() else { return Ok(kept) };
            after = *last;
            let ids: Vec<JobId> = jobs.into_iter().map(|(_, id, _)| id).collect();
            let count =
                |home: &Ledger| format!("SELECT count(*) FROM {{archive}} WHERE {} AND {{row}} <> ''", home.others());
            for home in self.each() {
                let row = home.home.fetch(&count(&home), of_others(whose, run, &ids)).await?.pop();
                kept += row.map_or(Ok(0), |row| Cells::of(row).count())?;
            }
        }
    }

    /// Erases what other runs of a store than `run` kept under the ids of these jobs, in whatever record.
    ///
    /// # Errors
    /// When a record cannot be kept.
    pub async fn erase_kept(&self, whose: Whose<'_>, run: &RunId, ids: &[JobId]) -> Result<u64> {
        let mut erased = 0;
        for home in self.each() {
            let sql = format!("DELETE FROM {{archive}} WHERE {}", home.others());
            erased += home.home.execute(&sql, of_others(whose, run, ids)).await?;
        }
        Ok(erased)
    }

    /// This record and the other one, each by itself.
    fn each(&self) -> impl Iterator<Item = Ledger> + use<> {
        [Some(Ledger::alone(self.home.clone())), self.other()].into_iter().flatten()
    }

    /// What is kept under the ids `?4` by other runs than `?3` of the store `?2` in the database `?5`.
    fn others(&self) -> String {
        format!(
            "job_id {{among ?4}} AND run IN \
             (SELECT seq FROM {{runs}} WHERE {} AND store = ?2 AND id <> ?3)",
            self.of_database("", "?1", "?5")
        )
    }
}

/// The values of [`Ledger::others`].
fn of_others(whose: Whose<'_>, run: &RunId, ids: &[JobId]) -> [Bind; 5] {
    let Whose { source, store, .. } = whose;
    [text(source), text(store), text(&run.0), texts(ids.iter().map(JobId::as_str)), maybe(whose.here())]
}

fn frozen(row: &mut Cells) -> Result<(i64, Frozen)> {
    let (ord, id) = (row.int()?, JobId::new(row.text()?));
    let (error_class, job_class) = (row.maybe_text()?.map(Untrusted::new), row.maybe_text()?.map(Untrusted::new));
    let at = row.maybe_int()?.map(Timestamp);
    let word = row.text()?;
    let unknown = || LedgerError::Refused(format!("`{word}` is of a later version"));
    let state = State::from_word(&word).ok_or_else(unknown)?;
    let (native, lineage) = (row.maybe_text()?.map(Untrusted::new), row.maybe_text()?);
    Ok((ord, Frozen { id, error_class, job_class, at, state, native, lineage, successor: None, replays: 0 }))
}
