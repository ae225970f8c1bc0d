//! Undo of a replay where the live queue has rows that look like the replayed job, and of rows that are large.

use dlq_tui::domain::action::Action;
use dlq_tui::ledger::RunTally;

use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine, guarded_mariadb};
use crate::undo::{Bench, content};

const TWICE: &str = "the live queue has it more than once: to take back the one would leave the other to run";

fn failed(tally: &RunTally) -> Vec<(&str, u64)> {
    tally.failed.iter().map(|(reason, n)| (reason.exact(), *n)).collect()
}

/// Lets the replayed job with this key run and fail once: it waits to be tried again.
async fn fail_once(db: &TestDb, layout: Layout, id: &str) {
    let executions = match db.engine {
        Engine::Postgres => "jsonb_set(payload::jsonb, '{executions}', '1')",
        _ => "json_set(payload, '$.executions', 1)",
    };
    let set = if layout == Layout::JobsDlq { "attempts = 1".to_owned() } else { format!("payload = {executions}") };
    db.execute(&format!("update jobs set {set} where id = {id}")).await;
}

#[tokio::test]
async fn a_copy_of_a_replayed_job_is_not_taken_for_it() {
    for layout in [Layout::JobsDlq, Layout::DeadLetterJobs] {
        for db in every_engine("undo_copy").await {
            layout.seed(&db, 20).await;
            let bench = Bench::new(&db, layout).await;
            let (run, tally) = bench.act("state:dead", Action::Replay).await;
            let told = format!("{layout:?} on {:?}", db.engine);
            let ids = db.column("select id from jobs order by id").await;
            // Two jobs have been run once since. Somebody has put a copy of the first back as it was.
            let copy = "insert into jobs (payload, run_after) select payload, run_after from jobs where id =";
            db.execute(&format!("{copy} {}", ids[0])).await;
            for id in &ids[..2] {
                fail_once(&db, layout, id).await;
            }
            let (_, undone) = bench.undo(&run).await;
            assert_eq!((undone.done, failed(&undone)), (tally.done - 2, vec![(TWICE, 1)]), "{told}: {undone:?}");
            let changed = ("no longer in the queue as it was put there".to_owned(), 1);
            assert_eq!(undone.skipped, [changed], "{told}");
            assert_eq!(db.count("jobs").await, 3, "{told}");
        }
    }
}

#[tokio::test]
async fn a_row_too_large_to_look_for_costs_no_other_its_undo() {
    let Some(server) = guarded_mariadb(&["--max-allowed-packet=1M"]) else { return };
    let db = server.database("undo_large").await;
    let layout = Layout::JobsDlq;
    layout.seed(&db, 6).await;
    // As JSON within JSON its quotes take four times the room: more than the megabyte that the server takes at once, as do the
    // others together.
    for (id, quotes) in [(1, 150_000), (2, 50_000), (3, 50_000), (4, 50_000)] {
        db.execute(&format!(
            "update jobs_dlq set payload = concat('[', repeat('\"\",', {quotes}), '0]') where id = (select id from \
             (select id from jobs_dlq order by id limit {}, 1) as x)",
            id - 1
        ))
        .await;
    }
    let large = db.scalar("select min(id) from jobs_dlq").await;
    let before = content(&db, "jobs_dlq").await;
    let bench = Bench::new(&db, layout).await;
    let (run, tally) = bench.act("", Action::Replay).await;
    assert_eq!(db.count("jobs_dlq").await, 0);
    let plan = bench.plan_undo(&run, &[]).await.expect("a plan");
    let foreseen: Vec<u64> = plan.outlook.iter().map(|(_, n)| *n).collect();
    assert_eq!(foreseen, [tally.done - 1, 1], "{:?}", plan.outlook);
    let (_, undone) = bench.undo(&run).await;
    assert_eq!((undone.done, undone.failed_total()), (tally.done - 1, 1), "{undone:?}");
    assert!(failed(&undone)[0].0.contains("max_allowed_packet"), "{undone:?}");
    let after = content(&db, "jobs_dlq").await;
    assert!(after.iter().all(|row| before.contains(row)), "every row is as it was");
    assert_eq!(db.scalar(&format!("select count(*) from jobs_dlq where id = {large}")).await, "0");
}
