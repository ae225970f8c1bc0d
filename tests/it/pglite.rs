//! PGlite behind its socket server: all clients share one session, one transaction at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dlq_tui::domain::action::Action;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::pty::Pty;
use crate::undo::{Bench, content};

const JOBS: u32 = 60;

async fn seeded(server: &harness::Server) -> TestDb {
    let db = server.only_database();
    Layout::JobsDlq.seed(&db, JOBS).await;
    db
}

#[tokio::test]
async fn jobs_are_replayed_discarded_and_undone_in_one_session() {
    let Some(server) = harness::pglite(20) else { return };
    let db = seeded(&server).await;
    let user = User::of(&db);
    user.run(&["doctor"]).with(0);
    user.run(&["adapters", "check", "jobs_dlq", "--deep"]).with(0);
    let before = content(&db, "jobs_dlq").await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    for action in [Action::Replay, Action::Discard] {
        let (run, tally) = bench.act("", action).await;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (u64::from(JOBS), 0), "{action}: {tally:?}");
        let (_, tally) = bench.undo(&run).await;
        assert_eq!(tally.done, u64::from(JOBS), "{action}: {tally:?}");
        assert_eq!(content(&db, "jobs_dlq").await, before, "{action}");
    }
    user.run(&["init", "--ledger", "--yes"]).with(0);
    user.run(&["replay", "--all", "--yes"]).with(0);
    let recorded = "select count(*) from dlq_tui.run_jobs";
    assert_eq!((db.scalar(recorded).await, db.count("jobs_dlq").await), (JOBS.to_string(), 0));
}

#[tokio::test]
async fn what_others_prepare_and_set_in_the_shared_session_changes_no_answer() {
    let Some(server) = harness::pglite(20) else { return };
    let db = Arc::new(seeded(&server).await);
    let enough = Arc::new(AtomicBool::new(false));
    let (other, until) = (Arc::clone(&db), Arc::clone(&enough));
    // Each of these settings outlives the client that made it.
    let noise = tokio::spawn(async move {
        while !until.load(Ordering::Relaxed) {
            other
                .execute("set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set search_path = pg_catalog")
                .await;
            other.execute("set statement_timeout = '1ms'; set default_transaction_read_only = on").await;
        }
    });
    let user = User::of(&db);
    for n in 0..10 {
        let listed = user.json(&["list", "--limit", "1", "-o", "json"]);
        assert_eq!(listed["jobs"][0]["at"], "2026-11-01T00:00:20.000000Z", "{n}: {listed}");
        assert_eq!(user.json(&["stats", "-o", "json"])["total"]["n"], JOBS, "{n}");
    }
    user.run(&["replay", "--all", "--yes"]).with(0);
    enough.store(true, Ordering::Relaxed);
    noise.await.expect("the other client");
}

#[tokio::test]
async fn a_client_that_holds_a_transaction_makes_others_say_that_nothing_answers() {
    let Some(server) = harness::pglite(20) else { return };
    let db = seeded(&server).await;
    let held = db.begin("select 1").await;
    let began = Instant::now();
    let ended = User::of(&db).run(&["stats"]);
    assert!(ended.with(1).contains("no answer within"), "{}", ended.err);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    held.commit().await;
    User::of(&db).run(&["stats"]).with(0);
}

#[tokio::test]
async fn a_server_for_a_single_client_serves_the_console_and_turns_others_away() {
    let Some(server) = harness::pglite(1) else { return };
    let db = server.only_database();
    Layout::JobsDlq.install(&db).await;
    // The place of a client is free again only when the server has noticed that it left.
    let is_served = || User::of(&db).run(&["stats"]).code == 0;
    harness::eventually("a command is served", is_served);
    let mut console = Pty::console(&[]).env("DATABASE_URL", &db.url).start();
    console.wait_for_text("dead 0");
    let ended = User::of(&db).run(&["stats"]);
    assert!(ended.with(1).contains("the server closed the connection"), "{}", ended.err);
    console.send("q");
    console.wait_for_exit();
    harness::eventually("a command is served behind the console", is_served);
}
