//! The sums of a run, read so that they cannot fail to add up: `planned` is made of the parts, never beside them.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::model::{RunState, Tally};
use crate::domain::action::{JobResult, NOT_ACCEPTED, SkipReason};
use crate::domain::text::Untrusted;

/// Words of the column `outcome`.
pub(super) const DONE: &str = "done";
pub(super) const SKIPPED: &str = "skipped";
pub(super) const FAILED: &str = "failed";
/// Words for what has no outcome, in kept sums only.
const IN_DOUBT: &str = "in doubt";
const NOT_STARTED: &str = "not started";

/// Reasons that are told apart in a receipt; the rarest are summed up.
const REASONS: usize = 20;
/// Characters of a reason by which it is told from another; the same number stands in the statement below.
const REASON_HEAD: usize = 120;
/// What the rest of the reasons is called.
const OTHER_REASONS: &str = "other reasons";

/// The sums of a run, counted or as they were kept when its execution ended.
pub(super) async fn of(tx: &mut SqliteConnection, run: i64, state: RunState, planned: u64) -> sqlx::Result<Tally> {
    match state {
        RunState::Planned | RunState::Dismissed => Ok(Tally { planned, not_started: planned, ..Tally::default() }),
        RunState::Freezing | RunState::Running => count(tx, run).await,
        RunState::Stopped | RunState::Finished => {
            sum(tx, "SELECT outcome, reason, n FROM run_tallies WHERE run = ? ORDER BY n DESC, reason", run).await
        }
    }
}

/// Counts the jobs of a run.
pub(super) async fn count(tx: &mut SqliteConnection, run: i64) -> sqlx::Result<Tally> {
    sum(tx, COUNT, run).await
}

/// Keeps the sums of a run whose execution ends.
pub(super) async fn keep(tx: &mut SqliteConnection, run: i64) -> sqlx::Result<()> {
    forget(tx, run).await?;
    sqlx::query(KEEP).bind(run).execute(tx).await?;
    Ok(())
}

/// Drops the kept sums of a run that is executed again.
pub(super) async fn forget(tx: &mut SqliteConnection, run: i64) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM run_tallies WHERE run = ?").bind(run).execute(tx).await?;
    Ok(())
}

/// Failures are told apart by the first words of their reason; how a done job was found done is no part of the sums.
macro_rules! counted {
    ($run:literal) => {
        concat!(
            "SELECT CASE WHEN batch IS NULL THEN 'not started' ELSE coalesce(outcome, 'in doubt') END AS outcome, ",
            "CASE WHEN outcome IN ('skipped', 'failed') THEN substr(coalesce(reason, ''), 1, 120) ELSE '' END AS reason, ",
            "count(*) AS n FROM run_jobs WHERE run = ",
            $run,
            " GROUP BY 1, 2"
        )
    };
}

const COUNT: &str = concat!(counted!("?"), " ORDER BY 3 DESC, 2");
const KEEP: &str = concat!(
    "INSERT INTO run_tallies (run, outcome, reason, n) SELECT ?1, outcome, reason, n FROM (",
    counted!("?1"),
    ")"
);

async fn sum(tx: &mut SqliteConnection, sql: &'static str, run: i64) -> sqlx::Result<Tally> {
    let mut tally = Tally::default();
    for row in sqlx::query(sql).bind(run).fetch_all(tx).await? {
        let outcome: String = row.try_get("outcome")?;
        let reason: String = row.try_get("reason")?;
        let n = u64::try_from(row.try_get::<i64, _>("n")?).unwrap_or_default();
        tally.planned += n;
        match outcome.as_str() {
            DONE => tally.done += n,
            SKIPPED => tally.skipped.push((reason, n)),
            FAILED => tally.failed.push((Untrusted::new(reason), n)),
            NOT_STARTED => tally.not_started += n,
            IN_DOUBT => tally.in_doubt += n,
            other => return Err(sqlx::Error::Decode(format!("`{other}` is of a later version").into())),
        }
    }
    shorten(&mut tally.failed);
    shorten_skipped(&mut tally.skipped);
    Ok(tally)
}

impl Tally {
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
    pub fn settle(&mut self, result: &JobResult) {
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
