//! Freezing a whole table into the ledger, by the shipped program: how long it takes, and the memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::baseline::Baseline;
use crate::fixtures::Layout;
use crate::program::{PROGRAM, peak_memory};
use crate::psql::Psql;
use crate::sample::{Sample, ratio};
use crate::table::{Line, Table};

/// How often the program's memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Plans a replay of every dead job `runs` times, in turns with reading the same columns once.
pub fn measure(url: &str, layout: Layout, runs: usize) -> Table {
    let (mut ours, mut theirs, mut memory) = (Sample::default(), Sample::default(), 0.0_f64);
    for _ in 0..runs {
        theirs.push(Psql::new(url).once(&Baseline(layout).cohort_columns()));
        let (took, peak) = plan(url);
        ours.push(took);
        memory = memory.max(peak);
    }
    let jobs = Psql::new(url).print(&[&Baseline(layout).dead_count()]);
    let mut table = Table::new(format!(
        "Freeze of {jobs} jobs into a new ledger, the plan included; baseline: psql reads the same columns and keeps nothing"
    ));
    table.add(
        Line::new("`replay --all --dry-run`, process start included", ours.told())
            .against(theirs.told(), ratio(ours.median(), theirs.median()))
            .because(format!("{memory:.0} MB of memory at the most")),
    );
    table
}

/// How long the program takes to plan a replay of everything, and its memory at the height.
fn plan(url: &str) -> (Duration, f64) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join(".config/dlq-tui");
    let config = "[sources.bench]\nurl_env = \"DATABASE_URL\"\nreplay = { table = \"jobs\" }\n";
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("config.toml"), config))
        .expect("a config");
    let began = Instant::now();
    let mut child = Command::new(PROGRAM)
        .args(["--source", "bench", "replay", "--all", "--dry-run"])
        .env_clear()
        .env("HOME", home.path())
        .env("DATABASE_URL", url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{PROGRAM}: {e}"));
    let mut peak = 0.0_f64;
    loop {
        peak = peak.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait().unwrap_or_else(|e| panic!("{e}")) {
            let mut said = String::new();
            let _ = child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
            assert!(status.success(), "the plan failed: {status}: {said}");
            return (began.elapsed(), peak);
        }
        std::thread::sleep(LOOK);
    }
}
