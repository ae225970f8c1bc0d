//! What is asked for until the first screen is there, and in which order.

use super::*;
use crate::domain::text::Untrusted;
use crate::ledger::HistoryEntry;
use crate::store::Token;

#[test]
fn the_first_screen_asks_for_bars_and_rows_at_once_and_for_what_may_take_long_behind_them() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    let asked = |console: &Console| console.asked.iter().map(|(_, slot, _)| *slot).collect::<Vec<_>>();
    assert_eq!(asked(&console), [Slot::Page, Slot::Histogram]);
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Estimate(_))));
    console.first_screen(Some(counted(&[("A", 3)]).histogram), page(0..5, None));
    assert!(console.model.histogram.shown.is_some() && console.current() == Some("job-0"));
    assert_eq!(asked(&console), [Slot::Histogram, Slot::Detail]);
    console.counting();
    assert!(console.request(Slot::Totals).is_none());
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3)])))));
    assert!(console.request(Slot::Totals).is_some());
    console.answer(Slot::Totals, Reply::Totals(Ok(vec![(State::Dead, Count::exact(3))])));
    console.keys("r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Err(SourceError::Timeout(Duration::from_secs(5))))));
    assert!(console.request(Slot::Totals).is_some(), "a count that fails does not keep them back");
}

#[test]
fn a_count_goes_on_over_an_estimate() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    let mut bars = counted(&[("A", 80), ("B", 20)]).histogram;
    bars.total.exactness = Exactness::Estimate;
    console.first_screen(Some(bars), page(0..5, None)).counting();
    let mut step = counted(&[("A", 300)]);
    step.histogram.progress = Some(0.5);
    step.resume = Some(Token::new(()));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
    let shown = console.model.histogram.shown.as_ref().expect("bars");
    assert_eq!(shown.bars.iter().map(|bar| bar.count.n).collect::<Vec<_>>(), [340, 10]);
}

#[test]
fn a_guess_of_how_many_are_dead_gives_way_to_what_was_counted() {
    let header = |guessed: Count| {
        let mut console = Console::with_jobs(3);
        console.counting();
        console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3)])))));
        console.answer(Slot::Totals, Reply::Totals(Ok(vec![(State::Dead, guessed)])));
        console.model.total(State::Dead)
    };
    assert_eq!(header(Count { n: 900, exactness: Exactness::Estimate }), Some(Count::exact(3)));
    assert_eq!(header(Count::exact(4)), Some(Count::exact(3)), "as the bars say: the next poll tells of one more");
}

#[test]
fn an_estimate_or_a_page_that_fails_keeps_nothing_else_from_the_first_screen() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.answer(Slot::Histogram, Reply::Estimate(Err(SourceError::Layout("no such column".into()))));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(_))));
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Timeout(Duration::from_secs(2)))));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3)])))));
    assert!(console.model.histogram.shown.is_some());
}

#[test]
fn a_history_that_comes_later_than_its_job_is_shown_with_it() {
    let mut console = Console::with_jobs(3);
    console.counting();
    let entry = HistoryEntry {
        run: RunId("r-1".into()),
        action: Action::Replay,
        at: Timestamp(0),
        operator: Operator::default(),
        reason: None,
        outcome: Untrusted::from("done"),
    };
    console.tell(Msg::Past { job: JobId::new("job-2"), history: vec![entry.clone()], replayed: 7 });
    let replayed = |console: &Console| console.model.detail.document.as_ref().map(|document| document.replayed);
    assert_eq!(replayed(&console), Some(0), "another job's");
    console.tell(Msg::Past { job: JobId::new("job-0"), history: vec![entry], replayed: 2 });
    assert_eq!(replayed(&console), Some(2));
}
