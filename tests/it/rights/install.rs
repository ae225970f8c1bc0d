//! What it takes to install, and that nothing is made without.

use super::clerk::Clerk;
use crate::cli::User;
use crate::harness::{self, Engine, TestDb};

/// The documented rights: to create tables, and to create the schema of a shared ledger, where that is another right.
fn rights(db: &TestDb, clerk: &Clerk<'_>) -> [String; 2] {
    let (name, database) = (clerk.name.trim_end_matches("@%"), db.name());
    match db.engine {
        Engine::Postgres => [
            format!("grant create, usage on schema public to {name}"),
            format!("grant create on database {database} to {name}"),
        ],
        _ => [
            format!("grant create, index, references on {database}.* to '{name}'@'%'"),
            format!("grant alter, delete, insert, select, update on {database}.* to '{name}'@'%'"),
        ],
    }
}

#[tokio::test]
async fn the_documented_rights_are_enough_to_install_and_without_them_nothing_is_made() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("installer").await;
        if db.engine == Engine::Postgres {
            db.execute("revoke create on schema public from public").await;
        }
        let Some(clerk) = Clerk::hired(&db).await else { return };
        let user = User::with_url(&clerk.url);
        let [tables, ledger] = rights(&db, &clerk);
        if db.engine == Engine::Postgres {
            for install in [&["init", "--preset", "jobs_dlq", "--yes"][..], &["init", "--ledger", "--yes"]] {
                assert!(user.run(install).with(4).contains("may not create"), "{install:?}");
            }
        }
        db.execute(&tables).await;
        for preset in ["dead_letter_jobs", "jobs_dlq", "dlq_events"] {
            user.run(&["init", "--preset", preset, "--yes"]).with(0);
        }
        db.execute(&ledger).await;
        user.run(&["init", "--ledger", "--yes"]).with(0);
        let dead = "('{}', 5, 'Late', 'new', now())";
        db.execute(&format!(
            "insert into jobs_dlq (payload, attempts, error_class, error_msg, failed_at) values {dead}"
        ))
        .await;
        user.run(&["replay", "--all", "--store", "jobs_dlq", "--yes"]).with(0);
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (1, 0), "{:?}", db.engine);
        clerk.leave().await;
    }
}
