//! What the record knows of a job: which runs acted on it, and what is left of that.

mod later_runs;
mod replay_counts;
mod scope;

use std::collections::HashSet;

pub use replay_counts::{KnownJob, known};
pub(super) use scope::{of_database, of_source};

use super::backend::{Backend, RowCells, int, maybe, text, texts};
use super::cohort::{outcome, replay_outcome};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::{HistoryEntry, Outcome, RunId};
use super::runs::operator;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::outcome::ReplayOutcome;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// Runs of one job that are shown.
const HISTORY: i64 = 200;

/// What runs did to jobs, in every record.
#[derive(Clone, Copy, Debug)]
pub struct JobHistory<'a> {
    pub(super) ledger: &'a Ledger,
}

impl JobHistory<'_> {
    /// Those of these jobs that an earlier undo of `undone` had, other than the run that asks.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn undone_before(self, undone: &RunId, asking: &RunId, ids: &[JobId]) -> Result<HashSet<JobId>> {
        let sql = "SELECT j.job_id FROM {run_jobs} AS j JOIN {runs} AS r ON r.seq = j.run WHERE j.job_id {among ?1} \
                   AND {all_known ?1} AND j.batch IS NOT NULL AND j.outcome = 'done' AND r.options LIKE ?2 AND r.id <> ?3";
        // Ids of runs have no sign that means anything to LIKE.
        let named = format!("%\"undoes\":\"{undone}\"%");
        let binds = || [texts(ids.iter().map(JobId::as_str)), text(named.as_str()), text(&asking.0)];
        let mut rows = Vec::new();
        for home in self.ledger.backends() {
            rows.extend(home.fetch(sql, binds()).await?);
        }
        rows.into_iter().map(|row| RowCells::of(row).text().map(JobId::new)).collect()
    }

    /// What is on record of one job of a store, latest first: of its row, and of its replays under other rows and ids;
    /// not of another job that had its id before it.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn of_job(self, source: &str, store: &str, job: &KnownJob) -> Result<Vec<HistoryEntry>> {
        let mut history = Vec::new();
        for home in self.ledger.backends() {
            history.extend(history_in(home, source, store, job).await?);
        }
        if self.ledger.beside.is_some() {
            history.sort_by(|a, b| b.run.cmp(&a.run));
        }
        Ok(history)
    }
}

async fn history_in(home: &Backend, source: &str, store: &str, (id, lineage): &KnownJob) -> Result<Vec<HistoryEntry>> {
    let past = |condition: &str| {
        format!("SELECT run, batch, outcome, reason, replay_outcome, replay_error FROM {{run_jobs}} WHERE {condition}")
    };
    let sql = format!(
        "SELECT r.id, r.action, coalesce(b.ended_at, b.begun_at), r.os_user, r.database_user, r.host, r.ssh_client, \
         r.reason, j.outcome, j.reason, j.replay_outcome, j.replay_error FROM ({} UNION {} UNION {}) AS j JOIN {{runs}} AS r ON r.seq = j.run \
         JOIN {{batches}} AS b ON b.run = j.run AND b.no = j.batch \
         WHERE {} AND r.store = ?3 ORDER BY r.seq DESC LIMIT ?4",
        past("{known ?1} AND job_id = ?1 AND batch IS NOT NULL AND coalesce(lineage = ?5, 1 = 1)"),
        past("{known ?5} AND lineage = ?5 AND lineage IS NOT NULL AND outcome = 'done'"),
        past("{known ?5} AND successor = ?5 AND successor IS NOT NULL AND outcome = 'done'"),
        of_source(home, "r.source", "?2"),
    );
    let binds = [text(id.as_str()), text(source), text(store), int(HISTORY), maybe(lineage.as_deref())];
    let rows = home.fetch(&sql, binds);
    rows.await?.into_iter().map(|row| entry(&mut RowCells::of(row))).collect()
}

fn entry(row: &mut RowCells) -> Result<HistoryEntry> {
    let (run, action) = (RunId(row.text()?), row.text()?);
    let unknown = || LedgerError::Refused(format!("`{action}` is of a later version"));
    let action = Action::from_word(&action).ok_or_else(unknown)?;
    let (at, operator, reason) = (Timestamp(row.int()?), operator(row)?, row.maybe_text()?);
    let outcome = outcome(row.maybe_text()?.as_deref(), row.maybe_text()?);
    let replay = replay_outcome(row)?;
    Ok(HistoryEntry { run, action, at, operator, reason, outcome: outcome_text(action, &outcome, replay.as_ref()) })
}

/// An outcome in one line: `done`, `skipped: …`, `failed: …` or `in doubt`; of a replayed job also what was last seen of it,
/// `replayed: died again, KeyError`.
fn outcome_text(action: Action, outcome: &Outcome, replay: Option<&ReplayOutcome>) -> Untrusted {
    Untrusted::new(match outcome {
        Outcome::Done(_) if action == Action::Replay => {
            let told = replay.map(|replay| format!(": {}", replay.summary())).unwrap_or_default();
            format!("{}{told}", action.done_word())
        }
        Outcome::Done(None) => "done".to_owned(),
        Outcome::Done(Some(note)) => format!("done: {}", note.exact()),
        Outcome::Skipped(reason) => format!("skipped: {}", reason.exact()),
        Outcome::Failed(reason) => format!("failed: {}", reason.exact()),
        Outcome::InDoubt => "in doubt".to_owned(),
    })
}
