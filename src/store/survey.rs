//! What a source holds, and how the stores in it are opened, by the scheme of its URL: databases, or Redis.

mod connected_source;

use std::sync::Arc;
use std::time::Duration;

use self::connected_source::SourceEngine;
#[cfg(feature = "redis")]
use super::redis;
use super::sql::{self, Detection};
use super::{Budget, Connection, Result, SourceError, Store};
use crate::adapter::{Adapter, Library, Sample};
use crate::db::Engine;
use crate::db::target::redis_of;

pub use super::found::{Candidates, CheckFinding, Found, NearMiss, Rejected, Renamed};
pub use super::open_options::{OpenOptions, ReplayDestination};
pub use super::sql::grant_script;
pub use super::sql::install::{Installation, PRESETS, Preset};
pub use crate::db::EngineOptions;
pub use crate::db::target::{NAMING, Target, Transport};
pub use connected_source::ConnectedSource;

/// A source that was connected to, with the layouts that its adapters know there.
pub struct Survey {
    source: ConnectedSource,
    detection: Detection,
    /// The adapters that were tried.
    pub library: Library,
}

impl Survey {
    /// Connects, and finds the layouts; the adapters may be read meanwhile. The destination of replayed jobs is looked at along
    /// with them.
    ///
    /// # Errors
    /// When the source cannot be reached or read.
    pub async fn connect(
        target: &Target,
        options: &EngineOptions,
        library: impl Future<Output = Library>,
        destination: &ReplayDestination,
        budget: &Budget,
    ) -> Result<Self> {
        if redis_of(target).is_some() {
            return Self::connect_redis(target, options, library, budget).await;
        }
        let (engine, library, detection) = sql::survey(target, options, library, destination, budget).await?;
        Ok(Self::of(Arc::new(engine).into(), library, detection))
    }

    #[cfg(feature = "redis")]
    async fn connect_redis(
        target: &Target,
        options: &EngineOptions,
        library: impl Future<Output = Library>,
        budget: &Budget,
    ) -> Result<Self> {
        let (engine, library, found) = redis::survey(target, options, library, budget).await?;
        Ok(Self::of(Arc::new(engine).into(), library, Detection { found, ..Detection::default() }))
    }

    #[cfg(not(feature = "redis"))]
    async fn connect_redis(
        _: &Target,
        _: &EngineOptions,
        _: impl Future<Output = Library>,
        _: &Budget,
    ) -> Result<Self> {
        Err(connected_source::without_redis())
    }

    /// What is there now, by the same connections and adapters.
    ///
    /// # Errors
    /// As [`Survey::connect`].
    pub async fn again(&self, budget: &Budget) -> Result<Self> {
        let (source, detection): (ConnectedSource, Detection) = match self.source.engine() {
            SourceEngine::Sql(engine) => {
                let engine = engine.reconnect(budget).await?;
                let detection = sql::detect(&engine, &self.library.adapters, budget).await?;
                (Arc::new(engine).into(), detection)
            }
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => {
                let engine = engine.reconnect(budget).await?;
                let found = redis::detect(&engine, &self.library.adapters, budget).await?;
                (Arc::new(engine).into(), Detection { found, ..Detection::default() })
            }
        };
        Ok(Self::of(source, self.library.clone(), detection))
    }

    /// Lets nothing be written to the layouts whose adapters are in doubt.
    fn of(source: ConnectedSource, library: Library, mut detection: Detection) -> Self {
        for found in &mut detection.found {
            if let Some(reason) = library.invalid_file_for(&found.adapter, &found.table) {
                found.hold_back(reason);
            }
        }
        Self { source, library, detection }
    }

    /// The layouts that fit.
    pub fn found(&self) -> &[Found] {
        &self.detection.found
    }

    /// The tables that have the name of a layout's and do not fit it.
    pub fn rejected(&self) -> &[Rejected] {
        &self.detection.rejected
    }

    /// The source: the ledger may be in it too.
    pub fn source(&self) -> &ConnectedSource {
        &self.source
    }

    /// Opens the store of a layout.
    ///
    /// # Errors
    /// When the table does not fit its adapter, or the source fails.
    pub async fn open(&self, found: &Found, options: &OpenOptions, budget: &Budget) -> Result<Arc<dyn Store>> {
        match self.source.engine() {
            SourceEngine::Sql(engine) => self.open_over(Arc::clone(engine), found, options, budget).await,
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => {
                Ok(Arc::new(redis::open(Arc::clone(engine), self.adapter(found)?, found, options, budget).await?))
            }
        }
    }

    /// The same over a connection of its own, of which nothing lasts.
    ///
    /// # Errors
    /// As [`Survey::open`].
    pub async fn open_rollback_only(
        &self,
        (target, connection): (&Target, EngineOptions),
        found: &Found,
        options: &OpenOptions,
        budget: &Budget,
    ) -> Result<Arc<dyn Store>> {
        let connection = EngineOptions { rehearsal: true, ..connection };
        let engine = Arc::new(Engine::connect(target, &connection).await?);
        self.open_over(engine, found, options, budget).await
    }

    async fn open_over(
        &self,
        engine: Arc<Engine>,
        found: &Found,
        options: &OpenOptions,
        budget: &Budget,
    ) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(sql::open(engine, self.adapter(found)?, found, options, budget).await?))
    }

    fn adapter(&self, found: &Found) -> Result<&Adapter> {
        let gone = || SourceError::Layout(format!("the adapter {} is gone", found.adapter));
        self.library.get(&found.adapter).ok_or_else(gone)
    }

    /// How the connection is doing.
    ///
    /// # Errors
    /// When the source cannot be reached.
    pub async fn connection(&self, budget: &Budget) -> Result<Connection> {
        match self.source.engine() {
            SourceEngine::Sql(engine) => sql::connection(engine, budget).await,
            #[cfg(feature = "redis")]
            SourceEngine::Redis(engine) => redis::connection(engine, budget).await,
        }
    }

    /// The tables that may hold dead-lettered jobs although no adapter fits.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub async fn candidates(&self, budget: &Budget) -> Result<Candidates> {
        // Keys without an adapter tell too little to name some.
        let Some(engine) = self.source.sql() else { return Ok(Candidates::default()) };
        sql::candidates(engine, &self.library.adapters, budget).await
    }

    /// Columns and some rows of a table, to draft an adapter from.
    ///
    /// # Errors
    /// When there is no such table, or the source cannot be read.
    pub async fn sample(&self, table: &str, budget: &Budget) -> Result<Sample> {
        sql::sample(self.source.need_sql()?, table, budget).await
    }

    /// Each statement of a layout's adapter, held against the source; replayed jobs go to the table `target` where one is named.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub async fn check(&self, found: &Found, target: Option<&str>, budget: &Budget) -> Result<Vec<CheckFinding>> {
        // What an adapter says of Redis was checked as it was read.
        let Some(engine) = self.source.sql() else { return Ok(Vec::new()) };
        sql::check(engine, self.adapter(found)?, found, target, budget).await
    }

    /// Why the key of a layout may not be unique, where the catalogue does not tell.
    pub fn untold_key(&self, found: &Found) -> Option<String> {
        sql::untold_key(self.source.sql()?, self.adapter(found).ok()?, found)
    }

    /// The indexes that a layout wants and does not have, each with what it is for and the statement that makes it.
    pub fn missing_indexes(&self, found: &Found) -> Vec<(String, String)> {
        let known = self.source.sql().zip(self.adapter(found).ok());
        known.map_or_else(Vec::new, |(engine, adapter)| sql::missing_indexes(engine, adapter, found))
    }

    /// Ends the connection.
    pub async fn close(&self, grace: Duration) {
        self.source.close(grace).await;
    }
}
