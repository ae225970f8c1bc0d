//! The shop's own database: the demo plays the application whose jobs die, so it writes its tables through its own
//! connection, as any application would.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Arguments, AssertSqlSafe, Connection, Row};

use super::DemoLayout;
use super::timeline::{MAX_ATTEMPTS, QueuedJob, SimulatedDeath};
use crate::domain::time::Timestamp;

/// Rows that one INSERT carries: with 9 columns well below SQLite's limit of 32,766 binds.
const ROWS_A_STATEMENT: usize = 400;
/// Rows that one transaction carries while the tables are filled.
const ROWS_A_TRANSACTION: usize = 20_000;

/// The live queue has counted further than the jobs that the story tells of.
const COUNTED_ON: &str = "INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', 5000000)";

/// A connection of the shop to its database.
pub struct Shop {
    connection: SqliteConnection,
    layout: DemoLayout,
}

impl Shop {
    /// Makes the database with its empty tables.
    pub async fn create(path: &Path, layout: DemoLayout) -> Result<Shop> {
        // Nothing of it is to survive the machine, so nothing waits for the disk. Pages go to the file itself while the
        // tables are filled: through a write-ahead log they would be written twice.
        let mut shop = Self::connect(path, layout, SqliteJournalMode::Memory).await?;
        for tables in layout.schema().into_iter().chain([COUNTED_ON]) {
            #[expect(clippy::disallowed_methods, reason = "the demo's tables: statements of ours, without a value")]
            let statements = sqlx::raw_sql(tables);
            statements.execute(&mut shop.connection).await.context("the demo's tables")?;
        }
        Ok(shop)
    }

    /// Opens the database that [`Shop::create`] made, with readers and writers side by side.
    pub async fn open(path: &Path, layout: DemoLayout) -> Result<Shop> {
        Self::connect(path, layout, SqliteJournalMode::Wal).await
    }

    async fn connect(path: &Path, layout: DemoLayout, journal: SqliteJournalMode) -> Result<Shop> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(journal)
            .synchronous(SqliteSynchronous::Off)
            .busy_timeout(Duration::from_secs(20))
            .pragma("cache_size", "-65536");
        let connection = SqliteConnection::connect_with(&options).await.context("the demo's database")?;
        Ok(Shop { connection, layout })
    }

    /// Fills the table with deaths, many at a time.
    pub async fn fill(&mut self, deaths: impl Iterator<Item = SimulatedDeath>) -> Result<()> {
        let mut deaths = deaths.peekable();
        while deaths.peek().is_some() {
            sqlx::query("BEGIN").execute(&mut self.connection).await?;
            for _ in 0..ROWS_A_TRANSACTION / ROWS_A_STATEMENT {
                let batch: Vec<SimulatedDeath> = deaths.by_ref().take(ROWS_A_STATEMENT).collect();
                self.insert(&batch).await?;
            }
            sqlx::query("COMMIT").execute(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Writes deaths that happen now.
    pub async fn bury(&mut self, deaths: &[SimulatedDeath]) -> Result<()> {
        self.insert(deaths).await
    }

    async fn insert(&mut self, deaths: &[SimulatedDeath]) -> Result<()> {
        if deaths.is_empty() {
            return Ok(());
        }
        let columns = match self.layout {
            DemoLayout::JobsDlq => JOBS_DLQ_COLUMNS,
            DemoLayout::DeadLetterJobs => DEAD_LETTER_JOBS_COLUMNS,
        };
        let width = columns.split(',').count();
        let row = format!("({})", vec!["?"; width].join(","));
        let rows = vec![row.as_str(); deaths.len()].join(",");
        let mut values = SqliteArguments::default();
        for death in deaths {
            match self.layout {
                DemoLayout::JobsDlq => bind_jobs_dlq(&mut values, death)?,
                DemoLayout::DeadLetterJobs => bind_dead_letter_jobs(&mut values, death)?,
            }
        }
        let sql = format!("INSERT INTO {} ({columns}) VALUES {rows}", self.layout.word());
        sqlx::query_with(AssertSqlSafe(sql), values).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Takes the next live job that is due, if there is one, and counts the attempt.
    pub async fn claim(&mut self, worker: &str, now: Timestamp) -> Result<Option<(i64, String)>> {
        // Looking takes no lock; an UPDATE takes the only one there is even where it finds nothing.
        let due = sqlx::query(
            "SELECT 1 FROM jobs WHERE locked_at IS NULL AND (run_after IS NULL OR julianday(run_after) <= julianday(?1))
             LIMIT 1",
        )
        .bind(stamp(now))
        .fetch_optional(&mut self.connection)
        .await?;
        if due.is_none() {
            return Ok(None);
        }
        let row = sqlx::query(
            "UPDATE jobs SET attempts = attempts + 1, locked_at = ?1, locked_by = ?2 WHERE id = (
                 SELECT id FROM jobs WHERE locked_at IS NULL AND (run_after IS NULL OR julianday(run_after) <= julianday(?1))
                 ORDER BY run_after, id LIMIT 1)
             RETURNING id, payload",
        )
        .bind(stamp(now))
        .bind(worker)
        .fetch_optional(&mut self.connection)
        .await?;
        match row {
            Some(row) => Ok(Some((row.try_get(0)?, row.try_get(1)?))),
            None => Ok(None),
        }
    }

    /// Ends a claimed job: it is gone from the live queue, and where it died again it is among the dead.
    pub async fn finish(&mut self, id: i64, death: Option<&SimulatedDeath>) -> Result<()> {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.connection).await?;
        let done = async {
            if let Some(death) = death {
                self.insert(std::slice::from_ref(death)).await?;
            }
            sqlx::query("DELETE FROM jobs WHERE id = ?").bind(id).execute(&mut self.connection).await?;
            anyhow::Ok(())
        }
        .await;
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        sqlx::query(end).execute(&mut self.connection).await?;
        done
    }

    /// What a live job's payload says, read as the layout writes it.
    pub fn body(&self, id: i64, payload: &str) -> Option<QueuedJob> {
        let value: serde_json::Value = serde_json::from_str(payload).ok()?;
        let text = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let (class, queue, args) = match self.layout {
            DemoLayout::JobsDlq => ("class", "queue", "args"),
            DemoLayout::DeadLetterJobs => ("job_class", "queue_name", "arguments"),
        };
        // The arguments are only read for the request id, and written back as the exact text of the payload.
        Some(QueuedJob {
            original: id,
            class: text(class)?,
            queue: text(queue).unwrap_or_default(),
            args: raw_member(payload, args)?,
        })
    }

    /// Closes the connection.
    pub async fn close(self) {
        // The database is about to be deleted: whether it closed well is of no interest.
        let _ = self.connection.close().await;
    }
}

/// The exact text of a member of a JSON object: big numbers stay as they are.
fn raw_member(object: &str, key: &str) -> Option<String> {
    let members: std::collections::HashMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_str(object).ok()?;
    members.get(key).map(|raw| raw.get().to_owned())
}

const JOBS_DLQ_COLUMNS: &str =
    "original_id, payload, attempts, error_class, error_msg, stacktrace, failed_by, failed_at";

fn bind_jobs_dlq(values: &mut SqliteArguments, death: &SimulatedDeath) -> Result<()> {
    let payload = format!(r#"{{"class":"{}","queue":"{}","args":{}}}"#, death.class, death.queue, death.args);
    add(values, death.original)?;
    add(values, payload)?;
    add(values, death.attempts)?;
    add(values, death.error.clone())?;
    add(values, death.message.clone())?;
    add(values, death.backtrace.clone())?;
    add(values, death.worker.clone())?;
    add(values, stamp(death.at))
}

const DEAD_LETTER_JOBS_COLUMNS: &str = "id, job_class, job_id, queue_name, arguments, error_class, error_message, \
     error_backtrace, failed_at, metadata, created_at, updated_at";

fn bind_dead_letter_jobs(values: &mut SqliteArguments, death: &SimulatedDeath) -> Result<()> {
    let lines: Vec<&str> = death.backtrace.lines().collect();
    let (host, pid) = death.worker.split_once(':').unwrap_or((death.worker.as_str(), "1"));
    let metadata = serde_json::json!({"executions": death.attempts, "hostname": host, "pid": pid, "locale": "en"});
    // The row's id is the job's id with its last group turned round: as good as random, and no second draw.
    let id: String = death.job_id[..24].chars().chain(death.job_id[24..].chars().rev()).collect();
    add(values, id)?;
    add(values, death.class.clone())?;
    add(values, death.job_id.clone())?;
    add(values, death.queue.clone())?;
    add(values, death.args.clone())?;
    add(values, death.error.clone())?;
    add(values, death.message.clone())?;
    add(values, serde_json::to_string(&lines)?)?;
    let at = stamp(death.at);
    add(values, at.clone())?;
    add(values, metadata.to_string())?;
    add(values, at.clone())?;
    add(values, at)
}

fn add<'q, T>(values: &mut SqliteArguments, value: T) -> Result<()>
where
    T: sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite> + 'q,
{
    values.add(value).map_err(|e| anyhow::anyhow!("a value of the demo: {e}"))
}

/// A time as the tables keep it: UTC, microseconds, no zone.
fn stamp(at: Timestamp) -> String {
    match at.calendar() {
        Some(at) => at.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
        None => at.0.to_string(),
    }
}

/// MAX_ATTEMPTS is what the `jobs` table allows by default; the story and the table must agree.
const _: () = assert!(MAX_ATTEMPTS == 5);
