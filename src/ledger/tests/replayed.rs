//! The outcomes of replayed jobs on record.

use super::*;
use crate::domain::outcome::{ObservedOutcome, OutcomeCounts, OutcomeKind, OutcomeTest, ReplayOutcome};

/// A finished run over the first `n` jobs.
async fn done(ledger: &Ledger, action: Action, n: usize) -> RunId {
    let run = ledger.runs().create(&intent(action)).await.unwrap();
    ledger.cohorts().add(&run, (0..n).map(frozen).collect()).await.unwrap();
    ledger.cohorts().seal(&run).await.unwrap();
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(ledger, &run, n).await;
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    ledger.runs().end(&run, T).await.unwrap();
    run
}

async fn open_ids(ledger: &Ledger, run: &RunId) -> Vec<String> {
    let jobs = ledger.outcomes().open_jobs(run, 0, 99).await.unwrap();
    jobs.into_iter().map(|job| job.id.as_str().to_owned()).collect()
}

#[tokio::test]
async fn what_is_final_is_not_asked_again_and_the_counts_stay_with_the_run() {
    let (_folder, ledger) = open().await;
    let run = done(&ledger, Action::Replay, 4).await;
    assert_eq!(ledger.runs().get(&run).await.unwrap().outcomes, None);
    assert_eq!(open_ids(&ledger, &run).await, ["0", "1", "2", "3"]);
    let seen = [
        (1, ReplayOutcome::Succeeded.into()),
        (2, ReplayOutcome::DiedAgain(Some("Error1".into())).into()),
        (3, ReplayOutcome::Retrying(Some("Other".into())).into()),
    ];
    ledger.outcomes().record(&run, &seen, T).await.unwrap();
    let counts = ledger.outcomes().count(&run).await.unwrap();
    let wanted = OutcomeCounts {
        replayed: 4,
        retrying: 1,
        succeeded: 1,
        died_same: 1,
        unknown: 1,
        died_by_class: vec![(Some("Error1".to_owned()), 1)],
        ..OutcomeCounts::default()
    };
    assert_eq!(counts, wanted);
    assert_eq!(ledger.runs().get(&run).await.unwrap().outcomes, Some(wanted));
    let open = ledger.outcomes().open_jobs(&run, 0, 99).await.unwrap();
    assert_eq!(open.len(), 2);
    assert_eq!(open[0].last, Some(ReplayOutcome::Retrying(Some("Other".into()))));
    assert_eq!(open[1].last, None);
}

#[tokio::test]
async fn a_job_that_died_again_as_another_row_is_found_by_that_row() {
    let (_folder, ledger) = open().await;
    let run = done(&ledger, Action::Replay, 3).await;
    let died =
        |row: Option<&str>| ObservedOutcome { outcome: ReplayOutcome::DiedAgain(None), dead_row: row.map(JobId::new) };
    ledger.outcomes().record(&run, &[(1, died(Some("91"))), (2, died(None))], T).await.unwrap();
    let ids = |ids: &[&str]| ids.iter().copied().map(JobId::new).collect::<Vec<_>>();
    let all = ids(&["0", "1", "2", "91", "92"]);
    let test = |kinds: &[OutcomeKind], is_negated| vec![OutcomeTest { kinds: kinds.to_vec(), is_negated }];
    let (died, unknown) = (OutcomeKind::Died, OutcomeKind::Unknown);
    for (tests, wanted) in [
        (vec![], vec!["91", "1", "2"]),
        (test(&[died], false), vec!["91", "1"]),
        (test(&[died], true), vec!["2"]),
        (test(&[unknown], false), vec!["2"]),
        (test(&[died, unknown], false), vec!["91", "1", "2"]),
        (test(&[OutcomeKind::Succeeded], false), vec![]),
    ] {
        let wanted = ids(&wanted);
        assert_eq!(ledger.outcomes().rows(&run, &tests, 9).await.unwrap(), wanted, "{tests:?}");
        let among = ledger.outcomes().rows_among(&run, &tests, &all).await.unwrap();
        assert_eq!(among, wanted.into_iter().collect(), "{tests:?}");
    }
    assert_eq!(ledger.outcomes().rows(&run, &[], 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn only_a_replay_has_outcomes() {
    let (_folder, ledger) = open().await;
    let run = done(&ledger, Action::Discard, 2).await;
    assert_eq!(open_ids(&ledger, &run).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_later_run_tells_what_the_rows_cannot_tell_any_more() {
    let (_folder, ledger) = open().await;
    let first = done(&ledger, Action::Replay, 3).await;
    done(&ledger, Action::Replay, 1).await;
    let undone = done(&ledger, Action::Recall, 2).await;
    let ids: Vec<JobId> = ["0", "1", "2"].map(JobId::new).into();
    let told = ledger.outcomes().from_later_runs(&first, &ids).await.unwrap();
    // The first to come after it: the second replay found the job dead, and the undo took that one back.
    assert_eq!(told.get(&ids[0]), Some(&ReplayOutcome::DiedAgain(Some("Error0".into()))));
    assert_eq!(told.get(&ids[1]), Some(&ReplayOutcome::TakenBack));
    assert_eq!(told.get(&ids[2]), None);
    assert!(ledger.outcomes().from_later_runs(&undone, &ids).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_ledger_of_an_earlier_version_is_brought_up_to_date() {
    for version in [8, 9] {
        brought_up_to_date_from(version).await;
    }
}

async fn brought_up_to_date_from(version: i64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    let written = "INSERT INTO runs (seq, id, action, state, source, store, filter, resolved, os_user, database_user, host, \
                   frozen_at, started_at, planned) VALUES (1, 'a', 'replay', 'finished', 'main', 's', '', '', 'ada', 'app', \
                   'bastion', 1, 2, 1); \
                   INSERT INTO run_jobs (run, ord, job_id, state, batch, outcome) VALUES (1, 1, '7', 'dead', 1, 'done')";
    crate::ledger::backend::make_earlier(&path, version, written).await;
    let ledger = Ledger::open(&path).await.unwrap();
    let run = RunId("a".into());
    assert_eq!(ledger.runs().get(&run).await.unwrap().outcomes, None);
    assert_eq!(open_ids(&ledger, &run).await, ["7"]);
    ledger.outcomes().record(&run, &[(1, ReplayOutcome::Succeeded.into())], T).await.unwrap();
    assert_eq!(ledger.outcomes().count(&run).await.unwrap().ok(), 1);
}

#[tokio::test]
async fn the_history_of_a_job_and_the_jobs_of_a_run_say_what_became_of_a_replay() {
    let (_folder, ledger) = open().await;
    let run = done(&ledger, Action::Replay, 2).await;
    let told = async |n: usize| {
        let history =
            ledger.history().of_job("main", "events public.events", &(JobId::new(n.to_string()), None)).await.unwrap();
        let jobs = ledger.cohorts().jobs(&run, CohortPart::All, 0, 9).await.unwrap();
        let entry = history.first().map(|entry| entry.outcome.exact().to_owned());
        (entry, jobs[n].replay.as_ref().map(ReplayOutcome::summary))
    };
    assert_eq!(told(0).await, (Some("replayed".to_owned()), None));
    let died = ReplayOutcome::DiedAgain(Some("KeyError".into())).into();
    ledger.outcomes().record(&run, &[(1, died)], T).await.unwrap();
    let died = || Some("died again, KeyError".to_owned());
    assert_eq!(told(0).await, (died().map(|died| format!("replayed: {died}")), died()));
    assert_eq!(told(1).await, (Some("replayed".to_owned()), None));
}
