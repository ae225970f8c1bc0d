//! What a batch would come to as the rows stand, and why some of them are left alone.

use std::collections::{HashMap, HashSet};

use super::SqlStore;
use super::apply::with_all;
use super::build::Sql;
use super::engine::{Row, Statement, Tx};
use super::row::Cells;
use super::steps::{Fill, push};
use super::work::{Way, Work};
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::{Batch, Budget, Result};

/// What stands for the first of an adapter's refusals.
const REFUSED: usize = 10;

/// Who runs the statements of an attempt: the transaction that acts, or nobody who holds anything.
pub(super) enum Asker<'a, 'tx> {
    Tx(&'a mut Tx<'tx>),
    Look(&'a Budget),
}

impl SqlStore {
    /// What a batch would come to, as the rows stand now.
    pub(super) async fn look_at_batch(&self, batch: &Batch, budget: &Budget) -> Result<Vec<JobOutcome>> {
        let work = self.work(batch)?;
        let ids = self.valid(&batch.ids);
        let asker = &mut Asker::Look(budget);
        let mut outcomes = match work.way {
            Way::Restore => self.look_at_places(asker, &work, &ids).await?,
            Way::Recall(undo) => {
                let found = self.find_live(asker, &work, undo, &ids).await?;
                with_all(found.settled, &found.rows, |_| JobResult::Done)
            }
            Way::Steps(_) | Way::Twin | Way::Command(_) => {
                let free = |(id, result)| match result {
                    JobResult::Skipped(SkipReason::Locked) => (id, JobResult::Done),
                    result => (id, result),
                };
                self.explain_rest(asker, &work, &ids).await?.into_iter().map(free).collect()
            }
        };
        let told: HashSet<JobId> = outcomes.iter().map(|(id, _)| id.clone()).collect();
        let never = batch.ids.iter().filter(|id| !told.contains(*id));
        outcomes.extend(never.map(|id| (id.clone(), JobResult::Skipped(SkipReason::Gone))));
        Ok(outcomes)
    }

    /// Why these rows are not held: gone, changed, taken, or locked by somebody else.
    pub(super) async fn explain_rest(
        &self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        rest: &[String],
    ) -> Result<Vec<JobOutcome>> {
        let (layout, speech) = (&self.layout, self.layout.speech);
        let fill = Fill { ids: rest, ..self.fill(work) };
        let mut sql = Sql::new(speech);
        sql.push(&format!("SELECT {}, CASE WHEN ", layout.key_text));
        self.guard(&mut sql, work, &fill);
        sql.push(" THEN 1 ");
        if let Some(taken) = work.taken {
            sql.push("WHEN ");
            push(&mut sql, taken, &fill);
            sql.push(" THEN 2 ");
        }
        for (i, refusal) in work.refuse.iter().enumerate() {
            sql.push("WHEN ");
            self.still(&mut sql, work, &fill);
            sql.push(" AND (");
            push(&mut sql, refusal.when.get_ref(), &fill);
            sql.push(&format!(") THEN {} ", REFUSED + i));
        }
        sql.push(&format!("ELSE 0 END FROM {} WHERE ", layout.from));
        push(&mut sql, "{ids}", &fill);
        let mut there: HashMap<String, Option<i64>> = HashMap::new();
        for row in self.fetch(asker, sql.done()).await? {
            let mut cells = Cells::new(row);
            if let Some(id) = cells.text()? {
                there.insert(id, cells.int()?);
            }
        }
        let reason = |id: &String| match there.get(id) {
            None => SkipReason::Gone,
            Some(Some(1)) => SkipReason::Locked,
            Some(Some(2)) => SkipReason::Taken,
            Some(Some(n)) if *n >= REFUSED as i64 => {
                let refusal = usize::try_from(*n).ok().and_then(|n| work.refuse.get(n - REFUSED));
                refusal.map_or(SkipReason::Changed, |refusal| SkipReason::Unfit(refusal.because.clone()))
            }
            Some(_) => SkipReason::Changed,
        };
        Ok(rest.iter().map(|id| (JobId::new(id), JobResult::Skipped(reason(id)))).collect())
    }

    /// Those of these jobs for which the verb cannot be done, each with the adapter's reason.
    pub(super) async fn refused(&self, action: Action, ids: &[JobId], budget: &Budget) -> Result<Vec<(JobId, String)>> {
        let refusals = self.layout.spec.verbs.get(action).map_or(&[][..], |verb| &verb.refuse);
        // Keys are only looked at where that is of use: whole cohorts come by.
        let ids = if refusals.is_empty() { Vec::new() } else { self.valid(ids) };
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (layout, speech) = (&self.layout, self.layout.speech);
        let fill = Fill { ids: &ids, ..Fill::of(layout, self.destination.table()) };
        let mut sql = Sql::new(speech);
        sql.push(&format!("SELECT {}, CASE", layout.key_text));
        for (i, refusal) in refusals.iter().enumerate() {
            sql.push(" WHEN ");
            push(&mut sql, refusal.when.get_ref(), &fill);
            sql.push(&format!(" THEN {i}"));
        }
        sql.push(&format!(" ELSE -1 END FROM {} WHERE ", layout.from));
        push(&mut sql, "{ids}", &fill);
        let mut refused = Vec::new();
        for row in self.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default() {
            let mut cells = Cells::new(row);
            let (id, which) = (cells.text()?, cells.int()?.and_then(|n| usize::try_from(n).ok()));
            if let (Some(id), Some(refusal)) = (id, which.and_then(|n| refusals.get(n))) {
                refused.push((JobId::new(id), refusal.because.clone()));
            }
        }
        Ok(refused)
    }

    pub(super) async fn fetch(&self, asker: &mut Asker<'_, '_>, statement: Statement) -> Result<Vec<Row>> {
        match asker {
            Asker::Tx(tx) => tx.fetch(&statement).await,
            Asker::Look(budget) => Ok(self.engine.read(&[statement], budget).await?.pop().unwrap_or_default()),
        }
    }
}
