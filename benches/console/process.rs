//! The shipped program as a process: what it takes of the machine.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program as it is shipped.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_dlq-tui");
/// A config with the live table as the destination of a replay.
pub const CONFIG: &str = "[sources.bench]\nurl_env = \"DATABASE_URL\"\nreplay = { table = \"jobs\" }\n";
/// How often the program's memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What a command of the program took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub time: Duration,
    /// Resident memory at its height, in MB.
    pub memory: f64,
}

/// Runs a command of the program on a database, in an empty home.
pub fn run(url: &str, arguments: &[&str]) -> Spent {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join(".config/dlq-tui");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("config.toml"), CONFIG))
        .expect("a config");
    let began = Instant::now();
    let mut child = Command::new(PROGRAM)
        .args(["--source", "bench"])
        .args(arguments)
        .env_clear()
        .env("HOME", home.path())
        .env("DATABASE_URL", url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{PROGRAM}: {e}"));
    // Progress may be written there, and nobody may wait for a reader.
    let mut stderr = child.stderr.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        said
    });
    let mut memory = 0.0_f64;
    loop {
        memory = memory.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait().unwrap_or_else(|e| panic!("{e}")) {
            let time = began.elapsed();
            let said = reader.join().unwrap_or_default();
            assert!(status.success(), "{arguments:?} failed: {status}: {said}");
            return Spent { time, memory };
        }
        std::thread::sleep(LOOK);
    }
}

/// Resident memory at its height, in MB.
pub fn peak_memory(pid: u32) -> f64 {
    megabytes(pid, "VmHWM")
}

/// Resident memory, in MB.
pub fn memory(pid: u32) -> f64 {
    megabytes(pid, "VmRSS")
}

fn megabytes(pid: u32, key: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let kib: f64 = line.trim_matches([':', '\t', ' ']).split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}

/// Time on the processor so far, in hundredths of a second.
pub fn cpu_time(pid: u32) -> Duration {
    ticks(&stat(&pid.to_string()), [11, 12])
}

/// The same of all that a process has started, whether or not it still runs.
pub fn cpu_time_below(pid: u32) -> Duration {
    let ended = ticks(&stat(&pid.to_string()), [13, 14]);
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.map(|process| stat(&process.file_name().to_string_lossy()));
    let children = stats.filter(|fields| fields.get(1).and_then(|parent| parent.parse().ok()) == Some(pid));
    ended + children.map(|fields| ticks(&fields, [11, 12])).sum::<Duration>()
}

/// What the system says of a process, from its state on.
fn stat(pid: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
}

fn ticks(fields: &[String], places: [usize; 2]) -> Duration {
    let ticks: u64 = places.iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
