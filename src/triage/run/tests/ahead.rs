//! Batches that are worked on while the record of the one before is still being written.

use std::path::PathBuf;
use std::sync::Mutex;

use super::*;
use crate::ledger::LedgerError;
use crate::triage::run::ahead::BEHIND;

/// Waits until the fake store says so.
async fn until(bench: &Bench, wanted: impl Fn((usize, usize)) -> bool) {
    let asked = || bench.fake.with(|data| data.asked);
    let waited = async {
        while !wanted(asked()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let is_met = tokio::time::timeout(Duration::from_secs(20), waited).await.is_ok();
    assert!(is_met, "not met by {:?} (asked, undone)", asked());
}

/// The run is gone on with, and each of the `jobs` is replayed once.
async fn assert_resumed(bench: &Bench, run: &RunId, jobs: u64) {
    let (desk, control) = (bench.fake.desk(), RunControl::new());
    let receipt = resume(&desk, &bench.ledger, run, small(), &control, &bench.progress).await.unwrap();
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..jobs).collect::<Vec<_>>());
}

/// Somebody else has the ledger as soon as the first batch has taken effect, until what is returned is emptied.
fn occupy(bench: &Bench) -> Arc<Mutex<Option<Box<dyn Send>>>> {
    let hold: Arc<Mutex<Option<Box<dyn Send>>>> = Arc::default();
    let (ledger, held) = (bench.ledger.clone(), Arc::clone(&hold));
    let then = async move {
        let occupied = ledger.occupied().await;
        *held.lock().unwrap() = Some(Box::new(occupied));
    };
    bench.fake.with(|data| data.then = Some(Box::pin(then)));
    hold
}

#[tokio::test]
async fn a_kill_between_a_commit_and_its_entry_leaves_that_batch_in_doubt_and_of_the_next_one_nothing() {
    for (remembers, abreast) in [(false, false), (true, false), (false, true), (true, true)] {
        let bench = Bench::of(25, abreast).await;
        bench.fake.with(|data| data.endings = remembers.then(Vec::new));
        let run = bench.all(Action::Replay).await;
        let held = occupy(&bench);
        tokio::select! {
            receipt = bench.execute(&run, small()) => panic!("it did not wait for its record: {receipt:?}"),
            // The second batch is worked on although the record does not name it.
            () = until(&bench, |(asked, _)| asked == 2) => {}
        }
        // The execution is gone, as with a process that was killed.
        drop(held.lock().unwrap().take());
        assert_eq!(bench.live(), (15..25).collect::<Vec<_>>(), "one batch took effect, and no other");
        let tally = bench.ledger.tally(&run).await.unwrap();
        assert_eq!((tally.done, tally.in_doubt, tally.not_started), (0, 10, 15), "{tally:?}");
        assert_resumed(&bench, &run, 25).await;
    }
}

#[tokio::test]
async fn a_batch_whose_naming_fails_takes_no_effect() {
    for abreast in [false, true] {
        let bench = Bench::of(25, abreast).await;
        // A reason that needs room, in the first batch.
        let long: &'static str = "no ".repeat(600).leak();
        bench.fake.with(|data| data.rows.values_mut().skip(20).for_each(|row| row.refuses = Some(long)));
        let run = bench.all(Action::Replay).await;
        let full = bench.ledger.clone();
        bench.fake.with(|data| data.then = Some(Box::pin(async move { full.limit_pages(1).await })));
        let impatient = RunOptions { patience: Duration::ZERO, ..small() };
        let desk = bench.fake.desk();
        let broken = execute(&desk, &bench.ledger, &run, impatient, &bench.control, &bench.progress).await;
        assert!(matches!(&broken, Err(RunError::Ledger(LedgerError::Unusable { .. }))), "{broken:?}");
        assert_eq!(bench.fake.with(|data| data.asked), (2, 1), "the second was worked on, and undone");
        assert_eq!(bench.live(), (15..20).collect::<Vec<_>>());
        bench.ledger.limit_pages(1_000_000).await;
        let tally = bench.ledger.tally(&run).await.unwrap();
        assert_eq!((tally.in_doubt, tally.not_started), (10, 15), "{tally:?}");
        let receipt = resume(&desk, &bench.ledger, &run, small(), &RunControl::new(), &bench.progress).await.unwrap();
        assert_eq!((receipt.run.tally.done, receipt.run.tally.failed_total()), (20, 5));
        assert_eq!(bench.live(), (0..20).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_batch_that_waits_too_long_for_its_naming_is_undone_and_tried_again() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    let held = occupy(&bench);
    let release = async {
        until(&bench, |(_, undone)| undone == 1).await;
        assert_eq!(bench.live().len(), 10);
        drop(held.lock().unwrap().take());
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), release);
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.live(), (0..25).collect::<Vec<_>>());
    // Once more for the batch that was undone; the one after an entry that was slow waited for its own.
    assert_eq!(bench.fake.with(|data| data.asked), (4, 1));
}

#[tokio::test]
async fn a_batch_with_a_destination_outside_the_database_is_named_before_it_is_begun() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    let held = occupy(&bench);
    let outside = RunOptions { deliver: Some(Arc::new(Taker)), ..small() };
    tokio::select! {
        receipt = bench.execute(&run, outside) => panic!("it did not wait for its record: {receipt:?}"),
        () = async {
            while held.lock().unwrap().is_none() {
                tokio::task::yield_now().await;
            }
            // As long as a batch would be waited with.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    assert_eq!(bench.fake.with(|data| data.asked), (1, 0));
}

/// The second batch has taken effect and nobody has heard of it, and the third is worked on.
async fn two_abreast(bench: &Bench) -> RunId {
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults = [InjectedFault::Not, InjectedFault::Hang].into());
    run
}

#[tokio::test]
async fn a_kill_while_two_batches_are_under_way_leaves_the_first_of_them_in_doubt_and_of_the_other_nothing() {
    for remembers in [false, true] {
        let bench = Bench::of(35, true).await;
        bench.fake.with(|data| data.endings = remembers.then(Vec::new));
        let run = two_abreast(&bench).await;
        tokio::select! {
            receipt = bench.execute(&run, small()) => panic!("it did not wait for the second batch: {receipt:?}"),
            () = async {
                until(&bench, |(asked, _)| asked == 3).await;
                while bench.live().len() < 20 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            } => {}
        }
        assert_eq!(bench.live(), (15..35).collect::<Vec<_>>(), "two batches took effect, and no other");
        let tally = bench.ledger.tally(&run).await.unwrap();
        assert_eq!((tally.done, tally.in_doubt, tally.not_started), (10, 10, 15), "{tally:?}");
        assert_resumed(&bench, &run, 35).await;
    }
}

#[tokio::test]
async fn a_batch_that_is_under_way_behind_another_gives_way_when_that_one_does_not_end() {
    let bench = Bench::of(35, true).await;
    let run = two_abreast(&bench).await;
    tokio::select! {
        receipt = bench.execute(&run, small()) => panic!("it did not wait for the second batch: {receipt:?}"),
        () = until(&bench, |(_, undone)| undone == 1) => {}
    }
    assert_eq!(bench.live().len(), 20);
}

/// Does something once the second batch has taken effect, before the store answers for it.
fn after_the_second(bench: &Bench, work: impl Future<Output = ()> + Send + 'static) {
    let (fake, work) = (Arc::clone(&bench.fake), Box::pin(work));
    bench.fake.with(|data| data.then = Some(Box::pin(async move { fake.with(|data| data.then = Some(work)) })));
}

#[tokio::test]
async fn none_is_begun_behind_for_a_while_once_one_had_to_give_way() {
    let bench = Bench::of(700, true).await;
    let run = bench.all(Action::Replay).await;
    // The second batch has taken effect and is long in coming back: each may stand before a lock of the other.
    after_the_second(&bench, tokio::time::sleep(BEHIND + Duration::from_millis(100)));
    let receipt = bench.execute(&run, small()).await;
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(bench.fake.with(|data| data.asked), (71, 1), "the third was undone");
    let beside = bench.fake.with(|data| data.beside.clone());
    let (with_the_slow_one, later) = beside.split_at(3);
    assert_eq!(with_the_slow_one, [false, false, true]);
    assert!(!later.contains(&true), "two seconds have not passed: {beside:?}");
}

#[tokio::test]
async fn a_kill_while_two_batches_wait_for_their_entries_leaves_nothing_of_either() {
    for remembers in [false, true] {
        let bench = Bench::of(45, true).await;
        bench.fake.with(|data| data.endings = remembers.then(Vec::new));
        let run = bench.all(Action::Replay).await;
        let (ledger, held) = (bench.ledger.clone(), Arc::new(Mutex::new(None)));
        let hold = Arc::clone(&held);
        after_the_second(&bench, async move { *hold.lock().unwrap() = Some(ledger.occupied().await) });
        tokio::select! {
            receipt = bench.execute(&run, small()) => panic!("it did not wait for its record: {receipt:?}"),
            // The third is worked on, and the fourth behind it, while the record of the second cannot be written.
            () = until(&bench, |(asked, undone)| asked == 4 && undone == 0) => {}
        }
        drop(held.lock().unwrap().take());
        assert_eq!(bench.live(), (25..45).collect::<Vec<_>>(), "two batches took effect, and no other");
        let tally = bench.ledger.tally(&run).await.unwrap();
        assert_eq!((tally.done, tally.in_doubt, tally.not_started), (10, 10, 25), "{tally:?}");
        assert_resumed(&bench, &run, 45).await;
    }
}

#[tokio::test]
async fn a_transaction_that_was_noted_along_with_its_batch_is_asked_about_after_a_kill() {
    let bench =
        Bench { fake: Fake::of(45, |info| (info.abreast, info.remembers) = (true, true)), ..Bench::of(0, true).await };
    bench.fake.with(|data| {
        (data.removes, data.forgotten, data.endings) = (true, true, Some(Vec::new()));
        // The third has taken effect: it was under way behind the second when the record named it.
        data.faults = [InjectedFault::Not, InjectedFault::Not, InjectedFault::Hang].into();
    });
    let run = bench.all(Action::Replay).await;
    tokio::select! {
        receipt = bench.execute(&run, small()) => panic!("it did not wait for the third batch: {receipt:?}"),
        () = async {
            while bench.live().len() < 30 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        } => {}
    }
    let tally = bench.ledger.tally(&run).await.unwrap();
    assert_eq!((tally.done, tally.in_doubt, tally.not_started), (20, 10, 15), "{tally:?}");
    assert_resumed(&bench, &run, 45).await;
}

#[tokio::test]
async fn a_stop_while_two_batches_are_under_way_ends_with_the_first_of_them() {
    let bench = Bench::of(35, true).await;
    let run = bench.all(Action::Replay).await;
    // The second batch takes effect and does not come back before the operator has stopped the run.
    let (fake, stopped) = (Arc::clone(&bench.fake), Arc::new(tokio::sync::Notify::new()));
    let gate = Arc::clone(&stopped);
    let second = Box::pin(async move { gate.notified().await });
    bench.fake.with(|data| data.then = Some(Box::pin(async move { fake.with(|data| data.then = Some(second)) })));
    let stop = async {
        until(&bench, |(asked, _)| asked == 3).await;
        bench.control.stop();
        stopped.notify_one();
    };
    let (receipt, ()) = tokio::join!(bench.execute(&run, small()), stop);
    assert_eq!(bench.live().len(), 20);
    assert_eq!(bench.fake.with(|data| data.asked), (3, 1), "the third was undone");
    let tally = &receipt.run.tally;
    assert_eq!((tally.done, tally.in_doubt, tally.not_started), (20, 0, 15), "{tally:?}");
    assert_resumed(&bench, &run, 35).await;
}

/// Takes everything.
struct Taker;

impl Deliver for Taker {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        Box::pin(async move { batch.into_iter().map(|message| (message.id, Ok(()))).collect() })
    }
}

#[tokio::test]
async fn a_record_that_is_taken_away_ends_the_run_before_anything_further_is_touched() {
    for told in ["removed", "replaced"] {
        let bench = Bench::new(25).await;
        let run = bench.all(Action::Replay).await;
        let file = bench.ledger.path().unwrap().to_owned();
        let moved = PathBuf::from(format!("{}.old", file.display()));
        let take = async move {
            match told {
                "removed" => std::fs::remove_file(&file).unwrap(),
                _ => {
                    std::fs::rename(&file, &moved).unwrap();
                    std::fs::copy(&moved, &file).unwrap();
                }
            }
        };
        bench.fake.with(|data| data.then = Some(Box::pin(take)));
        let desk = bench.fake.desk();
        let broken = execute(&desk, &bench.ledger, &run, small(), &bench.control, &bench.progress).await;
        assert!(matches!(&broken, Err(RunError::Ledger(LedgerError::Moved { .. }))), "{told}: {broken:?}");
        assert_eq!(bench.live(), (15..25).collect::<Vec<_>>(), "{told}: one batch took effect, and no other");
        assert_eq!(bench.progress.borrow().tally.in_doubt, 10, "{told}");
    }
}
