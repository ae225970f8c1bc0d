//! Jobs whose error takes the database long to tell: what is too much for one statement is counted in pieces.

use crate::cli::User;
use crate::harness::{self, TestDb};

/// Each row takes 100 ms: what died just now takes longer than a statement may.
const SLOW: &str = r#"
name = "slow"
title = "Slow"
table = "slow_failed"
key = { column = "id", kind = "int" }

[detect.columns]
said = "text"
failed_at = "time"

[order]
time = { column = "failed_at", kind = "utc" }

[fields]
at = { column = "failed_at", kind = "utc" }
error_class = { sql = "(SELECT split_part(t.said, ':', 1) FROM pg_sleep(0.1 + 0 * length(t.said)) OFFSET 0)", kind = "text" }
message = { column = "said", kind = "text" }

[states]
dead = ["failed"]

[verbs.replay]
disabled = "there is nowhere to replay it to"
[verbs.ignore]
disabled = "there is no place for it"
[verbs.reopen]
disabled = "there is no place for it"
[verbs.discard]
disabled = "it is kept"
[verbs.archive]
disabled = "it is kept"
[verbs.purge]
disabled = "it is kept"
"#;

/// A user of a database with 24 dead jobs, and of an adapter for them.
async fn user_of(name: &str, adapter: &str) -> Option<(TestDb, User)> {
    let db = harness::postgres()?.database(name).await;
    db.execute(
        "create table slow_failed (id bigserial primary key, said text, failed_at timestamp not null default (now() at time zone 'utc')); \
         create index on slow_failed (failed_at); insert into slow_failed (said) select 'Boom: ' || n % 3 from generate_series(1, 24) n",
    )
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("slow.toml");
    std::fs::write(&file, adapter).expect("a file");
    let user = User::of(&db).with_adapter(&file);
    Some((db, user))
}

#[tokio::test]
async fn what_is_too_much_for_one_statement_is_counted_in_pieces() {
    let Some((_db, user)) = user_of("slow_rows", SLOW).await else { return };
    for facet in ["error", "fp"] {
        let counted = user.json(&["stats", "--by", facet, "-o", "json"]);
        assert_eq!(counted["total"]["n"], 24, "{facet}: {counted}");
    }
}

#[tokio::test]
async fn lists_and_counts_by_fingerprint_go_by_the_beginning_of_a_message_that_takes_long_to_tell() {
    let error = SLOW.lines().find(|line| line.starts_with("error_class")).expect("a class");
    let said = r#"message = { column = "said", kind = "text" }"#;
    // Longer than a statement may take.
    let whole =
        r#"message = { sql = "(SELECT t.said FROM pg_sleep(60 + 0 * length(t.said)) OFFSET 0)", kind = "text" }"#;
    let head = r#"message_head = { sql = "left(t.said, 200)", kind = "text" }"#;
    let text = SLOW.replace(error, "").replace(said, &format!("{whole}\n{head}"));
    let Some((_db, user)) = user_of("slow_heads", &text).await else { return };
    let listed = user.json(&["list", "-o", "json"]);
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(24), "{listed}");
    assert_eq!(listed["jobs"][0]["message"], "Boom: 0", "{listed}");
    let counted = user.json(&["stats", "--by", "fp", "-o", "json"]);
    assert_eq!(counted["bars"].as_array().map(Vec::len), Some(1), "{counted}");
}
