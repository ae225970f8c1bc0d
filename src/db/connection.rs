//! What one connection can do: the thin layer that each engine fills in. Everything above it exists once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::db::driver::grants::Grants;
use crate::db::write_mode::Gate;
use crate::db::{Row, Statement};
use crate::domain::source_error::Result;
use crate::domain::time::Timestamp;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Reads from one snapshot; the database refuses writes.
    Read,
    /// Reads and writes.
    Write,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Makes it durable; an error when a statement has failed, never a silent rollback.
    Commit,
    /// Undoes it.
    Rollback,
    /// Ends a read, whether its statements succeeded or failed.
    ///
    /// A rollback would do, but servers count rollbacks, and people watch that number.
    Release,
}

/// How long the server itself lets a statement go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Run time of a statement.
    pub statement: Duration,
    /// Wait for a lock of another session.
    pub lock: Duration,
}

/// A reading transaction from its beginning to its end in one message.
pub(super) struct Script {
    pub(super) sql: String,
    /// How many of its statements were asked for: the last ones before its end.
    pub(super) asked: usize,
    begun: Arc<AtomicBool>,
}

impl Script {
    pub(super) fn new(sql: String, asked: usize) -> Self {
        Self { sql, asked, begun: Arc::new(AtomicBool::new(false)) }
    }

    /// Tells, from now on, whether the server has begun with it: what goes wrong before says nothing of its statements.
    pub(super) fn begun(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.begun)
    }

    /// Takes in that it has, and says whether that is news.
    pub(super) fn has_begun(&self) -> bool {
        !self.begun.swap(true, Ordering::Relaxed)
    }
}

/// Cancels whatever the connection that it was taken from is running; does nothing before it is polled. It ends when the
/// server has taken the request, so that the request cannot reach a later statement.
pub(super) type Cancel = BoxFuture<'static, Result<()>>;

/// The statements of a reading transaction, and its limits.
pub(super) type Question<'a> = (Limits, &'a [Statement]);

/// The rows of each statement of a question; `None` where nothing was asked yet.
pub(super) type Answer = Option<Vec<Vec<Row>>>;

/// One open connection.
///
/// Its futures are run to their end, or dropped together with it (see [`crate::db::cancellation::step()`]): dropping one half way would leave
/// the protocol, and the next user of the connection, in the middle of an answer.
///
/// A call that reports `Unreachable` has lost the connection; `Timeout` carries no duration of its own.
pub(super) trait Link: Send {
    /// Opens a transaction with its limits, in one round trip.
    fn begin(&mut self, mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>>;

    /// What there is to know about the server; with it the rows of each statement of a question, where the engine can
    /// answer it without a round trip more.
    fn facts<'a>(&'a mut self, question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>>;

    /// A reading transaction as one message; `None` where the engine has no such thing, or the statements have to be
    /// prepared.
    fn script(&self, _question: Question<'_>) -> Option<Script> {
        None
    }

    /// Sends such a message, for the rows of each statement; `None` as for [`Link::script`]. The transaction is closed where
    /// this succeeds.
    fn run(&mut self, _script: Script) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async { Ok(None) })
    }

    /// Runs a statement for its rows.
    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>>;

    /// Runs a statement for the number of rows it affected.
    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>>;

    /// Ends the transaction.
    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>>;

    /// Sends one message of constants, outside any transaction.
    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>>;

    /// What cancels the statement that is started next in the open transaction.
    fn cancel(&self) -> Cancel;
}

/// Opens connections of one engine.
pub(super) trait Connector: Send + Sync {
    /// Opens one; bounded by the caller.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>>;

    /// Opens the first one, of which [`Link::facts`] is asked before anything else; bounded by the caller.
    fn first(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        self.connect()
    }
}

/// What a server says about itself and about us.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Product and version.
    pub server: String,
    /// Database name or file.
    pub database: String,
    /// Login user; empty where there is none.
    pub user: String,
    /// Why the database accepts no writes from us, where that is so.
    pub read_only: Option<String>,
    /// Whether the server takes changes, as far as it says so; whatever we have asked for ourselves.
    pub gate: Option<Gate>,
    /// The server's clock.
    pub clock: Timestamp,
    /// What we were granted, where the server lists that.
    pub grants: Option<Grants>,
    /// Bytes of a statement, values included, that the server takes at once, where it has such a limit.
    pub packet: Option<u64>,
}
