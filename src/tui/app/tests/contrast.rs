//! What jobs have in common: asked for, narrowed to, left out.

use super::*;
use crate::domain::contrast::Counts;
use crate::triage::contrast::{Comparison, DifferenceLine};

fn line(attributes: &[&str], filter: Option<&str>) -> DifferenceLine {
    let attributes = attributes.iter().map(ToString::to_string).collect();
    let counts = Counts { chosen: 90, others: 1 };
    DifferenceLine { attributes, also: Vec::new(), filter: filter.map(str::to_owned), counts }
}

/// Three lines: a value, a pair, and something that no term says.
fn found() -> Comparison {
    Comparison {
        headline: "100 jobs, compared with 200 other dead jobs".into(),
        jobs: Counts { chosen: 100, others: 200 },
        is_sample: true,
        lines: vec![
            line(&["args.currency = \"JPY\""], Some("args.currency:JPY")),
            line(&["args.a = 1", "args.b = 2"], Some("args.a:1 args.b:2")),
            line(&["args.amount is a number of 5 digits"], None),
        ],
    }
}

/// The list is narrowed to an error class, and its jobs are compared.
fn compared() -> Console {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("error:Boom").keys("Enter x");
    console.answer(Slot::Contrast, Reply::Contrast(Box::new(Ok(found()))));
    console
}

fn asked(console: &Console) -> Option<(String, bool)> {
    match console.request(Slot::Contrast) {
        Some(Request::Contrast(query)) => Some((query.chosen.to_string(), query.counts_all)),
        _ => None,
    }
}

#[test]
fn the_jobs_of_the_list_or_of_the_bar_are_compared() {
    let mut console = Console::with_jobs(5);
    console.keys("x");
    assert_eq!(asked(&console), None, "all jobs have no others");
    assert!(console.model.screen.notice.as_ref().is_some_and(|notice| notice.is_fault));
    console.keys("/").text("error:Boom").keys("Enter x");
    assert_eq!(asked(&console), Some(("error:Boom".into(), false)));
    console.keys("Esc");
    assert_eq!(asked(&console), None, "it is cancelled");
}

#[test]
fn a_line_narrows_the_list_or_is_left_out_of_it() {
    let mut console = compared();
    console.keys("Enter");
    assert_eq!(console.model.filter.written.to_string(), "error:Boom args.currency:JPY");
    assert!(matches!(console.model.overlay, Overlay::None));
    console.keys("Esc");
    assert_eq!(console.model.filter.written.to_string(), "error:Boom");
    let mut console = compared();
    console.keys("-");
    assert_eq!(console.model.filter.written.to_string(), "error:Boom -args.currency:JPY");
    let mut console = compared();
    console.keys("j Enter");
    assert_eq!(console.model.filter.written.to_string(), "error:Boom args.a:1 args.b:2");
}

#[test]
fn what_no_filter_can_say_leaves_the_page_as_it_is() {
    for keys in ["j -", "j j Enter", "j j -"] {
        let mut console = compared();
        console.keys(keys);
        assert_eq!(console.model.filter.written.to_string(), "error:Boom", "{keys}");
        assert!(matches!(console.model.overlay, Overlay::Contrast(_)), "{keys}");
        assert!(console.model.screen.notice.as_ref().is_some_and(|notice| notice.is_fault), "{keys}");
    }
}

#[test]
fn all_jobs_are_counted_on_demand_and_the_cursor_stays_on_its_line() {
    let mut console = compared();
    console.keys("j a");
    assert_eq!(asked(&console), Some(("error:Boom".into(), true)));
    console.tell(Msg::Comparing(500));
    console.tell(Msg::Comparing(700));
    let Overlay::Contrast(page) = &console.model.overlay else { panic!("no page") };
    assert_eq!(page.reading, Some(1_200));
    let mut all = found();
    all.lines.reverse();
    all.lines.rotate_left(1);
    all.is_sample = false;
    console.answer(Slot::Contrast, Reply::Contrast(Box::new(Ok(all))));
    let Overlay::Contrast(page) = &console.model.overlay else { panic!("no page") };
    assert_eq!(page.current().map(|line| line.attributes.len()), Some(2));
    console.keys("a");
    assert_eq!(asked(&console), None, "all are counted already");
}

#[test]
fn a_comparison_that_fails_says_so_and_keeps_what_was_found() {
    let mut console = compared();
    console.keys("a");
    let slow = SourceError::Timeout(Duration::from_secs(5));
    console.answer(Slot::Contrast, Reply::Contrast(Box::new(Err(slow))));
    let Overlay::Contrast(page) = &console.model.overlay else { panic!("no page") };
    assert!(page.found.is_some() && page.reading.is_none());
    assert!(console.model.screen.notice.as_ref().is_some_and(|notice| notice.is_fault));
}
