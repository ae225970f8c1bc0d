//! Runs whose jobs are judged before they are replayed.

use std::sync::Mutex;

use super::*;
use crate::domain::run_options::Options;
use crate::domain::run_options::validator::Validator;
use crate::triage::deliver::Answered;
use crate::triage::validate::Validate;

/// Accepts by a rule; `None` is no answer.
struct Judge {
    rule: fn(u64) -> Option<Result<(), String>>,
    asked: Mutex<Vec<u64>>,
}

impl Judge {
    fn new(rule: fn(u64) -> Option<Result<(), String>>) -> Arc<Self> {
        Arc::new(Self { rule, asked: Mutex::default() })
    }

    fn options(self: &Arc<Self>) -> RunOptions {
        RunOptions { validate: Some(self.clone()), ..small() }
    }
}

impl Validate for Judge {
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>> {
        let answer = |message: Message| {
            assert!(message.json.starts_with(&format!("{{\"id\":\"{}\",", message.id.as_str())), "{}", message.json);
            let n = message.id.as_str().parse().unwrap();
            self.asked.lock().unwrap().push(n);
            let told = (self.rule)(n);
            let heard = told.is_some();
            Answered { id: message.id, result: told.unwrap_or_else(|| Err("it died".into())), heard }
        };
        let answers = batch.into_iter().map(answer).collect();
        Box::pin(async move { answers })
    }
}

fn even(n: u64) -> Option<Result<(), String>> {
    Some(if n.is_multiple_of(2) { Ok(()) } else { Err("odd\u{1b}[2J\n".into()) })
}

#[tokio::test]
async fn only_what_is_accepted_is_replayed_and_the_rest_stays_with_the_reason() {
    let bench = Bench::new(25).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.rows.remove(&4));
    bench.fake.with(|data| data.rows.get_mut(&6).unwrap().state = State::Ignored);
    let judge = Judge::new(even);
    let receipt = bench.execute(&run, judge.options()).await;
    assert_eq!(receipt.run.state, RunState::Finished);
    assert_eq!(bench.live(), (0..25).filter(|n| n % 2 == 0 && *n != 4 && *n != 6).collect::<Vec<_>>());
    let mut skipped = receipt.run.tally.skipped.clone();
    skipped.sort();
    let words: Vec<(&str, u64)> = skipped.iter().map(|(word, n)| (word.as_str(), *n)).collect();
    assert_eq!(words[..2], [("changed meanwhile", 1), ("gone", 1)]);
    assert!(words[2].0.starts_with("not accepted: odd") && !words[2].0.contains(char::is_control), "{words:?}");
    assert_eq!((words[2].1, words.len()), (12, 3));
    assert!(bench.fake.with(|data| data.rows[&5].state == State::Dead));
    assert_eq!(judge.asked.lock().unwrap().len(), 23, "what is gone or changed is not asked for");
}

#[tokio::test]
async fn a_validator_that_answers_nothing_stops_the_run_and_one_that_refuses_does_not() {
    let bench = Bench::new(50).await;
    let run = bench.all(Action::Replay).await;
    let receipt = bench.execute(&run, Judge::new(|_| None).options()).await;
    let tally = &receipt.run.tally;
    assert_eq!(
        (receipt.run.state, tally.skipped.clone()),
        (RunState::Stopped, vec![("not accepted: it died".into(), 20)])
    );
    assert!(receipt.halted.is_some_and(|why| why.contains("answered for no job of 2 batches")));
    let again = RunControl::new();
    let refuses = Judge::new(|_| Some(Err("no".into())));
    let receipt =
        resume(&bench.fake.desk(), &bench.ledger, &run, refuses.options(), &again, &bench.progress).await.unwrap();
    assert_eq!((receipt.run.state, receipt.run.tally.skipped_total()), (RunState::Finished, 50));
    assert!(bench.live().is_empty());
}

#[tokio::test]
async fn other_verbs_are_not_judged() {
    let bench = Bench::new(5).await;
    let run = bench.all(Action::Ignore).await;
    let judge = Judge::new(|_| None);
    assert!(bench.execute(&run, judge.options()).await.is_complete());
    assert!(judge.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_batch_that_was_interrupted_is_judged_again_before_it_is_replayed() {
    let bench = Bench::new(10).await;
    let run = bench.all(Action::Replay).await;
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Before(dropped())));
    let receipt = bench.execute(&run, Judge::new(even).options()).await;
    assert_eq!((receipt.run.tally.done, receipt.run.tally.skipped_total()), (5, 5));
    assert_eq!(bench.live(), [0, 2, 4, 6, 8]);
}

#[tokio::test]
async fn a_run_goes_on_with_the_command_that_it_was_planned_with() {
    let bench = Bench::new(30).await;
    let script = r#"while read -r line; do id=${line#*:\"}; id=${id%%\"*}
        case $id in *[02468]) echo "{\"id\":\"$id\",\"ok\":true}";;
        *) echo "{\"id\":\"$id\",\"ok\":false,\"error\":\"odd\"}";; esac; done"#;
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let validate = Some(Validator::new(command, Duration::from_secs(30)));
    let options = Options { validate, ..Options::default() };
    let now = Timestamp(1_795_144_329_000_000);
    let ask = Ask { options, ..Ask::new(ActionScope::Filter(Filter::all()), Action::Replay, now) };
    let plan =
        freeze(&bench.fake.desk(), &bench.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await.unwrap();
    assert!(plan.options.to_string().starts_with("only what `/bin/sh -c"), "{}", plan.options);
    bench.fake.with(|data| data.faults.push_back(InjectedFault::Before(SourceError::Denied("no".into()))));
    let receipt = bench.execute(&plan.run, small()).await;
    assert_eq!(receipt.run.state, RunState::Stopped);
    let again = RunControl::new();
    let receipt = resume(&bench.fake.desk(), &bench.ledger, &plan.run, small(), &again, &bench.progress).await.unwrap();
    assert_eq!(receipt.run.tally.skipped, [("not accepted: odd".to_owned(), 15)]);
    assert_eq!(bench.live(), (0..30).step_by(2).collect::<Vec<_>>());
}
