//! Freezing a whole table into the ledger, by the shipped program: how long it takes, and the memory.

use crate::bench::Bench;
use crate::fingerprints::MEMORY;
use crate::process;
use crate::sample::{Sample, ratio};
use crate::table::{Line, Table};

/// Plans a replay of every dead job, in turns with reading the same columns once.
pub fn measure(bench: &Bench<'_>) -> Table {
    let (mut ours, mut theirs, mut memory) = (Sample::default(), Sample::default(), 0.0_f64);
    let client = bench.client();
    for _ in 0..if bench.is_large() { 1 } else { bench.runs(3) } {
        theirs.push(client.reading(&bench.baseline().cohort_columns()));
        let spent = process::run(bench.many, &["replay", "--all", "--dry-run"]);
        ours.push(spent.time);
        memory = memory.max(spent.memory);
    }
    let jobs = client.print(&[&bench.baseline().dead_count()]);
    let mut table = Table::new(format!(
        "Freeze of {jobs} jobs into a new ledger, the plan included; baseline: the same columns read and not kept"
    ));
    table.add(
        Line::new("`replay --all --dry-run`, process start included", ours.told())
            .against(theirs.told(), ratio(ours.median(), theirs.median())),
    );
    table.add(
        Line::new("its memory", format!("{memory:.0} MB at the most"))
            .aim(format!("under {MEMORY:.0} MB"), memory < MEMORY),
    );
    table
}
