//! Faults of servers and of the way to them while a run goes on: whatever breaks, each job is replayed once.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{self, Carries, Engine, Server, TestDb, Wire};

const JOBS: u32 = 40_000;

/// The longest that anything here may take; only a broken test does.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is done to a server and its sessions while jobs are replayed.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It is killed, and started again.
    Killed,
    /// It stands still for longer than any deadline.
    Paused,
    /// An administrator ends every session, again and again.
    Terminated,
    /// An administrator stops every statement, again and again.
    Cancelled,
}

impl Fault {
    async fn happen(self, server: &Server, db: &TestDb) {
        match self {
            Fault::Killed => {
                server.kill();
                server.start();
            }
            Fault::Paused => {
                server.pause();
                tokio::time::sleep(Duration::from_secs(30)).await;
                server.resume();
            }
            Fault::Terminated => self.each_session(db, 3).await,
            Fault::Cancelled => self.each_session(db, 20).await,
        }
    }

    async fn each_session(self, db: &TestDb, times: usize) {
        for _ in 0..times {
            let (ends, ours) = (matches!(self, Fault::Terminated), "application_name like 'dlq-tui%'");
            match db.engine {
                Engine::Postgres => {
                    let act = if ends { "pg_terminate_backend" } else { "pg_cancel_backend" };
                    db.column(&format!("select {act}(pid)::text from pg_stat_activity where {ours}")).await;
                }
                _ => {
                    let others =
                        "select id from information_schema.processlist where id <> connection_id() and db = database()";
                    for id in db.column(&format!("select cast(id as char) from ({others}) as p")).await {
                        // Whoever has left since is not there to be killed.
                        let _ =
                            db.try_execute(&format!("kill {} {id}", if ends { "connection" } else { "query" })).await;
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A replay of all jobs that has begun to commit.
async fn begun(user: &User, db: &TestDb) -> Child {
    let child = user
        .command(&["replay", "--all", "--yes", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let limit = Instant::now() + PATIENCE;
    while db.count("jobs").await == 0 {
        assert!(Instant::now() < limit, "the run never began");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    child
}

/// The end of a process, which must come by itself.
fn ended(mut child: Child) -> Ended {
    let limit = Instant::now() + PATIENCE;
    while child.try_wait().expect("a state").is_none() {
        if Instant::now() > limit {
            let _ = child.kill();
            panic!("it hangs: {}", Ended::from(child.wait_with_output().expect("an end")).err);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ended::from(child.wait_with_output().expect("an end"))
}

/// What was not brought to its end is gone on with, by what the run itself says to type; then every job was replayed once.
async fn is_replayed_once(user: &User, db: &TestDb, first: Ended, told: &str) {
    let mut state = first;
    let mut tries = 0;
    loop {
        let receipt: Value = serde_json::from_str(&state.out).unwrap_or_else(|e| panic!("{told}: {e}: {}", state.err));
        let count = |key: &str| receipt[key].as_u64().unwrap_or_default();
        let sum = ["done", "skipped", "failed", "in_doubt", "not_started"].map(count).iter().sum::<u64>();
        assert_eq!(sum, u64::from(JOBS), "{told}: {receipt}");
        if state.code == 0 {
            assert_eq!(count("done"), u64::from(JOBS), "{told}: {receipt}");
            break;
        }
        assert!(state.err.contains("dlq-tui resume"), "{told}: {}", state.err);
        tries += 1;
        assert!(tries < 5, "{told}: {}", state.err);
        state = user.run(&["resume", receipt["run"].as_str().expect("a run"), "--yes", "-o", "json"]);
    }
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (u64::from(JOBS), 0), "{told}");
    let once = db.count("(select distinct cast(payload as char(900)) from jobs) as p").await;
    assert_eq!(once, u64::from(JOBS), "{told}");
}

/// Every fault on a server, each on a database of its own.
async fn survives(server: &Server, faults: &[Fault]) {
    for fault in faults {
        let db = server.database(&format!("faults {fault:?}")).await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let user = User::of(&db);
        let run = begun(&user, &db).await;
        fault.happen(server, &db).await;
        let told = format!("{:?} {fault:?}", db.engine);
        is_replayed_once(&user, &db, ended(run), &told).await;
    }
}

#[tokio::test]
async fn a_run_on_postgres_loses_nothing_whatever_happens_to_the_server() {
    // It would lose its last commits with the kill; we ask it not to.
    let Some(server) = harness::private_postgres() else { return };
    survives(&server, &[Fault::Killed, Fault::Terminated, Fault::Cancelled, Fault::Paused]).await;
}

#[tokio::test]
async fn a_run_on_mariadb_loses_nothing_whatever_happens_to_the_server() {
    let Some(server) = harness::careful_mariadb() else { return };
    survives(&server, &[Fault::Killed, Fault::Terminated, Fault::Cancelled, Fault::Paused]).await;
}

#[tokio::test]
async fn a_run_over_a_line_that_falls_silent_drips_or_is_cut_loses_nothing() {
    let Some(server) = harness::postgres() else { return };
    for told in ["silent", "dripping", "cut"] {
        let db = server.database(&format!("line {told}")).await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let wire = Wire::to(&db.url, Duration::ZERO);
        let user = User::with_url(&wire.url);
        let run = begun(&user, &db).await;
        match told {
            "silent" => wire.carry(Carries::Nothing),
            "dripping" => wire.carry(Carries::Drops),
            _ => wire.cut(),
        }
        tokio::time::sleep(Duration::from_secs(4)).await;
        wire.carry(Carries::All);
        is_replayed_once(&user, &db, ended(run), told).await;
    }
}
