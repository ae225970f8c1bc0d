//! Faults of servers and of the way to them while a run goes on: whatever breaks, each job is replayed once.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};

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
    /// Others take every place for sessions, also ours.
    Crowded,
    /// Whoever has no statement to run is shown the door at once, and no statement may take long, unless it asks for more.
    Impatient,
}

const FAULTS: &[Fault] =
    &[Fault::Killed, Fault::Terminated, Fault::Cancelled, Fault::Crowded, Fault::Impatient, Fault::Paused];

impl Fault {
    /// It comes over `db` from `other`, a database of the same server that it spares.
    async fn happen(self, server: &Server, db: &TestDb, other: &TestDb) {
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
            Fault::Terminated => self.each_session(db, other, 3).await,
            Fault::Cancelled => self.each_session(db, other, 20).await,
            Fault::Crowded => match db.engine {
                Engine::Postgres => crowd_out::<PgConnection>(other, db).await,
                _ => crowd_out::<MySqlConnection>(other, db).await,
            },
            Fault::Impatient => {
                let (settings, back): (&[&str], _) = match db.engine {
                    Engine::Postgres => (
                        &[
                            "statement_timeout = 50",
                            "idle_in_transaction_session_timeout = 5",
                            "idle_session_timeout = 5",
                        ],
                        format!("alter database {} reset all", db.name()),
                    ),
                    _ => (
                        &["max_statement_time = 0.05", "idle_transaction_timeout = 1", "wait_timeout = 1"],
                        // Whoever sets it back is given no time either, but for this.
                        [
                            "set max_statement_time = 0",
                            "set global max_statement_time = default",
                            "set global idle_transaction_timeout = default",
                            "set global wait_timeout = default",
                        ]
                        .join("; "),
                    ),
                };
                let to = match db.engine {
                    Engine::Postgres => format!("alter database {} set", db.name()),
                    _ => "set global".to_owned(),
                };
                let all: Vec<String> = settings.iter().map(|setting| format!("{to} {setting}")).collect();
                other.execute(&all.join("; ")).await;
                // Only who comes anew has them.
                Fault::Terminated.each_session(db, other, 1).await;
                tokio::time::sleep(Duration::from_secs(3)).await;
                other.execute(&back).await;
            }
        }
    }

    async fn each_session(self, db: &TestDb, other: &TestDb, times: usize) {
        let (ends, name) = (matches!(self, Fault::Terminated), db.name());
        for _ in 0..times {
            match db.engine {
                Engine::Postgres => {
                    let act = if ends { "pg_terminate_backend" } else { "pg_cancel_backend" };
                    let ours = format!("datname = '{name}' and application_name like 'dlq-tui%'");
                    other.column(&format!("select {act}(pid)::text from pg_stat_activity where {ours}")).await;
                }
                _ => {
                    let ours = format!("select id from information_schema.processlist where db = '{name}'");
                    let each = format!("select cast(id as char) from ({ours}) as p");
                    // What is set for all sessions is not meant for this one.
                    for id in other.column(&format!("set max_statement_time = 0; {each}")).await {
                        let kill = format!("kill {} {id}", if ends { "connection" } else { "query" });
                        // Whoever has left since is not there to be killed.
                        let _ = other.try_execute(&format!("set max_statement_time = 0; {kill}")).await;
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Takes all places of a server until none of the sessions in `db` is left, and keeps them for a while.
async fn crowd_out<C>(other: &TestDb, db: &TestDb)
where
    C: Connection,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
{
    let name = db.name();
    let (ours, end) = match db.engine {
        Engine::Postgres => {
            let ours = format!("select pid from pg_stat_activity where datname = '{name}'");
            (ours.clone(), format!("select pg_terminate_backend(pid) from ({ours}) as ours"))
        }
        _ => {
            let ours = format!("select id from information_schema.processlist where db = '{name}'");
            (ours.clone(), format!("begin not atomic for one in ({ours}) do kill connection one.id; end for; end"))
        }
    };
    let mut crowd: Vec<C> = vec![C::connect(&other.url).await.expect("a place")];
    for _ in 0..200 {
        while let Ok(one) = C::connect(&other.url).await {
            crowd.push(one);
        }
        let one = crowd.first_mut().expect("somebody");
        if one.fetch_all(AssertSqlSafe(ours.clone())).await.expect("the sessions").is_empty() {
            return tokio::time::sleep(Duration::from_secs(3)).await;
        }
        // Whoever has left since is not there to be ended.
        let _ = one.execute(AssertSqlSafe(end.clone())).await;
    }
    panic!("they always find a place");
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

/// Why a job of `jobs_dlq` stays in doubt where neither the database nor the source's ledger knows how its batch ended.
const UNTOLD: &str = "in doubt: interrupted, and the row is gone since: replayed, or removed by somebody else";

/// Where the runs of a test are recorded.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    /// In a file of the user's own.
    Local,
    /// In the source, along with the effect.
    Source,
}

/// What was not brought to its end is gone on with, by what the run itself says to type; then every job was replayed once,
/// and the receipt says so of all of them, unless `may_doubt` those whose session was ended around their commit.
async fn is_replayed_once(user: &User, db: &TestDb, first: Ended, may_doubt: bool, told: &str) {
    let mut state = first;
    let mut tries = 0;
    loop {
        let receipt: Value = serde_json::from_str(&state.out).unwrap_or_else(|e| panic!("{told}: {e}: {}", state.err));
        let count = |key: &str| receipt[key].as_u64().unwrap_or_default();
        let failed = receipt["failed"].as_array().expect("reasons");
        let untold: u64 = failed.iter().filter(|it| it["reason"] == UNTOLD).filter_map(|it| it["n"].as_u64()).sum();
        assert_eq!(
            (&receipt["skipped"], failed.len()),
            (&Value::Array(Vec::new()), usize::from(untold > 0)),
            "{receipt}"
        );
        assert!(untold == 0 || may_doubt, "{told}: {receipt}");
        let sum = ["done", "in_doubt", "not_started"].map(count).iter().sum::<u64>() + untold;
        assert_eq!(sum, u64::from(JOBS), "{told}: {receipt}");
        if receipt["state"] == "finished" {
            assert_eq!(count("done") + untold, u64::from(JOBS), "{told}: {receipt}");
            assert_eq!(state.code == 0, untold == 0, "{told}: {}", state.err);
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
async fn survives(server: &Server, faults: &[Fault], home: Home) {
    for fault in faults {
        let db = server.database(&format!("faults {fault:?}")).await;
        let other = server.database(&format!("beside {fault:?}")).await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let user = User::of(&db);
        if home == Home::Source {
            user.run(&["init", "--ledger", "--yes"]).with(0);
        }
        let run = user.replaying(&db, &[]).await;
        fault.happen(server, &db, &other).await;
        let told = format!("{:?} {fault:?}", db.engine);
        let may_doubt = db.engine == Engine::Mysql && home == Home::Local;
        is_replayed_once(&user, &db, ended(run), may_doubt, &told).await;
    }
}

#[tokio::test]
async fn a_run_on_postgres_loses_nothing_whatever_happens_to_the_server() {
    // It would lose its last commits with the kill; we ask it not to.
    let Some(server) = harness::private_postgres() else { return };
    survives(&server, FAULTS, Home::Local).await;
    survives(&server, &[Fault::Killed, Fault::Terminated, Fault::Cancelled], Home::Source).await;
}

#[tokio::test]
async fn a_run_on_mariadb_loses_nothing_whatever_happens_to_the_server() {
    let Some(server) = harness::careful_mariadb() else { return };
    survives(&server, FAULTS, Home::Source).await;
}

/// MariaDB does not remember how a transaction ended whose session was ended while it committed.
#[tokio::test]
async fn a_run_on_mariadb_that_is_recorded_elsewhere_loses_nothing_and_says_which_jobs_it_doubts() {
    let Some(server) = harness::careful_mariadb() else { return };
    survives(&server, &[Fault::Killed, Fault::Terminated, Fault::Cancelled], Home::Local).await;
}

#[tokio::test]
async fn a_run_over_a_line_that_falls_silent_drips_or_is_cut_loses_nothing() {
    let Some(server) = harness::postgres() else { return };
    for fault in [Carries::Nothing, Carries::Drops, Carries::Anew] {
        let db = server.database(&format!("line {fault:?}")).await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let wire = Wire::to(&db.url, Duration::ZERO);
        let user = User::with_url(&wire.url);
        let run = user.replaying(&db, &[]).await;
        wire.carry(fault);
        tokio::time::sleep(Duration::from_secs(4)).await;
        wire.carry(Carries::All);
        is_replayed_once(&user, &db, ended(run), false, &format!("{fault:?}")).await;
    }
}

/// A primary whose commits are on its standby before they are told, and that standby.
async fn pair() -> Option<(Server, Server)> {
    let primary = harness::guarded_postgres(&["synchronous_commit=on"])?;
    let standby = harness::standby_of(&primary, &["synchronous_commit=on"]);
    let standby = standby.map_err(|why| harness::skip("postgres", &why)).ok()?;
    let db = primary.database("settings").await;
    db.execute("alter system set synchronous_standby_names = '*'").await;
    db.execute("select pg_reload_conf()").await;
    let synced = "select count(*)::text from pg_stat_replication where sync_state = 'sync'";
    let began = Instant::now();
    while db.scalar(synced).await != "1" {
        assert!(began.elapsed() < PATIENCE, "the standby does not follow");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Some((primary, standby))
}

#[tokio::test]
async fn a_run_goes_on_with_the_standby_that_takes_over_and_loses_nothing() {
    let Some((primary, standby)) = pair().await else { return };
    let db = primary.database("failover").await;
    Layout::JobsDlq.seed(&db, JOBS).await;
    db.execute("delete from jobs").await;
    let heir = standby.follow(&db);
    let host = |db: &TestDb| db.url.split(['@', '/']).nth(3).expect("a host").to_owned();
    // The standby first: it is passed over for as long as it is one.
    let both = db.url.replacen(&host(&db), &format!("{},{}", host(&heir), host(&db)), 1);
    let user = User::with_url(&format!("{both}?target_session_attrs=primary"));
    let run = user.replaying(&db, &[]).await;
    primary.kill();
    heir.execute("select pg_promote()").await;
    is_replayed_once(&user, &heir, ended(run), false, "failover").await;
}

#[tokio::test]
async fn a_run_on_sqlite_loses_nothing_while_others_write_and_when_the_file_is_replaced() {
    for is_replaced in [false, true] {
        let db = harness::sqlite("faults").await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let user = User::of(&db);
        let run = user.replaying(&db, &[]).await;
        let mut other = SqliteConnection::connect(&db.url).await.expect("the file");
        other.execute("begin immediate").await.expect("a turn");
        assert!(db.count("jobs_dlq").await > 0, "it was done before anybody else had a turn");
        if is_replaced {
            replace(&db).await;
        } else {
            // For longer than a statement waits.
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        other.execute("rollback").await.expect("an end");
        is_replayed_once(&user, &db, ended(run), false, if is_replaced { "replaced" } else { "busy" }).await;
    }
}

/// Puts a copy of an SQLite file in its place, as one who restores a backup does.
pub async fn replace(db: &TestDb) {
    let file = db.file().expect("a file");
    let copy = file.with_extension("copy");
    db.execute(&format!("vacuum into '{}'", copy.display())).await;
    for beside in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{beside}", file.display()));
    }
    std::fs::rename(copy, file).expect("a file in place of another");
}
