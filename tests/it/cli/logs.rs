//! `--log-file`: what happened and how long it took, and nothing that jobs hold.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, every_engine};
use crate::pty::Pty;

/// Planted in rows, in what is typed, and in what the statements are made of.
const PLANTED: [&str; 8] = [
    "Acme::ChargeWorker",
    "payload-of-eve",
    "queue-of-eve",
    "message-of-eve",
    "note-of-eve",
    "s3cret-password",
    "SELECT",
    "dead_letter_jobs",
];

/// The lines of a log, none of which holds what was planted.
fn lines(text: &str) -> Vec<Value> {
    for planted in PLANTED {
        assert!(!text.to_lowercase().contains(&planted.to_lowercase()), "the log holds {planted}: {text}");
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn messages(lines: &[Value]) -> BTreeSet<&str> {
    lines.iter().map(|line| line["message"].as_str().expect("a message")).collect()
}

#[tokio::test]
async fn a_log_tells_what_happened_and_nothing_that_jobs_hold() {
    for db in every_engine("cli log").await {
        Layout::DeadLetterJobs.seed(&db, 30).await;
        db.execute(
            "update dead_letter_jobs set status = 'failed', job_class = 'Acme::ChargeWorker', queue_name = 'queue-of-eve', \
             arguments = '{\"a\":\"payload-of-eve\"}', error_message = 'message-of-eve'",
        )
        .await;
        let user = User::of(&db);
        let log = user.home().join("log");
        let log = log.to_str().expect("a path");
        let id = db.scalar("select min(cast(id as char(36))) from dead_letter_jobs").await;
        let commands: &[&[&str]] = &[
            &["list"],
            &["list", "-f", "msg:message-of-eve args.a:payload-of-eve"],
            &["stats"],
            &["show", &id],
            &["ignore", "--all", "--yes", "--reason", "note-of-eve"],
            &["runs"],
            &["doctor"],
        ];
        for command in commands {
            let ended = user.run(&[&["--log-file", log], *command].concat());
            assert_eq!(ended.code, 0, "{command:?}: {}", ended.err);
        }
        let text = std::fs::read_to_string(log).expect("a log");
        let told = lines(&text);
        let seen = messages(&told);
        for message in ["start", "connect", "read", "call", "run.begin", "run.batch", "run.end", "end"] {
            assert!(seen.contains(message), "{:?} lacks {message}: {seen:?}", db.engine);
        }
        assert!(told.iter().all(|line| line["time"].as_str().is_some_and(|t| t.len() == 24 && t.ends_with('Z'))));
        let call =
            |name: &str| told.iter().find(|line| line["call"] == name).unwrap_or_else(|| panic!("no {name}: {text}"));
        assert_eq!(call("page")["rows"], 30);
        assert!(call("page")["ms"].is_number() && call("details")["rows"] == 1);
        assert_eq!(told.iter().filter(|line| line["message"] == "end").count(), commands.len());
        let end = told.iter().find(|line| line["message"] == "run.end").expect("an end");
        assert_eq!((&end["done"], &end["left"]), (&Value::from(30), &Value::from(0)));
        assert_eq!(std::fs::metadata(log).expect("a log").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_the_command_before_it_begins() {
    let user = User::new();
    for path in ["/", "none/log", "/dev/full"] {
        let ended = user.run(&["--log-file", path, "sources"]);
        assert!(ended.with(2).contains(&format!("--log-file {path}: ")), "{}", ended.err);
        assert!(ended.out.is_empty() && !ended.err.contains("no database"), "{}", ended.err);
    }
}

#[test]
fn a_connection_that_fails_is_told_by_its_kind() {
    let user = User::new().configured("[sources.far]\nurl = \"postgres://ann:s3cret-password@127.0.0.1:1/app\"\n");
    let log = user.home().join("log");
    assert_eq!(user.run(&["--log-file", log.to_str().expect("a path"), "stats"]).code, 1);
    let text = std::fs::read_to_string(log).expect("a log");
    let told = lines(&text);
    let connect = told.iter().find(|line| line["message"] == "connect").expect("a connection");
    assert_eq!((&connect["fault"], &connect["level"]), (&"the database cannot be reached".into(), &"warn".into()));
    assert_eq!(told.last().map(|line| line["code"].clone()), Some(Value::from(1)));
}

#[tokio::test]
async fn a_whole_session_of_the_console_is_told_and_what_is_typed_is_not() {
    let db = harness::sqlite("console log").await;
    Layout::DeadLetterJobs.seed(&db, 40).await;
    db.execute("update dead_letter_jobs set status = 'failed', error_message = 'message-of-eve', arguments = '{\"a\":\"payload-of-eve\"}'")
        .await;
    let mut console = Pty::console(&["--log-file", "log"]).env("DATABASE_URL", &db.url).size(120, 40).start();
    console.wait_for_text("message-of-eve");
    console.send("/msg:message-of-eve<Enter>");
    console.wait_for_text("40");
    console.send("jj<Enter>");
    console.wait_for_text("payload-of-eve");
    console.send("q");
    assert!(console.wait_for_exit().success(), "{}", console.text());
    console.assert_terminal_left_clean();
    let text = std::fs::read_to_string(console.path("log")).expect("a log");
    let told = lines(&text);
    let seen = messages(&told);
    assert!(["start", "connect", "call", "end"].iter().all(|message| seen.contains(message)), "{seen:?}");
    assert!(told.iter().any(|line| line["call"] == "details"), "{text}");
}
