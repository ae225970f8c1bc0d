//! Changed arguments on real databases: exactly what was confirmed is written, once, and can be undone byte for byte.

use std::path::PathBuf;
use std::time::Duration;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId, RunTally};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};
use dlq_tui::triage::repair::{EditRequest, EditSource, EvaluationLimits, EvaluatorOptions};

use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine, every_server};
use crate::kills::kill_at_work;
use crate::run::{budget, dead, desk, go, resume_to_the_end, start};
use crate::shared;
use crate::store_desk::filter;
use crate::undo::content;

const LAYOUTS: [(Layout, &str); 3] =
    [(Layout::DeadLetterJobs, "arguments"), (Layout::DlqEvents, "payload"), (Layout::JobsDlq, "payload")];

/// Numbers that no float holds, spaces, escapes, and a secret.
const ARGUMENTS: &str =
    r#"{ "id": 12345678901234567890.10, "rate" : 1.10, "name":"caf\u00e9",  "currency": null, "password":"hunter2" }"#;

/// The number, where the database did not round it before anybody repaired anything.
const EXACT: &str = "%12345678901234567890.10%";

pub fn edit(expression: &str) -> EditRequest {
    let evaluator = EvaluatorOptions {
        program: PathBuf::from(env!("CARGO_BIN_EXE_dlq-tui")),
        timeout: Duration::from_secs(60),
        max_stopped: 20,
        limits: EvaluationLimits::default(),
    };
    EditRequest { source: EditSource::Expression { expression: expression.to_owned(), evaluator }, examples: 0 }
}

async fn plan(desk: &StoreContext, ledger: &Ledger, expression: &str, text: &str) -> Result<Plan, PlanError> {
    let ask = Ask::new(ActionScope::Filter(filter(text)), Action::Repair, Timestamp::now());
    freeze(desk, ledger, Ask { edit: Some(edit(expression)), ..ask }, &budget(), |_| {}).await
}

async fn plan_replay(desk: &StoreContext, ledger: &Ledger, expression: &str) -> Plan {
    let ask = Ask::new(ActionScope::Filter(filter("state:dead")), Action::Replay, Timestamp::now());
    freeze(desk, ledger, Ask { edit: Some(edit(expression)), ..ask }, &budget(), |_| {}).await.expect("a plan")
}

async fn undo(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> (RunId, RunTally) {
    let action = ledger.runs().get(run).await.expect("a run").intent.action.undone_by().expect("a way back");
    let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), action, Timestamp::now());
    let plan = freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan");
    let receipt = go(desk, ledger, &plan.run).await;
    (plan.run, receipt.run.tally)
}

async fn local() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    (folder, ledger)
}

/// Jobs whose column, as text, is like this.
async fn like(db: &TestDb, layout: Layout, column: &str, pattern: &str) -> u64 {
    let of = if db.engine == Engine::Mysql { "char" } else { "text" };
    db.count(&format!("{} where cast({column} as {of}) like '{pattern}'", layout.table())).await
}

/// Gives all rows the same arguments, and `other` to those with an even number at the end of their key.
async fn fill(db: &TestDb, layout: Layout, column: &str) {
    let arguments = ARGUMENTS.replace('\\', if db.engine == Engine::Mysql { "\\\\" } else { "\\" });
    db.execute(&format!("update {} set {column} = '{arguments}'", layout.table())).await;
}

#[tokio::test]
async fn a_cohort_is_repaired_and_put_back_byte_for_byte_on_every_database() {
    for (layout, column) in LAYOUTS {
        for db in every_server("repair").await {
            layout.seed(&db, 400).await;
            fill(&db, layout, column).await;
            let told = format!("{} on {}", layout.table(), db.engine.name());
            let before = dead(&db, layout).await;
            let rows = content(&db, layout.table()).await;
            let exact = like(&db, layout, column, EXACT).await;
            let (_folder, ledger) = local().await;
            let desk = desk(&db.url, layout.table()).await;
            let planned = plan(&desk, &ledger, ".currency //= \"EUR\"", "state:dead").await.expect("a plan");
            let report = planned.breakdown.by_change.as_ref().expect("a report");
            assert_eq!((planned.count, report.jobs, report.changed), (before, before, before), "{told}");
            assert_eq!(content(&db, layout.table()).await, rows, "{told}: a plan wrote");
            let tally = go(&desk, &ledger, &planned.run).await.run.tally;
            assert_eq!((tally.done, dead(&db, layout).await), (before, before), "{told}: {tally:?}");
            // All that is not the change is there as it was, where the database keeps it so.
            let written = like(&db, layout, column, "%\"currency\":%\"EUR\"%").await;
            let kept = like(&db, layout, column, "%\"password\":%hunter2%").await;
            assert_eq!((written, kept), (before, db.count(layout.table()).await), "{told}");
            assert_eq!(like(&db, layout, column, EXACT).await, exact, "{told}: a number is another one");
            let repaired = content(&db, layout.table()).await;

            // The same again changes nothing, and says so.
            let again = plan(&desk, &ledger, ".currency //= \"EUR\"", "state:dead").await;
            assert!(matches!(again, Err(PlanError::Unchanged { .. })), "{told}: {again:?}");

            let (reverted, tally) = undo(&desk, &ledger, &planned.run).await;
            assert_eq!((tally.done, tally.planned), (before, before), "{told}: {tally:?}");
            assert_eq!(content(&db, layout.table()).await, rows, "{told}: not as it was");
            let (_, tally) = undo(&desk, &ledger, &reverted).await;
            assert_eq!(tally.done, before, "{told}: {tally:?}");
            assert_eq!(content(&db, layout.table()).await, repaired, "{told}: the undo is not undone");
        }
    }
}

#[tokio::test]
async fn a_job_that_changes_between_plan_and_write_is_left_alone() {
    for (layout, column) in LAYOUTS {
        for db in every_engine("repair_changed").await {
            layout.seed(&db, 60).await;
            fill(&db, layout, column).await;
            let (_folder, ledger) = local().await;
            let desk = desk(&db.url, layout.table()).await;
            let planned = plan(&desk, &ledger, ".currency = \"EUR\"", "state:dead").await.expect("a plan");
            let told = format!("{} on {}", layout.table(), db.engine.name());
            // Another session is first, with a number that a comparison by value would take for the same.
            let id = &planned.sample[0].id;
            let key = if db.engine == Engine::Mysql { "cast(id as char)" } else { "cast(id as text)" };
            let other = ARGUMENTS
                .replace(" 1.10,", " 1.100,")
                .replace('\\', if db.engine == Engine::Mysql { "\\\\" } else { "\\" });
            db.execute(&format!("update {} set {column} = '{other}' where {key} = '{}'", layout.table(), id.as_str()))
                .await;
            let tally = go(&desk, &ledger, &planned.run).await.run.tally;
            assert_eq!(tally.skipped, [("changed meanwhile".to_owned(), 1)], "{told}: {tally:?}");
            assert_eq!(tally.done, planned.count - 1, "{told}");
            assert_eq!(like(&db, layout, column, "%1.100,%").await, 1, "{told}: the other session's write is lost");

            // Whoever changes what we wrote keeps it too.
            let done = ledger.cohorts().done_jobs(&planned.run, &[], 0, 1).await.expect("jobs")[0].1.id.clone();
            db.execute(&format!("update {} set {column} = '[7]' where {key} = '{}'", layout.table(), done.as_str()))
                .await;
            let (_, tally) = undo(&desk, &ledger, &planned.run).await;
            assert_eq!(tally.skipped, [("changed meanwhile".to_owned(), 1)], "{told}: {tally:?}");
            assert_eq!(like(&db, layout, column, "[7]").await, 1, "{told}");
        }
    }
}

#[tokio::test]
async fn a_repair_that_is_killed_again_and_again_writes_each_job_once() {
    for (layout, column) in [LAYOUTS[0], LAYOUTS[2]] {
        for db in every_engine("repair_killed").await {
            layout.seed(&db, 3_000).await;
            fill(&db, layout, column).await;
            let (_folder, ledger) = local().await;
            let desk = desk(&db.url, layout.table()).await;
            // Written twice, it would be seen.
            let planned = plan(&desk, &ledger, ".n = (.n // \"\") + \"x\"", "state:dead").await.expect("a plan");
            kill_at_work(&ledger, &planned.run, &[0, 3, 9, 14, 22, 31], || start(&db, layout, &ledger, &planned.run))
                .await;
            resume_to_the_end(&desk, &ledger, &planned.run).await;
            let tally = ledger.runs().tally(&planned.run).await.expect("a tally");
            let told = format!("{} on {}: {tally:?}", layout.table(), db.engine.name());
            assert_eq!((tally.done, tally.planned), (planned.count, planned.count), "{told}");
            let (once, twice) =
                (like(&db, layout, column, "%\"x\"%").await, like(&db, layout, column, "%\"xx\"%").await);
            assert_eq!((once, twice), (planned.count, 0), "{told}");
            let (_, tally) = undo(&desk, &ledger, &planned.run).await;
            assert_eq!(tally.done, planned.count, "{told}");
        }
    }
}

#[tokio::test]
async fn the_record_of_a_repair_can_stand_in_the_source() {
    let (layout, column) = LAYOUTS[0];
    for db in every_server("repair_shared").await {
        layout.seed(&db, 300).await;
        fill(&db, layout, column).await;
        let rows = content(&db, layout.table()).await;
        shared::install(&db).await;
        let (desk, ledger) = shared::operator(&db.url, layout).await;
        let planned = plan(&desk, &ledger, ".currency = \"EUR\"", "state:dead").await.expect("a plan");
        let tally = go(&desk, &ledger, &planned.run).await.run.tally;
        assert_eq!(tally.done, planned.count, "{}: {tally:?}", db.engine.name());
        // Another operator finds what this one has overwritten.
        let (other, their) = shared::operator(&db.url, layout).await;
        let (_, tally) = undo(&other, &their, &planned.run).await;
        assert_eq!(tally.done, planned.count, "{}: {tally:?}", db.engine.name());
        assert_eq!(content(&db, layout.table()).await, rows, "{}", db.engine.name());
    }
}

#[tokio::test]
async fn ten_megabytes_of_arguments_are_written_and_put_back() {
    let (layout, column) = (Layout::JobsDlq, "payload");
    for db in every_engine("repair_large").await {
        layout.seed(&db, 5).await;
        let (of, large) = match db.engine {
            Engine::Sqlite => ("text", "replace(hex(zeroblob(5000000)), '0', 'x')"),
            Engine::Mysql => ("char", "repeat('x', 10000000)"),
            Engine::Postgres => ("text", "repeat('x', 10000000)"),
        };
        let joined = match db.engine {
            Engine::Mysql => format!("concat('{{\"pad\":\"', {large}, '\", \"n\": 1}}')"),
            _ => format!("'{{\"pad\":\"' || {large} || '\", \"n\": 1}}'"),
        };
        let cast = if db.engine == Engine::Postgres { "::json" } else { "" };
        db.execute(&format!("update jobs_dlq set {column} = ({joined}){cast} where id <= 3")).await;
        let rows = content(&db, "jobs_dlq").await;
        let (_folder, ledger) = local().await;
        let desk = desk(&db.url, layout.table()).await;
        let planned =
            plan(&desk, &ledger, "if has(\"pad\") then .n = 2 else . end", "state:dead").await.expect("a plan");
        assert_eq!(planned.count, 3, "{}: {:?}", db.engine.name(), planned.breakdown.by_change);
        let tally = go(&desk, &ledger, &planned.run).await.run.tally;
        assert_eq!(tally.done, 3, "{}: {tally:?}", db.engine.name());
        let length = format!("length(cast({column} as {of})) > 10000000 and cast({column} as {of}) like '%\"n\": 2%'");
        assert_eq!(db.count(&format!("jobs_dlq where {length}")).await, 3, "{}", db.engine.name());
        let (_, tally) = undo(&desk, &ledger, &planned.run).await;
        assert_eq!(tally.done, 3, "{}: {tally:?}", db.engine.name());
        assert!(content(&db, "jobs_dlq").await == rows, "{}: not as it was", db.engine.name());
    }
}

#[tokio::test]
async fn what_was_kept_of_a_job_for_its_undo_goes_when_the_job_is_erased() {
    let (layout, column) = LAYOUTS[0];
    let db = crate::harness::sqlite("repair_erased").await;
    layout.seed(&db, 20).await;
    fill(&db, layout, column).await;
    let (_folder, ledger) = local().await;
    let desk = desk(&db.url, layout.table()).await;
    let planned = plan(&desk, &ledger, ".currency = \"EUR\"", "state:dead").await.expect("a plan");
    go(&desk, &ledger, &planned.run).await;
    let id: JobId = planned.sample[0].id.clone();
    let kept =
        async |id: &JobId| ledger.edits().get(&planned.run, std::slice::from_ref(id)).await.expect("edits").len();
    assert_eq!(kept(&id).await, 1);
    let options = dlq_tui::domain::run_options::Options { no_archive: true, ..Default::default() };
    let ask = Ask::new(ActionScope::Jobs(vec![id.clone()]), Action::Discard, Timestamp::now());
    let erasure = freeze(&desk, &ledger, Ask { options, ..ask }, &budget(), |_| {}).await.expect("a plan");
    go(&desk, &ledger, &erasure.run).await;
    assert_eq!((kept(&id).await, kept(&planned.sample[1].id).await), (0, 1));
    // A plan that is dismissed leaves nothing of anybody's arguments.
    let left = plan(&desk, &ledger, ".currency = \"USD\"", "state:dead").await.expect("a plan");
    ledger.runs().dismiss(&left.run, Timestamp::now()).await.expect("dismissed");
    assert!(ledger.edits().get(&left.run, &[planned.sample[1].id.clone()]).await.expect("edits").is_empty());
}

#[tokio::test]
async fn a_repair_with_its_replay_is_one_transaction_and_one_undo() {
    for (layout, column) in LAYOUTS {
        for db in every_server("repair_replay").await {
            layout.seed(&db, 300).await;
            fill(&db, layout, column).await;
            let told = format!("{} on {}", layout.table(), db.engine.name());
            let before = dead(&db, layout).await;
            let (_folder, ledger) = local().await;
            let desk = desk(&db.url, layout.table()).await;
            let planned = plan_replay(&desk, &ledger, ".currency = \"EUR\"").await;
            assert_eq!(planned.count, before, "{told}");
            // One job changes meanwhile: it is neither written nor replayed.
            let id = planned.sample[0].id.as_str().to_owned();
            let key = if db.engine == Engine::Mysql { "cast(id as char)" } else { "cast(id as text)" };
            db.execute(&format!("update {} set {column} = '[7]' where {key} = '{id}'", layout.table())).await;
            let rows = content(&db, layout.table()).await;
            let tally = go(&desk, &ledger, &planned.run).await.run.tally;
            assert_eq!((tally.done, dead(&db, layout).await), (before - 1, 1), "{told}: {tally:?}");
            assert_eq!(tally.skipped, [("changed meanwhile".to_owned(), 1)], "{told}: {tally:?}");
            let live = async |pattern: &str| match layout {
                Layout::DlqEvents => like(&db, layout, column, pattern).await,
                _ => {
                    let text = if db.engine == Engine::Mysql { "char" } else { "text" };
                    db.count(&format!("jobs where cast(payload as {text}) like '{pattern}'")).await
                }
            };
            assert_eq!(live("%EUR%").await, before - 1, "{told}: replayed as they were");
            let (_, tally) = undo(&desk, &ledger, &planned.run).await;
            assert_eq!((tally.done, live("%EUR%").await), (before - 1, 0), "{told}: {tally:?}");
            let mut now = content(&db, layout.table()).await;
            let mut rows = rows;
            now.sort();
            rows.sort();
            assert!(now == rows, "{told}: not as it was");
        }
    }
}

#[tokio::test]
async fn a_replay_with_its_repair_that_is_killed_replays_each_job_once_with_its_new_arguments() {
    let (layout, column) = LAYOUTS[0];
    for db in every_engine("repair_replay_killed").await {
        layout.seed(&db, 3_000).await;
        fill(&db, layout, column).await;
        let (_folder, ledger) = local().await;
        let desk = desk(&db.url, layout.table()).await;
        let planned = plan_replay(&desk, &ledger, ".n = (.n // \"\") + \"x\"").await;
        kill_at_work(&ledger, &planned.run, &[0, 3, 9, 14, 22, 31], || start(&db, layout, &ledger, &planned.run)).await;
        resume_to_the_end(&desk, &ledger, &planned.run).await;
        let tally = ledger.runs().tally(&planned.run).await.expect("a tally");
        let told = format!("{}: {tally:?}", db.engine.name());
        assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, planned.count), "{told}");
        let of = if db.engine == Engine::Mysql { "char" } else { "text" };
        let like = async |pattern: &str| db.count(&format!("jobs where cast(payload as {of}) like '{pattern}'")).await;
        assert_eq!((like("%\"x\"%").await, like("%\"xx\"%").await), (planned.count, 0), "{told}");
    }
}
