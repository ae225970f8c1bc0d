//! What the size of batches does to a replay, and whether the size that adapts finds the best of them.

use std::sync::Arc;
use std::time::Instant;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::{Budget, Store};
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::Scope;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::baseline::Baseline;
use crate::fixtures::Layout;
use crate::ground::{Copy, Ground, open_store};
use crate::psql::Psql;
use crate::replay::{desk, median, planned, quantiles};
use crate::sample::{Sample, times};
use crate::stopwatch::Stopwatch;
use crate::table::{Line, Table};

/// The sizes that are held against the one that adapts.
const SIZES: [usize; 6] = [100, 200, 500, 1_000, 2_000, 5_000];

/// What the runs of one size showed.
#[derive(Debug, Default)]
struct Outcome {
    rates: Vec<f64>,
    batches: Sample,
}

/// Whether the table has enough dead jobs for [`measure`]; a sentence where it has not.
pub fn fits(url: &str, layout: Layout, jobs: u64, rounds: usize) -> Result<(), String> {
    // Each size and the one that adapts, every round, and the run that is not counted.
    enough(url, layout, jobs * (1 + rounds as u64 * (SIZES.len() as u64 + 1)))
}

/// Whether the table has `needed` dead jobs; a sentence where it has not.
pub fn enough(url: &str, layout: Layout, needed: u64) -> Result<(), String> {
    let dead: u64 = Psql::new(url).print(&[&Baseline(layout).dead_count()]).parse().unwrap_or(0);
    match dead >= needed {
        true => Ok(()),
        false => {
            Err(format!("left out: it replays {needed} jobs, and the table has {dead} dead ones; use more --rows"))
        }
    }
}

/// Replays `jobs` jobs with each size, `rounds` times in turns, so that a noisy minute and a growing table hit all.
pub async fn measure(ground: &Ground, template: &str, jobs: u64, rounds: usize, budget: &Budget) -> Table {
    let copy = Copy::of(template);
    let ways: Vec<Option<usize>> = SIZES.map(Some).into_iter().chain([None]).collect();
    let mut outcomes: Vec<Outcome> = ways.iter().map(|_| Outcome::default()).collect();
    // One round that is not counted: the first pages of a fresh copy come from the disk.
    run(ground, &copy.url, None, jobs, budget, &mut Outcome::default()).await;
    for round in 0..rounds {
        for turn in 0..ways.len() {
            // Another one begins each round: what comes later finds a larger table.
            let way = (turn + round * 3) % ways.len();
            run(ground, &copy.url, ways[way], jobs, budget, &mut outcomes[way]).await;
        }
    }
    report(&ways, &outcomes, jobs)
}

fn report(ways: &[Option<usize>], outcomes: &[Outcome], jobs: u64) -> Table {
    let rate = |outcome: &Outcome| median(outcome.rates.iter().copied());
    let fixed = ways.iter().zip(outcomes).filter(|(size, _)| size.is_some());
    let best = fixed.map(|(_, outcome)| rate(outcome)).fold(0.0, f64::max);
    let mut table = Table::new(format!("Batches: runs of {jobs} jobs by size; baseline: the best of the fixed sizes"));
    for (size, outcome) in ways.iter().zip(outcomes) {
        let name = size.map_or("adapting, the default".to_owned(), |size| format!("{size} jobs each"));
        let each: Vec<String> = outcome.rates.iter().map(|rate| format!("{rate:.0}")).collect();
        table.add(
            Line::new(name, format!("{:.0} rows/s ({})", rate(outcome), each.join(", ")))
                .against(format!("{best:.0} rows/s"), times(rate(outcome), best))
                .because(format!(
                    "a transaction, p50 / p99 / longest: {}; {} of them",
                    quantiles(&outcome.batches),
                    outcome.batches.len()
                )),
        );
    }
    table
}

async fn run(ground: &Ground, url: &str, size: Option<usize>, jobs: u64, budget: &Budget, outcome: &mut Outcome) {
    let stopwatch = Arc::new(Stopwatch::new(open_store(url, ground.layout, budget).await));
    let desk = desk(Arc::clone(&stopwatch) as Arc<dyn Store>);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let ask = Ask { limit: Some(jobs), ..Ask::new(Scope::Filter(Filter::all()), Action::Replay, Timestamp::now()) };
    let plan = freeze(&desk, &ledger, ask, budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let (progress, _watching) = tokio::sync::watch::channel(planned(&plan));
    let usual = RunOptions::default();
    let options = RunOptions { batch: size.unwrap_or(usual.batch), adapts: size.is_none(), ..usual };
    let began = Instant::now();
    let receipt = execute(&desk, &ledger, &plan.run, options, &RunControl::new(), &progress).await;
    let elapsed = began.elapsed();
    let receipt = receipt.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(receipt.run.tally.done, plan.count, "not every job was replayed: {:?}", receipt.run.tally);
    ledger.close().await;
    outcome.rates.push(plan.count as f64 / elapsed.as_secs_f64().max(1e-9));
    outcome.batches.extend(stopwatch.laps().batches);
}
