//! What is asked for until the first screen is there, and in which order.

use super::*;
use crate::domain::text::Untrusted;
use crate::ledger::HistoryEntry;
use crate::store::{Listed, Resume};

#[test]
fn the_first_screen_is_asked_for_at_once_and_what_may_take_long_behind_it() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    let asked = |console: &Console| console.asked.iter().map(|(_, slot, _)| *slot).collect::<Vec<_>>();
    assert_eq!(asked(&console), [Slot::Page]);
    let Some(Request::Glance(query)) = console.request(Slot::Page) else { panic!("a glance") };
    assert_eq!(*query, crate::tui::app::first_query(&opened().info), "which may have been asked for beforehand");
    let bars = counted(&[("A", 3)]).histogram;
    console.answer(Slot::Page, first_screen(Some(bars), page(0..5, None), None));
    assert!(console.model.histogram.shown.is_some() && console.current() == Some("job-0"));
    assert_eq!(asked(&console), [Slot::Detail], "the job on screen comes before any count");
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
fn a_count_goes_on_over_an_estimate_and_shows_no_less_than_the_first_page_had() {
    let shown = |exactness| {
        let mut console = Console::connecting();
        console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
        console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
        let mut bars = counted(&[("A", 80), ("B", 20)]).histogram;
        bars.total.exactness = exactness;
        console.answer(Slot::Page, first_screen(Some(bars), page(0..5, None), None));
        console.counting();
        let mut step = counted(&[("A", 300)]);
        step.histogram.progress = Some(0.5);
        step.resume = Some(Resume::from_listed(Listed::default()));
        console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
        let shown = console.model.histogram.shown.as_ref().expect("bars");
        shown.bars.iter().map(|bar| bar.count.n).collect::<Vec<_>>()
    };
    assert_eq!(shown(Exactness::Estimate), [340, 10]);
    assert_eq!(shown(Exactness::AtLeast), [300, 20], "what was seen is among what is counted, or will be");
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
fn a_job_that_comes_with_the_page_is_shown_and_not_asked_for() {
    let screen = |estimate, job| {
        let mut console = Console::connecting();
        console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
        console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
        console.answer(Slot::Page, first_screen(estimate, page(0..5, None), Some(job)));
        console
    };
    let estimate = || Some(counted(&[("A", 5)]).histogram);
    let mut console = screen(estimate(), "job-0");
    assert!(console.model.detail.document.is_some() && console.request(Slot::Detail).is_none());
    assert!(console.request(Slot::Histogram).is_none(), "the frame is drawn first");
    console.wait(Duration::from_millis(10));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(_))), "the estimate is there already");
    let mut console = screen(None, "job-0");
    console.wait(Duration::ZERO);
    assert!(console.request(Slot::Histogram).is_some(), "it has no bars otherwise");
    let console = screen(estimate(), "job-1");
    assert!(console.model.detail.document.is_none(), "it died after the page was read");
    assert!(console.request(Slot::Detail).is_some());
}

#[test]
fn a_job_that_does_not_come_keeps_no_count_back_for_long() {
    let mut console = Console::with_jobs(3);
    assert!(console.request(Slot::Histogram).is_none());
    console.wait(Duration::from_secs(2));
    assert!(console.request(Slot::Histogram).is_some());
    console.answer(Slot::Detail, Reply::Detail(Err(SourceError::Timeout(Duration::from_secs(2)))));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3)])))));
    assert!(console.request(Slot::Histogram).is_none(), "and it is counted once");
}

#[test]
fn where_both_cannot_be_had_at_once_bars_and_rows_are_asked_for_one_by_one() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.answer(Slot::Page, Reply::Glance(Box::new(Err(SourceError::Layout("no such column".into())))));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Estimate(_))));
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { .. })));
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
