//! Runs whose jobs go to a command of the config: when they stop.

use std::path::Path;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// Accepts every job.
const TAKER: &str = r#"
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "ok": True}), flush=True)
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
    for (name, text) in [("taker.py", TAKER), ("judge.py", JUDGE)] {
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
