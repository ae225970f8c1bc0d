//! The sums of a run, read so that they cannot fail to add up: `planned` is made of the parts, never beside them.

use crate::domain::action::{JobResult, NOT_ACCEPTED, SkipReason};
use crate::domain::text::Untrusted;
use crate::ledger::backend::{LedgerTx, RowCells, int};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::RunTally;

/// Words of the column `outcome`.
pub(in crate::ledger) const DONE: &str = "done";
pub(in crate::ledger) const SKIPPED: &str = "skipped";
pub(in crate::ledger) const FAILED: &str = "failed";
/// Words for what has no outcome, in kept sums only.
const IN_DOUBT: &str = "in doubt";
const NOT_STARTED: &str = "not started";

/// Reasons that are told apart in a receipt; the rarest are summed up.
const REASONS: usize = 20;
/// Characters of a reason by which it is told from another; the same number stands in the statement below.
const REASON_HEAD: usize = 120;
/// What the rest of the reasons is called.
const OTHER_REASONS: &str = "other reasons";

/// Counts the jobs of a run whose execution ends, and keeps the sums.
pub(in crate::ledger) async fn keep(tx: &mut LedgerTx<'_>, run: i64) -> Result<RunTally> {
    forget(tx, run).await?;
    let counted = counted("WHERE j.run = ?1", "");
    let keep = format!(
        "INSERT INTO {{run_tallies}} (run, outcome, reason, n) \
         SELECT ?1, s.outcome, s.reason, s.n FROM ({counted}) AS s"
    );
    tx.execute(&keep, [int(run)]).await?;
    let mut tally = RunTally::default();
    for row in tx.fetch("SELECT outcome, reason, n FROM {run_tallies} WHERE run = ?1", [int(run)]).await? {
        add(&mut tally, &mut RowCells::of(row))?;
    }
    Ok(tally)
}

/// Drops the kept sums of a run that is executed again.
pub(in crate::ledger) async fn forget(tx: &mut LedgerTx<'_>, run: i64) -> Result<()> {
    tx.execute("DELETE FROM {run_tallies} WHERE run = ?1", [int(run)]).await.map(drop)
}

/// The kept sums of the runs that `which` selects by their key, each led by that.
pub(in crate::ledger) fn kept_of(which: &str) -> String {
    format!(
        "SELECT t.run, t.outcome, t.reason, t.n FROM ({which}) AS chosen {{join}} {{runs}} AS r ON r.seq = chosen.seq \
         AND r.state IN ('stopped', 'finished') {{join}} {{run_tallies}} AS t ON t.run = r.seq ORDER BY t.n DESC, t.reason"
    )
}

/// The jobs, counted, of those runs that `which` selects by their key and that are not at rest, each led by that.
pub(in crate::ledger) fn counted_of(which: &str) -> String {
    let open = format!(
        "FROM ({which}) AS chosen {{join}} {{runs}} AS r ON r.seq = chosen.seq AND r.state IN ('freezing', 'running') \
         {{join}} {{run_jobs}} AS j ON j.run = r.seq"
    );
    format!("{} ORDER BY 4 DESC, 3", counted(&open, "j.run, "))
}

/// Failures are told apart by the first words of their reason; how a done job was found done is no part of the sums.
fn counted(which: &str, lead: &str) -> String {
    let from = if lead.is_empty() { "FROM {run_jobs} AS j " } else { "" };
    let by = if lead.is_empty() { "1, 2" } else { "1, 2, 3" };
    format!(
        "SELECT {lead}CASE WHEN j.batch IS NULL THEN 'not started' ELSE coalesce(j.outcome, 'in doubt') END AS outcome, \
         CASE WHEN j.outcome IN ('skipped', 'failed') THEN substr(coalesce(j.reason, ''), 1, 120) ELSE '' END AS reason, \
         count(*) AS n {from}{which} GROUP BY {by}"
    )
}

/// Adds a row of outcome, reason and number.
pub(in crate::ledger) fn add(tally: &mut RunTally, row: &mut RowCells) -> Result<()> {
    let (outcome, reason, n) = (row.text()?, row.text()?, row.count()?);
    tally.planned += n;
    match outcome.as_str() {
        DONE => tally.done += n,
        SKIPPED => tally.skipped.push((reason, n)),
        FAILED => tally.failed.push((Untrusted::new(reason), n)),
        NOT_STARTED => tally.not_started += n,
        IN_DOUBT => tally.in_doubt += n,
        other => return Err(LedgerError::Refused(format!("`{other}` is of a later version"))),
    }
    Ok(())
}

/// Sums with all but the most frequent reasons of failures in one.
pub(in crate::ledger) fn shortened(mut tally: RunTally) -> RunTally {
    shorten(&mut tally.failed);
    shorten_skipped(&mut tally.skipped);
    tally
}

impl RunTally {
    /// Counts jobs that were not started as in doubt: a batch has named them.
    pub fn begin(&mut self, jobs: u64) {
        let jobs = jobs.min(self.not_started);
        self.not_started -= jobs;
        self.in_doubt += jobs;
    }

    /// Counts jobs in doubt as not started: their batch was taken back.
    pub fn release(&mut self, jobs: u64) {
        let jobs = jobs.min(self.in_doubt);
        self.in_doubt -= jobs;
        self.not_started += jobs;
    }

    /// Counts skipped jobs as in doubt: they are tried once more.
    pub fn begin_again(&mut self, reason: &SkipReason, jobs: u64) {
        if let Some((_, n)) = self.skipped.iter_mut().find(|(word, _)| word == reason.word()) {
            let jobs = jobs.min(*n);
            *n -= jobs;
            self.in_doubt += jobs;
        }
        self.skipped.retain(|(_, n)| *n > 0);
    }

    /// Counts a job in doubt by what became of it.
    pub fn resolve_doubt(&mut self, result: &JobResult) {
        if self.in_doubt == 0 {
            return;
        }
        self.in_doubt -= 1;
        match result {
            JobResult::Done => self.done += 1,
            JobResult::Skipped(reason) => {
                match self.skipped.iter_mut().find(|(word, _)| word == reason.word()) {
                    Some((_, n)) => *n += 1,
                    None => self.skipped.push((reason.word().to_owned(), 1)),
                }
                shorten_skipped(&mut self.skipped);
            }
            JobResult::Failed(reason) => {
                let head: String = reason.exact().chars().take(REASON_HEAD).collect();
                match self.failed.iter_mut().find(|(known, _)| known.exact() == head) {
                    Some((_, n)) => *n += 1,
                    None => self.failed.push((Untrusted::new(head), 1)),
                }
                shorten(&mut self.failed);
            }
        }
    }
}

/// Sums up all but the most frequent reasons of a validator; the others are few.
fn shorten_skipped(reasons: &mut Vec<(String, u64)>) {
    if reasons.len() > REASONS {
        let (mut judged, others): (Vec<_>, Vec<_>) =
            reasons.drain(..).partition(|(reason, _)| reason.starts_with(NOT_ACCEPTED));
        judged.sort_by(|(_, a), (_, b)| b.cmp(a));
        let rest = judged.split_off(judged.len().min(REASONS - others.len().min(REASONS) - 1));
        *reasons = others.into_iter().chain(judged).collect();
        reasons.push((format!("{NOT_ACCEPTED}: {OTHER_REASONS}"), rest.iter().map(|(_, n)| n).sum()));
    }
}

/// Sums up all but the most frequent reasons.
fn shorten(reasons: &mut Vec<(Untrusted, u64)>) {
    reasons.sort_by(|(_, a), (_, b)| b.cmp(a));
    if reasons.len() > REASONS {
        let rest = reasons.split_off(REASONS - 1).iter().map(|(_, n)| n).sum();
        reasons.push((Untrusted::from(OTHER_REASONS), rest));
    }
}
