//! The list shows the jobs of the bar under the cursor while the keys go to the bars, and stays behind nobody's back.

use super::*;
use crate::tui::app::model::REST;

/// A console with two bars and three jobs whose keys go to the bars.
fn console() -> Console {
    let mut console = Console::with_jobs(3);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 2), ("B", 1)])))));
    console.model.screen.focus = Focus::Histogram;
    console.wait(LONG_ENOUGH);
    console.asked.retain(|(_, slot, _)| *slot == Slot::Look);
    console
}

/// The filter of the page that is asked for.
fn asked(console: &Console) -> Option<String> {
    match console.request(Slot::Page) {
        Some(Request::Page { query, .. }) => Some(query.filter.to_string()),
        _ => None,
    }
}

fn previewed() -> Console {
    let mut console = console();
    console.keys("j").wait(REST);
    console.answer(Slot::Page, Reply::Page(Ok(page(2..3, None))));
    console
}

#[test]
fn the_jobs_of_a_bar_are_read_once_the_cursor_rests_on_it() {
    let mut console = console();
    assert_eq!(console.current(), Some("job-0"));
    console.keys("j");
    assert_eq!(asked(&console), None, "who passes by asks for nothing");
    console.wait(REST);
    assert_eq!(asked(&console).as_deref(), Some("error:B"));
    console.answer(Slot::Page, Reply::Page(Ok(page(2..3, None))));
    assert_eq!(console.current(), Some("job-2"));
    assert_eq!(console.model.filter.written, Filter::all(), "the filter in force is another one's business");
    assert!(matches!(console.request(Slot::Detail), Some(Request::Detail(job)) if job.as_str() == "job-2"));
}

#[test]
fn the_list_is_that_of_the_filter_again_as_soon_as_it_has_the_keys() {
    let mut console = previewed();
    console.keys("Tab");
    assert_eq!((console.model.screen.focus, console.current()), (Focus::List, Some("job-0")));
    assert_eq!(asked(&console), None, "it was kept");
    console.keys("R");
    let scope = |request: Option<&Request>| matches!(request, Some(Request::Plan { scope: Scope::Jobs(ids), .. }) if ids[0].as_str() == "job-0");
    assert!(scope(console.request(Slot::Act)), "{:?}", console.request(Slot::Act));
}

#[test]
fn enter_narrows_to_what_is_on_screen_already() {
    let mut console = previewed();
    console.keys("Enter");
    assert_eq!((console.model.filter.written.to_string(), console.current()), ("error:B".into(), Some("job-2")));
    assert_eq!(asked(&console), None);
    console.keys("Esc");
    assert_eq!(asked(&console).as_deref(), Some(""), "the whole list is read again");
}

#[test]
fn acting_on_the_bars_is_for_the_bars_whatever_the_list_shows() {
    let mut console = previewed();
    console.keys("R");
    let filter = |request: Option<&Request>| match request {
        Some(Request::Plan { scope: Scope::Filter(filter), .. }) => filter.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(filter(console.request(Slot::Act)), "error:B");
}

#[test]
fn what_dies_meanwhile_is_new_to_the_whole_list() {
    let mut console = previewed();
    console.wait(Duration::from_secs(2));
    let cell = Cell {
        bucket: 0,
        value: Some("A".into()),
        n: 1,
        first_seen: None,
        last_seen: Some(Timestamp(1_900_000)),
        example: None,
    };
    console.answer(Slot::Look, Reply::Look(Box::new(Ok(changes(vec![cell])))));
    assert_eq!(console.model.list.arrived, 0);
    console.keys("Tab");
    assert_eq!(console.model.list.arrived, 1);
}

#[test]
fn a_search_for_what_is_only_looked_at_ends_after_a_step() {
    let mut console = console();
    console.keys("j").wait(REST);
    let step = Page {
        scanned: Some(crate::store::Scanned { rows: 5_000, share: 0.1 }),
        ..page(2..3, Some(Cursor::After(entry(2).position)))
    };
    console.answer(Slot::Page, Reply::Page(Ok(step)));
    assert_eq!(asked(&console), None);
    console.keys("Enter");
    assert_eq!(asked(&console).as_deref(), Some("error:B"), "now somebody has asked for them");
}

#[test]
fn another_facet_ends_it() {
    let mut console = previewed();
    console.keys("2");
    assert_eq!(console.current(), Some("job-0"));
    assert!(console.model.preview.shown.is_none());
}
