//! Runs whose jobs go to a command of the config: when they stop, and what becomes of them where the config changes.

use std::path::Path;
use std::time::{Duration, Instant};

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// Accepts every job.
const TAKER: &str = r#"
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "ok": True}), flush=True)
"#;

/// Holds what it is given until a file is there.
const HOLDER: &str = r#"
import os, sys, time
open(sys.argv[1] + "/held", "w").close()
while not os.path.exists(sys.argv[1] + "/go"):
    time.sleep(0.05)
"#;

/// Refuses every job of the first two batches.
const JUDGE: &str = r#"
import json, os, sys
batch = len([f for f in os.listdir(sys.argv[1]) if f.startswith("batch")])
open(sys.argv[1] + "/batch%d" % batch, "w").close()
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "ok": batch > 1, "error": "too old"}), flush=True)
"#;

/// A user with these scripts, and a folder for what they leave behind.
fn user() -> User {
    let user = User::new();
    for (name, text) in [("taker.py", TAKER), ("holder.py", HOLDER), ("judge.py", JUDGE)] {
        std::fs::write(user.home().join(name), text).expect("a script");
    }
    std::fs::create_dir(user.home().join("left")).expect("a folder");
    user
}

/// The words of a script, as the config has them.
fn words(home: &Path, script: &str) -> String {
    let (script, left) = (home.join(script), home.join("left"));
    format!("[\"python3\", \"{}\", \"{}\"]", script.display(), left.display())
}

fn configured(user: User, db: &TestDb, more: &str) -> User {
    let source = format!("[sources.shop]\nurl = \"{}\"\nstore = \"dead_letter_jobs\"\n", db.url);
    user.configured(&format!("{source}{more}"))
}

#[tokio::test]
async fn a_run_goes_on_behind_batches_of_which_the_destination_was_given_nothing() {
    for db in harness::every_engine("cli given nothing").await {
        Layout::DeadLetterJobs.seed(&db, 600).await;
        let dead = Layout::DeadLetterJobs.count_dead(&db).await;
        let user = user();
        let (to, judge) = (words(user.home(), "taker.py"), words(user.home(), "judge.py"));
        let user = configured(
            user,
            &db,
            &format!("replay = {{ command = {to} }}\n[sources.shop.validate]\ncommand = {judge}\n"),
        );
        let ended = user.run(&["replay", "-f", "state:dead", "--yes", "-o", "json"]);
        let run: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.err));
        assert_eq!(run["halted"], serde_json::Value::Null, "{:?}: {run}", db.engine);
        assert_eq!((run["done"].as_u64(), run["not_started"].as_u64()), (Some(dead - 400), Some(0)), "{run}");
    }
}

#[tokio::test]
async fn a_run_that_was_cut_off_goes_on_to_no_other_destination_than_was_confirmed() {
    for db in harness::every_engine("cli other destination").await {
        Layout::DeadLetterJobs.seed(&db, 60).await;
        Layout::JobsDlq.install(&db).await;
        let user = user();
        let holder = format!("replay = {{ command = {} }}\n", words(user.home(), "holder.py"));
        let user = configured(user, &db, &holder);
        let mut child =
            user.command(&["replay", "-f", "state:dead", "--yes", "--batch", "5"]).spawn().expect("it starts");
        let began = Instant::now();
        while !user.home().join("left/held").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "the command was never started");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        child.kill().expect("a kill");
        child.wait().expect("an end");
        std::fs::write(user.home().join("left/go"), "").expect("a file");
        let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
        let id = run["run"].as_str().expect("a run").to_owned();
        let left = run["not_started"].as_u64().expect("a count");
        assert_eq!(run["in_doubt"].as_u64(), Some(5), "{run}");

        let user = configured(user, &db, "replay = { table = \"jobs\" }\n");
        let ended = user.run(&["resume", &id, "--yes"]);
        let said = ended.with(4);
        for part in [
            "the command `python3 ",
            "holder.py",
            "to the table ",
            "nothing was touched",
            "Set `replay` back",
            "5 jobs are in doubt",
        ] {
            assert!(said.contains(part), "{:?}: {part}: {said}", db.engine);
        }
        let run = user.json(&["runs", &id, "-o", "json"]);
        assert_eq!((run["in_doubt"].as_u64(), run["not_started"].as_u64()), (Some(5), Some(left)), "{run}");
        assert_eq!((run["destination"]["to"].as_str(), db.count("jobs").await), (Some("command"), 0), "{run}");

        let user = configured(user, &db, &holder);
        let ended = user.run(&["resume", &id, "--yes"]);
        assert!(
            ended.out.contains("in doubt: the run was interrupted while it was handed"),
            "{}{}",
            ended.out,
            ended.err
        );
    }
}
