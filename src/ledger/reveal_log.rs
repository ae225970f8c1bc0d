//! Who had secrets shown.

use super::backend::{Backend, RowCells, int, limit, maybe, text};
use super::error::Result;
use super::model::Operator;
use crate::domain::time::Timestamp;

/// A command or console that showed what is masked otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Reveal {
    /// When it began.
    pub at: Timestamp,
    /// Who; without a database user.
    pub operator: Operator,
    /// Name of the source.
    pub source: String,
    /// The command line.
    pub command: String,
}

/// The log of who had secrets shown.
#[derive(Clone, Copy, Debug)]
pub struct RevealLog<'a> {
    pub(super) home: &'a Backend,
}

impl RevealLog<'_> {
    /// Writes down that secrets are about to be shown; returns only when that is durable.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may be shown.
    pub async fn add(self, reveal: &Reveal) -> Result<()> {
        let operator = &reveal.operator;
        let values = [
            int(reveal.at.0),
            text(&operator.user),
            text(&operator.host),
            maybe(operator.ssh_client.as_deref()),
            text(&reveal.source),
            text(&reveal.command),
        ];
        let sql =
            "INSERT INTO {reveals} (at, operator, host, ssh_client, source, command) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.home.execute(sql, values).await.map(drop)
    }

    /// The latest, the last one first; at most `n`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn latest(self, n: usize) -> Result<Vec<Reveal>> {
        let sql = "SELECT at, operator, host, ssh_client, source, command FROM {reveals} ORDER BY seq DESC LIMIT ?1";
        let reveal = |row| {
            let mut row = RowCells::of(row);
            Ok(Reveal {
                at: Timestamp(row.int()?),
                operator: Operator {
                    user: row.text()?,
                    database_user: String::new(),
                    host: row.text()?,
                    ssh_client: row.maybe_text()?,
                },
                source: row.text()?,
                command: row.text()?,
            })
        };
        self.home.fetch(sql, [limit(n)]).await?.into_iter().map(reveal).collect()
    }
}
