//! The yardstick: the same question put by somebody who knows SQL: to `psql`, or, where the database has no such client that
//! tells times, in a session of this process.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

use crate::harness::Engine;
use crate::process::cpu_time_below;
use crate::psql::Psql;
use crate::pty::Pty;
use crate::sample::Sample;
use crate::screen::{COLUMNS, ROWS};

/// A client of one database.
#[derive(Clone, Debug)]
pub struct Client {
    engine: Engine,
    url: String,
}

/// What a statement took in an open session, and the first column of its rows.
struct Answer {
    took: Duration,
    column: Vec<String>,
}

/// Sends statements one after another in a session of the engine's own type.
macro_rules! in_session {
    ($connection:ty, $url:expr, $statements:expr) => {{
        let mut session = <$connection>::connect($url).await.unwrap_or_else(|e| panic!("{}: {e}", $url));
        let mut answers = Vec::new();
        for statement in $statements {
            let began = Instant::now();
            let rows = sqlx::raw_sql(AssertSqlSafe(statement.clone())).fetch_all(&mut session).await;
            let took = began.elapsed();
            let rows = rows.unwrap_or_else(|e| panic!("{e}: {statement}"));
            let text = |row: &_| Row::try_get_unchecked::<Option<String>, _>(row, 0).ok().flatten().unwrap_or_default();
            let column = rows.iter().map(text).collect();
            answers.push(Answer { took, column });
        }
        let _ = session.close().await;
        answers
    }};
}

impl Client {
    pub fn new(url: &str) -> Self {
        let engine = match url.split(':').next() {
            Some("mysql") => Engine::Mysql,
            Some("sqlite") => Engine::Sqlite,
            _ => Engine::Postgres,
        };
        Self { engine, url: url.to_owned() }
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it is called in a report.
    pub fn name(&self) -> &'static str {
        match self.engine {
            Engine::Postgres => "psql",
            Engine::Mysql | Engine::Sqlite => "plain SQL",
        }
    }

    fn psql(&self) -> Option<Psql> {
        (self.engine == Engine::Postgres).then(|| Psql::new(&self.url))
    }

    /// What the statements print.
    pub fn print(&self, statements: &[&str]) -> String {
        match self.psql() {
            Some(psql) => psql.print(statements),
            None => {
                let answers = self.session(statements.iter().map(|one| (*one).to_owned()));
                answers.into_iter().flat_map(|answer| answer.column).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// How long the statements take together in a session that is open.
    pub fn once(&self, statements: &[String]) -> Duration {
        self.session(statements.iter().cloned()).iter().map(|answer| answer.took).sum()
    }

    /// How long a statement takes in a session that is open; after one run that is not counted.
    pub fn timing(&self, statement: &str, runs: usize) -> Sample {
        match self.psql() {
            Some(psql) => psql.timing(statement, runs),
            None => self
                .session(std::iter::repeat_n(statement.to_owned(), runs + 1))
                .iter()
                .skip(1)
                .map(|a| a.took)
                .collect(),
        }
    }

    /// The same by one process of the server alone, where it would take several.
    pub fn timing_alone(&self, statement: &str, runs: usize) -> Option<Sample> {
        Some(self.psql()?.timing_in("set max_parallel_workers_per_gather = 0", statement, runs))
    }

    /// How long it takes to read all rows of a statement, of which `psql` keeps none.
    pub fn reading(&self, statement: &str) -> Duration {
        match self.psql() {
            Some(psql) => psql.first(&format!("copy ({statement}) to stdout")),
            None => self.once(&[statement.to_owned()]),
        }
    }

    /// Time on the processor so far of all processes that the server has had; nothing where it has none of its own.
    pub fn processor(&self) -> Option<Duration> {
        let file = self.psql()?.print(&["select pg_read_file('postmaster.pid')"]);
        Some(cpu_time_below(file.lines().next()?.trim().parse().ok()?))
    }

    /// Pages that the statement touches, where the database tells.
    pub fn buffers(&self, statement: &str) -> Option<u64> {
        Some(self.psql()?.buffers(statement))
    }

    /// Whether the database's own client is on this machine.
    pub fn is_here(&self) -> bool {
        let command = self.command("select 1");
        Command::new(command.get_program()).arg("--version").stdout(Stdio::null()).status().is_ok()
    }

    /// How long that client takes on a terminal like the console's, its start and its connection included.
    pub fn process(&self, statement: &str) -> Duration {
        let command = self.command(statement);
        let program = command.get_program().to_str().expect("a program");
        let arguments: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
        let mut launch = Pty::program(program, &arguments).size(COLUMNS, ROWS);
        for (name, value) in command.get_envs() {
            let text = |text: &OsStr| text.to_str().expect("text").to_owned();
            launch = launch.env(&text(name), &text(value.expect("a value")));
        }
        let mut pty = launch.start();
        assert!(pty.wait_for_exit().success(), "{program}: {statement}");
        pty.heard_after()
    }

    fn command(&self, statement: &str) -> Command {
        if let Some(psql) = self.psql() {
            return psql.command(&[statement]);
        }
        if let Some(file) = self.url.strip_prefix("sqlite://") {
            let mut command = Command::new("sqlite3");
            command.args([file, statement]);
            return command;
        }
        let rest = self.url.strip_prefix("mysql://").unwrap_or_default();
        let (user, place) = rest.split_once('@').unwrap_or_default();
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        let (address, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = address.split_once(':').unwrap_or((address, "3306"));
        let mut command = Command::new("mariadb");
        command.args(["--batch", "--skip-column-names", "-h", host, "-P", port, "-u", name, "-e", statement, database]);
        command.env("MYSQL_PWD", password);
        command
    }

    /// Runs statements in a session of this process, on a runtime of its own: whoever calls may have one already.
    fn session(&self, statements: impl Iterator<Item = String>) -> Vec<Answer> {
        let (engine, url, statements) = (self.engine, self.url.as_str(), statements.collect::<Vec<String>>());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(answers(engine, url, &statements))
            });
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick's own SQL: as its client sends it, without values from outside"
)]
async fn answers(engine: Engine, url: &str, statements: &[String]) -> Vec<Answer> {
    match engine {
        Engine::Postgres => in_session!(PgConnection, url, statements),
        Engine::Mysql => in_session!(MySqlConnection, url, statements),
        Engine::Sqlite => in_session!(SqliteConnection, url, statements),
    }
}
