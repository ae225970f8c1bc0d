//! `adapters check` of one adapter: what it answers for, and what it does not.

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, every_engine};

#[tokio::test]
async fn a_file_that_cannot_be_read_is_no_fault_of_the_adapter_that_is_asked_for() {
    for db in every_engine("checks_other").await {
        Layout::JobsDlq.install(&db).await;
        let user = User::of(&db);
        let folder = user.home().join("config/dlq-tui/adapters");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("broken.toml"), "name = \"broken\"\ntitel = \"x\"\n").expect("a file");
        let one = user.run(&["adapters", "check", "jobs_dlq"]);
        assert_eq!(one.code, 0, "{}: {}{}", db.engine.name(), one.out, one.err);
        assert!(one.err.contains("broken.toml, line 2"), "{}", one.err);
        let all = user.run(&["adapters", "check"]);
        assert_eq!(all.code, 1, "{}: {}{}", db.engine.name(), all.out, all.err);
    }
}

#[tokio::test]
async fn an_undo_that_a_schema_cannot_have_is_named_and_is_no_fault() {
    for db in every_engine("checks_undo").await {
        let name = db.engine.name();
        Layout::JobsDlq.install(&db).await;
        let index = if db.engine == Engine::Mysql { "drop index jobs_ready on jobs" } else { "drop index jobs_ready" };
        db.execute(&format!("{index}; alter table jobs drop column locked_at")).await;
        let checked = User::of(&db).run(&["adapters", "check", "jobs_dlq"]);
        checked.with(0);
        let told = &checked.out;
        assert!(told.contains(" statements, right\n"), "{name}: {told}");
        assert!(told.contains("verbs.replay.undo is not used here: ") && told.contains("locked_at"), "{name}: {told}");
    }
}

#[tokio::test]
async fn text_is_no_column_whose_members_an_adapter_reads_on_postgresql() {
    let Some(server) = harness::postgres() else { return };
    for (layout, table, column, wanted) in [
        (Layout::JobsDlq, "jobs_dlq", "payload", "json or jsonb"),
        (Layout::DeadLetterJobs, "dead_letter_jobs", "metadata", "jsonb"),
    ] {
        let db = server.database("checks_text").await;
        layout.install(&db).await;
        db.execute(&format!(
            "alter table {table} alter column {column} drop default; \
             alter table {table} alter column {column} type text using {column}::text"
        ))
        .await;
        let user = User::of(&db);
        let ended = user.run(&["stats"]);
        let refused = ended.with(2);
        assert!(refused.contains("that an adapter knows"), "{refused}");
        let checked = user.run(&["adapters", "check", table]);
        assert!(
            checked.out.contains(&format!("{table}.{column} is text, not {wanted}\n")),
            "{}{}",
            checked.out,
            checked.err
        );
    }
}
