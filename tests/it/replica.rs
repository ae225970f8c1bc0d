//! A source that follows another: everything can be looked at there, and nothing be acted upon.

use std::time::Duration;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::{Budget, Store};

use crate::cli::User;
use crate::engine::{LONG, connect, sql, text, until_running};
use crate::fixtures::Layout;
use crate::harness::{self, Server, TestDb};
use crate::pty::Pty;
use crate::run;
use crate::store_desk::{budget, store};

/// A primary with a database and the same on its replica, which waits for nobody that reads.
async fn pair(name: &str, rows: u32) -> Option<(Server, TestDb, Server, TestDb)> {
    let primary = harness::private_postgres_with(&["synchronous_commit=on"], None)
        .map_err(|why| harness::skip("postgres", &why))
        .ok()?;
    let db = primary.database(name).await;
    Layout::DeadLetterJobs.seed(&db, rows).await;
    let standby = harness::standby_of(&primary, &["max_standby_streaming_delay=0"]);
    let standby = standby.map_err(|why| harness::skip("postgres", &why)).ok()?;
    let replica = standby.follow(&db);
    Some((primary, db, standby, replica))
}

/// Waits until the replica has all that its primary wrote.
async fn caught_up(db: &TestDb, replica: &TestDb) {
    let written = db.scalar("select pg_current_wal_flush_lsn()::text").await;
    let sql = format!("select (pg_last_wal_replay_lsn() >= '{written}'::pg_lsn)::text");
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while replica.scalar(&sql).await != "true" {
        assert!(std::time::Instant::now() < deadline, "the replica never got there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_replica_is_looked_at_and_not_acted_upon() {
    let Some((_primary, db, _standby, replica)) = pair("replica", 200).await else { return };
    let user = User::of(&replica);
    assert_eq!(
        user.json(&["stats", "-o", "json"])["total"]["n"].as_u64(),
        Some(Layout::DeadLetterJobs.count_dead(&db).await)
    );
    for verb in ["replay", "ignore", "discard", "archive"] {
        let ended = user.run(&[verb, "--all", "--yes"]);
        assert!(ended.with(4).contains("replica"), "{verb}: {}", ended.err);
    }
    user.run(&["purge", "--state", "dead", "--older-than", "1s", "--yes"]).with(4);
    user.run(&["init", "--ledger", "--yes"]).with(4);
    let findings = user.json(&["doctor", "-o", "json"]);
    let writes =
        findings["findings"].as_array().expect("findings").iter().find(|f| f["about"] == "writes").expect("one");
    assert_eq!(writes["level"], "warn");
    assert!(writes["fact"].as_str().is_some_and(|fact| fact.contains("replica")), "{writes}");
    let mut console = Pty::console(&[]).env("DATABASE_URL", &replica.url).size(80, 24).start();
    console.wait_for_text("REPLICA");
    console.wait_for_text("Net::ReadTimeout");
    console.press_until("R", "why nothing is replayed", |screen| screen.contains("the server is a replica"));
    // What its primary writes arrives by itself.
    db.execute("update dead_letter_jobs set failed_at = now() at time zone 'utc', error_class = 'Fresh::Error' where status = 'failed'")
        .await;
    console.wait_for_text("Fresh::Error");
    console.send("q");
    console.wait_for_exit();
}

#[tokio::test]
async fn a_replica_that_is_promoted_under_the_open_console_can_be_acted_upon_there() {
    let Some((_primary, db, _standby, replica)) = pair("promoted", 50).await else { return };
    caught_up(&db, &replica).await;
    let mut console = Pty::console(&[]).env("DATABASE_URL", &replica.url).size(140, 45).start();
    console.wait("jobs of a replica", |screen| screen.contains("REPLICA") && screen.contains("● live"));
    console.press_until("R", "why nothing is replayed", |screen| screen.contains("the server is a replica"));
    replica.execute("select pg_promote(true)").await;
    console.wait("what it is now", |screen| {
        !screen.contains("REPLICA") && screen.contains("the server takes changes now")
    });
    console.press_until("<Tab>", "that the list has the keys", |screen| screen.contains("[Jobs]"));
    console.send("I");
    console.wait("what became of it", |screen| screen.contains("ignored 1"));
    // And the other way round.
    replica.execute("alter system set default_transaction_read_only = on").await;
    replica.execute("select pg_reload_conf()").await;
    console.wait("that it is closed", |screen| screen.contains("READ-ONLY"));
    console
        .press_until("R", "why nothing is replayed", |screen| screen.contains("default_transaction_read_only is on"));
    console.send("q");
    console.wait_for_exit();
}

#[tokio::test]
async fn a_look_tells_that_a_server_takes_changes_otherwise_than_when_its_store_was_opened() {
    let closed = "default_transaction_read_only";
    for (server, close, open) in [
        (
            harness::private_postgres(),
            vec![format!("alter system set {closed} = on"), "select pg_reload_conf()".into()],
            vec![format!("alter system reset {closed}"), "select pg_reload_conf()".into()],
        ),
        (harness::private_mariadb(), vec!["set global read_only = 1".into()], vec!["set global read_only = 0".into()]),
    ] {
        let Some(server) = server else { continue };
        let db = server.database("turns").await;
        Layout::JobsDlq.seed(&db, 20).await;
        let (store, all) = (store(&db, Layout::JobsDlq).await, Filter::all());
        let turned = async || store.changes(None, Facet::Error, &all, &budget()).await.expect("a look").needs_reopen;
        assert!(!turned().await, "{:?}", db.engine);
        for (statements, wanted) in [(close, true), (open, false)] {
            for sql in statements {
                db.execute(&sql).await;
            }
            let deadline = std::time::Instant::now() + Duration::from_secs(20);
            while turned().await != wanted {
                assert!(std::time::Instant::now() < deadline, "{:?}: no look tells {wanted}", db.engine);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

#[tokio::test]
async fn looks_on_a_replica_see_what_its_primary_committed_and_nothing_when_it_is_still() {
    let Some((_primary, db, _standby, replica)) = pair("looks", 100).await else { return };
    let (store, all) = (store(&replica, Layout::DeadLetterJobs).await, Filter::all());
    caught_up(&db, &replica).await;
    let first = store.changes(None, Facet::Error, &all, &budget()).await.expect("a look");
    let idle = store.changes(Some(&first.token), Facet::Error, &all, &budget()).await.expect("a look");
    assert!(idle.cells.is_empty(), "{idle:?}");
    db.execute(
        "insert into dead_letter_jobs (job_class, job_id, error_class, failed_at, created_at, updated_at) \
         values ('Late', 'late', 'Late::Error', now() at time zone 'utc', now(), now())",
    )
    .await;
    caught_up(&db, &replica).await;
    let next = store.changes(Some(&idle.token), Facet::Error, &all, &budget()).await.expect("a look");
    let late: u64 =
        next.cells.iter().filter(|c| c.value.as_ref().is_some_and(|v| v.exact() == "Late::Error")).map(|c| c.n).sum();
    assert_eq!((next.changed, late), (true, 1));
    db.execute("update dead_letter_jobs set status = 'ignored'").await;
    caught_up(&db, &replica).await;
    let next = store.changes(Some(&next.token), Facet::Error, &all, &budget()).await.expect("a look");
    assert!(next.changed);
}

#[tokio::test]
async fn a_read_that_a_replica_gives_up_for_its_primary_is_read_again() {
    let Some((_primary, db, _standby, replica)) = pair("conflict", 100).await else { return };
    caught_up(&db, &replica).await;
    let engine = connect(&replica).await;
    assert!(engine.is_replica());
    let waits =
        sql("select count(*)::text || pg_sleep(case when count(*) > 0 then 7200 else 0 end)::text /* given up */ \
                     from dead_letter_jobs");
    let statements = [waits];
    let budget = Budget::new(LONG);
    let clean = async {
        until_running(&replica, "given up", 1).await;
        db.execute("delete from dead_letter_jobs").await;
        db.execute("vacuum dead_letter_jobs").await;
    };
    let (rows, ()) = tokio::join!(engine.read(&statements, &budget), clean);
    assert_eq!(rows.expect("rows")[0][0].0, [text("0")]);
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_only_looked_at() {
    let Some(server) = harness::private_mariadb() else { return };
    let db = server.database("closed").await;
    Layout::JobsDlq.seed(&db, 50).await;
    db.execute("set global read_only = 1").await;
    let user = User::of(&db);
    assert_eq!(user.json(&["stats", "-o", "json"])["total"]["n"].as_u64(), Some(50));
    assert!(user.run(&["replay", "--all", "--yes"]).with(4).contains("read_only"));
    db.execute("set global read_only = 0").await;
    user.run(&["replay", "--all", "--yes"]).with(0);
    assert_eq!(user.json(&["stats", "-o", "json"])["total"]["n"].as_u64(), Some(0));
}

/// Ends all sessions but our own, so that new ones learn what is set.
const LEAVE: &str = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() \
                     and pid <> pg_backend_pid()";

#[tokio::test]
async fn a_database_that_is_closed_for_writing_meanwhile_is_written_to_no_more() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("closed meanwhile").await;
    Layout::JobsDlq.seed(&db, 50).await;
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let desk = run::desk(&db.url, "jobs_dlq").await;
    let plan = run::plan(&desk, &ledger, "", Action::Replay).await;
    db.execute(&format!("alter database {} set default_transaction_read_only = on", db.name())).await;
    db.execute(LEAVE).await;
    let receipt = run::go(&desk, &ledger, &plan.run).await;
    let halted = receipt.halted.as_deref().unwrap_or_default();
    assert!(halted.contains("default_transaction_read_only is on"), "{receipt:?}");
    let open = format!("begin read write; alter database {} reset default_transaction_read_only; commit", db.name());
    db.execute(&open).await;
    assert_eq!((receipt.run.tally.done, db.count("jobs_dlq").await), (0, 50));
    db.execute(LEAVE).await;
    run::resume_to_the_end(&desk, &ledger, &plan.run).await;
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (50, 0));
}
