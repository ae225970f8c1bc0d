//! From a key to the frame that answers it, while the console has other things to do.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::cohort::Slices;
use crate::fingerprints::MEMORY;
use crate::harness::Wire;
use crate::million;
use crate::process::{memory, peak_memory};
use crate::pty::{Pty, Screen};
use crate::sample::{Sample, told};
use crate::screen::{console, enter_list, is_useful, moves, operator};
use crate::table::{Line, Table};
use crate::writers::Writers;

/// How soon a key must be answered, but for one in a hundred.
const FRAME: Duration = Duration::from_millis(16);
/// Between an answer and the next key.
const PAUSE: Duration = Duration::from_millis(20);
/// Jobs that die in a second meanwhile.
const RATE: u32 = 1_000;
const FAR: Duration = Duration::from_millis(150);
/// How long a million jobs may take to freeze.
const FREEZE: Duration = Duration::from_secs(120);

/// Moves the cursor of a list up and down: on a quiet database, under inserts, while a filter is scanned for, far away,
/// and while jobs are replayed. `copy` is written to.
pub fn measure(bench: &Bench<'_>, copy: &str, slices: &mut Slices) -> Table {
    let keys = if bench.small { 12 } else { 300 };
    let mut table = Table::new(format!("8. From a key to its frame, 140 x 45, {} rows in the table", bench.rows));
    let mut quiet = console(copy, &[]);
    quiet.wait("bars, rows and a job", is_useful);
    enter_list(&mut quiet);
    table.add(answered("while polling", moves(&mut quiet, keys, PAUSE)));
    if bench.is_postgres() {
        let writers = Writers::start(copy, bench.baseline(), RATE);
        table.add(answered(&format!("while polling at {RATE} inserts/s"), moves(&mut quiet, keys, PAUSE)));
        writers.stop();
    }
    drop(quiet);
    table.add(scanning(bench, copy, keys));
    if bench.is_postgres() {
        let wire = Wire::to(copy, FAR);
        let mut far = console(&wire.url, &[]);
        far.wait("bars, rows and a job", is_useful);
        enter_list(&mut far);
        let name = format!("with the database {} away", told(FAR));
        table.add(answered(&name, moves(&mut far, keys, PAUSE)));
    }
    match slices.take(million::jobs(bench), false) {
        Ok(slice) => replaying(bench, copy, &slice.filter(), keys, &mut table),
        Err(reason) => table.add(Line::new("while replaying", reason)),
    }
    table
}

fn answered(name: &str, (sample, lost): (Sample, usize)) -> Line {
    let reached = lost == 0 && sample.quantile(0.99) < FRAME;
    Line::new(format!("{name}, p50 / p99 / longest"), sample.quantiles())
        .aim(format!("p99 under {}", told(FRAME)), reached)
        .because(format!(
            "{} keys{}",
            sample.len(),
            if lost > 0 { format!("; {lost} never answered") } else { String::new() }
        ))
}

/// While a filter is scanned for that few jobs match, so that the list is never full and the scan goes on.
fn scanning(bench: &Bench<'_>, copy: &str, keys: usize) -> Line {
    let wanted = match bench.rows {
        // One row in a hundred thousand, the newest of them near the top; every fiftieth would be resolved.
        1_000_000.. => format!("args.1.amount_cents:{}", u64::from(bench.rows - 1_001) * 37 % 100_000),
        _ => "args:Payment/10".to_owned(),
    };
    let mut pty = console(copy, &["-f", &wanted]);
    let (mut sample, mut lost) = (Sample::default(), 0);
    let found = pty.seen_within(FREEZE, |screen| screen.below("time UTC", 2).len() >= 6);
    if !found {
        return Line::new("while scanning", "no rows came").aim(format!("p99 under {}", told(FRAME)), false);
    }
    enter_list(&mut pty);
    let each = if bench.is_large() { keys } else { 10 };
    for _ in 0..keys.div_ceil(each) {
        // A smaller table is read through in a moment: then it is read again, and no key moves anything before its first
        // rows are there.
        if !pty.see(|screen| screen.contains("scanned ")) {
            pty.send("r");
            pty.seen_within(FREEZE, |screen| screen.below("time UTC", 2).len() >= 6);
        }
        let (some, unanswered) = moves(&mut pty, each, PAUSE);
        sample.extend(some);
        lost += unanswered;
    }
    answered("while scanning", (sample, lost))
}

fn replaying(bench: &Bench<'_>, copy: &str, filter: &str, keys: usize, table: &mut Table) {
    let mut pty = operator(copy, filter);
    pty.wait("rows and a job", |screen| screen.contains("Arguments") && screen.contains(" match"));
    enter_list(&mut pty);
    pty.send("A");
    pty.wait_for_text("ALL marked");
    let began = Instant::now();
    pty.send("R");
    let planned = |screen: &Screen<'_>| number_to_type(screen).is_some() || screen.contains("[ n No ]");
    if !pty.seen_within(FREEZE, planned) {
        table.add(Line::new("while replaying", "no plan came").aim("a plan", false));
        return;
    }
    let frozen = began.elapsed();
    confirm(&mut pty);
    pty.wait("the run", |screen| screen.contains("Esc hide") || screen.contains("Receipt of"));
    pty.press_until("<Esc>", "the list", |screen| !screen.contains("Esc hide"));
    let (sample, lost) = moves(&mut pty, keys, PAUSE);
    let goes_on = !pty.see(|screen| screen.contains("Receipt of"));
    table.add(answered("while replaying", (sample, lost)));
    let (now, most) = (memory(pty.pid()), peak_memory(pty.pid()));
    let jobs = million::jobs(bench);
    table.add(
        Line::new(
            format!("memory with {} rows open and a run of {jobs} going", bench.rows),
            format!("{most:.0} MB at the most"),
        )
        .aim(format!("under {MEMORY:.0} MB"), most < MEMORY)
        .because(format!(
            "{now:.0} MB in the end; the plan was there after {}{}",
            told(frozen),
            if goes_on { "" } else { "; the run had come to its end" }
        )),
    );
}

/// The number that the plan asks for.
fn number_to_type(screen: &Screen<'_>) -> Option<String> {
    let rows = screen.rows();
    let number = rows.iter().find_map(|row| row.split("Type ").nth(1)?.split(" and press").next())?;
    Some(number.chars().filter(char::is_ascii_digit).collect())
}

fn confirm(pty: &mut Pty) {
    match pty.see(number_to_type) {
        // Keys that come before the plan has stood there for a moment do not count: all of it is typed again.
        Some(number) => {
            let again = "<Backspace>".repeat(number.len());
            let keys = format!("{again}{number}<Enter>");
            pty.press_until(&keys, "that the plan is taken", |screen| number_to_type(screen).is_none());
        }
        None => pty.press_until("y", "that the plan is taken", |screen| !screen.contains("[ n No ]")),
    }
}
