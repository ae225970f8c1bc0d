//! The list shows the jobs of the bar under the cursor while the keys go to the bars; what is acted on is what is on screen.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::*;
use crate::tui::app::layout::Areas;
use crate::tui::app::model::REST;

/// A count of so many bars, `E00` the longest.
fn bars(n: usize) -> Reply {
    let names: Vec<String> = (0..n).map(|i| format!("E{i:02}")).collect();
    let all: Vec<(&str, u64)> = names.iter().enumerate().map(|(i, name)| (name.as_str(), 100 - i as u64)).collect();
    Reply::Histogram(Box::new(Ok(counted(&all))))
}

/// A console with jobs and bars whose keys go to the bars.
fn console(jobs: usize, n: usize, size: (u16, u16)) -> Console {
    let mut console = Console::with_jobs(jobs);
    console.counting().answer(Slot::Histogram, bars(n));
    console.model.screen.focus = Focus::Histogram;
    console.tell(Msg::Resize { width: size.0, height: size.1 });
    console.wait(LONG_ENOUGH);
    console.asked.retain(|(_, slot, _)| *slot == Slot::Poll);
    console
}

/// The filter of the page that is asked for.
fn asked(console: &Console) -> Option<String> {
    match console.request(Slot::Page) {
        Some(Request::Page { query, .. }) => Some(query.filter.to_string()),
        _ => None,
    }
}

/// As [`console`], with the jobs 10 to 29 of `E01` in the list.
fn previewed(size: (u16, u16)) -> Console {
    let mut console = console(50, 20, size);
    console.keys("j").wait(REST);
    console.answer(Slot::Page, Reply::Page(Ok(page(10..30, None))));
    assert_eq!(console.current(), Some("job-10"));
    console
}

fn click(console: &mut Console, (x, y): (u16, u16)) {
    let kind = MouseEventKind::Down(MouseButton::Left);
    console.tell(Msg::Mouse(MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE }));
}

fn filter_in_force(console: &Console) -> String {
    console.model.filter.written.to_string()
}

#[test]
fn the_jobs_of_a_bar_are_read_once_the_cursor_rests_on_it() {
    let mut console = console(50, 20, (140, 45));
    assert_eq!(console.current(), Some("job-0"));
    console.keys("j");
    assert_eq!(asked(&console), None, "who passes by asks for nothing");
    console.wait(REST);
    assert_eq!(asked(&console).as_deref(), Some("error:E01"));
    console.answer(Slot::Page, Reply::Page(Ok(page(10..30, None))));
    assert_eq!(console.current(), Some("job-10"));
    assert_eq!(filter_in_force(&console), "", "the filter in force is another one's business");
    assert!(matches!(console.request(Slot::Detail), Some(Request::Detail(job)) if job.as_str() == "job-10"));
}

#[test]
fn keys_that_leave_the_bars_narrow_to_what_is_on_screen() {
    for key in ["Enter", "Tab"] {
        let mut console = previewed((140, 45));
        console.keys(key);
        let now = (filter_in_force(&console), console.model.screen.focus, console.current());
        assert_eq!(now, ("error:E01".into(), Focus::List, Some("job-10")), "{key}");
        assert_eq!(asked(&console).as_deref(), Some("error:E01"), "they may be of an hour ago");
        console.answer(Slot::Page, Reply::Page(Ok(page(10..30, None))));
        console.keys("Esc");
        assert_eq!(asked(&console).as_deref(), Some(""), "the whole list is read again");
    }
}

#[test]
fn keys_that_leave_a_bar_at_once_go_to_its_jobs_and_not_to_those_on_screen() {
    let mut console = previewed((140, 45));
    console.keys("j Tab");
    assert_eq!((filter_in_force(&console), console.current()), ("error:E02".into(), None));
    assert_eq!(asked(&console).as_deref(), Some("error:E02"));
}

#[test]
fn escape_goes_back_to_the_jobs_of_the_filter() {
    let mut console = previewed((140, 45));
    console.keys("Esc");
    assert_eq!((asked(&console).as_deref(), console.model.screen.focus), (Some(""), Focus::Histogram));
}

#[test]
fn a_bar_that_was_only_looked_at_is_not_narrowed_to() {
    let mut console = console(50, 20, (140, 45));
    console.keys("Tab");
    assert_eq!((filter_in_force(&console), console.current()), (String::new(), Some("job-0")));
}

#[test]
fn marked_jobs_stay_on_screen() {
    let mut console = console(50, 20, (140, 45));
    console.keys("Tab Space Tab Tab j").wait(REST);
    assert_eq!(asked(&console), None);
    assert!(matches!(&console.model.list.marks, SelectionMarks::Some(ids) if ids.len() == 1));
}

#[test]
fn acting_on_the_bars_is_for_the_bars_whatever_the_list_shows() {
    let mut console = previewed((140, 45));
    console.keys("R");
    let filter = |request: Option<&Request>| match request {
        Some(Request::Plan { scope: ActionScope::Filter(filter), .. }) => filter.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(filter(console.request(Slot::Act)), "error:E01");
}

#[test]
fn a_click_on_what_is_on_screen_is_for_that() {
    for size in [(80, 24), (120, 45), (200, 45)] {
        let mut bar = console(50, 20, size);
        let areas = Areas::of(&bar.model).expect("panes");
        let (bars, list) = (areas.histogram.expect("bars"), areas.list.expect("jobs"));
        click(&mut bar, (bars.x + 5, bars.y + 2));
        assert_eq!(bar.model.histogram.index(), Some(0), "{size:?}: the first bar");

        let mut job = console(50, 20, size);
        click(&mut job, (list.x + 5, list.y + 2));
        assert_eq!(job.current(), Some("job-0"), "{size:?}: the first job");

        let mut previewed = previewed(size);
        previewed.keys("k Space").wait(REST);
        let value = previewed.model.preview.shown.as_ref().and_then(|shown| shown.value.clone());
        assert_eq!(value.as_ref().map(|value| value.exact()), Some("E01"), "a marked bar is another one");
        let list = Areas::of(&previewed.model).and_then(|areas| areas.list).expect("jobs");
        click(&mut previewed, (list.x + 5, list.y + 3));
        let now = (filter_in_force(&previewed), previewed.current());
        assert_eq!(now, ("error:E01".into(), Some("job-11")), "{size:?}: a job of the bar");
    }
    let mut open = previewed((200, 45));
    let detail = Areas::of(&open.model).and_then(|areas| areas.detail).expect("a job");
    click(&mut open, (detail.x + 5, detail.y + 3));
    let now = (filter_in_force(&open), open.model.screen.focus, open.current());
    assert_eq!(now, ("error:E01".into(), Focus::Detail, Some("job-10")), "the open job is one of the bar");
}

#[test]
fn the_cursor_stays_on_screen_when_bars_come() {
    let mut console = console(50, 2, (120, 45));
    console.keys("Tab");
    let rows = console.model.list_rows();
    for _ in 1..rows {
        console.keys("j");
    }
    assert_eq!(console.model.list.cursor_row(), Some(rows - 1));
    console.keys("r");
    console.answer(Slot::Histogram, bars(8));
    let (rows, row) = (console.model.list_rows(), console.model.list.cursor_row());
    assert!(row.is_some_and(|row| row < rows), "{row:?} of {rows}");
}

#[test]
fn the_bar_under_the_cursor_is_the_one_that_was_seen_there() {
    let mut console = console(5, 2, (200, 45));
    console.digit("2").digit("1");
    let glimpse = counted(&[("A", 9), ("B", 8)]).histogram;
    console.answer(Slot::Histogram, Reply::Estimate(Ok(Some(glimpse))));
    console.wait(Duration::from_secs(5));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("B", 18), ("A", 9)])))));
    console.keys("R");
    let request = console.request(Slot::Act);
    assert!(
        matches!(request, Some(Request::Plan { scope: ActionScope::Filter(filter), .. }) if filter.to_string() == "error:A"),
        "{request:?}"
    );
}

#[test]
fn a_change_is_followed_while_that_is_cheap() {
    let mut console = previewed((140, 45));
    console.wait(Duration::from_secs(2));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(changes(Vec::new())))));
    assert_eq!(asked(&console).as_deref(), Some("error:E01"));
    console.now = console.now.after(Duration::from_secs(60));
    console.answer(Slot::Page, Reply::Page(Ok(page(10..30, None))));
    console.wait(Duration::from_secs(3_600));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(changes(Vec::new())))));
    assert_eq!(asked(&console), None, "a minute for a page that nobody has asked for");
}

#[test]
fn a_search_for_what_is_only_looked_at_ends_after_a_step() {
    let mut console = console(50, 20, (140, 45));
    console.keys("j").wait(REST);
    let next = Some(Cursor::After(entry(12).position));
    let scanned = Some(crate::store::Scanned { rows: 5_000, share: 0.1 });
    console.answer(Slot::Page, Reply::Page(Ok(Page { scanned, ..page(10..12, next) })));
    assert_eq!(asked(&console), None);
    console.keys("Enter");
    assert_eq!(asked(&console).as_deref(), Some("error:E01"), "now somebody has asked for them");
}

#[test]
fn what_the_cursor_came_to_while_the_link_was_down_is_shown_when_it_is_back() {
    let mut console = previewed((140, 45));
    console.model.live.link = ConnectionState::Down {
        loss: crate::tui::app::model::Loss::Connection,
        reason: "gone".into(),
        retry_at: console.now.after(Duration::from_secs(9)),
        attempts: 1,
    };
    console.keys("j").wait(LONG_ENOUGH);
    assert_eq!(asked(&console), None);
    console.model.live.link = ConnectionState::Up;
    console.wait(LONG_ENOUGH);
    assert_eq!(asked(&console).as_deref(), Some("error:E02"));
}

#[test]
fn another_facet_ends_it() {
    let mut console = previewed((140, 45));
    console.digit("2");
    assert!(console.model.preview.shown.is_none());
    assert_eq!(asked(&console).as_deref(), Some(""));
}
