//! Runs: led from state to state, and read back.

use std::collections::HashMap;

use serde::de::DeserializeOwned;

use super::backend::{LedgerTx, RowCells, int, limit, text};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::{LedgerLocation, Operator, Run, RunId, RunIntent, RunState, RunTally};
use super::run_lock::renew;
use super::tally;
use crate::db::Bind;
use crate::domain::action::Action;
use crate::domain::run_options::Options;
use crate::domain::time::Timestamp;

/// What is read of a run, in the order of [`RunRow::decode`].
const HEAD: &str = "r.seq, r.id, r.action, r.source, r.store, r.filter, r.resolved, r.reason, r.os_user, r.database_user, \
                    r.host, r.ssh_client, r.options, r.frozen_at, r.state, r.started_at, r.ended_at, r.planned";
/// The run of an id.
const ONE: &str = "SELECT seq FROM {runs} WHERE id = ?1";
/// States from which a run is started, or goes on.
const STARTABLE: [RunState; 3] = [RunState::Planned, RunState::Stopped, RunState::Running];
/// The latest runs.
const LATEST: &str = "SELECT seq FROM {runs} ORDER BY seq DESC LIMIT ?1";
/// The latest runs that were confirmed.
const CONFIRMED: &str = "SELECT seq FROM {runs} WHERE state NOT IN ('freezing', 'planned', 'dismissed') \
     ORDER BY seq DESC LIMIT ?1";

impl Ledger {
    /// Marks a confirmed, stopped or crashed run as running. The caller has the [`super::RunLock`] of it.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`]; [`LedgerError::WrongState`] for a run that ended or was dismissed.
    pub async fn start(&self, run: &RunId, now: Timestamp) -> Result<()> {
        if let Some(n) = self.home.keys() {
            self.make_known(run, n).await?;
        }
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &STARTABLE, "started").await?;
        tx.execute(
            "UPDATE {runs} SET state = ?2, started_at = coalesce(started_at, ?3), ended_at = NULL WHERE seq = ?1",
            [int(seq), text(RunState::Running.word()), int(now.0)],
        )
        .await?;
        tally::forget(&mut tx, seq).await?;
        tx.commit().await
    }

    /// Writes down what the jobs of a run are known by before it is started for the first time, `n` jobs at a time.
    async fn make_known(&self, run: &RunId, n: i64) -> Result<()> {
        let mut known = 0;
        loop {
            let mut tx = self.home.begin().await?;
            let seq = at_work(&mut tx, run, &STARTABLE, "started").await?;
            let rest = tx.number(
                "SELECT max(ord) FROM {run_jobs} WHERE run = (SELECT seq FROM {runs} WHERE seq = ?1 AND started_at IS NULL)",
                [int(seq)],
            );
            if rest.await? <= known {
                return Ok(());
            }
            // In order, so that each page is written once, and by one sort: a UNION would keep one in memory for each of its
            // parts.
            let sql = "INSERT OR IGNORE INTO {run_keys} (known_as, run, ord) \
                       SELECT CASE part.n WHEN 1 THEN j.job_id WHEN 2 THEN j.lineage ELSE j.successor END, j.run, j.ord \
                       FROM {run_jobs} AS j CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS part \
                       WHERE j.run = ?1 AND j.ord > ?2 AND j.ord <= ?3 \
                       AND CASE part.n WHEN 1 THEN j.job_id WHEN 2 THEN j.lineage ELSE j.successor END IS NOT NULL \
                       ORDER BY 1";
            tx.execute(sql, [int(seq), int(known), int(known + n)]).await?;
            tx.commit().await?;
            known += n;
        }
    }

    /// Ends an execution: `finished` when every planned job has an outcome, otherwise `stopped`, to be resumed.
    ///
    /// # Errors
    /// As [`Ledger::freeze_jobs`].
    pub async fn end(&self, run: &RunId, now: Timestamp) -> Result<Run> {
        let mut tx = self.home.begin().await?;
        let seq = at_work(&mut tx, run, &[RunState::Running], "ended").await?;
        let tally = tally::keep(&mut tx, seq).await?;
        let open = tally.not_started + tally.in_doubt > 0;
        let state = if open { RunState::Stopped } else { RunState::Finished };
        tx.execute(
            "UPDATE {runs} SET state = ?2, ended_at = ?3 WHERE seq = ?1",
            [int(seq), text(state.word()), int(now.0)],
        )
        .await?;
        tx.commit().await?;
        self.run(run).await
    }

    /// A run with its tally.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchRun`], or when the record cannot be read.
    pub async fn run(&self, run: &RunId) -> Result<Run> {
        let found = match self.selected(ONE, text(&run.0)).await?.pop() {
            Some(found) => Some(found),
            None => match self.other() {
                Some(other) => other.selected(ONE, text(&run.0)).await?.pop(),
                None => None,
            },
        };
        found.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))
    }

    /// The latest runs, newest first.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn runs(&self, n: usize) -> Result<Vec<Run>> {
        self.latest(LATEST, n).await
    }

    async fn latest(&self, which: &str, n: usize) -> Result<Vec<Run>> {
        let mut runs = self.selected(which, limit(n)).await?;
        if let Some(other) = self.other() {
            runs.extend(other.selected(which, limit(n)).await?);
            runs.sort_by(|a, b| (b.intent.frozen_at, &b.id).cmp(&(a.intent.frozen_at, &a.id)));
            runs.truncate(n);
        }
        Ok(runs)
    }

    /// The latest `n` runs that were confirmed, newest first: without plans that were only looked at, or left at the question.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn confirmed_runs(&self, n: usize) -> Result<Vec<Run>> {
        self.latest(CONFIRMED, n).await
    }

    /// What became of a run's jobs so far; the parts add up to what was planned.
    ///
    /// # Errors
    /// As [`Ledger::run`].
    pub async fn tally(&self, run: &RunId) -> Result<RunTally> {
        Ok(self.run(run).await?.tally)
    }

    /// What a run of this record was planned for: without its tally, which counts every job of a run that was cut off.
    pub(super) async fn intent(&self, run: &RunId) -> Result<RunIntent> {
        let head = format!("SELECT {HEAD}, 0 FROM {{runs}} AS r WHERE r.id = ?1");
        let found = self.home.fetch(&head, [text(&run.0)]).await?.pop();
        let row = found.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
        Ok(RunRow::decode(&mut RowCells::of(row))?.intent)
    }

    /// Runs that a statement selects by their key, newest first, with their sums, as of one moment.
    async fn selected(&self, which: &str, value: Bind) -> Result<Vec<Run>> {
        let say = |sql: String| self.home.say(&sql, [value.clone()]);
        // Who executed it is gone: whoever wants can go on with it.
        let left = match self.home.shared() {
            Some(_) => "r.state = 'running' AND (r.held_until IS NULL OR r.held_until < {now})",
            None => "1 = 0",
        };
        let heads = format!(
            "SELECT {HEAD}, CASE WHEN {left} THEN 1 ELSE 0 END FROM ({which}) AS chosen {{join}} {{runs}} AS r ON r.seq = chosen.seq ORDER BY r.seq DESC"
        );
        let statements = [say(heads), say(tally::kept_of(which)), say(tally::counted_of(which))];
        let mut results = self.home.read(&statements).await?.into_iter();
        let heads = results.next().unwrap_or_default();
        let mut sums: HashMap<i64, RunTally> = HashMap::new();
        for row in results.flatten() {
            let mut cells = RowCells::of(row);
            tally::add(sums.entry(cells.int()?).or_default(), &mut cells)?;
        }
        let place = if self.is_shared() { LedgerLocation::Source } else { LedgerLocation::Local };
        let run = |row| RunRow::decode(&mut RowCells::of(row)).map(|head| head.with(&mut sums, place));
        heads.into_iter().map(run).collect()
    }
}

/// As [`in_state`], for whoever holds the run and goes on with it.
pub(super) async fn at_work(
    tx: &mut LedgerTx<'_>,
    run: &RunId,
    allowed: &[RunState],
    asked: &'static str,
) -> Result<i64> {
    let seq = in_state(tx, run, allowed, asked).await?;
    renew(tx, run).await?;
    Ok(seq)
}

/// The run's key, if its state is one of `allowed`.
pub(super) async fn in_state(
    tx: &mut LedgerTx<'_>,
    run: &RunId,
    allowed: &[RunState],
    asked: &'static str,
) -> Result<i64> {
    let row = tx.first("SELECT seq, state FROM {runs} WHERE id = ?1{lock}", [text(&run.0)]).await?;
    let mut row = row.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
    let (seq, word) = (row.int()?, row.text()?);
    if !allowed.iter().any(|state| state.word() == word) {
        return Err(LedgerError::WrongState { run: run.0.clone(), state: word, asked });
    }
    Ok(seq)
}

/// A row of `runs`.
struct RunRow {
    seq: i64,
    id: RunId,
    intent: RunIntent,
    state: RunState,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    planned: u64,
    /// Running, and nobody executes it.
    is_left: bool,
}

impl RunRow {
    fn decode(row: &mut RowCells) -> Result<Self> {
        let unknown = |word: &str| LedgerError::Refused(format!("`{word}` is of a later version"));
        let (seq, id, action) = (row.int()?, RunId(row.text()?), row.text()?);
        let intent = RunIntent {
            action: Action::from_word(&action).ok_or_else(|| unknown(&action))?,
            source: row.text()?,
            store: row.text()?,
            filter: row.text()?,
            resolved: row.text()?,
            reason: row.maybe_text()?,
            operator: operator(row)?,
            options: Options::default(),
            database: None,
            destination: None,
            frozen_at: Timestamp(0),
        };
        let kept = row.maybe_text()?;
        let (database, destination) =
            (stored_member(kept.as_deref(), DATABASE), stored_member(kept.as_deref(), DESTINATION));
        let frozen_at = Timestamp(row.int()?);
        let intent = RunIntent { options: options(kept)?, database, destination, frozen_at, ..intent };
        let state = row.text()?;
        Ok(Self {
            seq,
            id,
            intent,
            state: RunState::from_word(&state).ok_or_else(|| unknown(&state))?,
            started_at: row.maybe_int()?.map(Timestamp),
            ended_at: row.maybe_int()?.map(Timestamp),
            planned: row.count()?,
            is_left: row.int()? == 1,
        })
    }

    fn with(self, sums: &mut HashMap<i64, RunTally>, place: LedgerLocation) -> Run {
        let Self { seq, id, intent, state, started_at, ended_at, planned, is_left } = self;
        let tally = match state {
            RunState::Planned | RunState::Dismissed => {
                RunTally { planned, not_started: planned, ..RunTally::default() }
            }
            _ => sums.remove(&seq).map(tally::shortened).unwrap_or_default(),
        };
        let state = if is_left { RunState::Stopped } else { state };
        Run { id, place, intent, state, started_at, ended_at, tally }
    }
}

/// Why the options of a run cannot be read: the reader's own words name our types.
const UNREADABLE: &str = "the options of a run cannot be read (did a newer version write them?)";

/// The options of a run as they are kept; runs of earlier versions have none.
pub(super) fn options(kept: Option<String>) -> Result<Options> {
    match kept {
        Some(text) => serde_json::from_str(&text).map_err(|_| LedgerError::Refused(UNREADABLE.to_owned())),
        None => Ok(Options::default()),
    }
}

/// The text that is kept of what was asked for, with the database and the destination beside it: one object.
pub(super) fn stored_intent(intent: &RunIntent) -> Result<String> {
    let refused = |_: serde_json::Error| LedgerError::Refused("what was asked for cannot be written down".to_owned());
    let mut kept = serde_json::to_value(&intent.options).map_err(refused)?;
    if let Some(members) = kept.as_object_mut() {
        if let Some(database) = &intent.database {
            members.insert(DATABASE.to_owned(), serde_json::to_value(database).map_err(refused)?);
        }
        if let Some(destination) = &intent.destination {
            members.insert(DESTINATION.to_owned(), serde_json::to_value(destination).map_err(refused)?);
        }
    }
    Ok(kept.to_string())
}

/// The members of what is kept that tell the database and the destination; no option is called that.
const DATABASE: &str = "database";
const DESTINATION: &str = "destination";

/// What is kept beside the options under a name.
fn stored_member<T: DeserializeOwned>(kept: Option<&str>, name: &str) -> Option<T> {
    let mut kept: serde_json::Value = serde_json::from_str(kept?).ok()?;
    serde_json::from_value(kept.get_mut(name)?.take()).ok()
}

/// Who acted: the four columns of `runs`, in this order.
pub(super) fn operator(row: &mut RowCells) -> Result<Operator> {
    Ok(Operator { user: row.text()?, database_user: row.text()?, host: row.text()?, ssh_client: row.maybe_text()? })
}
