//! Tables whose rows the database does not show to every role, without an error.

use dlq_tui::domain::filter::Filter;

use super::shop::{Shop, look};
use crate::cli::User;
use crate::harness::{self, TestDb};
use crate::store_desk::exhaust;

const TABLES: &str = include_str!("../../fixtures/frameworks/graphile-worker/tables.sql");

/// A database with such tables, and a role that may read them.
async fn with_reader(name: &str) -> Option<(TestDb, String, String)> {
    let db = harness::postgres()?.database(name).await;
    db.execute(TABLES).await;
    let role = format!("reader_{}", db.name());
    db.execute(&format!(
        "create role {role} login; grant usage on schema work to {role}; grant select on all tables in schema work to {role}"
    ))
    .await;
    let url = db.url.replacen(&format!("//{}:", harness::USER), &format!("//{role}:"), 1);
    // A server given by URL may ask our role for a password that it does not have.
    (url != db.url).then_some((db, role, url))
}

fn reader(url: &str) -> User {
    User::new().configured(&format!("[sources.shop]\nurl = \"{url}\"\n"))
}

async fn leave(db: TestDb, role: &str) {
    db.execute(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test]
async fn a_table_whose_rows_are_all_hidden_is_no_empty_table() {
    let Some((db, role, url)) = with_reader("hidden").await else { return };
    assert!(look(&db).await.found.iter().any(|f| f.adapter == "graphile-worker" && f.warnings.is_empty()), "its owner");
    let user = reader(&url);
    let ended = user.run(&["stats"]);
    assert_ne!(ended.code, 0);
    let sentence = format!("row-level security hides every row of _private_jobs from the role {role}");
    assert!(ended.err.contains(&sentence), "{}", ended.err);
    assert!(ended.err.contains(&format!("ALTER ROLE {role} BYPASSRLS")), "{}", ended.err);
    // A policy for writers, or for somebody else, shows this role nothing either.
    db.execute("create policy p on work._private_jobs for update using (true)").await;
    assert!(user.run(&["stats"]).err.contains(&sentence));
    db.execute(&format!("alter role {role} bypassrls")).await;
    let ended = user.run(&["list"]);
    assert!(ended.code == 0 && !ended.err.contains("row-level"), "{}", ended.err);
    assert!(ended.out.contains("ETIMEDOUT"), "{}", ended.out);
    leave(db, &role).await;
}

#[tokio::test]
async fn rows_that_a_policy_may_hide_are_told_of_beside_every_answer() {
    let Some((db, role, url)) = with_reader("veiled").await else { return };
    db.execute("create policy p on work._private_jobs for select using (id < 4); create policy p on work._private_tasks for select using (true)").await;
    let user = reader(&url);
    let ended = user.run(&["stats"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("total") && ended.out.contains('3'), "{}", ended.out);
    let warning =
        format!("dlq-tui: warning: row-level security decides which rows of _private_jobs the role {role} is shown");
    assert!(ended.err.contains(&warning), "{}", ended.err);
    assert!(ended.err.contains("hides every row of _private_job_queues"), "{}", ended.err);
    let shop = Shop::on(db, "graphile-worker").await;
    assert!(shop.store().info().warnings.is_empty(), "the owner sees all");
    assert_eq!(
        exhaust(shop.store(), &Filter::all(), Default::default(), dlq_tui::store::Cursor::Start, 50).await.len(),
        10
    );
    leave(shop.db, &role).await;
}
