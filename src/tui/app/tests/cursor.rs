//! Where the cursor stands when the list is read anew, or comes in pieces.

use super::*;
use crate::store::Stored;

fn after(last: usize) -> Option<Cursor> {
    Some(Cursor::After(entry(last).position))
}

/// A list of 200 jobs whose cursor is on the third and that is being read anew.
fn reread() -> Console {
    let mut console = Console::with_jobs(200);
    console.keys("j j r");
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { .. })));
    console
}

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

#[test]
fn a_list_that_comes_in_pieces_has_no_cursor_until_it_comes_to_the_job_that_had_it() {
    let mut console = reread();
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, after(1)))));
    assert_eq!(console.current(), None);
    console.keys("R");
    assert!(console.request(Slot::Act).is_none(), "another job is acted on than the one that had the cursor");
    console.answer(Slot::Page, Reply::Page(Ok(page(2..9, after(8)))));
    assert_eq!(console.current(), Some("job-2"));
}

#[test]
fn where_the_job_is_gone_the_cursor_is_on_the_one_that_stands_in_its_place() {
    let mut console = reread();
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, after(1)))));
    console.answer(Slot::Page, Reply::Page(Ok(page(3..9, after(8)))));
    assert_eq!(console.current(), Some("job-3"));

    let mut console = reread();
    console.answer(Slot::Page, Reply::Page(Ok(page(0..0, after(1)))));
    assert_eq!(console.current(), None);
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, None))));
    assert_eq!(console.current(), Some("job-1"), "that is the end of the list");
}

#[test]
fn whoever_moves_the_cursor_or_stops_the_reading_does_not_wait_for_the_job_that_had_it() {
    let mut console = reread();
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, after(1)))));
    console.keys("j");
    console.answer(Slot::Page, Reply::Page(Ok(page(2..9, after(8)))));
    assert_eq!(console.current(), Some("job-1"));

    let mut console = reread();
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, after(1)))));
    console.answer(Slot::Page, Reply::Page(Err(StoreError::Interrupted)));
    assert_eq!(console.current(), Some("job-1"));
}

#[test]
fn a_search_that_meets_hits_in_no_order_waits_for_the_job_until_it_has_been_everywhere() {
    let stored = || {
        let beyond = entry(900).position;
        Some(Cursor::Stored(Stored { beyond, until: None, blocks: 9, left: 9, floor: 0, key: None }))
    };
    for (last, stands_on) in [(0..3, "job-2"), (7..9, "job-52")] {
        let mut console = Console::with_jobs(200);
        console.keys("j j r");
        console.answer(Slot::Page, Reply::Page(Ok(page(50..60, stored()))));
        console.answer(Slot::Page, Reply::Page(Ok(page(30..33, stored()))));
        assert_eq!(console.current(), None);
        console.answer(Slot::Page, Reply::Page(Ok(page(last, None))));
        assert_eq!(console.current(), Some(stands_on));
    }
}
