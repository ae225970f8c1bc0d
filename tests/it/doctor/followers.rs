//! What the doctor, and a plan, say of rows of other tables that refer to jobs.

use dlq_tui::domain::action::Action;
use dlq_tui::ledger::Ledger;
use serde_json::Value;

use super::findings;
use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb, every_server};
use crate::run::{desk, plan};

/// Level and fact of what is found of the foreign keys.
fn told(user: &User) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let found = findings(user).into_iter().filter(|f| f["about"] == "foreign keys");
    found.map(|f| (text(&f["level"]), text(&f["fact"]))).collect()
}

#[tokio::test]
async fn the_doctor_names_the_tables_whose_rows_go_change_or_refuse_when_jobs_are_deleted() {
    for db in every_server("doctor ties").await {
        let name = db.engine.name();
        Layout::JobsDlq.seed(&db, 5).await;
        let user = User::of(&db);
        let before = told(&user);
        assert_eq!(before.len(), 1, "{name}: {before:?}");
        assert!(before[0].0 == "ok" && before[0].1.starts_with("no rows of other tables"), "{name}: {before:?}");
        db.execute(
            "create table notes (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id) on delete cascade);
             create table files (id bigint primary key, note bigint, foreign key (note) references notes (id));
             create table tags (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id) on delete set null);
             create table strict (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id));
             create table other (id bigint primary key, file bigint, foreign key (file) references files (id) on delete cascade)",
        )
        .await;
        let after = told(&user);
        let levels: Vec<&str> = after.iter().map(|(level, _)| level.as_str()).collect();
        assert_eq!(levels, ["warn", "warn", "ok"], "{name}: {after:?}");
        for (fact, tables) in after.iter().map(|(_, fact)| fact).zip([&["notes"][..], &["tags"], &["files", "strict"]])
        {
            for table in ["notes", "files", "tags", "strict", "other"] {
                assert_eq!(fact.contains(&format!(".{table}")), tables.contains(&table), "{name}: {fact}");
            }
        }
    }
}

/// A database whose table refers to the dead jobs of another one on the same server.
async fn abroad(db: &TestDb) -> TestDb {
    let other = harness::mariadb().expect("a server").database("doctor-ties-ä").await;
    other
        .execute(&format!(
            "create table `no-tes ä` (id bigint primary key, job bigint, \
             foreign key (job) references {}.jobs_dlq (id) on delete cascade)",
            db.name()
        ))
        .await;
    other
}

#[tokio::test]
async fn tables_of_other_databases_of_the_server_are_told_where_the_role_is_shown_them() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("doctor abroad").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let other = abroad(&db).await;
    let table = format!("{}.no-tes ä", other.name());
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let warned = plan(&desk(&db.url, "jobs_dlq").await, &ledger, "", Action::Discard).await.warnings;
    assert!(warned.iter().any(|told| told.contains(&table) && told.contains("CASCADE")), "{warned:?}");
    let all = told(&User::of(&db));
    assert!(matches!(&all[..], [(level, fact)] if level == "warn" && fact.contains(&table)), "{all:?}");

    let role = format!("r{}", db.name().replace("dlq_", ""));
    let role = role.get(..30).unwrap_or(&role).to_owned();
    db.execute(&format!("create user {role} identified by 'x'; grant all on {}.* to {role}", db.name())).await;
    let (_, place) = db.url.split_once('@').expect("a user");
    let user = User::with_url(&format!("mysql://{role}:x@{place}"));
    let all = told(&user);
    assert!(
        matches!(&all[..], [none, (_, some)] if none.1.starts_with("no rows") && some.contains("only tables")),
        "{all:?}"
    );
    db.execute(&format!("grant insert on {}.* to {role}", other.name())).await;
    let all = told(&user);
    assert!(matches!(&all[..], [found, _] if found.0 == "warn" && found.1.contains(&table)), "{all:?}");
    // A plan goes on without what it is not shown.
    let desk = desk(&format!("mysql://{role}:x@{place}"), "jobs_dlq").await;
    assert_eq!(
        plan(&desk, &ledger, "", Action::Discard).await.warnings.iter().filter(|w| w.contains("CASCADE")).count(),
        0
    );
    db.execute(&format!("drop user {role}")).await;
    drop(other);
}
