//! Marks: named moments of a source, such as deploys.

use super::backend::{Backend, RowCells, int, maybe, text};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::Operator;
use super::runs::operator;
use crate::domain::filter::Filter;
use crate::domain::mark::{MarkName, NamedMoment, UnknownMark};
use crate::domain::time::Timestamp;

const COLUMNS: &str = "name, at, set_at, os_user, database_user, host, ssh_client";

/// A mark as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name.
    pub name: MarkName,
    /// The moment that it names, by the clock of whoever set it.
    pub at: Timestamp,
    /// When it was set.
    pub set_at: Timestamp,
    /// Who set it.
    pub operator: Operator,
}

impl From<&Mark> for NamedMoment {
    fn from(mark: &Mark) -> Self {
        Self { name: mark.name.clone(), at: mark.at }
    }
}

/// The marks of sources.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    pub(super) ledger: &'a Ledger,
}

impl Marks<'_> {
    /// Sets a mark of a source, where new runs are kept too. One of its name is moved where `is_moved` says so.
    ///
    /// # Errors
    /// [`LedgerError::MarkExists`] where one of its name is there and is not to be moved, or when the record cannot be kept.
    pub async fn set(self, source: &str, mark: &Mark, is_moved: bool) -> Result<()> {
        let existing = self.list(source).await?.into_iter().find(|known| known.name == mark.name);
        if let Some(Mark { name, at, .. }) = existing.filter(|_| !is_moved) {
            return Err(LedgerError::MarkExists { name, at });
        }
        let source = key(&self.ledger.home, source);
        let mut tx = self.ledger.home.begin().await?;
        let name = mark.name.as_str();
        if is_moved {
            tx.execute("DELETE FROM {marks} WHERE source = ?1 AND name = ?2", [text(source), text(name)]).await?;
        }
        let operator = &mark.operator;
        let values = [
            text(source),
            text(name),
            int(mark.at.0),
            int(mark.set_at.0),
            text(&operator.user),
            text(&operator.database_user),
            text(&operator.host),
            maybe(operator.ssh_client.as_deref()),
        ];
        let insert = format!("INSERT INTO {{marks}} (source, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        tx.execute(&insert, values).await?;
        tx.commit().await
    }

    /// The marks of a source, the latest moment first. What the source keeps hides what the operator's own file has under
    /// the same name.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn list(self, source: &str) -> Result<Vec<Mark>> {
        let mut marks: Vec<Mark> = Vec::new();
        for home in self.ledger.backends() {
            let sql = format!("SELECT {COLUMNS} FROM {{marks}} WHERE source = ?1");
            for row in home.fetch(&sql, [text(key(home, source))]).await? {
                let mark = decode(&mut RowCells::of(row))?;
                if marks.iter().all(|known| known.name != mark.name) {
                    marks.push(mark);
                }
            }
        }
        marks.sort_by(|a, b| (b.at, &b.name).cmp(&(a.at, &a.name)));
        Ok(marks)
    }

    /// Removes a mark of a source, wherever it is kept, and returns it as it was.
    ///
    /// # Errors
    /// [`LedgerError::UnknownMark`] where there is none of that name, or when the record cannot be kept.
    pub async fn remove(self, source: &str, name: &MarkName) -> Result<Mark> {
        let removed = find(&self.list(source).await?, name)?.clone();
        for home in self.ledger.backends() {
            let binds = [text(key(home, source)), text(name.as_str())];
            home.execute("DELETE FROM {marks} WHERE source = ?1 AND name = ?2", binds).await?;
        }
        Ok(removed)
    }

    /// The filter with the moments of the marks that it names.
    ///
    /// # Errors
    /// [`LedgerError::UnknownMark`], or when the record cannot be read.
    pub async fn resolve(self, source: &str, filter: &Filter) -> Result<Filter> {
        let marks = self.list(source).await?;
        filter.with_marks(|name| find(&marks, name).map(|mark| mark.at))
    }
}

/// The mark of a name.
///
/// # Errors
/// [`LedgerError::UnknownMark`] where there is none.
pub fn find<'m>(marks: &'m [Mark], name: &MarkName) -> Result<&'m Mark> {
    let found = marks.iter().find(|mark| mark.name == *name);
    let unknown = || LedgerError::UnknownMark(UnknownMark::new(name, marks.iter().map(|mark| &mark.name)));
    found.ok_or_else(unknown)
}

/// Under which source a record keeps marks: one that is in the source knows no other, whatever its operators call it.
fn key<'s>(home: &Backend, source: &'s str) -> &'s str {
    if home.shared().is_some() { "" } else { source }
}

fn decode(row: &mut RowCells) -> Result<Mark> {
    let name = row.text()?;
    let name = MarkName::parse(&name).map_err(|error| LedgerError::Refused(error.to_string()))?;
    Ok(Mark { name, at: Timestamp(row.int()?), set_at: Timestamp(row.int()?), operator: operator(row)? })
}
