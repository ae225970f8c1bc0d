//! Runs that are interrupted between a batch and its record.

use std::path::PathBuf;
use std::sync::Mutex;

use super::*;
use crate::ledger::LedgerError;

/// Waits until somebody has the ledger, and as long as a batch that is not named would need to be begun.
async fn until_held(held: &Mutex<Option<Box<dyn Send>>>) {
    while held.lock().unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
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
    for remembers in [false, true] {
        let bench = Bench::new(25).await;
        bench.fake.with(|data| data.endings = remembers.then(Vec::new));
        let run = bench.all(Action::Replay).await;
        let held = occupy(&bench);
        tokio::select! {
            receipt = bench.execute(&run, small()) => panic!("it did not wait for its record: {receipt:?}"),
            () = until_held(&held) => {}
        }
        // The execution is gone, as with a process that was killed.
        drop(held.lock().unwrap().take());
        assert_eq!(bench.fake.with(|data| data.asked), 1, "the second waits until the record names it");
        assert_eq!(bench.live(), (15..25).collect::<Vec<_>>(), "one batch took effect, and no other");
        let tally = bench.ledger.runs().tally(&run).await.unwrap();
        assert_eq!((tally.done, tally.in_doubt, tally.not_started), (0, 10, 15), "{tally:?}");
        assert_resumed(&bench, &run, 25).await;
    }
}

#[tokio::test]
async fn a_batch_whose_naming_fails_is_not_begun() {
    let bench = Bench::new(25).await;
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
    assert_eq!(bench.fake.with(|data| data.asked), 1);
    assert_eq!(bench.live(), (15..20).collect::<Vec<_>>());
    bench.ledger.limit_pages(1_000_000).await;
    let tally = bench.ledger.runs().tally(&run).await.unwrap();
    assert_eq!((tally.in_doubt, tally.not_started), (10, 15), "{tally:?}");
    let receipt = resume(&desk, &bench.ledger, &run, small(), &RunControl::new(), &bench.progress).await.unwrap();
    assert_eq!((receipt.run.tally.done, receipt.run.tally.failed_total()), (20, 5));
    assert_eq!(bench.live(), (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_batch_with_a_destination_outside_the_database_is_named_before_it_is_begun() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    let held = occupy(&bench);
    let outside = RunOptions { deliver: Some(Arc::new(Taker)), ..small() };
    tokio::select! {
        receipt = bench.execute(&run, outside) => panic!("it did not wait for its record: {receipt:?}"),
        () = until_held(&held) => {}
    }
    assert_eq!(bench.fake.with(|data| data.asked), 1);
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
