//! The record against a real file.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use super::*;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::{JobId, State};
use crate::domain::rollout::Rollout;
use crate::domain::run_options::Options;
use crate::domain::run_options::rate::Pacing;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::Frozen;

mod marks;
mod replayed;
mod settling;

const T: Timestamp = Timestamp(1_795_144_329_000_000);

fn intent(action: Action) -> RunIntent {
    RunIntent {
        action,
        source: "main".into(),
        store: "events public.events".into(),
        filter: "error:Boom".into(),
        resolved: "error:Boom".into(),
        reason: Some("the gateway is back".into()),
        options: Pacing { rate: Some(200.0), ..Pacing::default() }.into(),
        operator: Operator { user: "ada".into(), host: "bastion".into(), ..Operator::default() },
        database: None,
        destination: None,
        frozen_at: T,
    }
}

fn frozen(n: usize) -> Frozen {
    Frozen {
        id: JobId::new(format!("{n}")),
        error_class: Some(Untrusted::new(format!("Error{}", n % 3))),
        job_class: None,
        at: Some(Timestamp(T.0 + n as i64)),
        state: State::Dead,
        native: None,
        lineage: None,
        successor: None,
        replays: 0,
    }
}

async fn open() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&folder.path().join("state/ledger.sqlite3")).await.unwrap();
    (folder, ledger)
}

async fn planned(ledger: &Ledger, n: usize) -> RunId {
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    ledger.cohorts().add(&run, (0..n).map(frozen).collect()).await.unwrap();
    assert_eq!(ledger.cohorts().seal(&run).await.unwrap(), n as u64);
    run
}

async fn begin(ledger: &Ledger, run: &RunId, n: usize) -> (BatchNo, Vec<JobId>) {
    ledger.batches().begin(run, n, T).await.unwrap().unwrap()
}

fn all(ids: &[JobId], result: &JobResult) -> Vec<CompletedBatch> {
    ids.iter().map(|id| CompletedBatch::from((id.clone(), result.clone()) as JobOutcome)).collect()
}

#[tokio::test]
async fn the_folder_and_every_file_in_it_are_private_to_the_operator() {
    let (folder, ledger) = open().await;
    planned(&ledger, 3).await;
    let state = folder.path().join("state");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for file in std::fs::read_dir(&state).unwrap() {
        let file = file.unwrap();
        assert_eq!(mode(&file.path()) & 0o077, 0, "{:?}", file.file_name());
    }
}

#[tokio::test]
async fn what_is_no_file_is_refused_and_stays_open_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, link) = (folder.path().join("pipe"), folder.path().join("ledger.sqlite3"));
    let everybody = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, everybody, 0).unwrap();
    let mode = || std::fs::metadata(&pipe).unwrap().permissions().mode() & 0o777;
    let before = mode();
    assert_ne!(before & 0o077, 0);
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    let error = Ledger::open(&link).await.unwrap_err();
    assert!(error.to_string().contains("it is no regular file"), "{error}");
    assert_eq!(mode(), before);
}

#[tokio::test]
async fn a_new_file_comes_whole_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/ledger.sqlite3");
    let ledger = Ledger::open(&path).await.unwrap();
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&ledger.home.as_file().pool).await.unwrap();
    assert_eq!(mode, "wal");
    ledger.close().await;
    let left: Vec<_> =
        std::fs::read_dir(folder.path().join("state")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["ledger.sqlite3"]);
    assert!(Ledger::open(&path).await.unwrap().runs().latest(9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_was_begun_and_never_made_whole_is_made_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    std::fs::write(&path, "").unwrap();
    let ledger = Ledger::open(&path).await.unwrap();
    planned(&ledger, 1).await;
}

#[tokio::test]
async fn a_run_reads_back_as_it_was_written_and_its_sums_follow_its_jobs() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 10).await;
    let kept = ledger.runs().get(&run).await.unwrap();
    assert_eq!((kept.intent, kept.state), (intent(Action::Replay), RunState::Planned));
    assert_eq!(kept.tally, RunTally { planned: 10, not_started: 10, ..RunTally::default() });

    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 4).await;
    assert_eq!(ids, (0..4).map(|n| JobId::new(n.to_string())).collect::<Vec<_>>());
    let tally = ledger.runs().tally(&run).await.unwrap();
    assert_eq!((tally.in_doubt, tally.not_started), (4, 6));
    assert_eq!(ledger.batches().in_doubt(&run).await.unwrap(), vec![(batch, ids.clone())]);

    let outcomes: Vec<CompletedBatch> = vec![
        (ids[0].clone(), JobResult::Done).into(),
        (ids[1].clone(), JobResult::Skipped(SkipReason::Gone)).into(),
        (ids[2].clone(), JobResult::Failed("no\0 such\nqueue".into())).into(),
        CompletedBatch { outcome: (ids[3].clone(), JobResult::Done), note: Some("seen") },
    ];
    ledger.batches().finish(&run, batch, &outcomes, T).await.unwrap();
    let stopped = ledger.runs().end(&run, T).await.unwrap();
    assert_eq!(stopped.state, RunState::Stopped);
    assert_eq!(
        stopped.tally,
        RunTally {
            planned: 10,
            done: 2,
            skipped: vec![("gone".into(), 1)],
            failed: vec![("no\u{2400} such\nqueue".into(), 1)],
            in_doubt: 0,
            not_started: 6
        }
    );
    let remainder = ledger.cohorts().jobs(&run, CohortPart::Remainder, 0, 100).await.unwrap();
    assert_eq!(remainder.len(), 8);
    assert_eq!(remainder[0].outcome, Some(Outcome::Skipped("gone".into())));
    assert_eq!(
        ledger.cohorts().jobs(&run, CohortPart::Remainder, remainder[5].ord, 100).await.unwrap(),
        remainder[6..]
    );
}

#[tokio::test]
async fn a_run_ends_finished_only_when_every_job_has_an_outcome() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 2).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 9).await;
    assert_eq!(ledger.runs().end(&run, T).await.unwrap().state, RunState::Stopped);
    ledger.runs().start(&run, T).await.unwrap();
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    assert_eq!(ledger.runs().end(&run, T).await.unwrap().state, RunState::Finished);
    assert!(matches!(ledger.runs().start(&run, T).await, Err(LedgerError::WrongState { .. })));
}

#[tokio::test]
async fn a_job_is_in_a_run_once_however_often_it_is_frozen() {
    let (_folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    ledger.cohorts().add(&run, vec![frozen(1), frozen(2), frozen(1)]).await.unwrap();
    ledger.cohorts().add(&run, vec![frozen(2), frozen(3)]).await.unwrap();
    assert_eq!(ledger.cohorts().seal(&run).await.unwrap(), 3);
    assert!(ledger.cohorts().add(&run, vec![frozen(4)]).await.is_err());
}

#[tokio::test]
async fn a_settled_job_cannot_be_named_again_but_a_skipped_one_can() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 2).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 2).await;
    let named = ledger.cohorts().jobs(&run, CohortPart::All, 0, 9).await.unwrap();
    assert!(ledger.batches().begin_again(&run, &named[..1], T).await.is_err(), "in doubt");
    let outcomes: Vec<CompletedBatch> =
        vec![(ids[0].clone(), JobResult::Done).into(), (ids[1].clone(), JobResult::Skipped(SkipReason::Locked)).into()];
    ledger.batches().finish(&run, batch, &outcomes, T).await.unwrap();
    assert!(ledger.batches().begin_again(&run, &named, T).await.is_err(), "done");
    assert_eq!(ledger.batches().begin(&run, 9, T).await.unwrap(), None);
    let locked = ledger.cohorts().jobs(&run, CohortPart::Locked, 0, 9).await.unwrap();
    assert_eq!(locked.len(), 1);
    ledger.batches().begin_again(&run, &locked, T).await.unwrap();
    let tally = ledger.runs().tally(&run).await.unwrap();
    assert_eq!((tally.done, tally.in_doubt, tally.skipped_total()), (1, 1, 0));
}

#[tokio::test]
async fn the_end_of_a_batch_and_the_beginning_of_the_next_are_one_entry() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 5).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 2).await;
    let turn = async |no, ids: &[JobId], next| {
        let settled = all(ids, &JobResult::Done);
        ledger.batches().finish_and_begin(&run, no, Results { settled: &settled, is_all: true }, next, T).await
    };
    let (next, others) = turn(batch, &ids, 2).await.unwrap().unwrap();
    assert_eq!(others, [JobId::new("2"), JobId::new("3")]);
    assert_eq!(ledger.batches().in_doubt(&run).await.unwrap(), vec![(next, others.clone())]);
    let tally = ledger.runs().tally(&run).await.unwrap();
    assert_eq!((tally.done, tally.in_doubt, tally.not_started), (2, 2, 1));
    // What cannot be written as a whole is not written at all.
    ledger.runs().end(&run, T).await.unwrap();
    assert!(turn(next, &others, 2).await.is_err());
    let tally = ledger.runs().tally(&run).await.unwrap();
    assert_eq!((tally.done, tally.in_doubt, tally.not_started), (2, 2, 1));
    ledger.runs().start(&run, T).await.unwrap();
    let (last, ids) = turn(next, &others, 9).await.unwrap().unwrap();
    assert_eq!(ids, [JobId::new("4")]);
    assert_eq!(turn(last, &ids, 9).await.unwrap(), None);
    assert_eq!(ledger.runs().end(&run, T).await.unwrap().state, RunState::Finished);
}

#[tokio::test]
async fn a_released_batch_is_not_started_again() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 3).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 2).await;
    ledger.batches().release(&run, batch).await.unwrap();
    assert_eq!(ledger.runs().tally(&run).await.unwrap().not_started, 3);
    assert_eq!(begin(&ledger, &run, 2).await.1, ids);
}

#[tokio::test]
async fn a_dismissed_plan_keeps_its_number_and_forgets_its_jobs() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 5).await;
    ledger.runs().dismiss(&run, T).await.unwrap();
    let kept = ledger.runs().get(&run).await.unwrap();
    assert_eq!((kept.state, kept.tally.planned, kept.tally.adds_up()), (RunState::Dismissed, 5, true));
    assert!(ledger.cohorts().jobs(&run, CohortPart::All, 0, 9).await.unwrap().is_empty());
    assert!(ledger.runs().start(&run, T).await.is_err());
}

#[tokio::test]
async fn the_record_knows_what_was_done_to_a_job_and_how_often_it_was_replayed() {
    let (_folder, ledger) = open().await;
    for _ in 0..2 {
        let run = planned(&ledger, 3).await;
        ledger.runs().start(&run, T).await.unwrap();
        let (batch, ids) = begin(&ledger, &run, 2).await;
        ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), Timestamp(T.0 + 9)).await.unwrap();
        ledger.runs().end(&run, T).await.unwrap();
    }
    let store = "events public.events";
    let history = ledger.history().of_job("main", store, &(JobId::new("1"), None)).await.unwrap();
    assert_eq!(history.len(), 2);
    assert!(history[0].run > history[1].run);
    assert_eq!((history[0].outcome.exact(), history[0].at), ("replayed", Timestamp(T.0 + 9)));
    assert!(
        ledger.history().of_job("main", store, &(JobId::new("2"), None)).await.unwrap().is_empty(),
        "was not reached"
    );
    assert!(ledger.history().of_job("other", store, &(JobId::new("1"), None)).await.unwrap().is_empty());

    let known: Vec<KnownJob> = ["0", "1", "2"].map(|id| (JobId::new(id), None)).into();
    let counts = ledger.history().replayed_counts(Whose::named("main", store), &known).await.unwrap();
    assert_eq!((counts.get(&known[0].0), counts.get(&known[2].0)), (Some(&1), None), "none of these runs counted");
}

#[tokio::test]
async fn a_job_is_known_by_its_lineage_and_by_the_id_that_a_replay_gave_it() {
    let (_folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    let with = |n: usize, lineage: &str, successor: Option<&str>, replays| Frozen {
        lineage: Some(lineage.into()),
        successor: successor.map(Into::into),
        replays,
        ..frozen(n)
    };
    let jobs = [with(0, "a", Some("a2"), 0), with(1, "b", None, 2), with(2, "c", None, 0)];
    ledger.cohorts().add(&run, jobs.to_vec()).await.unwrap();
    ledger.cohorts().seal(&run).await.unwrap();
    assert_eq!(ledger.cohorts().replays(&run).await.unwrap(), [(0, 2), (2, 1)]);
    assert!(!ledger.history().has_replays("main", "events public.events").await.unwrap(), "only planned");
    ledger.runs().start(&run, T).await.unwrap();
    assert!(ledger.history().has_replays("main", "events public.events").await.unwrap());
    let (batch, ids) = begin(&ledger, &run, 2).await;
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    let asked = [("7", "a"), ("8", "a2"), ("9", "b"), ("10", "c"), ("0", "x")];
    let asked = asked.map(|(id, lineage)| (JobId::new(id), Some(lineage.to_owned())));
    let counts = ledger.history().replayed_counts(Whose::named("main", "events public.events"), &asked).await.unwrap();
    let counts = asked.clone().map(|(id, _)| counts.get(&id).copied());
    assert_eq!(counts, [Some(1), Some(1), Some(3), None, None], "the last has the id of another job");
    let namesake = ledger.history().of_job("main", "events public.events", &asked[4]).await.unwrap();
    assert!(namesake.is_empty(), "{namesake:?}");
    let again = (JobId::new("8"), Some("a2".to_owned()));
    assert_eq!(ledger.history().of_job("main", "events public.events", &again).await.unwrap().len(), 1);
    assert!(
        ledger.history().replayed_counts(Whose::named("other", "events public.events"), &[]).await.unwrap().is_empty()
    );
}

#[tokio::test]
async fn a_replay_that_was_taken_back_is_not_counted() {
    let (_folder, ledger) = open().await;
    let store = "events public.events";
    let run = planned(&ledger, 3).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 3).await;
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    ledger.runs().end(&run, T).await.unwrap();
    let options = Options { undoes: Some(run.0.clone()), ..Options::default() };
    let back = ledger.runs().create(&RunIntent { options, ..intent(Action::Recall) }).await.unwrap();
    ledger.cohorts().add(&back, (0..2).map(frozen).collect()).await.unwrap();
    ledger.cohorts().seal(&back).await.unwrap();
    ledger.runs().start(&back, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &back, 2).await;
    let told = [(ids[0].clone(), JobResult::Done), (ids[1].clone(), JobResult::Skipped(SkipReason::Taken))];
    ledger.batches().finish(&back, batch, &told.map(CompletedBatch::from), T).await.unwrap();
    let known: Vec<KnownJob> = ["0", "1", "2"].map(|id| (JobId::new(id), None)).into();
    let counts = ledger.history().replayed_counts(Whose::named("main", store), &known).await.unwrap();
    let counts: Vec<_> = known.iter().map(|(id, _)| counts.get(id).copied()).collect();
    assert_eq!(counts, [None, Some(1), Some(1)], "only the first was taken back");
}

#[tokio::test]
async fn archived_rows_come_back_exactly() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 1).await;
    let row = "{\"n\":12345678901234567890.10,\"s\":\"\\u0000\"}".to_owned();
    ledger.snapshots().keep(&run, &[(JobId::new("0"), "old".into())]).await.unwrap();
    ledger.snapshots().keep(&run, &[(JobId::new("0"), row.clone())]).await.unwrap();
    let kept = ledger.snapshots().get(&run, &[JobId::new("0"), JobId::new("1")]).await.unwrap();
    assert_eq!(kept, vec![(JobId::new("0"), row)]);
}

#[tokio::test]
async fn one_run_is_executed_by_one_holder_at_a_time() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 1).await;
    assert!(!ledger.locks().is_held(&run).await.unwrap());
    let hold = ledger.locks().acquire(&run).await.unwrap();
    assert!(ledger.locks().is_held(&run).await.unwrap());
    assert!(matches!(ledger.locks().acquire(&run).await, Err(LedgerError::Held(_))));
    drop(hold);
    assert!(!ledger.locks().is_held(&run).await.unwrap());
    ledger.locks().acquire(&run).await.unwrap();
}

#[tokio::test]
async fn processes_that_open_a_new_file_at_once_all_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    let opened = futures_util::future::join_all((0..6).map(|_| Ledger::open(&path))).await;
    for ledger in opened {
        planned(&ledger.unwrap(), 2).await;
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_named_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    std::fs::write(&path, "this is no database, but it is long enough to be taken for one at first sight".repeat(40))
        .unwrap();
    let fault = Ledger::open(&path).await.unwrap_err();
    assert!(matches!(&fault, LedgerError::Unusable { .. }), "{fault}");
    assert!(fault.to_string().contains("ledger.sqlite3"), "{fault}");
    let fault = Ledger::open(std::path::Path::new("/proc/dlq-tui/ledger.sqlite3")).await.unwrap_err();
    assert!(matches!(fault, LedgerError::Unusable { .. }), "{fault}");
}

#[tokio::test]
async fn a_file_that_was_away_is_not_believed_to_be_back_until_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("ledger.sqlite3"), folder.path().join("away"));
    let homes = LedgerLocator::new(path.clone(), None);
    let ledger = homes.ledger().await.unwrap();
    let run = planned(&ledger, 2).await;
    std::fs::rename(&path, &away).unwrap();
    let gone = |fault| assert!(matches!(fault, LedgerError::Moved { .. }), "{fault}");
    gone(ledger.runs().start(&run, T).await.unwrap_err());
    gone(ledger.runs().tally(&run).await.unwrap_err());
    std::fs::rename(&away, &path).unwrap();
    gone(ledger.runs().start(&run, T).await.unwrap_err());
    homes.ledger().await.unwrap().runs().start(&run, T).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_told_and_leaves_what_was_written_before() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 2_000).await;
    ledger.runs().start(&run, T).await.unwrap();
    ledger.limit_pages(1).await;
    let big = vec![(JobId::new("0"), "x".repeat(4_000_000))];
    let fault = ledger.snapshots().keep(&run, &big).await.unwrap_err();
    assert!(matches!(&fault, LedgerError::Unusable { .. }), "{fault}");
    assert_eq!(ledger.runs().tally(&run).await.unwrap().not_started, 2_000);
}

/// The part of the next test that is killed: works off runs in the file that the environment names.
#[tokio::test]
#[ignore = "a process that another test starts and kills"]
async fn a_process_that_is_to_be_killed() {
    let Some(path) = std::env::var_os("DLQ_TEST_LEDGER_TO_KILL") else { return };
    let ledger = Ledger::open(path.as_ref()).await.unwrap();
    let run = planned(&ledger, 20_000).await;
    let _hold = ledger.locks().acquire(&run).await.unwrap();
    ledger.runs().start(&run, T).await.unwrap();
    while let Some((batch, ids)) = ledger.batches().begin(&run, 50, T).await.unwrap() {
        ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    }
}

#[tokio::test]
async fn a_process_that_is_killed_leaves_one_batch_in_doubt_at_the_most_and_no_hold() {
    let (_folder, ledger) = open().await;
    for round in 0..5 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "ledger::tests::a_process_that_is_to_be_killed"])
            .env("DLQ_TEST_LEDGER_TO_KILL", ledger.path().unwrap())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let busy = async |runs: &[Run]| runs.iter().any(|run| run.state == RunState::Running && run.tally.done > 0);
        while !busy(&ledger.runs().latest(1).await.unwrap()).await {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let run = ledger.runs().latest(1).await.unwrap().remove(0).id;
        assert!(ledger.locks().is_held(&run).await.unwrap());
        tokio::time::sleep(std::time::Duration::from_millis(7 * round)).await;
        child.kill().unwrap();
        child.wait().unwrap();

        let hold = ledger.locks().acquire(&run).await.unwrap();
        let tally = ledger.runs().tally(&run).await.unwrap();
        assert!(tally.adds_up() && tally.planned == 20_000 && tally.in_doubt <= 50, "{tally:?}");
        assert_eq!(tally.done % 50, 0);
        ledger.runs().start(&run, T).await.unwrap();
        for (batch, ids) in ledger.batches().in_doubt(&run).await.unwrap() {
            ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
        }
        assert_eq!(ledger.runs().end(&run, T).await.unwrap().tally.in_doubt, 0);
        drop(hold);
    }
}

#[tokio::test]
#[ignore = "a measurement, run by hand"]
async fn a_million_ids_freeze_in_seconds() {
    let (folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    let begun = Instant::now();
    for step in 0..50 {
        let jobs: Vec<Frozen> = (0..20_000)
            .map(|n| Frozen { id: JobId::new(uuid::Uuid::new_v4().to_string()), ..frozen(step * 20_000 + n) })
            .collect();
        ledger.cohorts().add(&run, jobs.clone()).await.unwrap();
    }
    println!("frozen {:?}", begun.elapsed());
    ledger.cohorts().seal(&run).await.unwrap();
    println!("sealed {:?}", begun.elapsed());
    ledger.cohorts().split(&run, 8).await.unwrap();
    println!("split {:?}", begun.elapsed());
    println!("replays {:?} {:?}", ledger.cohorts().replays(&run).await.unwrap(), begun.elapsed());
    ledger.runs().start(&run, T).await.unwrap();
    let begun = Instant::now();
    for _ in 0..100 {
        let (batch, ids) = begin(&ledger, &run, 500).await;
        ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    }
    println!("100 batches of 500 {:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(ledger.runs().tally(&run).await.unwrap().adds_up());
    println!("tally {:?}, file {:?}", begun.elapsed(), std::fs::metadata(ledger.path().unwrap()).unwrap().len());
    let begun = Instant::now();
    ledger.runs().end(&run, T).await.unwrap();
    println!("end {:?}", begun.elapsed());
    drop(folder);
}

#[tokio::test]
async fn what_an_earlier_version_wrote_down_of_replays_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    let written = "INSERT INTO runs (seq, id, action, state, source, store, filter, resolved, os_user, database_user, host, \
                   frozen_at, started_at, planned) VALUES (1, 'a', 'replay', 'finished', 'main', 's', '', '', 'ada', 'app', \
                   'bastion', 1, 2, 3); \
                   INSERT INTO run_jobs (run, ord, job_id, state, batch, outcome, lineage, successor) VALUES \
                   (1, 1, '7', 'dead', 1, 'done', NULL, NULL), (1, 2, '8', 'dead', 1, 'done', 'seven', NULL), \
                   (1, 3, '9', 'dead', 1, 'done', 'eight', 'nine')";
    super::backend::make_earlier(&path, 7, written).await;
    let ledger = Ledger::open(&path).await.unwrap();
    let asked = [("7", None), ("70", Some("seven")), ("90", Some("nine")), ("6", Some("none"))];
    let asked = asked.map(|(id, lineage)| (JobId::new(id), lineage.map(str::to_owned)));
    let mut counts: Vec<_> =
        ledger.history().replayed_counts(Whose::named("main", "s"), &asked).await.unwrap().into_iter().collect();
    counts.sort();
    assert_eq!(counts, [("7", 1), ("70", 1), ("90", 1)].map(|(id, n)| (JobId::new(id), n)));
}

#[tokio::test]
async fn a_run_of_the_last_version_has_no_rule_and_a_new_one_keeps_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    let written = "INSERT INTO runs (seq, id, action, state, source, store, filter, resolved, os_user, database_user, host, \
                   frozen_at, planned) VALUES (1, 'a', 'replay', 'planned', 'main', 's', '', '', 'ada', 'app', 'bastion', 1, 3)";
    super::backend::make_earlier(&path, 9, written).await;
    let ledger = Ledger::open(&path).await.unwrap();
    let earlier = ledger.runs().get(&RunId("a".into())).await.unwrap();
    assert_eq!((earlier.intent.options.rollout, earlier.rollout), (None, None));
    let rule = Rollout::new(Some(2), None, true, None);
    let options = Options { rollout: rule, ..Options::default() };
    let run = ledger.runs().create(&RunIntent { options, ..intent(Action::Replay) }).await.unwrap();
    // The job at the fourth place comes twice, and stays at the first of its two.
    let jobs: Vec<Frozen> = (0..5).chain([1]).map(frozen).collect();
    let mut stats = CohortStats::default();
    stats.add(&jobs);
    ledger.cohorts().add_behind(&run, 2, jobs).await.unwrap();
    assert_eq!(ledger.cohorts().seal_led(&run, &stats, &[5, 8, 7]).await.unwrap(), 5);
    let places = ledger.cohorts().jobs(&run, CohortPart::All, 0, 9).await.unwrap();
    let places: Vec<(i64, &str)> = places.iter().map(|job| (job.ord, job.id.as_str())).collect();
    assert_eq!(places, [(1, "2"), (2, "4"), (3, "0"), (4, "1"), (6, "3")]);
    let kept = ledger.runs().get(&run).await.unwrap();
    assert_eq!(kept.intent.options.rollout, rule);
    assert_eq!(kept.rollout.map(|state| state.canary_end), Some(2));
}
