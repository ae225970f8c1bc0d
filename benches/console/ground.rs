//! What is measured on: a server of its own that keeps its promises to the disk, and databases in it.

use std::path::{Path, PathBuf};

use dlq_tui::adapter::built_in;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine as SqlEngine, EngineOptions};
use dlq_tui::store::Budget;
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, SqlStore, detect, open};

use crate::books::APPLICATION;
use crate::client::Client;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, Server, TestDb};

/// Said of a database that was filled to the end.
const FILLED: &str = "filled by scripts/bench";

/// Settings of a PostgreSQL that somebody relies on. Without a replica it need not log tables that are filled at once.
const POSTGRES: [&str; 9] = [
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "maintenance_work_mem=512MB",
    "wal_level=minimal",
    "max_wal_senders=0",
];
const STATISTICS: [&str; 2] = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=top"];
const MARIADB: [&str; 4] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-flush-method=fsync",
    "--innodb-buffer-pool-size=1G",
    "--innodb-log-file-size=1G",
];

/// The server and what is measured on it.
pub struct Ground {
    server: Option<Server>,
    pub engine: Engine,
    pub layout: Layout,
    /// Whether the server counts what statements cost.
    counts_costs: bool,
    keeps: bool,
}

impl Ground {
    /// Starts a server; on PostgreSQL its data can be kept in a folder, and found there again.
    pub fn start(engine: Engine, layout: Layout, keep: Option<&Path>) -> Self {
        let counts_costs = engine == Engine::Postgres && has_statement_statistics();
        let server = match engine {
            Engine::Postgres => {
                let more = if counts_costs { &STATISTICS[..] } else { &[] };
                Some(harness::private_postgres_with(&[&POSTGRES, more].concat(), keep))
            }
            Engine::Mysql => Some(harness::private_mariadb_with(&MARIADB)),
            Engine::Sqlite => None,
        };
        let server = server.map(|started| started.unwrap_or_else(|reason| panic!("{reason}")));
        Self { server, engine, layout, counts_costs, keeps: keep.is_some() }
    }

    /// A database with `rows` rows, vacuumed and analysed as it would be in time; one that is kept, where it is there.
    pub async fn database(&self, name: &str, rows: u32) -> TestDb {
        let Some(server) = &self.server else {
            let db = harness::sqlite(name).await;
            self.fill(&db, rows).await;
            return db;
        };
        if !self.keeps {
            let db = server.database(name).await;
            self.fill(&db, rows).await;
            return db;
        }
        let name = format!("{name}_{}_{rows}", self.layout.table());
        let db = server.named(&name).await;
        let comment = "select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname";
        if db.scalar(&format!("{comment} = '{name}'")).await != FILLED {
            // What a run left that was broken off.
            db.execute("drop schema public cascade; create schema public").await;
            self.fill(&db, rows).await;
            db.execute(&format!("comment on database {name} is '{FILLED}'")).await;
        }
        db
    }

    /// An empty database.
    pub async fn empty(&self, name: &str) -> Option<TestDb> {
        Some(self.server.as_ref()?.database(name).await)
    }

    /// Takes away what [`Ground::empty`] made; who is still connected is sent away.
    pub fn remove(&self, db: TestDb) {
        let (server, name) = db.url.rsplit_once('/').expect("a database in the URL");
        Client::new(&format!("{server}/postgres")).print(&[&format!("drop database {name} with (force)")]);
    }

    async fn fill(&self, db: &TestDb, rows: u32) {
        if self.counts_costs {
            db.execute("create extension if not exists pg_stat_statements").await;
        }
        self.layout.fill(db, rows).await;
        match self.engine {
            Engine::Postgres => {
                db.execute("vacuum (analyze)").await;
                db.execute(&format!(
                    "do $$ begin create role {APPLICATION} superuser login; exception when duplicate_object then null; end $$"
                ))
                .await;
                db.execute("checkpoint").await;
            }
            Engine::Mysql => db.execute(&format!("analyze table {}", self.layout.table())).await,
            Engine::Sqlite => db.execute("analyze; pragma wal_checkpoint(truncate)").await,
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // In order, or the next start would have to recover what is kept.
        if let (Some(server), true) = (&self.server, self.keeps) {
            server.stop();
        }
    }
}

/// A database to write to. On PostgreSQL it is a copy with all of it on disk, which goes with the value: copies are large.
pub struct Copy {
    pub url: String,
    admin: Option<(Client, String)>,
}

impl Copy {
    /// Copies; who is still connected to the original is sent away. Elsewhere it is the original itself.
    pub fn of(original: &str) -> Self {
        if Client::new(original).engine() != Engine::Postgres {
            return Self { url: original.to_owned(), admin: None };
        }
        let (server, template) = original.rsplit_once('/').expect("a database in the URL");
        let (admin, name) = (Client::new(&format!("{server}/postgres")), format!("{template}_copy"));
        let is_new = admin.print(&["select current_setting('server_version_num')::int >= 150000"]) == "t";
        let strategy = if is_new { "strategy file_copy" } else { "" };
        let leave = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{template}'");
        let left = format!("drop database if exists {name} with (force)");
        admin.print(&[&leave, &left, &format!("create database {name} template {template} {strategy}"), "checkpoint"]);
        Self { url: format!("{server}/{name}"), admin: Some((admin, name)) }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some((admin, name)) = &self.admin {
            admin.print(&[&format!("drop database {name} with (force)")]);
        }
    }
}

/// Opens the layout as the program itself does, with the live table as the destination.
pub async fn open_store(url: &str, layout: Layout, budget: &Budget) -> SqlStore {
    open_named(url, layout.table(), ReplayDestination::Table("jobs".to_owned()), budget).await
}

/// Opens what an adapter finds.
pub async fn open_named(url: &str, adapter: &str, destination: ReplayDestination, budget: &Budget) -> SqlStore {
    let target = Target::from_url(url).unwrap_or_else(|e| panic!("{e}"));
    let engine = SqlEngine::connect(&target, &EngineOptions::default()).await.unwrap_or_else(|e| panic!("{e}"));
    let adapters = built_in();
    let detection = detect(&engine, &adapters, budget).await.unwrap_or_else(|e| panic!("{e}"));
    let found = detection.found.iter().find(|found| found.adapter == adapter);
    let found = found.unwrap_or_else(|| panic!("{adapter} is not detected: {:?}", detection.rejected));
    let adapter = adapters.iter().find(|known| known.name == found.adapter).expect("the adapter that fits");
    let options = OpenOptions { destination, ..OpenOptions::default() };
    open(engine.into(), adapter, found, &options, budget).await.unwrap_or_else(|e| panic!("{e}"))
}

/// Whether the server can keep books: Debian's package has the library, a bare build may not.
fn has_statement_statistics() -> bool {
    let Some(programs) = harness::postgres_programs() else { return false };
    let folder: PathBuf = programs.parent().unwrap_or(Path::new("/")).to_path_buf();
    ["lib", "lib/postgresql"].iter().any(|lib| folder.join(lib).join("pg_stat_statements.so").is_file())
}
