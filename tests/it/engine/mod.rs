//! The engine layer on live databases.

mod lost;
mod stopped;
mod transactions;
mod values;

use std::time::Duration;

use dlq_tui::db::target::Target;
use dlq_tui::db::{Bind, Engine, EngineOptions, Row, Statement, Value};
use dlq_tui::store::{Budget, Result};

use crate::harness::{self, TestDb};

/// Far longer than anything here takes, so that it never decides a test.
pub const LONG: Duration = Duration::from_secs(60);

pub fn options() -> EngineOptions {
    EngineOptions { connect_timeout: Duration::from_secs(30), ..EngineOptions::default() }
}

pub async fn connect(db: &TestDb) -> Engine {
    connect_as(db, &options()).await.unwrap_or_else(|error| panic!("{error}"))
}

pub async fn connect_as(db: &TestDb, options: &EngineOptions) -> Result<Engine> {
    Engine::connect(&Target::from_url(&db.url)?, options).await
}

pub fn sql(text: &str) -> Statement {
    Statement { sql: text.to_owned(), binds: Vec::new() }
}

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The only row of a read, which has to work.
pub async fn row(engine: &Engine, text: &str, binds: Vec<Bind>) -> Row {
    let statement = Statement { sql: text.to_owned(), binds };
    let rows = engine.read(&[statement], &Budget::new(LONG)).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.into_iter().flatten().next().unwrap_or_else(|| panic!("no row from {text}"))
}

/// A statement that would run for hours; the database's name is the mark by which it is found in the server's list.
pub fn endless(db: &TestDb) -> Statement {
    let mark = db.name();
    sql(&match db.engine {
        harness::Engine::Postgres => format!("select pg_sleep(7200)::text /* {mark} */"),
        harness::Engine::Mysql => format!(
            "select count(*) /* {mark} */ from information_schema.columns a, information_schema.columns b, \
             information_schema.columns c, information_schema.columns d"
        ),
        harness::Engine::Sqlite => {
            format!("with recursive t(n) as (select 1 union all select n + 1 from t) select sum(n) /* {mark} */ from t")
        }
    })
}

/// How many statements with the mark the server is running; nobody else can say for SQLite.
pub async fn running(db: &TestDb, mark: &str) -> usize {
    let list = match db.engine {
        harness::Engine::Postgres => {
            "select query from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
        }
        harness::Engine::Mysql => {
            "select coalesce(info, '') from information_schema.processlist where id <> connection_id()"
        }
        harness::Engine::Sqlite => return 0,
    };
    db.column(list).await.iter().filter(|query| query.contains(mark)).count()
}

/// Waits until the server runs as many statements with the mark.
pub async fn until_running(db: &TestDb, mark: &str, wanted: usize) {
    if db.engine == harness::Engine::Sqlite {
        // Long enough for the statement to have been started, which nothing outside can see.
        return tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..3_000 {
        if running(db, mark).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}: still not {wanted} statements with the mark {mark}", db.engine);
}
