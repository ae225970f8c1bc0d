//! A ledger that the operators of a database share.

use std::process::Stdio;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};

/// The tables and columns that are not the ledger's, as the catalogue has them.
async fn own_catalogue(db: &TestDb) -> Vec<String> {
    let sql = match db.engine {
        Engine::Postgres => {
            "select c.table_schema || '.' || c.table_name || '.' || c.column_name || ' ' || c.data_type || ' ' || \
             coalesce((select string_agg(i.indexdef, ';' order by i.indexname) from pg_indexes i \
             where i.schemaname = c.table_schema and i.tablename = c.table_name), '') \
             from information_schema.columns c where c.table_schema = 'public' order by 1"
        }
        Engine::Mysql => {
            "select concat(table_name, '.', column_name, ' ', column_type, ' ', column_key) \
             from information_schema.columns where table_schema = database() and table_name not like 'dlq\\_tui\\_%' \
             order by 1"
        }
        Engine::Sqlite => {
            "select name || ' ' || coalesce(sql, '') from sqlite_master where name not like '%dlq_tui_%' order by 1"
        }
    };
    let rows = db.column(sql).await;
    assert!(!rows.is_empty());
    rows
}

#[tokio::test]
async fn init_installs_a_ledger_once_and_touches_nothing_else() {
    for db in harness::every_engine("cli_shared_init").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let before = own_catalogue(&db).await;
        let user = User::of(&db);
        let told = format!("{:?}", db.engine);
        let dry = user.run(&["init", "--ledger", "--dry-run"]);
        assert!(dry.with(0).contains("GRANT") == (db.engine != Engine::Sqlite), "{told}: {}", dry.err);
        assert!(dry.out.contains("CREATE TABLE dlq_tui"), "{told}: {}", dry.out);
        assert!(user.run(&["init", "--ledger"]).with(4).contains("--yes is needed"), "{told}");
        assert!(user.run(&["runs"]).with(0).contains("no runs yet"), "{told}");
        user.run(&["init", "--ledger", "--yes"]).with(0);
        let again = user.run(&["init", "--ledger", "--yes"]);
        assert!(again.with(0).contains("nothing is missing"), "{told}: {}", again.err);
        assert_eq!((again.out.as_str(), own_catalogue(&db).await), ("", before), "{told}");
        user.run(&["init", "--ledger", "--preset", "jobs_dlq"]).with(2);
    }
}

#[tokio::test]
async fn who_had_secrets_shown_stays_on_record_where_the_source_holds_a_ledger() {
    for db in harness::every_engine("cli_shared_reveals").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let user = User::of(&db);
        user.run(&["init", "--ledger", "--yes"]).with(0);
        user.run(&["list", "--reveal"]).with(0);
        let kept = user.json(&["runs", "--reveals", "-o", "json"]);
        assert_eq!(kept["reveals"].as_array().map(Vec::len), Some(1), "{:?}: {kept}", db.engine);
    }
}

#[tokio::test]
async fn operators_see_each_others_runs_and_go_on_with_them() {
    for db in harness::every_engine("cli_shared_two").await {
        let told = format!("{:?}", db.engine);
        Layout::JobsDlq.seed(&db, 400).await;
        let (ada, bob) = (User::of(&db), User::of(&db));
        let old = ada.json(&["replay", "--yes", "--all", "--limit", "10", "-o", "json"]);
        assert_eq!(old["home"], "local", "{told}");
        ada.run(&["init", "--ledger", "--yes"]).with(0);
        let args = ["replay", "--yes", "--all", "--limit", "200", "--reason", "gateway", "-o", "json"];
        let done = ada.json(&args);
        assert_eq!((done["home"].as_str(), done["done"].as_u64()), (Some("source"), Some(200)), "{told}");
        let run = done["run"].as_str().expect("a run");
        let seen = bob.json(&["runs", "-o", "json"]);
        assert_eq!(seen["runs"].as_array().map(Vec::len), Some(1), "{told}: {seen}");
        assert_eq!(
            (seen["runs"][0]["run"].as_str(), seen["runs"][0]["done"].as_u64()),
            (Some(run), Some(200)),
            "{told}"
        );
        assert_eq!(bob.json(&["runs", run, "-o", "json"])["reason"], "gateway", "{told}");
        // A table tells the homes apart only where there is more than one.
        assert!(!bob.run(&["runs"]).out.contains("home"), "{told}");
        let both = ada.run(&["runs"]).out;
        assert!(both.contains("home") && both.contains("local") && both.contains("source"), "{told}: {both}");
        // One that was stopped by the first operator is gone on with by the second.
        let runs = if db.engine == Engine::Postgres { "dlq_tui.runs" } else { "dlq_tui_runs" };
        let jobs = if db.engine == Engine::Postgres { "dlq_tui.run_jobs" } else { "dlq_tui_run_jobs" };
        let mut long = ada.command(&["replay", "--yes", "--all", "--rate", "20/s", "--batch", "5"]);
        let mut child = long.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let working =
            format!("{jobs} where outcome = 'done' and run in (select seq from {runs} where state = 'running')");
        while db.count(&working).await == 0 {
            assert!(child.try_wait().expect("a state").is_none(), "{told}: it ended");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let live = bob.json(&["runs", "-o", "json"])["runs"][0].clone();
        assert_eq!(live["state"], "running", "{told}: {live}");
        let id = live["run"].as_str().expect("a run").to_owned();
        assert!(bob.run(&["resume", "--yes", &id]).with(1).contains("being executed by another client"), "{told}");
        child.kill().expect("killed");
        child.wait().expect("an end");
        let ended = bob.json(&["resume", "--yes", &id, "--rate", "10000", "-o", "json"]);
        assert_eq!((ended["state"].as_str(), ended["done"].as_u64()), (Some("finished"), Some(190)), "{told}: {ended}");
        assert_eq!((db.count("jobs_dlq").await, db.count("jobs").await), (0, 400), "{told}");
    }
}

#[tokio::test]
async fn the_jobs_of_a_run_are_listed_wherever_it_is_recorded() {
    let db = harness::sqlite("cli_shared_jobs").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let user = User::of(&db);
    let local = user.json(&["discard", "--yes", "--all", "--limit", "3", "-o", "json"]);
    user.run(&["init", "--ledger", "--yes"]).with(0);
    let shared = user.json(&["discard", "--yes", "--all", "--limit", "5", "-o", "json"]);
    for (run, home, n) in [(&local, "local", 3), (&shared, "source", 5)] {
        assert_eq!(run["home"], home);
        let id = run["run"].as_str().expect("a run");
        let jobs = user.json(&["runs", id, "--jobs", "-o", "json"])["jobs"].clone();
        assert_eq!(jobs.as_array().map(Vec::len), Some(n), "{home}: {jobs}");
        // What would become of them if they were undone is looked up from either home too.
        let foreseen = user.run(&["undo", id, "--dry-run", "-o", "jsonl"]);
        foreseen.with(0);
        assert_eq!(foreseen.out.lines().count(), n, "{home}: {}", foreseen.out);
    }
}

#[tokio::test]
async fn a_source_that_is_away_leaves_the_runs_of_this_machine() {
    let db = harness::sqlite("cli_shared_away").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let user = User::of(&db);
    user.run(&["replay", "--yes", "--all"]).with(0);
    let mut away = user.command(&["runs"]);
    away.env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let ended = super::Ended::from(away.output().expect("starts"));
    assert!(ended.with(0).contains("only runs that are kept on this machine"), "{}", ended.err);
    assert!(ended.out.contains("ended"), "{}", ended.out);
    // Where they cannot be had either, that is said once, and nothing else.
    let state = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(state.path().join("dlq-tui/ledger.sqlite3")).expect("a folder in its place");
    let mut unusable = user.command(&["runs"]);
    let ended = super::Ended::from(unusable.env("XDG_STATE_HOME", state.path()).output().expect("starts"));
    let said = ended.with(1);
    assert_eq!((said.matches("cannot be used").count(), said.contains("only runs")), (1, false), "{said}");
    let mut nowhere = user.command(&["runs"]);
    nowhere.env_remove("DATABASE_URL");
    let ended = super::Ended::from(nowhere.output().expect("starts"));
    assert_eq!(ended.with(0), "");
}

#[tokio::test]
async fn a_role_without_rights_to_the_ledger_is_told_which_it_needs() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("cli_shared_rights").await;
        let told = format!("{:?}", db.engine);
        Layout::JobsDlq.seed(&db, 20).await;
        let role = format!("op_{}", db.name());
        let role = &role[role.len().saturating_sub(30)..].trim_start_matches('_').to_owned();
        let grants = match db.engine {
            Engine::Postgres => format!(
                "create role {role} login password 'x'; grant select, insert, update, delete on jobs, jobs_dlq to {role}; \
                 grant usage on all sequences in schema public to {role}"
            ),
            _ => format!(
                "create user '{role}'@'%' identified by 'x'; grant select, insert, update, delete on jobs to '{role}'@'%'; \
                 grant select, insert, update, delete on jobs_dlq to '{role}'@'%'"
            ),
        };
        db.execute(&grants).await;
        let (scheme, rest) = db.url.split_once("://").expect("a URL");
        let (_, place) = rest.split_once('@').expect("a user");
        let plain = User { database_url: Some(format!("{scheme}://{role}:x@{place}")), ..User::new() };
        let denied = plain.run(&["init", "--ledger", "--yes"]);
        assert!(denied.with(4).contains("may not create"), "{told}: {}", denied.err);
        User::of(&db).run(&["init", "--ledger", "--yes"]).with(0);
        if db.engine == Engine::Postgres {
            // It may not be read: that is said, and the runs of this machine are left.
            let runs = plain.run(&["runs"]);
            assert!(runs.with(0).contains("GRANT USAGE ON SCHEMA dlq_tui"), "{told}: {}", runs.err);
            db.execute(&format!(
                "grant usage on schema dlq_tui to {role}; grant select on all tables in schema dlq_tui to {role}"
            ))
            .await;
        } else {
            for table in ["ledger", "runs", "run_jobs", "batches", "run_tallies", "archive", "transactions"] {
                db.execute(&format!("grant select on dlq_tui_{table} to '{role}'@'%'")).await;
            }
        }
        plain.run(&["runs"]).with(0);
        let refused = plain.run(&["replay", "--all", "--yes"]);
        let said = refused.with(4);
        assert!(
            said.contains("GRANT SELECT, INSERT, UPDATE, DELETE") && said.contains(role.as_str()),
            "{told}: {said}"
        );
        assert_eq!(db.count("jobs").await, 0, "{told}");
        assert_eq!(plain.json(&["runs", "-o", "json"])["runs"].as_array().map(Vec::len), Some(0), "{told}");
        if db.engine == Engine::Postgres {
            db.execute(&format!("drop owned by {role}; drop role {role}")).await;
        } else {
            db.execute(&format!("drop user '{role}'@'%'")).await;
        }
    }
}

#[tokio::test]
async fn a_ledger_whose_tables_have_no_transactions_any_more_is_refused_with_what_mends_it() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("bare_ledger").await;
    // Keys of the ledger's tables are too long for the engines without transactions that MySQL has.
    if !db.scalar("select version()").await.contains("MariaDB") {
        return;
    }
    Layout::JobsDlq.seed(&db, 4).await;
    let user = User::new().configured(&format!("[sources.a]\nurl = \"{}\"\nreplay = {{ table = \"jobs\" }}\n", db.url));
    user.run(&["init", "--ledger", "--yes"]).with(0);
    db.execute("alter table dlq_tui_run_jobs engine = Aria; alter table dlq_tui_batches engine = MyISAM").await;
    let told =
        ["dlq_tui_batches (MyISAM) and dlq_tui_run_jobs (Aria)", "`ALTER TABLE dlq_tui_run_jobs ENGINE = InnoDB`"];
    // Runs of this machine are told all the same.
    for (args, code) in [(&["replay", "--all", "--yes"][..], 1), (&["init", "--ledger", "--yes"], 2), (&["runs"], 0)] {
        let ended = user.run(args);
        assert!(told.iter().all(|words| ended.with(code).contains(words)), "{args:?}: {}", ended.err);
    }
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (0, 4));
    let doctor = user.run(&["doctor", "-o", "json"]);
    assert!(doctor.with(1).is_empty() && told.iter().all(|words| doctor.out.contains(words)), "{}", doctor.out);
    // Looking at jobs takes no record.
    user.run(&["stats"]).with(0);
    db.execute("alter table dlq_tui_run_jobs engine = InnoDB; alter table dlq_tui_batches engine = InnoDB").await;
    user.run(&["replay", "--all", "--yes"]).with(0);
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (4, 0));
}
