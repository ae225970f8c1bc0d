//! The engine over a store in memory and a real ledger: interrupted at every point, it must add up.

mod destinations;
mod edges;
mod interrupted;
mod refusals;
mod rollout;
mod validated;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use proptest::prelude::*;
use tokio::sync::watch;

use super::*;
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::job::{JobId, State};
use crate::domain::run_options::rate::Pacing;
use crate::domain::run_options::{Attempts, Options};
use crate::domain::time::Timestamp;
use crate::ledger::{CohortPart, Ledger, RunId, RunTally};
use crate::store::{Budget, Message, SourceError};
use crate::triage::freeze::{Ask, PlanError, freeze};
use crate::triage::memory_store::{InjectedFault, MemoryStore, Row};
use crate::triage::outcomes::count_outcomes;
use crate::triage::plan::{ActionScope, Plan};
use crate::triage::progress::RunProgress;

struct Bench {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    fake: Arc<MemoryStore>,
    control: RunControl,
    progress: watch::Sender<RunProgress>,
}

impl Bench {
    async fn new(n: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap();
        let start = RunProgress {
            run: RunId(String::new()),
            state: RunState::Planned,
            tally: RunTally::default(),
            rate: 0.0,
            eta: None,
            waiting: None,
        };
        let (fake, control) = (MemoryStore::of(n, |_| {}), RunControl::new());
        Self { _folder: folder, ledger, fake, control, progress: watch::Sender::new(start) }
    }

    async fn plan(&self, scope: ActionScope, action: Action) -> Result<Plan, PlanError> {
        self.plan_paced(scope, action, Pacing::default()).await
    }

    async fn paced(&self, pacing: Pacing) -> RunId {
        self.plan_paced(ActionScope::Filter(Filter::all()), Action::Replay, pacing).await.unwrap().run
    }

    async fn plan_paced(&self, scope: ActionScope, action: Action, pacing: Pacing) -> Result<Plan, PlanError> {
        let ask = Ask { options: pacing.into(), ..Ask::new(scope, action, Timestamp(1_795_144_329_000_000)) };
        freeze(&self.fake.desk(), &self.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await
    }

    async fn all(&self, action: Action) -> RunId {
        self.plan(ActionScope::Filter(Filter::all()), action).await.unwrap().run
    }

    async fn execute(&self, run: &RunId, options: RunOptions) -> Receipt {
        let receipt =
            execute(&self.fake.desk(), &self.ledger, run, options, &self.control, &self.progress).await.unwrap();
        assert!(receipt.run.tally.adds_up(), "{:?}", receipt.run.tally);
        receipt
    }

    fn live(&self) -> Vec<u64> {
        let mut live = self.fake.with(|data| data.live.clone());
        live.sort_unstable();
        live
    }
}

fn small() -> RunOptions {
    RunOptions { batch: 10, retry: Duration::from_millis(1), ..RunOptions::default() }
}

fn dropped() -> SourceError {
    SourceError::Unreachable("the connection was closed".into())
}

#[tokio::test]
async fn a_cohort_is_replayed_whole_and_what_arrived_later_is_not_touched() {
    let bench = Bench::new(25).await;
    let plan = bench.plan(ActionScope::Filter(Filter::all()), Action::Replay).await.unwrap();
    assert_eq!((plan.count, plan.sample.len(), plan.breakdown.by_error.len()), (25, 5, 2));
    assert_eq!((plan.breakdown.span, plan.notes.len()), (Some((Timestamp(0), Timestamp(24))), 1));
    bench.fake.with(|data| {
        let late = data.rows[&0].clone();
        data.rows.insert(99, late);
    });
    let receipt = bench.execute(&plan.run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
    assert_eq!(bench.progress.borrow().state, RunState::Finished);
}

#[tokio::test]
async fn a_lost_answer_is_final_by_looking_and_no_job_runs_twice() {
    for removes in [false, true] {
        let bench = Bench::new(25).await;
        let run = bench.all(Action::Replay).await;
        bench.fake.with(|data| {
            data.removes = removes;
            data.faults =
                [InjectedFault::After(dropped()), InjectedFault::Before(dropped()), InjectedFault::Before(dropped())]
                    .into();
        });
        let receipt = bench.execute(&run, small()).await;
        assert!(receipt.is_complete(), "{receipt:?}");
        assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_run_left_by_a_crash_after_its_effect_is_resumed_without_a_second_replay() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Hang));
    let desk = bench.fake.desk();
    let crash = execute(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress);
    assert!(tokio::time::timeout(Duration::from_millis(700), crash).await.is_err());
    let left = bench.ledger.runs().get(&run).await.unwrap();
    assert_eq!((left.state, left.tally.in_doubt, left.tally.not_started), (RunState::Running, 10, 15));
    assert!(!bench.ledger.locks().is_held(&run).await.unwrap());
    let receipt = resume(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress).await.unwrap();
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_job_in_doubt_of_which_no_trace_is_left_is_reported_and_not_claimed() {
    let bench = Bench::new(5).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| {
        (data.removes, data.forgotten) = (true, true);
        data.faults.push_back(InjectedFault::After(dropped()));
    });
    let receipt = bench.execute(&run, small()).await;
    assert_eq!((receipt.run.tally.done, receipt.run.tally.failed_total()), (0, 5));
    assert!(receipt.run.tally.failed[0].0.exact().starts_with("in doubt"));
    assert_eq!(bench.live().len(), 5);
}

#[tokio::test]
async fn a_job_in_doubt_is_looked_for_by_what_was_kept_of_it() {
    let fake = MemoryStore::of(25, |info| info.capabilities.outcomes_need_copies = true);
    let bench = Bench { fake, ..Bench::new(0).await };
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| {
        data.removes = true;
        data.faults.push_back(InjectedFault::After(dropped()));
    });
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
    let board = count_outcomes(&bench.fake.desk(), &bench.ledger, &run, &Budget::new(Duration::from_secs(9))).await;
    assert_eq!(board.unwrap().waiting, 25);
}

#[tokio::test]
async fn a_job_in_doubt_without_a_trace_is_done_where_the_database_remembers_that_it_was_committed() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| {
        (data.removes, data.forgotten, data.endings) = (true, true, Some(Vec::new()));
        data.faults =
            [InjectedFault::Undone(dropped()), InjectedFault::After(dropped()), InjectedFault::Before(dropped())]
                .into();
    });
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
    assert!(
        bench.ledger.batches().transactions(&run).await.unwrap().is_empty(),
        "notes are dropped with the last doubt"
    );
}

#[tokio::test]
async fn a_row_that_somebody_else_removed_while_it_was_in_doubt_is_not_claimed() {
    let bench = Bench::new(10).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| {
        (data.removes, data.forgotten, data.endings) = (true, true, Some(Vec::new()));
        data.faults.push_back(InjectedFault::Undone(dropped()));
        data.faults.extend((0..1_000).map(|_| InjectedFault::Before(dropped())));
    });
    let mut progress = bench.progress.subscribe();
    let stopper = async {
        progress.wait_for(|p| p.waiting.as_ref().is_some_and(|why| why.contains("trying again"))).await.unwrap();
        bench.control.stop();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), stopper);
    assert_eq!(receipt.run.tally.in_doubt, 10);
    assert_eq!(bench.ledger.batches().transactions(&run).await.unwrap().len(), 1);
    bench.fake.with(|data| {
        data.faults.clear();
        data.rows.remove(&3);
    });
    let receipt =
        resume(&bench.fake.desk(), &bench.ledger, &run, small(), &RunControl::new(), &bench.progress).await.unwrap();
    assert_eq!((receipt.run.tally.done, receipt.run.tally.skipped.clone()), (9, vec![("gone".to_owned(), 1)]));
    assert_eq!(bench.live().len(), 9);
}

#[tokio::test]
async fn what_another_run_did_while_a_batch_was_in_doubt_is_not_claimed() {
    let bench = Bench::new(10).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| {
        data.rows.insert(3, Row { state: State::Resolved, locked: 0, refuses: None });
        data.traces = Some((0..10).filter(|id| *id != 3).collect());
        data.faults.push_back(InjectedFault::Before(dropped()));
    });
    let receipt = bench.execute(&run, small()).await;
    let changed = vec![("changed meanwhile".to_owned(), 1)];
    assert_eq!((receipt.run.tally.done, receipt.run.tally.skipped.clone()), (9, changed));
    assert_eq!(bench.live().len(), 9);
}

struct Count(std::sync::Mutex<Vec<String>>);

impl crate::store::Deliver for Count {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        self.0.lock().unwrap().extend(batch.iter().map(|m| m.id.as_str().to_owned()));
        Box::pin(async move { batch.into_iter().map(|m| (m.id, Ok(()))).collect() })
    }
}

#[tokio::test]
async fn a_job_that_was_perhaps_handed_out_is_never_handed_out_again() {
    let bench = Bench::new(4).await;
    let run = bench.all(Action::Replay).await;
    let handed = Arc::new(Count(Default::default()));
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Hang));
    let options = RunOptions { deliver: Some(handed.clone()), ..small() };
    let desk = bench.fake.desk();
    let crash = execute(&desk, &bench.ledger, &run, options.clone(), &bench.control, &bench.progress);
    assert!(tokio::time::timeout(Duration::from_millis(700), crash).await.is_err());
    // As a crash leaves them: one claimed, one settled, one that was never reached, one set aside by somebody else.
    bench.fake.with(|data| {
        let states = [State::Retrying, State::Resolved, State::Dead, State::Ignored];
        for (row, state) in data.rows.values_mut().zip(states) {
            row.state = state;
        }
    });
    handed.0.lock().unwrap().clear();
    let receipt = bench.execute(&run, options).await;
    assert_eq!(*handed.0.lock().unwrap(), ["2"]);
    let tally = receipt.run.tally;
    assert_eq!((tally.done, tally.skipped_total(), tally.failed_total()), (2, 1, 1));
    assert!(tally.failed[0].0.exact().starts_with("in doubt"));
}

/// How often the ledger has waited for the disk since its file was made: frames of its log that end a transaction.
fn commits(ledger: &Ledger) -> usize {
    let mut log = ledger.path().unwrap().as_os_str().to_owned();
    log.push("-wal");
    let log = std::fs::read(log).unwrap();
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize;
    log[32..].chunks(24 + page).filter(|frame| frame[4..8] != [0; 4]).count()
}

#[tokio::test]
async fn the_ledger_waits_for_the_disk_once_a_batch() {
    let bench = Bench::new(200).await;
    let run = bench.all(Action::Replay).await;
    let before = commits(&bench.ledger);
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    // What its jobs are known by, its start, its first batch begun, each of twenty ended, and its end.
    assert_eq!(commits(&bench.ledger) - before, 1 + 1 + 1 + 20 + 1);
}

#[tokio::test]
async fn a_run_that_keeps_to_a_rate_names_no_batch_before_its_time() {
    let bench = Bench::new(30).await;
    let run = bench.all(Action::Replay).await;
    let mut progress = bench.progress.subscribe();
    let looked = async {
        progress.wait_for(|p| p.tally.done == 10).await.unwrap();
        let tally = bench.ledger.runs().tally(&run).await.unwrap();
        bench.control.stop();
        tally
    };
    let slow = RunOptions { rate: Some(10.0), ..small() };
    let (receipt, tally) = tokio::join!(bench.execute(&run, slow), looked);
    assert_eq!((tally.done, tally.in_doubt, tally.not_started), (10, 0, 20));
    assert_eq!(receipt.run.tally, tally);
}

#[tokio::test]
async fn a_stop_ends_after_the_batch_that_runs_and_resume_does_the_rest() {
    let bench = Bench::new(30).await;
    let run = bench.all(Action::Ignore).await;
    let mut progress = bench.progress.subscribe();
    let stopper = async {
        progress.wait_for(|p| p.tally.done > 0).await.unwrap();
        bench.control.stop();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, RunOptions { rate: Some(10.0), ..small() }), stopper);
    assert_eq!((receipt.run.state, receipt.run.tally.done), (RunState::Stopped, 10));
    assert_eq!(receipt.halted.as_deref(), Some("stopped by the operator"));
    let again = RunControl::new();
    let receipt = resume(&bench.fake.desk(), &bench.ledger, &run, small(), &again, &bench.progress).await.unwrap();
    assert!(receipt.is_complete());
    let finished = resume(&bench.fake.desk(), &bench.ledger, &run, small(), &again, &bench.progress).await;
    assert!(matches!(finished, Err(RunError::Ledger(_))), "{finished:?}");
}

#[tokio::test]
async fn a_stop_while_the_database_is_away_leaves_the_batch_in_doubt() {
    let bench = Bench::new(30).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults.extend((0..1_000).map(|_| InjectedFault::Before(dropped()))));
    let mut progress = bench.progress.subscribe();
    let stopper = async {
        progress.wait_for(|p| p.waiting.as_ref().is_some_and(|why| why.contains("trying again"))).await.unwrap();
        bench.control.stop();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), stopper);
    assert_eq!((receipt.run.state, receipt.run.tally.in_doubt), (RunState::Stopped, 10));
    bench.fake.with(|data| data.faults.clear());
    let receipt =
        resume(&bench.fake.desk(), &bench.ledger, &run, small(), &RunControl::new(), &bench.progress).await.unwrap();
    assert!(receipt.is_complete());
    assert_eq!(bench.live().len(), 30);
}

#[tokio::test]
async fn what_the_database_refuses_for_good_is_taken_back_and_stops_the_run() {
    let bench = Bench::new(30).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Before(SourceError::Denied("UPDATE on jobs".into()))));
    let receipt = bench.execute(&run, small()).await;
    assert_eq!((receipt.run.tally.not_started, receipt.run.state), (30, RunState::Stopped));
    assert!(receipt.refused && receipt.halted.unwrap().contains("UPDATE on jobs"));
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Before(SourceError::Input("no".into()))));
    let receipt = bench.execute(&run, small()).await;
    assert!(!receipt.refused && receipt.halted.is_some(), "{receipt:?}");
}

#[tokio::test]
async fn what_was_done_before_a_batch_broke_off_is_on_record_as_done() {
    for (error, halts) in [
        (SourceError::Denied("UPDATE on jobs".into()), true),
        (SourceError::Locked("deadlock".into()), false),
        (dropped(), false),
    ] {
        for removes in [false, true] {
            let bench = Bench::new(10).await;
            let run = bench.all(Action::Replay).await;
            bench.fake.with(|data| {
                (data.removes, data.forgotten) = (removes, true);
                data.faults.push_back(InjectedFault::Midway(4, again(&error)));
            });
            let receipt = bench.execute(&run, small()).await;
            assert_eq!(receipt.halted.is_some(), halts, "{receipt:?}");
            assert!(!receipt.refused, "some of it is done: {receipt:?}");
            assert_eq!(receipt.run.tally.done, bench.live().len() as u64, "{error}: {:?}", receipt.run.tally);
            let receipt = if halts { bench.execute(&run, small()).await } else { receipt };
            assert!(receipt.is_complete(), "{error}: {receipt:?}");
        }
    }
}

fn again(error: &SourceError) -> SourceError {
    match error {
        SourceError::Denied(why) => SourceError::Denied(why.clone()),
        SourceError::Locked(why) => SourceError::Locked(why.clone()),
        other => SourceError::Unreachable(other.to_string()),
    }
}

#[tokio::test]
async fn results_are_kept_until_a_full_disk_takes_them() {
    let bench = Bench::new(10).await;
    // No trace of a replayed job is left anywhere but in the record.
    bench.fake.with(|data| (data.removes, data.forgotten) = (true, true));
    // Reasons that need room.
    let long: &'static str = "no ".repeat(600).leak();
    bench.fake.with(|data| data.rows.values_mut().skip(4).for_each(|row| row.refuses = Some(long)));
    let run = bench.all(Action::Replay).await;
    let full = bench.ledger.clone();
    bench.fake.with(|data| data.then = Some(Box::pin(async move { full.limit_pages(1).await })));
    let mut progress = bench.progress.subscribe();
    let room = async {
        progress.wait_for(|p| p.waiting.as_ref().is_some_and(|why| why.contains("full"))).await.unwrap();
        bench.ledger.limit_pages(1_000_000).await;
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), room);
    let tally = receipt.run.tally;
    assert_eq!((tally.done, tally.failed_total(), tally.in_doubt), (4, 6, 0));
}

#[tokio::test]
async fn locked_rows_get_one_later_sweep_and_stay_on_record_as_locked() {
    let bench = Bench::new(30).await;
    bench.fake.with(|data| {
        data.rows.get_mut(&3).unwrap().locked = 1;
        data.rows.get_mut(&4).unwrap().locked = 99;
        data.rows.get_mut(&5).unwrap().refuses = Some("violates a constraint");
    });
    let run = bench.all(Action::Replay).await;
    let receipt = bench.execute(&run, small()).await;
    let tally = &receipt.run.tally;
    assert_eq!((tally.done, tally.skipped_total(), tally.failed_total()), (28, 1, 1));
    assert_eq!(receipt.run.state, RunState::Finished);
    assert!(!receipt.is_complete() && receipt.halted.is_none());
    let rest = bench.plan(ActionScope::Run(run.clone(), CohortPart::Remainder), Action::Replay).await.unwrap();
    assert_eq!(rest.count, 2);
    let undo = bench.plan(ActionScope::Run(run, CohortPart::Done), Action::Discard).await.unwrap();
    assert_eq!(undo.count, 28);
    assert!(undo.warnings[0].contains("28 of them are resolved"), "{:?}", undo.warnings);
}

#[tokio::test]
async fn the_sweep_keeps_to_the_pace_of_the_run() {
    let bench = Bench::new(4).await;
    bench.fake.with(|data| data.rows.values_mut().for_each(|row| row.locked = 1));
    let run = bench.all(Action::Replay).await;
    let receipt = bench.execute(&run, RunOptions { rate: Some(3.0), ..small() }).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.fake.with(|data| data.batches.clone()), [3, 1, 3, 1], "no more than a second's worth at a time");
}

#[tokio::test]
async fn a_batch_that_takes_too_long_is_halved_until_it_fits() {
    let bench = Bench::new(8).await;
    let run = bench.all(Action::Replay).await;
    let slow = || InjectedFault::Before(SourceError::Timeout(Duration::from_secs(10)));
    bench.fake.with(|data| data.faults = [slow(), slow()].into());
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.fake.with(|data| data.batches.clone()), [2, 2, 4]);
}

#[tokio::test]
async fn no_job_is_at_fault_when_an_administrator_stops_its_statement_again_and_again() {
    let bench = Bench::new(1).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults = (0..9).map(|_| InjectedFault::Before(SourceError::Interrupted)).collect());
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(receipt.run.tally.done, 1);
}

#[tokio::test]
async fn a_job_is_given_up_that_is_stopped_each_time_while_others_get_through() {
    let stopped = || InjectedFault::Before(SourceError::Interrupted);
    for (times, given_up) in [(19, false), (20, true)] {
        let bench = Bench::new(2).await;
        let run = bench.all(Action::Replay).await;
        let halved = InjectedFault::Before(SourceError::Timeout(Duration::from_secs(10)));
        // The other half goes first.
        bench.fake.with(|data| {
            data.faults = [halved, InjectedFault::Not].into_iter().chain((0..times).map(|_| stopped())).collect()
        });
        let tally = bench.execute(&run, small()).await.run.tally;
        assert_eq!((tally.done, tally.failed_total()), if given_up { (1, 1) } else { (2, 0) }, "{tally:?}");
        assert!(tally.failed.iter().all(|(why, _)| why.exact().contains("stopped")), "{tally:?}");
    }
}

#[tokio::test]
async fn an_interrupted_discard_is_done_where_the_row_is_archived() {
    let bench = Bench::new(6).await;
    let run = bench.all(Action::Discard).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::After(dropped())));
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.ledger.snapshots().get(&run, &[JobId::new("3")]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_interrupted_archive_is_done_where_the_row_stands_beside_with_this_run() {
    let bench = Bench::new(6).await;
    let run = bench.all(Action::Archive).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::After(dropped())));
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    // Somebody else's removal is none of ours.
    let bench = Bench::new(6).await;
    let run = bench.all(Action::Archive).await;
    bench.fake.with(|data| {
        data.rows.remove(&3);
        data.faults.push_back(InjectedFault::Before(dropped()));
    });
    let tally = bench.execute(&run, small()).await.run.tally;
    assert_eq!((tally.done, tally.skipped), (5, vec![("gone".to_owned(), 1)]));
}

#[tokio::test]
async fn an_interrupted_purge_is_done_where_the_database_remembers_and_in_doubt_elsewhere() {
    for remembers in [true, false] {
        let bench = Bench::new(6).await;
        let run = bench.all(Action::Purge).await;
        bench.fake.with(|data| {
            data.endings = remembers.then(Vec::new);
            data.faults.push_back(InjectedFault::After(dropped()));
        });
        let tally = bench.execute(&run, small()).await.run.tally;
        assert_eq!((tally.done, tally.failed_total()), if remembers { (6, 0) } else { (0, 6) }, "{tally:?}");
        assert!(tally.failed.iter().all(|(why, _)| why.exact().contains("purged by this run")), "{tally:?}");
    }
}

#[tokio::test]
async fn what_a_store_does_not_offer_is_refused_before_anything_is_frozen() {
    let bench = Bench::new(3).await;
    for options in [
        Options { to_queue: Some("low".into()), ..Options::default() },
        Options { attempts: Some(Attempts::Once), ..Options::default() },
    ] {
        let scope = ActionScope::Filter(Filter::all());
        let ask = Ask { options, ..Ask::new(scope, Action::Replay, Timestamp(1_795_144_329_000_000)) };
        let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await;
        assert!(matches!(plan, Err(PlanError::Disabled(_))), "{plan:?}");
    }
    assert!(bench.ledger.runs().latest(9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_paused_run_waits_and_a_stop_ends_the_pause() {
    // Far more batches than can pass unseen before the stop, on however busy a machine.
    let bench = Bench::new(600).await;
    let run = bench.all(Action::Replay).await;
    bench.control.pause();
    let mut progress = bench.progress.subscribe();
    let operator = async {
        progress.wait_for(|p| p.waiting.as_deref() == Some("paused")).await.unwrap();
        bench.control.go_on();
        progress.wait_for(|p| p.tally.done >= 10).await.unwrap();
        bench.control.pause();
        bench.control.stop();
        bench.control.go_on();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), operator);
    assert_eq!(receipt.run.state, RunState::Stopped);
}

#[tokio::test]
async fn nothing_is_frozen_for_an_action_that_is_disabled_and_an_empty_cohort_is_dismissed() {
    let bench = Bench::new(3).await;
    let refused = bench.plan(ActionScope::Filter(Filter::all()), Action::Reopen).await;
    assert!(matches!(refused, Err(PlanError::Disabled(_))));
    assert!(bench.ledger.runs().latest(9).await.unwrap().is_empty());
    let empty = bench.plan(ActionScope::Jobs(vec![JobId::new("77")]), Action::Replay).await;
    assert!(matches!(empty, Err(PlanError::Missing { action: Action::Replay, .. })), "{empty:?}");
    assert_eq!(bench.ledger.runs().latest(9).await.unwrap()[0].state, RunState::Dismissed);
}

#[tokio::test]
async fn the_ledger_judges_how_often_a_job_was_replayed() {
    let bench = Bench::new(6).await;
    let ids = |ids: &[u64]| ActionScope::Jobs(ids.iter().map(|id| JobId::new(id.to_string())).collect());
    let run = bench.plan(ids(&[1, 2]), Action::Replay).await.unwrap().run;
    bench.execute(&run, small()).await;
    bench.fake.with(|data| data.rows.values_mut().for_each(|row| row.state = State::Dead));
    let filter = |text: &str| ActionScope::Filter(Filter::parse(text).unwrap());
    assert_eq!(bench.plan(filter("replayed:>0"), Action::Ignore).await.unwrap().count, 2);
    assert_eq!(bench.plan(filter("replayed:0"), Action::Ignore).await.unwrap().count, 4);
    let again = bench.plan(ids(&[1, 3, 55]), Action::Replay).await.unwrap();
    assert_eq!(again.count, 2);
    let warnings = ["1 of them was replayed before", "1 of those that were named was not found: 55"];
    assert_eq!(again.warnings, warnings);
}

#[tokio::test]
async fn a_run_is_executed_on_the_store_it_was_planned_on_and_by_one_process() {
    let bench = Bench::new(3).await;
    let run = bench.all(Action::Replay).await;
    let mut desk = bench.fake.desk();
    let hold = bench.ledger.locks().acquire(&run).await.unwrap();
    let held = execute(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress).await;
    assert!(matches!(held, Err(RunError::Ledger(crate::ledger::LedgerError::Held(_)))), "{held:?}");
    drop(hold);
    desk.source = "another".into();
    let other = execute(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress).await;
    assert!(matches!(other, Err(RunError::OtherStore { .. })), "{other:?}");
    assert!(bench.live().is_empty());
}

#[tokio::test]
async fn a_job_that_is_named_twice_is_one_job_and_none_is_missing() {
    let bench = Bench::new(3).await;
    let ids = ["1", "2", "1", "77"].map(JobId::new).into();
    let plan = bench.plan(ActionScope::Jobs(ids), Action::Replay).await.unwrap();
    assert_eq!((plan.count, plan.warnings), (2, vec!["1 of those that were named was not found: 77".to_owned()]));
}

#[tokio::test]
async fn named_jobs_that_are_not_there_are_told_by_their_ids() {
    let bench = Bench::new(3).await;
    let told = async |ids: &[&str]| {
        let scope = ActionScope::Jobs(ids.iter().copied().map(JobId::new).collect());
        bench.plan(scope, Action::Replay).await.expect_err("no plan").to_string()
    };
    assert_eq!(told(&["99999999"]).await, "nothing to replay: this job was not found: 99999999");
    assert_eq!(told(&["77", "88", "77"]).await, "nothing to replay: these jobs were not found: 77, 88");
    let many = told(&["70", "71", "72", "73", "74", "75", "76"]).await;
    assert_eq!(many, "nothing to replay: these jobs were not found: 70, 71, 72, 73, 74 and 2 more");
}

#[tokio::test]
async fn times_of_a_filter_count_from_the_sources_clock() {
    let bench = Bench::new(3).await;
    bench.fake.with(|data| {
        (data.clock, data.first_death) = (Timestamp(1_600_000_000_000_000), Timestamp(1_600_000_000_000_000))
    });
    let plan = bench.plan(ActionScope::Filter(Filter::parse("since:1h").unwrap()), Action::Replay).await.unwrap();
    let counted = Filter::parse("since:1h").unwrap().resolve(Timestamp(1_600_000_000_000_000)).to_string();
    assert_eq!(
        (plan.filter.as_deref(), bench.fake.with(|data| data.frozen_by.clone())),
        (Some(&*counted), counted.clone())
    );
}

#[tokio::test]
async fn a_cancelled_freeze_leaves_a_dismissed_run_and_no_jobs() {
    let bench = Bench::new(30).await;
    let budget = Budget::new(Duration::from_secs(1));
    let ask = Ask::new(ActionScope::Filter(Filter::all()), Action::Replay, Timestamp(1_795_144_329_000_000));
    let cancel = budget.cancel.clone();
    let mut told = Vec::new();
    let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &budget, |progress| {
        told.push(progress.frozen);
        cancel.cancel();
    })
    .await;
    assert!(matches!(plan, Err(PlanError::Store(SourceError::Cancelled))), "{plan:?}");
    assert_eq!(told, [7]);
    let run = bench.ledger.runs().latest(1).await.unwrap().remove(0);
    assert_eq!(run.state, RunState::Dismissed);
    assert!(bench.ledger.cohorts().jobs(&run.id, CohortPart::All, 0, 9).await.unwrap().is_empty());
}

fn fault() -> impl Strategy<Value = u8> {
    0u8..12
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever happens to batches and rows, crashes among it: planned = done + skipped + failed, each job at most once
    /// in the live queue, and what the receipt calls done is exactly what is there.
    #[test]
    fn a_run_adds_up_after_any_story(
        faults in prop::collection::vec(fault(), 0..12),
        rows in prop::collection::vec(0u8..8, 1..40),
        removes in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::new(rows.len() as u64).await;
            let run = bench.all(Action::Replay).await;
            bench.fake.with(|data| {
                data.removes = removes;
                for (row, kind) in data.rows.values_mut().zip(&rows) {
                    match kind {
                        0 => row.state = State::Ignored,
                        1 => row.locked = 1,
                        2 => row.locked = 50,
                        3 => row.refuses = Some("refused"),
                        _ => {}
                    }
                }
                data.faults = faults.iter().filter_map(|kind| match kind {
                    0 => Some(InjectedFault::Before(dropped())),
                    1 => Some(InjectedFault::After(dropped())),
                    2 => Some(InjectedFault::Before(SourceError::Timeout(Duration::from_secs(1)))),
                    3 => Some(InjectedFault::After(SourceError::Timeout(Duration::from_secs(1)))),
                    4 => Some(InjectedFault::Before(SourceError::Locked("deadlock".into()))),
                    5 => Some(InjectedFault::Before(SourceError::Denied("no".into()))),
                    6 => Some(InjectedFault::Hang),
                    _ => None,
                }).collect();
            });
            let desk = bench.fake.desk();
            let mut last = None;
            for _ in 0..40 {
                let go = execute(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress);
                // A hang is a crash: the future is dropped wherever it stands.
                match tokio::time::timeout(Duration::from_millis(400), go).await {
                    Ok(receipt) => last = Some(receipt.unwrap().run),
                    Err(_) => last = None,
                }
                let tally = bench.ledger.runs().tally(&run).await.unwrap();
                assert!(tally.adds_up() && tally.planned == rows.len() as u64, "{tally:?}");
                if last.as_ref().is_some_and(|run| run.state == RunState::Finished) {
                    break;
                }
            }
            let run = last.unwrap();
            let live = bench.live();
            let mut once = live.clone();
            once.dedup();
            assert_eq!(once, live, "a job was replayed twice");
            if run.state == RunState::Finished {
                assert_eq!(run.tally.done, live.len() as u64, "{:?}", run.tally);
                assert_eq!(bench.progress.borrow().tally, run.tally);
            }
        });
    }
}

#[tokio::test]
async fn a_spread_paces_the_replay_itself_where_no_time_can_be_given() {
    let bench = Bench::new(25).await;
    let pacing = Pacing { spread: Some(1), ..Pacing::default() };
    let run = bench.paced(pacing).await;
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(receipt.run.intent.options.pacing, pacing);
    // Batches of ten at 25 jobs a second: the third waits for two of them.
    assert!(receipt.elapsed >= Duration::from_millis(800), "{:?}", receipt.elapsed);
}

#[tokio::test]
async fn a_run_keeps_to_the_rate_that_it_was_planned_with_unless_told_otherwise() {
    for (planned, asked) in [(25.0, None), (1e6, Some(25.0))] {
        let bench = Bench::new(25).await;
        let run = bench.paced(Pacing { rate: Some(planned), ..Pacing::default() }).await;
        let receipt = bench.execute(&run, RunOptions { rate: asked, ..small() }).await;
        assert!(receipt.elapsed >= Duration::from_millis(800), "{asked:?}: {:?}", receipt.elapsed);
    }
}

#[tokio::test]
async fn an_interrupted_undo_is_done_where_the_row_stands_as_it_was_kept() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Discard).await;
    bench.execute(&run, small()).await;
    let plan = bench.plan(ActionScope::Undo(run.clone(), Vec::new()), Action::Restore).await.unwrap();
    assert_eq!((plan.count, plan.options.undoes.as_ref()), (25, Some(&run.0)));
    assert_eq!(plan.outlook, [("can be undone".to_owned(), 25)]);
    bench.fake.with(|data| data.faults = [InjectedFault::After(dropped()), InjectedFault::Before(dropped())].into());
    let receipt = bench.execute(&plan.run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.fake.with(|data| data.rows.len()), 25);
    let again = bench.plan(ActionScope::Undo(run, Vec::new()), Action::Restore).await.unwrap();
    assert_eq!(again.outlook, [("undone before".to_owned(), 25)]);
    // The wrong way round is no undo.
    let wrong = bench.plan(ActionScope::Undo(plan.run, Vec::new()), Action::Ignore).await;
    assert!(matches!(wrong, Err(PlanError::Disabled(why)) if why.contains("undone by a discard")));
}
