//! Rows of the list that others have changed or taken away.

use super::*;
use crate::tui::app::model::ListPane;

/// A console that has counted `n` jobs of `A` and waits for its first poll.
fn watching(n: usize) -> Console {
    let mut console = Console::with_jobs(n);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", n as u64)])))));
    console
}

fn cell(value: &str, n: u64, last_seen: i64) -> Cell {
    let seen = Some(Timestamp(last_seen));
    Cell { bucket: 0, value: Some(value.into()), n, first_seen: seen, last_seen: seen, example: None }
}

fn poll(console: &mut Console, cells: Vec<Cell>) {
    console.wait(Duration::from_secs(2)).answer(Slot::Poll, Reply::Poll(Box::new(Ok(changes(cells)))));
}

fn rows_asked(console: &Console) -> Vec<&str> {
    match console.request(Slot::Rows) {
        Some(Request::Rows(ids)) => ids.iter().map(JobId::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Answers how the rows stand that were asked for: as they were listed, but for what `change` does to them.
fn stand(console: &mut Console, change: impl Fn(&mut Entry) -> bool) {
    let Some(Request::Rows(ids)) = console.request(Slot::Rows).cloned() else { panic!("no row was asked for") };
    let number = |id: &JobId| id.as_str().trim_start_matches("job-").parse().expect("a number");
    let mut rows: Vec<Entry> = ids.iter().map(|id| entry(number(id))).collect();
    rows.retain_mut(|row| change(row));
    console.answer(Slot::Rows, Reply::Rows(ids, Ok(rows)));
}

fn stale(list: &ListPane, n: usize) -> Option<Stale> {
    list.freshness.stale.get(&entry(n).row.id).copied()
}

#[test]
fn a_row_that_was_changed_out_of_sight_says_so_as_soon_as_it_is_scrolled_to() {
    let mut console = watching(90);
    let seen = console.model.list_rows();
    poll(&mut console, vec![cell("A", 1, 1)]);
    assert_eq!(rows_asked(&console).len(), seen, "those on screen");
    stand(&mut console, |_| true);
    assert!(rows_asked(&console).is_empty(), "once for each change");
    console
        .wait(Duration::from_secs(2))
        .answer(Slot::Poll, Reply::Poll(Box::new(Ok(Changes { changed: false, ..changes(Vec::new()) }))));
    assert!(rows_asked(&console).is_empty());
    for _ in 0..80 {
        console.keys("j");
    }
    let ignored = |row: &mut Entry| {
        row.row.state = if row.row.id == entry(80).row.id { State::Ignored } else { State::Dead };
        row.row.id != entry(79).row.id
    };
    while !rows_asked(&console).is_empty() {
        stand(&mut console, ignored);
    }
    assert_eq!(stale(&console.model.list, 80), Some(Stale::Changed(State::Dead)));
    assert_eq!(stale(&console.model.list, 79), Some(Stale::Gone));
    for _ in 0..9 {
        console.keys("k j");
    }
    assert!(rows_asked(&console).is_empty(), "they are known now");
}

#[test]
fn a_change_that_is_seen_while_rows_are_on_their_way_has_them_asked_for_again() {
    let mut console = watching(5);
    poll(&mut console, vec![cell("A", 1, 1)]);
    let Some(Request::Rows(ids)) = console.request(Slot::Rows).cloned() else { panic!("no row was asked for") };
    poll(&mut console, vec![cell("A", 1, 1)]);
    console.answer(Slot::Rows, Reply::Rows(ids, Ok((0..5).map(entry).collect())));
    assert_eq!(rows_asked(&console).len(), 5);
    // One that fails is left for the next change.
    let failed = Reply::Rows(Vec::new(), Err(SourceError::Locked("rows".into())));
    console.answer(Slot::Rows, failed);
    assert!(rows_asked(&console).is_empty());
    // And a page that was asked for before the change says nothing of what came after.
    console.keys("r");
    poll(&mut console, vec![cell("A", 2, 1)]);
    stand(&mut console, |_| true);
    console.answer(Slot::Page, Reply::Page(Ok(page(0..5, None))));
    assert_eq!(rows_asked(&console).len(), 5);
}

#[test]
fn a_row_that_was_put_back_is_one_like_any_other_and_one_that_died_again_says_so() {
    let mut console = watching(3);
    let mut change = |state: State, at: i64, is_there: bool| {
        poll(&mut console, vec![cell("A", 1, 1)]);
        stand(&mut console, |row| {
            if row.row.id == entry(1).row.id {
                (row.row.state, row.row.at) = (state, Some(Timestamp(at)));
            }
            is_there || row.row.id != entry(1).row.id
        });
        stale(&console.model.list, 1)
    };
    let then = entry(1).row.at.map_or(0, |at| at.0);
    assert_eq!(change(State::Ignored, then, true), Some(Stale::Changed(State::Dead)));
    assert_eq!(change(State::Ignored, then, true), Some(Stale::Changed(State::Dead)));
    assert_eq!(change(State::Dead, then, true), None);
    assert_eq!(change(State::Dead, then, false), Some(Stale::Gone));
    assert_eq!(change(State::Dead, then, true), None);
    assert_eq!(change(State::Dead, then + 60, true), Some(Stale::DiedAgain));
    assert_eq!(change(State::Dead, then + 60, true), Some(Stale::DiedAgain));
}

#[test]
fn only_jobs_that_died_are_new_and_the_first_row_is_read_again_for_the_others_too() {
    let mut console = watching(4);
    poll(&mut console, vec![cell("A", 4, 1_000_000)]);
    let before = console.model.list.freshness.arrived;
    let growth = |console: &Console| console.model.histogram.growth(Timestamp(2_000_000)).map_or(0, |growth| growth.n);
    let grown = growth(&console);
    // Two of them have another class now, and nobody died.
    poll(&mut console, vec![cell("A", 2, 1_000_000), cell("B", 2, 1_000_000)]);
    assert_eq!(console.model.list.freshness.arrived, before);
    assert_eq!(growth(&console), grown);
    console.keys("g");
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { query: q, .. }) if q.cursor == Cursor::Start));
    console.answer(Slot::Page, Reply::Page(Ok(page(0..4, None))));
    poll(&mut console, vec![cell("A", 2, 1_000_000), cell("B", 3, 1_500_000)]);
    assert_eq!(console.model.list.freshness.arrived, 1);
    assert_eq!(growth(&console), grown + 1);
}

#[test]
fn jobs_that_come_among_the_ignored_are_not_new() {
    let mut console = Console::with_jobs(4);
    console.keys("/").text("state:ignored").keys("Enter");
    console.answer(Slot::Page, Reply::Page(Ok(page(0..2, None))));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 2)])))));
    poll(&mut console, vec![cell("A", 5, 1_000_000)]);
    assert_eq!(console.model.list.freshness.arrived, 0);
    console.keys("g");
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { query: q, .. }) if q.cursor == Cursor::Start));
}
