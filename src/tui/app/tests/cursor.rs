//! Where the cursor stands when the list is read again, or comes in pieces.

use super::*;
use crate::store::{Token, Unordered};

/// Rows by their places in an order that has the newest first.
fn rows(places: std::ops::Range<usize>, next: Option<Cursor>) -> Page {
    Page { entries: places.map(|place| entry(1_000 - place)).collect(), next, scanned: None }
}

fn after(place: usize) -> Option<Cursor> {
    Some(Cursor::After(entry(1_000 - place).position))
}

/// Where a search goes on that has read in order as far as a place.
fn stored(place: usize) -> Option<Cursor> {
    let beyond = entry(1_000 - place).position;
    Some(Cursor::Unordered(Unordered { beyond, until: None, token: Token::new(()) }))
}

/// A list of 100 jobs whose cursor is on the third, `job-998`, and that is being read again.
fn reread() -> Console {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.first_screen(None, rows(0..100, after(99)));
    console.keys("j j r");
    assert_eq!(console.current(), Some("job-998"));
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { .. })));
    console
}

fn receive(console: &mut Console, page: Page) {
    console.answer(Slot::Page, Reply::Page(Ok(page)));
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
    receive(&mut console, rows(0..2, after(1)));
    assert_eq!(console.current(), None);
    console.model.runner.last = Some((RunId("r-0".into()), Action::Replay));
    console.keys("R U");
    assert!(console.request(Slot::Act).is_none(), "another job is acted on, or a run undone that was not meant");
    receive(&mut console, rows(2..9, after(8)));
    assert_eq!(console.current(), Some("job-998"));
}

#[test]
fn jobs_that_came_before_it_do_not_take_its_place() {
    let mut console = reread();
    let newer = (0..100).map(|n| entry(2_000 - n)).collect();
    receive(&mut console, Page { entries: newer, next: Some(Cursor::After(entry(1_901).position)), scanned: None });
    assert_eq!(console.current(), None);
    receive(&mut console, rows(0..100, after(99)));
    assert_eq!(console.current(), Some("job-998"));
}

#[test]
fn where_the_job_is_gone_the_cursor_is_on_the_one_that_stands_in_its_place() {
    let mut console = reread();
    receive(&mut console, rows(0..2, after(1)));
    receive(&mut console, rows(3..9, after(8)));
    assert_eq!(console.current(), Some("job-997"));

    let mut console = reread();
    receive(&mut console, rows(0..0, after(1)));
    assert_eq!(console.current(), None);
    receive(&mut console, rows(0..2, None));
    assert_eq!(console.current(), Some("job-999"), "that is the end of the list");
}

#[test]
fn whoever_moves_the_cursor_does_not_wait_for_the_job_that_had_it() {
    let mut console = reread();
    receive(&mut console, rows(0..2, after(1)));
    console.keys("k");
    assert_eq!(console.current(), Some("job-1000"));
    assert!(!console.model.list.is_awaiting());
    receive(&mut console, rows(2..9, after(8)));
    assert_eq!(console.current(), Some("job-1000"));
}

#[test]
fn a_fault_on_the_way_leaves_the_cursor_to_be_found_by_the_next_reading() {
    let mut console = reread();
    receive(&mut console, rows(0..2, after(1)));
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Interrupted)));
    assert_eq!(console.current(), None);
    console.keys("r");
    receive(&mut console, rows(0..9, after(8)));
    assert_eq!(console.current(), Some("job-998"));
}

#[test]
fn a_search_that_meets_hits_in_no_order_waits_for_the_job_until_it_has_been_everywhere() {
    for (last, stands_on) in [(2..4, "job-998"), (7..9, "job-992")] {
        let mut console = reread();
        receive(&mut console, rows(0..1, stored(0)));
        receive(&mut console, rows(50..60, stored(0)));
        assert_eq!(console.current(), None);
        receive(&mut console, rows(last, None));
        assert_eq!(console.current(), Some(stands_on));
    }
    // What comes before the place from which it searches was read in order.
    let mut console = reread();
    receive(&mut console, rows(0..2, stored(4)));
    assert_eq!(console.current(), Some("job-999"));
}

#[test]
fn rows_are_read_on_to_the_job_that_had_the_cursor_though_the_screen_is_full() {
    let mut console = reread();
    let newer = (0..100).map(|n| entry(2_000 - n)).collect();
    receive(&mut console, Page { entries: newer, next: Some(Cursor::After(entry(1_901).position)), scanned: None });
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("stops") };
    assert_eq!(query.cursor, Cursor::After(entry(1_901).position));
}

#[test]
fn hits_beyond_those_that_are_kept_do_not_push_out_the_job_that_has_the_cursor() {
    let mut console = reread();
    receive(&mut console, rows(0..9, stored(0)));
    assert_eq!(console.current(), Some("job-998"));
    let newer = (0..3_000).map(|n| entry(9_000 - n)).collect();
    receive(&mut console, Page { entries: newer, next: stored(0), scanned: None });
    assert_eq!(console.current(), Some("job-998"));
}

/// A list of 100 jobs that is scrolled to its end and being read again from there.
fn scrolled() -> (Console, Cursor) {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.first_screen(None, rows(0..100, None));
    console.keys(&"j ".repeat(99));
    console.keys("r");
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("nothing is read anew") };
    let from = query.cursor.clone();
    assert!(matches!(from, Cursor::After(_)), "{from:?}");
    (console, from)
}

#[test]
fn a_list_that_is_read_again_while_the_cursor_waits_begins_where_it_began() {
    let (mut console, from) = scrolled();
    receive(&mut console, rows(98..99, after(98)));
    assert_eq!(console.current(), None);
    console.keys("r");
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("nothing is read anew") };
    assert_eq!(query.cursor, from);
}

#[test]
fn the_start_of_an_order_is_not_taken_for_known_where_nothing_came_from_its_middle_yet() {
    let (mut console, _) = scrolled();
    receive(&mut console, rows(0..0, after(98)));
    assert!(!console.model.list.knows_start());
    receive(&mut console, rows(99..100, None));
    assert!(!console.model.list.knows_start());
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else {
        panic!("what comes before is not read")
    };
    assert_eq!(query.cursor, Cursor::Before(entry(1_000 - 99).position));
    receive(&mut console, rows(0..99, None));
    assert!(console.model.list.knows_start());
    assert_eq!(console.current(), Some("job-901"));
}

#[test]
fn where_all_is_gone_from_the_screen_on_the_list_ends_with_what_is_left() {
    let (mut console, _) = scrolled();
    receive(&mut console, rows(0..0, None));
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("what is left is not read") };
    assert_eq!(query.cursor, Cursor::End);
    receive(&mut console, rows(0..80, None));
    assert_eq!(console.current(), Some("job-921"));
    assert!(console.model.list.knows_start() && console.model.list.knows_end());
}

#[test]
fn the_end_of_an_order_that_comes_in_pieces_has_the_cursor_once_it_comes() {
    let (mut console, _) = scrolled();
    receive(&mut console, rows(0..0, None));
    let before = |place: usize| Some(Cursor::Before(entry(1_000 - place).position));
    receive(&mut console, rows(0..0, before(90)));
    assert!(console.model.list.is_awaiting() && !console.model.list.knows_end(), "nothing is known of the list yet");
    receive(&mut console, rows(70..75, before(70)));
    assert_eq!(console.current(), Some("job-926"));
}

#[test]
fn a_piece_without_rows_from_before_it_does_not_move_a_list_to_the_top() {
    let (mut console, from) = scrolled();
    receive(&mut console, rows(99..100, None));
    receive(&mut console, rows(0..0, Some(Cursor::Before(entry(1_000 - 90).position))));
    console.keys("r");
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("nothing is read anew") };
    assert_eq!(query.cursor, from);
}

#[test]
fn whoever_went_to_the_top_is_not_taken_back_by_a_fault() {
    let (mut console, _) = scrolled();
    receive(&mut console, rows(98..99, after(98)));
    console.keys("g");
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Interrupted)));
    console.keys("r");
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("nothing is read anew") };
    assert_eq!(query.cursor, Cursor::Start);
}
