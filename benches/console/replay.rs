//! A replay end to end, ledger included, against the same move as one statement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, Operator, RunState, Tally};
use dlq_tui::store::{Budget, Store};
use dlq_tui::triage::Desk;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::{Plan, Scope};
use dlq_tui::triage::progress::RunProgress;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::baseline::{Baseline, COHORT_CLASS};
use crate::ground::{Copy, Ground, Meter, cohort_until, open_store};
use crate::psql::Psql;
use crate::sample::{Sample, times, told};
use crate::stopwatch::{Laps, Stopwatch};
use crate::table::{Line, Table};
use crate::writers::Writers;

/// How long inserts are watched when nothing is replayed.
const QUIET: Duration = Duration::from_secs(3);

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
}

/// Replays `wanted` jobs `runs` times either way, each time on a fresh copy of the database.
pub async fn measure(ground: &Ground, template: &str, wanted: u64, runs: usize, budget: &Budget) -> Table {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // In turns, so that a noisy minute hits both.
    for _ in 0..runs {
        theirs.push(by_hand(ground, &Copy::of(template).url, wanted).await);
        ours.push(through_triage(ground, &Copy::of(template).url, wanted, budget).await);
    }
    let copy = Copy::of(template);
    let writers = Writers::start(&copy.url, ground.layout);
    tokio::time::sleep(QUIET).await;
    report(&ours, &theirs, &writers.stop())
}

fn report(ours: &[Outcome], theirs: &[Outcome], quiet: &Sample) -> Table {
    let jobs = ours.first().map_or(0, |outcome| outcome.jobs);
    let mut table = Table::new(format!(
        "Replay of {jobs} jobs with the ledger, fsync on; baseline: the same move as one statement in psql"
    ));
    let rate = |outcomes: &[Outcome]| median(outcomes.iter().map(Outcome::rate));
    let told_rates = |outcomes: &[Outcome]| {
        let each: Vec<String> = outcomes.iter().map(|outcome| format!("{:.0}", outcome.rate())).collect();
        format!("{:.0} rows/s ({})", rate(outcomes), each.join(", "))
    };
    let freeze: Sample = ours.iter().map(|outcome| outcome.freeze).collect();
    let total: Sample = ours.iter().map(|outcome| outcome.total).collect();
    table.add(
        Line::new("end to end: freeze, plan, run", told_rates(ours))
            .against(told_rates(theirs), times(rate(ours), rate(theirs)))
            .because(format!("{} in all, of which freeze and plan {}", total.told(), freeze.told())),
    );
    let run_only = median(ours.iter().map(|o| o.jobs as f64 / (o.total - o.freeze).as_secs_f64().max(1e-9)));
    table.add(
        Line::new("the run alone", format!("{run_only:.0} rows/s"))
            .against(told_rates(theirs), times(run_only, rate(theirs))),
    );
    let all = |pick: fn(&Outcome) -> &Sample, outcomes: &[Outcome]| {
        let mut sum = Sample::default();
        outcomes.iter().for_each(|outcome| sum.extend(pick(outcome).clone()));
        sum
    };
    let transactions = all(|o| &o.laps.batches, ours);
    let whole: Sample = theirs.iter().map(|outcome| outcome.total).collect();
    table.add(
        Line::new("a transaction, p50 / p99 / longest", quantiles(&transactions))
            .against(format!("{} (all in one)", told(whole.median())), "")
            .because(format!("{} transactions", transactions.len())),
    );
    let between = all(|o| &o.laps.between, ours);
    table.add(Line::new("between two transactions: the ledger, p50 / p99 / longest", quantiles(&between)));
    let (ours, theirs) = (all(|o| &o.inserts, ours), all(|o| &o.inserts, theirs));
    table.add(
        Line::new("an insert meanwhile, p50 / p99 / longest", quantiles(&ours))
            .against(
                quantiles(&theirs),
                format!("p99 {}", crate::sample::ratio(ours.quantile(0.99), theirs.quantile(0.99))),
            )
            .because(format!("without any replay {}; {} and {} inserts", quantiles(quiet), ours.len(), theirs.len())),
    );
    table
}

pub fn quantiles(sample: &Sample) -> String {
    format!("{} / {} / {}", told(sample.median()), told(sample.quantile(0.99)), told(sample.longest()))
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

async fn by_hand(ground: &Ground, url: &str, wanted: u64) -> Outcome {
    let (until, _) = cohort_until(wanted);
    let baseline = Baseline(ground.layout);
    let psql = Psql::new(url);
    let jobs = psql.print(&[&baseline.cohort_size(&until)]).parse().unwrap_or(0);
    let writers = Writers::start(url, ground.layout);
    let (statement, runner) = (baseline.replay(&until), psql.clone());
    let total = tokio::task::spawn_blocking(move || runner.once(&statement)).await.expect("psql");
    Outcome { jobs, total, inserts: writers.stop(), ..Outcome::default() }
}

async fn through_triage(ground: &Ground, url: &str, wanted: u64, budget: &Budget) -> Outcome {
    let (_, until) = cohort_until(wanted);
    let stopwatch = Arc::new(Stopwatch::new(open_store(url, ground.layout, budget).await));
    let desk = desk(Arc::clone(&stopwatch) as Arc<dyn Store>);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let filter = Filter::parse(&format!("error:{COHORT_CLASS} until:{until}")).unwrap_or_else(|e| panic!("{e:?}"));
    let ask = Ask::new(Scope::Filter(filter), Action::Replay, Timestamp::now());
    let writers = Writers::start(url, ground.layout);
    let meter = Meter::new(ground, url);
    meter.reset();
    let began = Instant::now();
    let plan = freeze(&desk, &ledger, ask, budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let frozen = began.elapsed();
    let (progress, _watching) = tokio::sync::watch::channel(planned(&plan));
    let control = RunControl::new();
    let receipt = execute(&desk, &ledger, &plan.run, RunOptions::default(), &control, &progress).await;
    let total = began.elapsed();
    let inserts = writers.stop();
    meter.read();
    let receipt = receipt.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(receipt.run.tally.done, plan.count, "not every job was replayed: {:?}", receipt.run.tally);
    ledger.close().await;
    Outcome { jobs: plan.count, freeze: frozen, total, laps: stopwatch.laps(), inserts }
}

/// A desk of nobody's.
pub fn desk(store: Arc<dyn Store>) -> Desk {
    let operator = Operator {
        user: "bench".to_owned(),
        database_user: "bench".to_owned(),
        host: "localhost".to_owned(),
        ssh_client: None,
    };
    Desk { store, source: "bench".to_owned(), production: false, operator, redactor: Arc::default() }
}

/// The progress of a run that has not begun.
pub fn planned(plan: &Plan) -> RunProgress {
    let (run, tally) = (plan.run.clone(), Tally::default());
    RunProgress { run, state: RunState::Planned, tally, rate: 0.0, eta: None, waiting: None }
}
