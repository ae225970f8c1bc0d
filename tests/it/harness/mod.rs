//! Real databases for tests, thrown away afterwards.
//!
//! ```text
//! #[tokio::test]
//! async fn a_sentence_that_states_the_behaviour() {
//!     let Some(server) = harness::postgres() else { return };     // prints SKIP once, or fails if required
//!     let db = server.database("sentence").await;                 // fresh and empty, dropped with the value
//!     db.execute("create table t (a int); insert into t values (1)").await;
//!     assert_eq!(db.scalar("select count(*) from t").await, "1");
//! }
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `DLQ_TEST_POSTGRES_URL`, `DLQ_TEST_MYSQL_URL` | use this server, whose user may create databases, instead of starting one |
//! | `DLQ_TEST_POSTGRES_BIN` | the folder with the programs of the PostgreSQL to start |
//! | `DLQ_TEST_MYSQL_ROOT` | what `scripts/unpack-server` has unpacked, to start instead of the machine's MariaDB |
//! | `DLQ_TEST_PGLITE` | the `node_modules` with PGlite and its socket server |
//! | `DLQ_TEST_REQUIRE` | comma-separated: `postgres`, `mariadb`, `mysql`, `pgbouncer`, `pglite`, `redis`; a server that cannot be had fails the test |
//! | `DLQ_TEST_SKIP` | the same names: the server is not even tried. `sqlite`: stories for every engine leave it out |
//! | `DLQ_TEST_FRAMEWORKS` | not empty: workers of real frameworks run too (`tests/frameworks`) |
//!
//! A shared server starts when the first test asks for it and ends with the test binary, however that ends. Tests that
//! stop or pause a server take one of their own: [`private_postgres`], [`private_mariadb`].

mod database;
mod machine;
mod mariadb;
mod mysql;
mod pgbouncer;
mod pglite;
mod postgres;
pub mod process;
mod redis;
mod server;
mod unpacked;
mod wire;

use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

pub use database::{Engine, OpenTransaction, TestDb};
pub use pgbouncer::Pooler;
pub use redis::{Answer, RedisServer};
pub use server::Server;
pub use wire::{Carries, Said, Wire};

/// The user that the throwaway servers know.
pub const USER: &str = "dlq";
/// Its password, part of every server URL: whatever prints it has leaked a secret.
pub const PASSWORD: &str = "correct-horse-battery";

/// The PostgreSQL that all tests share, or nothing where there is none.
pub fn postgres() -> Option<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    available(
        "postgres",
        SERVER.get_or_init(|| shared("postgres", "DLQ_TEST_POSTGRES_URL", Engine::Postgres, postgres::start)),
    )
}

/// The MariaDB (or, by URL, MySQL) that all tests share, or nothing where there is none.
pub fn mariadb() -> Option<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    available("mariadb", SERVER.get_or_init(|| shared("mariadb", "DLQ_TEST_MYSQL_URL", Engine::Mysql, mariadb::start)))
}

/// The MySQL that all tests share, or nothing where `scripts/unpack-server` has not unpacked one.
pub fn mysql() -> Option<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    available("mysql", SERVER.get_or_init(|| start_unless_skipped("mysql", mysql::start)))
}

/// A PostgreSQL of the test's own, to be stopped, killed and paused; never one given by URL.
pub fn private_postgres() -> Option<Server> {
    private("postgres", postgres::start)
}

/// A PostgreSQL of the caller's own with settings that override those of tests, such as `fsync=on`; its data outlive it in
/// a folder, where one is given.
#[allow(dead_code, reason = "the bench measures on one that keeps its promises")]
pub fn private_postgres_with(settings: &[&str], kept: Option<&std::path::Path>) -> Result<Server, String> {
    postgres::start_with(settings, kept)
}

/// A PostgreSQL of the test's own with more settings; never one given by URL.
pub fn guarded_postgres(settings: &[&str]) -> Option<Server> {
    let start = || postgres::start_with(settings, None);
    start_unless_skipped("postgres", start).map_err(|reason| skip("postgres", &reason)).ok()
}

/// A command that runs as the account to which a folder was lent, its home.
pub fn ordinary(program: &std::path::Path, home: &std::path::Path) -> std::process::Command {
    machine::ordinary(program, home).unwrap_or_else(|e| panic!("{}: {e}", home.display()))
}

/// Gives a folder and what lies in it to the account that servers run as, which may be another one than ours.
pub fn lend_to_servers(folder: &std::path::Path) {
    machine::lend(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
}

/// A MariaDB of the caller's own with options that override those of tests.
#[allow(dead_code, reason = "the bench measures on one that keeps its promises")]
pub fn private_mariadb_with(settings: &[&str]) -> Result<Server, String> {
    mariadb::start_with(settings)
}

/// A MariaDB of the test's own with more options; never one given by URL.
pub fn guarded_mariadb(settings: &[&str]) -> Option<Server> {
    start_unless_skipped("mariadb", || mariadb::start_with(settings)).map_err(|reason| skip("mariadb", &reason)).ok()
}

/// A PostgreSQL of the test's own that follows another one; settings as for [`private_postgres_with`].
pub fn standby_of(primary: &Server, settings: &[&str]) -> Result<Server, String> {
    postgres::standby(primary, settings)
}

/// Where the programs of the PostgreSQL lie that is started here.
#[allow(dead_code, reason = "the bench measures against its psql")]
pub fn postgres_programs() -> Option<std::path::PathBuf> {
    postgres::programs()
}

/// A MariaDB of the test's own, to be stopped, killed and paused; never one given by URL.
pub fn private_mariadb() -> Option<Server> {
    private("mariadb", mariadb::start)
}

/// The same, which keeps what it has committed when it is killed. A PostgreSQL is asked to by us.
pub fn careful_mariadb() -> Option<Server> {
    private("mariadb", || mariadb::start_with(&["--innodb-flush-log-at-trx-commit=1"]))
}

/// A PgBouncer in transaction mode in front of a PostgreSQL database, with so many server connections.
pub fn pgbouncer(db: &TestDb, connections: usize) -> Option<Pooler> {
    if is_listed("DLQ_TEST_SKIP", "pgbouncer") {
        return None;
    }
    pgbouncer::start(db, connections).map_err(|reason| skip("pgbouncer", &reason)).ok()
}

/// A Redis server of the test's own, with more options; or nothing where there is none.
pub fn redis(options: &[&str]) -> Option<RedisServer> {
    start_unless_skipped("redis", || redis::start(options)).map_err(|reason| skip("redis", &reason)).ok()
}

/// A fresh SQLite database in a temporary folder.
pub async fn sqlite(name: &str) -> TestDb {
    TestDb::sqlite(name).await
}

/// A fresh database on every engine that is to be had: for stories that are the same on all of them.
pub async fn every_engine(name: &str) -> Vec<TestDb> {
    let mut databases = Vec::new();
    if !is_listed("DLQ_TEST_SKIP", "sqlite") {
        databases.push(sqlite(name).await);
    }
    for server in [postgres(), mariadb()].into_iter().flatten() {
        databases.push(server.database(name).await);
    }
    databases
}

/// The same, and MySQL: for stories of what is written, recorded and put back, and of what only its SQL can get wrong. All
/// others would take a third more time for what MariaDB shows as well.
pub async fn every_server(name: &str) -> Vec<TestDb> {
    let mut databases = every_engine(name).await;
    if let Some(server) = mysql() {
        databases.push(server.database(name).await);
    }
    databases
}

/// A PGlite of the test's own for so many clients, who share one session.
pub fn pglite(clients: usize) -> Option<Server> {
    start_unless_skipped("pglite", || pglite::start(clients)).map_err(|reason| skip("pglite", &reason)).ok()
}

type Start = fn() -> Result<Server, String>;

fn shared(name: &str, variable: &str, engine: Engine, start: Start) -> Result<Server, String> {
    match std::env::var(variable) {
        Ok(url) if !is_listed("DLQ_TEST_SKIP", name) => Ok(Server::external(engine, url)),
        _ => start_unless_skipped(name, start),
    }
}

fn start_unless_skipped<T>(name: &str, start: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    if is_listed("DLQ_TEST_SKIP", name) { Err("DLQ_TEST_SKIP names it".to_owned()) } else { start() }
}

/// Whether a comma-separated environment variable holds a name.
fn is_listed(variable: &str, name: &str) -> bool {
    std::env::var(variable).unwrap_or_default().split(',').any(|one| one.trim() == name)
}

fn available(name: &str, server: &'static Result<Server, String>) -> Option<&'static Server> {
    server.as_ref().map_err(|reason| skip(name, reason)).ok()
}

fn private(name: &str, start: Start) -> Option<Server> {
    start_unless_skipped(name, start).map_err(|reason| skip(name, &reason)).ok()
}

/// Says why a server is missing: as a failure where `DLQ_TEST_REQUIRE` names it, in one line on stderr otherwise.
pub fn skip(name: &str, reason: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    assert!(!is_listed("DLQ_TEST_REQUIRE", name), "DLQ_TEST_REQUIRE names {name}: {reason}");
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !said.iter().any(|other| other == name) {
        said.push(name.to_owned());
        // Not eprintln!: the test runner would keep that back when the test passes.
        let _ = writeln!(std::io::stderr(), "SKIP {name}: {reason}");
    }
}

/// Waits for something that another process does; fails when it does not come.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

mod tests;
