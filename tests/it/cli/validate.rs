//! `replay --validate` and its setting, with a real command.

use serde_json::Value;

use super::User;
use crate::fixtures::Layout;
use crate::harness;

/// Accepts jobs of the error class that its argument names, writes down what it reads, and curses with an escape sequence.
const SCRIPT: &str = r#"
import json, sys
seen = open(sys.argv[2], "a")
for line in sys.stdin:
    seen.write(line)
    job = json.loads(line)
    ok = job["error"] == sys.argv[1]
    print(json.dumps({"id": job["id"], "ok": ok, "error": "class \u001b[2J" + str(job["error"])}), flush=True)
"#;

#[tokio::test]
async fn only_what_the_command_accepts_is_replayed() {
    for db in harness::every_engine("cli validate").await {
        Layout::JobsDlq.seed(&db, 700).await;
        let classes = db.column("select error_class from jobs_dlq where error_class is not null group by error_class order by count(*) desc, error_class limit 1").await;
        let class = &classes[0];
        let wanted = db.count(&format!("jobs_dlq where error_class = '{class}'")).await;
        let user = User::of(&db).configured("[redaction]\noff = true\n");
        let (script, seen) = (user.home().join("check it.py"), user.home().join("seen"));
        std::fs::write(&script, SCRIPT).expect("a script");
        let command = format!("python3 '{}' {class} '{}'", script.display(), seen.display());
        let whole = user.json(&["show", &db.scalar("select max(id) from jobs_dlq").await, "-o", "json"]);

        let plan = user.json(&["replay", "--all", "--dry-run", "--validate", &command, "-o", "json"]);
        assert_eq!(plan["options"]["validate"]["command"][0], "python3");
        assert!(!seen.exists(), "a plan asks nobody");
        user.run(&["discard", "--all", "--yes", "--validate", &command]).with(2);

        let ended = user.run(&["replay", "--all", "--yes", "--validate", &command]);
        ended.with(3);
        assert!(ended.out.contains("only what `python3 ") && !ended.out.contains('\u{1b}'), "{}", ended.out);
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (wanted, 700 - wanted));
        let runs = user.json(&["runs", "-o", "json"]);
        let skipped = runs["runs"][0]["skipped"].as_array().expect("reasons").clone();
        assert!(skipped.len() <= 20, "{skipped:?}");
        assert_eq!(skipped.iter().map(|s| s["n"].as_u64().expect("a count")).sum::<u64>(), 700 - wanted);
        assert!(skipped.iter().all(|s| s["reason"].as_str().expect("a reason").starts_with("not accepted: ")));
        let told: Vec<Value> = std::fs::read_to_string(&seen)
            .expect("what it read")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(told.len(), 700);
        let mut whole = whole;
        // What the ledger knows of it is none of the validator's business.
        for ours in ["version", "replayed"] {
            whole.as_object_mut().expect("an object").remove(ours);
        }
        assert!(told.contains(&whole), "{whole}");
    }
}

#[tokio::test]
async fn a_validator_of_the_config_that_dies_stops_the_run_and_touches_nothing() {
    let db = harness::sqlite("cli validate broken").await;
    Layout::JobsDlq.seed(&db, 700).await;
    let source = format!("[sources.app]\nurl = \"{}\"\n", db.url);
    let user = User::new().configured(&format!("{source}validate = {{ command = \"sh -c 'exit 9'\" }}\n"));
    let ended = user.run(&["replay", "--all", "--yes"]);
    assert!(ended.with(1).contains("the validator answered for no job of 2 batches in a row"), "{}", ended.err);
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (0, 700));
    let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    assert_eq!((run["skipped"][0]["n"].as_u64(), run["not_started"].as_u64()), (Some(400), Some(300)));
}
