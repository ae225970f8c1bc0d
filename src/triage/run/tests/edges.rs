//! Where a run meets its limits: jobs that come late in a spread.

use super::*;

/// Jobs that are spread over ten seconds, three in each.
async fn spread() -> (Bench, RunId) {
    let bench = Bench { fake: Fake::of(30, |info| info.defers = true), ..Bench::new(0).await };
    let run = bench.paced(Pacing { spread: Some(10), ..Pacing::default() }).await;
    (bench, run)
}

/// Every job was told to run in the second that is its own, by its place in the run.
async fn assert_each_in_its_place(bench: &Bench, run: &RunId) {
    let from = bench.ledger.run(run).await.unwrap().started_at.unwrap().0;
    let told = bench.fake.with(|data| data.told.clone());
    assert_eq!(told.len(), 30);
    for (id, at) in told {
        // Frozen newest first.
        let second = (29 - id as i64) / 3;
        let after = at.map(|at| at.0 - from);
        let own = second * 1_000_000..(second + 2) * 1_000_000;
        assert!(after.is_some_and(|after| own.contains(&after)), "job {id} in {own:?}: {after:?}");
    }
}

#[tokio::test]
async fn jobs_that_were_locked_at_first_are_told_the_instants_of_their_own_place_in_the_spread() {
    let (bench, run) = spread().await;
    bench.fake.with(|data| [29, 22, 14, 0].map(|id| data.rows.get_mut(&id).unwrap().locked = 1));
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_each_in_its_place(&bench, &run).await;
}

#[tokio::test]
async fn jobs_of_an_interrupted_batch_are_told_the_instants_of_their_own_place_in_the_spread() {
    let (bench, run) = spread().await;
    bench.fake.with(|data| {
        data.faults.extend([Fault::Not, Fault::Not]);
        data.faults.extend((0..1_000).map(|_| Fault::Before(dropped())));
    });
    let mut progress = bench.progress.subscribe();
    let stopper = async {
        progress.wait_for(|p| p.waiting.as_ref().is_some_and(|why| why.contains("trying again"))).await.unwrap();
        bench.control.stop();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), stopper);
    assert_eq!((receipt.run.tally.done, receipt.run.tally.in_doubt), (6, 3));
    bench.fake.with(|data| data.faults.clear());
    let receipt =
        resume(&bench.fake.desk(), &bench.ledger, &run, small(), &RunControl::new(), &bench.progress).await.unwrap();
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_each_in_its_place(&bench, &run).await;
}
