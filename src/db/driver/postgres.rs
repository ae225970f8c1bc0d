//! PostgreSQL, directly or through a pooler in transaction mode.
//!
//! Every statement runs between a `BEGIN` and its end: the driver sends an unnamed statement in two parts, and outside
//! a transaction a pooler may run another client's statement in between (and return its rows). For the same reason
//! nothing is ever set on the session, only `SET LOCAL`, and nothing is sent at start-up that a pooler refuses.
//!
//! A reading transaction is one simple query from its `BEGIN` to its `COMMIT`, with the values written into its text
//! ([`crate::db::driver::multi_statement`]): one round trip where prepared statements would take two each, and two more. A pooler passes such
//! a message on whole.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Either, Row as _};
use uuid::Uuid;

use crate::db::connection::{Answer, Cancel, Connector, End, Facts, Limits, Link, Mode, Question, Script};
use crate::db::driver::error_map::{connecting, store_error};
use crate::db::driver::multi_statement::inlined;
use crate::db::options::IDLE;
use crate::db::pool::no_answer;
use crate::db::request_size::fits_postgres;
use crate::db::target::SessionAttrs;
use crate::db::write_mode::Gate;
use crate::db::{Row, Statement, Value, driver::bind, driver::decode};
use crate::domain::source_error::{Result, SourceError};
use crate::domain::time::Timestamp;

/// What a server is to be asked for, where that matters.
const ROLE: &str = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";

pub(crate) struct Postgres {
    servers: Vec<PgConnectOptions>,
    wanted: SessionAttrs,
    /// How long each try to reach a server may take.
    patience: Duration,
    read_only: bool,
}

impl Postgres {
    /// Opens connections to the first of the servers that answers and is as wanted; `patience` is for all of them.
    pub(crate) fn new(
        (servers, wanted): (Vec<PgConnectOptions>, SessionAttrs),
        application_name: &str,
        patience: Duration,
        read_only: bool,
    ) -> Self {
        let named = |server: PgConnectOptions| {
            server.application_name(application_name).extra_float_digits(None).disable_statement_logging()
        };
        let servers: Vec<PgConnectOptions> = servers.into_iter().map(named).collect();
        let tries = servers.len() * wanted.choices().len();
        let patience = patience / u32::try_from(tries).unwrap_or(u32::MAX).max(1);
        Self { servers, wanted, patience, read_only }
    }

    async fn open(&self) -> Result<PgLink> {
        let mut faults = Vec::new();
        for wanted in self.wanted.choices() {
            faults.clear();
            for server in &self.servers {
                let opening = tokio::time::timeout(self.patience, self.open_one(server, *wanted));
                match opening.await.unwrap_or_else(|_| Err(no_answer(self.patience))) {
                    Err(SourceError::Unreachable(why)) => faults.push((server, why)),
                    opened => return opened,
                }
            }
        }
        let [(_, why)] = faults.as_slice() else {
            let told = |(server, why): &(&PgConnectOptions, String)| {
                format!("{}:{}: {why}", server.get_host(), server.get_port())
            };
            return Err(SourceError::Unreachable(faults.iter().map(told).collect::<Vec<_>>().join("; ")));
        };
        Err(SourceError::Unreachable(why.clone()))
    }

    async fn open_one(&self, server: &PgConnectOptions, wanted: SessionAttrs) -> Result<PgLink> {
        let mut connection = server.connect().await.map_err(connecting)?;
        if wanted != SessionAttrs::Any {
            let row = bind::command(ROLE).fetch_one(&mut connection).await.map_err(store_error)?;
            let says = |column: usize| row.try_get::<bool, _>(column).map_err(store_error);
            if let Some(objection) = wanted.objection(says(0)?, says(1)?) {
                return Err(SourceError::Unreachable(objection.to_owned()));
            }
        }
        let name = format!("{} cancel", server.get_application_name().unwrap_or_default());
        let address = Arc::new(server.clone().application_name(&name));
        let (read_only, tag) = (self.read_only, Uuid::new_v4());
        Ok(PgLink { connection, address, read_only, open: false, backend: 0, begun: 0, tag })
    }
}

impl Connector for Postgres {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async move { Ok(Box::new(self.open().await?) as Box<dyn Link>) })
    }
}

struct PgLink {
    connection: PgConnection,
    /// Where it leads, of several servers, for the connection that cancels.
    address: Arc<PgConnectOptions>,
    read_only: bool,
    /// Whether a transaction is open.
    open: bool,
    /// The server process of the open transaction: behind a pooler, each transaction may have another one. 0 where it is
    /// not known, which is while a script runs.
    backend: i32,
    /// When that transaction began, in microseconds since 1970, by the server's clock.
    begun: i64,
    /// What the scripts of this connection are known by in the server's list of sessions.
    tag: Uuid,
}

impl PgLink {
    /// A script of these texts. Its first answer is the tag, which says that the server has begun with it.
    fn scripted(&self, limits: Limits, texts: &[String]) -> Script {
        // Near the beginning: the list of sessions shows a thousand bytes.
        let (begin, tag) = (begin_sql(Mode::Read, limits), self.tag.simple());
        let begin = format!("{begin}; SELECT '{tag}', {CHECKS_CLIENT}{AS_STORED}");
        Script::new(format!("{begin}; {}; COMMIT", texts.join("; ")), texts.len())
    }

    async fn answers(&mut self, script: Script) -> Result<Vec<Vec<Row>>> {
        self.open = true;
        let mut answers = decode::Answers::default();
        let mut pieces = bind::command(AssertSqlSafe(script.sql.as_str())).fetch_many(&mut self.connection);
        while let Some(piece) = pieces.next().await {
            match piece.map_err(|error| refused(&script, error)) {
                Ok(Either::Left(_)) => answers.end(),
                Ok(Either::Right(row)) => {
                    script.has_begun();
                    answers.take(decode::postgres(&row));
                }
                Err(error) => {
                    // It stays open as far as we know: what was stopped before its first answer may have begun all the same.
                    return Err(error);
                }
            }
        }
        drop(pieces);
        self.open = false;
        answers.asked(script.asked)
    }
}

/// What went wrong with a script. A text that cannot be parsed stops all of it before it begins, and is a fault of one of
/// its statements all the same.
fn refused(script: &Script, error: sqlx::Error) -> SourceError {
    let code = error.as_database_error().and_then(|e| e.code());
    if code.is_some_and(|code| ["22", "42", "54"].iter().any(|class| code.starts_with(class))) {
        script.has_begun();
    }
    store_error(error)
}

fn facts(row: &Row, opened_read_only: bool) -> Result<Facts> {
    let [
        Value::Text(version),
        Value::Text(database),
        Value::Text(user),
        is_replica,
        is_read_only,
        Value::Int(clock),
        ..,
    ] = row.0.as_slice()
    else {
        return Err(SourceError::Layout("the server does not say what it is".into()));
    };
    let is = |value: &Value| *value == Value::Int(1);
    Ok(Facts {
        // Debian appends its package's version: `15.18 (Debian 15.18-0+deb12u1)`.
        server: format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()),
        database: database.clone(),
        user: user.clone(),
        read_only: match (opened_read_only, is(is_replica), is(is_read_only)) {
            (true, ..) => Some("opened read-only".into()),
            (_, true, _) => Some("the server is a replica".into()),
            (.., true) => Some(format!("{CLOSED_BY} is on")),
            _ => None,
        },
        gate: Some(match (is(is_replica), is(is_read_only)) {
            (true, _) => Gate::Replica,
            (_, true) => Gate::Closed,
            _ => Gate::Open,
        }),
        clock: Timestamp(*clock),
        // The catalogue tells all.
        grants: None,
        packet: None,
    })
}

/// What a server says about itself and about us.
const FACTS: &str = "SELECT current_setting('server_version'), current_database()::text, current_user::text, \
                     pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on', \
                     round(extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// What closes a database, or a role, for writing by a word that each transaction may overrule: ours do not.
const CLOSED_BY: &str = "default_transaction_read_only";
const CLOSED: &str = "current_setting('default_transaction_read_only') = 'on'";

/// When the transaction began, as `pg_stat_activity` has it too.
const BEGUN: &str = "round(extract(epoch FROM now()) * 1000000)::bigint";

/// What a transaction that writes asks for along the way. An application may rather lose its last commits in a crash of the
/// server than wait for the disk; what a run has on record as done must be done.
const DURABLE: &str = ", CASE WHEN current_setting('synchronous_commit') = 'off' \
                       THEN set_config('synchronous_commit', 'local', true) END";

/// A database without an encoding holds bytes, and keeps them from a client that says that it wants UTF-8 unless all of a
/// statement's are: one odd row would take every list and count with it. What is not UTF-8 is marked where rows are decoded.
const AS_STORED: &str = ", CASE WHEN current_setting('server_encoding') = 'SQL_ASCII' \
                         THEN set_config('client_encoding', 'SQL_ASCII', true) END";

/// Makes the server check every 20 ms during a statement whether its client is still there, so that a statement whose
/// connection was closed ends. Versions before 14 have no such setting, and version 14 refuses it except on Linux.
const CHECKS_CLIENT: &str = "CASE WHEN version() LIKE '%linux%' \
                       AND current_setting('client_connection_check_interval', true) IS NOT NULL \
                       THEN set_config('client_connection_check_interval', '20', true) END";

/// The whole beginning of a transaction as one message of constants and numbers.
///
/// Reads take one snapshot for all their statements. Plans must not depend on luck: compiling costs more than these
/// statements do, and parallel workers would be taken from the application. Numbers are told to their last digit, and what was
/// kept is read as it was written, whatever is set for the role.
fn begin_sql(mode: Mode, limits: Limits) -> String {
    let access = match mode {
        Mode::Read => "ISOLATION LEVEL REPEATABLE READ READ ONLY",
        Mode::Write => "ISOLATION LEVEL READ COMMITTED READ WRITE",
    };
    let takes = if mode == Mode::Write { "; SET LOCAL array_nulls = on; SET LOCAL xmloption = content" } else { "" };
    format!(
        "BEGIN {access}; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL jit = off; \
         SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL plan_cache_mode = force_custom_plan; \
         SET LOCAL extra_float_digits = 1{takes}",
        millis(limits.statement),
        millis(limits.lock),
        millis(IDLE),
    )
}

/// Zero would mean no limit at all.
fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX).max(1)
}

impl Link for PgLink {
    fn begin(&mut self, mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.open = true;
            let durable = if mode == Mode::Write { DURABLE } else { "" };
            let begin = begin_sql(mode, limits);
            let sql =
                format!("{begin}; SELECT pg_backend_pid(), {BEGUN}, {CLOSED}, {CHECKS_CLIENT}{durable}{AS_STORED}");
            let rows = bind::command(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await;
            let told = rows.and_then(|rows| {
                let row = rows.last().ok_or(sqlx::Error::RowNotFound)?;
                Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
            });
            let (backend, begun, is_closed): (i32, i64, bool) = told.map_err(store_error)?;
            (self.backend, self.begun) = (backend, begun);
            match (mode, is_closed) {
                (Mode::Write, true) => Err(SourceError::Denied(format!("{CLOSED_BY} is on"))),
                _ => Ok(()),
            }
        })
    }

    fn facts<'a>(&'a mut self, question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>> {
        Box::pin(async move {
            let texts = question.and_then(|(limits, statements)| Some((limits, inlined_all(statements)?)));
            let mut rows = match texts {
                Some((limits, mut texts)) => {
                    texts.insert(0, FACTS.to_owned());
                    self.answers(self.scripted(limits, &texts)).await?
                }
                // One simple query: no prepared statement that a pooler could mix up.
                None => {
                    let row = bind::command(FACTS).fetch_one(&mut self.connection).await.map_err(store_error)?;
                    return Ok((facts(&decode::postgres(&row)?, self.read_only)?, None));
                }
            };
            let first = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
            let row = first.first().ok_or_else(|| store_error(sqlx::Error::RowNotFound))?;
            Ok((facts(row, self.read_only)?, Some(rows)))
        })
    }

    fn script(&self, (limits, statements): Question<'_>) -> Option<Script> {
        Some(self.scripted(limits, &inlined_all(statements)?))
    }

    fn run(&mut self, script: Script) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move { self.answers(script).await.map(Some) })
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            fits_postgres(statement)?;
            decode::all(bind::postgres(statement).fetch(&mut self.connection), decode::postgres).await
        })
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            fits_postgres(statement)?;
            let done = bind::postgres(statement).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(done.rows_affected())
        })
    }

    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>> {
        let sql = match end {
            // A COMMIT after a failed statement rolls back and reports success; the SELECT makes that an error.
            End::Commit => "SELECT 1; COMMIT",
            End::Rollback => "ROLLBACK",
            End::Release => "COMMIT",
        };
        Box::pin(async move {
            if self.open {
                bind::command(sql).execute(&mut self.connection).await.map_err(store_error)?;
            }
            (self.open, self.backend) = (false, 0);
            Ok(())
        })
    }

    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            bind::command(AssertSqlSafe(sql)).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(())
        })
    }

    fn cancel(&self) -> Cancel {
        let (address, tag) = (Arc::clone(&self.address), self.tag.simple());
        let (backend, begun) = (self.backend, self.begun);
        let sql = move || match backend {
            // A script ends its transaction itself, and behind a pooler its process may then serve another client: it
            // is looked up at the moment when it is stopped, by what it is running.
            0 => format!(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_get_activity(NULL) \
                 WHERE state = 'active' AND strpos(query, '{tag}') > 0 AND pid <> pg_backend_pid()"
            ),
            // A COMMIT may end while this connects, and behind a pooler the process then serves another client: only the
            // transaction that was begun here is stopped. A server that tracks no activity tells no time.
            backend => format!(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_get_activity({backend}) \
                 WHERE xact_start IS NULL OR round(extract(epoch FROM xact_start) * 1000000)::bigint = {begun}"
            ),
        };
        Box::pin(async move {
            let mut connection = address.connect().await.map_err(connecting)?;
            bind::command(AssertSqlSafe(sql())).execute(&mut connection).await.map_err(store_error)?;
            Ok(())
        })
    }
}

/// The statements with their values; `None` where one has to be prepared.
fn inlined_all(statements: &[Statement]) -> Option<Vec<String>> {
    statements.iter().map(inlined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_ever_zero_or_out_of_range() {
        assert_eq!(millis(Duration::ZERO), 1);
        assert_eq!(millis(Duration::from_micros(10)), 1);
        assert_eq!(millis(Duration::MAX), i32::MAX);
    }
}
