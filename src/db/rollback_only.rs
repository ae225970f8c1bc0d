//! A connection of which nothing lasts: all its transactions are savepoints of one that is never committed.

use futures_util::future::BoxFuture;

use crate::db::connection::{Answer, Cancel, Connector, End, Facts, Limits, Link, Mode, Question};
use crate::db::{Row, Statement};
use crate::domain::source_error::Result;

/// What marks where a transaction begins.
const SAVEPOINT: &str = "dlq_tui_rehearsal";

/// Opens connections of which nothing lasts. Two of them do not see what the other did: one is enough.
pub(super) struct Rehearsing(pub(super) Box<dyn Connector>);

impl Connector for Rehearsing {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async {
            Ok(Box::new(RollbackOnlyLink { link: self.0.connect().await?, open: false }) as Box<dyn Link>)
        })
    }
}

struct RollbackOnlyLink {
    link: Box<dyn Link>,
    /// Whether the transaction around everything is open.
    open: bool,
}

impl RollbackOnlyLink {
    /// Not as a prepared statement: MySQL prepares none of these.
    async fn say(&mut self, sql: String) -> Result<()> {
        self.link.tell(sql).await
    }
}

impl Link for RollbackOnlyLink {
    fn begin(&mut self, _mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if !self.open {
                self.link.begin(Mode::Write, limits).await?;
                self.open = true;
            }
            self.say(format!("SAVEPOINT {SAVEPOINT}")).await
        })
    }

    fn facts<'a>(&'a mut self, _question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>> {
        self.link.facts(None)
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        self.link.fetch(statement)
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        self.link.execute(statement)
    }

    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if end != End::Commit {
                // Whether or not a statement has failed, what follows can go on from here.
                self.say(format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}")).await?;
            }
            self.say(format!("RELEASE SAVEPOINT {SAVEPOINT}")).await
        })
    }

    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>> {
        self.link.tell(sql)
    }

    fn cancel(&self) -> Cancel {
        // Where the server refuses the cancel, the statement is waited for: its connection holds the transaction around all.
        let cancel = self.link.cancel();
        Box::pin(async move { cancel.await.or(Ok(())) })
    }
}
