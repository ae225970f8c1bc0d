//! `runs RUN` and `--wait`: what became of replayed jobs.

use serde_json::{Value, json};

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// Five replayed jobs, and the run.
async fn replayed(db: &TestDb) -> (User, String) {
    Layout::JobsDlq.seed(db, 5).await;
    let user = User::of(db);
    let receipt = user.json(&["replay", "--all", "--yes", "--reason", "gateway is back", "-o", "json"]);
    assert_eq!(receipt["done"], 5);
    assert_eq!(receipt["outcomes"], Value::Null, "nobody looked yet");
    let run = receipt["run"].as_str().expect("a run").to_owned();
    (user, run)
}

/// The worker finishes these jobs, and moves the first `dead` of them to the dead.
async fn work(db: &TestDb, jobs: usize, dead: usize) {
    let ids = db.column("select id from jobs order by id").await;
    for (n, id) in ids.iter().take(jobs).enumerate() {
        if n < dead {
            db.execute(&format!(
                "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
                 select payload, 3, 'KeyError', run_after from jobs where id = {id}"
            ))
            .await;
        }
        db.execute(&format!("delete from jobs where id = {id}")).await;
    }
}

#[tokio::test]
async fn waiting_ends_when_all_have_settled_and_its_code_says_whether_some_died_again() {
    for db in harness::every_engine("cli_wait").await {
        let (user, run) = replayed(&db).await;
        let name = db.engine.name();
        let late = user.run(&["runs", &run, "--wait", "--timeout", "1s"]);
        assert!(late.with(5).contains("have settled in time: 5 waiting"), "{name}: {}", late.err);
        work(&db, 3, 0).await;
        let seen = user.json(&["runs", &run, "-o", "json"])["outcomes"].clone();
        assert_eq!((&seen["succeeded"], &seen["waiting"]), (&json!(3), &json!(2)), "{name}: {seen}");
        work(&db, 2, 1).await;
        let ended = user.run(&["runs", &run, "--wait", "-o", "json"]);
        assert!(ended.with(3).contains("5 replayed: 4 ok, 1 died again"), "{name}: {}", ended.err);
        let outcomes = serde_json::from_str::<Value>(&ended.out).expect("JSON")["outcomes"].clone();
        assert_eq!(outcomes["died_by_error"], json!([{ "error_class": "KeyError", "n": 1 }]), "{name}: {outcomes}");
        let list = user.run(&["runs"]).out;
        let head: Vec<&str> = list.lines().next().unwrap_or_default().split_whitespace().collect();
        let columns = ["run", "frozen", "who", "what", "state", "skipped", "failed", "outcome", "reason", "filter"];
        assert_eq!(head, columns, "{name}: {list}");
        for word in ["replayed 5", "gateway is back", "4 ok, 1 died again"] {
            assert!(list.contains(word), "{name}: no `{word}` in\n{list}");
        }
        let died = user.run(&["list", "-f", "run:last outcome:died", "-o", "jsonl"]);
        assert!(died.with(0).is_empty() && died.out.lines().count() == 1, "{name}: {}{}", died.out, died.err);
        assert!(died.out.contains("KeyError"), "{name}: {}", died.out);
        let jobs = user.run(&["runs", &run, "--jobs"]).out;
        assert!(jobs.contains("died again, KeyError") && jobs.contains("succeeded"), "{name}: {jobs}");
        assert!(!jobs.contains("done"), "{name}: a replayed job is not done: {jobs}");
        let jobs = user.json(&["runs", &run, "--jobs", "-o", "json"])["jobs"].clone();
        let again = jobs.as_array().expect("jobs").iter().filter(|job| job["replay_outcome"] == "died_again");
        assert_eq!(again.map(|job| &job["replay_error"]).collect::<Vec<_>>(), [&json!("KeyError")], "{name}: {jobs}");
        // Tomorrow, with the database away, the outcomes are still there.
        let gone = user.run(&["runs", &run]).out;
        for word in ["replayed", "succeeded", "died again", "KeyError"] {
            assert!(gone.contains(word), "{name}: no `{word}` in\n{gone}");
        }
    }
}

#[tokio::test]
async fn waiting_for_jobs_that_all_succeed_ends_with_code_0() {
    let db = harness::sqlite("cli_wait_ok").await;
    let (user, run) = replayed(&db).await;
    work(&db, 5, 0).await;
    let ended = user.run(&["runs", &run, "--wait"]);
    ended.with(0);
    assert!(ended.out.contains("gone from the queue, which deletes what it finished"), "{}", ended.out);
    // What is not replayed has nothing to wait for.
    db.execute(
        "insert into jobs_dlq (payload, attempts, error_class, failed_at) values ('{}', 3, 'A', '2026-11-22 00:00:00')",
    )
    .await;
    let discard = user.json(&["discard", "--all", "--yes", "-o", "json"]);
    let why = user.run(&["runs", discard["run"].as_str().expect("a run"), "--wait"]);
    assert!(why.with(1).contains("is no replay"), "{}", why.err);
}
