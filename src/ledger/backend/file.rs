//! The operator's own file: folder and file private, schema brought up to date, faults as sentences.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row as _, SqlSafeStr, Sqlite, Transaction};

use super::file_identity::{FileIdentity, log_of};
use crate::db::lite::{self, Inode};
use crate::db::{Row, Statement};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::schema;
use crate::store::SourceError;

/// How long a statement waits for another process that is writing.
const BUSY: Duration = Duration::from_secs(10);
/// Page cache of a connection in KiB, and also what it sorts in memory: a frozen cohort is written and read in order, and
/// what a run touches at random the system's own cache has.
const CACHE_KIB: &str = "-2048";
/// Rows that are written before the log is brought home: a run touches the same pages at every batch. A batch that had to
/// wait while it is done would wait for some tenths of a second, with its rows locked.
const HOMING_ROWS: u64 = 50_000;
/// Times that this goes through the log: the second has only what was added during the first, and is quick enough to come to
/// its end between two entries.
const HOMING_ROUNDS: u32 = 2;
/// Pages of the log from which on whoever writes does it all the same, 160 MiB.
const CHECKPOINT_PAGES: &str = "40000";
/// The longest log that is left as it is when the file is opened, in bytes: whoever opens the file first reads all of it, which
/// takes a third of a millisecond for each megabyte.
const LEFT_BEHIND: u64 = 4 << 20;
/// Times that bringing the schema up to date is tried: two processes may find the file new at the same moment.
const MIGRATION_TRIES: u32 = 10;

/// An SQLite file, shared by every process of the operator.
#[derive(Clone, Debug)]
pub(in crate::ledger) struct FileBackend {
    pub(in crate::ledger) pool: SqlitePool,
    /// One connection, which does not wait for the disk; opened when it is first needed.
    unsynced: SqlitePool,
    place: Arc<FileIdentity>,
    /// Rows written since the log was brought home.
    written: Arc<AtomicU64>,
}

impl FileBackend {
    /// Opens the file at `path`, and makes it and its folder (mode 0600 and 0700) where they are missing.
    pub(super) async fn open(path: &Path) -> Result<Self> {
        let unusable = |reason: String| unusable(path, reason);
        if !path.exists() {
            // Where this fails, what follows makes the file in its place or says why it cannot.
            drop(make_new(path).await);
        }
        make_private(path).map_err(|e| unusable(unwritable(path, &e)))?;
        let inode = Inode::at(path);
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(false)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .pragma("cache_size", CACHE_KIB)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
        let pool = connections(3).connect_with(options.clone()).await.map_err(|e| unusable(sentence(&e)))?;
        let unsynced = connections(1).connect_lazy_with(options.clone().synchronous(SqliteSynchronous::Normal));
        migrate(&pool).await.map_err(unusable)?;
        if log_of(path).metadata().is_ok_and(|log| log.len() > LEFT_BEHIND) {
            // What fails here is tried again by whoever opens the file next.
            tokio::spawn(async move { drop(clear_up(options).await) });
        }
        let place = FileIdentity::of(path, inode);
        place.still_there()?;
        Ok(Self { pool, unsynced, place, written: Arc::default() })
    }

    /// Opens the file that lies at `path` for reading only, as it is: nothing is made, and nothing brought up to date.
    pub(super) async fn peek(path: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(false)
            .read_only(true)
            // Whoever reads beside a log makes an index of it. Without a log nobody writes, and the file is all there is.
            .immutable(!log_of(path).exists())
            .busy_timeout(BUSY);
        let opened = connections(1).connect_with(options).await.map_err(|e| unusable(path, sentence(&e)))?;
        Ok(Self {
            pool: opened.clone(),
            unsynced: opened,
            place: FileIdentity::of(path, Inode::at(path)),
            written: Arc::default(),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether its path still leads to it.
    pub(super) fn is_there(&self) -> bool {
        self.place.is_there()
    }

    /// Closes it once running calls have ended.
    pub(super) async fn close(&self) {
        self.unsynced.close().await;
        self.pool.close().await;
    }

    /// Lets the file grow no further than `pages`, or than it is: a disk that is full.
    #[cfg(test)]
    pub(in crate::ledger) async fn limit_pages(&self, pages: u32) {
        // Each connection has a limit of its own.
        for pool in [&self.pool, &self.unsynced] {
            let mut held = Vec::new();
            for _ in 0..pool.options().get_max_connections() {
                let mut connection = pool.acquire().await.unwrap();
                let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
                sqlx::query(limit).execute(&mut *connection).await.unwrap();
                held.push(connection);
            }
        }
    }

    pub(super) async fn read(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        self.place.still_there()?;
        if let [statement] = statements {
            let rows = lite::bind(statement).fetch_all(&self.pool).await.map_err(|e| self.fault(e))?;
            return Ok(vec![decode(&rows)?]);
        }
        let mut tx = self.pool.begin().await.map_err(|e| self.fault(e))?;
        let mut results = Vec::with_capacity(statements.len());
        for statement in statements {
            let rows = lite::bind(statement).fetch_all(&mut *tx).await.map_err(|e| self.fault(e))?;
            results.push(decode(&rows)?);
        }
        Ok(results)
    }

    /// The write lock is taken at once: one that is taken later can fail without waiting.
    pub(super) async fn begin(&self) -> Result<FileTx<'_>> {
        self.begin_in(&self.pool).await
    }

    /// As [`FileBackend::begin`], of what is lost in a crash of the machine as long as nothing is written behind it: the log is one
    /// file, and the next commit that waits for the disk takes along all that stands before it there.
    pub(super) async fn begin_unsynced(&self) -> Result<FileTx<'_>> {
        self.begin_in(&self.unsynced).await
    }

    async fn begin_in(&self, pool: &SqlitePool) -> Result<FileTx<'_>> {
        self.place.still_there()?;
        let tx = pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.fault(e))?;
        // Behind the wait for the write lock.
        self.place.still_whole()?;
        Ok(FileTx { file: self, tx, written: 0 })
    }

    /// Brings the log home when enough was written, beside whatever goes on: nobody who reads or writes is waited for, and
    /// nobody waits.
    fn wrote(&self, rows: u64) {
        let before = self.written.fetch_add(rows, Ordering::Relaxed);
        if before / HOMING_ROWS == (before + rows) / HOMING_ROWS {
            return;
        }
        let pool = self.pool.clone();
        tokio::spawn(async move {
            let homing = Statement { sql: "PRAGMA wal_checkpoint(PASSIVE)".to_owned(), binds: Vec::new() };
            for _ in 0..HOMING_ROUNDS {
                // What fails here is tried again with the next rows, or done by whoever writes then.
                drop(lite::bind(&homing).execute(&pool).await);
            }
        });
    }

    /// The sentence for a failed statement: whether the file as a whole can no longer be used, or only this was refused.
    fn fault(&self, error: sqlx::Error) -> LedgerError {
        // A connection that is made anew does not find the file, which is a matter of its place.
        if unusable_code(&error) {
            if let Err(moved) = self.place.still_there() {
                return moved;
            }
            return unusable(self.place.path(), sentence(&error));
        }
        LedgerError::Refused(sentence(&error))
    }
}

/// Empties the log that a process has left behind: it ends without closing the file. All of it is brought home first, beside
/// whoever reads or writes, and only a log of which nothing is left to bring home is emptied: that is done in no time, and nobody
/// else can write meanwhile. Where others are at work on the file it stays as it is.
async fn clear_up(options: SqliteConnectOptions) -> sqlx::Result<()> {
    let mut connection = options.busy_timeout(Duration::ZERO).connect().await?;
    let pragma = |how: &str| Statement { sql: format!("PRAGMA wal_checkpoint({how})"), binds: Vec::new() };
    let passive = pragma("PASSIVE");
    let told = lite::bind(&passive).fetch_one(&mut connection).await?;
    let (busy, pages, home) = (told.try_get::<i64, _>(0)?, told.try_get::<i64, _>(1)?, told.try_get::<i64, _>(2)?);
    if busy == 0 && pages == home {
        lite::bind(&pragma("TRUNCATE")).execute(&mut connection).await?;
    }
    connection.close().await
}

/// What to do with a file that is damaged.
pub const WHEN_DAMAGED: &str = "move it away, with what lies beside it under its name, and a new one is made (what runs kept for \
    `undo` and `resume` stays in the old one)";

/// What SQLite says of a file that is damaged, or was never its own.
const DAMAGES: [&str; 2] = ["database disk image is malformed", "file is not a database"];

/// Why the file cannot be made or opened, with what to do where that is known.
fn unwritable(path: &Path, error: &io::Error) -> String {
    let folder = path.parent().unwrap_or(Path::new(".")).display();
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory
        // The folder was made just now, where one can be.
        | io::ErrorKind::NotFound
        | io::ErrorKind::AlreadyExists => format!(
            "{error}; whatever is done is put on record first, so {folder} must be a folder that you can write to \
             (XDG_STATE_HOME names another place)"
        ),
        _ => error.to_string(),
    }
}

fn unusable(path: &Path, reason: String) -> LedgerError {
    let reason = match DAMAGES.into_iter().find(|damage| reason.contains(damage)) {
        Some(damage) => format!("{damage}; {WHEN_DAMAGED}"),
        None => reason,
    };
    LedgerError::Unusable { place: path.display().to_string(), reason }
}

/// An open writing transaction.
pub(super) struct FileTx<'a> {
    file: &'a FileBackend,
    tx: Transaction<'static, Sqlite>,
    written: u64,
}

impl FileTx<'_> {
    pub(super) async fn fetch(&mut self, statement: &Statement) -> Result<Vec<Row>> {
        let rows = lite::bind(statement).fetch_all(&mut *self.tx).await.map_err(|e| self.file.fault(e))?;
        decode(&rows)
    }

    pub(super) async fn execute(&mut self, statement: Statement) -> Result<u64> {
        let done = lite::bind_all(statement).execute(&mut *self.tx).await.map_err(|e| self.file.fault(e))?;
        self.written += done.rows_affected();
        Ok(done.rows_affected())
    }

    pub(super) async fn commit(self) -> Result<()> {
        self.tx.commit().await.map_err(|e| self.file.fault(e))?;
        // What was committed to a file that was moved away meanwhile is lost with it.
        self.file.place.still_there()?;
        self.file.wrote(self.written);
        Ok(())
    }
}

fn decode(rows: &[SqliteRow]) -> Result<Vec<Row>> {
    let odd = |e: SourceError| LedgerError::Refused(e.to_string());
    rows.iter().map(|row| lite::decode(row).map_err(odd)).collect()
}

/// Makes the file beside its place, and puts it there when it is whole: SQLite by itself waits for the disk eight times
/// over a file that has nothing in it yet, while somebody waits for the console.
async fn make_new(path: &Path) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let folder = make_folder(path)?.unwrap_or(Path::new("."));
    // Private from the start.
    let file = tempfile::Builder::new().prefix(".ledger-").tempfile_in(folder)?;
    let options = SqliteConnectOptions::new()
        .filename(file.path())
        .journal_mode(SqliteJournalMode::Memory)
        .synchronous(SqliteSynchronous::Off);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    let made = async {
        migrations().run(&pool).await?;
        sqlx::query("PRAGMA journal_mode = WAL").execute(&pool).await?;
        Ok::<_, sqlx::Error>(())
    }
    .await;
    // Takes the log along.
    pool.close().await;
    made?;
    file.as_file().sync_all()?;
    // Whoever was quicker has made the same.
    file.persist_noclobber(path)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// Makes the folder that a file is to be in, private to the operator.
fn make_folder(path: &Path) -> io::Result<Option<&Path>> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
    if let Some(folder) = folder {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    Ok(folder)
}

/// Makes the file so that SQLite, which gives its side files the mode of the main one, keeps all of them private.
fn make_private(path: &Path) -> io::Result<()> {
    make_folder(path)?;
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    let metadata = file.metadata()?;
    // A device or a pipe that a link leads to is everybody's.
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Runs `sql` in a new file that an earlier version made, up to its step `last`.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "statements of a test")]
pub(in crate::ledger) async fn make_earlier(path: &Path, last: i64, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    let steps = migrations().iter().filter(|step| step.version <= last).cloned().collect();
    Migrator::with_migrations(steps).run(&pool).await.unwrap();
    sqlx::raw_sql(sql).execute(&pool).await.unwrap();
    pool.close().await;
}

fn migrations() -> Migrator {
    let migration = |m: &schema::Migration| {
        Migration::new(m.no, m.name.into(), MigrationType::Simple, m.sqlite.into_sql_str(), false)
    };
    Migrator::with_migrations(schema::MIGRATIONS.iter().map(migration).collect())
}

async fn migrate(pool: &SqlitePool) -> std::result::Result<(), String> {
    let migrations = migrations();
    let mut tried = 0;
    loop {
        let Err(error) = migrations.run(pool).await else { return Ok(()) };
        tried += 1;
        if tried >= MIGRATION_TRIES {
            return Err(error.to_string());
        }
        tokio::time::sleep(Duration::from_millis(20 * u64::from(tried))).await;
    }
}

/// Connections that are in order.
fn connections(most: u32) -> SqlitePoolOptions {
    let options = SqlitePoolOptions::new().max_connections(most).acquire_timeout(BUSY);
    options.after_release(|connection, _| Box::pin(in_order(connection)))
}

/// Whether a connection can be used again. Where the disk was full SQLite has ended the transaction by itself: the driver,
/// whose ROLLBACK fails then, believes for ever that it is still open.
async fn in_order(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    if connection.is_in_transaction() {
        // Behind a ROLLBACK that was begun as the transaction was dropped.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// Whether SQLite says that the file or its disk is at fault, and not the statement.
fn unusable_code(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => true,
        // The connection is not in order, which is nothing that was asked of it.
        sqlx::Error::InvalidSavePointStatement | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(e) => {
            let extended: i32 = e.code().and_then(|c| c.parse().ok()).unwrap_or_default();
            // PERM, BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
            matches!(extended & 0xff, 3 | 5 | 8 | 10 | 11 | 13 | 14 | 26)
        }
        _ => false,
    }
}

fn sentence(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(e) => e.message().to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_was_full_in_the_middle_of_a_transaction_can_be_written_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileBackend::open(&folder.path().join("ledger.sqlite3")).await.unwrap();
        let statement = |sql: &str| Statement { sql: sql.to_owned(), binds: Vec::new() };
        let mut tx = file.begin().await.unwrap();
        tx.execute(statement("CREATE TABLE big (x)")).await.unwrap();
        tx.commit().await.unwrap();
        file.limit_pages(1).await;
        // One row, so that SQLite undoes the whole transaction by itself, and there is none any more to be rolled back.
        let big = statement("INSERT INTO big VALUES (zeroblob(4000000))");
        for _ in 0..5 {
            let mut tx = file.begin().await.unwrap();
            let fault = tx.execute(big.clone()).await.unwrap_err();
            assert!(matches!(fault, LedgerError::Unusable { .. }), "{fault}");
            drop(tx);
            file.limit_pages(1).await;
        }
        file.limit_pages(1_000_000).await;
        for _ in 0..5 {
            let mut tx = file.begin().await.unwrap();
            tx.execute(big.clone()).await.unwrap();
            tx.commit().await.unwrap();
        }
        let rows = file.read(&[statement("SELECT count(*) FROM big")]).await.unwrap();
        assert_eq!(rows, [[Row(vec![crate::db::Value::Int(5)])]]);
    }

    #[tokio::test]
    async fn what_counts_waits_for_the_disk_and_what_leads_to_it_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileBackend::open(&folder.path().join("ledger.sqlite3")).await.unwrap();
        let asked = Statement { sql: "PRAGMA synchronous".to_owned(), binds: Vec::new() };
        let mode = async |mut tx: FileTx<'_>| tx.fetch(&asked).await.unwrap();
        let [full, normal] = [2, 1].map(|n| vec![Row(vec![crate::db::Value::Int(n)])]);
        for _ in 0..2 {
            assert_eq!(mode(file.begin().await.unwrap()).await, full);
            assert_eq!(mode(file.begin_unsynced().await.unwrap()).await, normal);
        }
    }

    #[tokio::test]
    async fn the_log_is_brought_home_beside_whoever_writes_and_grows_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite3");
        let file = FileBackend::open(&path).await.unwrap();
        let statement = |sql: String| Statement { sql, binds: Vec::new() };
        let log = || path.with_extension("sqlite3-wal").metadata().unwrap().len();
        let mut tx = file.begin().await.unwrap();
        tx.execute(statement("CREATE TABLE big (x)".into())).await.unwrap();
        tx.commit().await.unwrap();
        let rows = HOMING_ROWS / 10;
        let write = async || {
            let mut tx = file.begin().await.unwrap();
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ";
            let insert = format!("INSERT INTO big {numbers}{rows}) SELECT hex(randomblob(100)) FROM n");
            tx.execute(statement(insert)).await.unwrap();
            tx.commit().await.unwrap();
        };
        for _ in 0..10 {
            write().await;
        }
        let once = log();
        for _ in 0..3 {
            // As a run does between two batches: whoever brings the log home needs a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            for _ in 0..10 {
                write().await;
            }
        }
        assert!(log() < once * 3, "{} bytes after four times what made {once}", log());

        // Who opens the file behind a process that has left a long log empties it.
        let mut reader = file.pool.begin().await.unwrap();
        lite::bind(&statement("SELECT 1 FROM big".into())).fetch_all(&mut *reader).await.unwrap();
        write().await;
        drop(FileBackend::open(&path).await.unwrap());
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(log() > LEFT_BEHIND, "it was taken from under somebody who reads it");
        drop(reader);
        let mut heir = FileBackend::open(&path).await.unwrap();
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if log() == 0 {
                break;
            }
            // Somebody else may have brought some of it home just then.
            heir = FileBackend::open(&path).await.unwrap();
        }
        assert_eq!(log(), 0);
        assert_eq!(heir.read(&[statement("SELECT count(*) > 0 FROM big".into())]).await.unwrap().len(), 1);

        // Somebody who goes on reading an old state of things keeps the log where it is, and nobody from writing.
        let mut reader = file.pool.begin().await.unwrap();
        let first = statement("SELECT count(*) FROM big".into());
        lite::bind(&first).fetch_all(&mut *reader).await.unwrap();
        for _ in 0..10 {
            write().await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::time::timeout(BUSY / 2, write()).await.expect("a writer waits for a reader");
    }

    #[test]
    fn a_connection_that_is_left_in_a_transaction_is_no_fault_of_the_statement() {
        assert!(unusable_code(&sqlx::Error::InvalidSavePointStatement));
    }
}
