//! What is said of a database that holds no table that an adapter knows: which tables it may be, and what to do.

use crate::cli::User;
use crate::harness::{self, Engine, PASSWORD, TestDb, every_engine};
use crate::pty::Pty;

/// Laravel's tables, of which the failed jobs have another name, beside some that no adapter knows.
async fn renamed(db: &TestDb) {
    let path = format!("{}/tests/fixtures/frameworks/laravel/{}.sql", env!("CARGO_MANIFEST_DIR"), db.engine.name());
    let ddl = std::fs::read_to_string(path).expect("the fixture").replace("failed_jobs", "app_failed_jobs");
    db.execute(&ddl).await;
    for table in ["dead_orders", "customers", "dlq_tui_jobs"] {
        db.execute(&format!("create table {table} (id integer primary key, what varchar(40))")).await;
    }
}

/// What `stats` says where there is nothing to open.
#[track_caller]
fn told(user: &User) -> String {
    let ended = user.run(&["stats"]);
    assert!(ended.with(2).contains("holds no table of dead-lettered jobs that an adapter knows\n"), "{}", ended.err);
    ended.err
}

#[tokio::test]
async fn likely_tables_are_named_and_a_renamed_layout_is_used_as_it_is_told() {
    for db in every_engine("no_layout").await {
        let name = db.engine.name();
        renamed(&db).await;
        let user = User::of(&db);
        let said = told(&user);
        assert!(said.contains("jobs or failures: dead_orders, app_failed_jobs, jobs\n"), "{name}: {said}");
        assert!(said.contains("\n  dlq-tui adapters init --table dead_orders\n"), "{name}: {said}");
        assert!(!said.contains("customers") && !said.contains("dlq_tui_jobs"), "{name}: {said}");
        assert!(
            said.contains("app_failed_jobs has the columns of failed_jobs, the table of the adapter laravel"),
            "{name}: {said}"
        );

        // Followed to the letter.
        let line = said.lines().find(|line| line.trim_start().starts_with("mkdir")).expect("a command");
        let line = line.replace("dlq-tui adapters", &format!("'{}' adapters", env!("CARGO_BIN_EXE_dlq-tui")));
        let made = std::process::Command::new("sh").args(["-c", &line]).status().expect("a shell");
        assert!(made.success(), "{name}: {line}");
        let file = user.home().join("config/dlq-tui/adapters/app_failed_jobs.toml");
        let copy = std::fs::read_to_string(&file).expect("the copy");
        let copy = copy.replacen("name = \"laravel\"", "name = \"app_failed_jobs\"", 1);
        let copy = copy.replacen("table = \"failed_jobs\"", "table = \"app_failed_jobs\"", 1);
        std::fs::write(&file, copy).expect("a file");
        let checked = user.run(&["adapters", "check", "app_failed_jobs"]);
        assert_eq!(checked.code, 0, "{name}: {}{}", checked.out, checked.err);
        assert_eq!(user.json(&["stats", "-o", "json"])["total"]["n"], 0, "{name}");
    }
}

#[tokio::test]
async fn nothing_is_named_that_the_role_may_not_read() {
    for server in [harness::postgres(), harness::mariadb(), harness::mysql()].into_iter().flatten() {
        let mut db = server.database("no_layout_role").await;
        renamed(&db).await;
        let role = format!("look_{}", db.name());
        let (make, scheme) = match db.engine {
            Engine::Postgres => {
                (format!("create role {role} login; grant select on dead_orders to {role}"), "postgres")
            }
            _ => (
                format!(
                    "create user {role}@'%' identified by '{PASSWORD}'; grant select on {0}.dead_orders to {role}@'%'; \
                     grant insert on {0}.app_failed_jobs to {role}@'%'",
                    db.name()
                ),
                "mysql",
            ),
        };
        db.execute(&make).await;
        let (_, place) = db.url.rsplit_once('@').expect("a user");
        db.url = format!("{scheme}://{role}:{PASSWORD}@{place}");
        let said = told(&User::of(&db));
        assert!(said.contains("jobs or failures: dead_orders\n"), "{}: {said}", db.engine.name());
        assert!(!said.contains("app_failed_jobs"), "{}: {said}", db.engine.name());
    }
}

#[tokio::test]
async fn layout_in_another_database_of_the_server_is_told_with_its_place() {
    for server in [harness::mariadb(), harness::mysql()].into_iter().flatten() {
        let (here, there) = (server.database("no_layout_here").await, server.database("no_layout_there").await);
        let ddl = include_str!("../../fixtures/frameworks/laravel/mysql.sql");
        there.execute(ddl).await;
        let said = told(&User::of(&here));
        let expected =
            format!("failed_jobs in the database {0} of this server is laravel's: name {0} as the", there.name());
        // The server is shared, and other tests have tables of layouts in theirs: five are told.
        assert!(said.contains(&expected) || said.matches(" of this server is ").count() == 3, "{said}");
        assert!(said.contains("dlq-tui adapters init --table X\n"), "{said}");
    }
}

#[tokio::test]
async fn console_that_finds_nothing_to_open_says_the_same_in_the_shell() {
    let db = harness::sqlite("no_layout_console").await;
    renamed(&db).await;
    let mut terminal = Pty::console(&["--url", &db.url]).size(200, 40).start();
    assert_eq!(terminal.wait_for_exit().exit_code(), 2, "{}", terminal.text());
    let text = terminal.text();
    assert!(text.contains("adapters init --table dead_orders") && text.contains("the adapter laravel"), "{text}");
}
