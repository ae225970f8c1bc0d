//! How many jobs a replay puts back before it is stopped by its outcomes, while workers fail a part of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::rollout::Rollout;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunState};
use dlq_tui::store::Store;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::bench::Bench;
use crate::fixtures::Layout;
use crate::ground::open_store;
use crate::replay::{desk, planned};
use crate::steps::filter;
use crate::table::{Line, Table};

/// The share of the jobs that die again, in percent, and the limit.
const FAILING: u32 = 30;
const LIMIT: f64 = 0.05;
/// Jobs that the workers finish at a time, and the time between two.
const AT_A_TIME: u32 = 100;
const ROUND: Duration = Duration::from_millis(50);
/// The most jobs that a replay with a canary may put back of a hundred thousand.
const WITH_CANARY: u64 = 100;

/// What one replay came to.
struct Outcome {
    planned: u64,
    put_back: u64,
    took: Duration,
    is_stopped: bool,
}

/// Replays the same jobs with and without the rule, each time beside workers that fail some of them.
pub async fn measure(bench: &Bench<'_>) -> Result<Table, String> {
    if !bench.is_postgres() {
        return Err("left out: the workers here are PostgreSQL's".to_owned());
    }
    let jobs = if bench.small { 3_000 } else { 200_000 };
    let db = bench.ground.empty("rollout").await.ok_or("left out: there is no server")?;
    Layout::DlqEvents.seed(&db, jobs).await;
    let dead =
        db.column("select id from dlq_events where status = 'FAILED_PERMANENTLY' order by id limit 100000").await;
    let last = dead.last().ok_or("left out: no job is dead")?;
    db.execute(&format!("delete from dlq_events where id > {last} or status <> 'FAILED_PERMANENTLY'; analyze")).await;
    let rule = |canary, ramp| Rollout::new(canary, Some(LIMIT), ramp, Some(Duration::from_secs(30)));
    let mut outcomes = Vec::new();
    for (what, rule) in [
        ("without a rule", None),
        ("`--stop-above 5%`", rule(None, false)),
        ("`--stop-above 5% --ramp`", rule(None, true)),
        ("`--canary 20 --ramp`", rule(Some(20), true)),
    ] {
        outcomes.push((what, replay(bench, &db.url, rule).await));
        db.execute("update dlq_events set status = 'FAILED_PERMANENTLY'").await;
        db.execute("vacuum analyze dlq_events").await;
    }
    bench.ground.remove(db);
    Ok(report(&outcomes))
}

async fn replay(bench: &Bench<'_>, url: &str, rollout: Option<Rollout>) -> Outcome {
    let store = Arc::new(open_store(url, Layout::DlqEvents, &bench.budget).await) as Arc<dyn Store>;
    let desk = desk(store);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let options = Options { rollout, ..Options::default() };
    let ask = Ask { options, ..Ask::new(ActionScope::Filter(filter("")), Action::Replay, Timestamp::now()) };
    let plan = freeze(&desk, &ledger, ask, &bench.budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let workers = tokio::spawn(work(url.to_owned()));
    let (progress, _watching) = tokio::sync::watch::channel(planned(&plan));
    let began = Instant::now();
    let receipt = execute(&desk, &ledger, &plan.run, RunOptions::default(), &RunControl::new(), &progress).await;
    let receipt = receipt.unwrap_or_else(|e| panic!("{e}"));
    workers.abort();
    ledger.close().await;
    Outcome {
        planned: plan.count,
        put_back: receipt.run.tally.done,
        took: began.elapsed(),
        is_stopped: receipt.run.state == RunState::Stopped,
    }
}

/// Workers that end some jobs at a time, of which a part dies again.
async fn work(url: String) {
    let mut connection = PgConnection::connect(&url).await.unwrap_or_else(|e| panic!("{e}"));
    let end = format!("case when id * 7919 / 64 % 100 < {FAILING} then 'FAILED_PERMANENTLY' else 'SUCCEEDED' end");
    let round = format!(
        "update dlq_events set status = {end} where id in (select id from dlq_events where status = 'PENDING' \
         order by id limit {AT_A_TIME} for update skip locked)"
    );
    loop {
        connection.execute(AssertSqlSafe(round.clone())).await.unwrap_or_else(|e| panic!("{e}"));
        tokio::time::sleep(ROUND).await;
    }
}

fn report(outcomes: &[(&str, Outcome)]) -> Table {
    let planned = outcomes.first().map_or(0, |(_, outcome)| outcome.planned);
    let everything = outcomes.first().map_or(0, |(_, outcome)| outcome.put_back);
    let mut table = Table::new(format!(
        "Jobs put back of a replay of {planned}, {FAILING} % of which die again; baseline: without an automatic stop"
    ));
    for (what, outcome) in outcomes {
        let end = if outcome.is_stopped { "stopped" } else { "ended" };
        let line =
            Line::new(*what, format!("{} jobs, {end} after {:.1} s", outcome.put_back, outcome.took.as_secs_f64()));
        let share = 100.0 * outcome.put_back as f64 / everything.max(1) as f64;
        let line = line.against(format!("{everything} jobs"), format!("{share:.1} %"));
        table.add(match what.contains("canary") {
            true => line.aim(format!("at most {WITH_CANARY} jobs"), outcome.put_back <= WITH_CANARY),
            false => line,
        });
    }
    table
}
