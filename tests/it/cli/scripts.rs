//! What scripts rely on: exit codes, forms and documents, whatever comes between.

use serde_json::Value;

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// Standard output whose reader has gone.
fn deaf() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer
}

/// The cells of a line of comma-separated values, none of which is quoted.
fn cells(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

/// A row of the ledger as comma-separated values, by name.
fn cell(csv: &str, name: &str) -> String {
    let mut lines = csv.lines();
    let at = cells(lines.next().expect("names")).iter().position(|n| *n == name).unwrap_or_else(|| panic!("{csv}"));
    cells(lines.next().expect("a row"))[at].to_owned()
}

async fn jobs_dlq(name: &str, rows: u32) -> (TestDb, User) {
    let db = harness::sqlite(name).await;
    Layout::JobsDlq.seed(&db, rows).await;
    let user = User::of(&db);
    (db, user)
}

#[tokio::test]
async fn a_reader_that_goes_away_does_not_turn_a_verdict_into_success() {
    let (db, user) = jobs_dlq("cli deaf verdicts", 40).await;
    let code = |user: &User, args: &[&str]| user.command(args).stdout(deaf()).status().expect("it starts").code();
    for form in ["table", "json", "jsonl", "csv"] {
        assert_eq!(code(&user, &["check", "--max", "total:1", "-o", form]), Some(5), "{form}");
        assert_eq!(code(&user, &["check", "--max", "total:40", "-o", form]), Some(0), "{form}");
    }
    let sources = format!("[sources.a]\nurl = \"{}\"\n[sources.b]\nurl = \"sqlite:/nowhere/x.db\"\n", db.url);
    let user = User::new().configured(&sources);
    assert_eq!(code(&user, &["sources"]), Some(3));
    let folder = user.home().join("config/dlq-tui/adapters");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("odd.toml"), "name = ").expect("a file");
    assert_eq!(code(&user, &["adapters"]), Some(3));
    assert_eq!(code(&user, &["--source", "a", "adapters", "check", "que"]), Some(1));
}

#[tokio::test]
async fn plans_and_receipts_have_the_columns_of_the_ledger() {
    let (_db, user) = jobs_dlq("cli csv receipts", 40).await;
    let csv = |args: &[&str]| {
        let ended = user.run(&[args, &["-o", "csv"]].concat());
        ended.with(0);
        let names = cells(ended.out.lines().next().expect("names")).len();
        assert!(
            ended.out.starts_with("run,frozen_at,action,state,") && ended.out.lines().count() == 2,
            "{}",
            ended.out
        );
        assert_eq!(cells(ended.out.lines().nth(1).expect("a row")).len(), names, "{}", ended.out);
        ended.out
    };
    let plan = csv(&["replay", "--all", "--limit", "7", "--dry-run"]);
    assert_eq!((cell(&plan, "planned"), cell(&plan, "done")), ("7".to_owned(), "0".to_owned()));
    let receipt = csv(&["replay", "--all", "--limit", "7", "--yes"]);
    assert_eq!((cell(&receipt, "state"), cell(&receipt, "done")), ("finished".to_owned(), "7".to_owned()));
    let run = cell(&receipt, "run");
    // Asked again, it also tells what became of its jobs.
    let again = csv(&["runs", &run]);
    assert_eq!((cell(&receipt, "outcome"), cell(&again, "outcome")), (String::new(), "7 waiting".to_owned()));
    assert_eq!(again.replace(",7 waiting", ","), receipt);
    let undo = csv(&["undo", &run, "--yes"]);
    assert_eq!((cell(&undo, "action"), cell(&undo, "done")), ("recall".to_owned(), "7".to_owned()));
}

#[tokio::test]
async fn the_columns_of_a_run_add_up_to_what_was_planned() {
    let (db, _) = jobs_dlq("cli csv sums", 700).await;
    let source = format!("[sources.app]\nurl = \"{}\"\n", db.url);
    let user = User::new().configured(&format!("{source}validate = {{ command = \"sh -c 'exit 9'\" }}\n"));
    let said = user.run(&["replay", "--all", "--yes", "-o", "json"]);
    said.with(1);
    let receipt: Value = serde_json::from_str(&said.out).expect("a receipt");
    assert!(receipt["halted"].as_str().is_some_and(|why| why.contains("the validator answered")), "{receipt}");
    let run = user.run(&["runs", receipt["run"].as_str().expect("a run"), "-o", "csv"]).out;
    let number = |name: &str| cell(&run, name).parse::<u64>().expect("a number");
    assert!(number("not_started") > 0);
    let parts = ["done", "skipped", "failed", "in_doubt", "not_started"].map(number);
    assert_eq!(number("planned"), parts.iter().sum::<u64>(), "{run}");
    let table = user.run(&["runs"]).out;
    assert!(table.contains("  not started  ") && !table.contains("in doubt"), "{table}");
}

#[tokio::test]
async fn each_document_on_a_line_carries_its_version() {
    let (_db, user) = jobs_dlq("cli versions", 12).await;
    let run = user.json(&["discard", "--all", "--yes", "-o", "json"])["run"].as_str().expect("a run").to_owned();
    for args in [&["runs", &run, "--jobs"][..], &["undo", &run, "--dry-run"]] {
        let lines = user.run(&[args, &["-o", "jsonl"]].concat());
        lines.with(0);
        assert_eq!(lines.out.lines().count(), 12, "{args:?}");
        for line in lines.out.lines() {
            let document: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!((document["version"].as_u64(), document["run"].is_string()), (Some(1), true), "{line}");
        }
    }
    let whole = user.json(&["runs", &run, "--jobs", "-o", "json"]);
    assert_eq!((whole["version"].as_u64(), whole["jobs"][0].get("version")), (Some(1), None));
}

#[tokio::test]
async fn a_validator_that_cannot_be_started_is_told_of_before_anything_is_planned() {
    let (db, user) = jobs_dlq("cli no validator", 40).await;
    std::fs::write(user.home().join("plain"), "no program").expect("a file");
    let plain = user.home().join("plain");
    for program in ["nosuchprog", "/nowhere/prog --strict", plain.to_str().expect("a path")] {
        for more in ["--yes", "--dry-run"] {
            let ended = user.run(&["replay", "--all", more, "--validate", program]);
            assert!(ended.with(4).contains("cannot be started"), "{}", ended.err);
        }
    }
    assert_eq!(user.json(&["runs", "-o", "json"])["runs"], serde_json::json!([]));
    assert_eq!(db.count("jobs").await, 0);
    user.run(&["replay", "--all", "--dry-run", "--validate", "sh -c true"]).with(0);

    let (db, user) = jobs_dlq("cli validator lost", 700).await;
    let script = user.home().join("judge");
    std::fs::write(&script, "#!/bin/sh\nexit 9\n").expect("a file");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("a program");
    user.run(&["replay", "--all", "--yes", "--validate", script.to_str().expect("a path")]).with(1);
    std::fs::remove_file(&script).expect("the file");
    let before = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    let resumed = user.run(&["resume", before["run"].as_str().expect("a run"), "--yes"]);
    assert!(resumed.with(4).contains("cannot be started"), "{}", resumed.err);
    assert_eq!(user.json(&["runs", "-o", "json"])["runs"][0]["skipped"], before["skipped"]);
    assert_eq!(db.count("jobs").await, 0);
}

#[tokio::test]
async fn where_nothing_matches_a_script_still_gets_its_document() {
    let (_db, user) = jobs_dlq("cli empty documents", 4).await;
    let none = |more: &[&str]| {
        let ended = user.run(&[&["replay", "-f", "class:NoSuchClass"], more].concat());
        assert!(ended.with(0).contains("nothing to replay"));
        ended.out
    };
    let of = |text: String| -> Value { serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")) };
    let (plan, receipt) = (of(none(&["--dry-run", "-o", "json"])), of(none(&["--yes", "-o", "jsonl"])));
    assert_eq!((plan["version"].as_u64(), plan["count"].as_u64()), (Some(1), Some(0)));
    assert_eq!((receipt["planned"].as_u64(), receipt["done"].as_u64()), (Some(0), Some(0)));
    let full = |document: Value| document.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(full(plan), full(user.json(&["replay", "--all", "--dry-run", "-o", "json"])));
    assert_eq!(full(receipt), full(user.json(&["replay", "--all", "--yes", "-o", "json"])));
    assert_eq!(none(&["--yes", "-o", "csv"]).lines().count(), 1, "the names, and no row");
    assert_eq!(none(&["--yes"]), "");
}

#[tokio::test]
async fn a_limit_of_nothing_lists_every_run() {
    let (_db, user) = jobs_dlq("cli all runs", 30).await;
    for _ in 0..21 {
        user.run(&["replay", "--all", "--dry-run"]).with(0);
    }
    let listed = |args: &[&str]| user.json(&[&["runs", "-o", "json"], args].concat())["runs"].as_array().map(Vec::len);
    assert_eq!((listed(&[]), listed(&["--limit", "0"])), (Some(20), Some(21)));
}

#[tokio::test]
async fn sources_begin_with_what_every_other_command_would_use() {
    let (db, user) = jobs_dlq("cli sources env", 3).await;
    let other = harness::sqlite("cli sources other").await;
    let user = user.configured(&format!("[sources.other]\nurl = \"{}\"\n", other.url));
    let told = user.json(&["sources", "-o", "json"]);
    let address = |n: usize| told["sources"][n]["address"].as_str().map(str::to_owned);
    assert_eq!(user.json(&["stats", "-o", "json"])["source"], told["sources"][0]["source"]);
    assert_eq!(told["sources"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(told["sources"][1]["source"], "other");
    assert!(address(0) != address(1), "{told}");
    drop(db);
}

#[tokio::test]
async fn a_receipt_that_cannot_be_printed_leaves_the_name_of_its_run() {
    let (db, user) = jobs_dlq("cli receipt lost", 12).await;
    for form in ["table", "json"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let output = user.command(&["replay", "--all", "--limit", "6", "--yes", "-o", form]).stdout(full).output();
        let ended = Ended::from(output.expect("it starts"));
        let said = ended.with(1);
        let run = user.json(&["runs", "-o", "json"])["runs"][0]["run"].as_str().expect("a run").to_owned();
        assert!(said.contains(&format!("dlq-tui runs {run}")), "{said}");
    }
    assert_eq!(db.count("jobs").await, 12);
}

#[tokio::test]
async fn a_note_counts_all_and_is_whole_without_a_ledger() {
    let (_db, user) = jobs_dlq("cli note", 30).await;
    assert!(user.run(&["export", "-o", "markdown", "--limit", "3"]).with(2).contains("--limit"));
    user.run(&["discard", "--all", "--limit", "2", "--yes"]).with(0);
    assert!(user.run(&["export", "-o", "markdown"]).out.contains("\n## What was done"));
    std::fs::write(user.home().join("state/dlq-tui/ledger.sqlite3"), "no ledger at all, but some text")
        .expect("a file");
    let note = user.run(&["export", "-o", "markdown"]);
    assert!(note.with(0).contains("ledger"), "{}", note.err);
    assert!(
        note.out.starts_with("# 28 dead jobs") && note.out.contains("\n## What was done\n\nNot known: "),
        "{}",
        note.out
    );
}

#[tokio::test]
async fn tables_fit_the_terminal() {
    let db = harness::sqlite("cli narrow").await;
    Layout::DeadLetterJobs.seed(&db, 40).await;
    let user = User::of(&db);
    let run = user.json(&["ignore", "--all", "--limit", "3", "--yes", "-o", "json"])["run"].clone();
    let run = run.as_str().expect("a run");
    for width in [60, 80, 100, 132] {
        for args in [&["list"][..], &["runs"], &["runs", run, "--jobs"], &["stats"], &["sources"], &["adapters"]] {
            let mut command = user.command(args);
            let ended = Ended::from(command.env("COLUMNS", width.to_string()).output().expect("it starts"));
            ended.with(0);
            let widest = ended.out.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{args:?} at {width}: {widest}\n{}", ended.out);
        }
    }
}
