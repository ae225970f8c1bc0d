//! The whole report as a page of the documentation.

use crate::table::{Table, summary};

const INTRODUCTION: &str = "\
Written by `scripts/bench --markdown FILE`; no figure here comes from anywhere else. It fills a database of its own \
from a fixed seed, and measures the program beside what somebody who knows SQL would type, in one run: the first useful screen, \
exact and estimated counts, keeping them right while jobs die, pages at any depth, filters that no index serves, fingerprints, \
replays with the ledger beside one statement, a script that goes row by row and the retries of other frameworks, workers \
beside a replay, keys while the console is busy, and what a console costs that is only open. Tables are numbered by the figures \
that they answer. `--small` shows in a minute that it works, `--only` and `--skip` choose parts, `--keep FOLDER` keeps a \
PostgreSQL's data for the next run.

Medians, with the shortest and the longest in brackets; a ratio below 1 in a time means that dlq-tui is quicker. Where a \
figure has a target, it says whether it was reached. Ratios, buffers, round trips and bytes travel between machines; milliseconds do \
not, and on a machine that others use they move by a factor of two from run to run. A load above the number of cores \
means that this was such a run.";

/// The page; `left_out` says what was not measured, and why.
pub fn markdown(machine: &[String], tables: &[Table], left_out: &[String]) -> String {
    let list = |lines: &[String]| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
    let pages: String = tables.iter().map(Table::markdown).collect();
    let left_out = if left_out.is_empty() { String::new() } else { format!("## Left out\n\n{}", list(left_out)) };
    let page =
        format!("# Benchmarks\n\n{INTRODUCTION}\n\n{}\n{}\n{pages}{left_out}", list(machine), list(&summary(tables)));
    format!("{}\n", page.trim_end())
}
