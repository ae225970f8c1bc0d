//! SQLite: a file, with statements that run on threads of the driver's.
//!
//! The journal mode stays as the file's owner set it. A read runs with `query_only` on, so that the database refuses
//! writes; a write takes the write lock at its start (`BEGIN IMMEDIATE`), because a lock that is taken later can fail
//! with "busy" at once, without waiting.
//!
//! A file can be put in the place of the one that is open (a backup that is restored, a deployment): SQLite would go on
//! with the old one, which nobody sees any more. So each transaction checks whether the name still stands for the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row as _};

use crate::db::connection::{Answer, Cancel, Connector, End, Facts, Limits, Link, Mode, Question};
use crate::db::driver::error_map::store_error;
use crate::db::file_identity::Inode;
use crate::db::{Row, Statement, driver::bind, driver::decode};
use crate::domain::source_error::{Result, SourceError};
use crate::domain::time::Timestamp;

/// Steps of SQLite's virtual machine between two checks of the stop flag and the clock: well under a millisecond.
const STEPS: i32 = 4_000;

/// Rows that the database's thread may be ahead of whoever takes them: all of a batch or of a page, so that it does not
/// stand still while others are being written down. All that a statement gives is in memory in the end anyway.
const ROWS: usize = 2_000;

/// Makes a table of the connection's own with one row, whose `id` no other connection has.
const SESSION: &str = "CREATE TEMP TABLE dlq_tui_session AS SELECT hex(randomblob(8)) AS id";

/// A text that differs once anything was committed to the file. What others commit is counted for each connection by itself, and
/// what it commits itself is not in that.
pub(crate) const CHANGES: &str = "\
    (SELECT id || ' ' || (SELECT data_version FROM pragma_data_version) || ' ' || total_changes() FROM temp.dlq_tui_session)";

pub(crate) struct Sqlite {
    options: SqliteConnectOptions,
    read_only: Option<String>,
    /// A file that was there once and is gone is not created again.
    was_there: AtomicBool,
}

fn replaced() -> SourceError {
    SourceError::Unreachable("the file that was open is not there any more, or another one is in its place".to_owned())
}

impl Sqlite {
    /// `read_only` says why nothing can be written, where that is so.
    pub(crate) fn new(options: SqliteConnectOptions, lock: Duration, read_only: Option<String>) -> Self {
        let options = options
            .foreign_keys(true)
            .busy_timeout(lock)
            .read_only(read_only.is_some())
            .disable_statement_logging()
            .row_buffer_size(ROWS);
        Self { options, read_only, was_there: AtomicBool::new(false) }
    }

    async fn open(&self) -> Result<LiteLink> {
        let file = self.options.get_filename();
        let before = Inode::at(file);
        let options = match self.was_there.load(Ordering::Relaxed) {
            true => self.options.clone().create_if_missing(false),
            false => self.options.clone(),
        };
        let mut connection = options.connect().await.map_err(store_error)?;
        let inode = Inode::at(file).filter(|now| before.is_none_or(|before| before == *now)).ok_or_else(replaced)?;
        self.was_there.store(true, Ordering::Relaxed);
        let stop = Arc::new(Stop::new());
        let seen = Arc::clone(&stop);
        let mut handle = connection.lock_handle().await.map_err(store_error)?;
        handle.set_progress_handler(STEPS, move || seen.go_on());
        drop(handle);
        let (file, read_only) = (Arc::from(file), self.read_only.clone());
        let mut link = LiteLink { connection, stop, limit: Duration::MAX, file, inode, read_only };
        // It reads the schema, as the first statement of any kind does.
        let made = bind::command(SESSION).execute(&mut link.connection).await;
        made.map_err(|error| link.unreadable(store_error(error)))?;
        Ok(link)
    }
}

impl Connector for Sqlite {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async move { Ok(Box::new(self.open().await?) as Box<dyn Link>) })
    }
}

/// What ends a running statement: SQLite has no deadline of its own.
struct Stop {
    requested: AtomicBool,
    epoch: Instant,
    /// Milliseconds since the epoch.
    deadline: AtomicU64,
}

impl Stop {
    fn new() -> Self {
        Self { requested: AtomicBool::new(false), epoch: Instant::now(), deadline: AtomicU64::new(u64::MAX) }
    }

    fn go_on(&self) -> bool {
        !self.requested.load(Ordering::Relaxed) && self.millis() < self.deadline.load(Ordering::Relaxed)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn within(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
        self.deadline.store(self.millis().saturating_add(limit), Ordering::Relaxed);
    }

    /// For statements that must not be stopped: beginning and ending a transaction.
    fn never(&self) {
        self.requested.store(false, Ordering::Relaxed);
        self.deadline.store(u64::MAX, Ordering::Relaxed);
    }
}

struct LiteLink {
    connection: SqliteConnection,
    stop: Arc<Stop>,
    limit: Duration,
    file: Arc<Path>,
    inode: Inode,
    read_only: Option<String>,
}

impl LiteLink {
    /// Fails where the file is not the one that others see.
    fn still_there(&self) -> Result<()> {
        if Inode::at(&self.file) == Some(self.inode) { Ok(()) } else { Err(replaced()) }
    }

    /// What the first read says of a file beside which SQLite would have to write in order to read: one with a write-ahead log,
    /// whose index nobody has made.
    fn unreadable(&self, error: SourceError) -> SourceError {
        if !matches!(error, SourceError::Denied(_)) || self.read_only.is_none() {
            return error;
        }
        let file = self.file.display();
        SourceError::Input(format!(
            "{file} has a write-ahead log, and SQLite reads it only where {file}-shm is there or can be made: look at it while its \
             application has it open, as a role that may write to its folder, or in a copy"
        ))
    }
}

impl Link for LiteLink {
    fn begin(&mut self, mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>> {
        self.stop.never();
        self.limit = limits.statement;
        let sql = match mode {
            Mode::Read => "PRAGMA query_only = on; BEGIN",
            Mode::Write => "PRAGMA query_only = off; BEGIN IMMEDIATE",
        };
        Box::pin(async move {
            bind::command(sql).execute(&mut self.connection).await.map_err(store_error)?;
            // Behind the wait for the write lock.
            self.still_there()
        })
    }

    fn facts<'a>(&'a mut self, _question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>> {
        Box::pin(async move {
            // Reading the schema also tells a database from any other file.
            let row = sqlx::query("SELECT sqlite_version(), (SELECT count(*) FROM sqlite_master)")
                .fetch_one(&mut self.connection)
                .await
                .map_err(|error| self.unreadable(store_error(error)))?;
            let version: String = row.try_get(0).map_err(store_error)?;
            let facts = Facts {
                server: format!("SQLite {version}"),
                database: self.file.display().to_string(),
                user: String::new(),
                read_only: self.read_only.clone(),
                // A file is closed for us, and for nobody else.
                gate: None,
                // A file has no clock: its functions ask the machine's.
                clock: Timestamp::now(),
                grants: None,
                packet: None,
            };
            Ok((facts, None))
        })
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        self.stop.within(self.limit);
        Box::pin(async move { decode::all(bind::sqlite(statement).fetch(&mut self.connection), decode::sqlite).await })
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        self.stop.within(self.limit);
        Box::pin(async move {
            let done = bind::sqlite(statement).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(done.rows_affected())
        })
    }

    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>> {
        // A statement that was stopped has ended by now; what stopped it must not stop this one.
        self.stop.never();
        let sql = match end {
            End::Commit | End::Release => "COMMIT",
            End::Rollback => "ROLLBACK",
        };
        Box::pin(async move {
            bind::command(sql).execute(&mut self.connection).await.map_err(store_error)?;
            // What was committed to a file that was replaced meanwhile may be nowhere.
            if end == End::Commit { self.still_there() } else { Ok(()) }
        })
    }

    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            bind::command(AssertSqlSafe(sql)).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(())
        })
    }

    fn cancel(&self) -> Cancel {
        let stop = Arc::clone(&self.stop);
        Box::pin(async move {
            stop.requested.store(true, Ordering::Relaxed);
            Ok(())
        })
    }
}
