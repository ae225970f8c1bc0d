//! Batches of one run that are under way beside each other, and stand before each other's locks.

use dlq_tui::domain::action::Action;
use dlq_tui::ledger::Ledger;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};

use crate::fixtures::Layout;
use crate::harness;
use crate::run::{dead, desk, plan, progress};

/// An application that counts what is settled of each class, row by row: whoever settles a job of a class keeps everybody else
/// from settling one, to the end of the transaction. Beside them one row for all, which is taken last.
const COUNTERS: &str = "create table settled (job_class varchar primary key, n bigint not null); \
    insert into settled select distinct job_class, 0 from dead_letter_jobs union all select '', 0; \
    create function count_class() returns trigger language plpgsql as \
    $$ begin update settled set n = n + 1 where job_class = new.job_class; return new; end $$; \
    create function count_all() returns trigger language plpgsql as \
    $$ begin update settled set n = n + (select count(*) from changed) where job_class = ''; return null; end $$; \
    create trigger count_class before update on dead_letter_jobs for each row execute function count_class(); \
    create trigger count_all after update on dead_letter_jobs referencing new table as changed for each statement \
    execute function count_all()";

#[tokio::test]
async fn batches_that_stand_before_each_others_locks_give_way_and_each_job_is_replayed_once() {
    let Some(server) = harness::postgres() else { return };
    let (db, layout) = (server.database("abreast").await, Layout::DeadLetterJobs);
    layout.seed(&db, 6_000).await;
    db.execute(COUNTERS).await;
    let before = dead(&db, layout).await;
    let desk = desk(&db.url, layout.table()).await;
    assert!(desk.store.info().abreast, "the trigger is none of the layout's guards");
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
    let options = RunOptions { batch: 100, ..RunOptions::default() };
    let receipt = execute(&desk, &ledger, &run, options, &RunControl::new(), &progress()).await.expect("a receipt");
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(receipt.run.tally.done, before);
    assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before));
    let counted = db.scalar("select sum(n) filter (where job_class <> '') || ' ' || max(n) from settled").await;
    assert_eq!(counted, format!("{before} {before}"), "each took effect once");
}
