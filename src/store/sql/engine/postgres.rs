//! PostgreSQL, directly or through a pooler in transaction mode.
//!
//! Every statement runs between a `BEGIN` and its end: the driver sends an unnamed statement in two parts, and outside
//! a transaction a pooler may run another client's statement in between (and return its rows). For the same reason
//! nothing is ever set on the session, only `SET LOCAL`, and nothing is sent at start-up that a pooler refuses.

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row as _};

use super::fault::store_error;
use super::link::{Connector, End, Facts, Interrupt, Limits, Link, Mode};
use super::{Row, Statement, bind, decode};
use crate::domain::time::Timestamp;
use crate::store::Result;

/// A forgotten transaction (a suspended console) must not hold its locks or its snapshot for ever.
const IDLE: Duration = Duration::from_secs(300);

pub(super) struct Postgres {
    options: PgConnectOptions,
    read_only: bool,
}

impl Postgres {
    pub(super) fn new(options: PgConnectOptions, application_name: &str, read_only: bool) -> Self {
        let options = options.application_name(application_name).extra_float_digits(None).disable_statement_logging();
        Self { options, read_only }
    }

    async fn open(&self) -> Result<PgLink> {
        let connection = self.options.connect().await.map_err(store_error)?;
        Ok(PgLink { connection, backend: 0 })
    }
}

impl Connector for Postgres {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async move { Ok(Box::new(self.open().await?) as Box<dyn Link>) })
    }

    fn facts(&self, reading: Option<Limits>) -> BoxFuture<'_, Result<(Box<dyn Link>, Facts)>> {
        Box::pin(async move {
            let mut link = self.open().await?;
            let mut facts = link.facts(reading).await.map_err(store_error)?;
            if self.read_only {
                facts.read_only = Some("opened read-only".into());
            }
            Ok((Box::new(link) as Box<dyn Link>, facts))
        })
    }
}

struct PgLink {
    connection: PgConnection,
    /// The server process of the open transaction: behind a pooler, each transaction may have another one.
    backend: i32,
}

impl PgLink {
    async fn facts(&mut self, reading: Option<Limits>) -> sqlx::Result<Facts> {
        // One simple query: no prepared statement that a pooler could mix up.
        let sql = match reading {
            Some(limits) => format!("{}; {FACTS}", begin_sql(Mode::Read, limits)),
            None => FACTS.to_owned(),
        };
        let rows = bind::command(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await?;
        let row = rows.last().ok_or(sqlx::Error::RowNotFound)?;
        if reading.is_some() {
            self.backend = row.try_get(6)?;
        }
        let version: String = row.try_get(0)?;
        let (replica, read_only): (bool, bool) = (row.try_get(3)?, row.try_get(4)?);
        Ok(Facts {
            // Debian appends its package's version: `15.18 (Debian 15.18-0+deb12u1)`.
            server: format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()),
            database: row.try_get(1)?,
            user: row.try_get(2)?,
            read_only: match (replica, read_only) {
                (true, _) => Some("the server is a replica".into()),
                (_, true) => Some("default_transaction_read_only is on".into()),
                _ => None,
            },
            replica,
            clock: Timestamp(row.try_get(5)?),
        })
    }
}

/// What a server says about itself and about us.
const FACTS: &str = "SELECT current_setting('server_version'), current_database()::text, current_user::text, \
                     pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on', \
                     round(extract(epoch from clock_timestamp()) * 1000000)::bigint, pg_backend_pid()";

/// The whole beginning of a transaction as one message of constants and numbers.
///
/// Reads take one snapshot for all their statements. Plans must not depend on luck: compiling costs more than these
/// statements do, and parallel workers would be taken from the application.
fn begin_sql(mode: Mode, limits: Limits) -> String {
    let mode = match mode {
        Mode::Read => "ISOLATION LEVEL REPEATABLE READ READ ONLY",
        Mode::Write => "ISOLATION LEVEL READ COMMITTED READ WRITE",
    };
    format!(
        "BEGIN {mode}; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL jit = off; \
         SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL plan_cache_mode = force_custom_plan",
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
            let sql = format!("{}; SELECT pg_backend_pid()", begin_sql(mode, limits));
            let rows = bind::command(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await;
            let pid = rows.and_then(|rows| rows.last().ok_or(sqlx::Error::RowNotFound)?.try_get(0));
            self.backend = pid.map_err(store_error)?;
            Ok(())
        })
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(
            async move { decode::all(bind::postgres(statement).fetch(&mut self.connection), decode::postgres).await },
        )
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
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
            bind::command(sql).execute(&mut self.connection).await.map_err(store_error)?;
            self.backend = 0;
            Ok(())
        })
    }

    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            bind::command(AssertSqlSafe(sql)).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(())
        })
    }

    fn interrupt(&self) -> Interrupt {
        // The transaction stays open until this has been answered, so that the process cannot have passed to another
        // client of a pooler.
        match self.backend {
            0 => Interrupt::Here(Box::new(|| ())),
            backend => Interrupt::There(format!("SELECT pg_cancel_backend({backend})")),
        }
    }
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
