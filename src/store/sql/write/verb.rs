//! What a batch asks for, put together from what the adapter says of its verb.

use std::collections::HashMap;
use std::sync::Arc;

use toml::Spanned;

use crate::adapter::{DeliverySpec, EditSpec, FieldKind, Live, Refusal, RelatedRows, Undo, Verb, VerbStep};
use crate::db::TxJournal;
use crate::domain::action::Action;
use crate::store::sql::query::message::Recipe;
use crate::store::sql::query::row_snapshot::Keeping;
use crate::store::sql::query::template::own_instants;
use crate::store::sql::schema::destination::CheckedDestination;
use crate::store::sql::write::batch::BatchWriter;
use crate::store::sql::write::row_completeness::keep_of;
use crate::store::{Availability, Batch, Result, RowCopies, SourceError};

/// What one attempt at a batch is made of.
pub(crate) struct Work<'a> {
    pub(crate) batch: &'a Batch,
    /// The record of the run, where it is in this database.
    pub(crate) tx_journal: Option<&'a dyn TxJournal>,
    /// The guard.
    pub(crate) when: Option<&'a str>,
    /// Jobs for which the verb cannot be done.
    pub(crate) refuse: &'a [Refusal],
    /// Takes the framework's own locks.
    pub(crate) lock: Option<&'a str>,
    /// Tells of a row that does not pass the guard whether a worker has taken the job.
    pub(crate) taken: Option<&'a str>,
    pub(crate) recipe: Option<Recipe>,
    pub(crate) keeping: Keeping,
    /// The other tables whose rows are kept along, or put back.
    pub(crate) along: &'a [RelatedRows],
    /// Whether rows must not go without having been kept.
    pub(crate) archives: bool,
    /// Whether each job is told to run at an instant of its own.
    pub(crate) stamps: bool,
    pub(crate) way: VerbMethod<'a>,
}

/// How a verb's statements go about it.
#[derive(Clone, Copy)]
pub(crate) enum VerbMethod<'a> {
    /// Within the database, in one transaction.
    Steps(&'a [VerbStep]),
    /// Through a command, between two transactions.
    Command(&'a DeliverySpec),
    /// Into the table that keeps what is archived.
    ArchiveTable,
    /// Kept rows are put back.
    Restore,
    /// Replayed jobs are taken back.
    Recall(&'a Undo),
    /// Arguments are changed.
    Edit(&'a EditSpec),
}

impl<'s> BatchWriter<'s> {
    /// What a batch asks for, as the adapter says it is done.
    pub(crate) fn work<'a>(self, batch: &'a Batch) -> Result<Work<'a>>
    where
        's: 'a,
    {
        if let Availability::Disabled(reason) = self.context.info.availability(batch.action) {
            return Err(SourceError::Input(reason));
        }
        let missing = || SourceError::Input(format!("this layout has no {}", batch.action));
        let tx_journal = tx_journal(batch)?;
        let bare = |way| Work {
            batch,
            tx_journal,
            when: None,
            refuse: &[],
            lock: None,
            taken: None,
            recipe: None,
            keeping: Keeping::default(),
            along: &[],
            archives: false,
            stamps: false,
            way,
        };
        match batch.action {
            Action::Restore => {
                let along = self.context.layout.spec.verbs.discard.as_ref().map_or(&[][..], |verb| &verb.along);
                return Ok(Work { along, ..bare(VerbMethod::Restore) });
            }
            Action::Recall => {
                let verb = self.context.layout.spec.verbs.replay.as_ref().ok_or_else(missing)?;
                let undo = verb.undo_by(self.context.destination.kind()).ok_or_else(missing)?;
                let text = |sql: &'a Spanned<String>| sql.get_ref().as_str();
                let taken = undo.live.is_none().then(|| text(&undo.taken));
                let when = undo.when.as_ref().map(text);
                return Ok(Work { when, taken, along: &verb.along, ..bare(VerbMethod::Recall(undo)) });
            }
            _ => {}
        }
        let verb = self.context.layout.spec.verbs.acting(batch.action).ok_or_else(missing)?;
        let way = match &self.context.layout.spec.verbs.repair {
            Some(edit) if batch.action.edits() => VerbMethod::Edit(edit),
            _ => self.verb_method(batch.action, verb)?,
        };
        let kept =
            batch.action.edits() || batch.journal.as_ref().is_some_and(|journal| journal.copies() == RowCopies::Whole);
        let leaves_rows = batch.action.leaves_rows();
        let own_instant = |step: &VerbStep| own_instants(step.sql.get_ref());
        Ok(Work {
            // A verb without a guard is refused when its file is read.
            when: Some(verb.when.as_ref().map_or("1 = 0", |w| w.get_ref())),
            refuse: &verb.refuse,
            lock: verb.lock.as_ref().map(|l| l.get_ref().as_str()),
            recipe: verb.message.as_ref().map(|m| Recipe::new(&self.context.layout, m)).transpose()?,
            keeping: match kept {
                true => Keeping::of(self.context.layout.dialect, &self.context.layout.columns, keep_of(verb)),
                false => Keeping::default(),
            },
            along: if leaves_rows { &[] } else { &verb.along },
            archives: verb.archive && !leaves_rows,
            stamps: matches!(way, VerbMethod::Steps(steps) if steps.iter().any(own_instant)),
            ..bare(way)
        })
    }

    fn verb_method<'a>(self, action: Action, verb: &'a Verb) -> Result<VerbMethod<'a>> {
        if action == Action::Archive {
            return Ok(VerbMethod::ArchiveTable);
        }
        let nowhere = || SourceError::Input("no destination is configured for replayed jobs".to_owned());
        match (&self.context.destination, &verb.into_table, &verb.command) {
            (CheckedDestination::Table(..), Some(table), _) => Ok(VerbMethod::Steps(&table.steps)),
            (CheckedDestination::Command(_), _, Some(command)) => Ok(VerbMethod::Command(command)),
            _ if !verb.steps.is_empty() => Ok(VerbMethod::Steps(&verb.steps)),
            _ => Err(nowhere()),
        }
    }
}

/// The record that is written in the batch's transaction.
///
/// # Errors
/// When the record is of another kind of source: nothing may take effect that is not recorded.
fn tx_journal(batch: &Batch) -> Result<Option<&dyn TxJournal>> {
    let Some(journal) = batch.journal.as_ref().and_then(|journal| journal.in_source()) else { return Ok(None) };
    match journal.record::<Arc<dyn TxJournal>>() {
        Some(journal) => Ok(Some(&**journal)),
        None => Err(SourceError::Input("the ledger is in a source of another kind: nothing was done".to_owned())),
    }
}

impl<'a> Work<'a> {
    /// Whether the arguments of the jobs change in the same transaction.
    pub(crate) fn edits_too(&self) -> bool {
        self.batch.options.edits_too(self.batch.action)
    }

    /// The table that the jobs stand in that are taken back.
    pub(crate) fn live(&self) -> Option<&'a Live> {
        match self.way {
            VerbMethod::Recall(undo) => undo.live.as_ref(),
            _ => None,
        }
    }
}

impl<'a> Work<'a> {
    /// How the key is compared that statements find as `b.live`.
    pub(crate) fn live_kind(&self) -> Option<FieldKind> {
        match self.way {
            VerbMethod::Edit(edit) => edit.row.as_ref().map(|row| row.kind),
            _ => self.live().map(|live| live.key.kind),
        }
    }

    /// What was kept of the jobs of the batch that it undoes, by key.
    pub(crate) fn snapshots(&self) -> HashMap<&'a str, &'a str> {
        let undo = self.batch.undo.iter();
        undo.flat_map(|undo| &undo.kept).map(|(id, text)| (id.as_str(), text.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::db::Recorded;
    use crate::domain::job::JobId;
    use crate::store::{Journal, JournalEntry, SourceJournal};

    struct InSource(Option<SourceJournal>);

    impl Journal for InSource {
        fn write(&self, _: JournalEntry) -> BoxFuture<'_, Result<()>> {
            Box::pin(async { Ok(()) })
        }

        fn in_source(&self) -> Option<&SourceJournal> {
            self.0.as_ref()
        }
    }

    struct Silent;

    impl TxJournal for Silent {
        fn keep(&self, _: &[(JobId, String)]) -> Vec<crate::db::Statement> {
            Vec::new()
        }

        fn done(&self, _: &[JobId]) -> Recorded {
            Recorded { statement: crate::db::Statement { sql: String::new(), binds: Vec::new() }, rows: 0 }
        }
    }

    fn batch(record: Option<SourceJournal>) -> Batch {
        Batch { journal: Some(Arc::new(InSource(record))), ..Batch::of(Action::Replay, Vec::new(), "run") }
    }

    #[test]
    fn a_record_in_the_source_is_read_or_the_batch_is_refused() {
        let shared = SourceJournal::new(Arc::new(Silent) as Arc<dyn TxJournal>);
        assert!(tx_journal(&batch(Some(shared))).is_ok_and(|journal| journal.is_some()));
        assert!(tx_journal(&batch(None)).is_ok_and(|journal| journal.is_none()));
        assert!(tx_journal(&batch(Some(SourceJournal::new("of another store")))).is_err());
    }
}
