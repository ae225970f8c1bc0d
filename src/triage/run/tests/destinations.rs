//! Runs go on, and are undone, where their jobs went, whatever the config says by then.

use super::*;
use crate::domain::run_options::destination::Destination;

async fn to(n: u64, destination: Option<Destination>) -> Bench {
    Bench { fake: MemoryStore::of(n, |info| info.destination = destination), ..Bench::new(n).await }
}

fn command() -> Option<Destination> {
    Some(Destination::Command("bin/replay".into()))
}

fn table() -> Option<Destination> {
    Some(Destination::Table("public.jobs".into()))
}

fn handing() -> RunOptions {
    RunOptions { deliver: Some(Arc::new(Count(Default::default()))), ..small() }
}

/// A run of which ten jobs are in doubt, on a store of 25.
async fn cut_off(bench: &Bench) -> RunId {
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Hang));
    let desk = bench.fake.desk();
    let crash = execute(&desk, &bench.ledger, &run, handing(), &bench.control, &bench.progress);
    assert!(tokio::time::timeout(Duration::from_millis(700), crash).await.is_err());
    run
}

#[tokio::test]
async fn a_run_is_not_resumed_into_another_destination_and_what_is_in_doubt_stays_so() {
    let bench = to(25, command()).await;
    let run = cut_off(&bench).await;
    let other = Bench { fake: MemoryStore::of(25, |info| info.destination = table()), ..bench };
    let desk = other.fake.desk();
    let refused = resume(&desk, &other.ledger, &run, small(), &other.control, &other.progress).await;
    let Err(RunError::Disabled(why)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        why,
        format!(
            "run {run} was planned for the command `bin/replay`, and replayed jobs go to the table public.jobs now: nothing \
             was touched. Set `replay` back in the source's section of the config, and resume it; or plan what is left again; \
             10 jobs are in doubt: the command `bin/replay` may have had them, look there before they are replayed again"
        )
    );
    assert!(other.live().is_empty());
    let left = other.ledger.runs().get(&run).await.unwrap();
    assert_eq!((left.tally.in_doubt, left.tally.not_started, left.intent.destination), (10, 15, command()));
}

#[tokio::test]
async fn a_run_of_an_earlier_version_is_resumed_wherever_jobs_go_now() {
    let bench = to(25, None).await;
    let run = cut_off(&bench).await;
    let other = Bench { fake: MemoryStore::of(25, |info| info.destination = table()), ..bench };
    let desk = other.fake.desk();
    let receipt = resume(&desk, &other.ledger, &run, small(), &other.control, &other.progress).await;
    assert_eq!(receipt.unwrap().run.state, RunState::Finished);
}

#[tokio::test]
async fn a_replay_is_undone_by_where_its_jobs_went() {
    for (went, goes, why) in [
        (command(), table(), "handed its jobs to the command `bin/replay`: nobody can take them back"),
        (command(), command(), "handed its jobs to the command `bin/replay`: nobody can take them back"),
        (
            table(),
            command(),
            "replayed into the table public.jobs, and replayed jobs go to the command `bin/replay` now",
        ),
        (table(), Some(Destination::Table("public.later".into())), "Set `replay` back"),
        (Some(Destination::Own), table(), "Take `replay` out"),
    ] {
        let bench = to(5, went).await;
        let run = bench.all(Action::Replay).await;
        bench.execute(&run, small()).await;
        let bench = Bench { fake: MemoryStore::of(5, |info| info.destination = goes), ..bench };
        let refused = bench.plan(ActionScope::Undo(run, Vec::new()), Action::Recall).await;
        let Err(PlanError::Disabled(told)) = refused else { panic!("{refused:?}") };
        assert!(told.contains(why), "{told}");
    }
    let bench = to(5, table()).await;
    let run = bench.all(Action::Replay).await;
    bench.execute(&run, small()).await;
    let plan = bench.plan(ActionScope::Undo(run, Vec::new()), Action::Recall).await.unwrap();
    assert_eq!(bench.ledger.runs().get(&plan.run).await.unwrap().intent.destination, table());
}
