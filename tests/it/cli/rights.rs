//! A role that may read and not write.

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, PASSWORD, TestDb};

/// A role that may read, and the statements that let it do anything; the database is reached as
/// this role from then on.
async fn viewer(db: &mut TestDb) -> (String, String) {
    let role = format!("view_{}", db.name());
    let (make, allow, scheme) = match db.engine {
        Engine::Postgres => (
            // Up to PostgreSQL 14 everybody may make tables there.
            format!(
                "create role {role} login; grant select on all tables in schema public to {role}; \
                 revoke create on schema public from public"
            ),
            format!(
                "grant all on all tables in schema public to {role}; grant all on all sequences in schema public to \
                 {role}; grant create on schema public to {role}"
            ),
            "postgres",
        ),
        _ => (
            format!("create user {role}@'%' identified by '{PASSWORD}'; grant select on {}.* to {role}@'%'", db.name()),
            format!("grant all on {}.* to {role}@'%'", db.name()),
            "mysql",
        ),
    };
    db.execute(&make).await;
    let owner = db.url.clone();
    let (_, place) = owner.rsplit_once('@').expect("a user");
    db.url = format!("{scheme}://{role}:{PASSWORD}@{place}");
    (owner, allow)
}

#[tokio::test]
async fn a_role_without_the_right_is_refused_by_every_verb_before_anything_is_planned() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let mut db = server.database("viewer").await;
        Layout::JobsDlq.seed(&db, 20).await;
        let (owner, _) = viewer(&mut db).await;
        let user = User::of(&db);
        for (verb, right) in [
            (&["archive"][..], "CREATE"),
            (&["replay"], "INSERT"),
            (&["purge", "--state", "dead", "--older-than", "1s"], "DELETE"),
            (&["discard"], "DELETE"),
        ] {
            let everything = if verb[0] == "purge" { &[][..] } else { &["--all"] };
            let ended = user.run(&[verb, everything, &["--yes"]].concat());
            let name = format!("{} on {}: {}{}", verb[0], db.engine.name(), ended.out, ended.err);
            assert_eq!(ended.code, 4, "{name}");
            assert!(ended.err.contains("GRANT") && ended.err.contains(right), "{name}");
            assert_eq!(db.count("jobs_dlq").await, 20, "{name}");
            assert_eq!(user.json(&["runs", "-o", "json"])["runs"].as_array().map(Vec::len), Some(0), "{name}");
        }
        let findings = user.json(&["doctor", "-o", "json"]);
        let discard = rights(&findings, "discard");
        assert_eq!(discard["level"], "warn", "{findings:#}");
        assert!(discard["ddl"].as_str().is_some_and(|ddl| ddl.contains("DELETE")), "{findings:#}");
        assert_eq!(rights(&findings, "look")["level"], "ok", "{findings:#}");
        // What it advises helps, and is enough.
        let advised: Vec<String> = findings["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|finding| finding["section"].as_str().is_some_and(|section| section.starts_with("rights")))
            .filter_map(|finding| finding["ddl"].as_str().map(str::to_owned))
            .collect();
        let viewer = std::mem::replace(&mut db.url, owner);
        for ddl in &advised {
            db.execute(ddl).await;
        }
        db.url = viewer;
        let findings = user.json(&["doctor", "-o", "json"]);
        for verb in ["look", "replay", "discard", "purge", "undo of discard", "undo of replay"] {
            assert_eq!(rights(&findings, verb)["level"], "ok", "{advised:#?} {findings:#}");
        }
        user.run(&["discard", "--all", "--yes"]).with(0);
    }
}

fn rights<'a>(findings: &'a serde_json::Value, about: &str) -> &'a serde_json::Value {
    let is = |finding: &&serde_json::Value| {
        finding["about"] == about && finding["section"].as_str().is_some_and(|section| section.starts_with("rights"))
    };
    findings["findings"].as_array().into_iter().flatten().find(is).unwrap_or_else(|| panic!("no {about}: {findings:#}"))
}

#[tokio::test]
async fn a_run_that_lacks_a_right_which_nobody_saw_stops_and_can_be_resumed_when_it_is_there() {
    // Triggers of MariaDB have the rights of whoever made them.
    if let Some(server) = harness::postgres() {
        let mut db = server.database("unseen").await;
        Layout::JobsDlq.seed(&db, 20).await;
        let (owner, allow) = viewer(&mut db).await;
        let as_owner = async |db: &mut TestDb, sql: &str| {
            let viewer = std::mem::replace(&mut db.url, owner.clone());
            db.execute(sql).await;
            db.url = viewer;
        };
        as_owner(&mut db, &allow).await;
        // What a trigger does is not to be seen from outside.
        as_owner(
            &mut db,
            "create table kept (id bigint); create function keep() returns trigger language plpgsql as \
             $$ begin insert into kept values (old.id); return old; end $$; \
             create trigger keep before delete on jobs_dlq for each row execute function keep()",
        )
        .await;
        let user = User::of(&db);
        let ended = user.run(&["discard", "--all", "--yes"]);
        assert!(ended.code == 4 && ended.err.contains("denied"), "{}{}", ended.out, ended.err);
        let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
        assert_eq!((run["state"].as_str(), run["not_started"].as_u64()), (Some("stopped"), Some(20)), "{run}");
        as_owner(&mut db, &allow).await;
        let resumed = user.run(&["resume", run["run"].as_str().expect("a run"), "--yes"]);
        assert_eq!((resumed.code, db.count("jobs_dlq").await), (0, 0), "{}", resumed.err);
    }
}

#[tokio::test]
async fn a_role_of_one_schema_is_not_asked_to_choose() {
    let Some(server) = harness::postgres() else { return };
    let mut db = server.database("one_schema").await;
    Layout::JobsDlq.seed(&db, 3).await;
    let role = format!("one_{}", db.name());
    db.execute(&format!(
        r#"create schema "Initech Corp"; create table "Initech Corp".jobs_dlq (like public.jobs_dlq including all);
           create table "Initech Corp".jobs (like public.jobs including all);
           insert into "Initech Corp".jobs_dlq select * from public.jobs_dlq limit 2;
           revoke all on schema public from public; create role {role} login;
           grant usage on schema "Initech Corp" to {role}; grant select on all tables in schema "Initech Corp" to {role}"#
    ))
    .await;
    let user = User::of(&db);
    let err = user.run(&["stats"]).with(2).to_owned();
    assert!(err.contains("'Initech Corp.jobs_dlq'"), "{err}");
    for name in [r#""Initech Corp".jobs_dlq"#, "Initech Corp.jobs_dlq"] {
        assert_eq!(user.json(&["stats", "--store", name, "-o", "json"])["total"]["n"], 2, "{name}");
    }
    let (_, place) = db.url.rsplit_once('@').expect("a user");
    db.url = format!("postgres://{role}:{PASSWORD}@{place}");
    assert_eq!(User::of(&db).json(&["stats", "-o", "json"])["total"]["n"], 2);
}

/// The binary as an ordinary user runs it, whoever runs the tests.
fn as_anybody(user: &User, args: &[&str]) -> super::Ended {
    let program = user.home().join("dlq-tui");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_dlq-tui"), &program).expect("a copy");
    }
    let whole = user.command(args);
    let mut command = harness::ordinary(&program, user.home());
    command.args(args).envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
    super::Ended::from(command.output().expect("the binary starts"))
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_looked_at_and_says_why_nothing_more() {
    let db = harness::sqlite("unwritable").await;
    Layout::JobsDlq.seed(&db, 20).await;
    db.column("pragma journal_mode = delete").await;
    let file = db.file().expect("a file");
    let folder = file.parent().expect("a folder");
    let user = User::of(&db);
    harness::lend_to_servers(user.home());
    let modes = |of_file: u32, of_folder: u32| {
        set_mode(&file, of_file);
        set_mode(folder, of_folder);
    };
    for (of_file, of_folder, why) in
        [(0o444, 0o755, "no permission to write"), (0o666, 0o555, "no permission to write the folder")]
    {
        modes(of_file, of_folder);
        let ended = as_anybody(&user, &["replay", "--all", "--yes"]);
        assert!(ended.code == 4 && ended.err.contains(why), "{}{}", ended.out, ended.err);
        as_anybody(&user, &["list"]).with(0);
        let doctor = as_anybody(&user, &["doctor"]);
        assert!(doctor.out.contains(&format!("nothing can be acted upon: {why}")), "{}{}", doctor.out, doctor.err);
    }
    // With a write-ahead log, reading takes a file beside it, which whoever has it open has made.
    modes(0o666, 0o777);
    db.column("pragma journal_mode = wal").await;
    modes(0o444, 0o555);
    let ended = as_anybody(&user, &["list"]);
    assert!(ended.with(2).contains("has a write-ahead log, and SQLite reads it only where"), "{}", ended.err);
    modes(0o666, 0o777);
    as_anybody(&user, &["replay", "--all", "--yes"]).with(0);
    assert_eq!(db.count("jobs_dlq").await, 0);
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}
