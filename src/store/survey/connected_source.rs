//! A source that is connected to: what commands know of it without a layout, and what the ledger opens its record on.

use std::sync::Arc;
use std::time::Duration;

use super::{EngineOptions, Target};
use crate::db::Engine;
#[cfg(feature = "redis")]
use crate::db::redis::RedisEngine;
use crate::db::target::redis_of;
use crate::domain::time::Timestamp;
use crate::store::sql::install::{Installation, Preset};
use crate::store::{Budget, Result, SourceError};

/// A connection to a source; cheap to clone.
#[derive(Clone)]
pub struct ConnectedSource {
    engine: SourceEngine,
}

/// The connection, by what the source is.
#[derive(Clone)]
pub(super) enum SourceEngine {
    Sql(Arc<Engine>),
    #[cfg(feature = "redis")]
    Redis(Arc<RedisEngine>),
}

impl ConnectedSource {
    /// Connects, unless the budget is cancelled first.
    ///
    /// # Errors
    /// When the source cannot be reached or refuses us.
    pub async fn connect(target: &Target, options: &EngineOptions, budget: &Budget) -> Result<Self> {
        if redis_of(target).is_some() {
            return Self::connect_redis(target, options, budget).await;
        }
        tokio::select! {
            engine = Engine::connect(target, options) => Ok(Self::from(Arc::new(engine?))),
            () = budget.cancel.cancelled() => Err(SourceError::Cancelled),
        }
    }

    #[cfg(feature = "redis")]
    async fn connect_redis(target: &Target, options: &EngineOptions, budget: &Budget) -> Result<Self> {
        Ok(Self::from(Arc::new(RedisEngine::connect(target, options, budget).await?)))
    }

    #[cfg(not(feature = "redis"))]
    async fn connect_redis(_: &Target, _: &EngineOptions, _: &Budget) -> Result<Self> {
        Err(without_redis())
    }

    /// The connection itself, where it is one of SQL: the ledger may be in the same database.
    pub(crate) fn sql(&self) -> Option<&Arc<Engine>> {
        match &self.engine {
            SourceEngine::Sql(engine) => Some(engine),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(_) => None,
        }
    }

    /// The same, for what only SQL databases have.
    ///
    /// # Errors
    /// When the source is none.
    pub(crate) fn need_sql(&self) -> Result<&Arc<Engine>> {
        let why =
            || SourceError::Input(format!("{} holds keys and no tables: this is for SQL databases", self.server()));
        self.sql().ok_or_else(why)
    }

    /// The connection, whatever it is.
    pub(super) fn engine(&self) -> &SourceEngine {
        &self.engine
    }

    /// Whether it is a database of tables, which can hold the ledger, too.
    pub fn holds_tables(&self) -> bool {
        self.sql().is_some()
    }

    /// The kind of source, as adapter files name it.
    pub fn kind(&self) -> &'static str {
        self.sql().map_or("redis", |engine| engine.kind().word())
    }

    /// Product and version.
    pub fn server(&self) -> &str {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.server(),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => &engine.facts().server,
        }
    }

    /// Name of the database, the path of its file, or where the keys are.
    pub fn database(&self) -> &str {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.database(),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => engine.place(),
        }
    }

    /// Who we are there; empty where nobody is asked.
    pub fn user(&self) -> &str {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.user(),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => &engine.facts().user,
        }
    }

    /// The source's clock, by ours since we connected.
    pub fn clock(&self) -> Timestamp {
        match &self.engine {
            SourceEngine::Sql(engine) => {
                let (at, heard) = engine.clock();
                at.after(heard.elapsed())
            }
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => engine.clock(),
        }
    }

    /// Why nothing can be written, where that is so.
    pub fn read_only(&self) -> Option<&str> {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.read_only(),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => engine.facts().read_only.as_deref(),
        }
    }

    /// Whether it is a copy that follows another server.
    pub fn is_replica(&self) -> bool {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.is_replica(),
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => engine.facts().is_replica,
        }
    }

    /// Ends the connection.
    pub(super) async fn close(&self, grace: Duration) {
        match &self.engine {
            SourceEngine::Sql(engine) => engine.close(grace).await,
            // What was sent is not stopped there, and takes a moment only.
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => engine.forget(),
        }
    }

    /// Looks what of a preset is missing, and changes nothing.
    ///
    /// # Errors
    /// As [`Preset::plan`].
    pub async fn plan_preset(&self, preset: &Preset, schema: Option<&str>, budget: &Budget) -> Result<Installation> {
        preset.plan(self.need_sql()?, schema, budget).await
    }

    /// Creates what is missing of a preset.
    ///
    /// # Errors
    /// As [`Installation::install`].
    pub async fn install(&self, plan: &Installation, budget: &Budget) -> Result<()> {
        plan.install(self.need_sql()?, budget).await
    }
}

impl From<Arc<Engine>> for ConnectedSource {
    fn from(engine: Arc<Engine>) -> Self {
        Self { engine: SourceEngine::Sql(engine) }
    }
}

#[cfg(feature = "redis")]
impl From<Arc<RedisEngine>> for ConnectedSource {
    fn from(engine: Arc<RedisEngine>) -> Self {
        Self { engine: SourceEngine::Redis(engine) }
    }
}

/// What is said of a Redis server by a program that was built without it.
#[cfg(not(feature = "redis"))]
pub(super) fn without_redis() -> SourceError {
    SourceError::Input("this dlq-tui was built without Redis: build it with the feature `redis`".to_owned())
}
