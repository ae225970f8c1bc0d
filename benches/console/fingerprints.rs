//! One error class by fingerprint: what its messages have in common.

use std::time::Duration;

use dlq_tui::domain::facet::Facet;

use crate::bench::Bench;
use crate::cohort::COHORT_CLASS;
use crate::counts::windows;
use crate::ground::open_store;
use crate::process;
use crate::sample::{Sample, ratio, told};
use crate::steps::{count, filter};
use crate::table::{Line, Table};

/// Memory that the program may take, in MB.
pub const MEMORY: f64 = 60.0;
const AT_ONCE: Duration = Duration::from_millis(300);

/// Counts the largest class, through the store and by the program itself, whose memory is looked at.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let (words, client) = (format!("error:{COHORT_CLASS}"), bench.client());
    let wanted = filter(&words);
    let runs = if bench.is_large() { 1 } else { bench.runs(3) };
    let store = open_store(bench.many, bench.ground.layout, &bench.budget).await;
    let meter = bench.meter(bench.many);
    let (mut ours, mut steps, mut jobs, mut kinds) = (Sample::default(), Sample::default(), 0, 0);
    let mut first = Sample::default();
    meter.reset();
    for _ in 0..runs {
        let counted = count(&store, Facet::Fingerprint, &wanted, &bench.budget).await;
        let (histogram, times) = counted.unwrap_or_else(|e| panic!("{e}"));
        (jobs, kinds) = (histogram.total.n, histogram.bars.len());
        first.push(times.first());
        ours.push(times.total());
        steps.extend(times);
    }
    let cost = meter.read();
    let mut table = Table::new(format!(
        "6. Fingerprints of one error class with {jobs} jobs, {} rows in the table; baseline: GROUP BY a pattern in {}",
        bench.rows,
        client.name()
    ));
    table.add(
        Line::new("the first bars", first.told())
            .aim(format!("within {}", told(AT_ONCE)), first.median() <= AT_ONCE)
            .because(format!("a part of the count, with progress; {kinds} fingerprints in the end")),
    );
    let line = Line::new("exact", ours.told()).because(cost.each(runs).told());
    table.add(match bench.baseline().fingerprints() {
        Some(statement) => {
            let theirs = client.timing(&statement, runs);
            line.against(theirs.told(), ratio(ours.median(), theirs.median()))
        }
        None => line,
    });
    table.add(windows(&steps, cost.longest));
    let spent = process::run(bench.many, &["stats", "--by", "fp", "-f", &words]);
    table.add(
        Line::new("memory of `stats --by fp`", format!("{:.0} MB at the most", spent.memory))
            .aim(format!("under {MEMORY:.0} MB"), spent.memory < MEMORY)
            .because(format!("{} in all, process start included", told(spent.time))),
    );
    table
}
