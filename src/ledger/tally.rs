//! The sums of a run, read so that they cannot fail to add up: `planned` is made of the parts, never beside them.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::model::{RunState, Tally};
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
    Ok(tally)
}

/// Sums up all but the most frequent reasons.
fn shorten(reasons: &mut Vec<(Untrusted, u64)>) {
    if reasons.len() > REASONS {
        let rest = reasons.split_off(REASONS - 1).iter().map(|(_, n)| n).sum();
        reasons.push((Untrusted::from(OTHER_REASONS), rest));
    }
}
