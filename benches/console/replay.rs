//! A replay end to end, ledger included, against the same move as one statement and as the loop of a script.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, Operator, RunState, RunTally};
use dlq_tui::store::{Budget, Store};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};
use dlq_tui::triage::progress::RunProgress;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::bench::Bench;
use crate::client::Client;
use crate::cohort::{Slice, Slices};
use crate::ground::open_store;
use crate::moves::RowByRow;
use crate::one_by_one::{OneByOne, by_program, by_script};
use crate::sample::{Sample, median, ratio, times, told};
use crate::steps::filter;
use crate::stopwatch::{Laps, Stopwatch};
use crate::table::{Line, Table};
use crate::writers::Writers;

/// How long inserts are watched when nothing is replayed.
const QUIET: Duration = Duration::from_secs(3);
/// Jobs that die in a second while others are replayed.
const RATE: u32 = 100;
/// Rows that go one by one: some seconds, as the run takes.
const ONE_BY_ONE: u64 = 10_000;
/// How long a transaction of ours may take, but for one in a hundred.
const TRANSACTION: Duration = Duration::from_millis(100);

/// What one replay showed.
#[derive(Debug, Default)]
struct Outcome {
    jobs: u64,
    freeze: Duration,
    total: Duration,
    laps: Laps,
    inserts: Sample,
}

impl Outcome {
    fn rate(&self) -> f64 {
        self.jobs as f64 / self.total.as_secs_f64().max(1e-9)
    }

    fn run_rate(&self) -> f64 {
        self.jobs as f64 / (self.total - self.freeze).as_secs_f64().max(1e-9)
    }
}

/// Replays slices of the table either way, in turns, so that a noisy minute hits both.
pub async fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    let (wanted, runs) = if bench.small { (500, 1) } else { (100_000.min(u64::from(bench.rows / 100)), 5) };
    let few = ONE_BY_ONE.min(u64::from(bench.rows / 200));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut alone = OneByOne::default();
    for _ in 0..runs {
        theirs.push(by_hand(bench, copy, slices.take(wanted, true)?).await);
        ours.push(through_triage(bench, copy, slices.take(wanted, true)?).await);
        let slice = slices.take(few, true)?;
        alone.scripted.push(one_by_one(bench, copy, slice, by_script));
        let slice = slices.take(few, true)?;
        alone.programmed.push(one_by_one(bench, copy, slice, by_program));
    }
    let quiet = match bench.is_postgres() {
        true => {
            let writers = Writers::start(copy, bench.baseline(), RATE);
            tokio::time::sleep(QUIET).await;
            writers.stop()
        }
        false => Sample::default(),
    };
    Ok(report(&ours, &theirs, &alone, &quiet))
}

fn report(ours: &[Outcome], theirs: &[Outcome], alone: &OneByOne, quiet: &Sample) -> Table {
    let jobs = ours.first().map_or(0, |outcome| outcome.jobs);
    let mut table = Table::new(format!(
        "7. Replay of {jobs} jobs with the ledger, on disk; baseline: the same move in one transaction of plain SQL"
    ));
    let rate = |outcomes: &[Outcome], of: fn(&Outcome) -> f64| median(outcomes.iter().map(of));
    let told_rates = |outcomes: &[Outcome], of: fn(&Outcome) -> f64| {
        let each: Vec<String> = outcomes.iter().map(|outcome| format!("{:.0}", of(outcome))).collect();
        format!("{:.0} rows/s ({})", rate(outcomes, of), each.join(", "))
    };
    let whole = rate(theirs, Outcome::rate);
    let freeze: Sample = ours.iter().map(|outcome| outcome.freeze).collect();
    let total: Sample = ours.iter().map(|outcome| outcome.total).collect();
    let because = format!("{} in all, of which freeze and plan {}", total.told(), freeze.told());
    let line = |what: &str, of: fn(&Outcome) -> f64| {
        let line = Line::new(what, told_rates(ours, of));
        line.against(told_rates(theirs, Outcome::rate), times(rate(ours, of), whole)).because(&*because)
    };
    // A million jobs are held against one statement from end to end.
    table.add(line("end to end: freeze, plan, run", Outcome::rate));
    let reached = rate(ours, Outcome::run_rate) >= whole * 0.8;
    table.add(line("the run, ledger included", Outcome::run_rate).aim("at least 0.8x", reached));
    let run = rate(ours, Outcome::run_rate);
    alone.lines(run, &told_rates(ours, Outcome::run_rate), whole).into_iter().for_each(|line| table.add(line));
    let all = |pick: fn(&Outcome) -> &Sample, outcomes: &[Outcome]| {
        let mut sum = Sample::default();
        outcomes.iter().for_each(|outcome| sum.extend(pick(outcome).clone()));
        sum
    };
    let transactions = all(|o| &o.laps.batches, ours);
    let theirs_whole: Sample = theirs.iter().map(|outcome| outcome.total).collect();
    table.add(
        Line::new("a transaction, p50 / p99 / longest", transactions.quantiles())
            .against(format!("{} (all in one)", told(theirs_whole.median())), "")
            .aim(format!("p99 under {}", told(TRANSACTION)), transactions.quantile(0.99) < TRANSACTION)
            .because(format!("{} transactions", transactions.len())),
    );
    let between = all(|o| &o.laps.between, ours);
    table.add(Line::new("between two transactions: the ledger, p50 / p99 / longest", between.quantiles()));
    let (ours, theirs) = (all(|o| &o.inserts, ours), all(|o| &o.inserts, theirs));
    if !ours.is_empty() {
        let p99 = format!("p99 {}", ratio(ours.quantile(0.99), theirs.quantile(0.99)));
        table.add(
            Line::new("an insert meanwhile, p50 / p99 / longest", ours.quantiles())
                .against(theirs.quantiles(), p99)
                .because(format!(
                    "without any replay {}; {} and {} inserts",
                    quiet.quantiles(),
                    ours.len(),
                    theirs.len()
                )),
        );
    }
    table
}

/// What each way of replaying goes through: it begins behind a checkpoint, and inserts go on meanwhile, where the database can
/// be asked for them.
fn writers(bench: &Bench<'_>, copy: &str) -> Option<Writers> {
    bench.settle(copy);
    bench.is_postgres().then(|| Writers::start(copy, bench.baseline(), RATE))
}

async fn by_hand(bench: &Bench<'_>, copy: &str, slice: Slice) -> Outcome {
    let (baseline, client) = (bench.baseline(), Client::new(copy));
    let jobs = bench.jobs_of(copy, &slice);
    let writers = writers(bench, copy);
    let statements = baseline.replay(&slice);
    let total = tokio::task::spawn_blocking(move || client.once(&statements)).await.expect("a session");
    Outcome { jobs, total, inserts: writers.map(Writers::stop).unwrap_or_default(), ..Outcome::default() }
}

/// Rows a second of what goes row by row.
fn one_by_one(
    bench: &Bench<'_>,
    copy: &str,
    slice: Slice,
    goes: impl Fn(&Client, &RowByRow, &[&str]) -> Result<Duration, String>,
) -> Result<f64, String> {
    let (baseline, client) = (bench.baseline(), Client::new(copy));
    let keys = client.print(&[&baseline.cohort_keys(&slice)]);
    let keys: Vec<&str> = keys.lines().collect();
    let writers = writers(bench, copy);
    let took = goes(&client, &baseline.row_by_row(), &keys);
    drop(writers.map(Writers::stop));
    Ok(keys.len() as f64 / took?.as_secs_f64().max(1e-9))
}

async fn through_triage(bench: &Bench<'_>, copy: &str, slice: Slice) -> Outcome {
    let budget = &bench.budget;
    let stopwatch = Arc::new(Stopwatch::new(open_store(copy, bench.ground.layout, budget).await));
    let writers = writers(bench, copy);
    let meter = bench.meter(copy);
    meter.reset();
    let (plan, frozen, total) = replayed(Arc::clone(&stopwatch) as Arc<dyn Store>, &slice.filter(), None, budget).await;
    let inserts = writers.map(Writers::stop).unwrap_or_default();
    meter.read();
    Outcome { jobs: plan.count, freeze: frozen, total, laps: stopwatch.laps(), inserts }
}

/// Freezes and replays what a filter selects, into a new ledger: the plan, how long it took, and how long both did.
pub async fn replayed(
    store: Arc<dyn Store>,
    words: &str,
    limit: Option<u64>,
    budget: &Budget,
) -> (Plan, Duration, Duration) {
    let desk = desk(store);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let ask = Ask { limit, ..Ask::new(ActionScope::Filter(filter(words)), Action::Replay, Timestamp::now()) };
    let began = Instant::now();
    let plan = freeze(&desk, &ledger, ask, budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let frozen = began.elapsed();
    execute_all(&desk, &ledger, &plan, RunOptions::default()).await;
    let total = began.elapsed();
    ledger.close().await;
    (plan, frozen, total)
}

/// Executes a plan to its end; every job of it must be done.
pub async fn execute_all(desk: &StoreContext, ledger: &Ledger, plan: &Plan, options: RunOptions) -> Duration {
    let (progress, _watching) = tokio::sync::watch::channel(planned(plan));
    let began = Instant::now();
    let receipt = execute(desk, ledger, &plan.run, options, &RunControl::new(), &progress).await;
    let took = began.elapsed();
    let receipt = receipt.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(receipt.run.tally.done, plan.count, "not every job was replayed: {:?}", receipt.run.tally);
    took
}

/// A desk of nobody's.
pub fn desk(store: Arc<dyn Store>) -> StoreContext {
    let operator = Operator {
        user: "bench".to_owned(),
        database_user: "bench".to_owned(),
        host: "localhost".to_owned(),
        ssh_client: None,
    };
    StoreContext {
        store,
        source: "bench".to_owned(),
        production: false,
        operator,
        redactor: Arc::default(),
        ledger: None,
    }
}

/// The progress of a run that has not begun.
pub fn planned(plan: &Plan) -> RunProgress {
    let (run, tally) = (plan.run.clone(), RunTally::default());
    RunProgress { run, state: RunState::Planned, tally, rate: 0.0, eta: None, waiting: None }
}
