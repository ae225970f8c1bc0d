//! What later runs did to the jobs of a run.

use std::collections::{HashMap, HashSet};

use super::{JobHistory, of_database};
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::ledger::backend::{Backend, RowCells, maybe, text, texts};
use crate::ledger::error::Result;
use crate::ledger::model::{RunId, Whose};
use crate::ledger::runs::options;

/// What a run did to a job, and when.
struct Act {
    at: i64,
    run: String,
    undoes: Option<String>,
    died_at: Option<i64>,
}

impl JobHistory<'_> {
    /// Those of these jobs of `run` on which a later run of the same store took effect, in whatever record, other than the
    /// run that asks. A run that was undone for a job, and its undo, count as none.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub async fn acted_since(self, run: &RunId, asking: &RunId, ids: &[JobId]) -> Result<HashSet<JobId>> {
        let there = self.ledger.of(run).await?;
        let intent = there.runs().intent(run).await?;
        let begun = there.home.fetch(
            "SELECT j.job_id, b.begun_at, j.died_at FROM (SELECT run, batch, job_id, died_at FROM {run_jobs} \
             WHERE run = (SELECT seq FROM {runs} WHERE id = ?1) AND job_id {among ?2} AND {all_known ?2}) AS j \
             JOIN {batches} AS b ON b.run = j.run AND b.no = j.batch",
            [text(&run.0), texts(ids.iter().map(JobId::as_str))],
        );
        let mut own = HashMap::new();
        for row in begun.await? {
            let mut row = RowCells::of(row);
            own.insert(row.text()?, (row.int()?, row.maybe_int()?));
        }
        let whose = Whose { source: &intent.source, store: &intent.store, database: intent.database.as_ref() };
        let mut acts: HashMap<String, Vec<Act>> = HashMap::new();
        for home in self.ledger.backends() {
            acts_in(home, whose, ids, &mut acts).await?;
        }
        let is_later = |id: &str, act: &Act| {
            let Some((at, died_at)) = own.get(id) else { return false };
            // A row that is gone has left its id to others, perhaps.
            let is_another = intent.action == Action::Discard
                && matches!((died_at, act.died_at), (Some(then), Some(died)) if *then != died);
            act.at > *at && act.run != run.0 && act.run != asking.0 && !is_another
        };
        let mut touched = HashSet::new();
        for (id, mut acts) in acts {
            acts.retain(|act| is_later(&id, act));
            acts.sort_by_key(|act| act.at);
            if is_left(&acts) {
                touched.insert(JobId::new(id));
            }
        }
        Ok(touched)
    }
}

/// What runs of this record did to these jobs.
async fn acts_in(home: &Backend, whose: Whose<'_>, ids: &[JobId], acts: &mut HashMap<String, Vec<Act>>) -> Result<()> {
    let sql = format!(
        "SELECT j.job_id, coalesce(b.ended_at, b.begun_at), r.id, r.options, j.died_at \
         FROM (SELECT run, batch, job_id, died_at FROM {{run_jobs}} WHERE job_id {{among ?3}} AND {{all_known ?3}} \
         AND batch IS NOT NULL AND outcome = 'done') AS j JOIN {{runs}} AS r ON r.seq = j.run \
         JOIN {{batches}} AS b ON b.run = j.run AND b.no = j.batch WHERE {} AND r.store = ?2",
        of_database(home, "r.", "?1", "?4")
    );
    let ids = texts(ids.iter().map(JobId::as_str));
    let binds = [text(whose.source), text(whose.store), ids, maybe(whose.here())];
    for row in home.fetch(&sql, binds).await? {
        let mut row = RowCells::of(row);
        let (id, at, run) = (row.text()?, row.int()?, row.text()?);
        let (undoes, died_at) = (options(row.maybe_text()?)?.undoes, row.maybe_int()?);
        acts.entry(id).or_default().push(Act { at, run, undoes, died_at });
    }
    Ok(())
}

/// Whether something is left of what was done to a job, given in the order of time, once what was undone is taken away
/// with its undo.
fn is_left(acts: &[Act]) -> bool {
    let mut undone: HashSet<&str> = HashSet::new();
    for act in acts.iter().rev() {
        if undone.contains(act.run.as_str()) {
            continue;
        }
        match act.undoes.as_deref().filter(|earlier| acts.iter().any(|act| act.run == *earlier)) {
            Some(earlier) => undone.insert(earlier),
            None => return true,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_undone_counts_as_not_done() {
        let left = |runs: &[(&str, Option<&str>)]| {
            let act = |(run, undoes): &(&str, Option<&str>)| Act {
                at: 0,
                run: (*run).to_owned(),
                undoes: undoes.map(str::to_owned),
                died_at: None,
            };
            is_left(&runs.iter().map(act).collect::<Vec<_>>())
        };
        assert!(!left(&[]) && left(&[("b", None)]));
        assert!(!left(&[("b", None), ("c", Some("b"))]));
        assert!(left(&[("b", None), ("c", Some("b")), ("d", Some("c"))]), "it was done again");
        assert!(left(&[("b", None), ("c", None), ("d", Some("c"))]));
        assert!(left(&[("d", Some("of long ago"))]));
    }
}
