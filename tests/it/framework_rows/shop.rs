//! A database with a framework's tables, opened as an operator would, with a ledger beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use dlq_tui::adapter::built_in;
use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::{JobDetail, JobId};
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId, RunTally};
use dlq_tui::store::sql::{Detection, OpenOptions, check, detect, missing_indexes, open};
use dlq_tui::store::{Batch, Cursor, PageQuery, ScanMode, Sort, Store, StoreExt};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};

use crate::harness::{self, TestDb};
use crate::run::{desk_of, go};
use crate::store_desk::{apply, batch, budget, engine};

/// A framework's database, its desk and the operator's ledger.
pub struct Shop {
    pub db: TestDb,
    pub desk: StoreContext,
    pub title: String,
    /// The statements that make the indexes which are missing.
    pub missing: Vec<String>,
    pub ledger: Ledger,
    _folder: tempfile::TempDir,
}

/// What every adapter that comes with the console finds in a database.
pub async fn look(db: &TestDb) -> Detection {
    let engine = engine(db).await;
    detect(&engine, &built_in(), &budget()).await.expect("a detection")
}

impl Shop {
    /// A database made by these statements, as an adapter has it; nothing where there is no PostgreSQL.
    pub async fn new(adapter: &str, fixtures: &[&str]) -> Option<Self> {
        let db = harness::postgres()?.database(adapter).await;
        for fixture in fixtures {
            db.execute(fixture).await;
        }
        Some(Self::on(db, adapter).await)
    }

    pub async fn on(db: TestDb, adapter: &str) -> Self {
        let engine = engine(&db).await;
        let adapters = built_in();
        let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
        let found = detection.found.iter().find(|f| f.adapter == adapter);
        let found = found.unwrap_or_else(|| panic!("{adapter} not found: {detection:?}"));
        let spoken = adapters.iter().find(|a| a.name == adapter).expect("an adapter");
        for finding in check(&engine, spoken, found, None, &budget()).await.expect("findings") {
            assert_eq!(finding.verdict, Ok(()), "{}", finding.what);
        }
        let missing = missing_indexes(&engine, spoken, found).into_iter().map(|(_, ddl)| ddl).collect();
        let store =
            open(Arc::clone(&engine), spoken, found, &OpenOptions::default(), &budget()).await.expect("a store");
        let desk = desk_of(store);
        let all = PageQuery { filter: Filter::all(), sort: Sort::default(), cursor: Cursor::Start, limit: 50 };
        desk.store.scan(all, ScanMode::Comparison, &budget()).await.expect("what comparisons read");
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        Self { db, desk, title: found.title.clone(), missing, ledger, _folder: folder }
    }

    pub fn store(&self) -> &dyn Store {
        &*self.desk.store
    }

    /// Everything that is shown of an open job.
    pub async fn job(&self, id: &str) -> JobDetail {
        self.store().detail(&JobId::new(id), &budget()).await.expect("a detail").expect("a job")
    }

    /// Class, message and first line of the backtrace of a job.
    pub async fn error(&self, id: &str) -> [Option<String>; 3] {
        let job = self.job(id).await;
        let backtrace = job.backtrace.as_ref().and_then(|text| text.exact().lines().next()).map(str::to_owned);
        let text = |value: &Option<dlq_tui::domain::text::Untrusted>| value.as_ref().map(|v| v.exact().to_owned());
        [text(&job.row.error_class), text(&job.message), backtrace]
    }

    /// Metadata of a job by name.
    pub async fn metadata(&self, id: &str, name: &str) -> Option<String> {
        let job = self.job(id).await;
        let named = job.metadata.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}"));
        named.1.as_ref().map(|value| value.exact().to_owned())
    }

    /// Acts on jobs in one batch: what became of each.
    pub async fn act(&self, action: Action, ids: &[&str], options: Options) -> BTreeMap<String, JobResult> {
        let batch = Batch { options, ..batch(action, ids.iter().map(|id| JobId::new(*id))) };
        let results = apply(self.store(), batch).await;
        results.into_iter().map(|(id, result)| (id.as_str().to_owned(), result)).collect()
    }

    /// A plan over all that a filter selects.
    pub async fn try_plan(&self, action: Action, filter: &str) -> Result<Plan, PlanError> {
        let scope = ActionScope::Filter(Filter::parse(filter).expect("a filter"));
        let ask = Ask::new(scope, action, Timestamp::now());
        freeze(&self.desk, &self.ledger, ask, &budget(), |_| {}).await
    }

    /// A run over all that a filter selects.
    pub async fn run(&self, action: Action, filter: &str) -> (RunId, RunTally) {
        let plan = self.try_plan(action, filter).await.expect("a plan");
        let tally = go(&self.desk, &self.ledger, &plan.run).await.run.tally;
        assert!(tally.adds_up(), "{tally:?}");
        (plan.run, tally)
    }

    pub async fn undo(&self, run: &RunId) -> RunTally {
        let action = self.ledger.runs().get(run).await.expect("a run").intent.action.undone_by().expect("a way back");
        let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), action, Timestamp::now());
        let plan = freeze(&self.desk, &self.ledger, ask, &budget(), |_| {}).await.expect("a plan");
        go(&self.desk, &self.ledger, &plan.run).await.run.tally
    }

    /// Every column of some rows, a row a text.
    pub async fn rows(&self, table: &str, condition: &str) -> Vec<String> {
        self.db.column(&format!("select t::text from {table} as t where {condition} order by t.id")).await
    }

    /// Where jobs have got to, by id.
    pub async fn fates(&self, ids: &[&str]) -> BTreeMap<String, String> {
        let ids: Vec<JobId> = ids.iter().map(|id| JobId::new(*id)).collect();
        let fates = self.store().outcomes(&ids, &[], &budget()).await.expect("fates");
        fates.into_iter().map(|(id, fate)| (id.as_str().to_owned(), format!("{:?}", fate.outcome))).collect()
    }
}

/// The reason why a job was left alone.
pub fn why(result: &JobResult) -> String {
    match result {
        JobResult::Skipped(reason) => reason.word().to_owned(),
        other => format!("{other:?}"),
    }
}
