//! A record inside the source's own database, which every operator of it shares.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::db::{self, DatabaseKind, Engine, Row, Statement};
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::RunId;
use crate::ledger::schema;
use crate::store::{Budget, SourceError};

/// How long one statement may take: sealing a cohort of a million jobs is one.
const STATEMENT: Duration = Duration::from_secs(120);
/// How often a transaction is begun again while the whole file is locked by somebody else.
const BEGINNINGS: u32 = 10;

/// The record in a source.
pub(in crate::ledger) struct SourceBackend {
    engine: Arc<Engine>,
    /// The runs that this process executes.
    held: Mutex<HashMap<RunId, RunToken>>,
}

/// What a run that is executed here is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct RunToken {
    /// The run's key.
    pub(in crate::ledger) seq: i64,
    /// Who holds it: no two holds are the same.
    pub(in crate::ledger) holder: String,
}

impl fmt::Debug for SourceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.engine.database())
    }
}

impl SourceBackend {
    pub(in crate::ledger) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, held: Mutex::new(HashMap::new()) }
    }

    pub(super) fn dialect(&self) -> DatabaseKind {
        self.engine.kind()
    }

    /// What leads the name of each table.
    pub(super) fn prefix(&self) -> &'static str {
        schema::prefix(self.dialect())
    }

    /// The hold that this process has on a run.
    pub(in crate::ledger) fn token(&self, run: &RunId) -> Option<RunToken> {
        self.lock().get(run).cloned()
    }

    /// Notes that this process holds a run; `None` where it does already.
    pub(in crate::ledger) fn note(&self, run: &RunId, token: RunToken) -> Option<()> {
        let mut held = self.lock();
        if held.contains_key(run) {
            return None;
        }
        held.insert(run.clone(), token);
        Some(())
    }

    /// Forgets a hold.
    pub(in crate::ledger) fn forget(&self, run: &RunId) {
        self.lock().remove(run);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, RunToken>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn read(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        self.engine.read(statements, &Budget::new(STATEMENT)).await.map_err(|e| self.fault(e))
    }

    pub(super) async fn begin(&self) -> Result<db::Tx<'_>> {
        let mut tried = 0;
        loop {
            tried += 1;
            match self.engine.begin(&Budget::new(STATEMENT)).await {
                Err(SourceError::Locked(_)) if tried < BEGINNINGS => {}
                other => return other.map_err(|e| self.fault(e)),
            }
        }
    }

    /// The sentence for what the database says of the record.
    pub(in crate::ledger) fn fault(&self, error: SourceError) -> LedgerError {
        let place = || format!("the ledger in {}", self.engine.database());
        match error {
            SourceError::Denied(reason) => LedgerError::NoRight {
                place: place(),
                reason,
                needed: schema::grants(self.dialect(), self.engine.database(), self.engine.user()),
            },
            SourceError::Unreachable(_)
            | SourceError::ShutOut { .. }
            | SourceError::Unproven(_)
            | SourceError::Timeout(_)
            | SourceError::Interrupted
            | SourceError::Locked(_)
            | SourceError::Full(_) => LedgerError::Unusable { place: place(), reason: error.to_string() },
            SourceError::Refused { message, .. } | SourceError::Unfit { message, .. } => LedgerError::Refused(message),
            other => LedgerError::Refused(other.to_string()),
        }
    }
}
