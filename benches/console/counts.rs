//! The histogram: the first estimate, the first exact one, and keeping it right.

use std::time::{Duration, Instant};

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::{Budget, HistogramQuery, Store, Watermark};

use crate::baseline::Baseline;
use crate::ground::{Ground, Meter, open_store};
use crate::psql::Psql;
use crate::sample::{Sample, ratio, told};
use crate::table::{Line, Table};

const RUNS: usize = 5;
const LOOKS: usize = 21;
const NEW: u32 = 1_000;

/// Counts by error class, against the GROUP BY that other consoles send at each refresh.
pub async fn measure(ground: &Ground, url: &str, rows: u32, budget: &Budget) -> Table {
    let baseline = Baseline(ground.layout);
    let psql = Psql::new(url);
    let store = open_store(url, ground.layout, budget).await;
    let meter = Meter::new(ground, url);
    let naive = psql.timing(&baseline.histogram(), RUNS);
    let alone = psql.timing_in("set max_parallel_workers_per_gather = 0", &baseline.histogram(), RUNS);
    let naive_buffers = psql.buffers(&baseline.histogram());
    let mut table = Table::new(format!("Counts by error class, {rows} rows in the table; baseline: GROUP BY in psql"));
    let mut add = |what: &str, ours: &Sample, evidence: String| {
        let line = Line::new(what, ours.told()).against(naive.told(), ratio(ours.median(), naive.median()));
        table.add(line.because(format!("{evidence}; psql {naive_buffers} buffers")));
    };

    meter.reset();
    let estimate = time_estimate(&store, RUNS, budget).await;
    if let Some(estimate) = estimate {
        add("estimate", &estimate, meter.read().each(RUNS).told());
    }

    meter.reset();
    let (exact, steps, longest) = time_exact(&store, RUNS, budget).await;
    let cost = meter.read().each(RUNS);
    add(
        "first exact",
        &exact,
        format!(
            "{}; {steps} steps, longest {}; psql without parallel workers, which we leave to others: {}",
            cost.told(),
            told(longest),
            told(alone.median())
        ),
    );

    let mut watermark = look(&store, None, budget).await.0;
    meter.reset();
    let mut idle = Sample::default();
    for _ in 0..LOOKS {
        let (next, took) = look(&store, Some(&watermark), budget).await;
        watermark = next;
        idle.push(took);
    }
    // The meter's own session is a change of the snapshot, so the figures are an upper bound.
    add("a look when nothing changed", &idle, meter.read().each(LOOKS).told());

    let mut busy = Sample::default();
    let mut cost = crate::ground::Cost::default();
    for _ in 0..RUNS {
        psql.print(&[&baseline.new_rows(NEW)]);
        meter.reset();
        let (next, took) = look(&store, Some(&watermark), budget).await;
        let one = meter.read();
        cost.ms += one.ms;
        cost.buffers += one.buffers;
        cost.statements += one.statements;
        watermark = next;
        busy.push(took);
    }
    add(&format!("a look after {NEW} inserts"), &busy, cost.each(RUNS).told());
    table
}

async fn time_estimate(store: &dyn Store, runs: usize, budget: &Budget) -> Option<Sample> {
    let mut sample = Sample::default();
    for _ in 0..runs {
        let began = Instant::now();
        store.estimate(Facet::Error, budget).await.unwrap_or_else(|e| panic!("{e}"))?;
        sample.push(began.elapsed());
    }
    Some(sample)
}

/// Whole counts; of the last also how many steps it took and the longest of them.
async fn time_exact(store: &dyn Store, runs: usize, budget: &Budget) -> (Sample, usize, Duration) {
    let (mut sample, mut steps) = (Sample::default(), Sample::default());
    for _ in 0..runs {
        steps = Sample::default();
        let began = Instant::now();
        let mut resume = None;
        loop {
            let query = HistogramQuery { facet: Facet::Error, filter: Filter::default(), resume };
            let step_began = Instant::now();
            let step = store.histogram(query, budget).await.unwrap_or_else(|e| panic!("{e}"));
            steps.push(step_began.elapsed());
            resume = step.resume;
            if resume.is_none() {
                break;
            }
        }
        sample.push(began.elapsed());
    }
    (sample, steps.len(), steps.longest())
}

async fn look(store: &dyn Store, since: Option<&Watermark>, budget: &Budget) -> (Watermark, Duration) {
    let began = Instant::now();
    let changes = store.changes(since, Facet::Error, &Filter::default(), budget).await;
    let changes = changes.unwrap_or_else(|e| panic!("{e}"));
    (changes.watermark, began.elapsed())
}
