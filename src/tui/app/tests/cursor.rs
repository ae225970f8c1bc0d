//! Where the cursor stands when the list is read anew, or comes in pieces.

use super::*;

#[test]
fn a_page_is_asked_for_that_fills_the_screen_so_that_the_cursor_keeps_its_job() {
    let mut console = Console::with_jobs(200);
    let rows = console.model.list_rows();
    assert!(rows > 2);
    for _ in 1..rows {
        console.keys("j");
    }
    let last = format!("job-{}", rows - 1);
    assert_eq!(console.current(), Some(last.as_str()));
    console.keys("r");
    let Some(Request::Page { screen, .. }) = console.request(Slot::Page) else { panic!("nothing is read anew") };
    let screen = *screen;
    let after = Some(Cursor::After(entry(screen - 1).position));
    console.answer(Slot::Page, Reply::Page(Ok(page(0..screen, after))));
    assert_eq!(console.current(), Some(last.as_str()));
}

#[test]
fn the_end_of_a_list_fills_the_screen_though_it_comes_in_pieces() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.answer(Slot::Page, Reply::Page(Ok(page(0..100, Some(Cursor::After(entry(99).position))))));
    let rows = console.model.list_rows();
    console.keys("G");
    for (from, until) in [(998, 1_000), (996, 998), (900, 996)] {
        let before = Some(Cursor::Before(entry(from).position));
        console.answer(Slot::Page, Reply::Page(Ok(page(from..until, before))));
        assert_eq!(console.model.list.visible(rows).count(), rows.min(1_000 - from), "from {from}");
        assert_eq!(console.current(), Some("job-999"));
    }
}
