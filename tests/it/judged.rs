//! Terms that the ledger judges, on real databases: what was replayed from here can be listed, counted and left out.

use std::path::Path;
use std::sync::Arc;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, Operator};
use dlq_tui::store::{Cursor, Sort, Store};
use dlq_tui::triage::Desk;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::judged::Judged;
use dlq_tui::triage::plan::Scope;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::{budget, exhaust, filter, histogram, store};

async fn desk(db: &TestDb, ledger: &Path) -> Desk {
    let store = store(db, Layout::DeadLetterJobs).await;
    let store = Arc::new(Judged::new(store, "shop".into(), dlq_tui::ledger::Homes::new(ledger.to_owned(), None)));
    Desk { store, source: "shop".into(), production: false, operator: Operator::default() }
}

async fn replay(desk: &Desk, ledger: &Ledger, ids: Vec<JobId>) {
    let ask = Ask::new(Scope::Jobs(ids), Action::Replay, Timestamp::now());
    let plan = freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan");
    let progress = crate::run::progress();
    execute(desk, ledger, &plan.run, RunOptions::default(), &RunControl::new(), &progress).await.expect("a run");
}

async fn ids(store: &dyn Store, filter: &Filter, from: Cursor) -> Vec<JobId> {
    exhaust(store, filter, Sort::default(), from, 30).await.into_iter().map(|e| e.row.id).collect()
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
        assert_eq!(ids(&*desk.store, &replayed, Cursor::Start).await, some, "{}", db.engine.name());
        assert_eq!(ids(&*desk.store, &replayed, Cursor::End).await, some, "{} backwards", db.engine.name());
        let counted = histogram(&*desk.store, Facet::Error, &replayed).await.histogram;
        assert_eq!(counted.total.n, some.len() as u64);
        assert_eq!(counted.bars.iter().map(|b| b.count.n).sum::<u64>(), some.len() as u64);

        let left = ids(&*desk.store, &filter("replayed:0"), Cursor::Start).await;
        assert_eq!(left.len(), dead.len() - some.len(), "{}", db.engine.name());
        assert!(ids(&*desk.store, &filter("replayed:>1 state:resolved"), Cursor::Start).await.is_empty());
    }
}
