//! Which homes the record of a source has: looked up when the record is first needed, never before.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::backend::{Backend, SourceBackend};
use super::error::{LedgerError, Result};
use super::handle::Ledger;
use super::model::RunId;
use super::schema::{self, InstalledSchema};
use crate::db::Engine;
use crate::store::survey::ConnectedSource;
use crate::store::{Budget, SourceError};

/// How long looking into the source may take.
const LOOK: Duration = Duration::from_secs(10);
/// How long it counts as known that a source holds no record: somebody may install one meanwhile.
const NOTHING: Duration = Duration::from_secs(30);

/// The way to the record of a source; cheap to clone.
#[derive(Clone)]
pub struct LedgerLocator {
    inner: Arc<Inner>,
}

struct Inner {
    local: Local,
    engine: Option<Arc<Engine>>,
    known: Mutex<Option<KnownLedger>>,
    /// When the outcomes of a run were last asked for.
    asked: std::sync::Mutex<HashMap<RunId, Instant>>,
}

/// The operator's own record.
enum Local {
    File(PathBuf),
    Open(Ledger),
}

struct KnownLedger {
    ledger: Ledger,
    at: Instant,
}

impl KnownLedger {
    /// A file that was moved away is not: what is asked for next goes where the path leads now.
    fn is_fresh(&self) -> bool {
        (self.ledger.is_shared() || self.at.elapsed() < NOTHING) && self.ledger.is_there()
    }
}

impl LedgerLocator {
    /// The record in the source, where it is a database and holds one, beside the operator's own file.
    pub fn new(local: PathBuf, source: Option<ConnectedSource>) -> Self {
        Self::of(Local::File(local), source.and_then(|source| source.sql().cloned()))
    }

    /// A record that is known already.
    pub fn known(ledger: Ledger) -> Self {
        Self::of(Local::Open(ledger), None)
    }

    fn of(local: Local, engine: Option<Arc<Engine>>) -> Self {
        Self { inner: Arc::new(Inner { local, engine, known: Mutex::new(None), asked: std::sync::Mutex::default() }) }
    }

    /// The record, where it was looked up lately; nothing is waited for.
    pub fn at_hand(&self) -> Option<Ledger> {
        let known = self.inner.known.try_lock().ok()?;
        known.as_ref().filter(|known| known.is_fresh()).map(|known| known.ledger.clone())
    }

    /// Whether the outcomes of a run may be asked for again, which is noted: not more often than once an interval.
    pub fn may_ask_outcomes(&self, run: &RunId, interval: Duration) -> bool {
        let mut asked = self.inner.asked.lock().unwrap_or_else(|p| p.into_inner());
        asked.retain(|_, at| at.elapsed() < interval);
        let is_due = !asked.contains_key(run);
        if is_due {
            asked.insert(run.clone(), Instant::now());
        }
        is_due
    }

    /// The record: new runs go where the source holds one, else into the file; those of both are found.
    ///
    /// # Errors
    /// When neither can be used; when the one in the source is of another version or was made over, or the source cannot be
    /// reached.
    pub async fn ledger(&self) -> Result<Ledger> {
        let mut known = self.inner.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.is_fresh()) {
            return Ok(known.ledger.clone());
        }
        let before = known.take().map(|known| known.ledger).filter(|ledger| !ledger.is_shared() && ledger.is_there());
        let ledger = self.find_ledger(before).await?;
        *known = Some(KnownLedger { ledger: ledger.clone(), at: Instant::now() });
        Ok(ledger)
    }

    async fn find_ledger(&self, before: Option<Ledger>) -> Result<Ledger> {
        let local = match (before, &self.inner.local) {
            (Some(ledger), _) => Ok(ledger),
            (None, Local::Open(ledger)) => Ok(ledger.clone()),
            (None, Local::File(path)) => Ledger::open(path).await,
        };
        let Some(engine) = &self.inner.engine else { return local };
        let version = match schema::installed_schema(engine, &Budget::new(LOOK)).await {
            Ok(InstalledSchema::Nothing) => return local,
            Ok(InstalledSchema::Version(version)) => version,
            Ok(InstalledSchema::Unsafe(reason)) => {
                return Err(LedgerError::Version { place: engine.database().to_owned(), reason });
            }
            Err(error @ SourceError::Denied(_)) => {
                let error = SourceBackend::new(Arc::clone(engine)).fault(error);
                let remark = format!("{error}; until then only runs of this machine are known, and kept here");
                return Ok(local?.remarking(remark));
            }
            Err(error) => return Err(SourceBackend::new(Arc::clone(engine)).fault(error)),
        };
        let place = || engine.database().to_owned();
        schema::fits(version).map_err(|reason| LedgerError::Version { place: place(), reason })?;
        let shared = Backend::source(Arc::clone(engine));
        Ok(match local {
            Ok(local) => Ledger::both(shared, local.home),
            Err(error) => Ledger::alone(shared).remarking(format!("{error}; only runs of {} are known", place())),
        })
    }
}
