//! A destination that accepts nothing stops a run; one that is given nothing does not.

use std::sync::Mutex;

use super::*;
use crate::store::Deliver;
use crate::triage::deliver::Answered;
use crate::triage::validate::Validate;

/// Accepts nothing, and says what it was given.
#[derive(Default)]
struct Closed(Mutex<Vec<u64>>);

impl Deliver for Closed {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        self.0.lock().unwrap().extend(batch.iter().map(|m| m.id.as_str().parse::<u64>().unwrap()));
        Box::pin(async move { batch.into_iter().map(|m| (m.id, Err("closed".to_owned()))).collect() })
    }
}

/// Judges by a rule.
struct Rule(fn(u64) -> bool);

impl Validate for Rule {
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>> {
        let answer = |message: Message| {
            let accepted = (self.0)(message.id.as_str().parse().unwrap());
            let result = if accepted { Ok(()) } else { Err("too old".to_owned()) };
            Answered { id: message.id, result, heard: true }
        };
        let answers = batch.into_iter().map(answer).collect();
        Box::pin(async move { answers })
    }
}

fn to(destination: Arc<dyn Deliver>) -> RunOptions {
    RunOptions { deliver: Some(destination), ..small() }
}

#[tokio::test]
async fn a_destination_that_accepts_nothing_stops_the_run_before_every_job_is_tried() {
    let bench = Bench::new(50).await;
    let run = bench.all(Action::Replay).await;
    let receipt = bench.execute(&run, to(Arc::new(Closed::default()))).await;
    assert_eq!((receipt.run.tally.failed_total(), receipt.run.tally.not_started), (20, 30));
    assert!(receipt.halted.unwrap().contains("accepted no job of 2 batches"));
}

#[tokio::test]
async fn batches_that_the_validator_refuses_whole_are_no_refusals_of_the_destination() {
    let bench = Bench::new(50).await;
    let run = bench.all(Action::Replay).await;
    let judged = RunOptions { validate: Some(Arc::new(Rule(|n| n < 20))), ..to(Arc::new(Count(Default::default()))) };
    let receipt = bench.execute(&run, judged).await;
    let tally = &receipt.run.tally;
    assert_eq!((tally.done, tally.skipped_total(), receipt.halted), (20, 30, None), "{tally:?}");
}

#[tokio::test]
async fn batches_that_others_have_settled_meanwhile_are_no_refusals_either() {
    let bench = Bench::new(50).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.rows.range_mut(20..).for_each(|(_, row)| row.state = State::Resolved));
    let receipt = bench.execute(&run, to(Arc::new(Count(Default::default())))).await;
    let tally = &receipt.run.tally;
    assert_eq!((tally.done, tally.skipped_total(), receipt.halted), (20, 30, None), "{tally:?}");
}

#[tokio::test]
async fn a_batch_of_which_the_destination_is_given_nothing_hides_no_refusal() {
    let bench = Bench::new(50).await;
    let run = bench.all(Action::Replay).await;
    // Batches of ten, the newest first: the second is given to nobody.
    let closed = Arc::new(Closed::default());
    let judged = RunOptions { validate: Some(Arc::new(Rule(|n| !(30..40).contains(&n)))), ..to(closed.clone()) };
    let receipt = bench.execute(&run, judged).await;
    let tally = &receipt.run.tally;
    assert_eq!((tally.failed_total(), tally.skipped_total(), tally.not_started), (20, 10, 20), "{tally:?}");
    assert!(receipt.halted.unwrap().contains("accepted no job of 2 batches"));
    assert!(closed.0.lock().unwrap().iter().all(|n| *n >= 20));
}
