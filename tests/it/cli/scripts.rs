//! What scripts rely on: exit codes, forms and documents, whatever comes between.

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// Standard output whose reader has gone.
fn deaf() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer
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
    user.run(&["ignore", "--all", "--limit", "3", "--yes"]).with(0);
    for width in [60, 80, 100, 132] {
        for args in [&["list"][..], &["runs"], &["stats"], &["sources"], &["adapters"]] {
            let mut command = user.command(args);
            let ended = Ended::from(command.env("COLUMNS", width.to_string()).output().expect("it starts"));
            ended.with(0);
            let widest = ended.out.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{args:?} at {width}: {widest}\n{}", ended.out);
        }
    }
}
