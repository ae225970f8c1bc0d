//! Rows that would come back without a part of them: nothing of it happens without a word.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId};
use dlq_tui::store::{Availability, Cursor, Sort, Store};
use dlq_tui::triage::Desk;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{Plan, Scope};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb, every_engine};
use crate::run::{budget, desk, go, plan, resume_to_the_end};
use crate::store_desk::{exhaust, store};
use crate::undo::content;

const ROWS: u32 = 30;

async fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    (folder, ledger)
}

async fn ask(desk: &Desk, ledger: &Ledger, scope: Scope, action: Action, options: Options) -> Result<Plan, PlanError> {
    let ask = Ask { options, ..Ask::new(scope, action, Timestamp::now()) };
    freeze(desk, ledger, ask, &budget(), |_| {}).await
}

/// Undoes a run to the end.
async fn undo(desk: &Desk, ledger: &Ledger, run: &RunId) -> u64 {
    let way = ledger.run(run).await.expect("a run").intent.action.undone_by().expect("a way back");
    let plan = ask(desk, ledger, Scope::Undo(run.clone(), Vec::new()), way, Options::default()).await.expect("a plan");
    go(desk, ledger, &plan.run).await.run.tally.done
}

async fn gain_a_column(db: &TestDb, table: &str) {
    db.execute(&format!("alter table {table} add column sla varchar(40)")).await;
    db.execute(&format!("update {table} set sla = 'gold'")).await;
}

#[tokio::test]
async fn a_column_that_came_after_the_store_was_opened_stops_a_run_which_a_new_process_resumes() {
    for action in [Action::Discard, Action::Replay] {
        for db in every_engine("gained_late").await {
            let told = format!("{action} on {:?}", db.engine);
            Layout::JobsDlq.seed(&db, ROWS).await;
            let (_folder, ledger) = ledger().await;
            let old = desk(&db.url, "jobs_dlq").await;
            let run = plan(&old, &ledger, "", action).await.run;
            gain_a_column(&db, "jobs_dlq").await;
            let before = content(&db, "jobs_dlq").await;
            let receipt = go(&old, &ledger, &run).await;
            let why = receipt.halted.as_deref().unwrap_or_default();
            assert!(why.contains("(sla)") && why.contains("start it again"), "{told}: {receipt:?}");
            assert_eq!((receipt.run.tally.done, content(&db, "jobs_dlq").await == before), (0, true), "{told}");
            let new = desk(&db.url, "jobs_dlq").await;
            resume_to_the_end(&new, &ledger, &run).await;
            assert_eq!(db.count("jobs_dlq").await, 0, "{told}");
            assert_eq!(undo(&new, &ledger, &run).await, u64::from(ROWS), "{told}");
            assert_eq!(content(&db, "jobs_dlq").await, before, "{told}");
        }
    }
}

async fn disabled(store: &dyn Store, action: Action, word: &str) {
    let availability = store.info().availability(action);
    assert!(matches!(&availability, Availability::Disabled(why) if why.contains(word)), "{action}: {availability:?}");
}

async fn shown(store: &dyn Store) -> usize {
    exhaust(store, &Filter::parse("").expect("a filter"), Sort::default(), Cursor::Start, 50).await.len()
}

#[tokio::test]
async fn a_table_that_others_inherit_from_is_only_looked_at_and_a_partitioned_one_is_acted_on() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("inherited").await;
    Layout::JobsDlq.seed(&db, ROWS).await;
    let (_folder, ledger) = ledger().await;
    let early = desk(&db.url, "jobs_dlq").await;
    let run = plan(&early, &ledger, "", Action::Discard).await.run;
    db.execute(
        "create table vip (sla text) inherits (jobs_dlq); \
         insert into vip (payload, failed_at, sla) values ('{}', '2026-11-18 09:00:00+00', 'gold')",
    )
    .await;
    let receipt = go(&early, &ledger, &run).await;
    assert!(receipt.halted.as_deref().is_some_and(|why| why.contains("inherit from jobs_dlq")), "{receipt:?}");
    let late = store(&db, Layout::JobsDlq).await;
    for action in [Action::Discard, Action::Archive, Action::Purge, Action::Replay, Action::Restore, Action::Recall] {
        disabled(&late, action, "tables inherit from jobs_dlq (vip)").await;
    }
    assert_eq!(shown(&late).await, ROWS as usize + 1);
    assert_eq!(db.count("jobs_dlq").await, u64::from(ROWS) + 1);
    db.execute(
        "drop table vip; alter table jobs_dlq rename to whole; \
         create table jobs_dlq (like whole including defaults, primary key (id)) partition by hash (id); \
         create table part partition of jobs_dlq for values with (modulus 1, remainder 0); \
         insert into jobs_dlq select * from whole",
    )
    .await;
    let before = content(&db, "jobs_dlq").await;
    let desk = desk(&db.url, "jobs_dlq").await;
    let run = plan(&desk, &ledger, "", Action::Discard).await.run;
    assert_eq!(go(&desk, &ledger, &run).await.run.tally.done, u64::from(ROWS));
    undo(&desk, &ledger, &run).await;
    assert_eq!(content(&db, "jobs_dlq").await, before);
}

#[tokio::test]
async fn through_a_view_no_row_is_deleted_and_looking_and_acting_in_place_are_possible() {
    for layout in [Layout::JobsDlq, Layout::DeadLetterJobs] {
        for db in every_engine("seen_through").await {
            layout.seed(&db, ROWS).await;
            let table = layout.table();
            db.execute(&format!(
                "alter table {table} rename to dead_rows; create view {table} as select * from dead_rows"
            ))
            .await;
            let store = store(&db, layout).await;
            for action in [Action::Discard, Action::Archive, Action::Purge, Action::Restore] {
                disabled(&store, action, &format!("{table} is a view")).await;
            }
            let replay = store.info().availability(Action::Replay);
            match layout {
                Layout::JobsDlq => disabled(&store, Action::Replay, "is a view").await,
                _ => assert!(matches!(replay, Availability::Ready { .. }), "{:?}: {replay:?}", db.engine),
            }
            assert_eq!(shown(&store).await as u64, db.count(table).await, "{:?}", db.engine);
        }
    }
}
