//! A rehearsal: copies of dead jobs go to another queue, and the dead rows stay.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId, RunState};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine, every_server};
use crate::kills::{BATCH, kill_at_work, kill_before_entry};
use crate::run::{budget, dead, desk, resume_to_the_end};
use crate::shared;

const CONFIG: &str = "[sources.a]\nurl_env = \"DATABASE_URL\"\nreplay = { table = \"jobs\" }\n";
const COMMAND: &str = "[sources.a]\nurl_env = \"DATABASE_URL\"\nreplay = { command = [\"/bin/true\"] }\n";
const COPY: [&str; 7] = ["replay", "--source", "a", "--all", "--to-queue", "rehearsal", "--copy"];

/// Every row of the dead jobs' table, whole.
async fn rows(db: &TestDb, layout: Layout) -> Vec<String> {
    let columns = match layout {
        Layout::DeadLetterJobs => {
            "id, job_id, job_class, queue_name, arguments, error_class, status, metadata, updated_at"
        }
        _ => "id, original_id, payload, attempts, error_class, error_msg, stacktrace, failed_by, failed_at",
    };
    db.column(&format!("select concat_ws('|', {columns}) from {} order by id", layout.table())).await
}

/// The live jobs' payloads.
async fn payloads(db: &TestDb) -> Vec<serde_json::Value> {
    let column = if db.engine == Engine::Postgres { "payload::text" } else { "payload" };
    let payloads = db.column(&format!("select {column} from jobs order by id")).await;
    payloads.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

#[tokio::test]
async fn copies_stand_in_the_other_queue_and_the_dead_rows_stay_as_they_were() {
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        for db in every_engine(&format!("copies_{}", layout.table())).await {
            layout.seed(&db, 30).await;
            let (before, dead_jobs) = (rows(&db, layout).await, dead(&db, layout).await);
            let user = User::of(&db).configured(CONFIG);
            let plan = user.run(&[&COPY[..], &["--dry-run"]].concat());
            assert!(plan.out.contains("The dead rows stay as they are"), "{}", plan.out);
            assert!(!plan.out.contains("moves from") && db.count("jobs").await == 0, "{}", plan.out);
            let mut run = String::new();
            for times in 1..=2 {
                let receipt = user.json(&[&COPY[..], &["--yes", "-o", "json"]].concat());
                let told = format!("{layout:?} on {:?}: {receipt}", db.engine);
                assert_eq!(
                    (receipt["action"].as_str(), receipt["done"].as_u64()),
                    (Some("copy"), Some(dead_jobs)),
                    "{told}"
                );
                let jobs = payloads(&db).await;
                assert_eq!(jobs.len() as u64, dead_jobs * times, "{told}");
                let queue = |job: &serde_json::Value| job.get("queue_name").or(job.get("queue")).cloned();
                assert!(jobs.iter().all(|job| queue(job).is_some_and(|queue| queue == "rehearsal")), "{told}");
                assert_eq!(rows(&db, layout).await, before, "{told}");
                receipt["run"].as_str().expect("a run").clone_into(&mut run);
            }
            let replayed = user.run(&["list", "--source", "a", "-f", "replayed:>0", "-o", "jsonl"]);
            assert_eq!(replayed.out, "", "a copy is no replay");
            assert!(user.run(&["runs", &run]).out.contains("the dead rows stay"));
            let undo = user.run(&["undo", "--source", "a", &run, "--yes"]);
            assert!(undo.code != 0 && undo.err.contains("whoever owns that queue deletes them"), "{}", undo.err);
            assert_eq!(db.count("jobs").await, dead_jobs * 2);
            // The jobs can still be replayed.
            let replay = user.json(&["replay", "--source", "a", "--all", "--yes", "-o", "json"]);
            assert_eq!((replay["done"].as_u64(), dead(&db, layout).await), (Some(dead_jobs), 0), "{replay}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_copied_is_refused_with_the_reason_and_nothing_changes() {
    for db in every_engine("no_copies").await {
        Layout::DeadLetterJobs.seed(&db, 5).await;
        let before = rows(&db, Layout::DeadLetterJobs).await;
        let user = User::of(&db).configured(CONFIG);
        let own = user.run(&["replay", "--source", "a", "--all", "--copy", "--yes"]);
        assert!(own.with(2).contains("--copy needs --to-queue NAME"), "{}", own.err);
        for more in [&["--canary", "2"][..], &["--keep"], &["--no-archive"], &["--ramp"], &["--max-replays", "9"]] {
            let refused = user.run(&[&COPY[..], more, &["--yes"]].concat());
            assert!(refused.with(2).contains("cannot be used with"), "{}", refused.err);
        }
        let command = User::of(&db).configured(COMMAND).run(&[&COPY[..], &["--yes"]].concat());
        assert!(command.code != 0 && command.err.contains("go to a command"), "{}", command.err);
        assert_eq!((rows(&db, Layout::DeadLetterJobs).await, db.count("jobs").await), (before, 0));
    }
    for db in every_engine("no_copies_in_place").await {
        Layout::DlqEvents.seed(&db, 5).await;
        let refused = User::of(&db).run(&["replay", "--all", "--to-queue", "rehearsal", "--copy", "--yes"]);
        assert!(refused.code != 0 && refused.err.contains("`copies = true`"), "{}", refused.err);
    }
}

async fn plan(desk: &StoreContext, ledger: &Ledger) -> RunId {
    let scope = ActionScope::Filter(Filter::parse("state:dead").expect("a filter"));
    let options = Options { to_queue: Some("rehearsal".into()), ..Options::default() };
    let ask = Ask { options, ..Ask::new(scope, Action::Copy, Timestamp::now()) };
    freeze(desk, ledger, ask, &budget(), |_| {}).await.expect("a plan").run
}

#[tokio::test]
async fn an_interrupted_batch_is_not_copied_again_unless_the_database_says_that_it_was_undone() {
    let layout = Layout::DeadLetterJobs;
    for db in every_engine("copies_killed").await {
        layout.seed(&db, 6_000).await;
        let (before, dead_jobs) = (rows(&db, layout).await, dead(&db, layout).await);
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, layout.table()).await;
        let run = plan(&desk, &ledger).await;
        let (copied, recorded) = kill_before_entry(&db, layout, &ledger, &run).await;
        assert!(copied > recorded, "{:?}", db.engine);
        resume_to_the_end(&desk, &ledger, &run).await;
        let tally = ledger.runs().tally(&run).await.expect("a tally");
        let jobs = payloads(&db).await;
        let ids: std::collections::HashSet<_> = jobs.iter().map(|job| job["job_id"].to_string()).collect();
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((ids.len(), jobs.len() as u64), (jobs.len(), dead_jobs), "none is copied twice: {told}");
        assert_eq!((tally.done + tally.failed_total(), rows(&db, layout).await), (dead_jobs, before), "{told}");
        match db.engine {
            Engine::Postgres => assert_eq!(tally.failed_total(), 0, "{told}"),
            _ => {
                assert!((1..=BATCH as u64).contains(&tally.failed_total()), "{told}");
                let is_doubt =
                    |reason: &dlq_tui::domain::text::Untrusted| reason.line_head(9).to_string().starts_with("in doubt");
                assert!(tally.failed.iter().all(|(reason, _)| is_doubt(reason)), "{told}");
            }
        }
    }
}

#[tokio::test]
async fn a_run_that_is_killed_again_and_again_copies_each_job_once_where_the_record_is_in_the_source() {
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        for db in every_server(&format!("copies_shared_{}", layout.table())).await {
            layout.seed(&db, 3_000).await;
            shared::install(&db).await;
            let (before, dead_jobs) = (rows(&db, layout).await, dead(&db, layout).await);
            let (desk, ledger) = shared::operator(&db.url, layout).await;
            let run = plan(&desk, &ledger).await;
            kill_at_work(&ledger, &run, &[0, 3, 9, 14, 22, 31], || shared::start(&db, layout, &run)).await;
            let mut state = ledger.runs().get(&run).await.expect("a run").state;
            while state != RunState::Finished {
                state = shared::go_on(&desk, &ledger, &run).await.expect("a receipt").run.state;
            }
            let tally = ledger.runs().tally(&run).await.expect("a tally");
            let told = format!("{layout:?} on {:?}: {tally:?}", db.engine);
            assert_eq!((tally.done, db.count("jobs").await), (dead_jobs, dead_jobs), "{told}");
            assert_eq!(rows(&db, layout).await, before, "{told}");
        }
    }
}
