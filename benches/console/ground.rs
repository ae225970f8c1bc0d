//! What is measured on: a PostgreSQL of its own that keeps its promises to the disk, and databases in it.

use std::path::Path;

use dlq_tui::adapter::built_in;
use dlq_tui::store::Budget;
use dlq_tui::store::sql::engine::{Engine, EngineOptions};
use dlq_tui::store::sql::target::Target;
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, SqlStore, detect, open};

use crate::fixtures::Layout;
use crate::harness::{Server, TestDb, postgres_programs, private_postgres_with};
use crate::psql::Psql;

/// The first second in which rows die, and how many die in each.
const START: u64 = 1_793_491_200;
const ROWS_A_SECOND: u64 = 3;
/// Parts of a thousand that are of the cohort's class and dead.
const COHORT_PER_MILLE: u64 = 284;

/// The server and what is measured on it.
pub struct Ground {
    server: Server,
    pub layout: Layout,
    /// Whether the server counts what statements cost.
    pub counts_costs: bool,
    /// Whether the dearest statements are printed with each figure.
    pub tells_statements: bool,
}

impl Ground {
    pub fn start(layout: Layout, tells_statements: bool) -> Self {
        let counts_costs = has_statement_statistics();
        let mut settings = vec![
            "fsync=on",
            "full_page_writes=on",
            "synchronous_commit=on",
            "shared_buffers=1GB",
            "max_wal_size=8GB",
            "checkpoint_timeout=30min",
            "maintenance_work_mem=256MB",
        ];
        if counts_costs {
            settings.extend(["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=top"]);
        }
        let server = private_postgres_with(&settings).unwrap_or_else(|reason| panic!("{reason}"));
        Self { server, layout, counts_costs, tells_statements }
    }

    /// A database with `rows` rows, vacuumed and analysed as autovacuum would have left it.
    pub async fn database(&self, name: &str, rows: u32) -> TestDb {
        let db = self.server.database(name).await;
        self.layout.seed(&db, rows).await;
        if self.counts_costs {
            db.execute("create extension pg_stat_statements").await;
        }
        db.execute("vacuum (analyze)").await;
        db.execute("checkpoint").await;
        db
    }
}

/// A copy of a database with all of it on disk. It goes with the value: copies are large.
pub struct Copy {
    pub url: String,
    name: String,
    admin: Psql,
}

impl Copy {
    /// Copies; who is still connected to the original is sent away.
    pub fn of(original: &str) -> Self {
        let (server, template) = original.rsplit_once('/').expect("a database in the URL");
        let (admin, name) = (Psql::new(&format!("{server}/postgres")), format!("{template}_copy"));
        let is_new = admin.print(&["select current_setting('server_version_num')::int >= 150000"]) == "t";
        let strategy = if is_new { "strategy file_copy" } else { "" };
        let leave = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{template}'");
        admin.print(&[&leave, &format!("create database {name} template {template} {strategy}"), "checkpoint"]);
        Self { url: format!("{server}/{name}"), name, admin }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.admin.print(&[&format!("drop database {} with (force)", self.name)]);
    }
}

/// The instant below which the cohort's class has about `wanted` jobs: in the database's own words, and as the filter
/// language writes it.
pub fn cohort_until(wanted: u64) -> (String, String) {
    let seconds = START + wanted * 1_000 / COHORT_PER_MILLE / ROWS_A_SECOND;
    let at = chrono::DateTime::from_timestamp(i64::try_from(seconds).unwrap_or(i64::MAX), 0).unwrap_or_default();
    (at.format("%Y-%m-%d %H:%M:%S").to_string(), at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Opens the layout as the program itself does, with the live table as the destination.
pub async fn open_store(url: &str, layout: Layout, budget: &Budget) -> SqlStore {
    let target = Target::from_url(url).unwrap_or_else(|e| panic!("{e}"));
    let engine = Engine::connect(&target, &EngineOptions::default()).await.unwrap_or_else(|e| panic!("{e}"));
    let adapters = built_in().unwrap_or_else(|e| panic!("{e}"));
    let detection = detect(&engine, &adapters, budget).await.unwrap_or_else(|e| panic!("{e}"));
    let found = detection.found.iter().find(|found| found.adapter == layout.table());
    let found = found.unwrap_or_else(|| panic!("{} is not detected: {:?}", layout.table(), detection.rejected));
    let adapter = adapters.iter().find(|adapter| adapter.name == found.adapter).expect("the adapter that fits");
    let options = OpenOptions { destination: ReplayDestination::Table("jobs".to_owned()), ..OpenOptions::default() };
    open(engine.into(), adapter, found, &options, budget).await.unwrap_or_else(|e| panic!("{e}"))
}

/// What a stretch of work cost the database, by its own books.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub statements: u64,
    pub ms: f64,
    pub buffers: u64,
    pub rows: u64,
}

/// Reads the database's books on statements.
#[derive(Clone, Debug)]
pub struct Meter {
    psql: Option<Psql>,
    tells_statements: bool,
}

impl Meter {
    pub fn new(ground: &Ground, url: &str) -> Self {
        Self { psql: ground.counts_costs.then(|| Psql::new(url)), tells_statements: ground.tells_statements }
    }

    pub fn reset(&self) {
        if let Some(psql) = &self.psql {
            psql.print(&["select pg_stat_statements_reset()"]);
        }
    }

    /// The cost since the reset of everything but this book-keeping.
    pub fn read(&self) -> Cost {
        let Some(psql) = &self.psql else { return Cost::default() };
        if self.tells_statements {
            println!("\n{}", dearest(psql, 6));
        }
        let printed = psql.print(&["select coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0),
                coalesce(sum(shared_blks_hit + shared_blks_read), 0), coalesce(sum(rows), 0)
             from pg_stat_statements s join pg_database d on d.oid = s.dbid
             where d.datname = current_database() and query not like '%pg_stat_statements%'"]);
        let numbers: Vec<f64> = printed.split('|').filter_map(|number| number.parse().ok()).collect();
        let whole = |at: usize| numbers.get(at).copied().unwrap_or(0.0) as u64;
        Cost { statements: whole(0), ms: numbers.get(1).copied().unwrap_or(0.0), buffers: whole(2), rows: whole(3) }
    }
}

/// The statements that cost most since the reset, one a line.
fn dearest(psql: &Psql, n: usize) -> String {
    psql.print(&[&format!(
        "select round(total_exec_time::numeric, 1) || ' ms, ' || calls || ' calls, ' || shared_blks_hit + \
         shared_blks_read || ' buffers: ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 800) \
         from pg_stat_statements s join pg_database d on d.oid = s.dbid
         where d.datname = current_database() and query not like '%pg_stat_statements%'
         order by total_exec_time desc limit {n}"
    )])
}

impl Cost {
    pub fn told(&self) -> String {
        if self.statements == 0 {
            return String::new();
        }
        format!("database: {:.2} ms, {} buffers, {} statements", self.ms, self.buffers, self.statements)
    }

    /// The mean of as many equal pieces of work.
    pub fn each(&self, n: usize) -> Self {
        let n = n.max(1) as u64;
        Self { statements: self.statements / n, ms: self.ms / n as f64, buffers: self.buffers / n, rows: self.rows / n }
    }
}

/// Whether the server can keep books: Debian's package has the library, a bare build may not.
fn has_statement_statistics() -> bool {
    let Some(programs) = postgres_programs() else { return false };
    let folder = programs.parent().unwrap_or(Path::new("/"));
    ["lib", "lib/postgresql"].iter().any(|lib| folder.join(lib).join("pg_stat_statements.so").is_file())
}
