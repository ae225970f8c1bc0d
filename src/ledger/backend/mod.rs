//! Where the record is kept, and the one way to speak to it: statements in, rows out, whatever holds them.

mod cells;
mod file;
mod file_identity;
mod source;

use std::path::Path;
use std::sync::Arc;

pub(super) use cells::RowCells;
use file::FileBackend;
pub use file::WHEN_DAMAGED;
#[cfg(test)]
pub(super) use file::make_earlier;
pub(super) use file_identity::log_of;
pub(super) use source::{RunToken, SourceBackend};

use super::dialect::{InsertColumn, LedgerSql};
use super::error::{LedgerError, Result};
use crate::db::{self, Bind, DatabaseKind, Engine, Row, Statement};

/// A place that holds the record.
#[derive(Clone, Debug)]
pub(super) enum Backend {
    /// A file of the operator's own.
    File(FileBackend),
    /// The database of the source itself.
    Source(Arc<SourceBackend>),
}

impl Backend {
    /// The file at `path`, made and brought up to date where that is needed.
    pub(super) async fn file(path: &Path) -> Result<Self> {
        FileBackend::open(path).await.map(Self::File)
    }

    /// The file at `path` as it lies there, for reading only.
    pub(super) async fn peek(path: &Path) -> Result<Self> {
        FileBackend::peek(path).await.map(Self::File)
    }

    /// The record in a source, which is known to be there.
    pub(super) fn source(engine: Arc<Engine>) -> Self {
        Self::Source(Arc::new(SourceBackend::new(engine)))
    }

    /// The record in a source, where it is one.
    pub(super) fn shared(&self) -> Option<&Arc<SourceBackend>> {
        match self {
            Backend::File(_) => None,
            Backend::Source(source) => Some(source),
        }
    }

    /// The file's path, where the record is in one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Backend::File(file) => Some(file.path()),
            Backend::Source(_) => None,
        }
    }

    /// Whether a file is still where it was opened; a source looks for itself.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Backend::File(file) => file.is_there(),
            Backend::Source(_) => true,
        }
    }

    /// Whether what jobs are known by stands in a table of its own, and how many jobs enter it in one transaction: others
    /// write to a source meanwhile.
    pub(super) fn keys(&self) -> Option<i64> {
        match self {
            Backend::File(_) => Some(200_000),
            Backend::Source(source) if source.dialect() == DatabaseKind::Sqlite => Some(2_000),
            Backend::Source(_) => None,
        }
    }

    /// Lets go of the home once running calls have ended.
    pub(super) async fn close(&self) {
        match self {
            Backend::File(file) => file.close().await,
            // The connection belongs to the store.
            Backend::Source(_) => {}
        }
    }

    #[cfg(test)]
    pub(super) fn as_file(&self) -> &FileBackend {
        match self {
            Backend::File(file) => file,
            Backend::Source(_) => panic!("no file"),
        }
    }

    /// A statement of the record's in this home's words.
    pub(super) fn say(&self, sql: &str, binds: impl Into<Vec<Bind>>) -> Statement {
        let (text, prefix) = self.words();
        text.statement(prefix, sql, binds.into())
    }

    /// The words of this home, and what leads the name of each table.
    fn words(&self) -> (&'static LedgerSql, &'static str) {
        match self {
            Backend::File(_) => (LedgerSql::of(DatabaseKind::Sqlite), ""),
            Backend::Source(source) => (LedgerSql::of(source.dialect()), source.prefix()),
        }
    }

    /// The rows of one statement that changes nothing.
    pub(super) async fn fetch(&self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Vec<Row>> {
        let statement = self.say(sql, binds);
        Ok(self.read(std::slice::from_ref(&statement)).await?.pop().unwrap_or_default())
    }

    /// The rows of statements that change nothing, all of one snapshot.
    pub(super) async fn read(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        match self {
            Backend::File(file) => file.read(statements).await,
            Backend::Source(source) => source.read(statements).await,
        }
    }

    /// Begins a transaction that nobody else writes beside; undone when it is dropped.
    pub(super) async fn begin(&self) -> Result<LedgerTx<'_>> {
        match self {
            Backend::File(file) => Ok(LedgerTx { home: self, open: Open::File(file.begin().await?) }),
            Backend::Source(source) => Ok(LedgerTx { home: self, open: Open::Source(source, source.begin().await?) }),
        }
    }

    /// As [`Backend::begin`], of what is of no use before a later transaction: a file does not wait for the disk for it.
    pub(super) async fn begin_unsynced(&self) -> Result<LedgerTx<'_>> {
        match self {
            Backend::File(file) => Ok(LedgerTx { home: self, open: Open::File(file.begin_unsynced().await?) }),
            Backend::Source(_) => self.begin().await,
        }
    }

    /// Runs one statement by itself, and returns how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<u64> {
        let mut tx = self.begin().await?;
        let changed = tx.execute(sql, binds).await?;
        tx.commit().await?;
        Ok(changed)
    }
}

/// An open writing transaction.
pub(super) struct LedgerTx<'a> {
    home: &'a Backend,
    open: Open<'a>,
}

enum Open<'a> {
    File(file::FileTx<'a>),
    Source(&'a SourceBackend, db::Tx<'a>),
}

impl<'a> LedgerTx<'a> {
    /// The home that is written to.
    pub(super) fn home(&self) -> &'a Backend {
        self.home
    }

    /// The rows of a statement.
    pub(super) async fn fetch(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Vec<Row>> {
        let statement = self.home.say(sql, binds);
        match &mut self.open {
            Open::File(tx) => tx.fetch(&statement).await,
            Open::Source(source, tx) => tx.fetch(&statement).await.map_err(|e| source.fault(e)),
        }
    }

    /// The first row of a statement, where it has one.
    pub(super) async fn first(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Option<RowCells>> {
        Ok(self.fetch(sql, binds).await?.into_iter().next().map(RowCells::of))
    }

    /// The number that a statement answers with, a count or a sum.
    pub(super) async fn number(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<i64> {
        match self.first(sql, binds).await? {
            Some(mut cells) => Ok(cells.maybe_int()?.unwrap_or_default()),
            None => Ok(0),
        }
    }

    /// Runs a statement, and returns how many rows it changed.
    pub(super) async fn execute(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<u64> {
        let statement = self.home.say(sql, binds);
        self.run(statement).await
    }

    /// Inserts a row for each of `items`, with a value for every column, a bounded number of them in each statement.
    pub(super) async fn insert<T, const N: usize>(
        &mut self,
        table: &str,
        columns: &[InsertColumn; N],
        items: Vec<T>,
        row: impl Fn(usize, T) -> [Bind; N],
    ) -> Result<()> {
        let (text, prefix) = self.home.words();
        let mut rest = items.into_iter().enumerate();
        while rest.len() > 0 {
            let n = text.rows_at_once(rest.len());
            let rows = rest.by_ref().take(n).map(|(nth, item)| row(nth, item));
            let statement = text.insert(prefix, table, columns, rows);
            self.run(statement).await?;
        }
        Ok(())
    }

    /// As [`LedgerTx::execute`], for a statement that is in the home's words already.
    pub(super) async fn run(&mut self, statement: Statement) -> Result<u64> {
        match &mut self.open {
            Open::File(tx) => tx.execute(statement).await,
            Open::Source(source, tx) => tx.execute(&statement).await.map_err(|e| source.fault(e)),
        }
    }

    /// Makes it all durable, where it was not begun otherwise.
    pub(super) async fn commit(self) -> Result<()> {
        match self.open {
            Open::File(tx) => tx.commit().await,
            Open::Source(source, tx) => tx.commit().await.map_err(|e| source.fault(e)),
        }
    }
}

/// A text as a value.
pub(super) fn text(value: impl Into<String>) -> Bind {
    Bind::Text(Some(value.into()))
}

/// A text or NULL as a value.
pub(super) fn maybe(value: Option<impl Into<String>>) -> Bind {
    Bind::Text(value.map(Into::into))
}

/// A number as a value.
pub(super) fn int(value: i64) -> Bind {
    Bind::Int(Some(value))
}

/// How many as a value.
pub(super) fn limit(n: usize) -> Bind {
    int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Texts as one value, for `{asked}`.
pub(super) fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Bind {
    Bind::Texts(values.into_iter().map(|value| Some(value.into())).collect())
}

/// Rows as one value, for `{told}`: each a tuple of its columns.
pub(super) fn rows<T: serde::Serialize>(rows: &[T]) -> Result<Bind> {
    serde_json::to_string(rows).map(text).map_err(|e| LedgerError::Refused(e.to_string()))
}
