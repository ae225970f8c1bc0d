//! Jobs whose error takes the database long to tell: what is too much for one statement is counted in pieces.

use crate::cli::User;
use crate::harness;

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

#[tokio::test]
async fn what_is_too_much_for_one_statement_is_counted_in_pieces() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("slow_rows").await;
    db.execute(
        "create table slow_failed (id bigserial primary key, said text, failed_at timestamp not null default (now() at time zone 'utc')); \
         create index on slow_failed (failed_at); insert into slow_failed (said) select 'Boom: ' || n % 3 from generate_series(1, 24) n",
    )
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("slow.toml");
    std::fs::write(&file, SLOW).expect("a file");
    let user = User::of(&db).with_adapter(&file);
    for facet in ["error", "fp"] {
        let counted = user.json(&["stats", "--by", facet, "-o", "json"]);
        assert_eq!(counted["total"]["n"], 24, "{facet}: {counted}");
    }
}
