//! A million jobs by the shipped program, from its start to its receipt: how long it takes, and its memory.

use std::time::Duration;

use crate::bench::Bench;
use crate::client::Client;
use crate::cohort::{Slice, Slices};
use crate::fingerprints::MEMORY;
use crate::process;
use crate::sample::{median, times, told};
use crate::table::{Line, Table};

/// How many jobs a table of this size spares.
pub fn jobs(bench: &Bench<'_>) -> u64 {
    u64::from(bench.rows / 8).min(1_000_000)
}

/// Replays without asking, into a ledger of its own, and as many by one statement before and after.
pub fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    let slice = slices.take(jobs(bench), false)?;
    let others: Vec<Slice> = (0..2).map_while(|_| slices.take(jobs(bench), false).ok()).collect();
    let (client, baseline) = (Client::new(copy), bench.baseline());
    let rate = |jobs: u64, time: Duration| jobs as f64 / time.as_secs_f64().max(1e-9);
    let by_hand = |slice: &Slice| {
        let jobs = bench.jobs_of(copy, slice);
        bench.settle(copy);
        rate(jobs, client.once(&baseline.replay(slice)))
    };

    let before = others.first().map(by_hand);
    let jobs = bench.jobs_of(copy, &slice);
    bench.settle(copy);
    let spent = process::run(copy, &["replay", "-f", &slice.filter(), "--yes"]);
    let ours = rate(jobs, spent.time);
    let theirs: Vec<f64> = before.into_iter().chain(others.get(1).map(by_hand)).collect();

    let mut table = Table::new(format!(
        "7. and 9. {jobs} jobs by `replay --yes`, process start, freeze and ledger included; baseline: the same move in one \
         transaction of plain SQL"
    ));
    let line = Line::new("end to end", format!("{ours:.0} rows/s")).because(format!("{} in all", told(spent.time)));
    table.add(if theirs.is_empty() {
        line
    } else {
        let middle = median(theirs.iter().copied());
        let each: Vec<String> = theirs.iter().map(|rate| format!("{rate:.0}")).collect();
        line.against(format!("{middle:.0} rows/s ({})", each.join(", ")), times(ours, middle))
            .aim("at least 0.8x", ours >= middle * 0.8)
    });
    let memory = format!("{:.0} MB at the most", spent.memory);
    table.add(Line::new("memory", memory).aim(format!("under {MEMORY:.0} MB"), spent.memory < MEMORY));
    Ok(table)
}
