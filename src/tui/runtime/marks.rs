//! Answers to questions about marks.

use super::session::Session;
use crate::domain::mark::{MarkName, NamedMoment};
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerError, Mark};
use crate::store::{Budget, SourceError};
use crate::tui::app::{MarkRequest, Reply};

/// Answers a question.
pub(super) async fn answer(session: &Session, asked: MarkRequest, budget: &Budget) -> Reply {
    match asked {
        MarkRequest::List => Reply::Marks(list(session).await.map_err(|e| e.to_string())),
        MarkRequest::Set { name, at } => Reply::MarkSet(set(session, name, at).await),
        MarkRequest::Compare { name, by, filter } => Reply::MarkComparison(Box::new(match session.store() {
            Ok(open) => open.desk.compare_with_mark(&name, by, &filter, budget).await,
            Err(error) => Err(error),
        })),
    }
}

/// The answer to a question that could not be answered.
pub(super) fn failure(asked: MarkRequest, error: SourceError) -> Reply {
    match asked {
        MarkRequest::List => Reply::Marks(Err(error.to_string())),
        MarkRequest::Set { .. } => Reply::MarkSet(Err(error.to_string())),
        MarkRequest::Compare { .. } => Reply::MarkComparison(Box::new(Err(error))),
    }
}

/// The marks of the source, the latest first.
async fn list(session: &Session) -> Result<Vec<NamedMoment>, LedgerError> {
    let Ok(open) = session.store() else { return Ok(Vec::new()) };
    let marks = session.ledger().await?.marks().list(&open.desk.source).await?;
    Ok(marks.iter().map(NamedMoment::from).collect())
}

/// Sets a mark, now by the source's clock where no moment is named.
async fn set(session: &Session, name: MarkName, at: Option<Timestamp>) -> Result<NamedMoment, String> {
    let desk = session.store().map_err(|e| e.to_string())?.desk;
    let now = desk.store.clock();
    let mark = Mark { name, at: at.unwrap_or(now), set_at: now, operator: desk.operator.clone() };
    let ledger = session.ledger().await.map_err(|e| e.to_string())?;
    ledger.marks().set(&desk.source, &mark, false).await.map_err(|e| e.to_string())?;
    Ok(NamedMoment::from(&mark))
}
