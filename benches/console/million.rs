//! A million jobs by the shipped program, from its start to its receipt: how long it takes, and its memory.

use crate::bench::Bench;
use crate::client::Client;
use crate::cohort::Slices;
use crate::fingerprints::MEMORY;
use crate::process;
use crate::sample::told;
use crate::table::{Line, Table};

/// How many jobs a table of this size spares.
pub fn jobs(bench: &Bench<'_>) -> u64 {
    u64::from(bench.rows / 8).min(1_000_000)
}

/// Replays without asking, into a ledger of its own.
pub fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Result<Table, String> {
    let slice = slices.take(jobs(bench), false)?;
    let jobs: u64 = Client::new(copy).print(&[&bench.baseline().cohort_size(&slice)]).parse().unwrap_or(0);
    let spent = process::run(copy, &["replay", "-f", &slice.filter(), "--yes"]);
    let mut table =
        Table::new(format!("7. and 9. {jobs} jobs by `replay --yes`, process start, freeze and ledger included"));
    let rate = jobs as f64 / spent.time.as_secs_f64().max(1e-9);
    table.add(Line::new("end to end", format!("{rate:.0} rows/s")).because(format!("{} in all", told(spent.time))));
    let memory = format!("{:.0} MB at the most", spent.memory);
    table.add(Line::new("memory", memory).aim(format!("under {MEMORY:.0} MB"), spent.memory < MEMORY));
    Ok(table)
}
