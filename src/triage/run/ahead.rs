//! Working on a batch while the record is still being written that ends the one before and names this one; and, where two
//! do not get into each other's way, while the one before is itself under way.
//!
//! Until it commits, a transaction has changed nothing: only the commit has to wait. A crash before the entry is durable
//! leaves the batch before in doubt, which is named, and of this one nothing.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use tokio::sync::watch;
use tokio::time::timeout;

use super::batch::BatchResult;
use super::executor::{Alike, RunExecutor};
use super::stop_reason::StopReason;
use crate::domain::job::JobId;
use crate::ledger::{LedgerTxNotes, Next, Note, Upcoming};
use crate::store::{SourceError, Witness};

/// How long a batch waits for the entry that names it, once the batch before has ended: it holds locks.
pub(super) const PATIENCE: Duration = Duration::from_millis(150);
/// How long one that is begun behind another waits for that one to end, and for any lock. Each may stand before a lock of the
/// other: then this one gives way.
pub(super) const BEHIND: Duration = Duration::from_millis(250);
/// Jobs that are read ahead at a time, which is also the most that a batch has.
const READ: usize = 5_000;

/// How far a batch may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BatchStage {
    /// The one before is under way.
    Behind,
    /// It has ended.
    Next,
    /// The record names its jobs: it may take effect.
    Named,
}

/// Whether the record names the jobs that are worked on, and the transaction that acts on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming {
    stage: Option<watch::Receiver<BatchStage>>,
    acting: Arc<Mutex<Acting>>,
}

/// The transaction that acts on a batch.
#[derive(Debug, Default)]
struct Acting {
    /// The latest of them, where a batch is tried again or has parts.
    note: Option<Note>,
    /// It is on record: the entry that names the batch has it.
    noted: bool,
}

impl Naming {
    /// Of a batch that is begun behind another one; failed when the sender is dropped before it has said more.
    fn awaited() -> (watch::Sender<BatchStage>, Self) {
        let (sender, stage) = watch::channel(BatchStage::Behind);
        (sender, Self { stage: Some(stage), acting: Arc::default() })
    }

    fn acting(&self) -> MutexGuard<'_, Acting> {
        self.acting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in that a note is on record.
    fn take_in(&self, note: Option<&Note>) {
        let mut acting = self.acting();
        acting.noted = note.is_some() && acting.note.as_ref() == note;
    }

    /// Whether the batch before is under way.
    pub(super) fn is_behind(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| *stage.borrow() == BatchStage::Behind)
    }

    /// Whether it is not known yet, or known to have failed.
    pub(super) fn is_open(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| *stage.borrow() != BatchStage::Named)
    }

    /// Whether the record names them, as soon as that is known.
    pub(super) async fn known(&self) -> bool {
        self.reached(BatchStage::Named).await
    }

    async fn reached(&self, wanted: BatchStage) -> bool {
        match self.stage.clone() {
            Some(mut stage) => stage.wait_for(|stage| *stage >= wanted).await.is_ok(),
            None => true,
        }
    }

    async fn soon(&self, wanted: BatchStage, patience: Duration) -> Result<(), SourceError> {
        match timeout(patience, self.reached(wanted)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SourceError::Unrecorded("the entry that names the batch failed".to_owned())),
            Err(_) => Err(SourceError::Unrecorded("the entry that names the batch is late".to_owned())),
        }
    }
}

/// The witness of a run whose batches may be worked on before they are named.
pub(super) struct Announced {
    pub(super) witness: LedgerTxNotes,
    pub(super) naming: Naming,
}

impl Witness for Announced {
    fn named(&self) -> BoxFuture<'_, Result<(), SourceError>> {
        Box::pin(async {
            self.naming.soon(BatchStage::Next, BEHIND).await?;
            self.naming.soon(BatchStage::Named, PATIENCE).await
        })
    }

    fn announce(&self, transaction: &str, ids: &[JobId]) {
        *self.naming.acting() = Acting { note: Some(Note::new(transaction, ids)), noted: false };
    }

    fn note(&self, transaction: &str, ids: &[JobId]) -> BoxFuture<'_, Result<(), SourceError>> {
        let is_noted = {
            let acting = self.naming.acting();
            acting.noted && acting.note.as_ref().is_some_and(|note| note.transaction() == transaction)
        };
        if is_noted { Box::pin(ready(Ok(()))) } else { self.witness.note(transaction, ids) }
    }
}

/// The jobs that no batch has named yet, in their order, some of them read ahead.
#[derive(Default)]
pub(super) struct Coming {
    jobs: VecDeque<Upcoming>,
    after: i64,
    /// No more can be read, or what was read is not what comes.
    ended: bool,
}

impl Coming {
    /// The next `n` jobs, or as many as are known.
    pub(super) fn take(&mut self, n: usize) -> Vec<Upcoming> {
        self.jobs.drain(..n.min(self.jobs.len())).collect()
    }

    /// Takes in that jobs are not worked on that were taken last.
    pub(super) fn give_back(&mut self, jobs: &[Upcoming]) {
        jobs.iter().rev().for_each(|job| self.jobs.push_front(job.clone()));
    }

    /// Takes in that a batch has named these.
    pub(super) fn passed(&mut self, ids: &[JobId]) {
        let taken = self.take(ids.len());
        if !taken.iter().map(|job| &job.id).eq(&ids[..taken.len()]) {
            self.give_up();
        }
    }

    /// Knows nothing from here on.
    pub(super) fn give_up(&mut self) {
        self.jobs.clear();
        self.ended = true;
    }
}

/// By how they stood, each in their order.
fn alike(jobs: &[Upcoming]) -> Alike {
    let mut alike = Alike::new();
    for Upcoming { id, standing, .. } in jobs {
        match alike.iter_mut().find(|(known, _)| known == standing) {
            Some((_, same)) => same.push(id.clone()),
            None => alike.push((standing.clone(), vec![id.clone()])),
        }
    }
    alike
}

/// The work on a batch.
type Asked<'e> = BoxFuture<'e, Result<BatchResult, StopReason>>;

/// A batch that is worked on before the record names it.
pub(super) struct Flight<'e> {
    jobs: Vec<Upcoming>,
    stage: watch::Sender<BatchStage>,
    naming: Naming,
    answer: Pin<Box<MaybeDone<Asked<'e>>>>,
}

impl Flight<'_> {
    /// Its jobs.
    pub(super) fn ids(&self) -> Vec<JobId> {
        self.jobs.iter().map(|job| job.id.clone()).collect()
    }

    /// Says that the batch before it has ended.
    pub(super) fn is_next(&self) {
        self.stage.send_replace(BatchStage::Next);
    }

    /// The transaction that acts on its jobs, where that has begun.
    pub(super) fn note(&self) -> Option<Note> {
        self.naming.acting().note.clone()
    }

    /// Says that the record names its jobs, and has that `note`: it may take effect.
    pub(super) fn is_named(&self, note: Option<&Note>) {
        self.naming.take_in(note);
        self.stage.send_replace(BatchStage::Named);
    }

    /// The same by their places.
    pub(super) fn next(&self) -> Next {
        Next::of(&self.jobs)
    }

    /// What `work` gives, while the batch is worked on.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            let _ = self.answer.as_mut().poll(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    /// What became of it.
    pub(super) async fn answer(&mut self) -> Result<BatchResult, StopReason> {
        self.answer.as_mut().await;
        self.answer.as_mut().take_output().unwrap_or_else(|| Ok(BatchResult::default()))
    }

    /// Undoes it, as the record does not name its jobs; gives those back.
    pub(super) async fn turn_back(self) -> Vec<Upcoming> {
        let Self { jobs, stage, answer, .. } = self;
        drop(stage);
        // It cannot take effect any more, so what it says is of no interest.
        answer.await;
        jobs
    }
}

impl<'e> RunExecutor<'e> {
    /// Begins to work on jobs that come next, behind another batch that is under way, or has just ended.
    pub(super) fn take_off(&'e self, jobs: Vec<Upcoming>) -> Flight<'e> {
        let (stage, naming) = Naming::awaited();
        let named = alike(&jobs);
        let known = naming.clone();
        let asked: Asked<'e> = Box::pin(async move { self.ask(named, false, &known).await });
        Flight { jobs, stage, naming, answer: Box::pin(maybe_done(asked)) }
    }

    /// Reads on. What cannot be read is named without having been read ahead.
    pub(super) async fn look_ahead(&self, coming: &mut Option<Coming>) {
        let Some(coming) = coming.as_mut().filter(|coming| !coming.ended && coming.jobs.len() < READ) else { return };
        match self.ledger.upcoming(&self.run.id, coming.after, READ).await {
            Ok(jobs) if !jobs.is_empty() => {
                coming.after = jobs.last().map_or(coming.after, |job| job.ord);
                coming.jobs.extend(jobs);
            }
            _ => coming.ended = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, RunId};

    #[tokio::test]
    async fn only_a_transaction_that_is_not_on_record_is_noted_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap();
        let (_stage, naming) = Naming::awaited();
        let witness = LedgerTxNotes::new(ledger.clone(), RunId("any".to_owned()));
        let announced = Announced { witness, naming: naming.clone() };
        // What is written by itself is refused from here on.
        ledger.close().await;
        let ids = [JobId::new("7")];
        announced.announce("1", &ids);
        let note = naming.acting().note.clone();
        assert!(announced.note("1", &ids).await.is_err(), "it is not on record yet");
        naming.take_in(note.as_ref());
        assert!(announced.note("1", &ids).await.is_ok());
        assert!(announced.note("2", &ids).await.is_err(), "of another transaction");
        announced.announce("2", &ids);
        naming.take_in(note.as_ref());
        assert!(announced.note("2", &ids).await.is_err(), "the entry has the one before");
    }
}
