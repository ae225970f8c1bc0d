//! The harness tested: what a test relies on, and that nothing is left behind.

use std::process::{Command, Stdio};
use std::time::Duration;

use sqlx::{Connection, Executor};

use super::process::{default_signals_for_children, ignored_signals, is_alive, signal};
use super::{Engine, eventually, every_engine, private_mariadb, private_postgres};

#[tokio::test]
async fn every_engine_runs_several_statements_and_answers_in_text() {
    for db in every_engine("harness text").await {
        db.execute("create table t (a int, b text); insert into t values (1, 'x; y'), (2, null)").await;
        assert_eq!(db.count("t").await, 2, "{:?}", db.engine);
        assert_eq!(db.scalar("select a from t where b = 'x; y'").await, "1", "{:?}", db.engine);
        assert_eq!(db.column("select b from t order by a").await, ["x; y", "NULL"], "{:?}", db.engine);
        assert_eq!(db.file().is_some(), db.engine == Engine::Sqlite);
        assert!(db.url.contains(db.name()), "{} is not in the URL", db.name());
    }
}

#[tokio::test]
async fn two_databases_of_one_name_are_apart() {
    for first in every_engine("harness apart").await {
        first.execute("create table only_here (a int)").await;
        for second in every_engine("harness apart").await.iter().filter(|db| db.engine == first.engine) {
            assert_ne!(first.url, second.url);
            second.execute("create table only_here (a int)").await;
        }
    }
}

#[tokio::test]
async fn a_stopped_and_a_killed_server_come_back_with_their_data_on_the_same_port() {
    for server in [private_postgres(), private_mariadb()].into_iter().flatten() {
        let db = server.database("harness restart").await;
        db.execute("create table t (a int); insert into t values (7)").await;
        server.stop();
        server.start();
        assert_eq!(db.scalar("select a from t").await, "7");
        server.kill();
        server.start();
        assert_eq!(db.scalar("select a from t").await, "7");
    }
}

#[tokio::test]
async fn a_paused_server_keeps_its_connections_and_answers_nothing_until_it_is_resumed() {
    let Some(server) = private_postgres() else { return };
    let db = server.database("harness pause").await;
    let mut connection = sqlx::PgConnection::connect(&db.url).await.expect("a connection");
    server.pause();
    let silent = tokio::time::timeout(Duration::from_millis(300), connection.execute("select 1")).await;
    assert!(silent.is_err(), "a paused server answered");
    server.resume();
    assert_eq!(db.scalar("select 1").await, "1");
}

/// Not a test: the victim of the next one, started in a process of its own.
#[test]
#[ignore = "holds servers until it is killed; started by another test"]
fn holds_servers_until_killed() {
    let servers = [private_postgres(), private_mariadb()];
    let running = servers.iter().flatten().count();
    std::fs::write(std::env::var("DLQ_TEST_VICTIM_READY").expect("started by the other test"), running.to_string())
        .expect("a file to write");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn servers_and_their_folders_are_gone_after_the_tests_were_killed() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let ready = scratch.path().join("ready");
    let base = tempfile::Builder::new().prefix("dlq-k-").tempdir_in("/tmp").expect("a temporary folder");
    let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o1777);
    std::fs::set_permissions(base.path(), open).expect("permissions");
    let mut victim = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--ignored", "--exact", "harness::tests::holds_servers_until_killed"])
        .env("DLQ_TEST_VICTIM_READY", &ready)
        .env("TMPDIR", base.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the test binary");
    eventually("the victim has its servers", || std::fs::read_to_string(&ready).is_ok_and(|text| !text.is_empty()));
    let folders = || std::fs::read_dir(base.path()).expect("the folder").flatten().collect::<Vec<_>>();
    let started = folders();
    assert_eq!(started.len().to_string(), std::fs::read_to_string(&ready).expect("a count"));
    let pids: Vec<u32> = started.iter().filter_map(|folder| server_pid(&folder.path())).collect();
    assert_eq!(pids.len(), started.len(), "a server without a pid file");
    assert!(pids.iter().all(|pid| is_alive(*pid)));

    signal(&[victim.id()], "KILL");
    victim.wait().expect("the victim ends");
    eventually("the servers end", || pids.iter().all(|pid| !is_alive(*pid)));
    eventually("their folders are removed", || folders().is_empty());
}

/// Not a test: what the next one starts with signals ignored.
#[test]
#[ignore = "looks at what its children start with; started by another test"]
fn children_start_with_the_default_signals() {
    assert_eq!(ignored_signals(), [1, 2, 15], "this test binary was told to ignore them");
    default_signals_for_children();
    let child = Command::new("grep").args(["SigIgn", "/proc/self/status"]).output().expect("grep");
    let said = String::from_utf8(child.stdout).expect("text");
    let mask = u64::from_str_radix(said.trim_start_matches("SigIgn:").trim(), 16).expect("a mask");
    assert_eq!(mask & u64::from(u32::MAX >> 1), 0, "{said}");
    // Still not the end of the tests themselves.
    signal(&[std::process::id()], "HUP");
}

#[test]
fn tests_under_nohup_start_children_with_default_signals() {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"trap '' HUP INT TERM; exec "$0" "$@""#])
        .arg(std::env::current_exe().expect("the test binary"));
    shell.args(["--ignored", "--exact", "harness::tests::children_start_with_the_default_signals"]);
    let output = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The first line of a server's pid file.
fn server_pid(folder: &std::path::Path) -> Option<u32> {
    let files = ["data/postmaster.pid", "mysql.pid"].map(|file| std::fs::read_to_string(folder.join(file)));
    files.into_iter().flatten().find_map(|text| text.lines().next()?.trim().parse().ok())
}
