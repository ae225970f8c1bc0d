//! Working on a batch while the record is still being written that ends the one before and names this one.
//!
//! Until it commits, a transaction has changed nothing: only the commit has to wait. A crash before the entry is durable
//! leaves the batch before in doubt, which is named, and of this one nothing.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::timeout;

use super::engine::{Alike, Engine};
use crate::domain::job::JobId;
use crate::ledger::{LedgerWitness, Upcoming};
use crate::store::{StoreError, Witness};

/// How long a batch that is ready to commit waits for the entry that names it: it holds locks.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);
/// Jobs that are read ahead at a time, which is also the most that a batch has.
const READ: usize = 5_000;

/// Whether the record names the jobs that are worked on.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming(Option<watch::Receiver<bool>>);

impl Naming {
    /// An entry that is being written: it is durable when the sender says so, and failed when that is dropped.
    pub(super) fn awaited() -> (watch::Sender<bool>, Self) {
        let (durable, naming) = watch::channel(false);
        (durable, Self(Some(naming)))
    }

    /// Whether it is not known yet, or known to have failed.
    pub(super) fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|durable| !*durable.borrow())
    }

    /// Whether the record names them, as soon as that is known.
    pub(super) async fn known(&self) -> bool {
        match self.0.clone() {
            Some(mut durable) => durable.wait_for(|durable| *durable).await.is_ok(),
            None => true,
        }
    }

    async fn soon(&self) -> Result<(), StoreError> {
        match timeout(PATIENCE, self.known()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::Unrecorded("the entry that names the batch failed".to_owned())),
            Err(_) => Err(StoreError::Unrecorded("the entry that names the batch is late".to_owned())),
        }
    }
}

/// The witness of a run whose batches may be worked on before they are named.
pub(super) struct Announced {
    pub(super) witness: LedgerWitness,
    pub(super) naming: Naming,
}

impl Witness for Announced {
    fn named(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.naming.soon())
    }

    fn note(&self, transaction: &str, ids: &[JobId]) -> BoxFuture<'_, Result<(), StoreError>> {
        self.witness.note(transaction, ids)
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

    /// By how they stood, each in their order.
    pub(super) fn alike(jobs: Vec<Upcoming>) -> Alike {
        let mut alike = Alike::new();
        for Upcoming { id, standing, .. } in jobs {
            match alike.iter_mut().find(|(known, _)| *known == standing) {
                Some((_, same)) => same.push(id),
                None => alike.push((standing, vec![id])),
            }
        }
        alike
    }
}

impl Engine<'_> {
    /// Reads on. What cannot be read is named without having been read ahead.
    pub(super) async fn look_ahead(&self, coming: &mut Coming) {
        if coming.ended || coming.jobs.len() >= READ {
            return;
        }
        match self.ledger.upcoming(&self.run.id, coming.after, READ).await {
            Ok(jobs) if !jobs.is_empty() => {
                coming.after = jobs.last().map_or(coming.after, |job| job.ord);
                coming.jobs.extend(jobs);
            }
            _ => coming.ended = true,
        }
    }
}
