//! The ledger inside the source's own database: an effect and its record are one transaction, and whoever executes a run
//! holds it by a lease.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine, EngineOptions, Statement};
use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::job::{JobId, State};
use dlq_tui::domain::outcome::{ObservedOutcome, ReplayOutcome};
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::text::Untrusted;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{
    CohortPart, CompletedBatch, Ledger, LedgerError, LedgerInstallation, LedgerLocation, LedgerLocator, Operator,
    Outcome, Results, RunId, RunIntent, RunState, Whose,
};
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::store::{Frozen, SourceError};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::deliver::CommandDestination;
use dlq_tui::triage::run::{Receipt, RunControl, RunError, RunOptions, execute, resume};

use crate::fixtures::Layout;
use crate::harness::process::signal;
use crate::harness::{self, Engine as Database, TestDb, every_server};
use crate::kills::{at_work, kill_at_work};
use crate::run::{MOVING, budget, dead, desk_on, go, options, plan, progress};

const T: Timestamp = Timestamp(1_795_144_329_000_000);

pub async fn connect(url: &str) -> Arc<Engine> {
    let target = Target::from_url(url).expect("a target");
    Arc::new(Engine::connect(&target, &EngineOptions::default()).await.expect("an engine"))
}

/// Installs the ledger in a database.
pub async fn install(db: &TestDb) {
    let source = connect(&db.url).await.into();
    let plan = LedgerInstallation::plan(&source, &budget()).await.expect("a plan");
    plan.install(&source, &budget()).await.unwrap_or_else(|e| panic!("{:?}: {e}", db.engine));
}

/// An operator's way to store and ledger of a database: connections of their own.
pub async fn operator(url: &str, layout: Layout) -> (StoreContext, Ledger) {
    let engine = connect(url).await;
    let ledger = Ledger::shared(Arc::clone(&engine));
    (desk_on(engine, layout.table(), ReplayDestination::Table("jobs".to_owned())).await, ledger)
}

pub async fn go_on(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> Result<Receipt, RunError> {
    resume(desk, ledger, run, options(), &RunControl::new(), &progress()).await
}

/// A table of the ledger, as the database calls it.
pub fn table(db: &TestDb, name: &str) -> String {
    format!("{}{name}", if db.engine == Database::Postgres { "dlq_tui." } else { "dlq_tui_" })
}

fn intent() -> RunIntent {
    RunIntent {
        action: Action::Replay,
        source: "main".into(),
        store: "events public.events".into(),
        filter: "error:Boom ü \u{1f600}".into(),
        resolved: "error:Boom".into(),
        reason: Some("it's \"back\"".into()),
        operator: Operator { user: "ada".into(), host: "bastion".into(), ..Operator::default() },
        options: Options::default(),
        database: None,
        destination: None,
        frozen_at: T,
    }
}

fn frozen(n: usize) -> Frozen {
    Frozen {
        id: JobId::new(format!("job-{n:04}")),
        error_class: Some(Untrusted::new(format!("Error{}", n % 3))),
        job_class: None,
        at: Some(Timestamp(T.0 + n as i64)),
        state: State::Dead,
        native: (n == 2).then(|| Untrusted::from("PROCESSING")),
        lineage: (n == 3).then(|| "payment 3 ü".to_owned()),
        successor: (n == 3).then(|| "job-new".to_owned()),
        replays: n as u64 / 3,
    }
}

fn all(ids: &[JobId], result: &JobResult) -> Vec<CompletedBatch> {
    ids.iter().map(|id| CompletedBatch::from((id.clone(), result.clone()))).collect()
}

#[tokio::test]
async fn a_run_is_told_the_same_by_every_engine() {
    for db in every_server("shared_story").await {
        let told = format!("{:?}", db.engine);
        install(&db).await;
        let ledger = Ledger::shared(connect(&db.url).await);
        let run = ledger.runs().create(&intent()).await.expect("a run");
        let other = ledger.runs().create(&intent()).await.expect("another at the same instant");
        assert!(other > run, "{told}");
        let hold = ledger.locks().acquire(&run).await.expect("a hold");
        let jobs: Vec<Frozen> = (0..10).chain([3]).map(frozen).collect();
        ledger.cohorts().add(&run, jobs[..6].to_vec()).await.expect("frozen");
        ledger.cohorts().add(&run, jobs[6..].to_vec()).await.expect("frozen");
        assert_eq!(ledger.cohorts().seal(&run).await.expect("sealed"), 10, "{told}");
        let kept = ledger.runs().get(&run).await.expect("the run");
        assert_eq!(
            (kept.intent, kept.state, kept.place),
            (intent(), RunState::Planned, LedgerLocation::Source),
            "{told}"
        );
        let split = ledger.cohorts().split(&run, 2).await.expect("a split");
        assert_eq!(split.by_error, [(Some("Error0".into()), 4), (Some("Error1".into()), 3)], "{told}");
        assert_eq!((split.by_class, split.by_state), (vec![(None, 10)], vec![(State::Dead, 10)]), "{told}");
        assert_eq!(split.span, Some((T, Timestamp(T.0 + 9))), "{told}");

        ledger.runs().start(&run, T).await.expect("a start");
        let (first, ids) = ledger.batches().begin(&run, 4, T).await.expect("an entry").expect("a batch");
        assert_eq!(ids, (0..4).map(|n| frozen(n).id).collect::<Vec<_>>(), "{told}");
        assert_eq!(ledger.batches().in_doubt(&run).await.expect("doubts"), [(first, ids.clone())], "{told}");
        let standings = ledger.batches().frozen_standings(&run, &ids).await.expect("standings");
        assert_eq!(standings.iter().map(|(_, ids)| ids.len()).collect::<Vec<_>>(), [3, 1], "{told}");
        let outcomes = vec![
            (ids[0].clone(), JobResult::Done).into(),
            (ids[1].clone(), JobResult::Skipped(SkipReason::Locked)).into(),
            (ids[2].clone(), JobResult::Failed("no\0 such\nqueue".into())).into(),
            CompletedBatch { outcome: (ids[3].clone(), JobResult::Done), note: Some("seen") },
        ];
        let results = Results { settled: &outcomes, is_all: true };
        let turned = ledger.batches().finish_and_begin(&run, first, results, 2, T).await.expect("an entry");
        let (second, next) = turned.expect("a batch");
        assert_eq!(next, [frozen(4).id, frozen(5).id], "{told}");
        ledger.batches().release(&run, second).await.expect("an entry");
        let locked = ledger.cohorts().jobs(&run, CohortPart::Locked, 0, 9).await.expect("jobs");
        assert_eq!(locked.len(), 1, "{told}");
        let again = ledger.batches().begin_again(&run, &locked, T).await.expect("an entry");
        ledger.batches().finish(&run, again, &all(&[ids[1].clone()], &JobResult::Done), T).await.expect("an entry");
        let remainder = ledger.cohorts().jobs(&run, CohortPart::Remainder, 0, 100).await.expect("jobs");
        assert_eq!(remainder.len(), 7, "{told}");
        assert_eq!(remainder[0].outcome, Some(Outcome::Failed("no\u{2400} such\nqueue".into())), "{told}");

        let whole = "{\"n\":12345678901234567890.10,\"s\":\"\\u0000 \\\" \u{1f600}\"}".to_owned();
        ledger.snapshots().keep(&run, &[(ids[0].clone(), "old".into())]).await.expect("kept");
        let many: Vec<(JobId, String)> =
            (0..3).map(|n| (JobId::new(format!("big-{n}")), "x".repeat(700_000))).collect();
        ledger.snapshots().keep(&run, &many).await.expect("kept");
        ledger.snapshots().keep(&run, &[(ids[0].clone(), whole.clone())]).await.expect("kept");
        assert_eq!(ledger.snapshots().get(&run, &ids).await.expect("rows"), [(ids[0].clone(), whole)], "{told}");
        assert_eq!(ledger.snapshots().get(&run, &[many[2].0.clone()]).await.expect("rows"), many[2..], "{told}");

        let stopped = ledger.runs().end(&run, T).await.expect("an end");
        assert_eq!((stopped.state, stopped.tally.done, stopped.tally.not_started), (RunState::Stopped, 3, 6), "{told}");
        assert_eq!(stopped.tally.failed, [(Untrusted::from("no\u{2400} such\nqueue"), 1)], "{told}");
        assert!(stopped.tally.adds_up(), "{told}");
        let died = ReplayOutcome::DiedAgain(Some("Error0".into()));
        let died = ObservedOutcome { outcome: died, dead_row: Some(JobId::new("another")) };
        let seen = [(1, died), (2, ReplayOutcome::Retrying(None).into())];
        ledger.outcomes().record(&run, &seen, T).await.expect("recorded");
        let counts = ledger.outcomes().count(&run).await.expect("counts");
        assert_eq!(
            (counts.replayed, counts.died_same, counts.retrying, counts.unknown, &counts.died_by_class[..]),
            (3, 1, 1, 1, &[(Some("Error0".to_owned()), 1)][..]),
            "{told}"
        );
        let open = ledger.outcomes().open_jobs(&run, 0, 9).await.expect("jobs");
        assert_eq!(open.iter().map(|job| job.ord).collect::<Vec<_>>(), [2, 4], "{told}");
        assert!(ledger.outcomes().from_later_runs(&run, &ids).await.expect("nothing").is_empty(), "{told}");
        assert_eq!(ledger.runs().get(&run).await.expect("the run").outcomes, Some(counts), "{told}");
        hold.release().await;
        let runs = ledger.runs().latest(9).await.expect("runs");
        assert_eq!(runs.iter().map(|run| &run.id).collect::<Vec<_>>(), [&other, &run], "{told}");
        assert_eq!(runs[1].tally, stopped.tally, "{told}");
        ledger.runs().dismiss(&other, T).await.expect("dismissed");
        // Whatever an operator calls the source, it is this one.
        let store = "events public.events";
        let history = ledger.history().of_job("elsewhere", store, &(ids[0].clone(), None)).await.expect("a history");
        assert_eq!((history.len(), history[0].outcome.exact()), (1, "replayed: died again, Error0"), "{told}");
        let known: Vec<_> = ids.iter().map(|id| (id.clone(), None)).collect();
        let counts = ledger.history().replayed_counts(Whose::named("elsewhere", store), &known).await.expect("counts");
        assert_eq!((counts.get(&ids[0]), counts.get(&ids[2])), (Some(&1), None), "{told}");
        // A job that died again is another row: known by its lineage, or by the id that it was given.
        for lineage in ["payment 3 ü", "job-new"] {
            let again = (JobId::new("another row"), Some(lineage.to_owned()));
            let counts = ledger
                .history()
                .replayed_counts(Whose::named("elsewhere", store), std::slice::from_ref(&again))
                .await
                .expect("counts");
            assert_eq!(counts.get(&again.0), Some(&2), "{told}");
            assert_eq!(
                ledger.history().of_job("elsewhere", store, &again).await.expect("a history").len(),
                1,
                "{told}"
            );
        }
        assert!(ledger.history().has_replays("elsewhere", store).await.expect("an answer"), "{told}");
        assert_eq!(ledger.cohorts().replays(&run).await.expect("sums"), [(0, 3), (1, 3), (2, 3), (3, 1)], "{told}");
    }
}

#[tokio::test]
async fn one_client_holds_a_run_until_its_lease_ends() {
    for db in every_server("shared_hold").await {
        let told = format!("{:?}", db.engine);
        install(&db).await;
        let (mine, theirs) = (Ledger::shared(connect(&db.url).await), Ledger::shared(connect(&db.url).await));
        let run = mine.runs().create(&intent()).await.expect("a run");
        let hold = mine.locks().acquire(&run).await.expect("a hold");
        assert!(matches!(mine.locks().acquire(&run).await, Err(LedgerError::Held(_))), "{told}");
        assert!(matches!(theirs.locks().acquire(&run).await, Err(LedgerError::HeldBy { .. })), "{told}");
        assert!(theirs.locks().is_held(&run).await.expect("an answer"), "{told}");
        hold.release().await;
        assert!(!theirs.locks().is_held(&run).await.expect("an answer"), "{told}");
        let hold = mine.locks().acquire(&run).await.expect("a hold");
        db.execute(&format!("update {} set held_until = 0", table(&db, "runs"))).await;
        let taken = theirs.locks().acquire(&run).await.expect("a lease that has ended is nobody's");
        let lost = mine.cohorts().add(&run, vec![frozen(1)]).await;
        assert!(matches!(lost, Err(LedgerError::TakenOver(_))), "{told}: {lost:?}");
        // Giving back what is not one's own any more takes nothing from who has it.
        hold.release().await;
        theirs.cohorts().add(&run, vec![frozen(1)]).await.expect("frozen");
        taken.release().await;
    }
}

#[tokio::test]
async fn a_client_that_waits_keeps_its_hold() {
    let db = harness::sqlite("shared_beat").await;
    install(&db).await;
    let (mine, theirs) = (Ledger::shared(connect(&db.url).await), Ledger::shared(connect(&db.url).await));
    let run = mine.runs().create(&intent()).await.expect("a run");
    let hold = mine.locks().acquire(&run).await.expect("a hold");
    expire(&db).await.expect("no lease");
    let renewed = async {
        while !theirs.locks().is_held(&run).await.expect("an answer") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), renewed).await.expect("it is renewed by itself");
    hold.release().await;
}

#[tokio::test]
async fn a_receipt_is_what_the_tables_of_ledger_and_jobs_say() {
    for layout in MOVING {
        for db in every_server("shared_receipt").await {
            layout.seed(&db, 1_200).await;
            install(&db).await;
            let (desk, ledger) = operator(&db.url, layout).await;
            let before = dead(&db, layout).await;
            let plan = plan(&desk, &ledger, "state:dead", Action::Replay).await;
            let receipt = go(&desk, &ledger, &plan.run).await;
            let told = format!("{layout:?} on {:?}: {receipt:?}", db.engine);
            assert!(receipt.is_complete() && receipt.run.place == LedgerLocation::Source, "{told}");
            assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
            let jobs = table(&db, "run_jobs");
            assert_eq!(db.count(&format!("{jobs} where outcome = 'done' and batch is not null")).await, before);
            assert_eq!(
                db.scalar(&format!("select sum(n) from {}", table(&db, "run_tallies"))).await,
                before.to_string()
            );
            let held = format!("{} where holder is not null", table(&db, "runs"));
            assert_eq!(db.count(&held).await, 0, "{told}");
        }
    }
}

#[tokio::test]
async fn rows_are_kept_in_the_transaction_that_discards_them() {
    for db in every_server("shared_discard").await {
        Layout::JobsDlq.seed(&db, 300).await;
        install(&db).await;
        let (desk, ledger) = operator(&db.url, Layout::JobsDlq).await;
        let before = dead(&db, Layout::JobsDlq).await;
        let plan = plan(&desk, &ledger, "state:dead", Action::Discard).await;
        let tally = go(&desk, &ledger, &plan.run).await.run.tally;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (before, 0), "{:?}", db.engine);
        assert_eq!(db.count(&table(&db, "archive")).await, before, "{:?}", db.engine);
    }
}

/// The part of other tests that is killed or suspended: executes the run that the environment names.
#[tokio::test]
#[ignore = "a process that another test starts and kills"]
async fn a_process_that_is_to_be_killed() {
    let Ok(told) = std::env::var("DLQ_TEST_SHARED_RUN") else { return };
    let told: Vec<&str> = told.split('\n').collect();
    let [url, layout, run] = told[..] else { panic!("{told:?}") };
    let layout = MOVING.into_iter().find(|l| l.table() == layout).expect("a layout");
    let (desk, ledger) = operator(url, layout).await;
    let run = RunId(run.to_owned());
    let ended = execute(&desk, &ledger, &run, options(), &RunControl::new(), &progress()).await;
    // The one that was suspended is told that it has lost the run.
    let lost = |e: &RunError| matches!(e, RunError::Ledger(LedgerError::TakenOver(_)));
    assert!(!ended.as_ref().is_err_and(lost), "TAKEN OVER");
    ended.expect("a receipt");
}

pub fn start(db: &TestDb, layout: Layout, run: &RunId) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "shared::a_process_that_is_to_be_killed"])
        .env("DLQ_TEST_SHARED_RUN", [&db.url, layout.table(), &run.0].join("\n"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

#[tokio::test]
async fn a_run_that_is_killed_again_and_again_leaves_no_job_in_doubt() {
    for layout in MOVING {
        for db in every_server("shared_killed").await {
            layout.seed(&db, 3_000).await;
            install(&db).await;
            let before = dead(&db, layout).await;
            let (desk, ledger) = operator(&db.url, layout).await;
            let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
            kill_at_work(&ledger, &run, &[0, 3, 9, 14, 22, 31], || start(&db, layout, &run)).await;
            // The next one is on the same machine, and sees that the last holder is gone.
            let mut state = ledger.runs().get(&run).await.expect("a run").state;
            while state != RunState::Finished {
                state = go_on(&desk, &ledger, &run).await.expect("a receipt").run.state;
            }
            let tally = ledger.runs().tally(&run).await.expect("a tally");
            let told = format!("{layout:?} on {:?}: {tally:?}", db.engine);
            assert_eq!((tally.planned, tally.done), (before, before), "{told}");
            assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
        }
    }
}

/// Lets every lease end, as if nothing had been heard for a while.
async fn expire(db: &TestDb) -> Result<(), SourceError> {
    let engine = connect(&db.url).await;
    let budget = budget();
    let mut tx = engine.begin(&budget).await?;
    let sql = format!("update {} set held_until = 0", table(db, "runs"));
    tx.execute(&Statement { sql, binds: Vec::new() }).await?;
    tx.commit().await
}

#[tokio::test]
async fn a_client_that_was_suspended_beyond_its_lease_never_acts_again() {
    for db in every_server("shared_fence").await {
        let layout = Layout::JobsDlq;
        layout.seed(&db, 6_000).await;
        install(&db).await;
        let before = dead(&db, layout).await;
        let (desk, ledger) = operator(&db.url, layout).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        let child = at_work(&ledger, &run, || start(&db, layout, &run)).await;
        let told = format!("{:?}", db.engine);
        signal(&[child.id()], "STOP");
        // Suspended inside a transaction it may hold what we are to change: then at another moment.
        while expire(&db).await.is_err() {
            signal(&[child.id()], "CONT");
            tokio::time::sleep(Duration::from_millis(3)).await;
            signal(&[child.id()], "STOP");
        }
        let left = ledger.runs().get(&run).await.expect("a run");
        assert_eq!(left.state, RunState::Stopped, "{told}: whoever wants can go on with it");
        let theirs = ledger.locks().acquire(&run).await.expect("the run is free");
        let reached = ledger.runs().tally(&run).await.expect("a tally");
        signal(&[child.id()], "CONT");
        let ended = tokio::task::spawn_blocking(move || child.wait_with_output().expect("an end"));
        let said = String::from_utf8(ended.await.expect("an end").stdout).expect("UTF-8");
        assert!(said.contains("TAKEN OVER"), "{told}: {said}");
        let tally = ledger.runs().tally(&run).await.expect("a tally");
        // A transaction that was complete but for its COMMIT may have ended; nothing was begun after it.
        assert!(tally.done + tally.in_doubt == reached.done + reached.in_doubt, "{told}: {reached:?} {tally:?}");
        assert_eq!((db.count("jobs").await, dead(&db, layout).await), (tally.done, before - tally.done), "{told}");
        theirs.release().await;
        let receipt = go_on(&desk, &ledger, &run).await.expect("a receipt");
        assert!(receipt.is_complete(), "{told}: {receipt:?}");
        assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
    }
}

#[tokio::test]
async fn what_a_command_accepts_is_recorded_with_the_mark_on_its_row() {
    for db in every_server("shared_command").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 60).await;
        install(&db).await;
        let before = dead(&db, layout).await;
        let engine = connect(&db.url).await;
        let ledger = Ledger::shared(Arc::clone(&engine));
        let desk = desk_on(engine, layout.table(), ReplayDestination::Command("bin/replay".to_owned())).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        // Takes five jobs, and refuses the others.
        let script = r#"n=0; while IFS= read -r line; do id=${line#*\"id\":\"}; id=${id%%\"*}; n=$((n+1));
            [ $n -le 5 ] && echo "{\"id\":\"$id\",\"ok\":true}" ||
            echo "{\"id\":\"$id\",\"ok\":false,\"error\":\"no queue\"}"; done"#;
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).into();
        let deliver = Arc::new(CommandDestination { argv, timeout: Duration::from_secs(30) });
        let options = RunOptions { deliver: Some(deliver), batch: 200, ..options() };
        let receipt = execute(&desk, &ledger, &run, options, &RunControl::new(), &progress()).await.expect("a receipt");
        let told = format!("{:?}: {receipt:?}", db.engine);
        assert_eq!((receipt.run.tally.done, receipt.run.tally.failed_total()), (5, before - 5), "{told}");
        assert_eq!(dead(&db, layout).await, before - 5, "{told}");
        assert_eq!(db.count(&format!("{} where outcome = 'done'", table(&db, "run_jobs"))).await, 5, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_in_the_middle_of_a_run_costs_no_job() {
    for server in [harness::private_postgres(), harness::private_mariadb()].into_iter().flatten() {
        let db = server.database("shared_restart").await;
        let layout = Layout::JobsDlq;
        layout.seed(&db, 3_000).await;
        install(&db).await;
        let before = dead(&db, layout).await;
        let (desk, ledger) = operator(&db.url, layout).await;
        let run = plan(&desk, &ledger, "state:dead", Action::Replay).await.run;
        let (told, mut seen) = tokio::sync::watch::channel(progress().borrow().clone());
        let control = RunControl::new();
        let work = execute(&desk, &ledger, &run, options(), &control, &told);
        let disturb = async {
            seen.wait_for(|progress| progress.tally.done > 200).await.expect("progress");
            tokio::task::block_in_place(|| {
                server.stop();
                server.start();
            });
        };
        let (receipt, ()) = tokio::join!(work, disturb);
        let mut receipt = receipt.expect("a receipt");
        while receipt.run.state != RunState::Finished {
            receipt = go_on(&desk, &ledger, &run).await.expect("a receipt");
        }
        let told = format!("{:?}: {receipt:?}", db.engine);
        assert!(receipt.is_complete(), "{told}");
        assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before), "{told}");
    }
}

#[tokio::test]
async fn a_shared_run_passes_through_a_pooler_that_shares_its_sessions() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("shared_pooler").await;
    let layout = Layout::DeadLetterJobs;
    layout.seed(&db, 600).await;
    install(&db).await;
    let before = dead(&db, layout).await;
    let Some(pooler) = harness::pgbouncer(&db, 2) else { return };
    let work = async |filter: &str| {
        let (desk, ledger) = operator(&pooler.url, layout).await;
        let plan = plan(&desk, &ledger, filter, Action::Replay).await;
        go(&desk, &ledger, &plan.run).await.run.tally
    };
    let (one, two) = tokio::join!(work("state:dead"), work("state:dead"));
    assert!(one.adds_up() && two.adds_up() && one.done + two.done == before, "{one:?} {two:?}");
    assert_eq!((dead(&db, layout).await, db.count("jobs").await), (0, before));
}

#[tokio::test]
async fn new_runs_go_where_the_source_holds_a_ledger_and_those_of_both_are_found() {
    for db in every_server("shared_homes").await {
        let told = format!("{:?}", db.engine);
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 90).await;
        let folder = tempfile::tempdir().expect("a folder");
        let engine = connect(&db.url).await;
        let desk = desk_on(Arc::clone(&engine), layout.table(), ReplayDestination::Table("jobs".into())).await;
        let homes = || LedgerLocator::new(folder.path().join("ledger.sqlite3"), Some(Arc::clone(&engine).into()));
        let local = homes().ledger().await.expect("a ledger");
        assert!(!local.is_shared(), "{told}");
        let old = plan(&desk, &local, "state:dead", Action::Ignore).await.run;
        go(&desk, &local, &old).await;
        install(&db).await;
        let both = homes().ledger().await.expect("a ledger");
        assert!(both.is_shared(), "{told}");
        let new = plan(&desk, &both, "state:ignored", Action::Reopen).await.run;
        go(&desk, &both, &new).await;
        let places: Vec<_> = both.runs().latest(9).await.expect("runs").into_iter().map(|r| (r.id, r.place)).collect();
        assert_eq!(places, [(new.clone(), LedgerLocation::Source), (old.clone(), LedgerLocation::Local)], "{told}");
        assert_eq!(both.runs().get(&old).await.expect("the run").state, RunState::Finished, "{told}");
        let id =
            &both.of(&new).await.expect("a ledger").cohorts().jobs(&new, CohortPart::Done, 0, 500).await.expect("jobs");
        let acted = both.cohorts().jobs(&new, CohortPart::All, 0, 1).await.expect("jobs").remove(0).id;
        assert!(id.iter().any(|job| job.id == acted), "{told}");
        // A plan made before is gone on with where it is.
        let planned = plan(&desk, &local, "state:dead", Action::Replay).await.run;
        let receipt = go(&desk, &both, &planned).await;
        assert!(receipt.is_complete() && receipt.run.place == LedgerLocation::Local, "{told}: {receipt:?}");
    }
}

#[tokio::test]
#[ignore = "a measurement, run by hand"]
async fn what_a_record_in_the_source_costs() {
    let layout = Layout::JobsDlq;
    for db in every_server("shared_cost").await {
        layout.seed(&db, 40_000).await;
        let folder = tempfile::tempdir().expect("a folder");
        let local = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        install(&db).await;
        let (desk, shared) = operator(&db.url, layout).await;
        for (name, ledger, filter) in [("local", &local, "attempts:<5"), ("shared", &shared, "attempts:>=5")] {
            let begun = std::time::Instant::now();
            let plan = plan(&desk, ledger, filter, Action::Replay).await;
            let frozen = begun.elapsed();
            let options = dlq_tui::triage::run::RunOptions::default();
            let receipt = execute(&desk, ledger, &plan.run, options, &RunControl::new(), &progress()).await;
            let receipt = receipt.expect("a receipt");
            let tally = receipt.run.tally;
            println!("{:?} {name}: {} jobs, frozen {frozen:?}, run {:?}", db.engine, tally.done, receipt.elapsed);
        }
    }
}
