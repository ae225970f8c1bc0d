//! What the program takes that is only open: memory, the processor, the wire to the terminal; and the size of things.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::fingerprints::MEMORY;
use crate::frames::frames;
use crate::process::{PROGRAM, cpu_time, memory, peak_memory};
use crate::pty::Pty;
use crate::sample::{Sample, told};
use crate::screen::{console, enter_list, is_useful};
use crate::table::{Line, Table};

/// For how long a console says nothing that has come to rest, and how long that is waited for. Behind a count a look may be ten
/// seconds away, as the watch pays for it.
const REST: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(180);
/// Moves of the cursor whose bytes are counted.
const MOVES: usize = 10;
/// Bytes that a move may send to the terminal.
const MOVE: usize = 1_500;
const VERSION: Duration = Duration::from_millis(10);
/// Megabytes that the program's file may have.
const FILE: f64 = 15.0;

/// Watches a console that nobody touches, then moves its cursor.
pub fn measure(bench: &Bench<'_>) -> Table {
    let mut table = Table::new("8. and 9. Footprint");
    let mut pty = console(bench.many, &[]);
    pty.wait("bars, rows and a job", is_useful);
    table.add(match settled(bench, &pty) {
        Some(after) => Line::new("at rest, the exact counts with it, after", told(after)),
        None => Line::new("at rest, the exact counts with it, after", format!("more than {}", told(PATIENCE))),
    });
    untouched(bench, &pty, &mut table);
    let most = peak_memory(pty.pid());
    table.add(
        Line::new(format!("memory with {} rows open", bench.rows), format!("{most:.0} MB at the most"))
            .aim(format!("under {MEMORY:.0} MB"), most < MEMORY)
            .because(format!("{:.0} MB in the end", memory(pty.pid()))),
    );
    table.add(moved(&mut pty));
    let (shown, outside) = frames(&pty.raw());
    table.add(
        Line::new("frames that the terminal shows in one piece", format!("{shown} of {shown}"))
            .aim("all", shown > 0 && outside < 200)
            .because(format!("{outside} bytes outside of any: entering the screen, its title")),
    );
    let version = |_| {
        let began = Instant::now();
        let status = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "--version failed");
        began.elapsed()
    };
    let versions: Sample = (0..21).map(version).collect();
    table.add(
        Line::new("--version", versions.told()).aim(format!("under {}", told(VERSION)), versions.median() < VERSION),
    );
    let size = Path::new(PROGRAM).metadata().map_or(0.0, |meta| meta.len() as f64 / 1e6);
    table.add(
        Line::new("the program's file", format!("{size:.2} MB"))
            .aim(format!("under {FILE:.0} MB"), size < FILE)
            .because(if cfg!(debug_assertions) { "a debug build" } else { "bench profile" }),
    );
    table
}

/// When the console wrote for the last time before it came to rest; nothing where it never does.
fn settled(bench: &Bench<'_>, pty: &Pty) -> Option<Duration> {
    let rest = if bench.small { REST / 5 } else { REST };
    let began = Instant::now();
    let (mut length, mut since) = (pty.raw_len(), began);
    while began.elapsed() < PATIENCE {
        std::thread::sleep(rest / 20);
        if pty.raw_len() != length {
            (length, since) = (pty.raw_len(), Instant::now());
        } else if since.elapsed() >= rest {
            return Some(since - began);
        }
    }
    None
}

/// A minute in which nothing changes.
fn untouched(bench: &Bench<'_>, pty: &Pty, table: &mut Table) {
    let span = Duration::from_secs(if bench.small { 2 } else { 60 });
    let meter = bench.meter(bench.many);
    meter.reset();
    let (cpu, wrote) = (cpu_time(pty.pid()), pty.raw_len());
    std::thread::sleep(span);
    let (cpu, wrote) = (cpu_time(pty.pid()) - cpu, pty.raw_len() - wrote);
    let cost = meter.read();
    let seconds = span.as_secs_f64();
    let share = cpu.as_secs_f64() / seconds * 100.0;
    table.add(
        Line::new("an untouched console, processor", format!("{share:.2} % of a core"))
            .aim("under 1 %", share < 1.0)
            .because(format!("over {seconds:.0} s")),
    );
    table.add(Line::new("an untouched console, to the terminal", format!("{wrote} bytes")).aim("none", wrote == 0));
    if meter.counts() {
        table.add(
            Line::new("an untouched console, to the database", format!("{:.2} ms a second", cost.ms / seconds))
                .because(format!(
                    "{:.1} buffers and {:.1} statements a second",
                    cost.buffers as f64 / seconds,
                    cost.statements as f64 / seconds
                )),
        );
    }
}

/// What a move of the cursor sends to the terminal, the job that it opens included.
fn moved(pty: &mut Pty) -> Line {
    enter_list(pty);
    let before = pty.raw_len();
    for _ in 0..MOVES {
        pty.send("j");
        std::thread::sleep(Duration::from_millis(200));
    }
    let bytes = (pty.raw_len() - before) / MOVES;
    Line::new("a move of the cursor", format!("{bytes} bytes"))
        .aim(format!("under {MOVE} bytes"), bytes < MOVE)
        .because("to the terminal at 140 x 45, the job that it opens included")
}
