//! A server's process, which cannot outlive the test binary.
//!
//! A small shell stands between: it reads from a pipe whose other end only the test binary holds. A line is a signal to
//! pass on; the end of the pipe means that the binary is gone, even by `kill -9`, and takes server and folder with it.
//! (The kernel's parent-death signal would not do: it fires when the *thread* that spawned ends, which is the first test.)

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal as listen_to};

use super::machine::Account;

/// `$1` is the folder to remove, `$2` the signal for when the tests are gone, the rest the server's command line.
const WATCHDOG: &str = r#"
folder=$1; last=$2; shift 2
exec 3<&0 </dev/null
"$@" 3<&- >>"$folder/server.log" 2>&1 &
server=$!
{
    if ! read -r signal <&3; then
        signal=$last
        : >"$folder/orphaned"
    fi
    kill -s "$signal" $server
    kill -s CONT $server
} 2>/dev/null &
guard=$!
wait $server
kill $guard 2>/dev/null
if [ -e "$folder/orphaned" ]; then rm -rf "$folder"; fi
"#;

/// A running server under its watchdog.
#[derive(Debug)]
pub struct Process {
    watchdog: Child,
}

impl Process {
    /// Starts `command`. `last_signal` ends it when the test binary is gone.
    pub fn start(folder: &Path, account: Account, last_signal: &str, command: &[OsString]) -> std::io::Result<Self> {
        default_signals_for_children();
        let mut shell = account.command("sh", folder);
        shell.args(["-c", WATCHDOG, "dlq-test-watchdog"]).arg(folder).arg(last_signal).args(command);
        // A group of its own: Ctrl-C in the developer's terminal is for the tests, and the servers end with them.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self { watchdog: shell.spawn()? })
    }

    /// Whether the server still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.watchdog.try_wait(), Ok(None))
    }

    /// Whether `pid` is the server or a child of it.
    pub fn owns(&self, pid: u32) -> bool {
        self.pids().contains(&pid)
    }

    /// Sends the server `signal_name` and waits until it is gone.
    pub fn end(&mut self, signal_name: &str) {
        let mut pipe = self.watchdog.stdin.take();
        if let Some(pipe) = pipe.as_mut() {
            let _ = writeln!(pipe, "{signal_name}");
        }
        // The pipe stays open meanwhile: its end would mean that the folder can go too.
        let _ = self.watchdog.wait();
        drop(pipe);
    }

    /// Kills the server and all its children at once, as a power cut would.
    pub fn kill(&mut self) {
        let pipe = self.watchdog.stdin.take();
        signal(&self.pids(), "KILL");
        let _ = self.watchdog.wait();
        drop(pipe);
    }

    /// Sends a signal to the server and all its children: `STOP` and `CONT` freeze and thaw it.
    pub fn signal_all(&self, signal_name: &str) {
        signal(&self.pids(), signal_name);
    }

    /// The server and its children, without the watchdog's shells: those must live to clean up.
    fn pids(&self) -> Vec<u32> {
        let processes = process_table();
        let mut found = vec![self.watchdog.id()];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(processes.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        found.retain(|pid| processes.get(pid).is_some_and(|process| process.name != "sh" && process.name != "dash"));
        found
    }
}

/// Lets children start with the default for every signal, also where the tests were started with some of them ignored, as by
/// `nohup` or by a shell's `&`. Children inherit that a signal is ignored, and do not inherit a handler; the one that is set
/// here does nothing, so that the tests still ignore what they were told to.
pub fn default_signals_for_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // In a thread of its own: a runtime may not end within another one.
        let worker = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
            let _guard = runtime.enter();
            for number in ignored_signals() {
                // A handler that cannot be set leaves the signal ignored.
                let _ = listen_to(SignalKind::from_raw(number));
            }
        });
        let _ = worker.join();
    });
}

/// The numbers of the signals that this process ignores, but for SIGPIPE: every Rust program does, and not its children.
pub fn ignored_signals() -> Vec<i32> {
    const SIGPIPE: i32 = 13;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    (1..=31).filter(|number| *number != SIGPIPE && mask.unwrap_or(0) >> (number - 1) & 1 == 1).collect()
}

/// Sends a signal by name (`TERM`) through the shell's own `kill`; processes that are gone are ignored.
pub fn signal(pids: &[u32], signal_name: &str) {
    if pids.is_empty() {
        return;
    }
    let pids = pids.iter().map(u32::to_string);
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"signal=$1; shift; kill -s "$signal" "$@""#, "sh", signal_name]).args(pids);
    let _ = shell.stderr(Stdio::null()).status();
}

/// Whether a process with this id exists and is not merely waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    process_table().get(&pid).is_some_and(|process| process.state != 'Z')
}

struct ProcessEntry {
    parent: u32,
    state: char,
    name: String,
}

fn process_table() -> HashMap<u32, ProcessEntry> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // pid (name) state parent …, where the name may hold spaces and parentheses
            let (head, tail) = stat.rsplit_once(')')?;
            let (_, name) = head.split_once('(')?;
            let mut fields = tail.split_whitespace();
            let state = fields.next()?.chars().next()?;
            let parent = fields.next()?.parse().ok()?;
            Some((pid, ProcessEntry { parent, state, name: name.to_owned() }))
        })
        .collect()
}
