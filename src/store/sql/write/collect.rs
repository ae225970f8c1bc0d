//! What is made of the rows of a batch once they are locked: messages, and what is kept of them.

use std::collections::{HashMap, HashSet};

use crate::db::Tx;
use crate::db::cells::Cells;
use crate::domain::job::JobId;
use crate::domain::job::lineage::successor;
use crate::domain::time::Timestamp;
use crate::store::Result;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::key_uniqueness::NOT_UNIQUE;
use crate::store::sql::query::message::Given;
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::{BatchWriter, Held, Locked, failed};
use crate::store::sql::write::verb::Work;

/// Writes down the rows that a batch has locked.
pub(crate) struct Writer<'a> {
    context: &'a Context,
    work: &'a Work<'a>,
    pub(crate) held: Held,
    /// When the messages of the batch were made.
    now: String,
    /// Where each job stands in the batch, and when the first of them may run, where each is told an instant of its own.
    places: HashMap<&'a str, i64>,
    first: Option<Timestamp>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(context: &'a Context, work: &'a Work<'a>) -> Self {
        let places = match work.stamps {
            true => work.batch.ids.iter().map(JobId::as_str).zip(0..).collect(),
            false => HashMap::new(),
        };
        let now = context.server_now().to_rfc3339();
        Self { context, work, held: Held::default(), now, places, first: work.batch.run_after }
    }

    /// Takes rows that are locked.
    pub(crate) fn write(&mut self, locked: Locked) -> Result<()> {
        self.held.settled.extend(locked.shared.iter().map(|id| (JobId::new(id), failed(NOT_UNIQUE))));
        self.held.rows.reserve(locked.rows.len());
        self.held.transaction = locked.transaction.or(self.held.transaction.take());
        for (id, cells) in locked.rows {
            if !locked.shared.contains(&id) {
                self.row(id, cells)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, id: String, mut cells: Cells) -> Result<()> {
        let work = self.work;
        let new_id = successor(&work.batch.run, &JobId::new(&id));
        let message = match &work.recipe {
            None => None,
            Some(recipe) => {
                let given = Given { id: &id, new_id: &new_id, run: &work.batch.run, now: &self.now };
                match recipe.render(&mut cells, &given)? {
                    Ok(message) => Some(message),
                    Err(reason) => {
                        self.held.settled.push((JobId::new(&id), failed(&reason)));
                        return Ok(());
                    }
                }
            }
        };
        let run_after = match work.stamps {
            true => {
                let now = cells.int()?;
                if let (None, Some(now)) = (self.first, now) {
                    self.first = Some(self.context.instants(now, work.batch.ids.len()));
                }
                stamp(self.first, self.places.get(id.as_str()).copied())
            }
            false => None,
        };
        if !work.keeping.is_empty() {
            self.held.archive.push((JobId::new(&id), work.keeping.read(&mut cells, run_after)?));
        }
        self.held.rows.push(BatchRow { id, new_id, message, run_after, ..BatchRow::default() });
        Ok(())
    }
}

/// The instant at which a job may run: later than the batch's first by its place in the batch, however often that was
/// halved, so that no two jobs have the same.
fn stamp(first: Option<Timestamp>, place: Option<i64>) -> Option<Timestamp> {
    Some(Timestamp(first?.0.saturating_add(place?)))
}

impl<'s> BatchWriter<'s> {
    /// Those of the keys of which rows are held, as many as `found` says, that other rows have too, whether or not the verb
    /// allows them.
    pub(crate) async fn shared(self, tx: &mut Tx<'_>, found: &HashMap<&str, usize>) -> Result<HashSet<String>> {
        let mut shared: HashSet<String> =
            found.iter().filter(|(_, n)| **n > 1).map(|(id, _)| (*id).to_owned()).collect();
        let ids: Vec<String> = found.iter().filter(|(_, n)| **n > 0).map(|(id, _)| (*id).to_owned()).collect();
        if self.context.unique || ids.is_empty() {
            return Ok(shared);
        }
        let mut sql = Sql::new(self.context.layout.dialect);
        sql.push(&format!(
            "SELECT {} FROM {} AS t WHERE ",
            self.context.layout.key.text, self.context.layout.tables.table
        ));
        push(&mut sql, "{ids}", &Fill { ids: &ids, ..Fill::names_only(&self.context.layout, None) });
        let mut seen = HashSet::new();
        for row in tx.fetch(&sql.done()).await? {
            let id = Cells::new(row).text()?.unwrap_or_default();
            if let Some(again) = seen.replace(id) {
                shared.insert(again);
            }
        }
        Ok(shared)
    }
}
