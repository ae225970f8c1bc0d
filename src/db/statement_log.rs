//! A connection whose statements somebody hears of: which they are is known nowhere else on an engine that keeps no log.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::db::connection::{Answer, Cancel, Connector, End, Facts, Limits, Link, Mode, Question, Script};
use crate::db::{Row, Statement};
use crate::domain::source_error::Result;

/// Hears of each statement before it is sent; those that begin and end transactions are none.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(&Statement) + Send + Sync>);

impl Listener {
    /// Calls `hear` with each statement. It must not take long.
    pub fn new(hear: impl Fn(&Statement) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Opens connections whose statements are heard.
pub(super) struct LoggedConnector(pub(super) Box<dyn Connector>, pub(super) Listener);

impl LoggedConnector {
    fn link(&self, link: Box<dyn Link>) -> Box<dyn Link> {
        Box::new(LoggedLink { link, listener: self.1.clone() })
    }
}

impl Connector for LoggedConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async { Ok(self.link(self.0.connect().await?)) })
    }

    fn first(&self) -> BoxFuture<'_, Result<Box<dyn Link>>> {
        Box::pin(async { Ok(self.link(self.0.first().await?)) })
    }
}

struct LoggedLink {
    link: Box<dyn Link>,
    listener: Listener,
}

impl Link for LoggedLink {
    fn begin(&mut self, mode: Mode, limits: Limits) -> BoxFuture<'_, Result<()>> {
        self.link.begin(mode, limits)
    }

    fn facts<'a>(&'a mut self, question: Option<Question<'a>>) -> BoxFuture<'a, Result<(Facts, Answer)>> {
        Box::pin(async move {
            let answer = self.link.facts(question).await?;
            if let (Some((_, statements)), (_, Some(_))) = (question, &answer) {
                statements.iter().for_each(|statement| self.listener.0(statement));
            }
            Ok(answer)
        })
    }

    fn script(&self, question: Question<'_>) -> Option<Script> {
        let script = self.link.script(question)?;
        question.1.iter().for_each(|statement| self.listener.0(statement));
        Some(script)
    }

    fn run(&mut self, script: Script) -> BoxFuture<'_, Result<Answer>> {
        self.link.run(script)
    }

    fn fetch<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<Vec<Row>>> {
        self.listener.0(statement);
        self.link.fetch(statement)
    }

    fn execute<'a>(&'a mut self, statement: &'a Statement) -> BoxFuture<'a, Result<u64>> {
        self.listener.0(statement);
        self.link.execute(statement)
    }

    fn end(&mut self, end: End) -> BoxFuture<'_, Result<()>> {
        self.link.end(end)
    }

    fn tell(&mut self, sql: String) -> BoxFuture<'_, Result<()>> {
        self.link.tell(sql)
    }

    fn cancel(&self) -> Cancel {
        self.link.cancel()
    }
}
