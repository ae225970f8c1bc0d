//! Where a run meets its limits: jobs that come late in a spread, a ledger that is full, a source that is another one.

use super::*;
use crate::store::Identity;

/// Jobs that are spread over ten seconds, three in each.
async fn spread() -> (Bench, RunId) {
    let bench = Bench { fake: MemoryStore::of(30, |info| info.capabilities.defers = true), ..Bench::new(0).await };
    let run = bench.paced(Pacing { spread: Some(10), ..Pacing::default() }).await;
    (bench, run)
}

/// Every job was told to run in the second that is its own, by its place in the run.
async fn assert_each_in_its_place(bench: &Bench, run: &RunId) {
    let from = bench.ledger.runs().get(run).await.unwrap().started_at.unwrap().0;
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
        data.faults.extend([InjectedFault::Not, InjectedFault::Not]);
        data.faults.extend((0..1_000).map(|_| InjectedFault::Before(dropped())));
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

#[tokio::test]
async fn a_discard_waits_for_a_ledger_that_cannot_take_its_copies_and_deletes_nothing_without_one() {
    let bench = Bench::new(10).await;
    let run = bench.all(Action::Discard).await;
    bench.fake.with(|data| data.padding = 3_000);
    bench.ledger.limit_pages(1).await;
    let mut progress = bench.progress.subscribe();
    let room = async {
        progress.wait_for(|p| p.waiting.as_ref().is_some_and(|why| why.contains("full"))).await.unwrap();
        let waiting = progress.borrow().waiting.clone().unwrap();
        assert!(waiting.contains("nothing is deleted without its copy"), "{waiting}");
        assert_eq!(bench.fake.with(|data| data.rows.len()), 10);
        bench.ledger.limit_pages(1_000_000).await;
    };
    let receipt = bench.execute(&run, small());
    tokio::pin!(receipt, room);
    // A run that ended before it had waited would leave the other waiting for ever.
    let receipt = tokio::select! {
        receipt = &mut receipt => panic!("it has not waited: {receipt:?}"),
        () = room => receipt.await,
    };
    assert!(receipt.is_complete(), "{receipt:?}");
    let ids: Vec<JobId> = (0..10).map(|id| JobId::new(id.to_string())).collect();
    assert_eq!(bench.ledger.snapshots().get(&run, &ids).await.unwrap().len(), 10);
}

#[tokio::test]
async fn a_ledger_that_stays_full_halts_a_discard_with_what_is_to_be_done() {
    let bench = Bench::new(10).await;
    let run = bench.all(Action::Discard).await;
    bench.fake.with(|data| data.padding = 3_000);
    bench.ledger.limit_pages(1).await;
    let impatient = RunOptions { patience: Duration::ZERO, ..small() };
    let receipt = bench.execute(&run, impatient).await;
    assert_eq!((receipt.run.state, receipt.run.tally.not_started), (RunState::Stopped, 10), "{receipt:?}");
    let halted = receipt.halted.unwrap();
    assert!(halted.contains("make room") && halted.contains("resume"), "{halted}");
    assert_eq!(bench.fake.with(|data| data.rows.len()), 10);
    bench.ledger.limit_pages(1_000_000).await;
    assert!(bench.execute(&run, small()).await.is_complete());
}

#[tokio::test]
async fn a_source_that_leads_to_another_database_than_the_plan_is_not_touched() {
    let identity = |own: &str, place: &str| Some(Identity { own: Some(own.into()), place: place.into() });
    let bench = Bench::new(10).await;
    bench.fake.with(|data| data.identity = identity("7/16384", "db1:5432/shop"));
    let run = bench.all(Action::Discard).await;
    for (own, place, why) in [
        ("8/16384", "db2:5432/shop", "main leads to db2:5432/shop now, which is another database"),
        ("8/16384", "db1:5432/shop", "the database at db1:5432/shop is another one since"),
    ] {
        bench.fake.with(|data| data.identity = identity(own, place));
        let refused = execute(&bench.fake.desk(), &bench.ledger, &run, small(), &bench.control, &bench.progress).await;
        assert!(matches!(&refused, Err(RunError::Disabled(said)) if said.contains(why)), "{refused:?}");
        assert_eq!(bench.fake.with(|data| data.rows.len()), 10);
    }
    bench.fake.with(|data| data.identity = identity("7/16384", "db2:5432/shop"));
    assert!(bench.execute(&run, small()).await.is_complete(), "a replica that has taken over is the same database");
    bench.fake.with(|data| data.identity = identity("8/16384", "db2:5432/shop"));
    for (scope, action) in [
        (ActionScope::Undo(run.clone(), Vec::new()), Action::Restore),
        (ActionScope::Run(run, CohortPart::All), Action::Replay),
    ] {
        let plan = bench.plan(scope, action).await;
        assert!(matches!(&plan, Err(PlanError::Disabled(said)) if said.contains("another database")), "{plan:?}");
    }
}

#[tokio::test]
async fn what_runs_did_in_another_database_behind_the_same_source_is_of_other_jobs() {
    let bench = Bench::new(3).await;
    let lead_to = |own: &str| {
        let (own, place) = (Some(own.to_owned()), "db1:5432/shop".to_owned());
        bench.fake.with(|data| data.identity = Some(Identity { own, place }));
    };
    let refill = || bench.fake.with(|data| data.rows = MemoryStore::of(3, |_| {}).with(|fresh| fresh.rows.clone()));
    lead_to("7/16384");
    for _ in 0..3 {
        let run = bench.all(Action::Replay).await;
        assert!(bench.execute(&run, small()).await.is_complete());
        refill();
    }
    let barred = bench.plan(ActionScope::Filter(Filter::all()), Action::Replay).await;
    assert!(matches!(barred, Err(PlanError::Barred { jobs: 3, .. })), "{barred:?}");
    let first = bench.all(Action::Discard).await;
    assert!(bench.execute(&first, small()).await.is_complete());
    let erase = async || {
        refill();
        let options = Options { no_archive: true, ..Options::default() };
        let ask =
            Ask { options, ..Ask::new(ActionScope::Filter(Filter::all()), Action::Discard, Timestamp(5_000_000)) };
        let budget = Budget::new(Duration::from_secs(1));
        let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &budget, |_| {}).await.unwrap();
        bench.execute(&plan.run, small()).await;
        (plan, bench.ledger.snapshots().get(&first, &[JobId::new("0"), JobId::new("2")]).await.unwrap().len())
    };
    let says = |plan: &Plan, what: &str| plan.notes.iter().any(|note| note.contains(what));
    assert_eq!(bench.ledger.snapshots().get(&first, &[JobId::new("0"), JobId::new("2")]).await.unwrap().len(), 2);

    lead_to("8/16384");
    refill();
    let plan = bench.plan(ActionScope::Filter(Filter::all()), Action::Replay).await.unwrap();
    assert_eq!((plan.count, plan.warnings), (3, Vec::<String>::new()), "none of these was replayed");
    let (plan, kept) = erase().await;
    assert!(says(&plan, "kept nothing under the ids") && kept == 2, "{kept} left: {:?}", plan.notes);

    lead_to("7/16384");
    let (plan, kept) = erase().await;
    assert!(says(&plan, "under the ids of these jobs is erased") && kept == 0, "{kept} left: {:?}", plan.notes);
}
