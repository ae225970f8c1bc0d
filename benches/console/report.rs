//! The whole report as a page of the documentation.

use crate::table::{Table, summary};

const INTRODUCTION: &str = "\
`scripts/bench --markdown FILE` writes this page, and every figure comes from it. The benchmark fills its own database from a
fixed seed. In one run it measures dlq-tui and a baseline: what a person who knows SQL would type. It covers:

- the first useful screen
- exact and estimated counts, and keeping counts correct while jobs die
- pages at any depth, and filters that no index serves
- fingerprints
- replays with the ledger, compared with one statement, a row-by-row script, and the retries of other frameworks
- workers during a replay
- keys while the console is busy
- the cost of an idle console

The number of a table is the number of the figure that it answers. `--small` shows in a minute that the benchmark works.
`--only` and `--skip` choose parts. `--keep FOLDER` keeps a PostgreSQL's data for the next run.

Values are medians; the shortest and the longest are in brackets. A time ratio below 1 means that dlq-tui is faster. If a figure
has a target, the table says whether it was reached.

You can compare ratios, buffers, round trips and bytes between machines, but not milliseconds. On a shared machine
milliseconds vary by a factor of two between runs. A load above the number of cores means that the machine was shared.";

/// The page; `left_out` says what was not measured, and why.
pub fn markdown(machine: &[String], tables: &[Table], left_out: &[String]) -> String {
    let list = |lines: &[String]| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
    let pages: String = tables.iter().map(Table::markdown).collect();
    let left_out = if left_out.is_empty() { String::new() } else { format!("## Left out\n\n{}", list(left_out)) };
    let page =
        format!("# Benchmarks\n\n{INTRODUCTION}\n\n{}\n{}\n{pages}{left_out}", list(machine), list(&summary(tables)));
    format!("{}\n", page.trim_end())
}
