//! Terms that the ledger judges, on real databases: what was replayed from here can be listed, counted and left out.

use std::path::Path;
use std::sync::Arc;

use dlq_tui::config::Thresholds;
use dlq_tui::domain::action::Action;
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, Operator};
use dlq_tui::store::{Cursor, ScanMode, Sort};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};
use dlq_tui::triage::run::{RunControl, RunOptions, execute};
use futures_util::FutureExt;

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::store_desk::{budget, exhaust, exhaust_by, filter, histogram_by, store};

async fn desk(db: &TestDb, ledger: &Path) -> StoreContext {
    StoreContext {
        store: Arc::new(store(db, Layout::DeadLetterJobs).await),
        source: "shop".into(),
        production: false,
        operator: Operator::default(),
        redactor: Arc::default(),
        ledger: Some(dlq_tui::ledger::LedgerLocator::new(ledger.to_owned(), None)),
    }
}

async fn replay(desk: &StoreContext, ledger: &Ledger, ids: Vec<JobId>) {
    let ask = Ask::new(ActionScope::Jobs(ids), Action::Replay, Timestamp::now());
    let plan = freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan");
    let progress = crate::run::progress();
    execute(desk, ledger, &plan.run, RunOptions::default(), &RunControl::new(), &progress).await.expect("a run");
}

async fn ids(desk: &StoreContext, filter: &Filter, from: Cursor) -> Vec<JobId> {
    let budget = budget();
    exhaust_by(&|query| desk.scan(query, ScanMode::List, &budget).boxed(), filter, Sort::default(), from, 30)
        .await
        .into_iter()
        .map(|e| e.row.id)
        .collect()
}

#[tokio::test]
async fn what_was_replayed_from_here_is_listed_counted_and_left_out() {
    for db in harness::every_engine("judged").await {
        Layout::DeadLetterJobs.seed(&db, 3_000).await;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite3");
        let ledger = Ledger::open(&path).await.expect("a ledger");
        let desk = desk(&db, &path).await;
        let dead = exhaust(&*desk.store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
        let some: Vec<JobId> = dead.iter().step_by(97).map(|e| e.row.id.clone()).collect();
        replay(&desk, &ledger, some.clone()).await;

        let replayed = filter("state:resolved replayed:>0");
        assert_eq!(ids(&desk, &replayed, Cursor::Start).await, some, "{}", db.engine.name());
        assert_eq!(ids(&desk, &replayed, Cursor::End).await, some, "{} backwards", db.engine.name());
        let budget = budget();
        let counted =
            histogram_by(&|query| desk.count(query, &budget).boxed(), Facet::Error, &replayed).await.histogram;
        assert_eq!(counted.total.n, some.len() as u64);
        assert_eq!(counted.bars.iter().map(|b| b.count.n).sum::<u64>(), some.len() as u64);

        let left = ids(&desk, &filter("replayed:0"), Cursor::Start).await;
        assert_eq!(left.len(), dead.len() - some.len(), "{}", db.engine.name());
        assert!(ids(&desk, &filter("replayed:>1 state:resolved"), Cursor::Start).await.is_empty());
    }
}

/// The row dies again as applications let jobs die: as another row with another id where the layout does so.
async fn die_again(db: &TestDb, layout: Layout, round: u32) {
    let text = |path: &str| match db.engine {
        Engine::Postgres => format!("metadata->>'{path}'"),
        Engine::Mysql => format!("json_value(metadata, '$.{path}')"),
        Engine::Sqlite => format!("metadata->>'$.{path}'"),
    };
    match layout {
        Layout::DeadLetterJobs => {
            let new_id = text("replayed_as");
            db.execute(&format!(
                "update dead_letter_jobs set job_id = {new_id}, id = '00000000-0000-4000-8000-00000000000{round}', \
                 status = 'failed'"
            ))
            .await;
            db.execute("update dead_letter_jobs set metadata = '{}'").await;
        }
        Layout::JobsDlq => {
            db.execute(
                "insert into jobs_dlq (original_id, payload, attempts, error_class, error_msg, stacktrace, failed_by, \
                 failed_at) select id, payload, 5, 'Boom', 'again', '', 'w', run_after from jobs",
            )
            .await;
            db.execute("delete from jobs").await;
        }
        Layout::DlqEvents => db.execute("update dlq_events set status = 'FAILED_PERMANENTLY'").await,
    }
}

#[tokio::test]
async fn a_job_that_comes_back_every_time_is_known_by_its_lineage_and_left_out_in_the_end() {
    for layout in Layout::ALL {
        for db in harness::every_engine("lineage").await {
            let told = format!("{layout:?} on {}", db.engine.name());
            layout.seed(&db, 60).await;
            let (table, key) = (layout.table(), key(&db, layout));
            let first = db.scalar(&format!("select min({key}) from {table} where {}", layout.is_dead())).await;
            db.execute(&format!("delete from {table} where {key} <> '{first}'")).await;
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("ledger.sqlite3");
            let ledger = Ledger::open(&path).await.expect("a ledger");
            let desk = crate::run::desk(&db.url, layout.table()).await;
            for round in 1..=3 {
                let plan = plan(&desk, &ledger, 3).await.expect(&told);
                let before = plan.warnings.iter().any(|warning| warning.contains("replayed before"));
                assert_eq!((plan.count, before), (1, round > 1), "{told}: {:?}", plan.warnings);
                let progress = crate::run::progress();
                let receipt =
                    execute(&desk, &ledger, &plan.run, RunOptions::default(), &RunControl::new(), &progress).await;
                assert!(receipt.expect(&told).is_complete(), "{told}");
                die_again(&db, layout, round).await;
            }
            let refused = plan(&desk, &ledger, 3).await.expect_err(&told).to_string();
            assert!(refused.contains("1 that would be meant was replayed 3 times or more before"), "{told}: {refused}");
            let plan = plan(&desk, &ledger, u64::MAX).await.expect(&told);
            assert_eq!(plan.warnings, ["1 of them was replayed before, the most replayed 3 times"], "{told}");
        }
    }
}

async fn plan(desk: &StoreContext, ledger: &Ledger, max_replays: u64) -> Result<Plan, PlanError> {
    let ask = Ask::new(ActionScope::Filter(Filter::all()), Action::Replay, Timestamp::now());
    let thresholds = Thresholds { max_replays, ..Thresholds::default() };
    freeze(desk, ledger, Ask { thresholds, ..ask }, &budget(), |_| {}).await
}

/// The key as text: PostgreSQL has no least UUID.
fn key(db: &TestDb, layout: Layout) -> &'static str {
    match (db.engine, layout) {
        (Engine::Postgres, Layout::DeadLetterJobs) => "id::text",
        _ => "id",
    }
}
