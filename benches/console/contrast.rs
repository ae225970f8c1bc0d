//! Comparing jobs with others: a sample of both sides, and then all of them, by the shipped program.

use std::time::Duration;

use crate::bench::Bench;
use crate::cohort::COHORT_CLASS;
use crate::process;
use crate::sample::{Sample, ratio};
use crate::table::{Line, Table};

/// What a sample may take.
const SAMPLE_LIMIT: Duration = Duration::from_millis(300);
/// How much longer all jobs may take than reading the same columns once.
const FULL_RATIO: f64 = 1.3;
/// What the program may take of the memory, in MB.
const MEMORY: f64 = 60.0;

/// Compares one error class with all others, in turns with reading the same columns once.
pub fn measure(bench: &Bench<'_>) -> Table {
    let (chosen, others) = (format!("error:{COHORT_CLASS}"), format!("-error:{COHORT_CLASS}"));
    let arguments = ["contrast", "-f", &chosen, "--against", &others];
    let client = bench.client();
    let (mut sampled, mut full, mut theirs, mut memory) =
        (Sample::default(), Sample::default(), Sample::default(), 0.0_f64);
    for _ in 0..if bench.is_large() { 1 } else { bench.runs(3) } {
        let spent = process::run(bench.many, &arguments);
        sampled.push(spent.time);
        memory = memory.max(spent.memory);
        theirs.push(client.reading(&bench.baseline().contrast_columns()));
        let spent = process::run(bench.many, &[&arguments[..], &["--all"]].concat());
        full.push(spent.time);
        memory = memory.max(spent.memory);
    }
    let mut table = Table::new(format!(
        "What jobs of one error class have in common; {} rows; baseline: the same columns read and not kept",
        bench.rows
    ));
    table.add(
        Line::new("`contrast`, a sample of each side, process start included", sampled.told())
            .aim(format!("under {} ms", SAMPLE_LIMIT.as_millis()), sampled.median() < SAMPLE_LIMIT),
    );
    let by = ratio(full.median(), theirs.median());
    table.add(
        Line::new("`contrast --all`", full.told())
            .against(theirs.told(), by)
            .aim(format!("at most {FULL_RATIO}x"), full.median() <= theirs.median().mul_f64(FULL_RATIO)),
    );
    table.add(
        Line::new("its memory", format!("{memory:.0} MB at the most"))
            .aim(format!("under {MEMORY:.0} MB"), memory < MEMORY),
    );
    table
}
