//! An interrupt while the server says nothing, at each moment at which it is waited for.
//!
//! Every deadline of the programs is minutes away: what ends within the time that a test has did not wait for one.

use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, Wire, process};
use crate::pty::Pty;

const PATIENT: &str = "[timeouts]\nconnect = \"10m\"\nstatement = \"10m\"\n";

/// Bounds how long a failure takes.
const LIMIT: Duration = Duration::from_secs(30);

/// Commands, each of which waits for answers of the server.
const COMMANDS: &[&[&str]] = &[
    &["stats"],
    &["list", "-f", "msg:/nowhere/"],
    &["show", "1"],
    &["export"],
    &["replay", "--all", "--dry-run"],
    &["replay", "--all", "--yes"],
    &["check", "--max", "total:9"],
    &["watch", "-o", "jsonl"],
    &["init", "--ledger", "--yes"],
    &["doctor"],
];

/// A program, and what it said on standard error so far.
struct Started {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Started {
    fn with(user: &User, args: &[&str]) -> Self {
        let mut command = user.command(args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut err = child.stderr.take().expect("standard error");
        let said = Arc::<Mutex<String>>::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = err.read(&mut piece) {
                let text = String::from_utf8_lossy(piece.get(..length).unwrap_or_default()).into_owned();
                heard.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Self { child, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a state").is_some()
    }

    /// Waits until the condition holds, or the program has ended; whether it does.
    fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> bool {
        let began = Instant::now();
        loop {
            if condition(self) {
                return true;
            }
            if self.has_ended() {
                return false;
            }
            assert!(began.elapsed() < LIMIT, "{what}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn interrupt(&self) {
        process::signal(&[self.child.id()], "INT");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_command_ends_at_an_interrupt_whatever_it_waits_for() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("interrupts").await;
    Layout::JobsDlq.seed(&db, 50).await;
    db.execute("create table as_they_were as select * from jobs_dlq").await;
    for args in COMMANDS {
        let mut waited = 0;
        // A watch has no end, and waits longer for what is new each time.
        let end = if args.contains(&"watch") { 6 } else { usize::MAX };
        for most in 0..end {
            // Whoever was cut off from the server may hold what the next one needs.
            db.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity \
                 where datname = current_database() and pid <> pg_backend_pid()",
            )
            .await;
            db.execute("truncate jobs, jobs_dlq").await;
            db.execute("insert into jobs_dlq select * from as_they_were").await;
            let wire = Wire::until(&db.url, most);
            let user = User::with_url(&wire.url).configured(PATIENT);
            let mut started = Started::with(&user, args);
            let what = format!("{args:?} after {most} answers");
            if !started.until(&what, |_| wire.said().len() > most) {
                break;
            }
            waited += 1;
            started.interrupt();
            // A run ends after its batch, unless somebody insists.
            if started.until(&what, |started| started.said().contains("a second interrupt")) {
                started.until(&format!("{what}, interrupted twice"), |started| {
                    std::thread::sleep(Duration::from_millis(50));
                    started.interrupt();
                    false
                });
            }
            // The system would have ended it by the signal, without a word.
            assert!(started.child.wait().expect("an end").code().is_some(), "{what}");
        }
        assert!(waited > 1, "{args:?}: {waited}");
    }
}

#[tokio::test]
async fn a_doctor_that_was_interrupted_tells_nothing_of_what_it_did_not_see() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("interrupted doctor").await;
    Layout::JobsDlq.seed(&db, 50).await;
    let wire = Wire::until(&db.url, 2);
    let user = User::with_url(&wire.url).configured(PATIENT);
    let mut command = user.command(&["doctor"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let began = Instant::now();
    while wire.said().len() <= 2 {
        assert!(began.elapsed() < LIMIT, "it never asked");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    process::signal(&[child.id()], "INT");
    let ended = crate::cli::Ended::from(child.wait_with_output().expect("an end"));
    assert_eq!((ended.code, ended.out.as_str(), ended.err.trim()), (1, "", "dlq-tui: cancelled"));
}

#[tokio::test]
async fn a_console_ends_at_an_interrupt_whatever_it_waits_for() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("interrupted console").await;
    Layout::JobsDlq.seed(&db, 50).await;
    for most in 0..8 {
        let wire = Wire::until(&db.url, most);
        let mut pty =
            Pty::console(&[]).env("DATABASE_URL", &wire.url).file(".config/dlq-tui/config.toml", PATIENT).start();
        let began = Instant::now();
        while wire.said().len() <= most {
            assert!(began.elapsed() < LIMIT, "after {most} answers it asks for nothing more\n{}", pty.text());
            std::thread::sleep(Duration::from_millis(2));
        }
        // The first may cancel what is being counted, and says so.
        while !pty.has_ended() {
            assert!(began.elapsed() < LIMIT, "after {most} answers\n{}", pty.text());
            pty.signal("INT");
            pty.ends_within(Duration::from_millis(300));
        }
        pty.wait_for_exit();
        pty.assert_terminal_left_clean();
    }
}
