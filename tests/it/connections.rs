//! What a server sees of us: how many connections, what they are called, and what is set for every statement on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dlq_tui::db::{EngineOptions, Row, Value};
use dlq_tui::store::{Budget, SourceError};
use futures_util::future::join_all;

use crate::cli::User;
use crate::engine::{LONG, connect_as, endless, options, row, sql, until_running};
use crate::fixtures::Layout;
use crate::harness::{self, Server, TestDb};
use crate::pty::Pty;

const SETTINGS: [&str; 4] =
    ["log_connections=on", "log_disconnections=on", "log_statement=all", "log_line_prefix=%p|%d|%a|"];

/// A line of the server's log.
struct Line<'a> {
    pid: &'a str,
    database: &'a str,
    program: &'a str,
    said: String,
}

/// The log's lines, each with those that belong to it.
fn lines(log: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for text in log.lines() {
        let mut parts = text.splitn(4, '|');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(pid), Some(database), Some(program), Some(said)) if pid.parse::<u32>().is_ok() => {
                lines.push(Line { pid, database, program, said: said.to_owned() });
            }
            _ => {
                if let Some(last) = lines.last_mut() {
                    last.said.push('\n');
                    last.said.push_str(text);
                }
            }
        }
    }
    lines
}

/// The most connections that a program had at once, by the name that it gave.
fn most(log: &str, db: &TestDb) -> BTreeMap<String, usize> {
    let (mut open, mut most): (BTreeMap<&str, String>, BTreeMap<String, usize>) = (BTreeMap::new(), BTreeMap::new());
    let lines = lines(log);
    for line in lines.iter().filter(|line| line.database == db.name()) {
        if let Some((_, name)) =
            line.said.split_once("connection authorized:").and_then(|(_, s)| s.split_once("application_name="))
        {
            let name = name.trim().to_owned();
            open.insert(line.pid, name.clone());
            let now = open.values().filter(|other| **other == name).count();
            let entry = most.entry(name).or_default();
            *entry = now.max(*entry);
        } else if line.said.contains("disconnection:") {
            open.remove(line.pid);
        }
    }
    most
}

fn server() -> Option<Server> {
    harness::private_postgres_with(&SETTINGS, None).map_err(|why| harness::skip("postgres", &why)).ok()
}

/// A console that polls, scans, is told to stop scanning, and replays; beside it, commands that do the same.
async fn busy_day(db: &TestDb) {
    Layout::JobsDlq.seed(db, 3_000).await;
    let mut console = Pty::console(&[]).env("DATABASE_URL", &db.url).size(120, 30).start();
    console.wait_for_text("Net::ReadTimeout");
    for needle in ["nowhere", "nothing", "never"] {
        console.send(&format!("/msg:{needle}<Enter>"));
        console.send("<Esc>");
    }
    console.press_until("<Esc>", "no filter any more", |screen| screen.contains("Net::ReadTimeout"));
    console.send("G");
    console.send("g");
    let user = User::of(db);
    user.run(&["replay", "-f", "error:KeyError", "--yes"]).with(0);
    user.run(&["stats", "-f", "msg:/no.*where/"]).with(0);
    let mut watch =
        user.command(&["watch", "--interval", "1s"]).stdout(std::process::Stdio::null()).spawn().expect("starts");
    user.run(&["ignore", "-f", "error:ArgumentError", "--yes"]);
    user.run(&["replay", "--all", "--yes"]).with(0);
    watch.kill().expect("it runs");
    watch.wait().expect("it ends");
    console.signal("TERM");
    console.wait_for_exit();
}

#[tokio::test]
async fn a_program_never_has_more_than_two_connections_beside_those_that_cancel_and_says_which_it_is() {
    let Some(server) = server() else { return };
    let db = server.database("connections").await;
    busy_day(&db).await;
    let mut most = most(&server.log(), &db);
    most.retain(|name, _| !name.ends_with(" cancel"));
    let named: BTreeSet<&str> = most.keys().map(String::as_str).filter(|name| name.starts_with("dlq-tui")).collect();
    let wanted = ["dlq-tui console", "dlq-tui ignore", "dlq-tui replay", "dlq-tui stats", "dlq-tui watch"];
    assert_eq!(named, BTreeSet::from(wanted));
    assert!(most.iter().all(|(name, n)| !name.starts_with("dlq-tui") || *n <= 2), "{most:?}");
    // Nobody else connects by another name than the tests' own.
    assert!(most.contains_key("dlq-tui console") && most.len() <= wanted.len() + 1, "{most:?}");
}

#[tokio::test]
async fn whoever_is_told_to_take_one_connection_takes_one() {
    let Some(server) = server() else { return };
    let db = server.database("onlyone").await;
    Layout::JobsDlq.seed(&db, 500).await;
    let user = User::new().configured(&format!("[sources.shop]\nurl = \"{}\"\nconnections = 1\n", db.url));
    user.run(&["replay", "--all", "--yes"]).with(0);
    assert_eq!(most(&server.log(), &db).get("dlq-tui replay"), Some(&1));
}

/// How often a program of that name has connected.
fn opened(log: &str, db: &TestDb, name: &str) -> usize {
    let ending = format!("application_name={name}");
    lines(log).iter().filter(|line| line.database == db.name() && line.said.trim_end().ends_with(&ending)).count()
}

/// Cancels a statement again and again while `busy` others run, and those in the end; returns the server's log.
async fn cancelled_among(busy: usize, server: &Server, db: &TestDb) -> String {
    let engine = connect_as(db, &EngineOptions { max_connections: busy + 1, ..options() }).await.unwrap();
    let other = Budget::new(LONG);
    // One that goes as a script, as reads do, and one that is prepared.
    let script = sql(&format!("select pg_sleep(7200)::text as {}", db.name()));
    let statements = if busy == 0 { [script] } else { [endless(db)] };
    let others = join_all((0..busy).map(|_| engine.read(&statements, &other)));
    let cancels = async {
        for _ in 0..4 {
            let budget = Budget::new(LONG);
            let canceller = async {
                until_running(db, db.name(), busy + 1).await;
                budget.cancel.cancel();
            };
            let (result, ()) = tokio::join!(engine.read(&statements, &budget), canceller);
            assert!(matches!(result, Err(SourceError::Cancelled)), "{result:?}");
            assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]));
            until_running(db, db.name(), busy).await;
        }
        other.cancel.cancel();
    };
    let (results, ()) = tokio::join!(others, cancels);
    assert!(results.iter().all(|result| matches!(result, Err(SourceError::Cancelled))), "{results:?}");
    until_running(db, db.name(), 0).await;
    engine.close(LONG).await;
    server.log()
}

#[tokio::test]
async fn cancelling_takes_one_connection_for_a_moment_and_costs_none() {
    let Some(server) = server() else { return };
    for busy in [0, 1] {
        let db = server.database(&format!("cancels{busy}")).await;
        let log = cancelled_among(busy, &server, &db).await;
        assert_eq!(opened(&log, &db, "dlq-tui"), busy + 1, "{log}");
        assert_eq!(opened(&log, &db, "dlq-tui cancel"), 4 + busy, "{log}");
        assert!(!log.contains("connection to client lost"), "{log}");
    }
}

#[tokio::test]
async fn a_statement_that_the_server_refuses_to_cancel_loses_its_connection_and_ends() {
    let Some(server) = server() else { return };
    let (db, outside) = (server.database("refused").await, server.database("outside").await);
    let engine = connect_as(&db, &EngineOptions { max_connections: 1, ..options() }).await.unwrap();
    let (statements, budget) = ([endless(&db)], Budget::new(LONG));
    let canceller = async {
        until_running(&outside, db.name(), 1).await;
        outside.execute(&format!("alter database {} allow_connections false", db.name())).await;
        budget.cancel.cancel();
    };
    let (result, ()) = tokio::join!(engine.read(&statements, &budget), canceller);
    assert!(matches!(result, Err(SourceError::Cancelled)), "{result:?}");
    until_running(&outside, db.name(), 0).await;
    assert!(server.log().contains("connection to client lost"), "{}", server.log());
    outside.execute(&format!("alter database {} allow_connections true", db.name())).await;
    assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]));
}

/// Commits what takes the server so many seconds, beyond its time, on each of `busy` connections of `size` at once; the jobs that
/// are there when a connection answers again, and the server's log.
async fn slow_commits(server: &Server, (busy, size): (usize, usize), seconds: u32) -> (Row, String) {
    let db = server.database(&format!("slowcommit{busy}{size}")).await;
    // The server's own deadline does not hold for what a COMMIT itself does.
    db.execute(&format!(
        "create table t (a int); create function late() returns trigger language plpgsql as \
         $$ begin perform pg_sleep({seconds}); return null; end $$; \
         create constraint trigger late after insert on t deferrable initially deferred \
         for each row execute function late()"
    ))
    .await;
    let engine = connect_as(&db, &EngineOptions { max_connections: size, ..options() }).await.unwrap();
    let commits = (0..busy).map(|_| async {
        let mut tx = engine.begin(&Budget::new(Duration::from_secs(1))).await.unwrap();
        tx.execute(&sql("insert into t values (1)")).await.unwrap();
        let committed = tx.commit().await;
        assert!(matches!(committed, Err(SourceError::Timeout(_))), "{committed:?}");
    });
    join_all(commits).await;
    until_running(&db, "COMMIT", 0).await;
    let there = row(&engine, "select count(*) from t", Vec::new()).await;
    engine.close(LONG).await;
    let log = server.log();
    assert_eq!(most(&log, &db).get("dlq-tui"), Some(&size), "{log}");
    assert!(!log.contains("connection to client lost"), "{log}");
    (there, log)
}

#[tokio::test]
async fn what_ends_a_transaction_is_cancelled_beyond_its_time_and_never_hung_up() {
    let Some(server) = server() else { return };
    for busy in [1, 2] {
        let (there, log) = slow_commits(&server, (busy, busy), 7200).await;
        assert_eq!(there, Row(vec![Value::Int(0)]), "it was cancelled");
        assert!(log.contains("statement: SELECT pg_cancel_backend("), "{log}");
    }
}

#[tokio::test]
async fn every_statement_has_its_limits_and_no_name_and_every_read_is_a_read_only_transaction() {
    let Some(server) = server() else { return };
    let db = server.database("limits").await;
    busy_day(&db).await;
    let log = server.log();
    let lines = lines(&log);
    let (mut open, mut reads, mut writes): (BTreeMap<&str, bool>, u32, u32) = Default::default();
    for line in lines.iter().filter(|l| l.database == db.name() && l.program.starts_with("dlq-tui")) {
        if let Some((how, sql)) = line.said.split_once("execute ").and_then(|(_, said)| said.split_once(": ")) {
            assert_eq!(how, "<unnamed>", "{sql}");
            let writing = open.get(line.pid).unwrap_or_else(|| panic!("outside a transaction: {sql}"));
            let begins = sql.trim_start().to_ascii_uppercase();
            let reads_only = begins.starts_with("SELECT") || begins.starts_with("WITH");
            assert!(*writing || reads_only, "{sql}");
        } else if let Some((_, sql)) = line.said.split_once("statement: ") {
            if sql.starts_with("BEGIN") {
                assert!(sql.contains("set_config('client_connection_check_interval', '20', true)"), "{sql}");
                for setting in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
                    assert!(sql.contains(&format!("SET LOCAL {setting} = ")), "{sql}");
                }
                assert!(!sql.contains("timeout = 0"), "{sql}");
                let writing = sql.contains("READ WRITE");
                assert!(writing || sql.contains("READ ONLY"), "{sql}");
                *if writing { &mut writes } else { &mut reads } += 1;
                open.insert(line.pid, writing);
            } else if sql.contains("COMMIT") || sql.starts_with("ROLLBACK") {
                open.remove(line.pid);
            } else {
                assert!(sql.starts_with("SELECT pg_cancel_backend("), "outside a transaction: {sql}");
            }
        }
    }
    assert!(reads > 20 && writes > 5, "{reads} reads, {writes} writes");
}
