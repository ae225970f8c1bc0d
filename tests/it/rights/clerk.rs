//! A role that has what a test gives it, and a layout opened as that role.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dlq_tui::adapter::{Route, built_in};
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions};
use dlq_tui::domain::action::Action;
use dlq_tui::store::Grant;
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, Site, SqlStore, detect, open, required};
use dlq_tui::store::{SourceError, Store};

use crate::harness::{self, Engine as Kind, PASSWORD, TestDb};
use crate::plans::layouts::Case;
use crate::store_desk::{budget, engine};

/// A role on a database.
pub struct Clerk<'a> {
    pub db: &'a TestDb,
    /// As the database knows it.
    pub name: String,
    pub url: String,
}

impl<'a> Clerk<'a> {
    /// One that may do nothing but pass row-level security, which is no matter of rights; none where a server of somebody's would ask it for a password.
    pub async fn hired(db: &'a TestDb) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("clerk_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (make, name_there) = match db.engine {
            Kind::Postgres => (format!("create role {name} login bypassrls"), name.clone()),
            _ => (format!("create user {name}@'%' identified by '{PASSWORD}'"), format!("{name}@%")),
        };
        db.execute(&make).await;
        let (scheme, rest) = db.url.split_once("://").expect("a URL");
        let (user, place) = rest.rsplit_once('@').expect("a user");
        let url = format!("{scheme}://{name}:{PASSWORD}@{place}");
        (db.engine != Kind::Postgres || user.starts_with(harness::USER)).then_some(Self { db, name: name_there, url })
    }

    pub async fn leave(self) {
        if self.db.engine == Kind::Postgres {
            self.db.execute(&format!("drop owned by {0}; drop role {0}", self.name)).await;
        }
    }

    /// The database as this role has it.
    pub async fn engine(&self, rehearsal: bool) -> Arc<Engine> {
        let target = Target::from_url(&self.url).expect("a target");
        let options = EngineOptions { rehearsal, ..EngineOptions::default() };
        Arc::new(Engine::connect(&target, &options).await.expect("an engine"))
    }

    /// The layout as this role opens it.
    pub async fn open(&self, case: &Case, rehearsal: bool) -> Result<SqlStore, String> {
        let (engine, adapters) = (self.engine(rehearsal).await, built_in());
        let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
        let found = detection.found.iter().find(|found| found.adapter == case.adapter);
        let Some(found) = found else { return Err(format!("not found: {:?}", detection.rejected)) };
        let adapter = adapters.iter().find(|adapter| adapter.name == case.adapter).expect("an adapter");
        let opened = open(engine, adapter, found, &options(case), &budget()).await;
        opened.map_err(|error: SourceError| error.to_string())
    }

    /// The same, a statement for each right on each thing.
    pub async fn single_needs(&self, case: &Case, actions: &[Option<Action>]) -> Vec<String> {
        let mut single = Vec::new();
        for grant in self.needs(case, actions).await {
            let (rights, on) = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON ")).expect("a grant");
            single.extend(rights.split(", ").map(|right| format!("GRANT {right} ON {on}")));
        }
        single.sort();
        single.dedup();
        single
    }

    /// What the documentation says that it needs; sequences included.
    pub async fn needs(&self, case: &Case, actions: &[Option<Action>]) -> Vec<String> {
        let (engine, adapters) = (engine(self.db).await, built_in());
        let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
        let found = detection.found.iter().find(|found| found.adapter == case.adapter).expect(case.name);
        let adapter = adapters.iter().find(|adapter| adapter.name == case.adapter).expect("an adapter");
        let spec = found.spec(adapter, engine.kind().word()).expect("a spec");
        let way = if case.to_table { Route::Table } else { Route::Own };
        let mut grants: Vec<String> = Vec::new();
        for action in actions {
            let archive = format!("{}_archive", spec.table);
            let has_archive = has_table(self.db, &found.schema, &archive).await;
            let site = Site { spec, schema: &found.schema, way, has_archive };
            for Grant { sql, .. } in required(engine.kind(), site, &[*action], &self.name) {
                let live = match self.db.engine {
                    Kind::Postgres => "public.jobs".to_owned(),
                    _ => format!("{}.jobs", self.db.name()),
                };
                grants.push(sql.replace("the live table", &live));
            }
        }
        for sequence in self.sequences(&grants).await {
            grants.push(format!("GRANT USAGE ON SEQUENCE {sequence} TO {}", self.name));
        }
        grants.sort();
        grants.dedup();
        grants
    }

    /// The sequences of the tables into which one of these grants lets it insert.
    async fn sequences(&self, grants: &[String]) -> Vec<String> {
        let mut all = Vec::new();
        if self.db.engine != Kind::Postgres {
            return all;
        }
        for grant in grants {
            let (rights, rest) = grant.split_once(" ON ").expect("a grant");
            let (table, _) = rest.split_once(" TO ").expect("a grant");
            if !rights.contains("INSERT") {
                continue;
            }
            // An identity counts with the rights of its table.
            let sql = format!(
                "select format('%I.%I', s.relnamespace::regnamespace, s.relname) from pg_attrdef f join pg_depend p on p.classid = 'pg_attrdef'::regclass and p.objid = f.oid \
                 join pg_class s on s.oid = p.refobjid and s.relkind = 'S' where f.adrelid = to_regclass('{table}')"
            );
            all.extend(self.db.column(&sql).await);
        }
        all
    }
}

/// Takes back what a statement gave.
pub fn revoked(grant: &str) -> String {
    let (what, who) = grant.strip_prefix("GRANT ").and_then(|rest| rest.rsplit_once(" TO ")).expect("a grant");
    format!("REVOKE {what} FROM {who}")
}

pub fn options(case: &Case) -> OpenOptions {
    let destination = match case.to_table {
        true => ReplayDestination::Table("jobs".to_owned()),
        false => ReplayDestination::None,
    };
    OpenOptions { destination, ..OpenOptions::default() }
}

/// Why an action cannot be used; `None` where it can.
pub fn refusal(store: &SqlStore, action: Action) -> Option<String> {
    match store.info().availability(action) {
        dlq_tui::store::Availability::Disabled(why) => Some(why),
        dlq_tui::store::Availability::Ready { .. } => None,
    }
}

async fn has_table(db: &TestDb, schema: &str, table: &str) -> bool {
    let sql = format!(
        "select count(*) from information_schema.tables where table_schema = '{schema}' and table_name = '{table}'"
    );
    db.column(&sql).await != ["0"]
}
