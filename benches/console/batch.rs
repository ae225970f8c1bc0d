//! What the size of batches does to a replay, and whether the size that adapts finds the best of them.

use std::sync::Arc;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::Store;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use dlq_tui::triage::run::RunOptions;

use crate::bench::Bench;
use crate::cohort::Slices;
use crate::ground::open_store;
use crate::replay::{desk, execute_all};
use crate::sample::{Sample, median, times};
use crate::steps::filter;
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

/// Replays jobs with each size in turns, so that a noisy minute and a growing table hit all.
pub async fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    let (jobs, rounds) = if bench.small { (300, 1) } else { (10_000.min(u64::from(bench.rows / 250)), 5) };
    let ways: Vec<Option<usize>> = SIZES.map(Some).into_iter().chain([None]).collect();
    let mut outcomes: Vec<Outcome> = ways.iter().map(|_| Outcome::default()).collect();
    // One that is not counted: the first pages of a fresh copy come from the disk.
    run(bench, copy, slices, None, jobs, &mut Outcome::default()).await?;
    for round in 0..rounds {
        for turn in 0..ways.len() {
            // Another one begins each round: what comes later finds a larger table.
            let way = (turn + round * 3) % ways.len();
            run(bench, copy, slices, ways[way], jobs, &mut outcomes[way]).await?;
        }
    }
    Ok(report(&ways, &outcomes, jobs))
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
                    outcome.batches.quantiles(),
                    outcome.batches.len()
                )),
        );
    }
    table
}

async fn run(
    bench: &Bench<'_>,
    copy: &str,
    slices: &mut Slices,
    size: Option<usize>,
    jobs: u64,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let slice = slices.take(jobs, false)?;
    let stopwatch = Arc::new(Stopwatch::new(open_store(copy, bench.ground.layout, &bench.budget).await));
    let desk = desk(Arc::clone(&stopwatch) as Arc<dyn Store>);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap_or_else(|e| panic!("{e}"));
    let ask = Ask::new(ActionScope::Filter(filter(&slice.filter())), Action::Replay, Timestamp::now());
    let plan = freeze(&desk, &ledger, ask, &bench.budget, |_| ()).await.unwrap_or_else(|e| panic!("{e}"));
    let usual = RunOptions::default();
    let options = RunOptions { batch: size.unwrap_or(usual.batch), adapts: size.is_none(), ..usual };
    let elapsed = execute_all(&desk, &ledger, &plan, options).await;
    ledger.close().await;
    outcome.rates.push(plan.count as f64 / elapsed.as_secs_f64().max(1e-9));
    outcome.batches.extend(stopwatch.laps().batches);
    Ok(())
}
