//! The files under `docs/` say what the program says, and what they tell the reader to do works.

use super::User;
use crate::harness::{self, Engine};

/// The first block of that language in a document.
fn block<'a>(document: &'a str, language: &str) -> &'a str {
    let fence = format!("```{language}\n");
    document.split_once(&fence).and_then(|(_, rest)| rest.split_once("```")).expect("a block").0
}

#[tokio::test]
async fn the_worked_example_of_the_adapters_reference_works_as_it_is_written() {
    let document = User::new().run(&["docs", "adapters"]).out;
    for db in harness::every_engine("worked example").await {
        // MySQL's own `timestamp` is a time with zone.
        let date_time = if db.engine == Engine::Mysql { "datetime" } else { "timestamp" };
        db.execute(&block(&document, "sql").replace("timestamp", date_time)).await;
        db.execute(
            "INSERT INTO failed_mails VALUES \
             (1, 'welcome', '{\"big\":12345678901234567890123}', 'SMTP::Busy: 451', 5, '2026-01-01 10:00:00', NULL), \
             (2, 'invoice', '{}', 'Net::OpenTimeout: late', 5, '2026-01-01 10:00:01', NULL), \
             (3, 'invoice', '{}', 'Net::OpenTimeout: late', 5, '2026-01-01 10:00:02', '2026-01-02 10:00:00')",
        )
        .await;
        let user = User::of(&db);
        let folder = user.home().join("config/dlq-tui/adapters");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("failed_mails.toml"), "").expect("a file");
        assert!(user.run(&["adapters", "check", "failed_mails"]).with(2).contains("missing `name`"));
        std::fs::write(folder.join("failed_mails.toml"), block(&document, "toml")).expect("a file");
        let check = user.run(&["adapters", "check", "failed_mails"]);
        check.with(0);
        assert!(check.out.contains(" 28 statements, right"), "{:?}: {}", db.engine, check.out);
        user.run(&["replay", "1", "--yes"]).with(0);
        assert_eq!(db.column("SELECT params FROM mail_queue").await, ["{\"big\":12345678901234567890123}"]);
        assert_eq!(user.json(&["stats", "-o", "json"])["bars"][0]["value"], "Net::OpenTimeout");
        user.run(&["ignore", "2", "--yes"]).with(4);
        user.run(&["discard", "2", "--yes"]).with(0);
        assert_eq!(db.count("failed_mails").await, 2);
    }
}

#[test]
fn the_generated_references_are_up_to_date() {
    let user = User::new();
    for name in ["commands", "filter", "adapters", "keys", "capture", "rights"] {
        let printed = user.run(&["docs", name]);
        printed.with(0);
        let path = format!("{}/docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &printed.out).expect("a file");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == printed.out,
            "docs/{name}.md is stale: `UPDATE_DOCS=1 cargo test --test it references` renews it"
        );
    }
}

#[test]
fn help_and_version_are_data() {
    let user = User::new();
    let help = user.run(&["--help"]);
    assert!(help.with(0).is_empty() && help.out.contains("Exit codes"));
    assert!(user.run(&["--version"]).out.starts_with("dlq-tui "));
    user.run(&["no-such-command"]).with(2);
}
