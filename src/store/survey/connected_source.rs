//! A source that is connected to: what commands know of it without a layout, and what the ledger opens its record on.

use std::sync::Arc;

use super::{EngineOptions, Target};
use crate::db::Engine;
use crate::domain::time::Timestamp;
use crate::store::sql::install::{Installation, Preset};
use crate::store::{Budget, Result, SourceError};

/// A connection to a source; cheap to clone.
#[derive(Clone)]
pub struct ConnectedSource {
    engine: Arc<Engine>,
}

impl ConnectedSource {
    /// Connects, unless the budget is cancelled first.
    ///
    /// # Errors
    /// When the source cannot be reached or refuses us.
    pub async fn connect(target: &Target, options: &EngineOptions, budget: &Budget) -> Result<Self> {
        tokio::select! {
            engine = Engine::connect(target, options) => Ok(Self::from(Arc::new(engine?))),
            () = budget.cancel.cancelled() => Err(SourceError::Cancelled),
        }
    }

    /// The connection itself: the ledger may be in the same database.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The kind of database, as adapter files name it.
    pub fn kind(&self) -> &'static str {
        self.engine.kind().word()
    }

    /// Product and version.
    pub fn server(&self) -> &str {
        self.engine.server()
    }

    /// Name of the database, or the path of its file.
    pub fn database(&self) -> &str {
        self.engine.database()
    }

    /// Who we are there; empty where nobody is asked.
    pub fn user(&self) -> &str {
        self.engine.user()
    }

    /// The source's clock, by ours since we connected.
    pub fn clock(&self) -> Timestamp {
        let (at, heard) = self.engine.clock();
        at.after(heard.elapsed())
    }

    /// Why nothing can be written, where that is so.
    pub fn read_only(&self) -> Option<&str> {
        self.engine.read_only()
    }

    /// Whether it is a copy that follows another server.
    pub fn is_replica(&self) -> bool {
        self.engine.is_replica()
    }

    /// Looks what of a preset is missing, and changes nothing.
    ///
    /// # Errors
    /// As [`Preset::plan`].
    pub async fn plan_preset(&self, preset: &Preset, schema: Option<&str>, budget: &Budget) -> Result<Installation> {
        preset.plan(&self.engine, schema, budget).await
    }

    /// Creates what is missing of a preset.
    ///
    /// # Errors
    /// As [`Installation::install`].
    pub async fn install(&self, plan: &Installation, budget: &Budget) -> Result<()> {
        plan.install(&self.engine, budget).await
    }
}

impl From<Arc<Engine>> for ConnectedSource {
    fn from(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}
