//! Taking replayed jobs back out of the live queue, while no worker has taken them.
//!
//! One transaction: the dead row is locked where there is one, the live row is looked up and locked, passing over what
//! others hold, and only then the adapter's statements run. What a worker holds is left to it.

use std::collections::{HashMap, HashSet};

use crate::adapter::{FieldKind, Keep, Live, Undo};
use crate::db::cells::Cells;
use crate::db::{Statement, Tx};
use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::row_snapshot::{RelatedRow, row_of};
use crate::store::sql::query::snapshot_members::narrowed;
use crate::store::sql::query::template::{Fill, expand, push};
use crate::store::sql::undo::restore::Restore;
use crate::store::sql::write::batch::{Attempt, BatchWriter, Held, failed, undo, with_all};
use crate::store::sql::write::dry_run::{Asker, DryRun};
use crate::store::sql::write::journal::record_done;
use crate::store::sql::write::transaction_id::Transactions;
use crate::store::sql::write::verb::Work;
use crate::store::{Budget, Interrupted, Result};

/// Why a replay that kept nothing cannot be undone.
const NOTHING_KEPT: &str = "the ledger has nothing of how it was before";
/// Why a job is left in the live queue that has it more than once.
const TWICE: &str = "the live queue has it more than once: to take back the one would leave the other to run";

/// Why a job is left in the live queue that may be another job's.
const SHARED: &str = "more than one job of this run may be the one that is in the live queue";

/// Live rows that may be those of some jobs. Undoing is safe only where each job has one, and no other job has the same.
#[derive(Default)]
struct RecallCandidates {
    /// By job: the keys of the rows that look like it, without one where a row is not as it was put there.
    of_job: HashMap<String, HashSet<Option<String>>>,
    /// By key: the jobs.
    of_key: HashMap<String, HashSet<String>>,
    /// Why a job cannot be told in the live queue at all.
    untold: HashMap<String, String>,
}

impl RecallCandidates {
    fn add(&mut self, id: String, key: Option<String>, why: Option<String>) {
        if let Some(why) = why {
            self.untold.insert(id, why);
            return;
        }
        if let Some(key) = &key {
            self.of_key.entry(key.clone()).or_default().insert(id.clone());
        }
        self.of_job.entry(id).or_default().insert(key);
    }

    /// The keys of all rows.
    fn keys(&self) -> Vec<String> {
        self.of_key.keys().cloned().collect()
    }

    /// The key of the one row that can only be this job's; none where there is no row, or it is not as it was put there.
    fn only(&self, id: &str) -> std::result::Result<Option<&String>, String> {
        if let Some(why) = self.untold.get(id) {
            return Err(why.clone());
        }
        let Some(keys) = self.of_job.get(id) else { return Ok(None) };
        if keys.len() > 1 {
            return Err(TWICE.to_owned());
        }
        let key = keys.iter().flatten().next();
        match key.and_then(|key| self.of_key.get(key)) {
            Some(jobs) if jobs.len() > 1 => Err(SHARED.to_owned()),
            _ => Ok(key),
        }
    }
}

/// Jobs with the keys of their live rows, and those that are decided already.
pub(crate) struct LiveJobs {
    pub(crate) rows: Vec<BatchRow>,
    pub(crate) settled: Vec<JobOutcome>,
}

/// Takes replayed jobs out of the queue.
#[derive(Clone, Copy)]
pub(crate) struct Recall<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Recall<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    pub(crate) async fn recall(self, work: &Work<'_>, way: &Undo, ids: &[String], budget: &Budget) -> Attempt {
        let mut tx = self.context.begin(budget).await?;
        let found = self.find_live(&mut Asker::Tx(&mut tx), work, way, ids).await;
        let LiveJobs { rows, settled } = match found {
            Ok(found) => found,
            Err(error) => return undo(tx, error.into()).await,
        };
        if rows.is_empty() {
            tx.rollback().await;
            return Ok(settled);
        }
        let done = async {
            Transactions::new(self.context)
                .run_noted(&mut tx, work, BatchWriter::new(self.context).fill_steps(work, &way.steps, &rows), &rows)
                .await?;
            match way.put_back {
                true => Restore::new(self.context).put_back(&mut Asker::Tx(&mut tx), &rows, work.along).await,
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
        if work.edits_too()
            && let Err(error) = BatchWriter::new(self.context).edit_back(&mut tx, work, &rows).await
        {
            return undo(tx, error.into()).await;
        }
        if let Err(error) = record_done(&mut tx, work, &rows).await {
            return undo(tx, error.into()).await;
        }
        tx.commit().await.map_err(Interrupted::at_commit)?;
        Ok(with_all(settled, &rows, |_| JobResult::Done))
    }

    /// The jobs that can be taken back, each with its live row; locked where a transaction asks.
    pub(crate) async fn find_live(
        self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        way: &Undo,
        ids: &[String],
    ) -> Result<LiveJobs> {
        let mut found = self.as_left(asker, work, way, ids).await?;
        let kept = work.snapshots();
        let needs = self.context.layout.spec.verbs.replay.as_ref().is_some_and(|verb| verb.keep != Keep::Whole(false));
        let mut rows = Vec::new();
        for row in found.rows {
            match kept.get(row.id.as_str()).filter(|text| RelatedRow::parse(text).is_some()) {
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
    async fn lock_as_workers_do(
        self,
        tx: &mut Tx<'_>,
        work: &Work<'_>,
        lock: &str,
        found: &mut LiveJobs,
    ) -> Result<()> {
        let ids: Vec<String> = found.rows.iter().map(|row| row.id.clone()).collect();
        let statement =
            expand(lock, &Fill { ids: &ids, batch: &found.rows, ..BatchWriter::new(self.context).fill(work) });
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
    async fn as_left(self, asker: &mut Asker<'_, '_>, work: &Work<'_>, way: &Undo, ids: &[String]) -> Result<LiveJobs> {
        let bare = |id: &str| BatchRow { id: id.to_owned(), ..BatchRow::default() };
        if way.when.is_none() {
            return Ok(LiveJobs { rows: ids.iter().map(|id| bare(id)).collect(), settled: Vec::new() });
        }
        if let Asker::Tx(tx) = asker {
            let Held { rows, settled, .. } = BatchWriter::new(self.context).lock_rows(tx, work, ids).await?;
            return Ok(LiveJobs { rows, settled });
        }
        let mut found = LiveJobs { rows: Vec::new(), settled: Vec::new() };
        for (id, result) in DryRun::new(self.context).explain_rest(asker, work, ids).await? {
            match result {
                JobResult::Skipped(SkipReason::Locked) => found.rows.push(bare(id.as_str())),
                result => found.settled.push((id, result)),
            }
        }
        Ok(found)
    }

    async fn lock_live(
        self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        way: &Undo,
        live: &Live,
        mut found: LiveJobs,
    ) -> Result<LiveJobs> {
        let candidates = self.candidates(asker, work, live, &found.rows).await?;
        let there = candidates.keys();
        let mut held = Vec::new();
        if let (Asker::Tx(_), false) = (&asker, there.is_empty()) {
            let statement = self.live_statement(work, way, live, &there, true);
            for row in DryRun::new(self.context).fetch(asker, statement).await? {
                held.extend(Cells::new(row).text()?);
            }
        }
        let held: HashSet<String> = held.into_iter().collect();
        let mut free: HashMap<String, bool> = HashMap::new();
        let open: Vec<String> = there.into_iter().filter(|key| !held.contains(key)).collect();
        if !open.is_empty() {
            for row in
                DryRun::new(self.context).fetch(asker, self.live_statement(work, way, live, &open, false)).await?
            {
                let mut cells = Cells::new(row);
                if let Some(key) = cells.text()? {
                    free.insert(key, cells.int()? == Some(1));
                }
            }
        }
        let looking = matches!(asker, Asker::Look(_));
        let mut rows = Vec::new();
        for mut row in found.rows {
            let key = match candidates.only(&row.id) {
                Ok(key) => key,
                Err(reason) => {
                    found.settled.push((JobId::new(&row.id), failed(&reason)));
                    continue;
                }
            };
            let reason = match key {
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
        Ok(LiveJobs { rows, ..found })
    }

    /// The live rows that may be those of these jobs, as the adapter's statement finds them.
    async fn candidates(
        self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        live: &Live,
        rows: &[BatchRow],
    ) -> Result<RecallCandidates> {
        let text = live.find.get_ref();
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let batch = narrowed(text, rows);
        let statement = expand(text, &Fill { ids: &ids, batch: &batch, ..BatchWriter::new(self.context).fill(work) });
        let mut candidates = RecallCandidates::default();
        for row in DryRun::new(self.context).fetch(asker, statement).await? {
            let is_told = row.0.len() > 2;
            let mut cells = Cells::new(row);
            let (Some(id), key) = (cells.text()?, cells.text()?) else { continue };
            let why = if is_told { cells.text()? } else { None };
            candidates.add(id, key, why);
        }
        Ok(candidates)
    }

    /// Live rows by key: those that no worker has taken, locked; or all, with whether no worker has.
    fn live_statement(self, work: &Work<'_>, way: &Undo, live: &Live, keys: &[String], lock: bool) -> Statement {
        let dialect = self.context.layout.dialect;
        let key = format!("j.{}", dialect.quote(live.key.column.as_ref().map_or("", |column| column.get_ref())));
        let fill = BatchWriter::new(self.context).fill(work);
        let free = |sql: &mut Sql| {
            sql.push("(");
            push(sql, way.taken.get_ref(), &fill);
            sql.push(") IS NOT TRUE");
        };
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {}", dialect.contract(&key, FieldKind::Text)));
        if !lock {
            sql.push(", CASE WHEN ");
            free(&mut sql);
            sql.push(" THEN 1 ELSE 0 END");
        }
        sql.push(" FROM ");
        push(&mut sql, live.table.get_ref(), &fill);
        sql.push(" AS j WHERE ");
        dialect.keys_in(&mut sql, &key, live.key.kind, keys);
        if lock {
            sql.push(" AND ");
            free(&mut sql);
            sql.push(&dialect.lock_clause("j"));
        }
        sql.done()
    }
}
