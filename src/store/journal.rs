//! The record of a run, as a store writes it while a batch is under way.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Result;
use crate::domain::job::JobId;

/// What a journal keeps of the rows of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowCopies {
    /// Nothing.
    Nothing,
    /// That they were about to be written over or deleted: by that an interrupted batch is judged later.
    Keys,
    /// All that it takes to put them back.
    #[default]
    Whole,
}

/// The transaction that acts on jobs: after an interruption the database can say how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxMarker {
    /// Its name.
    pub transaction: String,
    /// The jobs.
    pub ids: Vec<JobId>,
}

/// What is written down of a batch before it commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalEntry {
    /// The rows that are kept, each as one JSON text; empty texts where only keys are.
    pub rows: Vec<(JobId, String)>,
    /// The transaction, where the database remembers how transactions end.
    pub marker: Option<TxMarker>,
}

/// A record that is written in the transaction whose effect it records. What it is made of depends on the source: the ledger and
/// the store of one kind of source agree on a type, and no other store can read it.
#[derive(Clone)]
pub struct SourceJournal(Arc<dyn Any + Send + Sync>);

impl SourceJournal {
    /// Hides the type of a record.
    pub fn new<T: Any + Send + Sync>(record: T) -> Self {
        Self(Arc::new(record))
    }

    /// The record, where it is of this type.
    pub fn record<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// Writes down, before a batch takes effect, what it takes to undo it and to find out later whether it did.
pub trait Journal: Send + Sync {
    /// What it keeps of rows.
    fn copies(&self) -> RowCopies {
        RowCopies::default()
    }

    /// Writes an entry; returns only when it is durable.
    ///
    /// # Errors
    /// When it could not be written: then nothing is committed. [`super::SourceError::Unrecorded`] where that may pass.
    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, Result<()>>;

    /// The same record, where the ledger is in the source: then the store writes it in the transaction of the batch, in place of
    /// [`Journal::write`]. A store that cannot read it refuses the batch.
    fn in_source(&self) -> Option<&SourceJournal> {
        None
    }
}
