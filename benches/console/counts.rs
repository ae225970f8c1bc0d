//! The histogram: the first estimate, the first exact one, its windows.

use std::time::{Duration, Instant};

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::Histogram;
use dlq_tui::store::{Budget, HistogramQuery, Store};

use crate::bench::Bench;
use crate::books::{Cost, Meter};
use crate::client::Client;
use crate::ground::open_store;
use crate::sample::{Sample, median, ratio, told};
use crate::steps::{Cancels, cancelled, count};
use crate::table::{Line, Table};

/// No statement of ours may run longer than this.
pub const STATEMENT: Duration = Duration::from_secs(2);
/// How soon what is cancelled must end.
pub const CANCELLED: Duration = Duration::from_millis(200);
const ESTIMATES: usize = 5;
/// Samples of its statistics by which the database is asked: each errs otherwise.
const SAMPLES: usize = 15;
const CANCELS: u32 = 5;
/// The bars whose estimate is held against the truth.
const TOP: usize = 5;

/// Counts by error class, against the GROUP BY that other consoles send at each refresh.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let (client, runs) = (bench.client(), bench.runs(3));
    let store = open_store(bench.many, bench.ground.layout, &bench.budget).await;
    let meter = bench.meter(bench.many);
    let group_by = bench.baseline().histogram();
    let buffers = client.buffers(&group_by);
    meter.reset();
    let estimated = estimate(&store, &bench.budget).await;
    let cost = meter.read().each(ESTIMATES);
    let sampled = if estimated.is_some() { samples(bench, &store).await } else { Vec::new() };
    let Turns { naive, alone, exact, processor, work, steps, histogram } =
        turns(&client, &store, &meter, &group_by, runs, &bench.budget).await;
    let mut table = Table::new(format!(
        "2. Counts by error class, {} rows in the table; baseline: GROUP BY in {}",
        bench.rows,
        client.name()
    ));

    if let Some(times) = estimated {
        let line = Line::new("estimate", times.told()).against(naive.told(), ratio(times.median(), naive.median()));
        table.add(line.because(cost.told()));
        table.add(off(&sampled, &histogram));
    }
    let line = Line::new("exact, all windows", exact.told());
    let told_buffers = buffers.map_or_else(String::new, |n| format!("; baseline {n} buffers"));
    // What is aimed at is the work, where the server tells it, and the time elsewhere.
    match &alone {
        Some(alone) => {
            let line = line.clone().against(alone.told(), ratio(exact.median(), alone.median()));
            table.add(
                line.because("baseline by one process, as we leave the others to the application; the work is below"),
            );
        }
        None => {
            let reached = exact.median() <= naive.median().mul_f64(1.2);
            let line = line.clone().against(naive.told(), ratio(exact.median(), naive.median()));
            table.add(line.aim("at most 1.2x", reached));
        }
    }
    if alone.is_some() {
        let line = line.against(naive.told(), ratio(exact.median(), naive.median()));
        let why = format!("{}{told_buffers}; baseline with parallel processes, the default", work.told());
        table.add(line.because(why));
    }
    if let Some((theirs, ours)) = processor {
        let line = Line::new("exact, the server's time on the processor", ours.told());
        let line = line.against(theirs.told(), ratio(ours.median(), theirs.median()));
        let reached = ours.median() <= theirs.median().mul_f64(1.2);
        table.add(
            line.aim("at most 1.2x", reached).because("of all its processes; baseline with parallel ones, the default"),
        );
    }
    if let (Some(theirs), true) = (buffers, work.buffers > 0) {
        let line = Line::new("exact, buffers", work.buffers.to_string());
        let line = line.against(theirs.to_string(), crate::sample::times(work.buffers as f64, theirs as f64));
        table.add(line.aim("at most 1.2x", work.buffers as f64 <= theirs as f64 * 1.2));
    }
    table.add(windows(&steps, work.longest));
    if let Some(line) = cancel(bench, &store).await {
        table.add(line);
    }
    table
}

/// The steps of one piece of work; `longest` is that of a statement in milliseconds, where the database told.
pub fn windows(steps: &Sample, longest: f64) -> Line {
    let longest = if longest > 0.0 { Duration::from_secs_f64(longest / 1_000.0) } else { steps.longest() };
    Line::new("a window, p50 / p99 / longest", steps.quantiles())
        .aim(format!("no statement above {}", told(STATEMENT)), longest <= STATEMENT)
        .because(format!("{} windows; the longest statement {}", steps.len(), told(longest)))
}

async fn estimate(store: &dyn Store, budget: &Budget) -> Option<Sample> {
    let mut sample = Sample::default();
    for _ in 0..ESTIMATES {
        let began = Instant::now();
        let step = store.count(HistogramQuery::estimate(Facet::Error), budget).await.unwrap_or_else(|e| panic!("{e}"));
        if step.histogram.bars.is_empty() {
            return None;
        }
        sample.push(began.elapsed());
    }
    Some(sample)
}

/// Estimates, each by statistics of its own.
async fn samples(bench: &Bench<'_>, store: &dyn Store) -> Vec<Histogram> {
    let mut sampled = Vec::new();
    for _ in 0..SAMPLES {
        bench.client().once(&[format!("analyze {}", bench.ground.layout.table())]);
        let query = HistogramQuery::estimate(Facet::Error);
        let estimate = store.count(query, &bench.budget).await.unwrap_or_else(|e| panic!("{e}")).histogram;
        sampled.extend(Some(estimate).filter(|estimate| !estimate.bars.is_empty()));
    }
    sampled
}

/// What both sides took, in turns: a slow minute hits both.
struct Turns {
    naive: Sample,
    alone: Option<Sample>,
    exact: Sample,
    /// The server's time on the processor: theirs, and ours.
    processor: Option<(Sample, Sample)>,
    work: Cost,
    steps: Sample,
    histogram: Histogram,
}

async fn turns(
    client: &Client,
    store: &dyn Store,
    meter: &Meter,
    group_by: &str,
    runs: usize,
    budget: &Budget,
) -> Turns {
    let (mut naive, mut alone, mut exact) = (Sample::default(), Sample::default(), Sample::default());
    let (mut theirs, mut ours, mut work, mut last) = (Sample::default(), Sample::default(), Cost::default(), None);
    for _ in 0..runs {
        let before = client.processor();
        naive.extend(client.timing(group_by, 1));
        // Once more than is timed.
        theirs.extend(since(before, client).map(|time| time / 2).into_iter().collect());
        alone.extend(client.timing_alone(group_by, 1).unwrap_or_default());
        meter.reset();
        let before = client.processor();
        let (histogram, steps) =
            count(store, Facet::Error, &Filter::default(), budget).await.unwrap_or_else(|e| panic!("{e}"));
        ours.extend(since(before, client).into_iter().collect());
        work.add(&meter.read());
        exact.push(steps.total());
        last = Some((steps, histogram));
    }
    let (steps, histogram) = last.expect("a run");
    let processor = (!ours.is_empty()).then_some((theirs, ours));
    let alone = (!alone.is_empty()).then_some(alone);
    Turns { naive, alone, exact, processor, work: work.each(runs), steps, histogram }
}

/// What the server's processes worked since.
fn since(before: Option<Duration>, client: &Client) -> Option<Duration> {
    Some(client.processor()?.saturating_sub(before?))
}

/// How far estimates are off for the largest bars: the worst of these, by the middle one of all samples.
fn off(sampled: &[Histogram], exact: &Histogram) -> Line {
    let of = |histogram: &Histogram, at: usize| {
        let bar = exact.bars.get(at)?;
        let bar = histogram.bars.iter().find(|other| other.value == bar.value)?;
        Some(bar.count.n as f64)
    };
    let error = |estimated: &Histogram, at: usize| match (of(estimated, at), of(exact, at)) {
        (Some(guess), Some(truth)) if truth > 0.0 => (guess - truth).abs() / truth * 100.0,
        _ => 100.0,
    };
    let worst = |estimated| (0..TOP.min(exact.bars.len())).map(|at| error(estimated, at)).fold(0.0, f64::max);
    let worsts: Vec<f64> = sampled.iter().map(worst).collect();
    let middle = median(worsts.iter().copied());
    let each: Vec<String> = worsts.iter().map(|worst| format!("{worst:.1} %")).collect();
    Line::new(format!("estimate of the top {TOP}, off by"), format!("{middle:.1} %"))
        .aim("within 5 %", middle <= 5.0)
        .because(format!("the worst of them by {SAMPLES} samples of ANALYZE: {}", each.join(", ")))
}

async fn cancel(bench: &Bench<'_>, store: &dyn Store) -> Option<Line> {
    let mut cancels = Cancels::default();
    for at in 0..CANCELS {
        let budget = Budget::new(bench.budget.statement);
        let (filter, after) = (Filter::default(), Duration::from_millis(u64::from(180 + at * 37)));
        let work = count(store, Facet::Error, &filter, &budget);
        cancels.push(cancelled(work, &budget, after, &bench.client()).await);
    }
    ended(&cancels)
}

/// How soon cancelled work ended; nothing where it was always quicker than the cancel.
pub fn ended(cancels: &Cancels) -> Option<Line> {
    let worst = cancels.ours.longest().max(cancels.server.longest());
    let line =
        Line::new("a cancel", cancels.ours.told()).aim(format!("within {}", told(CANCELLED)), worst <= CANCELLED);
    let server = if cancels.server.is_empty() {
        String::new()
    } else {
        format!("; server idle after {}", cancels.server.told())
    };
    (!cancels.ours.is_empty()).then(|| line.because(format!("{} times{server}", cancels.ours.len())))
}
