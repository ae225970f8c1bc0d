//! Taking replayed jobs back out of the live queue, while no worker has taken them.
//!
//! One transaction: the dead row is locked where there is one, the live row is looked up and locked, passing over what
//! others hold, and only then the adapter's statements run. What a worker holds is left to it.

use std::collections::{HashMap, HashSet};

use super::SqlStore;
use super::apply::{Attempt, Held, failed, undo, with_all};
use super::build::Sql;
use super::dialect::BatchRow;
use super::engine::{Statement, Tx};
use super::foresee::Asker;
use super::kept::Kept;
use super::record::record_done;
use super::restore::{kept_of, row_of};
use super::row::Cells;
use super::steps::{Fill, expand, push};
use super::work::Work;
use crate::adapter::{Keep, Kind, Live, Undo};
use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::{Broke, Budget, Result};

/// Why a replay that kept nothing cannot be undone.
const NOTHING_KEPT: &str = "the ledger has nothing of how it was before";
/// Why a job is left in the live queue that has it more than once.
const TWICE: &str = "the live queue has it more than once: to take back the one would leave the other to run";

/// Jobs with the keys of their live rows, and those that are decided already.
pub(super) struct Found {
    pub(super) rows: Vec<BatchRow>,
    pub(super) settled: Vec<JobOutcome>,
}

impl SqlStore {
    pub(super) async fn recall(&self, work: &Work<'_>, way: &Undo, ids: &[String], budget: &Budget) -> Attempt {
        let mut tx = self.begin(budget).await?;
        let found = self.find_live(&mut Asker::Tx(&mut tx), work, way, ids).await;
        let Found { rows, settled } = match found {
            Ok(found) => found,
            Err(error) => return undo(tx, error.into()).await,
        };
        if rows.is_empty() {
            tx.rollback().await;
            return Ok(settled);
        }
        let done = async {
            self.run_witnessed(&mut tx, work, self.fill_steps(work, &way.steps, &rows), &rows).await?;
            match way.put_back {
                true => self.put_back(&mut Asker::Tx(&mut tx), &rows, work.along).await,
                false => Ok(Vec::new()),
            }
        };
        match done.await {
            Ok(lost) if lost.is_empty() => {}
            // Its live row is gone with this transaction, and its dead row has no place: all of it is undone, and the
            // others are taken back without it.
            Ok(lost) => {
                tx.rollback().await;
                let left: Vec<String> =
                    ids.iter().filter(|id| !lost.iter().any(|(l, _)| l.as_str() == **id)).cloned().collect();
                let mut outcomes = Box::pin(self.recall(work, way, &left, budget)).await?;
                outcomes.extend(lost);
                return Ok(outcomes);
            }
            Err(error) => return undo(tx, error.into()).await,
        }
        if let Err(error) = record_done(&mut tx, work, &rows).await {
            return undo(tx, error.into()).await;
        }
        tx.commit().await.map_err(Broke::at_commit)?;
        Ok(with_all(settled, &rows, |_| JobResult::Done))
    }

    /// The jobs that can be taken back, each with its live row; locked where a transaction asks.
    pub(super) async fn find_live(
        &self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        way: &Undo,
        ids: &[String],
    ) -> Result<Found> {
        let mut found = self.as_left(asker, work, way, ids).await?;
        let kept = kept_of(work);
        let needs = self.layout.spec.verbs.replay.as_ref().is_some_and(|verb| verb.keep != Keep::Whole(false));
        let mut rows = Vec::new();
        for row in found.rows {
            match kept.get(row.id.as_str()).filter(|text| Kept::parse(text).is_some()) {
                Some(text) => rows.push(row_of(&row.id, text)),
                None if needs => found.settled.push((JobId::new(&row.id), failed(NOTHING_KEPT))),
                None => rows.push(row),
            }
        }
        found.rows = rows;
        if let Some(live) = way.live.as_ref().filter(|_| !found.rows.is_empty()) {
            found = self.lock_live(asker, work, way, live, found).await?;
        }
        match (&way.lock, asker) {
            (Some(lock), Asker::Tx(tx)) if !found.rows.is_empty() => {
                self.lock_as_workers_do(tx, work, lock.get_ref(), &mut found).await?;
            }
            _ => {}
        }
        Ok(found)
    }

    /// Takes the locks that workers go by, and lets go of the jobs whose locks it was not given.
    async fn lock_as_workers_do(&self, tx: &mut Tx<'_>, work: &Work<'_>, lock: &str, found: &mut Found) -> Result<()> {
        let ids: Vec<String> = found.rows.iter().map(|row| row.id.clone()).collect();
        let statement = expand(lock, &Fill { ids: &ids, batch: &found.rows, ..self.fill(work) });
        let mut given = HashSet::new();
        for row in tx.fetch(&statement).await? {
            given.extend(Cells::new(row).text()?);
        }
        let (held, left) = std::mem::take(&mut found.rows).into_iter().partition(|row| given.contains(&row.id));
        found.rows = held;
        let locked = |row: BatchRow| (JobId::new(row.id), JobResult::Skipped(SkipReason::Locked));
        found.settled.extend(Vec::into_iter(left).map(locked));
        Ok(())
    }

    /// The jobs whose dead row stands as the replay left it, or that have none.
    async fn as_left(&self, asker: &mut Asker<'_, '_>, work: &Work<'_>, way: &Undo, ids: &[String]) -> Result<Found> {
        let bare = |id: &str| BatchRow { id: id.to_owned(), ..BatchRow::default() };
        if way.when.is_none() {
            return Ok(Found { rows: ids.iter().map(|id| bare(id)).collect(), settled: Vec::new() });
        }
        if let Asker::Tx(tx) = asker {
            let Held { rows, settled, .. } = self.hold(tx, work, ids).await?;
            return Ok(Found { rows, settled });
        }
        let mut found = Found { rows: Vec::new(), settled: Vec::new() };
        for (id, result) in self.explain_rest(asker, work, ids).await? {
            match result {
                JobResult::Skipped(SkipReason::Locked) => found.rows.push(bare(id.as_str())),
                result => found.settled.push((id, result)),
            }
        }
        Ok(found)
    }

    async fn lock_live(
        &self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        way: &Undo,
        live: &Live,
        mut found: Found,
    ) -> Result<Found> {
        let ids: Vec<String> = found.rows.iter().map(|row| row.id.clone()).collect();
        let fill = Fill { ids: &ids, batch: &found.rows, ..self.fill(work) };
        let mut keys: HashMap<String, String> = HashMap::new();
        let mut twice: HashSet<String> = HashSet::new();
        for row in self.fetch(asker, expand(live.find.get_ref(), &fill)).await? {
            let mut cells = Cells::new(row);
            if let (Some(id), Some(key)) = (cells.text()?, cells.text()?) {
                if keys.get(&id).is_some_and(|other| *other != key) {
                    twice.insert(id.clone());
                }
                keys.insert(id, key);
            }
        }
        let there: Vec<String> = keys.values().cloned().collect();
        let mut held = Vec::new();
        if let (Asker::Tx(_), false) = (&asker, there.is_empty()) {
            let statement = self.live_statement(work, way, live, &there, true);
            for row in self.fetch(asker, statement).await? {
                held.extend(Cells::new(row).text()?);
            }
        }
        let held: HashSet<String> = held.into_iter().collect();
        let mut free: HashMap<String, bool> = HashMap::new();
        let open: Vec<String> = there.into_iter().filter(|key| !held.contains(key)).collect();
        if !open.is_empty() {
            for row in self.fetch(asker, self.live_statement(work, way, live, &open, false)).await? {
                let mut cells = Cells::new(row);
                if let Some(key) = cells.text()? {
                    free.insert(key, cells.int()? == Some(1));
                }
            }
        }
        let looking = matches!(asker, Asker::Look(_));
        let mut rows = Vec::new();
        for mut row in found.rows {
            if twice.contains(&row.id) {
                found.settled.push((JobId::new(&row.id), failed(TWICE)));
                continue;
            }
            let reason = match keys.get(&row.id) {
                None => SkipReason::NotQueued,
                Some(key) if held.contains(key) || looking && free.get(key) == Some(&true) => {
                    row.live = Some(key.clone());
                    rows.push(row);
                    continue;
                }
                Some(key) => match free.get(key) {
                    None => SkipReason::NotQueued,
                    Some(true) => SkipReason::Locked,
                    Some(false) => SkipReason::Taken,
                },
            };
            found.settled.push((JobId::new(&row.id), JobResult::Skipped(reason)));
        }
        Ok(Found { rows, ..found })
    }

    /// Live rows by key: those that no worker has taken, locked; or all, with whether no worker has.
    fn live_statement(&self, work: &Work<'_>, way: &Undo, live: &Live, keys: &[String], lock: bool) -> Statement {
        let speech = self.layout.speech;
        let key = format!("j.{}", speech.quote(live.key.column.as_ref().map_or("", |column| column.get_ref())));
        let fill = self.fill(work);
        let free = |sql: &mut Sql| {
            sql.push("(");
            push(sql, way.taken.get_ref(), &fill);
            sql.push(") IS NOT TRUE");
        };
        let mut sql = Sql::new(speech);
        sql.push(&format!("SELECT {}", speech.contract(&key, Kind::Text)));
        if !lock {
            sql.push(", CASE WHEN ");
            free(&mut sql);
            sql.push(" THEN 1 ELSE 0 END");
        }
        sql.push(" FROM ");
        push(&mut sql, live.table.get_ref(), &fill);
        sql.push(" AS j WHERE ");
        speech.keys_in(&mut sql, &key, live.key.kind, keys);
        if lock {
            sql.push(" AND ");
            free(&mut sql);
            sql.push(&speech.lock_clause("j"));
        }
        sql.done()
    }
}
