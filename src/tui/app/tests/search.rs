//! A list that is filled by a search: hits come in no order.

use super::*;
use crate::store::{Scanned, Token, Unordered};

#[test]
fn hits_that_come_in_no_order_take_their_places_and_leave_the_cursor_on_its_job() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("msg:needle").keys("Enter");
    let scanned = Some(Scanned { rows: 0, share: 0.1 });
    let stored = |token: &Token| {
        let beyond = entry(900).position;
        Some(Cursor::Unordered(Unordered { beyond, until: None, token: token.clone() }))
    };
    let (first, second) = (Token::new(9), Token::new(5));
    let found = |ns: &[usize], next| Page { entries: ns.iter().map(|n| entry(*n)).collect(), next, scanned };
    console.answer(Slot::Page, Reply::Page(Ok(found(&[950, 900], stored(&first)))));
    console.keys("j");
    assert_eq!(console.current(), Some("job-900"));
    // The screen is full, and still the scan goes on: the next hit may belong anywhere.
    let many: Vec<usize> = (100..200).collect();
    console.answer(Slot::Page, Reply::Page(Ok(found(&many, stored(&second)))));
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("stops") };
    assert_eq!(query.cursor, stored(&second).expect("a cursor"));
    // One that was met before, and some that belong above it and behind all.
    console.answer(Slot::Page, Reply::Page(Ok(found(&[150, 7, 850, 300], None))));
    assert_eq!(console.current(), Some("job-900"));
    let ids: Vec<usize> =
        console.model.list.entries().iter().filter_map(|e| e.position.key.as_ref()?.parse().ok()).collect();
    let mut sorted = ids.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    sorted.dedup();
    assert_eq!((ids.len(), ids), (105, sorted));
    assert!(console.request(Slot::Page).is_none() && console.model.list.knows_end());
}

#[test]
fn of_more_hits_than_are_kept_the_first_stay_and_the_search_asks_for_none_behind_them() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("msg:needle").keys("Enter");
    let beyond = entry(9_000).position;
    let at = Unordered { beyond, until: None, token: Token::new(()) };
    let next = Some(Cursor::Unordered(at));
    console
        .answer(Slot::Page, Reply::Page(Ok(Page { entries: vec![entry(9_000)], next: next.clone(), scanned: None })));
    let hits: Vec<_> = (0..3_000).map(entry).collect();
    console.answer(Slot::Page, Reply::Page(Ok(Page { entries: hits, next, scanned: None })));
    let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("stops") };
    let Cursor::Unordered(at) = &query.cursor else { panic!("another way") };
    assert_eq!(at.until.as_ref(), Some(&entry(1_001).position));
    console.answer(Slot::Page, Reply::Page(Ok(Page { entries: Vec::new(), next: None, scanned: None })));
    assert_eq!(console.model.list.entries().len(), 2_000);
    assert!(!console.model.list.knows_end(), "what lies behind is read when it is gone to");
}

#[test]
fn rows_that_a_search_has_not_counted_are_in_no_number() {
    let step = |rows, share, next| Page { entries: Vec::new(), next, scanned: Some(Scanned { rows, share }) };
    let after = || Some(Cursor::After(entry(900).position));
    for (steps, rows) in [([4_000, 8_192, 7_840], 20_032), ([4_000, 8_192, 0], 0), ([0, 8_192, 7_840], 0)] {
        let mut console = Console::with_jobs(5);
        console.keys("/").text("msg:needle").keys("Enter");
        for (rows, share, next) in [(steps[0], 0.2, after()), (steps[1], 0.6, after()), (steps[2], 1.0, None)] {
            console.answer(Slot::Page, Reply::Page(Ok(step(rows, share, next))));
        }
        assert!(console.model.list.knows_end());
        assert_eq!(console.model.list.scan.map(|scan| scan.rows), Some(rows), "{steps:?}");
    }
}
