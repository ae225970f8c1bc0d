//! A writing transaction.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::pool::Lease;
use crate::db::cancellation::step;
use crate::db::connection::{End, Link};
use crate::db::{Engine, Row, Statement, executing, fetching};
use crate::domain::source_error::{Result, SourceError};

/// An open writing transaction; rolled back when dropped.
pub struct Tx<'a> {
    /// The borrow keeps an engine from being dropped under its transactions.
    _engine: &'a Engine,
    lease: Option<Lease>,
    limit: Duration,
    cancel: CancellationToken,
    /// A statement has failed. Nothing more is sent: some engines end the transaction by themselves then, and what
    /// followed would take effect outside it, or would be all that a COMMIT makes durable.
    failed: bool,
}

impl<'a> Tx<'a> {
    pub(super) fn new(engine: &'a Engine, lease: Lease, limit: Duration, cancel: CancellationToken) -> Self {
        Self { _engine: engine, lease: Some(lease), limit, cancel, failed: false }
    }

    /// Runs a statement and returns its rows (of a SELECT or a RETURNING).
    ///
    /// # Errors
    /// After an error the transaction is only good for a rollback, and [`Tx::commit`] is an error too.
    pub async fn fetch(&mut self, statement: impl Into<Statement>) -> Result<Vec<Row>> {
        self.step(fetching(statement.into())).await
    }

    /// Runs a statement and returns how many rows it affected.
    ///
    /// # Errors
    /// As [`Tx::fetch`].
    pub async fn execute(&mut self, statement: impl Into<Statement>) -> Result<u64> {
        self.step(executing(statement.into())).await
    }

    /// Makes it all durable.
    ///
    /// # Errors
    /// A `retryable` error leaves it open whether the transaction took effect; any other undid it.
    pub async fn commit(mut self) -> Result<()> {
        // From here on a cancel comes too late: stopping a COMMIT would leave its outcome open for nothing.
        self.end(End::Commit).await?;
        self.close();
        Ok(())
    }

    /// Undoes it all.
    pub async fn rollback(mut self) {
        self.failed = false;
        if self.end(End::Rollback).await.is_ok() {
            self.close();
        }
    }

    async fn end(&mut self, end: End) -> Result<()> {
        self.cancel = CancellationToken::new();
        if let Some(lease) = &mut self.lease {
            lease.ends();
        }
        self.step(move |link| link.end(end)).await
    }

    fn close(&mut self) {
        if let Some(lease) = &mut self.lease {
            lease.closed();
        }
    }

    async fn step<T, W>(&mut self, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: for<'l> FnOnce(&'l mut dyn Link) -> BoxFuture<'l, Result<T>> + Send + 'static,
    {
        let lease = if self.failed { None } else { self.lease.take() };
        let Some(lease) = lease else {
            return Err(SourceError::Refused { message: "the transaction had failed already".into(), code: None });
        };
        let (lease, result) = step(lease, self.limit, &self.cancel, work).await;
        self.lease = lease;
        self.failed = result.is_err();
        result
    }
}
