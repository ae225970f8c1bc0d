//! Undo, retention and erasure with the ledger in the source's database, and with one there and one on this machine.
//! Every number is counted in SQL.

use std::sync::Arc;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, LedgerLocator, Operator, RunId, RunTally};
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};

use crate::fixtures::Layout;
use crate::harness::{TestDb, every_engine};
use crate::kills::kill_at_work;
use crate::run::{dead, desk_on, go, plan, resume_to_the_end};
use crate::shared::{connect, go_on, install, operator, start, table};
use crate::store_desk::budget;
use crate::undo::content;

async fn act(desk: &StoreContext, ledger: &Ledger, filter: &str, action: Action) -> (RunId, RunTally) {
    let run = plan(desk, ledger, filter, action).await.run;
    let tally = go(desk, ledger, &run).await.run.tally;
    assert!(tally.adds_up(), "{tally:?}");
    (run, tally)
}

async fn plan_undo(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> Plan {
    let action = ledger.runs().get(run).await.expect("a run").intent.action.undone_by().expect("a way back");
    let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), action, Timestamp::now());
    freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan")
}

async fn undo(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> (RunId, RunTally) {
    let plan = plan_undo(desk, ledger, run).await;
    let tally = go(desk, ledger, &plan.run).await.run.tally;
    assert!(tally.adds_up(), "{tally:?}");
    (plan.run, tally)
}

async fn plan_erasure(desk: &StoreContext, ledger: &Ledger, id: &str) -> Plan {
    let ask = Ask {
        options: Options { no_archive: true, ..Options::default() },
        ..Ask::new(ActionScope::Jobs(vec![JobId::new(id)]), Action::Discard, Timestamp::now())
    };
    freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan")
}

/// Jobs of a run that the source's own record has as done.
async fn recorded(db: &TestDb, run: &RunId) -> u64 {
    let (jobs, runs) = (table(db, "run_jobs"), table(db, "runs"));
    let of = format!("run = (select seq from {runs} where id = '{}')", run.0);
    db.count(&format!("{jobs} where {of} and outcome = 'done' and batch is not null")).await
}

/// Rows that the source's own record has of a job.
async fn kept(db: &TestDb, id: &str) -> u64 {
    let row = if db.engine == crate::harness::Engine::Mysql { "`row`" } else { "\"row\"" };
    db.count(&format!("{} where job_id = '{id}' and {row} <> ''", table(db, "archive"))).await
}

#[tokio::test]
async fn what_is_undone_purged_archived_and_erased_is_what_the_tables_say() {
    for layout in Layout::ALL {
        for db in every_engine("shared_undo").await {
            layout.seed(&db, 240).await;
            install(&db).await;
            let (desk, ledger) = operator(&db.url, layout).await;
            let (rows, own) = (layout.table(), dead(&db, layout).await);
            let before = content(&db, rows).await;
            let told = format!("{layout:?} on {:?}", db.engine);
            let ways: &[Action] = match layout {
                Layout::DeadLetterJobs => &[Action::Discard, Action::Replay, Action::Ignore],
                _ => &[Action::Discard, Action::Replay],
            };
            for action in ways {
                let (run, tally) = act(&desk, &ledger, "state:dead", *action).await;
                assert_eq!((tally.done, recorded(&db, &run).await, dead(&db, layout).await), (own, own, 0), "{told}");
                let (back, tally) = undo(&desk, &ledger, &run).await;
                assert_eq!((tally.done, recorded(&db, &back).await), (own, own), "{told} {action}: {tally:?}");
                assert_eq!(dead(&db, layout).await, own, "{told} {action}");
                match action {
                    Action::Ignore => {}
                    _ => assert_eq!(content(&db, rows).await, before, "{told} {action}"),
                }
                if layout != Layout::DlqEvents {
                    assert_eq!(db.count("jobs").await, 0, "{told} {action}");
                }
            }
            // No worker has had any of them: the guard against loops counts none of it.
            let again = plan(&desk, &ledger, "state:dead", Action::Replay).await;
            assert_eq!((again.count, again.warnings), (own, Vec::<String>::new()), "{told}");

            let id = db.column(&format!("select cast(id as char(40)) from {rows} where {}", layout.is_dead())).await;
            let id: Vec<&str> = id.iter().map(|id| id.trim()).take(1).collect();
            assert!(kept(&db, id[0]).await > 0, "{told}");
            let run = plan_erasure(&desk, &ledger, id[0]).await.run;
            let receipt = go(&desk, &ledger, &run).await;
            assert_eq!((receipt.run.tally.done, recorded(&db, &run).await), (1, 1), "{told}: {receipt:?}");
            assert_eq!((kept(&db, id[0]).await, dead(&db, layout).await), (0, own - 1), "{told}");

            let (all, half) = (db.count(rows).await, own / 2);
            let filter = Filter::parse("state:dead").expect("a filter");
            let ask =
                Ask { limit: Some(half), ..Ask::new(ActionScope::Filter(filter), Action::Archive, Timestamp::now()) };
            let run = freeze(&desk, &ledger, ask, &budget(), |_| {}).await.expect("a plan").run;
            let tally = go(&desk, &ledger, &run).await.run.tally;
            assert_eq!((tally.done, recorded(&db, &run).await), (half, half), "{told}: {tally:?}");
            let there = (db.count(rows).await, db.count(&format!("{rows}_archive")).await);
            assert_eq!(there, (all - half, half), "{told}");
            let (run, tally) = act(&desk, &ledger, "state:dead", Action::Purge).await;
            let rest = own - 1 - half;
            assert_eq!((tally.done, recorded(&db, &run).await), (rest, rest), "{told}: {tally:?}");
            assert_eq!((db.count(rows).await, dead(&db, layout).await), (all - half - rest, 0), "{told}");
        }
    }
}

#[tokio::test]
async fn a_shared_undo_that_is_killed_again_and_again_brings_each_job_back_once() {
    let ways = [
        (Layout::JobsDlq, Action::Discard),
        (Layout::JobsDlq, Action::Replay),
        (Layout::DeadLetterJobs, Action::Discard),
    ];
    for (layout, action) in ways {
        for db in every_engine("shared_undo_killed").await {
            layout.seed(&db, 2_000).await;
            install(&db).await;
            let (desk, ledger) = operator(&db.url, layout).await;
            let before = content(&db, layout.table()).await;
            let (run, tally) = act(&desk, &ledger, "state:dead", action).await;
            let back = plan_undo(&desk, &ledger, &run).await.run;
            kill_at_work(&ledger, &back, &[0, 7, 19], || start(&db, layout, &back)).await;
            resume_to_the_end(&desk, &ledger, &back).await;
            let last = ledger.runs().tally(&back).await.expect("a tally");
            let told = format!("{layout:?} {action} on {:?}: {last:?}", db.engine);
            assert_eq!((last.done, recorded(&db, &back).await), (tally.done, tally.done), "{told}");
            assert_eq!(content(&db, layout.table()).await, before, "{told}");
            assert_eq!(db.count("jobs").await, 0, "{told}");
        }
    }
}

/// One store with the record that it had on this machine, and with both once the source has one too.
async fn two_homes(db: &TestDb, layout: Layout) -> (tempfile::TempDir, StoreContext, LedgerLocator, Ledger) {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = connect(&db.url).await;
    let desk = desk_on(Arc::clone(&engine), layout.table(), ReplayDestination::Table("jobs".into())).await;
    let path = folder.path().join("ledger.sqlite3");
    let local = LedgerLocator::new(path.clone(), Some(Arc::clone(&engine).into())).ledger().await.expect("a ledger");
    let homes = LedgerLocator::new(path, Some(engine.into()));
    (folder, desk, homes, local)
}

#[tokio::test]
async fn a_run_of_this_machine_is_undone_in_the_record_that_the_source_has_got_since() {
    for layout in [Layout::JobsDlq, Layout::DlqEvents] {
        for db in every_engine("two_homes").await {
            layout.seed(&db, 120).await;
            let (_folder, desk, homes, local) = two_homes(&db, layout).await;
            let (before, own) = (content(&db, layout.table()).await, dead(&db, layout).await);
            let (discard, _) = act(&desk, &local, "state:dead", Action::Discard).await;
            install(&db).await;
            let both = homes.ledger().await.expect("a ledger");
            assert!(both.is_shared());
            let told = format!("{layout:?} on {:?}", db.engine);
            let (back, tally) = undo(&desk, &both, &discard).await;
            assert_eq!((tally.done, recorded(&db, &back).await), (own, own), "{told}: {tally:?}");
            assert_eq!(content(&db, layout.table()).await, before, "{told}");

            let (replay, _) = act(&desk, &local, "state:dead", Action::Replay).await;
            let (back, tally) = undo(&desk, &both, &replay).await;
            assert_eq!((tally.done, recorded(&db, &back).await), (own, own), "{told}: {tally:?}");
            assert_eq!(content(&db, layout.table()).await, before, "{told}");
            let again = plan(&desk, &both, "state:dead", Action::Replay).await;
            assert_eq!((again.count, again.warnings), (own, Vec::<String>::new()), "{told}");
        }
    }
}

#[tokio::test]
async fn an_erasure_reaches_every_record_and_every_name_of_the_source() {
    for db in every_engine("erasure_homes").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let (_folder, desk, homes, local) = two_homes(&db, Layout::JobsDlq).await;
        let (first, _) = act(&desk, &local, "state:dead", Action::Discard).await;
        undo(&desk, &local, &first).await;
        install(&db).await;
        let both = homes.ledger().await.expect("a ledger");
        // Another operator's config has another name for the same source.
        let other = StoreContext { source: "elsewhere".into(), operator: Operator::default(), ..desk.clone() };
        let (second, _) = act(&other, &both, "state:dead", Action::Discard).await;
        undo(&other, &both, &second).await;

        let plan = plan_erasure(&desk, &both, "7").await;
        let told = format!("{:?}: {:?}", db.engine, plan.notes);
        assert!(plan.notes.iter().any(|note| note.contains("2 rows")), "{told}");
        go(&desk, &both, &plan.run).await;
        assert_eq!(kept(&db, "7").await, 0, "{told}");
        assert!(local.snapshots().get(&first, &[JobId::new("7")]).await.expect("rows").is_empty(), "{told}");
        assert_eq!(
            (kept(&db, "8").await, local.snapshots().get(&first, &[JobId::new("8")]).await.expect("rows").len()),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn an_erasure_that_was_interrupted_after_its_commit_still_erases_what_was_kept_before() {
    for db in every_engine("erasure_cut").await {
        Layout::JobsDlq.seed(&db, 20).await;
        install(&db).await;
        let (desk, ledger) = operator(&db.url, Layout::JobsDlq).await;
        let (first, _) = act(&desk, &ledger, "state:dead", Action::Discard).await;
        undo(&desk, &ledger, &first).await;
        let whole = ledger.snapshots().get(&first, &[JobId::new("7")]).await.expect("rows");
        let run = plan_erasure(&desk, &ledger, "7").await.run;
        go(&desk, &ledger, &run).await;
        // As a process leaves it that dies between the commit and the erasure.
        ledger.snapshots().keep(&first, &whole).await.expect("kept");
        db.execute(&format!("update {} set state = 'running' where id = '{}'", table(&db, "runs"), run.0)).await;
        assert_eq!(kept(&db, "7").await, 1, "{:?}", db.engine);
        let receipt = go_on(&desk, &ledger, &run).await.expect("a receipt");
        assert_eq!((receipt.run.tally.done, kept(&db, "7").await), (1, 0), "{:?}", db.engine);
    }
}
