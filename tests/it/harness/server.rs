//! A database server: one that we started and may torment, or one given by URL.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::database::{Engine, TestDb};
use super::machine::{self, Account};
use super::process::Process;

/// Generous, because it only bounds how long a broken start takes to be noticed.
const START_LIMIT: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A server on which tests make databases.
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    /// The URL of the database from which others are created.
    admin_url: String,
    own: Option<Mutex<Own>>,
}

impl Server {
    /// A server that somebody else runs. It cannot be stopped, and databases made on it are dropped.
    pub fn external(engine: Engine, admin_url: String) -> Self {
        Self { engine, admin_url, own: None }
    }

    /// A server that was started for the tests.
    pub(super) fn own(engine: Engine, admin_url: String, own: Own) -> Self {
        Self { engine, admin_url, own: Some(Mutex::new(own)) }
    }

    /// The URL of the database from which others are created.
    pub(super) fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        let port = |url: &str| url.rsplit_once('@')?.1.split('/').next()?.rsplit_once(':')?.1.parse().ok();
        port(&self.admin_url).unwrap_or_else(|| panic!("no port in {}", self.admin_url))
    }

    /// A database of another server's as it stands on this one, which follows it.
    pub fn follow(&self, db: &TestDb) -> TestDb {
        TestDb::existing(self.engine, &self.admin_url, db.name())
    }

    /// The only database of a server that has no others.
    pub fn only_database(&self) -> TestDb {
        TestDb::existing(self.engine, &self.admin_url, "postgres")
    }

    /// Makes an empty database. `name` only helps to recognise it: each call makes another.
    pub async fn database(&self, name: &str) -> TestDb {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let word: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
        let unique = format!("dlq_{}_{count}_{}", std::process::id(), word.to_lowercase());
        TestDb::create(self.engine, &self.admin_url, &unique, self.own.is_none()).await
    }

    /// The database of this name, which is made where the server has none.
    #[allow(dead_code, reason = "the bench finds what it made before")]
    pub async fn named(&self, name: &str) -> TestDb {
        TestDb::named(self.engine, &self.admin_url, name).await
    }

    /// Stops the server as an administrator would, ending open connections.
    pub fn stop(&self) {
        let mut own = self.require_own();
        let signal = own.plan.stop_signal;
        own.process.end(signal);
    }

    /// Ends the server without any goodbye, as a power cut would.
    pub fn kill(&self) {
        self.require_own().process.kill();
    }

    /// Starts a stopped or killed server again, on the same port with the same data, and waits until it answers.
    pub fn start(&self) {
        let mut own = self.require_own();
        assert!(!own.process.is_running(), "start: the server runs already");
        let deadline = Instant::now() + START_LIMIT;
        own.process = loop {
            match own.plan.run() {
                Ok(process) => break process,
                // Behind a kill its sessions may hold the server's memory for a moment longer, and it refuses to start.
                Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                Err(reason) => panic!("the server does not start again: {reason}"),
            }
        };
    }

    /// Freezes the server: connections stay open and nothing answers, as when a network path dies.
    pub fn pause(&self) {
        self.require_own().process.signal_all("STOP");
    }

    /// Ends [`Server::pause`].
    pub fn resume(&self) {
        self.require_own().process.signal_all("CONT");
    }

    /// What a server that was started here has written to its log so far.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.require_own().plan.folder.join("server.log"));
        String::from_utf8_lossy(&log.expect("a log")).into_owned()
    }

    fn require_own(&self) -> MutexGuard<'_, Own> {
        let own = self.own.as_ref().expect("a server given by URL is not ours to stop");
        own.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// How to run a server whose data folder exists.
#[derive(Debug)]
pub struct Plan {
    pub folder: PathBuf,
    pub account: Account,
    pub command: Vec<OsString>,
    /// Ends it in order.
    pub stop_signal: &'static str,
    /// Ends it at once when the tests are gone.
    pub last_signal: &'static str,
    pub port: u16,
    pub is_ready: fn(&Plan, &Process) -> bool,
}

impl Plan {
    /// Starts the server and waits until it answers.
    pub fn run(&self) -> Result<Process, String> {
        let mut process = Process::start(&self.folder, self.account, self.last_signal, &self.command)
            .map_err(|e| format!("cannot start {:?}: {e}", self.command.first()))?;
        let deadline = Instant::now() + START_LIMIT;
        while !(self.is_ready)(self, &process) {
            if !process.is_running() || Instant::now() > deadline {
                process.end("KILL");
                return Err(format!("{:?} did not come up: {}", self.command.first(), log_tail(&self.folder)));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(process)
    }
}

/// A server that was started here; ends, and takes its folder along, when dropped.
#[derive(Debug)]
pub struct Own {
    plan: Plan,
    process: Process,
}

impl Own {
    /// Starts the server that `plan` builds for a free port; asks for another port when somebody else was quicker.
    pub fn start(plan: impl Fn(u16) -> Plan) -> Result<(Self, u16), String> {
        let mut last = String::new();
        for _ in 0..3 {
            let port = machine::free_port()?;
            let plan = plan(port);
            match plan.run() {
                Ok(process) => return Ok((Self { plan, process }, port)),
                Err(reason) => last = reason,
            }
        }
        Err(last)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.process.signal_all("CONT");
        self.process.end(self.plan.last_signal);
        let _ = std::fs::remove_dir_all(&self.plan.folder);
    }
}

/// Runs a command that prepares a data folder; its own words are the reason when it fails.
pub fn prepare(mut command: std::process::Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{command:?} failed: {}", last_lines(&String::from_utf8_lossy(&said))))
}

fn log_tail(folder: &Path) -> String {
    let log = std::fs::read(folder.join("server.log")).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(&log))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
