//! Which store is open, and what another one was asked.

use super::*;

#[test]
fn choosing_another_store_leaves_the_open_one_until_it_is_done() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("stores").keys("Enter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    let Overlay::Picker(picker) = &console.model.overlay else { panic!("nothing to choose from") };
    assert_eq!(picker.at, 1, "the cursor is on the open store");
    console.keys("Esc");
    assert!(matches!(console.model.overlay, Overlay::None));
    assert_eq!(console.current(), Some("job-0"));
    console.keys(":").text("stores").keys("Enter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    console.keys("k Enter");
    assert!(matches!(console.request(Slot::Open), Some(Request::Open(name)) if name == "archive"));
}

#[test]
fn what_another_store_was_asked_is_no_answer_of_this_one() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("class:a").keys("Enter");
    let asked = console.asked.iter().find(|(_, slot, _)| *slot == Slot::Page);
    let (id, slot) = asked.map(|(id, slot, _)| (*id, *slot)).expect("a page is asked for");
    console.keys(":").text("stores").keys("Enter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    console.keys("k Enter");
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(Opened { name: "archive".into(), ..opened() }))));
    console.tell(Msg::Reply { id, slot, reply: Reply::Page(Ok(page(0..5, None))) });
    assert_eq!(console.current(), None, "a job of the other store has the cursor");
    assert!(console.model.detail.job.is_none() && console.model.live.poll_token.is_none());
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { query, .. }) if query.cursor == Cursor::Start));
}

#[test]
fn another_store_owes_nothing_for_the_one_before_and_is_counted_at_once() {
    let mut console = Console::with_jobs(5);
    let slow = || Reply::Histogram(Box::new(Err(SourceError::Timeout(Duration::from_secs(2)))));
    console.counting().answer(Slot::Histogram, slow());
    assert!(!console.model.live.query_budget.is_paid(console.now));
    console.keys(":").text("stores").keys("Enter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    console.keys("k Enter");
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(Opened { name: "archive".into(), ..opened() }))));
    assert!(console.model.live.query_budget.is_paid(console.now));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Estimate(_))));
}

#[test]
fn stores_to_choose_from_are_no_sign_of_life_beside_an_open_one() {
    let mut console = Console::with_jobs(5);
    console.keys("r");
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Unreachable("connection refused".into()))));
    console.keys(":").text("stores").keys("Enter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    assert!(matches!(console.model.live.link, ConnectionState::Down { .. }), "{:?}", console.model.live.link);
    let notice = console.model.screen.notice.as_ref().map(|notice| notice.sentence.as_str());
    assert_ne!(notice, Some("connected again"));
}

#[test]
fn a_source_that_waits_for_a_choice_is_connected() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events"), choice("jobs")])));
    assert_eq!(console.model.live.link, ConnectionState::Up);
    console.keys("Esc");
    assert!(matches!(console.model.overlay, Overlay::Picker(_)), "there is nothing to go back to");
}
