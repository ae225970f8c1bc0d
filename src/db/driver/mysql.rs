//! MySQL and MariaDB.
//!
//! The session is set to UTC and utf8mb4, and to an SQL mode of ours: the same statement means the same on every server,
//! whatever its own mode makes of quotes, backslashes or empty text, `||` concatenates in adapter files, and a payload that
//! does not fit its new column is refused. Without a strict mode the server would cut it off and say that all is well.
//!
//! Writes run at READ COMMITTED: REPEATABLE READ, the default, locks the gaps between the rows that a batch reads,
//! which stalls the application's own inserts, and two replayers with SKIP LOCKED would wait for each other's gaps.
//! Reads run at REPEATABLE READ, one snapshot for all their statements. A server with `binlog_format=STATEMENT`
//! refuses writes at READ COMMITTED; it says so itself.
//!
//! A reading transaction is one message from its beginning to its end, with the values written into its text
//! ([`crate::db::driver::multi_statement`]): one round trip, where each prepared statement would take one or two, and the transaction two more.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Either, Row as _};

use super::grants::Grants;
use super::json_depth::JsonDepth;
use crate::db::connection::{Answer, Cancel, Connector, End, Facts, Limits, Link, Mode, Question, Script};
use crate::db::driver::error_map::{connecting, store_error};
use crate::db::driver::multi_statement::mysql::inlined;
use crate::db::options::IDLE;
use crate::db::write_mode::Gate;
use crate::db::{Row, Statement, driver::bind, driver::decode};
use crate::domain::source_error::{Result, SourceError};
use crate::domain::time::Timestamp;

/// How the server reads our statements and takes our values (a key of 0 is one, and not the next number); that it gives all rows, and changes them however they are named;
/// and that a transaction's end is its end, and not the next one's beginning. What is not said here is the server's own choice.
const MODE: &str = "SET SESSION sql_mode = 'PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', \
     sql_select_limit = 18446744073709551615, sql_safe_updates = 0, completion_type = 0, time_zone = '+00:00', \
     NAMES utf8mb4";
/// Who comes there, how and with what is not what the server demands: one number for all of it.
const LOGIN_REFUSED: &str = "1045";
/// The server takes nobody who comes unencrypted.
const CLEAR_REFUSED: &str = "3159";
/// Room in a packet for what stands around the values.
const PACKET_HEAD: u64 = 4_096;

pub(crate) struct Mysql {
    options: Arc<MySqlConnectOptions>,
    has_certificate: bool,
    read_only: bool,
    json_depth: JsonDepth,
}

impl Mysql {
    /// The server; `has_certificate` where one of our own is shown to it.
    pub(crate) fn new(server: MySqlConnectOptions, has_certificate: bool, read_only: bool) -> Self {
        // What the driver would say of its own accord takes a way there and back, and stands in what we say.
        let options = server.disable_statement_logging();
        let options = options.pipes_as_concat(false).no_engine_substitution(false).timezone(None).set_names(false);
        Self { options: Arc::new(options), has_certificate, read_only, json_depth: JsonDepth::default() }
    }

    /// A connection of which nothing has been said yet.
    async fn reach(&self) -> Result<MyLink> {
        let connection = self.options.connect().await.map_err(|error| self.shut_out(connecting(error)))?;
        let (read_only, json_depth) = (self.read_only, self.json_depth.clone());
        let (address, server) = (Arc::clone(&self.options), MysqlServer::default());
        Ok(MyLink { connection, address, read_only, json_depth, server, facts: None })
    }

    async fn open(&self) -> Result<MyLink> {
        let mut link = self.reach().await?;
        link.hello(None).await?;
        Ok(link)
    }

    /// A refused login with what may be missing, which the server never says.
    fn shut_out(&self, error: SourceError) -> SourceError {
        let SourceError::Refused { message, code: Some(code) } = error else { return error };
        let remedy = remedy(&code, self.options.get_ssl_mode(), self.has_certificate);
        SourceError::Refused { message: message + remedy, code: Some(code) }
    }
}

/// What may let us in where the server does not, as the end of its sentence.
fn remedy(code: &str, mode: MySqlSslMode, has_certificate: bool) -> &'static str {
    match code {
        CLEAR_REFUSED => " sslmode=require encrypts",
        LOGIN_REFUSED if matches!(mode, MySqlSslMode::Disabled) => {
            "; where this user may only come encrypted, sslmode=require encrypts"
        }
        LOGIN_REFUSED if !has_certificate => {
            "; where this user has to show a certificate, sslcert=FILE and sslkey=FILE name one"
        }
        _ => "",
    }
}

impl Connector for Mysql {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async move { Ok(Box::new(self.open().await?) as Box<dyn Link>) })
    }

    fn first(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async move { Ok(Box::new(self.reach().await?) as Box<dyn Link>) })
    }
}

/// What a connection needs to know of its server.
struct MysqlServer {
    /// The connection's id there.
    id: u64,
    /// Whether it is MariaDB, once that is known.
    maria: Option<bool>,
    /// Bytes of a statement, values included, beyond which the server hangs up.
    packet: u64,
}

impl Default for MysqlServer {
    /// One that has not answered yet: packets that any takes, unless somebody has set it to far less than is usual.
    fn default() -> Self {
        Self { id: 0, maria: None, packet: 65_536 }
    }
}

/// What the server says of itself.
const FACTS: &str = "SELECT CAST(CONNECTION_ID() AS UNSIGNED), CAST(VERSION() AS CHAR), \
     CAST(COALESCE(DATABASE(), '') AS CHAR), CAST(CURRENT_USER() AS CHAR), CAST(@@global.read_only AS CHAR), \
     CAST(@@max_allowed_packet AS UNSIGNED), \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";

/// `10.11.6-MariaDB-0+deb12u1` and `5.5.5-10.11.6-MariaDB` are MariaDB 10.11.6; `8.0.36-0ubuntu` is MySQL 8.0.36.
fn product(version: &str) -> (bool, String) {
    let maria = version.contains("MariaDB");
    let version = if maria { version.strip_prefix("5.5.5-").unwrap_or(version) } else { version };
    let number = version.split('-').next().unwrap_or_default();
    (maria, format!("{} {number}", if maria { "MariaDB" } else { "MySQL" }))
}

struct MyLink {
    connection: MySqlConnection,
    /// Where it leads, for the connection that cancels.
    address: Arc<MySqlConnectOptions>,
    read_only: bool,
    json_depth: JsonDepth,
    server: MysqlServer,
    /// What the server said when it was asked what it is.
    facts: Option<Facts>,
}

/// Statements of [`begin_sql`], and of a message's end.
const FRAME: usize = 4;

impl MyLink {
    /// Sets the session up, asks what the server is and what we may do, and a question with it: one message, as each would be a
    /// way there and back.
    async fn hello(&mut self, question: Option<Question<'_>>) -> Result<Answer> {
        let script = question.and_then(|question| self.script(question));
        let closed = if self.read_only { "; SET SESSION TRANSACTION READ ONLY" } else { "" };
        let asked = script.as_ref().map_or_else(String::new, |script| format!("; {}", script.sql));
        // Not everything that speaks the protocol lists what was granted, and nothing comes after an error.
        let sql = format!("{MODE}{closed}; {FACTS}{asked}; SHOW GRANTS");
        let mut pieces = bind::command(AssertSqlSafe(sql)).fetch_many(&mut self.connection);
        let (mut told, mut answers, mut grants) = (None, decode::Answers::default(), Some(Vec::<String>::new()));
        // The end of the facts is one more.
        let mut left = 1 + script.as_ref().map_or(0, |script| script.asked + FRAME);
        while let Some(piece) = pieces.next().await {
            match (piece, &told) {
                (Ok(Either::Left(_)), None) => {}
                (Ok(Either::Right(row)), None) => told = Some(row),
                (Ok(Either::Left(_)), Some(_)) if left > 0 => {
                    answers.end();
                    left -= 1;
                }
                (Ok(Either::Right(row)), Some(_)) if left > 0 => answers.take(decode::mysql(&row)),
                (Ok(Either::Left(_)), Some(_)) => {}
                (Ok(Either::Right(row)), Some(_)) => {
                    let grant = row.try_get_unchecked(0).map_err(store_error)?;
                    grants.get_or_insert_default().push(grant);
                }
                (Err(_), Some(_)) if left == 0 => grants = None,
                (Err(error), _) => return Err(store_error(error)),
            }
        }
        drop(pieces);
        let row = told.ok_or(sqlx::Error::RowNotFound).map_err(store_error)?;
        let (server, facts) = server_facts(&row, self.read_only, grants.as_deref()).map_err(store_error)?;
        (self.server, self.facts) = (server, Some(facts));
        script.map(|script| answers.asked(script.asked)).transpose()
    }

    /// Whether the server takes so many bytes at once.
    fn has_room(&self, bytes: usize) -> bool {
        (bytes as u64).saturating_add(PACKET_HEAD) <= self.server.packet
    }

    /// Refuses what the server would answer by hanging up, which would look like a lost connection.
    fn fits(&self, statement: &Statement) -> Result<()> {
        let bytes = bind::bytes(statement);
        if self.has_room(bytes) {
            return Ok(());
        }
        let message = format!("{bytes} bytes at once, and max_allowed_packet of the server is {}", self.server.packet);
        Err(SourceError::Refused { message, code: None })
    }

    async fn rows(&mut self, statement: &Statement) -> Result<Vec<Row>> {
        let statement = self.json_depth.checked(statement);
        decode::all(bind::mysql(&statement).fetch(&mut self.connection), decode::mysql).await
    }

    async fn affect(&mut self, statement: &Statement) -> Result<u64> {
        let statement = self.json_depth.checked(statement);
        let done = bind::mysql(&statement).execute(&mut self.connection).await.map_err(store_error)?;
        Ok(done.rows_affected())
    }

    async fn answers(&mut self, script: Script) -> Result<Vec<Vec<Row>>> {
        let mut answers = decode::Answers::default();
        let mut pieces = bind::command(AssertSqlSafe(script.sql.as_str())).fetch_many(&mut self.connection);
        while let Some(piece) = pieces.next().await {
            match piece.map_err(store_error)? {
                Either::Left(_) => {
                    script.has_begun();
                    answers.end();
                }
                Either::Right(row) => answers.take(decode::mysql(&row)),
            }
        }
        answers.asked(script.asked)
    }
}

/// What the server says of itself, as [`FACTS`] asks it.
fn server_facts(row: &MySqlRow, read_only: bool, grants: Option<&[String]>) -> sqlx::Result<(MysqlServer, Facts)> {
    let version: String = row.try_get_unchecked(1)?;
    let (maria, server) = product(&version);
    let server_read_only: String = row.try_get_unchecked(4)?;
    let is_closed = !matches!(server_read_only.as_str(), "0" | "OFF");
    let packet = row.try_get_unchecked(5)?;
    let facts = Facts {
        server,
        database: row.try_get_unchecked(2)?,
        user: row.try_get_unchecked(3)?,
        read_only: match (read_only, is_closed) {
            (true, _) => Some("opened read-only".into()),
            (_, true) => Some("the server is read_only (a replica?)".into()),
            _ => None,
        },
        // A server that follows another is not told from one that somebody has closed for writing.
        gate: Some(if is_closed { Gate::Closed } else { Gate::Open }),
        clock: Timestamp(row.try_get_unchecked(6)?),
        grants: grants.map(Grants::parse),
        packet: Some(packet),
    };
    Ok((MysqlServer { id: row.try_get_unchecked(0)?, maria: Some(maria), packet }, facts))
}

/// The whole beginning of a transaction as one message of constants and numbers.
fn begin_sql(maria: Option<bool>, mode: Mode, limits: Limits) -> String {
    let seconds = format!("max_statement_time = {:.3}", limits.statement.as_secs_f64().clamp(0.001, 31_536_000.0));
    // MySQL limits SELECT only; anything else is stopped by our own deadline.
    let millis = u32::try_from(limits.statement.as_millis()).unwrap_or(u32::MAX).max(1);
    let millis = format!("max_execution_time = {millis}");
    let run_time = match maria {
        Some(true) => format!(", {seconds}"),
        Some(false) => format!(", {millis}"),
        // Each reads its own: https://mariadb.com/docs/server/reference/sql-structure/comment-syntax
        None => format!(" /*M! , {seconds} */ /*!50700 , {millis} */"),
    };
    // Whole seconds; at least one.
    let lock = (limits.lock.as_millis().div_ceil(1000)).clamp(1, 31_536_000);
    let (isolation, access) = match mode {
        Mode::Read => ("REPEATABLE READ", "READ ONLY"),
        Mode::Write => ("READ COMMITTED", "READ WRITE"),
    };
    // MySQL has nothing of the kind. What reads is one message, and never waits for another.
    let idle = match (maria, mode) {
        (Some(false), _) | (_, Mode::Read) => String::new(),
        _ => format!(" /*M!100300 , idle_transaction_timeout = {} */", IDLE.as_secs()),
    };
    format!(
        "SET SESSION innodb_lock_wait_timeout = {lock}, lock_wait_timeout = {lock}{run_time}{idle}; \
         SET TRANSACTION ISOLATION LEVEL {isolation}; START TRANSACTION {access}"
    )
}

impl Link for MyLink {
    fn begin(&mut self, mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>> {
        let sql = begin_sql(self.server.maria, mode, limits);
        Box::pin(async move {
            bind::command(AssertSqlSafe(sql)).execute(&mut self.connection).await.map_err(store_error)?;
            Ok(())
        })
    }

    fn facts<'a>(&'a mut self, question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>> {
        Box::pin(async move {
            let answer = if self.facts.is_none() { self.hello(question).await? } else { None };
            Ok((self.facts.clone().unwrap_or_default(), answer))
        })
    }

    fn script(&self, (limits, statements): Question<'_>) -> Option<Script> {
        let texts: Vec<String> =
            statements.iter().map(|s| inlined(&self.json_depth.checked(s))).collect::<Option<_>>()?;
        if texts.is_empty() {
            return None;
        }
        let sql = format!("{}; {}; COMMIT", begin_sql(self.server.maria, Mode::Read, limits), texts.join("; "));
        self.has_room(sql.len()).then(|| Script::new(sql, texts.len()))
    }

    fn run(&mut self, script: Script) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let answers = self.answers(script).await;
            if let Err(error) = &answers {
                self.json_depth.note(error);
            }
            answers.map(Some)
        })
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            self.fits(statement)?;
            let rows = self.rows(statement).await;
            // What failed was undone, and the transaction goes on.
            if rows.as_ref().is_err_and(|error| self.json_depth.note(error)) {
                self.rows(statement).await
            } else {
                rows
            }
        })
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            self.fits(statement)?;
            let done = self.affect(statement).await;
            if done.as_ref().is_err_and(|error| self.json_depth.note(error)) {
                self.affect(statement).await
            } else {
                done
            }
        })
    }

    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>> {
        let sql = match end {
            End::Commit | End::Release => "COMMIT",
            End::Rollback => "ROLLBACK",
        };
        Box::pin(async move {
            bind::command(sql).execute(&mut self.connection).await.map_err(store_error)?;
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
        let (address, id) = (Arc::clone(&self.address), self.server.id);
        Box::pin(async move {
            let mut connection = address.connect().await.map_err(connecting)?;
            let sql = AssertSqlSafe(format!("KILL QUERY {id}"));
            bind::command(sql).execute(&mut connection).await.map_err(store_error)?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_product_is_read_from_the_version() {
        assert_eq!(product("10.11.6-MariaDB-0+deb12u1"), (true, "MariaDB 10.11.6".into()));
        assert_eq!(product("5.5.5-10.6.22-MariaDB-log"), (true, "MariaDB 10.6.22".into()));
        assert_eq!(product("8.0.36-0ubuntu0.22.04.1"), (false, "MySQL 8.0.36".into()));
        assert_eq!(product(""), (false, "MySQL ".into()));
    }

    #[test]
    fn a_refused_login_is_told_what_may_be_missing_and_nothing_that_is_there() {
        assert!(remedy("3159", MySqlSslMode::Disabled, false).contains("sslmode=require"));
        assert!(remedy("1045", MySqlSslMode::Disabled, true).contains("sslmode=require"));
        assert!(remedy("1045", MySqlSslMode::Preferred, false).contains("sslcert"));
        assert_eq!(remedy("1045", MySqlSslMode::Required, true), "");
        assert_eq!(remedy("1049", MySqlSslMode::Disabled, false), "");
    }

    #[test]
    fn a_server_that_is_not_known_yet_is_told_its_limit_in_its_own_words() {
        let limits = Limits { statement: Duration::from_secs(2), lock: Duration::from_secs(1) };
        let sql = begin_sql(None, Mode::Read, limits);
        assert!(sql.contains("/*M! , max_statement_time = 2.000 */ /*!50700 , max_execution_time = 2000 */;"), "{sql}");
        assert_eq!(sql.split(';').count() + 1, FRAME, "{sql}");
    }

    #[test]
    fn limits_are_never_zero_and_locks_are_whole_seconds() {
        let limits = Limits { statement: Duration::ZERO, lock: Duration::from_millis(1) };
        let sql = begin_sql(Some(true), Mode::Write, limits);
        assert!(sql.contains("innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, max_statement_time = 0.001 "));
        assert!(sql.contains(", idle_transaction_timeout = 300 */;"), "{sql}");
        assert!(begin_sql(Some(false), Mode::Read, limits).contains(", max_execution_time = 1;"));
    }
}
