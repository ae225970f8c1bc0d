//! Erasing what runs kept of a job, when it is deleted without a copy.

use std::collections::{HashMap, HashSet};

use super::RowSnapshots;
use crate::db::{Bind, Row};
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::ledger::backend::{Backend, RowCells, int, limit, maybe, text, texts};
use crate::ledger::error::Result;
use crate::ledger::history::of_database;
use crate::ledger::model::{RunId, Whose};
use crate::ledger::runs::options;

/// Jobs of a cohort that are looked for in a record at a time.
const LOOK: usize = 5_000;

impl RowSnapshots<'_> {
    /// How many rows other runs of a store kept under the ids of the jobs of a run, in whatever record, and would be erased
    /// with them; and how many would be left, as they are of other jobs.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub async fn kept_elsewhere(self, whose: Whose<'_>, run: &RunId) -> Result<(u64, u64)> {
        let (mut erased, mut left, mut after) = (0, 0, 0);
        loop {
            let rows = self.ledger.home.fetch(
                "SELECT ord, job_id, died_at FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
                 AND ord > ?2 ORDER BY ord LIMIT ?3",
                [text(&run.0), int(after), limit(LOOK)],
            );
            let mut deaths = Deaths::new();
            for row in rows.await? {
                let mut row = RowCells::of(row);
                after = row.int()?;
                deaths.insert(row.text()?, row.maybe_int()?);
            }
            if deaths.is_empty() {
                return Ok((erased, left));
            }
            for home in self.ledger.backends() {
                for copies in self.copies(home, whose, run, &deaths).await? {
                    erased += copies.erased.iter().filter(|copy| copy.has_row).count() as u64;
                    left += copies.left;
                }
            }
        }
    }

    /// Erases what other runs of a store than `run` kept under the ids of these jobs, in whatever record; but not of
    /// another job that had the same id before.
    ///
    /// # Errors
    /// When a record cannot be kept.
    pub async fn erase(self, whose: Whose<'_>, run: &RunId, ids: &[JobId]) -> Result<u64> {
        let deaths = self.ledger.home.fetch(
            "SELECT job_id, died_at FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) \
             AND job_id {among ?2} AND {all_known ?2}",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let deaths = read_deaths(deaths.await?)?;
        self.ledger.edits().erase(whose.store, run, ids).await?;
        let mut erased = 0;
        for home in self.ledger.backends() {
            for copies in self.copies(home, whose, run, &deaths).await? {
                let ids = texts(copies.erased.into_iter().map(|copy| copy.id));
                let sql = "DELETE FROM {archive} WHERE run = ?1 AND job_id {among ?2}";
                erased += home.execute(sql, [int(copies.run), ids]).await?;
            }
        }
        Ok(erased)
    }

    /// What `home` keeps of other runs than `run` under the ids of these jobs, by run.
    ///
    /// A job that was discarded and never brought back is gone: a row that has its id now and died at another time is
    /// another job, as where a table gives ids anew. What a replay kept may be of the same job, which came back, and is
    /// taken to be.
    async fn copies(self, home: &Backend, whose: Whose<'_>, run: &RunId, deaths: &Deaths) -> Result<Vec<Copies>> {
        let sql = format!(
            "SELECT r.seq, r.id, r.action, a.job_id, CASE WHEN a.{{row}} <> '' THEN 1 ELSE 0 END FROM {{archive}} AS a \
             JOIN {{runs}} AS r ON r.seq = a.run WHERE a.job_id {{among ?4}} AND {} AND r.store = ?2 AND r.id <> ?3 \
             ORDER BY r.seq",
            of_database(home, "r.", "?1", "?5")
        );
        let ids = texts(deaths.keys().map(String::as_str));
        let binds = [text(whose.source), text(whose.store), text(&run.0), ids, maybe(whose.here())];
        let mut found: Vec<(Copies, RunId, bool)> = Vec::new();
        for row in home.fetch(&sql, binds).await? {
            let mut row = RowCells::of(row);
            let (seq, id, action) = (row.int()?, RunId(row.text()?), row.text()?);
            if found.last().is_none_or(|(copies, ..)| copies.run != seq) {
                let discards = Action::from_word(&action) == Some(Action::Discard);
                found.push((Copies { run: seq, erased: Vec::new(), left: 0 }, id, discards));
            }
            if let Some((copies, ..)) = found.last_mut() {
                copies.erased.push(KeptRow { id: row.text()?, has_row: row.int()? == 1 });
            }
        }
        let mut all = Vec::with_capacity(found.len());
        for (mut copies, id, discards) in found {
            if discards {
                let others = self.of_other_jobs(home, &id, &copies, deaths).await?;
                let before = copies.erased.len();
                copies.erased.retain(|copy| !others.contains(&copy.id));
                copies.left = (before - copies.erased.len()) as u64;
            }
            all.push(copies);
        }
        Ok(all)
    }

    /// The ids under which a discard kept rows of other jobs than those that have them now.
    async fn of_other_jobs(
        self,
        home: &Backend,
        discard: &RunId,
        copies: &Copies,
        deaths: &Deaths,
    ) -> Result<HashSet<String>> {
        let ids = || texts(copies.erased.iter().map(|copy| copy.id.as_str()));
        let then = home.fetch(
            "SELECT job_id, died_at FROM {run_jobs} WHERE run = ?1 AND outcome = 'done' AND job_id {among ?2} \
             AND {all_known ?2}",
            [int(copies.run), ids()],
        );
        let then = read_deaths(then.await?)?;
        let differs = |(id, died): &(String, Option<i64>)| matches!((died, deaths.get(id)), (Some(then), Some(Some(now))) if then != now);
        let mut others: HashSet<String> = then.into_iter().filter(differs).map(|(id, _)| id).collect();
        if others.is_empty() {
            return Ok(others);
        }
        for record in self.ledger.backends() {
            for undo in undos_in(record, discard).await? {
                let back = record.fetch(
                    "SELECT job_id FROM {run_jobs} WHERE run = ?1 AND (outcome = 'done' OR (batch IS NOT NULL AND \
                     outcome IS NULL)) AND job_id {among ?2} AND {all_known ?2}",
                    [int(undo), ids()],
                );
                for row in back.await? {
                    others.remove(&RowCells::of(row).text()?);
                }
            }
        }
        Ok(others)
    }
}

/// The runs of a record that were to bring back what `discard` deleted.
async fn undos_in(home: &Backend, discard: &RunId) -> Result<Vec<i64>> {
    let rows = home.fetch(
        "SELECT seq, options FROM {runs} WHERE action = 'restore' AND started_at IS NOT NULL",
        Vec::<Bind>::new(),
    );
    let mut undos = Vec::new();
    for row in rows.await? {
        let mut row = RowCells::of(row);
        let (seq, options) = (row.int()?, options(row.maybe_text()?)?);
        undos.extend((options.undoes.as_deref() == Some(discard.0.as_str())).then_some(seq));
    }
    Ok(undos)
}

/// When jobs died, by their id.
type Deaths = HashMap<String, Option<i64>>;

fn read_deaths(rows: Vec<Row>) -> Result<Deaths> {
    let death = |row| {
        let mut row = RowCells::of(row);
        Ok((row.text()?, row.maybe_int()?))
    };
    rows.into_iter().map(death).collect()
}

/// What one run keeps under some ids.
struct Copies {
    run: i64,
    /// What goes with the jobs that have the ids now.
    erased: Vec<KeptRow>,
    /// How many are of other jobs.
    left: u64,
}

/// One kept row.
struct KeptRow {
    id: String,
    /// Whether there is more than its key.
    has_row: bool,
}
