//! Short cuts that must come to the same as the long way round: sealing what was counted, settling batches whole.

use super::*;
use crate::db::{Bind, Row};
use crate::ledger::backend::int;

async fn outcomes(ledger: &Ledger, run: &RunId) -> Vec<String> {
    let jobs = ledger.cohorts().jobs(run, CohortPart::All, 0, 99).await.unwrap();
    let told = |job: RunJob| match job.outcome {
        None => "-".to_owned(),
        Some(Outcome::InDoubt) => "?".to_owned(),
        Some(Outcome::Done(note)) => format!("done{}", note.map(|n| format!(" {}", n.exact())).unwrap_or_default()),
        Some(Outcome::Skipped(reason)) => reason.exact().to_owned(),
        Some(Outcome::Failed(reason)) => reason.exact().to_owned(),
    };
    jobs.into_iter().map(told).collect()
}

#[tokio::test]
async fn what_was_counted_is_sealed_as_if_the_record_had_looked() {
    let (_folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    let mut census = CohortStats::default();
    for jobs in [[frozen(1), frozen(2), frozen(1)], [frozen(2), frozen(3), frozen(2)]] {
        ledger.cohorts().add(&run, jobs.to_vec()).await.unwrap();
        census.add(&jobs);
    }
    let sealed = ledger.cohorts().seal_counted(&run, &census).await.unwrap();
    assert_eq!((sealed, census.split(sealed, 8)), (3, None), "the numbers are those of six jobs");
    let ids: Vec<String> = ledger
        .cohorts()
        .jobs(&run, CohortPart::All, 0, 9)
        .await
        .unwrap()
        .iter()
        .map(|job| job.id.as_str().to_owned())
        .collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn the_numbers_of_a_census_are_those_of_the_record() {
    let (_folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    let mut census = CohortStats::default();
    for step in 0..4 {
        let of = |n: usize| Frozen {
            error_class: (!n.is_multiple_of(5)).then(|| Untrusted::new(format!("{}{}", "E".repeat(199), n % 7))),
            replays: n as u64 % 3,
            state: if n.is_multiple_of(4) { State::Ignored } else { State::Dead },
            at: n.is_multiple_of(2).then(|| Timestamp(T.0 - n as i64)),
            ..frozen(n)
        };
        let jobs: Vec<Frozen> = (step * 700..step * 700 + 700).map(of).collect();
        ledger.cohorts().add(&run, jobs.clone()).await.unwrap();
        census.add(&jobs);
    }
    let sealed = ledger.cohorts().seal_counted(&run, &census).await.unwrap();
    assert_eq!(sealed, 2_800);
    assert_eq!(census.split(sealed, 8), Some(ledger.cohorts().split(&run, 8).await.unwrap()));
    assert_eq!(census.replays(sealed), Some(ledger.cohorts().replays(&run).await.unwrap()));
}

#[tokio::test]
async fn a_batch_is_final_job_by_job_where_they_did_not_all_come_to_the_same() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 12).await;
    ledger.runs().start(&run, T).await.unwrap();
    // All of it, all but one that stays in doubt, some skipped, and one found out by looking.
    let (batch, ids) = begin(&ledger, &run, 3).await;
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 3).await;
    ledger.batches().finish(&run, batch, &all(&ids[1..], &JobResult::Done), T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 3).await;
    let gone = all(&ids[..1], &JobResult::Skipped(SkipReason::Gone));
    ledger.batches().finish(&run, batch, &[gone, all(&ids[1..], &JobResult::Done)].concat(), T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 3).await;
    let mut settled = all(&ids, &JobResult::Done);
    settled[2].note = Some("seen");
    ledger.batches().finish(&run, batch, &settled, T).await.unwrap();
    let gone = SkipReason::Gone.word();
    let told = outcomes(&ledger, &run).await;
    assert_eq!(told, ["done", "done", "done", "?", "done", "done", gone, "done", "done", "done", "done", "done seen"]);
    let tally = ledger.runs().end(&run, T).await.unwrap().tally;
    assert_eq!((tally.planned, tally.done, tally.in_doubt), (12, 10, 1));
}

#[tokio::test]
async fn a_job_that_nobody_answered_for_stays_in_doubt_however_many_are_recorded_already() {
    let (_folder, ledger) = open().await;
    let run = planned(&ledger, 4).await;
    ledger.runs().start(&run, T).await.unwrap();
    let (batch, ids) = begin(&ledger, &run, 4).await;
    // Told twice, as after an effect that was recorded along with it: by then as many are open as are told.
    for _ in 0..2 {
        ledger.batches().finish(&run, batch, &all(&ids[..2], &JobResult::Done), T).await.unwrap();
    }
    assert_eq!(outcomes(&ledger, &run).await, ["done", "done", "?", "?"]);
}

#[tokio::test]
async fn jobs_are_told_by_how_they_stood_also_where_they_did_not_stand_alike() {
    let (_folder, ledger) = open().await;
    let run = ledger.runs().create(&intent(Action::Replay)).await.unwrap();
    let retrying = |n| Frozen { state: State::Retrying, native: Some("wait".into()), ..frozen(n) };
    ledger.cohorts().add(&run, vec![frozen(1), frozen(2), retrying(3), frozen(4)]).await.unwrap();
    ledger.cohorts().seal(&run).await.unwrap();
    ledger.runs().start(&run, T).await.unwrap();
    let stood = |standings: Vec<(crate::store::Standing, Vec<JobId>)>| {
        let told = |(standing, ids): (crate::store::Standing, Vec<JobId>)| (standing.state, ids.len());
        standings.into_iter().map(told).collect::<Vec<_>>()
    };
    let (batch, ids) = begin(&ledger, &run, 2).await;
    assert_eq!(stood(ledger.batches().frozen_standings(&run, &ids).await.unwrap()), [(Some(State::Dead), 2)]);
    let (_, more) = begin(&ledger, &run, 2).await;
    let standings = ledger.batches().frozen_standings(&run, &more).await.unwrap();
    assert_eq!(stood(standings), [(Some(State::Retrying), 1), (Some(State::Dead), 1)]);
    ledger.batches().finish(&run, batch, &all(&ids, &JobResult::Done), T).await.unwrap();
}

#[tokio::test]
async fn no_job_is_looked_for_by_walking_through_its_run() {
    let (_folder, ledger) = open().await;
    let word = |condition: &str| format!("SELECT job_id FROM {{run_jobs}} WHERE {condition} AND outcome = 'done'");
    let past = "SELECT past.replays FROM {told ?3} {past told.c1} AND past.lineage = told.c1";
    let had = "SELECT 1 FROM {told ?3} CROSS JOIN {runs} AS back ON back.id = told.c0 {had told.c1}";
    for sql in ["{settle}", "{record_done}", &word("{known ?1}"), &word("run = ?1 AND {all_known ?3}"), past, had] {
        let binds = [int(1), int(1), Bind::Text(Some("[]".into()))];
        let plan = ledger.home.fetch(&format!("EXPLAIN QUERY PLAN {sql}"), binds).await.unwrap();
        let steps: Vec<String> = plan.into_iter().map(|Row(cells)| format!("{:?}", cells[3])).collect();
        let walks = |step: &&String| {
            let jobs = ["run_jobs", " j ", " past ", " had ", " k "].iter().any(|table| step.contains(table));
            jobs && !["(known_as=?", "(run=? AND ord=?)", "run_jobs_in_doubt (run=?"]
                .iter()
                .any(|way| step.contains(way))
        };
        assert_eq!(steps.iter().find(walks), None, "{sql}: {steps:#?}");
    }
}
