//! Runs: led from state to state, and read back.

mod id;
mod lock;
mod row;
pub(super) mod tally;
mod transitions;

use std::collections::HashMap;

pub use lock::{RunLock, RunLocks};
use row::{HEAD, RunRow};
pub(super) use row::{operator, options};
pub(super) use transitions::at_work;

use super::backend::{Backend, RowCells, limit, text};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::history::of_source;
use super::model::{LedgerLocation, Run, RunId, RunIntent, RunTally};
use crate::db::Bind;

/// The run of an id.
const ONE: &str = "SELECT seq FROM {runs} WHERE id = ?1";
/// The latest runs.
const LATEST: &str = "SELECT seq FROM {runs} ORDER BY seq DESC LIMIT ?1";
/// The latest runs that were confirmed.
const CONFIRMED: &str = "SELECT seq FROM {runs} WHERE state NOT IN ('freezing', 'planned', 'dismissed') \
     ORDER BY seq DESC LIMIT ?1";

/// Runs, whatever state they are in.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    pub(in crate::ledger) ledger: &'a Ledger,
}

impl Runs<'_> {
    /// A run with its tally.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchRun`], or when the record cannot be read.
    pub async fn get(self, run: &RunId) -> Result<Run> {
        for home in self.ledger.backends() {
            if let Some(found) = selected(home, ONE, text(&run.0)).await?.pop() {
                return Ok(found);
            }
        }
        Err(LedgerError::NoSuchRun(run.0.clone()))
    }

    /// The latest runs, newest first.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn latest(self, n: usize) -> Result<Vec<Run>> {
        self.list(LATEST, n).await
    }

    async fn list(self, which: &str, n: usize) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for home in self.ledger.backends() {
            runs.extend(selected(home, which, limit(n)).await?);
        }
        if self.ledger.beside.is_some() {
            runs.sort_by(|a, b| (b.intent.frozen_at, &b.id).cmp(&(a.intent.frozen_at, &a.id)));
            runs.truncate(n);
        }
        Ok(runs)
    }

    /// The latest `n` runs that were confirmed, newest first: without plans that were only looked at, or left at the question.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn latest_confirmed(self, n: usize) -> Result<Vec<Run>> {
        self.list(CONFIRMED, n).await
    }

    /// The last replay of a store that was started.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn last_replay(self, source: &str, store: &str) -> Result<Option<RunId>> {
        let mut last: Option<(i64, RunId)> = None;
        for home in self.ledger.backends() {
            let sql = format!(
                "SELECT started_at, id FROM {{runs}} WHERE action = 'replay' AND {} AND store = ?2 \
                 AND started_at IS NOT NULL ORDER BY seq DESC LIMIT 1",
                of_source(home, "source", "?1")
            );
            for row in home.fetch(&sql, [text(source), text(store)]).await? {
                let mut row = RowCells::of(row);
                let found = (row.int()?, RunId(row.text()?));
                last = last.max(Some(found));
            }
        }
        Ok(last.map(|(_, run)| run))
    }

    /// What became of a run's jobs so far; the parts add up to what was planned.
    ///
    /// # Errors
    /// As [`Runs::get`].
    pub async fn tally(self, run: &RunId) -> Result<RunTally> {
        Ok(self.get(run).await?.tally)
    }

    /// What a run of this record was planned for: without its tally, which counts every job of a run that was cut off.
    pub(in crate::ledger) async fn intent(self, run: &RunId) -> Result<RunIntent> {
        let head = format!("SELECT {HEAD}, 0 FROM {{runs}} AS r WHERE r.id = ?1");
        let found = self.ledger.home.fetch(&head, [text(&run.0)]).await?.pop();
        let row = found.ok_or_else(|| LedgerError::NoSuchRun(run.0.clone()))?;
        Ok(RunRow::decode(&mut RowCells::of(row))?.intent)
    }
}

/// Runs that a statement selects by their key, newest first, with their sums, as of one moment.
async fn selected(home: &Backend, which: &str, value: Bind) -> Result<Vec<Run>> {
    let say = |sql: String| home.say(&sql, [value.clone()]);
    // Who executed it is gone: whoever wants can go on with it.
    let left = match home.shared() {
        Some(_) => "r.state = 'running' AND (r.held_until IS NULL OR r.held_until < {now})",
        None => "1 = 0",
    };
    let heads = format!(
        "SELECT {HEAD}, CASE WHEN {left} THEN 1 ELSE 0 END FROM ({which}) AS chosen {{join}} {{runs}} AS r ON r.seq = chosen.seq ORDER BY r.seq DESC"
    );
    let statements = [say(heads), say(tally::kept_of(which)), say(tally::counted_of(which))];
    let mut results = home.read(&statements).await?.into_iter();
    let heads = results.next().unwrap_or_default();
    let mut sums: HashMap<i64, RunTally> = HashMap::new();
    for row in results.flatten() {
        let mut cells = RowCells::of(row);
        tally::add(sums.entry(cells.int()?).or_default(), &mut cells)?;
    }
    let place = if home.shared().is_some() { LedgerLocation::Source } else { LedgerLocation::Local };
    let run = |row| RunRow::decode(&mut RowCells::of(row)).map(|head| head.with(&mut sums, place));
    heads.into_iter().map(run).collect()
}
