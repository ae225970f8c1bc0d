//! Where the record is kept, and the one way to speak to it: statements in, rows out, whatever holds them.

mod cells;
mod file;

use std::path::Path;

pub(super) use cells::Cells;
use file::File;

use super::error::{LedgerError, Result};
use super::text::Text;
use crate::store::sql::engine::{Bind, Dialect, Row, Statement};

/// A place that holds the record.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// A file of the operator's own.
    File(File),
}

impl Home {
    /// The file at `path`, made and brought up to date where that is needed.
    pub(super) async fn file(path: &Path) -> Result<Self> {
        File::open(path).await.map(Self::File)
    }

    /// The file's path, where the record is in one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Home::File(file) => Some(file.path()),
        }
    }

    /// Lets go of the home once running calls have ended.
    pub(super) async fn close(&self) {
        match self {
            Home::File(file) => file.close().await,
        }
    }

    #[cfg(test)]
    pub(super) fn as_file(&self) -> &File {
        match self {
            Home::File(file) => file,
        }
    }

    /// A statement of the record's in this home's words.
    pub(super) fn say(&self, sql: &str, binds: impl Into<Vec<Bind>>) -> Statement {
        let (dialect, prefix) = match self {
            Home::File(_) => (Dialect::Sqlite, ""),
        };
        Text::of(dialect).statement(prefix, sql, binds.into())
    }

    /// The rows of one statement that changes nothing.
    pub(super) async fn fetch(&self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Vec<Row>> {
        let statement = self.say(sql, binds);
        Ok(self.read(std::slice::from_ref(&statement)).await?.pop().unwrap_or_default())
    }

    /// The rows of statements that change nothing, all of one snapshot.
    pub(super) async fn read(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        match self {
            Home::File(file) => file.read(statements).await,
        }
    }

    /// Begins a transaction that nobody else writes beside; undone when it is dropped.
    pub(super) async fn begin(&self) -> Result<Tx<'_>> {
        match self {
            Home::File(file) => Ok(Tx { home: self, open: Open::File(file.begin().await?) }),
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
pub(super) struct Tx<'a> {
    home: &'a Home,
    open: Open<'a>,
}

enum Open<'a> {
    File(file::Tx<'a>),
}

impl Tx<'_> {
    /// The rows of a statement.
    pub(super) async fn fetch(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Vec<Row>> {
        let statement = self.home.say(sql, binds);
        match &mut self.open {
            Open::File(tx) => tx.fetch(&statement).await,
        }
    }

    /// The first row of a statement, where it has one.
    pub(super) async fn first(&mut self, sql: &str, binds: impl Into<Vec<Bind>>) -> Result<Option<Cells>> {
        Ok(self.fetch(sql, binds).await?.into_iter().next().map(Cells::of))
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
        match &mut self.open {
            Open::File(tx) => tx.execute(&statement).await,
        }
    }

    /// Makes it all durable.
    pub(super) async fn commit(self) -> Result<()> {
        match self.open {
            Open::File(tx) => tx.commit().await,
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
