//! The draft of an adapter for a table that nobody has described, through the shipped binary.

use crate::cli::User;
use crate::harness::{Engine, TestDb, every_engine};

/// Drafts the adapter of a table, and says what was printed and where the file is.
fn drafted(user: &User, table: &str) -> (String, std::path::PathBuf) {
    let ended = user.run(&["adapters", "init", "--table", table]);
    (ended.with(0).to_owned(), user.home().join(format!("config/dlq-tui/adapters/{table}.toml")))
}

fn mend(file: &std::path::Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).expect("a draft");
    assert!(text.contains(from), "{from}: {text}");
    std::fs::write(file, text.replace(from, to)).expect("a file");
}

async fn seed(db: &TestDb, ddl: &str) {
    let (instant, flag) = match db.engine {
        Engine::Postgres => ("timestamptz", "boolean"),
        Engine::Mysql => ("datetime(6)", "tinyint(1)"),
        Engine::Sqlite => ("text", "boolean"),
    };
    db.execute(&ddl.replace("INSTANT", instant).replace("FLAG", flag)).await;
}

#[tokio::test]
async fn a_state_of_numbers_is_left_to_be_written_and_nothing_is_dead_before() {
    for db in every_engine("drafts_state").await {
        let name = db.engine.name();
        seed(&db, "create table work_items (id integer primary key, status smallint not null, payload text, failed_at INSTANT not null)").await;
        db.execute("insert into work_items values (1, 0, '{}', '2026-11-18 09:14:02'), (2, 1, '{}', '2026-11-18 09:14:03'), (3, 3, '{}', '2026-11-18 09:14:04')").await;
        let user = User::of(&db);
        let (said, file) = drafted(&user, "work_items");
        assert!(
            said.contains("not used before this is written: `states.dead` (line ")
                && said.contains("adapters check work_items"),
            "{name}: {said}"
        );
        let checked = user.run(&["adapters", "check", "work_items"]);
        let told = checked.with(2);
        assert_eq!(told.matches("`states.dead` (line ").count(), 1, "{name}: {told}");
        assert!(!told.contains("there is no adapter"), "{name}: {told}");
        assert_ne!(user.run(&["stats", "-o", "json"]).code, 0, "{name}: no store of a draft");

        mend(&file, "dead = [\"…\"]", "dead = [\"3\"]");
        let checked = user.run(&["adapters", "check", "work_items"]);
        assert!(checked.out.contains("right"), "{name}: {}{}", checked.out, checked.err);
        let list = user.json(&["list", "-f", "state:dead", "-o", "json"]);
        assert_eq!(
            list["jobs"].as_array().map(|jobs| (jobs.len(), jobs[0]["id"].clone())),
            Some((1, "3".into())),
            "{name}"
        );
        let refused = user.run(&["discard", "3", "--yes"]);
        assert_ne!(refused.code, 0, "{name}: {}", refused.out);
        assert_eq!(db.count("work_items").await, 3, "{name}");
    }
}

#[tokio::test]
async fn a_flag_is_a_state_and_a_lone_time_is_that_of_death() {
    for db in every_engine("drafts_flag").await {
        let name = db.engine.name();
        seed(&db, "create table mails (id integer primary key, is_dead FLAG not null, error text, tries numeric(6, 0), ts INSTANT not null)").await;
        let (no, yes) = if db.engine == Engine::Postgres { ("false", "true") } else { ("0", "1") };
        db.execute(&format!("insert into mails values (1, {no}, 'Boom: x', 3, '2026-11-18 09:14:02'), (2, {yes}, 'Boom: y', 4, '2026-11-18 09:14:03')")).await;
        let user = User::of(&db);
        let (said, file) = drafted(&user, "mails");
        assert!(said.contains("`states.dead` (line ") && !said.contains("`fields.at`"), "{name}: {said}");
        mend(&file, "dead = [\"…\"]", &format!("dead = [\"{yes}\"]"));
        let checked = user.run(&["adapters", "check", "mails"]);
        assert!(checked.out.contains("right"), "{name}: {}{}", checked.out, checked.err);
        let list = user.json(&["list", "-f", "state:dead", "-o", "json"]);
        let jobs = list["jobs"].as_array().expect("jobs");
        assert_eq!(
            (jobs.len(), &jobs[0]["id"], &jobs[0]["error"], &jobs[0]["attempts"]),
            (1, &"2".into(), &"Boom".into(), &4.into()),
            "{name}: {list}"
        );
    }
}

#[tokio::test]
async fn a_key_of_two_columns_is_scope_and_key_and_one_that_no_index_vouches_for_is_none() {
    for db in every_engine("drafts_key").await {
        let name = db.engine.name();
        seed(&db, "create table failed_calls (tenant varchar(40) not null, id integer not null, failed_at INSTANT not null, primary key (tenant, id))").await;
        db.execute("insert into failed_calls values ('a', 1, '2026-11-18 09:14:02'), ('b', 2, '2026-11-18 09:14:03')")
            .await;
        let user = User::of(&db);
        drafted(&user, "failed_calls");
        let checked = user.run(&["adapters", "check", "failed_calls"]);
        assert!(checked.out.contains("right"), "{name}: {}{}", checked.out, checked.err);
        let list = user.json(&["list", "-o", "json"]);
        assert_eq!(list["jobs"][0]["id"], "b/2", "{name}");

        seed(&db, "create table failed_pings (id integer not null, failed_at INSTANT not null)").await;
        db.execute("create index failed_pings_id on failed_pings (id)").await;
        let (said, _) = drafted(&user, "failed_pings");
        assert!(said.contains("`key` (line "), "{name}: {said}");
        db.execute("create unique index failed_pings_one on failed_pings (id)").await;
        std::fs::remove_file(user.home().join("config/dlq-tui/adapters/failed_pings.toml")).expect("a draft");
        let (said, _) = drafted(&user, "failed_pings");
        assert!(!said.contains("before this is written"), "{name}: {said}");
    }
}
