//! What an operator has done with a source, from the first look to the last undo: every call of the hot paths.

use std::sync::Arc;
use std::time::Duration;

use dlq_tui::adapter::built_in;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions, Listener, Statement};
use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, detect, missing_indexes, open};
use dlq_tui::store::{Availability, Cursor, HistogramQuery, PageQuery, ScanMode, Sort, StoreExt};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::outcomes::count_outcomes;
use dlq_tui::triage::plan::ActionScope;

use super::layouts::Case;
use crate::harness::TestDb;
use crate::run::{desk_of, go};
use crate::store_desk::budget;

/// What leads the statement that begins a phase; its name follows.
pub const PHASE: &str = "the story goes on with";
/// A phase that reads so much of a small table that to read all of it is right.
pub const COLD: &str = "a cohort";
/// Jobs of a page, and of a batch.
const JOBS: usize = 25;

/// Tells the story. All statements are sent on one connection, one after the other.
pub async fn tell(case: &Case, db: &TestDb) {
    tell_to(case, db, None).await;
}

/// The same to somebody who hears of every statement.
pub async fn tell_to(case: &Case, db: &TestDb, listener: Option<Listener>) {
    let target = Target::from_url(&db.url).expect("a target");
    let options = EngineOptions { max_connections: 1, listener, ..EngineOptions::default() };
    let engine = Arc::new(Engine::connect(&target, &options).await.expect("an engine"));
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.iter().find(|f| f.adapter == case.adapter).expect(case.name);
    let adapter = adapters.iter().find(|a| a.name == case.adapter).expect("an adapter");
    let destination = match case.to_table {
        true => ReplayDestination::Table("jobs".to_owned()),
        false => ReplayDestination::None,
    };
    let options = OpenOptions { destination, ..OpenOptions::default() };
    let store = open(Arc::clone(&engine), adapter, found, &options, &budget()).await.expect("a store");
    let desk = desk_of(store);
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let teller = Teller { name: case.name, engine: &engine, desk: &desk, ledger: &ledger };
    let jobs = teller.look().await;
    // The others are had by undoing these.
    let verbs = [Action::Replay, Action::Ignore, Action::Discard, Action::Archive, Action::Purge];
    for (i, action) in verbs.into_iter().enumerate() {
        teller.act(action, jobs.chunks(JOBS).nth(i).unwrap_or_default()).await;
    }
    teller.phase("the end").await;
    engine.close(std::time::Duration::from_secs(3)).await;
}

/// Builds the indexes that the adapter asks for and the tables lack; whether there were any.
pub async fn install_missing(case: &Case, db: &TestDb) -> bool {
    let missing = missing(case, db).await;
    for ddl in &missing {
        db.execute(ddl).await;
    }
    if !missing.is_empty() {
        case.analyze(db).await;
    }
    !missing.is_empty()
}

async fn missing(case: &Case, db: &TestDb) -> Vec<String> {
    let engine = crate::store_desk::engine(db).await;
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.iter().find(|f| f.adapter == case.adapter).expect(case.name);
    let adapter = adapters.iter().find(|a| a.name == case.adapter).expect("an adapter");
    missing_indexes(&engine, adapter, found).into_iter().map(|(_, ddl)| ddl).collect()
}

struct Teller<'a> {
    name: &'static str,
    engine: &'a Engine,
    desk: &'a StoreContext,
    ledger: &'a Ledger,
}

impl Teller<'_> {
    async fn phase(&self, name: &str) {
        let statement = Statement { sql: format!("SELECT '{PHASE} {name}'"), binds: Vec::new() };
        self.engine.read(&[statement], &budget()).await.expect("a phase");
    }

    /// Everything that is read of a source; returns jobs to act on.
    async fn look(&self) -> Vec<JobId> {
        let (store, all) = (&*self.desk.store, Filter::all());
        let facet = store.info().capabilities.facets[0];
        self.phase("a look").await;
        let first = store.changes(None, facet, &all, &budget()).await.expect("a look");
        store.changes(Some(&first.token), facet, &all, &budget()).await.expect("a look");
        self.phase("the estimate").await;
        for facet in &store.info().capabilities.facets {
            store.count(HistogramQuery::estimate(*facet), &budget()).await.expect("an estimate");
        }
        // A machine that is busy has the page read in several steps.
        let page = async |filter: &Filter, mut cursor: Cursor, limit: usize| loop {
            let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: cursor.clone(), limit };
            let page = store.scan(query, ScanMode::List, &budget()).await.expect("a page");
            match page.next.clone() {
                Some(next) if page.entries.is_empty() => cursor = next,
                _ => break page,
            }
        };
        self.phase("a page").await;
        let first = page(&all, Cursor::Start, JOBS).await;
        let next = page(&all, first.next.expect("more"), JOBS).await;
        page(&all, Cursor::Before(next.entries[0].position.clone()), JOBS).await;
        self.phase("the last page").await;
        page(&all, Cursor::End, JOBS).await;
        self.phase("a page of some time").await;
        let middle = next.entries.iter().find_map(|e| e.row.at).expect("a time");
        let some = format!("until:{}", middle.before(Duration::from_secs(60)).to_rfc3339());
        page(&Filter::parse(&some).expect("a filter"), Cursor::Start, JOBS).await;
        self.phase("details").await;
        let ids: Vec<JobId> = first.entries.iter().map(|e| e.row.id.clone()).collect();
        store.details(&ids, &budget()).await.expect("details");
        store.detail(&ids[0], &budget()).await.expect("a detail");
        store.rows(&ids, &budget()).await.expect("rows");
        self.phase(COLD).await;
        let step =
            store.scan(PageQuery::cohort(&all, Cursor::Start), ScanMode::Cohort, &budget()).await.expect("a cohort");
        step.entries.into_iter().map(|entry| entry.row.id).collect()
    }

    /// A verb on some jobs, what became of them, and its undo.
    async fn act(&self, action: Action, jobs: &[JobId]) {
        if matches!(self.desk.store.info().availability(action), Availability::Disabled(_)) || jobs.is_empty() {
            return;
        }
        self.phase(action.word()).await;
        if action == Action::Archive {
            self.desk.store.plan().prepare(action, &budget()).await.expect("a table");
        }
        let ask = |scope, action| Ask::new(scope, action, Timestamp::now());
        let scope = ActionScope::Jobs(jobs.to_vec());
        let Ok(plan) = freeze(self.desk, self.ledger, ask(scope, action), &budget(), |_| {}).await else { return };
        let tally = go(self.desk, self.ledger, &plan.run).await.run.tally;
        assert!(tally.done > 0, "{}: {action}: {tally:?}", self.name);
        self.phase(&format!("what became of {action}")).await;
        count_outcomes(self.desk, self.ledger, &plan.run, &budget()).await.expect("fates");
        let Some(back) = action.undone_by() else { return };
        self.phase(&format!("the undo of {action}")).await;
        let scope = ActionScope::Undo(plan.run.clone(), Vec::new());
        if let Ok(plan) = freeze(self.desk, self.ledger, ask(scope, back), &budget(), |_| {}).await {
            let tally = go(self.desk, self.ledger, &plan.run).await.run.tally;
            assert!(tally.done > 0, "{}: {back}: {tally:?}", self.name);
        }
    }
}
