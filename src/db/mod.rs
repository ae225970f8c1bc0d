//! Databases: the only code that names sqlx. A statement goes in as text with binds, rows come out as text, whole numbers
//! and NULL, whatever the database.
//!
//! `connection` is what each `driver` implements, `pool` lends connections, `cancellation` runs one exchange so that it can
//! be stopped at any moment. `transaction` and this file are what callers use.

mod cancellation;
pub(crate) mod cells;
mod connection;
mod connector;
mod driver;
mod file_identity;
mod net;
mod options;
mod pool;
#[cfg(feature = "redis")]
pub(crate) mod redis;
mod request_size;
mod retry;
mod rollback_only;
mod statement_log;
pub mod target;
mod transaction;
mod tx_journal;
mod write_mode;

/// SQLite's values and rows, for a file that is not a source.
pub(crate) mod lite {
    pub(crate) use super::driver::bind::{sqlite as bind, sqlite_all as bind_all};
    pub(crate) use super::{driver::decode::sqlite as decode, file_identity::Inode};
}

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cancellation::{step, steps};
use connection::{Answer, Facts, Limits, Link, Mode};
pub(crate) use driver::grants::Grants;
pub(crate) use driver::sqlite::CHANGES;
use futures_util::future::BoxFuture;
pub use options::EngineOptions;
use pool::{Lease, Pool};
use retry::{RetryAttempt, Reused, lost, shut_out, unbegun};
pub use statement_log::Listener;
pub use transaction::Tx;
pub use tx_journal::{Recorded, TxJournal};
pub(crate) use write_mode::Gate;

use crate::db::target::Target;
use crate::domain::budget::Budget;
use crate::domain::log;
use crate::domain::source_error::{Result, SourceError};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// How often a read that a replica stopped is tried again.
const CONFLICTS: u32 = 3;

/// Which engine's SQL is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DatabaseKind {
    /// PostgreSQL 13 and later.
    Postgres,
    /// MySQL 8 and MariaDB 10.6 and later.
    Mysql,
    /// SQLite 3.
    Sqlite,
}

impl DatabaseKind {
    /// The word for it in adapter files.
    pub fn word(self) -> &'static str {
        match self {
            DatabaseKind::Postgres => "postgres",
            DatabaseKind::Mysql => "mysql",
            DatabaseKind::Sqlite => "sqlite",
        }
    }
}

/// A value bound to a statement. Placeholders stand in the text as the engine writes them (`$1` or `?`).
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// Text or NULL.
    Text(Option<String>),
    /// A whole number or NULL.
    Int(Option<i64>),
    /// Many texts as one value: `text[]` on PostgreSQL, a JSON array's text elsewhere.
    Texts(Vec<Option<String>>),
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Statement {
    /// The text: from adapter files and dialects only.
    pub sql: String,
    /// The values, in the order of their placeholders.
    pub binds: Vec<Bind>,
}

impl From<&Statement> for Statement {
    fn from(statement: &Statement) -> Self {
        statement.clone()
    }
}

/// A decoded value: what a contract column may be. Booleans arrive as 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Text.
    Text(String),
    /// Text whose bytes are no UTF-8, as they are stored; [`Value::shown`] marks those that are not.
    Odd(Vec<u8>),
    /// A whole number.
    Int(i64),
}

impl Value {
    /// Odd bytes as text, in which each one that is not UTF-8 stands as a mark, see [`Untrusted::from_bytes`].
    pub fn shown(bytes: Vec<u8>) -> String {
        Untrusted::from_bytes(bytes).exact().to_owned()
    }
}

/// A row of contract columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

/// A connection to one database, with its small pool, deadlines and cancelling.
///
/// A lost connection is opened again by the next call.
pub struct Engine {
    dialect: DatabaseKind,
    facts: Facts,
    /// Host, port and database, or the file.
    place: String,
    connected: Instant,
    lock_timeout: Duration,
    /// What the quickest read took so far, in microseconds.
    quickest: AtomicU64,
    pool: Arc<Pool>,
}

impl Engine {
    /// Connects, and asks the server what it is.
    ///
    /// # Errors
    /// When the target cannot be reached within the connect timeout, or refuses us.
    pub async fn connect(target: &Target, options: &EngineOptions) -> Result<Self> {
        let Reached { engine, link, .. } = Self::reach(target, options, None, ready(Vec::new())).await?;
        engine.pool.put(link);
        Ok(engine)
    }

    /// Connects and runs the statements: as [`Engine::connect`] and [`Engine::read`] behind it, with fewer round trips. The
    /// statements may become known while the connection is made.
    ///
    /// # Errors
    /// As those two.
    pub async fn connect_reading(
        target: &Target,
        options: &EngineOptions,
        statements: impl Future<Output = Vec<Statement>>,
        budget: &Budget,
    ) -> Result<(Self, Vec<Vec<Row>>)> {
        let limits = Limits { statement: budget.statement, lock: options.lock_timeout };
        let Reached { engine, link, statements, answer } = tokio::select! {
            biased;
            () = budget.cancel.cancelled() => return Err(SourceError::Cancelled),
            reached = Self::reach(target, options, Some(limits), statements) => reached?,
        };
        let lease = engine.pool.lend(link)?;
        let rows = match answer {
            Some(rows) => rows,
            None => {
                let lease = engine.begin_on(lease, true, Mode::Read, budget).await.map_err(|(error, _)| error)?;
                fetch_each(lease, &statements, budget).await?
            }
        };
        Ok((engine, rows))
    }

    async fn reach(
        target: &Target,
        options: &EngineOptions,
        limits: Option<Limits>,
        statements: impl Future<Output = Vec<Statement>>,
    ) -> Result<Reached> {
        let dialect = target.sql_kind()?;
        let connect_timeout = target.connect_timeout().unwrap_or(options.connect_timeout);
        let (connector, size, address) = connector::connector(target, options, connect_timeout)?;
        let pool = Arc::new(Pool::new(connector, address, dialect.word(), size, connect_timeout));
        let reached = pool
            .bounded(async {
                let (link, statements) = tokio::join!(pool.connector().first(), statements);
                let mut link = link?;
                if options.opens_second {
                    pool.open_second();
                }
                let question = limits.map(|limits| (limits, statements.as_slice()));
                let (facts, answer) = link.facts(question).await?;
                Ok((link, facts, statements, answer))
            })
            .await;
        let (link, facts, statements, answer) = pool.address().explained(reached).await?;
        let (connected, lock_timeout) = (Instant::now(), options.lock_timeout);
        let (place, quickest) = (target.place(), AtomicU64::new(u64::MAX));
        let engine = Self { dialect, facts, place, connected, lock_timeout, quickest, pool };
        Ok(Reached { engine, link, statements, answer })
    }

    /// The engine's dialect.
    pub fn kind(&self) -> DatabaseKind {
        self.dialect
    }

    /// Product and version, such as `PostgreSQL 15.18`.
    pub fn server(&self) -> &str {
        &self.facts.server
    }

    /// Database name, or the file's path.
    pub fn database(&self) -> &str {
        &self.facts.database
    }

    /// Host, port and database as they were named, or the file's path.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The database user; empty where the engine has none.
    pub fn user(&self) -> &str {
        &self.facts.user
    }

    /// What the server says about itself and about us.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The server's clock when we connected, and when that was by our own.
    pub(crate) fn clock(&self) -> (Timestamp, Instant) {
        (self.facts.clock, self.connected)
    }

    /// Runs the statements in one read-only transaction, each under the budget's deadline, and returns the rows of each.
    ///
    /// All statements see the same snapshot. The budget's deadline also bounds the wait for a free connection.
    ///
    /// # Errors
    /// As [`SourceError`] says; on cancel or deadline the statement is stopped on the server too, as it is when the
    /// future is dropped.
    pub async fn read(&self, statements: &[Statement], budget: &Budget) -> Result<Vec<Vec<Row>>> {
        let began = Instant::now();
        let read = self.read_again(statements, budget).await;
        let rows = read.as_ref().map(|results| results.iter().map(Vec::len).sum()).map_err(SourceError::kind);
        log::read(statements.len(), rows, began.elapsed());
        read
    }

    /// The same, begun again where the connection had died since, a replica stopped it, or JSON was nested too deeply.
    async fn read_again(&self, statements: &[Statement], budget: &Budget) -> Result<Vec<Vec<Row>>> {
        let mut left = if self.is_replica() { CONFLICTS } else { 0 };
        let (mut again, mut depth_checked) = (true, false);
        loop {
            let began = Instant::now();
            let read = self.try_read(statements, budget).await;
            if again && self.is_stale(&read) {
                again = false;
                continue;
            }
            match read {
                // A replica stops whoever reads what its primary has cleaned up meanwhile: that is no fault, and a new
                // snapshot sees the rows as they are now.
                Err((SourceError::Locked(_), _)) if left > 0 => left -= 1,
                // From now on the connections check how deep a text is.
                Err((error, _)) if !depth_checked && driver::json_depth::is_too_deep(&error) => depth_checked = true,
                Ok(rows) => {
                    let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                    self.quickest.fetch_min(took, Ordering::Relaxed);
                    return Ok(rows);
                }
                Err((error, _)) => return Err(error),
            }
        }
    }

    /// What a read that began then took beyond what the quickest one ever did: the way there and back is no work of the
    /// database's, and on a long one it is nearly all there is.
    pub fn worked(&self, began: Instant) -> Duration {
        let way = self.quickest.load(Ordering::Relaxed);
        began.elapsed().saturating_sub(Duration::from_micros(if way == u64::MAX { 0 } else { way }))
    }

    /// Begins a writing transaction (`BEGIN IMMEDIATE` on SQLite) whose statements each have the budget's deadline and
    /// a short lock timeout.
    ///
    /// # Errors
    /// When the source is read-only, unreachable or locked.
    pub async fn begin(&self, budget: &Budget) -> Result<Tx<'_>> {
        if let Some(reason) = &self.facts.read_only {
            return Err(SourceError::Denied(reason.clone()));
        }
        let lease = self.open(Mode::Write, budget).await?;
        Ok(Tx::new(self, lease, budget.statement, budget.cancel.clone()))
    }

    /// Waits, for so long at the most, until statements that were cancelled or abandoned have been stopped on the server and their
    /// transactions are closed; then disconnects. To be called before the runtime ends, which would leave them running.
    pub async fn close(&self, patience: Duration) {
        self.pool.close(patience).await;
    }

    /// A connection with an open transaction.
    async fn open(&self, mode: Mode, budget: &Budget) -> Result<Lease> {
        let first = self.try_open(mode, budget).await;
        if !self.is_stale(&first) {
            return first.map_err(|(error, _)| error);
        }
        self.try_open(mode, budget).await.map_err(|(error, _)| error)
    }

    async fn try_open(&self, mode: Mode, budget: &Budget) -> RetryAttempt<Lease> {
        let (lease, is_fresh) = self.lease(budget).await?;
        self.begin_on(lease, is_fresh, mode, budget).await
    }

    /// An idle connection may have died since; nothing has been asked of it yet, so a fresh one takes its place.
    fn is_stale<T>(&self, attempt: &RetryAttempt<T>) -> bool {
        let stale = matches!(attempt, Err((SourceError::Unreachable(_) | SourceError::ShutOut { .. }, Reused(true))));
        if stale {
            log::reconnecting(self.pool.database());
            self.pool.clear();
        }
        stale
    }

    /// A connection, and whether it was just opened.
    async fn lease(&self, budget: &Budget) -> RetryAttempt<(Lease, bool)> {
        let leased = tokio::select! {
            biased;
            () = budget.cancel.cancelled() => Err(SourceError::Cancelled),
            leased = self.pool.lease(budget.statement) => leased,
        };
        leased.map_err(|error| (shut_out(error), Reused(false)))
    }

    async fn begin_on(&self, mut lease: Lease, is_fresh: bool, mode: Mode, budget: &Budget) -> RetryAttempt<Lease> {
        lease.opened(mode);
        let limits = self.limits(budget);
        // A BEGIN is answered at once or the server is gone; on SQLite it may wait for the write lock.
        let patience = self.pool.connect_timeout().max(self.lock_timeout);
        let (lease, begun) = step(lease, patience, &budget.cancel, move |link| link.begin(mode, limits)).await;
        match (begun, lease) {
            (Ok(()), Some(lease)) => Ok(lease),
            (Ok(()), None) => Err((lost(), Reused(!is_fresh))),
            (Err(error), _) => Err(unbegun(error, is_fresh)),
        }
    }

    /// The rows of each statement: by one message where the engine can, in an open transaction elsewhere.
    async fn try_read(&self, statements: &[Statement], budget: &Budget) -> RetryAttempt<Vec<Vec<Row>>> {
        let (mut lease, is_fresh) = self.lease(budget).await?;
        let begun = |error| (error, Reused(false));
        let question = (self.limits(budget), statements);
        let Some(script) = lease.link().map_err(begun)?.script(question) else {
            let lease = self.begin_on(lease, is_fresh, Mode::Read, budget).await?;
            return fetch_each(lease, statements, budget).await.map_err(begun);
        };
        let has_begun = script.begun();
        lease.opened(Mode::Read);
        let limit = (budget.statement, statements.len().max(1));
        let (lease, answer) = steps(lease, limit, &budget.cancel, move |link| link.run(script)).await;
        match (answer, lease) {
            (Ok(answer), Some(mut lease)) => {
                lease.closed();
                Ok(answer.unwrap_or_default())
            }
            (Ok(_), None) => Err(begun(lost())),
            (Err(error), _) if has_begun.load(Ordering::Relaxed) => Err(begun(error)),
            (Err(error), _) => Err(unbegun(error, is_fresh)),
        }
    }

    fn limits(&self, budget: &Budget) -> Limits {
        Limits { statement: budget.statement, lock: self.lock_timeout }
    }
}

/// A connection that was just opened, with what came along.
struct Reached {
    engine: Engine,
    link: Box<dyn Link>,
    statements: Vec<Statement>,
    answer: Answer,
}

/// Runs statements in the open transaction of a connection, one after the other; the connection goes back to its pool.
async fn fetch_each(mut lease: Lease, statements: &[Statement], budget: &Budget) -> Result<Vec<Vec<Row>>> {
    let mut rows = Vec::with_capacity(statements.len());
    for statement in statements {
        let work = fetching(statement.clone());
        let (back, fetched) = step(lease, budget.statement, &budget.cancel, work).await;
        rows.push(fetched?);
        lease = back.ok_or_else(lost)?;
    }
    Ok(rows)
}

/// The exchange that fetches a statement's rows.
fn fetching(statement: Statement) -> impl for<'a> FnOnce(&'a mut dyn Link) -> BoxFuture<'a, Result<Vec<Row>>> + Send {
    move |link| Box::pin(async move { link.fetch(&statement).await })
}

/// The exchange that executes a statement.
fn executing(statement: Statement) -> impl for<'a> FnOnce(&'a mut dyn Link) -> BoxFuture<'a, Result<u64>> + Send {
    move |link| Box::pin(async move { link.execute(&statement).await })
}
