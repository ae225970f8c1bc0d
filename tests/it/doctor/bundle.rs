//! `doctor --bundle`: what is in it, and what is nowhere in it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, every_engine};

/// Planted in the config, an adapter file, rows, the record, names and addresses.
const PLANTED: [&str; 14] = [
    "s3cret-password",
    "hunter2",
    "Acme::ChargeWorker",
    "payload-of-eve",
    "queue-of-eve",
    "message-of-eve",
    "note-of-eve",
    "frame-of-eve",
    "db1.acme.example",
    "ledger_of_acme",
    "bob@acme.example",
    "acme-billing",
    "user_ann",
    "10.9.8.7",
];

fn assert_hidden(what: &str, text: &str) {
    for planted in PLANTED {
        assert!(!text.to_lowercase().contains(&planted.to_lowercase()), "{what} shows {planted}: {text}");
    }
}

#[tokio::test]
async fn what_is_somebodys_own_is_nowhere_in_it_and_what_a_maintainer_needs_is() {
    for db in every_engine("doctor bundle").await {
        Layout::DeadLetterJobs.seed(&db, 30).await;
        db.execute(
            "update dead_letter_jobs set job_class = 'Acme::ChargeWorker', queue_name = 'queue-of-eve', \
             error_class = 'Acme::ChargeWorker', arguments = '{\"a\":\"payload-of-eve\"}', error_message = 'message-of-eve', \
             error_backtrace = '[\"frame-of-eve\"]'",
        )
        .await;
        let config = format!(
            "default_source = \"acme-billing\"\n[sources.acme-billing]\nurl = \"{}\"\nvalidate = {{ command = \"bin/check --key hunter2\" }}\n\
             [sources.far]\nurl = \"postgres://user_ann:s3cret-password@db1.acme.example:5432/ledger_of_acme\"\n\
             [redaction]\nextra = [\"acme-billing-code\"]\n",
            db.url
        );
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("own.toml");
        let text = include_str!("../../../assets/adapters/jobs_dlq.toml");
        std::fs::write(&own, format!("# ask bob@acme.example at 10.9.8.7, password hunter2\n{text}")).expect("a file");
        let user = User::new().configured(&config).with_adapter(&own);
        user.run(&["ignore", "--all", "--yes", "--reason", "note-of-eve"]).with(0);
        let log = user.home().join("log");
        std::fs::write(&log, "GET /?password=hunter2 of bob@acme.example\n{\"time\":\"message-of-eve\"}\n")
            .expect("a file");
        let log = log.display().to_string();
        for (name, form) in [("b.txt", "table"), ("b.json", "json")] {
            let path = user.home().join(name);
            let told = path.display().to_string();
            let ended = user.run(&["--log-file", &log, "doctor", "--bundle", &told, "-o", form]);
            assert!(ended.with(0).contains("read it before you send it"), "{}", ended.err);
            let text = std::fs::read_to_string(&path).expect("the bundle");
            assert_hidden(&format!("{:?} {name}", db.engine), &text);
            assert!(!text.contains(db.name()), "{:?}: the database's name: {text}", db.engine);
            let home = user.home().display().to_string();
            assert!(!text.contains(&home), "{:?}: the home folder: {text}", db.engine);
            for needed in [
                "Read it before you send it",
                env!("CARGO_PKG_VERSION"),
                "dead_letter_jobs",
                "error_backtrace",
                "runs finished: 1",
                "default_source",
                "source-1",
                "a file of the operator's",
                "\\\"message\\\":\\\"start\\\"",
            ] {
                let needed = if form == "json" { needed.to_owned() } else { needed.replace("\\\"", "\"") };
                assert!(text.contains(&needed), "{:?} {name} lacks {needed}: {text}", db.engine);
            }
            assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
            if form == "json" {
                let document: Value = serde_json::from_str(&text).expect("JSON");
                assert!(document["findings"].as_array().is_some_and(|found| found.len() > 20));
            }
        }
    }
}

#[test]
fn words_of_a_server_or_a_file_that_is_wrong_are_left_out() {
    let user = User::new()
        .configured("[sources.far]\nurl = \"postgres://user_ann:s3cret-password@127.0.0.1:1/ledger_of_acme\"\n");
    let bundle = |user: &User, name: &str| {
        let path = user.home().join(name);
        assert_eq!(user.run(&["doctor", "--bundle", &path.display().to_string()]).code, 1);
        std::fs::read_to_string(path).expect("the bundle")
    };
    let text = bundle(&user, "away");
    assert_hidden("away", &text);
    assert!(text.contains("the database cannot be reached"), "{text}");
    let wrong = User::new().configured("[sources.acme-billing]\nurl = \"sqlite:x\"\n\"note-of-eve\" = 1\n");
    let text = bundle(&wrong, "wrong");
    assert_hidden("wrong", &text);
    assert!(text.contains("a file of the config cannot be read, or is wrong"), "{text}");
}

#[tokio::test]
async fn it_overwrites_nothing_and_has_a_name_of_its_own() {
    let db = harness::sqlite("doctor bundle name").await;
    Layout::JobsDlq.seed(&db, 3).await;
    let user = User::of(&db);
    let here = |args: &[&str]| user.command(args).current_dir(user.home()).output().expect("the binary starts");
    assert!(here(&["doctor", "--bundle"]).status.success());
    let is_ours = |name: &str| name.starts_with("dlq-tui-doctor-20") && name.ends_with(".txt");
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|name| is_ours(name)).collect()
    };
    let [name] = names(user.home()).try_into().expect("one file");
    let before = std::fs::read(user.home().join(&name)).expect("a file");
    let again = here(&["doctor", "--bundle"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("the file exists"));
    assert_eq!(std::fs::read(user.home().join(&name)).expect("a file"), before);
    assert_eq!(here(&["doctor", "--bundle", "none/x.txt"]).status.code(), Some(1));
}
